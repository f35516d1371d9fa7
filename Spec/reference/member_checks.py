"""The parts of check_vectors.py for the members of the manifest that are for programs (MEMBERS.md)."""

import hashlib
import io
from typing import Any

from errors import VaultError
from seek_reader import open_container
from slots import Secrets
from tar_index import TAG, find, find_by_stream, make_index, parse_index

MEMBER_OPERATIONS = ("tar-index", "tar-member", "make-tar-index")
MEMBER_REPEATED = ("index-entry",)
MEMBER_FIELDS = ("result", "index", "index-entry", "index-length", "index-sha256", "plaintext-length",
                 "plaintext-sha256")


def check_members(fields: dict[str, Any], data: bytes, secrets: Secrets) -> list[str]:
    """The differences from the expected result."""
    try:
        answer = {"result": "done"} | answer_of_index(fields, data, secrets)
    except VaultError as error:
        answer = {"result": error.name}
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}" for name in MEMBER_FIELDS
            if (answer.get(name) or None) != (fields.get(name) or None)]


def answer_of_index(fields: dict[str, Any], data: bytes, secrets: Secrets) -> dict[str, Any]:
    """The index of a tar stream, a member by it or by the stream, or the index that a writer makes."""
    if fields["operation"] == "make-tar-index":
        value = make_index(lambda offset, length: data[offset:offset + length])
        if value is None:
            return {"index": "absent"}
        return index_fields(value) | {"index-length": str(len(value)), "index-sha256": hashlib.sha256(value).hexdigest()}
    container = open_container(io.BytesIO(data), secrets)
    if fields["operation"] == "tar-index":
        return index_fields(container.members().get(TAG, b""))
    path = bytes.fromhex(fields["path"])
    if fields["by"] == "stream":
        entry = find_by_stream(path, container.read_some)
    else:
        index = parse_index(container.members()[TAG])
        assert index is not None
        entry = find(index, path, container.read_some)
    if entry is None:
        return {}
    content = container.read_some(entry.offset, entry.size)
    return {"plaintext-length": str(len(content)), "plaintext-sha256": hashlib.sha256(content).hexdigest()}


def index_fields(value: bytes) -> dict[str, Any]:
    index = parse_index(value)
    if index is None:
        return {"index": "absent"}
    entries = [f"{entry.place} {entry.path.hex()}" for entry in index.entries]
    return {"index": f"{1 << index.log2_step} {int(index.is_sorted)} {index.count}",
            "index-entry": entries if len(entries) < 100 else []}
