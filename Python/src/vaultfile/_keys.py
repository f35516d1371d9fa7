"""Secrets that open containers, and those to encrypt to."""

from __future__ import annotations

import ctypes
import errno
import os
import unicodedata
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional, Union

from ._errors import Raised, check, invalid, of_system
from ._library import KeyCallback, lib
from ._memory import Buffer, Handle, Secret, address, data, make, secret_text
from ._signals import Released

if TYPE_CHECKING:
    from ._keyring import Entry, Keyring

Path = Union[str, "os.PathLike[str]"]


#: Bytes of the largest file of keys.
_MOST = 1 << 20


def _read(path: Path) -> Secret:
    # A buffered file would leave a copy behind, and a pipe does not say how much comes.
    text = bytearray(_MOST + 1)
    try:
        count = 0
        with of_system(path, "inputFailed"), open(path, "rb", buffering=0) as file, memoryview(text) as place:
            while count < len(text):
                found = file.readinto(place[count:])
                if found is None:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                if not found:
                    break
                count += found
        if count > _MOST:
            raise invalid(f"{os.fspath(path)} is too large for a file of keys")
        return Secret(memoryview(text)[:count])
    finally:
        lib.vaultfile_wipe((ctypes.c_char * len(text)).from_buffer(text), len(text))


class Opener:
    """What opens containers."""

    def _add_to_keys(self, keys: Handle) -> None:
        raise NotImplementedError


class Target:
    """What a container can be encrypted to: a key, a passphrase, or a person."""

    def _add_to_recipients(self, recipients: Handle) -> None:
        raise NotImplementedError


class Recipient(Target):
    """A person who can open a container.

    ``Recipient("age1…")`` is a person by their public key; ``age1pq1…`` and ``ssh-ed25519 …`` are others. If `hidden`,
    the container does not show whose it is. Several lines name several persons.
    """

    def __init__(self, text: str, *, hidden: bool = False) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"a Recipient is made of the text of public keys, not of {type(text).__name__}; an Identity can be "
                "encrypted to as it is")
        self._text = text
        self._hidden = hidden
        self._add_to_recipients(_new_recipients())

    @classmethod
    def from_file(cls, path: Path, *, hidden: bool = False) -> Recipient:
        """The persons of a recipients file: one public key a line; lines that begin with # are ignored."""
        with of_system(path, "inputFailed"), open(path, encoding="utf-8") as file:
            return cls(file.read(), hidden=hidden)

    def _add_to_recipients(self, recipients: Handle) -> None:
        text = self._text.encode()
        check(lib.vaultfile_recipients_add_public_keys(recipients.value, text, len(text), self._hidden))

    def __repr__(self) -> str:
        return f"Recipient({self._text!r})"


class Key(Opener, Target):
    """A symmetric key of 32 bytes. It opens, and it can be encrypted to."""

    def __init__(self, key: Buffer) -> None:
        if isinstance(key, str):
            raise TypeError("a Key is made of 32 bytes, not of str: bytes.fromhex(), KeyFile(path) or Passphrase(text)")
        self._secret = Secret(key)
        found = (ctypes.c_char * 16)()
        check(lib.vaultfile_key_id(*self._secret.argument, found, 16))
        #: The ID of the key, 32 hexadecimal digits. Headers show it; it reveals nothing of the key.
        self.id: str = found.raw.hex()

    @classmethod
    def generate(cls) -> Key:
        """A fresh random key. Store it durably (`save`) before you encrypt anything that you need."""
        key = bytearray(32)
        try:
            check(lib.vaultfile_generate_key(*address(key)))
            return cls(key)
        finally:
            key[:] = bytes(32)

    def save(self, path: Path) -> None:
        """Writes a key file with mode 0600. The file must not exist."""
        save(secret_text(lib.vaultfile_key_file, *self._secret.argument), path)

    def _add_to_keys(self, keys: Handle) -> None:
        check(lib.vaultfile_keys_add_key(keys.value, *self._secret.argument))

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(lib.vaultfile_recipients_add_key(recipients.value, *self._secret.argument))

    def __eq__(self, other: object) -> bool:
        """Whether it is the same key: the IDs say so."""
        return self.id == other.id if isinstance(other, Key) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Key {self.id}>"


def _sync_folder(path: Path) -> None:
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class KeyFile(Opener, Target):
    """The key in a key file, which is read when it is needed. It holds only the absolute path, so it can be pickled."""

    def __init__(self, path: Path) -> None:
        # A process that gets it may work in another folder.
        self.path = os.path.abspath(path)

    def _add_to_keys(self, keys: Handle) -> None:
        secret = _read(self.path)
        check(lib.vaultfile_keys_add_key_file(keys.value, *secret.argument))

    def _add_to_recipients(self, recipients: Handle) -> None:
        secret = _read(self.path)
        check(lib.vaultfile_recipients_add_key_file(recipients.value, *secret.argument))

    def __repr__(self) -> str:
        return f"KeyFile({self.path!r})"


