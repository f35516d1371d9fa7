"""The parts of check_vectors.py for the members of the manifest that are for programs (MEMBERS.md)."""

import base64
import hashlib
import io
from typing import Any, Optional

from errors import VaultError
from item_path import item_path
from manifest import ITEM_PATH, SHA256, TAR_INDEX
from seek_reader import open_container
from slots import Secrets
from signatures import Result, Signer, check_demand, results, statement
from tar_index import Entry, find, find_by_stream, make_index, parse_index, target

MEMBER_OPERATIONS = ("tar-index", "tar-member", "make-tar-index", "signatures", "item-path")
MEMBER_REPEATED = ("index-entry", "allowed-signer", "demand", "signature-result")
MEMBER_FIELDS = ("result", "index", "index-entry", "index-length", "index-sha256", "plaintext-length",
                 "plaintext-sha256", "signature-result", "statement-sha256", "item-path")
MEMBER_PARAMETERS = ("path", "by", "allowed-signer", "demand", "set-name")


def check_members(fields: dict[str, Any], data: bytes, secrets: Secrets) -> list[str]:
    """The differences from the expected result."""
    try:
        of_what = {"signatures": answer_of_signatures, "item-path": answer_of_path}
        answer = {"result": "done"} | of_what.get(fields["operation"], answer_of_index)(fields, data, secrets)
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
        return index_fields(container.members().get(TAR_INDEX, b""))
    index = None if fields["by"] == "stream" else parse_index(container.members()[TAR_INDEX])
    assert index is not None or fields["by"] == "stream"

    def look(path: bytes, before: Optional[int] = None) -> Optional[Entry]:
        if index is None:
            return find_by_stream(path, container.read_some, before)
        return find(index, path, container.read_some, before)

    entry = target(look(bytes.fromhex(fields["path"])), look)
    if entry is None:
        return {}
    content = container.read_some(entry.offset, entry.size)
    return {"plaintext-length": str(len(content)), "plaintext-sha256": hashlib.sha256(content).hexdigest()}


def answer_of_signatures(fields: dict[str, Any], data: bytes, secrets: Secrets) -> dict[str, Any]:
    """The result of each signature. `by`: a full read, or a reader of ranges."""
    container = open_container(io.BytesIO(data), secrets)
    length, members = container.manifest.length, container.members()
    is_full = fields["by"] == "whole"
    if is_full:
        for _ in container.read_whole():
            pass
    signers = [Signer(principal, base64.b64decode(key))
               for principal, _, key in (line.partition(" ") for line in fields["allowed-signer"])]
    found = results(members, length, is_full, signers)
    answer: dict[str, Any] = {"signature-result": list(map(words, found))}
    if SHA256 in members:
        text = statement(members[SHA256], length, members)
        answer["statement-sha256"] = hashlib.sha256(text).hexdigest()
    if fields["demand"]:
        check_demand(found, [each for each in fields["demand"] if each != "*"])
    return answer


def answer_of_path(fields: dict[str, Any], data: bytes, secrets: Secrets) -> dict[str, Any]:
    value = open_container(io.BytesIO(data), secrets).members().get(ITEM_PATH, b"")
    path = item_path(value)
    return {"item-path": "absent" if path is None else path.hex()}


def words(found: Result) -> str:
    return found.result if found.principal is None else f"{found.result} {found.principal}"


def index_fields(value: bytes) -> dict[str, Any]:
    index = parse_index(value)
    if index is None:
        return {"index": "absent"}
    entries = [f"{entry.place} {entry.path.hex()}" for entry in index.entries]
    return {"index": f"{1 << index.log2_step} {int(index.is_sorted)} {index.count}",
            "index-entry": entries if len(entries) < 100 else []}
