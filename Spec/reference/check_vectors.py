"""Runs every vector of a folder through the three readers, or the operation that it asks for:
python3 Spec/reference/check_vectors.py [FOLDER]

A vector file: lines `name: value` in UTF-8, an empty line, the container (with `compressed: zlib`, in zlib's format).
Those in FOLDER/stores have the lines alone.
"""

import io
import sys
import zlib
from pathlib import Path
from typing import Any, Callable, Iterator, Optional

import hpke
import primitives as p
from errors import VaultError
from key_text import read_key_file
from keyring import read_keyring, read_keyring_file, read_unlock_file
from layout import split_footer
from member_checks import MEMBER_FIELDS, MEMBER_OPERATIONS, MEMBER_PARAMETERS, MEMBER_REPEATED, check_members
from public_slots import PluginIdentity
from recipient_text import plugin_of, read_identities, read_recipients, recipient_of
from records import seal_record
from seek_reader import Container, open_container
from slots import Secrets
from store_checks import check_store, needed
from vaultfile_reference import (LIMIT_NAMES, Outcome, Sink, by_ranges, change_fields, manifest_fields,
                                 read_by_recovering, read_by_seeking, read_by_stream, secrets_of)

HEALTHS = ("intact", "rotationUnfinished", "copiesConflict", "frontDamaged", "tailDamaged")
CALLER = ("context", "expect", "header-file", "expect-header")
METADATA = ("name", "content-type", "modified", "mode", "digest")
# Of the container with which a vector begins, and of the caller.
COMMON = ("case", "tests", "comment", "needs", "key", "passphrase", "identity", "context", "expect", "header-file",
          "expect-header", "stanza-answer", "failing-plugin", "handed-over", "compressed", "unsealed")
FIELDS = COMMON + ("stream", "seek", "whole", "released",
          "plaintext-length", "plaintext-sha256") + METADATA + LIMIT_NAMES
# The fields of a vector with an operation, in place of the readers' results.
PARAMETERS = ("operation", "add", "remove", "stanza-wrap", "keep", "consent", "mixed", "random", "header", "range",
              "key-id", "entries", "entry", "skipped") + MEMBER_PARAMETERS
RECOVERED = ("result", "complete", "plaintext-length", "plaintext-sha256", "lost")
RESULTS = ("result", "written", "result-sha256", "result-generation", "result-capacity", "result-slots",
           "result-header")
# Not stated, and so not compared, where they depend on randomness that cannot be given.
MAY_BE_ABSENT = ("result-sha256", "result-slots")
OPERATION_FIELDS = COMMON + PARAMETERS + RESULTS + ("result-opens",) + RECOVERED + LIMIT_NAMES + MEMBER_FIELDS
REPEATED = ("key", "passphrase", "add", "remove", "stanza-wrap", "result-opens", "range", "entry", "identity",
            "stanza-answer", "failing-plugin", "handed-over") + MEMBER_REPEATED
# The optional parts that are here. A vector that needs another is left out.
PARTS = {"detached", "item-path", "keyring-recipients", "no-x-wing", "recipient-changes", "recipient-texts", "signatures",
         "stanzas", "tar-index", "x25519"}
PARTS |= {"x-wing"} if hpke.has_x_wing() else set()
TEXT_OPERATIONS = ("recipient", "recipients-file", "identities-file")
KEY_OPERATIONS = ("key-file", "keyring-text", "unlock-file", "keyring-file") + TEXT_OPERATIONS


class ShortReads(io.BytesIO):
    """Short reads, as from a pipe: single bytes at first, then pieces of odd lengths."""

    def read(self, size: Any = -1) -> bytes:
        return super().read(1 if self.tell() < 600 else min(size, 5003))


def parse_vector(data: bytes) -> tuple[dict[str, Any], bytes]:
    text, separator, body = data.partition(b"\n\n")
    if not separator:
        raise ValueError("no empty line")
    fields: dict[str, Any] = {name: [] for name in REPEATED}
    has_operation = "\noperation: " in text.decode("utf-8")
    known = OPERATION_FIELDS if has_operation else FIELDS
    for line in text.decode("utf-8").split("\n"):
        name, colon, value = line.partition(":")
        value = value.strip(" ")
        if not colon or name not in known or (name in fields and name not in REPEATED):
            raise ValueError(f"line: {line}")
        if name in REPEATED:
            fields[name].append(value)
        else:
            fields[name] = value
    for name in ("case", "result") if has_operation else ("case", "stream", "seek", "whole"):
        if name not in fields:
            raise ValueError(f"no {name}")
    container = zlib.decompress(body) if fields.get("compressed") == "zlib" else body
    if "unsealed" in fields:
        container = sealed(container, bytes.fromhex(fields["unsealed"]), bytes.fromhex(fields.get("context", "")))
    return fields, container