class Passphrase(Opener, Target):
    """A passphrase of 1 to 1024 bytes. Text is brought to Unicode's form NFC, as the command does.

    `passes` and `memory_kib` are the cost of a try when it is encrypted to: 0 and 0 are the standard cost, about a
    second and 256 MiB.
    """

    def __init__(self, passphrase: Union[str, Buffer], *, passes: int = 0, memory_kib: int = 0) -> None:
        if isinstance(passphrase, str):
            passphrase = unicodedata.normalize("NFC", passphrase).encode()
        elif not isinstance(passphrase, (bytes, bytearray, memoryview)):
            raise TypeError(f"a Passphrase is made of str or bytes, not of {type(passphrase).__name__}")
        self._secret = Secret(passphrase)
        self._cost = (passes, memory_kib)
        self._add_to_keys(_new_keys())

    def _add_to_keys(self, keys: Handle) -> None:
        check(lib.vaultfile_keys_add_passphrase(keys.value, *self._secret.argument))

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(lib.vaultfile_recipients_add_passphrase(recipients.value, *self._secret.argument, *self._cost))

    def __repr__(self) -> str:
        return "<Passphrase>"


class Identity(Opener, Target):
    """The secret of a person: ``AGE-SECRET-KEY-…``, ``AGE-SECRET-KEY-PQ-…``, or an OpenSSH private key of the type
    ssh-ed25519 without a passphrase. To encrypt to it is to encrypt to its owner."""

    def __init__(self, text: Union[str, Buffer], *, hidden: bool = False) -> None:
        self._secret = Secret(text.encode() if isinstance(text, str) else text)
        self._hidden = hidden
        self._add_to_keys(_new_keys())

    @classmethod
    def generate(cls, *, post_quantum: bool = False) -> Identity:
        """A fresh identity. With `post_quantum`, a quantum computer does not break it (X-Wing)."""
        made = cls.__new__(cls)
        made._secret = secret_text(lib.vaultfile_generate_identity, post_quantum)
        made._hidden = False
        return made

    def save(self, path: Path) -> None:
        """Writes an identity file with mode 0600. The file must not exist."""
        save(self._secret, path)

    @property
    def recipients(self) -> list[str]:
        """The public keys: age1… or age1pq1…, to give to others."""
        return data(lib.vaultfile_identity_recipients, *self._secret.argument).decode().split()

    def _add_to_keys(self, keys: Handle) -> None:
        check(lib.vaultfile_keys_add_identities(keys.value, *self._secret.argument))

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(lib.vaultfile_recipients_add_identities(recipients.value, *self._secret.argument, self._hidden))

    def __repr__(self) -> str:
        return "<Identity>"


class IdentityFile(Opener, Target):
    """The identities in a file, which is read when it is needed. It holds only the absolute path, so it can be
    pickled."""

    def __init__(self, path: Path, *, hidden: bool = False) -> None:
        self.path = os.path.abspath(path)
        self._hidden = hidden

    def _add_to_keys(self, keys: Handle) -> None:
        secret = _read(self.path)
        check(lib.vaultfile_keys_add_identities(keys.value, *secret.argument))

    def _add_to_recipients(self, recipients: Handle) -> None:
        secret = _read(self.path)
        check(lib.vaultfile_recipients_add_identities(recipients.value, *secret.argument, self._hidden))

    def __repr__(self) -> str:
        return f"IdentityFile({self.path!r})"


class SlotID(Target):
    """A slot by its ID, 32 hexadecimal digits as `inspect` shows them. Only for the removal of slots."""

    def __init__(self, id: str) -> None:
        try:
            self._id = bytes.fromhex(id)
        except ValueError:
            raise invalid("the ID of a slot has 32 hexadecimal digits", "badKey") from None
        self._add_to_recipients(_new_recipients())

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(lib.vaultfile_recipients_add_slot_id(recipients.value, self._id, len(self._id)))

    def __repr__(self) -> str:
        return f"SlotID({self._id.hex()!r})"


class AskForKeys(Opener):
    """Asks the program for secrets when a container needs them.

    `ask` gets ``"keys"`` with the IDs that the header names, ``"identities"`` or ``"passphrases"``, and returns what it
    has of them, or None. An exception of `ask` ends the call that opens, which raises it.
    """

    def __init__(self, ask: Callable[[str, list[str]], Optional[Keys]]) -> None:
        if not callable(ask):
            raise TypeError(f"AskForKeys takes a function, not {type(ask).__name__}")
        self._ask = ask

    def _add_to_keys(self, keys: Handle) -> None:
        raise TypeError("AskForKeys must be the whole of `keys`, or an item of its list")


#: One secret, or several.
Keys = Union[Opener, "Keyring", Iterable[Union[Opener, "Keyring"]]]
#: One recipient, or several. A keyring stands for its current key.
Recipients = Union[Target, "Keyring", "Entry", Iterable[Union[Target, "Keyring", "Entry"]]]

_REQUESTS = {1: "keys", 2: "identities", 3: "passphrases"}


def _new_keys() -> Handle:
    return make(lib.vaultfile_keys_new, lib.vaultfile_keys_free)


