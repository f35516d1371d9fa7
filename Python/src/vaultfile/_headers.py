"""Header files: the slots of a container, kept apart from it (Spec, chapter 23)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional

from ._errors import Error, about_its_path, about_its_paths, path_bytes
from ._keys import Keys, KeysHandle, Recipients, recipients_handle, sealing_handle
from ._library import lib
from ._memory import Buffer, address, data, report, taken
from ._options import (
    AttachOptions,
    DetachOptions,
    HeaderOptions,
    RotateHeaderFileOptions,
    RotateHeaderOptions,
    SealOptions,
    options_handle,
)
from ._signals import Progress, call
from ._sources import AnyPath

if TYPE_CHECKING:
    from typing_extensions import Unpack


def inspect_header(header: Buffer) -> dict[str, Any]:
    """What a header file shows without a key: `slots` with their IDs, `generation`, and more. Nothing of it is
    authenticated."""
    bytes_, count = address(header)
    return report(lib.vaultfile_inspect_header, bytes_, count)


def verify_header(header: Buffer, keys: Keys, **options: Unpack[HeaderOptions]) -> dict[str, Any]:
    """Opens a header file by itself, without its body. Returns the same as `inspect_header`, authenticated, and the
    `pin`: with it, later calls refuse every older header file.

    Options: `context`, `header_pin`, limits."""
    opening = KeysHandle(keys)
    settings = options_handle(HeaderOptions, options)
    bytes_, count = address(header)
    return report(lib.vaultfile_verify_header, bytes_, count, opening.value, settings.value, callbacks=(opening,))


def rotate_header(
    header: Buffer,
    keys: Keys,
    *,
    add: Optional[Recipients] = None,
    remove: Optional[Recipients] = None,
    **options: Unpack[RotateHeaderOptions],
) -> bytes:
    """Changes who can open a container by its header file, in memory: returns the bytes of the new header file. They are
    those that were given if there is nothing to change. `inspect_header` shows the slots of both.

    Replace the old header file as a whole: in a file system by a rename, in an object store by a write that is made only
    if the object is still the one that was read. If it is not, read the new one and begin again. Store a key that you
    add durably before. Older versions of the object open the container with their keys until they are destroyed.

    Options: `remove_others` removes every slot, except those that the added recipients open; `lose_access` and
    `mix_recipients` consent to what a ConsentNeededError or an InvalidArgumentError names; `context`, `header_pin`,
    limits."""
    opening = KeysHandle(keys)
    adding, removing = recipients_handle(add), recipients_handle(remove)
    settings = options_handle(RotateHeaderOptions, options)
    bytes_, count = address(header)

    def rotate(result: Any) -> Optional[int]:
        failed: Optional[int] = lib.vaultfile_rotate_header(
            bytes_, count, adding.value, removing.value, opening.value, settings.value, result, None)
        return failed

    return data(rotate, callbacks=(opening,))


@about_its_path
def rotate_header_file(
    path: AnyPath,
    keys: Keys,
    *,
    add: Optional[Recipients] = None,
    remove: Optional[Recipients] = None,
    **options: Unpack[RotateHeaderFileOptions],
) -> dict[str, Any]:
    """The same as `rotate_header` for a header file in a file system, which is replaced under a lock. Options: also
    `break_links` and `dry_run`. Returns a report with `added`, `removed`, `kept` and `header`."""
    opening = KeysHandle(keys)
    adding, removing = recipients_handle(add), recipients_handle(remove)
    settings = options_handle(RotateHeaderFileOptions, options)
    return report(
        lib.vaultfile_rotate_header_file, path_bytes(path), adding.value, removing.value, opening.value,
        settings.value, callbacks=(opening,))


def encrypt_detached(
    plaintext: Buffer, keys: Recipients, **options: Unpack[SealOptions]
) -> tuple[bytes, bytes]:
    """Encrypts bytes. Returns the container, and its header file, which has the slots: without it nobody opens the
    container. Store the header file first. The options are those of `open` for writing."""
    recipients = sealing_handle(keys)
    settings = options_handle(SealOptions, options)
    bytes_, count = address(plaintext)
    header, container = ctypes.c_void_p(), ctypes.c_void_p()

    def result() -> tuple[bytes, bytes]:
        # The small one first: if there is no memory for the other one, that frees itself.
        found = taken(header)
        return taken(container), found

    return call(
        result, lib.vaultfile_encrypt_detached, bytes_, count, recipients.value, settings.value, ctypes.byref(header),
        ctypes.byref(container))


@about_its_paths
def detach(
    path: AnyPath, keys: Keys, header: Optional[AnyPath] = None, **options: Unpack[DetachOptions]
) -> dict[str, Any]:
    """Moves the slots of a container to a header file at the path `header`. Without it, the file is beside the container
    and has the name that the command looks for. The header file is durable before the container loses its slots. An
    interrupted call loses nothing, and the same call again finishes it. Keep the header file as safe as the container.

    Options: `header_capacity`, `lose_slots` consents to the loss of slots that only a header file of this name has;
    `break_links`, `keep_copy`, `dry_run`, `context`, `pin`, limits, and `progress`, as for `rotate`.

    Returns the report of `rotate`, with the path `headerFile` and `headerPin`."""
    opening = KeysHandle(keys)
    settings = options_handle(DetachOptions, options)
    return report(
        lib.vaultfile_detach, path_bytes(path), None if header is None else path_bytes(header), opening.value,
        settings.value, callbacks=(opening, Progress(settings, options.get("progress"))))


@about_its_paths
def attach(
    path: AnyPath, keys: Keys, header: AnyPath, **options: Unpack[AttachOptions]
) -> dict[str, Any]:
    """Moves the slots of the header file at the path `header` back to its container, and then removes the file.

    Options: `break_links`, `keep_copy`, `dry_run`, `context`, `pin`, `header_pin`, limits, and `progress`, as for
    `rotate`. Returns the report of `rotate`."""
    opening = KeysHandle(keys)
    settings = options_handle(AttachOptions, options)
    return report(
        lib.vaultfile_attach, path_bytes(path), path_bytes(header), opening.value, settings.value,
        callbacks=(opening, Progress(settings, options.get("progress"))))


def is_header_of(bytes_: bytes, file_id: str) -> bool:
    """Whether bytes are a header file of the container with this ID."""
    try:
        return bool(inspect_header(bytes_)["fileID"] == file_id)
    except Error:
        return False
