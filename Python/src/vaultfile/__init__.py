"""Encrypted containers: files of which any range can be read, and whose keys change by two small writes.

    import vaultfile

    key = vaultfile.Key.generate()
    key.save("letters.key")
    with vaultfile.open("letter.txt.vault", "w", keys=key) as file:
        file.write("Hello")
    with vaultfile.open("letter.txt.vault", "r", keys=vaultfile.KeyFile("letters.key")) as file:
        print(file.read())
"""

from ._errors import (
    BadKeyError,
    ConsentNeededError,
    DamagedError,
    Error,
    ForbiddenFileError,
    HeaderDetachedError,
    InUseError,
    InvalidArgumentError,
    KeyringError,
    LimitExceededError,
    MissingFileError,
    NoSuchKeyError,
    NotVaultfileError,
    OutOfMemoryError,
    OutputExistsError,
    RangeInvalidError,
    SystemCallError,
    UnexpectedStateError,
    UnsupportedError,
    WrongKeyError,
)
from ._headers import (
    attach,
    detach,
    encrypt_detached,
    inspect_header,
    rotate_header,
    rotate_header_file,
    verify_header,
)
from ._keyring import Change, Entry, Keyring
from ._keys import AskForKeys, Identity, IdentityFile, Key, KeyFile, Keys, Passphrase, Recipient, Recipients, SlotID
from ._library import lib as _lib
from ._open import open
from ._reader import RawReader, Reader
from ._whole import decrypt, decrypt_file, encrypt, encrypt_file, inspect, reencrypt, repair, rotate, verify
from ._writer import Writer

#: The version of libvaultfile.
__version__: str = _lib.vaultfile_version().decode()

__all__ = [
    "AskForKeys", "BadKeyError", "Change", "ConsentNeededError", "DamagedError", "Entry", "Error",
    "ForbiddenFileError", "HeaderDetachedError", "Identity", "IdentityFile", "InUseError", "InvalidArgumentError",
    "Key", "KeyFile", "Keyring", "KeyringError", "Keys", "LimitExceededError", "MissingFileError", "NoSuchKeyError",
    "NotVaultfileError", "OutOfMemoryError", "OutputExistsError", "Passphrase", "RangeInvalidError", "RawReader",
    "Reader", "Recipient", "Recipients", "SlotID", "SystemCallError", "UnexpectedStateError", "UnsupportedError",
    "Writer", "WrongKeyError", "attach", "decrypt", "decrypt_file", "detach", "encrypt", "encrypt_detached",
    "encrypt_file", "inspect", "inspect_header", "open", "reencrypt", "repair", "rotate", "rotate_header",
    "rotate_header_file", "verify", "verify_header",
]

# What a traceback and help() show is the name to use.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
del _name