def _new_recipients() -> Handle:
    return make(lib.vaultfile_recipients_new, lib.vaultfile_recipients_free)


class KeysHandle:
    """Keys in the library, with the callback that they may have, and the exceptions that it raised."""

    def __init__(self, keys: Optional[Keys]) -> None:
        items = _items(keys, Opener)
        self.is_empty = not items
        self.handle = _new_keys()
        self.raised = Raised()
        self._callback: Any = None
        for item in items:
            if isinstance(item, AskForKeys):
                if self._callback is not None:
                    raise ValueError("only one AskForKeys can be given")
                self._set_callback(item)
            else:
                item._add_to_keys(self.handle)

    @property
    def value(self) -> Optional[int]:
        return self.handle.value

    def _set_callback(self, item: AskForKeys) -> None:
        raised, ask = self.raised, item._ask

        # Without `self`: a cycle would keep what the function refers to until the garbage collector runs.
        def callback(_: Any, request: int, ids: Optional[int], count: int, answer: Optional[int]) -> int:
            try:
                flat = ctypes.string_at(ids, 16 * count) if ids else b""
                names = [flat[start : start + 16].hex() for start in range(0, len(flat), 16)]
                with Released():
                    # A generator computes its items now, and a key file may be a pipe.
                    for key in _items(ask(_REQUESTS.get(request, "other"), names), Opener):
                        key._add_to_keys(_Borrowed(answer))
                return 0
            except BaseException as error:
                return raised.keep(error)

        self._callback = KeyCallback(callback)
        check(lib.vaultfile_keys_set_callback(self.value, self._callback, None))


class _Borrowed(Handle):
    """A handle that belongs to the library."""

    def __init__(self, value: Optional[int]) -> None:
        super().__init__(value, _leave)


def _leave(_: Optional[int]) -> None:
    return None


def recipients_handle(recipients: Optional[Recipients]) -> Handle:
    made = _new_recipients()
    for item in _items(recipients, Target):
        item._add_to_recipients(made)
    return made


def sealing_handle(recipients: Optional[Recipients]) -> Handle:
    """The same for a new container, which needs at least one."""
    items = _items(recipients, Target)
    if not items:
        raise invalid("no keys were given: nobody could open the container")
    return recipients_handle(items)


def _items(given: Any, kind: type) -> list[Any]:
    from ._keyring import Entry, Keyring

    kinds = (kind, Keyring) if kind is Opener else (kind, Keyring, Entry)
    if given is None:
        return []
    found = [given] if isinstance(given, kinds) else None
    if found is None:
        if isinstance(given, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"a key needs its kind, and is not {type(given).__name__}: {_KINDS[kind]}")
        try:
            found = list(given)
        except TypeError:
            raise _unusable(given, kind) from None
    for item in found:
        if not isinstance(item, kinds):
            raise _unusable(item, kind)
    return found


_KINDS: dict[type, str] = {
    Opener: "Key(bytes), KeyFile(path), Passphrase(text), Identity(text), IdentityFile(path), Keyring(path) or "
            "AskForKeys(function)",
    Target: "Key(bytes), KeyFile(path), Passphrase(text), Recipient(text), Identity(text), IdentityFile(path), "
            "Keyring(path) or an entry of a keyring"}


def _unusable(item: Any, kind: type) -> TypeError:
    from ._keyring import Entry

    reason = f"{type(item).__name__} cannot be used here; there are: {_KINDS[kind]}"
    if isinstance(item, Recipient):
        reason = "a Recipient can only be encrypted to; to open, give the Identity"
    elif isinstance(item, SlotID):
        reason = "a SlotID only names a slot to remove"
    elif isinstance(item, Entry):
        reason = "an entry of a keyring can only be encrypted to; to open, give the Keyring"
    elif isinstance(item, AskForKeys):
        reason = "AskForKeys only opens"
    return TypeError(reason)


def save(secret: Secret, path: Path) -> None:
    """Writes a secret to a new file with mode 0600, durably."""
    bytes_, count = secret.argument
    save_file(memoryview(bytes_).cast("B")[:count], path)


def save_file(bytes_: Any, path: Path) -> None:
    """Writes a new file with mode 0600, durably."""
    with of_system(path, "outputFailed"):
        _write_new(bytes_, path)
        try:
            _sync_folder(path)
        except BaseException:
            os.unlink(path)
            raise


def replace_file(bytes_: Any, path: Path) -> None:
    """Replaces a file as a whole, durably. It keeps its mode."""
    path = os.path.realpath(path)
    made = f"{path}.{os.urandom(8).hex()}.new"
    with of_system(path, "outputFailed"):
        _write_new(bytes_, made)
        try:
            os.chmod(made, os.stat(path).st_mode & 0o777)
            os.replace(made, path)
        except BaseException:
            os.unlink(made)
            raise
        _sync_folder(path)


def _write_new(bytes_: Any, path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            if file.write(bytes_) != len(bytes_):
                raise OSError(errno.ENOSPC, "the disk is full")
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(path)
        raise
