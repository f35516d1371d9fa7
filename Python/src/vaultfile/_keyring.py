"""Keyrings: keys, recipients, identities and groups with names, in a file of the user."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Callable, Iterable, Iterator, Optional

from ._errors import about, check, invalid, path_bytes
from ._keys import Identity, Key, Keys, KeysHandle, Path, Recipients, recipients_handle, save
from ._library import lib
from ._memory import Handle, make, report, secret_text
from ._options import KeyringOptions, options_handle
from ._signals import run


class Entry:
    """A key, a recipient, an identity or a group of a keyring, to encrypt to."""

    def __init__(self, keyring: Keyring, found: dict[str, Any]) -> None:
        self._keyring = keyring
        self.name: str = found["name"]
        #: Such as "current", "retired", "destroyed", "recipient", "identity" or "group".
        self.state: str = found["state"]
        self.id: Optional[str] = found.get("id")
        #: The time when it was made, in UTC, such as "2026-01-31T12:00:00Z".
        self.created: Optional[str] = found.get("created")
        #: The public key, of a recipient or an identity.
        self.recipient: Optional[str] = found.get("recipient")
        #: The names in a group.
        self.members: list[str] = found.get("members") or []

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(
            lib.vaultfile_recipients_add_from_keyring(
                recipients.value, self._keyring._value, self.name.encode()))

    def __repr__(self) -> str:
        return f"<Entry {self.name!r}, {self.state}>"


class Keyring:
    """A keyring, as it was when it was opened. As `keys` it opens with everything it has, and encrypts to its current
    key; ``keyring["name"]`` encrypts to something else of it."""

    def __init__(
        self, path: Path, keys: Optional[Keys] = None, *, allow_unprotected: bool = False, allow_unlocked: bool = False
    ) -> None:
        """Opens a keyring. `keys` unlock it: a Key, a KeyFile or a Passphrase. With `allow_unlocked`, a keyring that
        ``vaultfile key unlock`` has unlocked for a time needs none."""
        self.path = os.fspath(path)
        self._keys = keys
        self._options: dict[str, Any] = {"allow_unprotected": allow_unprotected, "allow_unlocked": allow_unlocked}
        self._handle = self._open()

    @classmethod
    def create(cls, path: Path, keys: Recipients, *, name: str = "key") -> Keyring:
        """Makes a keyring with a first key of this name, which is current. `keys` unlock it."""
        recipients = recipients_handle(keys)
        with about(path):
            run(lib.vaultfile_keyring_create, path_bytes(path), recipients.value, name.encode())
        return cls(path, keys)  # type: ignore[arg-type]

    def _open(self) -> Handle:
        opening = KeysHandle(self._keys)
        settings = options_handle(KeyringOptions, self._options)
        with about(self.path):
            return make(
                lib.vaultfile_keyring_open, lib.vaultfile_keyring_free, path_bytes(self.path), opening.value,
                settings.value, callbacks=(opening,))

    @property
    def _value(self) -> Optional[int]:
        return self._handle.value

    def reload(self) -> None:
        """Reads the keyring again."""
        self._handle = self._open()

    @property
    def entries(self) -> list[Entry]:
        """Everything that the keyring has."""
        return [Entry(self, found) for found in report(lib.vaultfile_keyring_entries, self._value)["entries"]]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise invalid(f"the keyring {self.path!r} has no {name!r}", "noSuchKey")

    def __contains__(self, name: object) -> bool:
        """Whether the keyring has something of this name."""
        return any(entry.name == name for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def export(self, name: str, path: Path) -> None:
        """Writes a key file or an identity file with mode 0600. The file must not exist."""
        save(secret_text(lib.vaultfile_keyring_export, self._value, name.encode()), path)

    def change(self) -> Change:
        """Collects changes, which are made together at the end of the ``with`` block; after an exception, none is."""
        return Change(self)

    def _add_to_keys(self, keys: Handle) -> None:
        check(lib.vaultfile_keys_add_keyring(keys.value, self._value))

    def _add_to_recipients(self, recipients: Handle) -> None:
        check(lib.vaultfile_recipients_add_from_keyring(recipients.value, self._value, None))

    def __reduce__(self) -> Any:
        raise TypeError("keyrings are not pickled: each process opens its own")

    def __repr__(self) -> str:
        return f"<Keyring {self.path!r}>"


class Change:
    """Changes to a keyring, made together or not at all."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._handle = make(lib.vaultfile_change_new, lib.vaultfile_change_free)
        #: After `apply`: what is left of destroyed secrets on the disk.
        self.report: Optional[dict[str, Any]] = None

    def _call(self, function: Callable[..., Optional[int]], *arguments: Any) -> None:
        check(function(self._handle.value, *arguments))

    def generate_key(self, name: str) -> None:
        """A new key, which becomes current."""
        self._call(lib.vaultfile_change_generate_key, name.encode())

    def add_key(self, name: str, key: Key, *, current: bool = False) -> None:
        """An existing key."""
        self._call(lib.vaultfile_change_add_key, name.encode(), *key._secret.argument, current)

    def add_recipient(self, name: str, text: str) -> None:
        """Someone to encrypt to: age1…, age1pq1…, ssh-ed25519 …."""
        bytes_ = text.encode()
        self._call(lib.vaultfile_change_add_recipient, name.encode(), bytes_, len(bytes_))

    def generate_identity(self, name: str, *, post_quantum: bool = False) -> None:
        """A fresh identity."""
        self._call(lib.vaultfile_change_generate_identity, name.encode(), post_quantum)

    def add_identity(self, name: str, identity: Identity) -> None:
        """An existing identity."""
        self._call(lib.vaultfile_change_add_identity, name.encode(), *identity._secret.argument)

    def set_group(self, name: str, members: Iterable[str]) -> None:
        """A group, new or with other members."""
        self._call(lib.vaultfile_change_set_group, name.encode(), ",".join(members).encode())

    def remove_group(self, name: str) -> None:
        self._call(lib.vaultfile_change_remove_group, name.encode())

    def use(self, name: str) -> None:
        """Makes a key current, or a former recipient one again."""
        self._call(lib.vaultfile_change_use, name.encode())

    def retire(self, name: str) -> None:
        """Retires a key, which still opens; or makes a recipient former."""
        self._call(lib.vaultfile_change_retire, name.encode())

    def destroy(self, name: str) -> None:
        """Destroys a key or an identity. What only it opened is lost for ever."""
        self._call(lib.vaultfile_change_destroy, name.encode())

    def apply(self) -> None:
        """Makes the changes, and reads the keyring again."""
        keyring = self._keyring
        opening = KeysHandle(keyring._keys)
        settings = options_handle(KeyringOptions, keyring._options)
        self.report = report(
            lib.vaultfile_change_apply, self._handle.value, path_bytes(keyring.path), opening.value, settings.value,
            callbacks=(opening,))
        keyring.reload()

    def __enter__(self) -> Change:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self.apply()
        self._handle.free()