def sealed(container: bytes, file_key: bytes, context: bytes) -> bytes:
    """The container. The vector holds the data records' plaintext in place of their ciphertext, and for each tag what
    is wrong in it."""
    preamble, footer = container[:64], split_footer(container[-p.FOOTER_SIZE:])
    key = p.stream_key(file_key, preamble, context)
    parts = [container[:footer.capacity]]
    at, end = footer.capacity, footer.manifest_offset
    while at < end:
        record = container[at:min(end, at + (1 << preamble[12]) + p.RECORD_OVERHEAD)]
        right = seal_record(key, preamble[16:32], len(parts) - 1, p.DATA, record[4:-p.TAG_SIZE])
        tag = bytes(x ^ y for x, y in zip(right[-p.TAG_SIZE:], record[-p.TAG_SIZE:]))
        parts.append(right[:-p.TAG_SIZE] + tag)
        at += len(record)
    return b"".join([*parts, container[end:]])


def vector_secrets(fields: dict[str, Any]) -> Secrets:
    return secrets_of(secrets_request(fields))


def secrets_request(fields: dict[str, Any]) -> dict[str, Any]:
    request = {name: fields[name] for name in LIMIT_NAMES + CALLER if name in fields}
    return request | {"keys": fields["key"], "passphrases": fields["passphrase"], "identities": fields["identity"],
                      "stanza-answers": fields["stanza-answer"], "failing-plugins": fields["failing-plugin"],
                      "without-x-wing": "no-x-wing" in needed(fields)}


def check_result(fields: dict[str, Any], reader: str, outcome: Outcome, sink: Sink) -> Iterator[str]:
    """The differences from the expected result of one reader."""
    expected, _, place = fields[reader].partition(" at ")
    got = (outcome.health or outcome.error or "") + (f" at {outcome.place}" if outcome.place else "")
    if expected in HEALTHS:
        if outcome.health != expected:
            yield f"{reader}: expected {expected}, got {got}"
            return
        yield from check_plaintext(fields, reader, outcome, sink)
        return
    if outcome.error is None or expected not in ("E", outcome.error) or (
            reader != "stream" and place and place != outcome.place):
        yield f"{reader}: expected {fields[reader]}, got {got}"
    if reader == "stream" and "released" in fields:
        length, digest = fields["released"].split()
        if (int(length), digest) != (sink.length, sink.sha256.hexdigest()):
            yield f"stream: released {sink.length} {sink.sha256.hexdigest()}, not {fields['released']}"
    elif reader == "stream" and sink.length:
        yield f"stream: released {sink.length} bytes, none were announced"


def check_plaintext(fields: dict[str, Any], reader: str, outcome: Outcome, sink: Sink) -> Iterator[str]:
    if str(sink.length) != fields.get("plaintext-length"):
        yield f"{reader}: {sink.length} bytes of plaintext, not {fields.get('plaintext-length')}"
    if sink.sha256.hexdigest() != fields.get("plaintext-sha256"):
        yield f"{reader}: other plaintext"
    got = manifest_fields(outcome.manifest)
    if "modified" in got:
        got["modified"] = " ".join(map(str, got["modified"]))
    for name in METADATA:
        wanted = fields.get(name)
        if name == "mode" and wanted is not None:
            wanted = f"{int(wanted, 8):o}"
        if got.get(name) != wanted:
            yield f"{reader}: {name} is {got.get(name)}, not {wanted}"


def check_recovery(fields: dict[str, Any], container: bytes) -> list[str]:
    sink = Sink()
    header = int(fields["header"]) if "header" in fields else None
    outcome = read_by_recovering(io.BytesIO(container), vector_secrets(fields), sink.write, header)
    if outcome.error is not None:
        answer = {"result": outcome.error}
        assert sink.length == 0
    else:
        lost = " ".join(f"{start}-{end}" for start, end in outcome.more["lost"])
        answer = {"result": "done", "complete": "yes" if outcome.more["complete"] else "no",
                  "plaintext-length": str(sink.length), "plaintext-sha256": sink.sha256.hexdigest()}
        answer |= {"lost": lost} if lost else {}
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}" for name in RECOVERED
            if answer.get(name) != fields.get(name)]


def check_ranges(fields: dict[str, Any], container: bytes) -> list[str]:
    def ranges(opened: Container) -> Iterator[bytes]:
        for line in fields["range"]:
            start, end = map(int, line.split(" "))
            yield opened.read(start, end)

    sink = Sink()
    outcome = read_by_seeking(io.BytesIO(container), vector_secrets(fields), sink.write, ranges)
    answer = {"result": outcome.error}
    if outcome.error is None:
        answer = {"result": "done", "plaintext-length": str(sink.length), "plaintext-sha256": sink.sha256.hexdigest()}
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}" for name in RECOVERED
            if answer.get(name) != fields.get(name)]


