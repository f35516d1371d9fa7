"""What is in a store, as text, and the vectors of stores (STORE.md): a vector is a whole folder."""

import base64
import hashlib
from typing import Any, Optional

from errors import VaultError
from slots import Secrets
from store import LOCKED, SEALED, UNLOCKED, Files, Locked, Store

FIELDS = ("case", "tests", "comment", "needs", "device-key", "unlock-key", "unlock-passphrase", "file", "open", "unlock",
          "locked-when-sealed", "locked-when-locked", "item")
REPEATED = ("unlock-key", "unlock-passphrase", "file", "item")
REQUIRED = ("case", "device-key", "open")


def parse_store(data: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {name: [] for name in REPEATED}
    text = data.decode("utf-8")
    if not text.endswith("\n"):
        raise ValueError("the last line does not end")
    for line in text[:-1].split("\n"):
        name, colon, value = line.partition(":")
        if not colon or name not in FIELDS or (name in fields and name not in REPEATED):
            raise ValueError(f"line: {line[:80]}")
        if name in REPEATED:
            fields[name].append(value.strip(" "))
        else:
            fields[name] = value.strip(" ")
    for name in REQUIRED:
        if name not in fields:
            raise ValueError(f"no {name}")
    return fields


def needed(fields: dict[str, Any]) -> set[str]:
    """The optional parts that a vector needs."""
    return set(filter(None, fields.get("needs", "").split(",")))


def files_of(fields: dict[str, Any]) -> dict[str, bytes]:
    pairs = (line.partition(" ") for line in fields["file"])
    return {path: base64.b64decode(text, validate=True) for path, _, text in pairs}


def outcome(store: Store, path: str) -> str:
    """What a line `item` says behind the file."""
    try:
        item = store.read(path)
    except Locked as error:
        return f"{error.name} {error.protection}"
    except VaultError as error:
        return error.name
    return f"{item.protection} {len(item.content)} {hashlib.sha256(item.content).hexdigest()} {item.name.hex()}"


def locked_count(store: Store) -> str:
    return str(sum(outcome(store, path).startswith("locked ") for path in store.item_files()))


def answer_of(files: Files, device_key: bytes, unlockers: Optional[Secrets]) -> dict[str, Any]:
    """The fields of a vector that state results, as this reader finds them. `unlockers`: None to open the store
    only."""
    answer: dict[str, Any] = {"item": []}
    try:
        store = Store(files, device_key)
    except VaultError as error:
        return answer | {"open": error.name}
    answer["open"] = "done"
    assert store.state == SEALED
    answer["locked-when-sealed"] = locked_count(store)
    if unlockers is not None:
        try:
            store.unlock(unlockers)
            answer["unlock"] = "done"
        except VaultError as error:
            answer["unlock"] = error.name
        assert store.state == (UNLOCKED if answer["unlock"] == "done" else SEALED)
    answer["item"] = [f"{path[6:38]} {outcome(store, path)}" for path in store.item_files()]
    if store.state == UNLOCKED:
        store.lock()
        assert store.state == LOCKED
        answer["locked-when-locked"] = locked_count(store)
    return answer


def check_store(data: bytes, parts: set[str]) -> Optional[list[str]]:
    """The differences from the expected results; None if the vector needs a part that is not here."""
    fields = parse_store(data)
    if not needed(fields) <= parts:
        return None
    unlockers = Secrets(keys=tuple(map(bytes.fromhex, fields["unlock-key"])),
                        passphrases=tuple(map(bytes.fromhex, fields["unlock-passphrase"])))
    answer = answer_of(files_of(fields), bytes.fromhex(fields["device-key"]), unlockers if "unlock" in fields else None)
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}"
            for name in ("open", "unlock", "locked-when-sealed", "locked-when-locked", "item")
            if answer.get(name) != fields.get(name) and (fields.get(name) != "E" or answer.get(name) in (None, "done"))]
