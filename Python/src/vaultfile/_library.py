"""The calls of libvaultfile, as vaultfile.h declares them.

ctypes releases the GIL during each call. Nothing here checks arguments: the other modules do.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import POINTER, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

# The caller's side of the callbacks of vaultfile.h.
ReadCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t))
KeyCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_int32, c_void_p, c_size_t, c_void_p)
ProgressCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_uint64)

HANDLE = c_void_p
RESULT = POINTER(c_void_p)
BYTES = c_void_p
SIZE = c_size_t

# The result and the arguments of each function, without `vaultfile_`. A result of c_void_p is an error, if there is one.
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "version": (c_char_p,),
    "engine": (c_char_p,),
    "handle_count": (SIZE,),
    "wipe": (None, BYTES, SIZE),
    "error_status": (c_int32, HANDLE),
    "error_name": (c_char_p, HANDLE),
    "error_message": (c_char_p, HANDLE),
    "error_offset": (c_bool, HANDLE, POINTER(c_uint64)),
    "error_record": (c_bool, HANDLE, POINTER(c_uint64)),
    "error_errno": (c_int32, HANDLE),
    "error_callback": (c_int32, HANDLE),
    "error_free": (None, HANDLE),
    "data_bytes": (c_void_p, HANDLE),
    "data_count": (SIZE, HANDLE),
    "data_free": (None, HANDLE),
    "options_new": (HANDLE, RESULT),
    "options_set_number": (HANDLE, HANDLE, c_int32, c_int64),
    "options_set_bytes": (HANDLE, HANDLE, c_int32, BYTES, SIZE),
    "options_set_progress": (HANDLE, HANDLE, ProgressCallback, c_void_p),
    "options_free": (None, HANDLE),
    "keys_new": (HANDLE, RESULT),
    "keys_add_key": (HANDLE, HANDLE, BYTES, SIZE),
    "keys_add_key_file": (HANDLE, HANDLE, BYTES, SIZE),
    "keys_add_passphrase": (HANDLE, HANDLE, BYTES, SIZE),
    "keys_add_identities": (HANDLE, HANDLE, BYTES, SIZE),
    "keys_add_keyring": (HANDLE, HANDLE, HANDLE),
    "keys_set_callback": (HANDLE, HANDLE, KeyCallback, c_void_p),
    "keys_free": (None, HANDLE),
    "recipients_new": (HANDLE, RESULT),
    "recipients_add_key": (HANDLE, HANDLE, BYTES, SIZE),
    "recipients_add_key_file": (HANDLE, HANDLE, BYTES, SIZE),
    "recipients_add_passphrase": (HANDLE, HANDLE, BYTES, SIZE, c_uint32, c_uint32),
    "recipients_add_public_keys": (HANDLE, HANDLE, BYTES, SIZE, c_bool),
    "recipients_add_identities": (HANDLE, HANDLE, BYTES, SIZE, c_bool),
    "recipients_add_from_keyring": (HANDLE, HANDLE, HANDLE, c_char_p),
    "recipients_add_slot_id": (HANDLE, HANDLE, BYTES, SIZE),
    "recipients_free": (None, HANDLE),
    "generate_key": (HANDLE, BYTES, SIZE),
    "key_id": (HANDLE, BYTES, SIZE, BYTES, SIZE),
    "key_file": (HANDLE, BYTES, SIZE, BYTES, SIZE, POINTER(SIZE)),
    "generate_identity": (HANDLE, c_bool, BYTES, SIZE, POINTER(SIZE)),
    "identity_recipients": (HANDLE, BYTES, SIZE, RESULT),
    "reader_open_path": (HANDLE, c_char_p, HANDLE, HANDLE, RESULT),
    "reader_open_memory": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, RESULT),
    "reader_open_callback": (HANDLE, ReadCallback, c_void_p, c_uint64, HANDLE, HANDLE, RESULT),
    "reader_length": (HANDLE, HANDLE, POINTER(c_uint64)),
    "reader_read": (HANDLE, HANDLE, c_uint64, BYTES, SIZE),
    "reader_verify": (HANDLE, HANDLE, HANDLE),
    "reader_damage": (HANDLE, HANDLE, HANDLE, RESULT),
    "reader_info": (HANDLE, HANDLE, RESULT),
    "reader_free": (None, HANDLE),
    "inspect_path": (HANDLE, c_char_p, RESULT),
    "inspect_memory": (HANDLE, BYTES, SIZE, RESULT),
    "inspect_callback": (HANDLE, ReadCallback, c_void_p, c_uint64, RESULT),
    "inspect_header": (HANDLE, BYTES, SIZE, RESULT),
    "verify_header": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, RESULT),
    "encrypt": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, RESULT),
    "decrypt": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, RESULT),
    "encrypt_file": (HANDLE, c_char_p, c_char_p, HANDLE, HANDLE),
    "decrypt_file": (HANDLE, c_char_p, c_char_p, HANDLE, HANDLE),
    "encrypt_descriptor": (HANDLE, c_int32, c_int32, HANDLE, HANDLE),
    "decrypt_descriptor": (HANDLE, c_int32, c_int32, HANDLE, HANDLE),
    "writer_open": (HANDLE, c_char_p, HANDLE, HANDLE, RESULT),
    "writer_write": (HANDLE, HANDLE, BYTES, SIZE),
    "writer_commit": (HANDLE, HANDLE),
    "writer_free": (None, HANDLE),
    "encryptor_new": (HANDLE, HANDLE, HANDLE, RESULT),
    "encryptor_update": (HANDLE, HANDLE, BYTES, SIZE, BYTES, SIZE, POINTER(SIZE)),
    "encryptor_finish": (HANDLE, HANDLE),
    "encryptor_free": (None, HANDLE),
    "decryptor_new": (HANDLE, HANDLE, HANDLE, RESULT),
    "decryptor_update": (HANDLE, HANDLE, BYTES, SIZE, BYTES, SIZE, POINTER(SIZE)),
    "decryptor_finish": (HANDLE, HANDLE),
    "decryptor_free": (None, HANDLE),
    "rotate": (HANDLE, c_char_p, HANDLE, HANDLE, HANDLE, HANDLE, RESULT),
    "rotate_to_current": (HANDLE, c_char_p, HANDLE, HANDLE, HANDLE, RESULT),
    "rotate_header": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, HANDLE, HANDLE, RESULT, RESULT),
    "rotate_header_file": (HANDLE, c_char_p, HANDLE, HANDLE, HANDLE, HANDLE, RESULT),
    "encrypt_detached": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, RESULT, RESULT),
    "writer_open_detached": (HANDLE, c_char_p, HANDLE, HANDLE, RESULT, RESULT),
    "encryptor_new_detached": (HANDLE, HANDLE, HANDLE, RESULT, RESULT),
    "detach": (HANDLE, c_char_p, c_char_p, HANDLE, HANDLE, RESULT),
    "attach": (HANDLE, c_char_p, c_char_p, HANDLE, HANDLE, RESULT),
    "rotate_header_to_current": (HANDLE, BYTES, SIZE, HANDLE, HANDLE, HANDLE, RESULT, RESULT),
    "repair": (HANDLE, c_char_p, HANDLE, HANDLE, RESULT),
    "reencrypt": (HANDLE, c_char_p, HANDLE, HANDLE, HANDLE, HANDLE, RESULT),
    "keyring_create": (HANDLE, c_char_p, HANDLE, c_char_p),
    "keyring_open": (HANDLE, c_char_p, HANDLE, HANDLE, RESULT),
    "keyring_entries": (HANDLE, HANDLE, RESULT),
    "keyring_export": (HANDLE, HANDLE, c_char_p, BYTES, SIZE, POINTER(SIZE)),
    "keyring_free": (None, HANDLE),
    "change_new": (HANDLE, RESULT),
    "change_generate_key": (HANDLE, HANDLE, c_char_p),
    "change_add_key": (HANDLE, HANDLE, c_char_p, BYTES, SIZE, c_bool),
    "change_add_recipient": (HANDLE, HANDLE, c_char_p, BYTES, SIZE),
    "change_generate_identity": (HANDLE, HANDLE, c_char_p, c_bool),
    "change_add_identity": (HANDLE, HANDLE, c_char_p, BYTES, SIZE),
    "change_set_group": (HANDLE, HANDLE, c_char_p, c_char_p),
    "change_remove_group": (HANDLE, HANDLE, c_char_p),
    "change_use": (HANDLE, HANDLE, c_char_p),
    "change_retire": (HANDLE, HANDLE, c_char_p),
    "change_destroy": (HANDLE, HANDLE, c_char_p),
    "change_apply": (HANDLE, HANDLE, c_char_p, HANDLE, HANDLE, RESULT),
    "change_free": (None, HANDLE),
    "keyring_change_unlockers": (HANDLE, c_char_p, HANDLE, HANDLE, HANDLE, RESULT),
    "keyring_protect": (HANDLE, c_char_p, HANDLE, c_bool, HANDLE, HANDLE, RESULT),
}

SECRET_TEXT_MOST = 4096


def _find() -> str:
    """The library beside this module, as the wheel has it; or the one that VAULTFILE_LIBRARY names."""
    named = os.environ.get("VAULTFILE_LIBRARY")
    if named:
        return named
    folder = pathlib.Path(__file__).resolve().parent
    for path in folder.glob("libvaultfile.*"):
        return str(path)
    raise ImportError("libvaultfile is not in the package; VAULTFILE_LIBRARY can name it")


lib = ctypes.CDLL(_find())
for _name, (_result, *_arguments) in PROTOTYPES.items():
    _function = getattr(lib, "vaultfile_" + _name)
    _function.restype = _result
    _function.argtypes = _arguments


class Options:
    """The numbers of enum vaultfile_number and enum vaultfile_text that Python uses."""

    CHUNK_SIZE = 1
    HEADER_CAPACITY = 2
    COMPRESS = 3
    DIGEST = 4
    TAR_INDEX = 5
    MIX_RECIPIENTS = 6
    MODIFIED = 7
    PERMISSIONS = 8
    REPLACE = 9
    JOBS = 10
    SPARSE = 11
    READ_SIZE = 12
    SERVICE_LIMITS = 20
    MAX_PLAINTEXT = 21
    MAX_CHUNK_SIZE = 22
    MAX_PASSPHRASE_SLOTS = 23
    MAX_PASSES = 24
    MAX_MEMORY_KIB = 25
    MAX_STRETCHING_KIB = 26
    MAX_PUBLIC_KEY_SLOTS = 27
    MAX_STANZA_SLOTS = 28
    DRY_RUN = 40
    REMOVE_OTHERS = 41
    LOSE_ACCESS = 42
    LOSE_SLOTS = 43
    KEEP_SLOTS = 44
    BREAK_LINKS = 45
    KEEP_COPY = 46
    ALLOW_UNPROTECTED = 60
    ALLOW_UNLOCKED = 61


TEXT_OPTIONS = {
    "context": 101, "name": 102, "content_type": 103, "pin": 104, "header_pin": 105, "header_file": 106, "header_path": 107}