def check_keys(fields: dict[str, Any], data: bytes) -> list[str]:
    """A key file, one of the files of a keyring, or texts of recipients and identities."""
    answer: dict[str, Any] = {"result": "done"}
    secrets = vector_secrets(fields)
    try:
        if fields["operation"] in TEXT_OPERATIONS:
            answer |= text_answer(fields["operation"], data)
        elif fields["operation"] == "key-file":
            answer["key-id"] = p.key_id(read_key_file(data)).hex()
        elif fields["operation"] == "unlock-file":
            answer["key-id"] = p.key_id(read_unlock_file(data, secrets)).hex()
        else:
            entries = (read_keyring(data, secrets.has_x_wing) if fields["operation"] == "keyring-text"
                       else read_keyring_file(data, secrets.keys[0]))
            answer["entries"] = str(len(entries))
            answer["entry"] = [" ".join(entry[:4]) for entry in entries if len(entries) < 100]
    except VaultError as error:
        answer = {"result": error.name}
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}" for name in ("result", "key-id", "entries", "entry", "skipped")
            if (answer.get(name) or None) != (fields.get(name) or None)]


def text_answer(operation: str, data: bytes) -> dict[str, Any]:
    skipped: list[str] = []
    entries: list[str] = []
    if operation == "identities-file":
        for each in read_identities(data):
            if isinstance(each, PluginIdentity):
                entries.append(" ".join(["5", each.name, *(one.fingerprint.hex() for one in each.known)]))
            else:
                entries.append(f"{each.type} {each.secret.hex()}")
    else:
        if operation == "recipients-file":
            recipients, skipped = read_recipients(data)
        else:
            recipients = [recipient_of(data.decode("utf-8", "replace"))]
        for one in recipients:
            plugin = [plugin_of(one)] if one.type == p.SLOT_STANZAS else []
            entries.append(" ".join([str(one.type), *plugin, one.fingerprint.hex()]))
    return {"entries": str(len(entries)), "entry": entries} | ({"skipped": str(len(skipped))} if skipped else {})


def check_operation(fields: dict[str, Any], container: bytes) -> list[str]:
    if fields["operation"] == "recover":
        return check_recovery(fields, container)
    if fields["operation"] == "read":
        return check_ranges(fields, container)
    if fields["operation"] in KEY_OPERATIONS:
        return check_keys(fields, container)
    if fields["operation"] in MEMBER_OPERATIONS:
        return check_members(fields, container, vector_secrets(fields))
    request = {name: fields[name] for name in PARAMETERS if name in fields}
    answer, left = change_fields(container, request | secrets_request(fields))
    if "error" in answer:
        answer = {"result": answer["error"]}
        assert left == container
    if fields["result-opens"]:
        before = b"".join(open_container(io.BytesIO(container), vector_secrets(fields)).read_whole())
        for identity in fields["result-opens"]:
            secrets = secrets_of({"identities": [identity], "context": fields.get("context", "")})
            assert b"".join(open_container(io.BytesIO(left), secrets).read_whole()) == before
    return [f"{name}: expected {fields.get(name)}, got {answer.get(name)}" for name in RESULTS
            if str(answer.get(name)) != str(fields.get(name)) and (name in fields or name not in MAY_BE_ABSENT)]


def check_vector(data: bytes) -> Optional[list[str]]:
    """What is wrong; None if the vector needs a part that is not here."""
    fields, container = parse_vector(data)
    if not needed(fields) <= PARTS:
        return None
    if "operation" in fields:
        return check_operation(fields, container)
    secrets = vector_secrets(fields)
    readers: dict[str, Callable[[Sink], Outcome]] = {
        "stream": lambda sink: read_by_stream(ShortReads(container), secrets, sink.write),
        "seek": lambda sink: read_by_seeking(io.BytesIO(container), secrets, sink.write, by_ranges),
        "whole": lambda sink: read_by_seeking(io.BytesIO(container), secrets, sink.write, Container.read_whole),
    }
    failures: list[str] = []
    for reader, run in readers.items():
        sink = Sink()
        secrets.plugins.sessions.clear()
        failures += check_result(fields, reader, run(sink), sink)
        if reader == "seek" and fields["handed-over"] and fields["handed-over"] != (secrets.plugins.sessions or ["none"]):
            failures.append(f"sessions: {secrets.plugins.sessions}")
    return failures


def main() -> int:
    default = Path(__file__).resolve().parent.parent / "vectors"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    passed = failed = left_out = 0
    for path in sorted([*folder.glob("*.vector"), *folder.glob("stores/*.vector")]):
        try:
            data = path.read_bytes()
            failures = check_vector(data) if path.parent == folder else check_store(data, PARTS)
        except Exception as error:  # an unexpected exception is a failure of this vector, not the end of the run
            failures = [f"{type(error).__name__}: {error}"]
        if failures is None:
            left_out += 1
            continue
        for failure in failures:
            print(f"{path.name}: {failure}")
        passed += not failures
        failed += bool(failures)
    if left_out:
        print(f"{left_out} left out, because they need what is not here (X-Wing: the package cryptography, 48 or newer)")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
