"""The command line of the reference implementation.

    vaultfile_reference.py encrypt --key HEX [options] IN OUT
    vaultfile_reference.py decrypt --key HEX [--reader stream|seek|whole|recover] [--range A B] IN OUT
    vaultfile_reference.py store --key HEX [--unlock-key HEX] [--unlock-passphrase HEX] FOLDER
    vaultfile_reference.py --batch

Prints one JSON line with the result. With --batch, each line of standard input is a JSON request (README.md lists the
fields), and each is answered by one JSON line. For tests only: other users see secrets on a command line.
"""

import argparse
import base64
import hashlib
import io
import json
import sys
from pathlib import Path
from typing import Any, BinaryIO, Callable, Iterator, NamedTuple, Optional, Sequence

import hpke
import primitives as p
from detached import attach, detach, rotate_header_file
from errors import VaultError
from manifest import Manifest
from header import parse_form
from public_slots import AnyIdentity, PluginIdentity
from recipient_slots import RecipientSlot
from recipient_text import identity_of, recipient_of
from recover import recover
from rotation import Change, Changed, Copy, HeaderFile, Options, Secret, reencrypt, repair, rotate
from seek_reader import Container, open_container
from slots import Expected, Limits, Secrets
from stanza_slots import PluginFailed
from store import folder_files
from store_checks import answer_of
from stream_reader import decrypt_stream
from writer import AnySlot, OtherSlot, PassphraseSlot, SymmetricSlot, write_container

Write = Callable[[bytes], object]
CHANGES = ("rotate", "repair", "reencrypt", "detach", "attach", "rotate-header")
LIMIT_NAMES = ("max-passes", "max-memory-kib", "max-passphrase-slots", "max-stretching-kib", "max-public-key-slots",
               "max-stanza-slots", "max-plaintext-length", "max-chunk-size")


class Outcome(NamedTuple):
    """A health, or an error's name and, for a reader that seeks, the phase in which it occurred."""

    health: Optional[str]
    error: Optional[str]
    place: Optional[str]
    manifest: Optional[Manifest]
    more: dict[str, Any] = {}


class Sink:
    """Counts and hashes what is written, and passes it on if there is an output."""

    def __init__(self, output: Optional[BinaryIO] = None) -> None:
        self.output = output
        self.length = 0
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.length += len(data)
        self.sha256.update(data)
        if self.output is not None:
            self.output.write(data)


def read_by_stream(source: BinaryIO, secrets: Secrets, write: Write) -> Outcome:
    try:
        result = decrypt_stream(source, secrets, write)
        return Outcome(result.health, None, None, result.manifest)
    except VaultError as error:
        return Outcome(None, error.name, None, None)


def read_by_seeking(source: BinaryIO, secrets: Secrets, write: Write,
                    pieces: Callable[[Container], Iterator[bytes]]) -> Outcome:
    try:
        container = open_container(source, secrets)
    except VaultError as error:
        return Outcome(None, error.name, "opening", None)
    try:
        for piece in pieces(container):
            write(piece)
    except VaultError as error:
        return Outcome(None, error.name, "reading", container.manifest)
    return Outcome(container.health, None, None, container.manifest)


def by_ranges(container: Container) -> Iterator[bytes]:
    """All of the plaintext, from its first byte to its last, through ranges of several sizes."""
    chunk, length = container.shape.chunk, container.manifest.length
    sizes = (1, chunk - 1, chunk, 511, chunk + 1, 0, 2 * chunk + 3)
    if length > 1 << 24:
        sizes = (1, 1 << 22, chunk - 1, (1 << 24) + 1, 0)
    at = 0
    turn = 0
    while at < length:
        end = min(length, at + sizes[turn % len(sizes)])
        yield container.read(at, end)
        at = end
        turn += 1
    container.read(length, length)


def read_by_recovering(source: BinaryIO, secrets: Secrets, write: Write,
                       header_offset: Optional[int]) -> Outcome:
    try:
        result = recover(source, secrets, write, header_offset=header_offset)
    except VaultError as error:
        return Outcome(None, error.name, None, None)
    more = {"complete": result.complete, "lost": result.lost, "header-offset": result.header_offset}
    return Outcome("recovered", None, None, result.manifest, more)


def manifest_fields(manifest: Optional[Manifest]) -> dict[str, Any]:
    if manifest is None:
        return {}
    fields = {"manifest-length": manifest.length, "name": hex_or_none(manifest.name),
              "content-type": hex_or_none(manifest.content_type),
              "modified": list(manifest.modified) if manifest.modified is not None else None,
              "mode": f"{manifest.mode:o}" if manifest.mode is not None else None,
              "digest": hex_or_none(manifest.sha256)}
    return {name: value for name, value in fields.items() if value is not None}


def hex_or_none(value: Optional[bytes]) -> Optional[str]:
    return value.hex() if value is not None else None


# Requests: the command line and --batch use the same dictionary of options.

Request = dict[str, Any]


def secrets_of(request: Request) -> Secrets:
    limits = {name.replace("-", "_"): int(request[name]) for name in LIMIT_NAMES if name in request}
    return Secrets(tuple(map(bytes.fromhex, request.get("keys", []))),
                   tuple(map(bytes.fromhex, request.get("passphrases", []))),
                   bytes.fromhex(request.get("context", "")), Limits(**limits),
                   expected=expected_state(request.get("expect", "- - -")),
                   header_file=base64.b64decode(request["header-file"]) if "header-file" in request else None,
                   expected_header_file=expected_state(request.get("expect-header", "- - -")),
                   identities=tuple(map(identity_with_known, request.get("identities", []))),
                   plugins=StandIn(request.get("stanza-answers", []), request.get("failing-plugins", [])),
                   has_x_wing=hpke.has_x_wing() and not request.get("without-x-wing"))


class StandIn:
    """A plugin for every name (SLOT-34). `answers`: lines `NAME SHA-256-OF-STANZAS SECRET`; `failing`: the names of
    those that fail. It keeps a line for each session."""

    def __init__(self, answers: list[str], failing: list[str]) -> None:
        self.failing = failing
        self.answers: dict[tuple[str, str], bytes] = {}
        for line in answers:
            name, digest, secret = line.split(" ")
            self.answers[(name, digest)] = bytes.fromhex(secret)
        self.sessions: list[str] = []

    def __call__(self, name: str, identities: list[str], stanzas: list[bytes]) -> list[Optional[bytes]]:
        self.sessions.append(f"{name} {len(stanzas)}")
        if name in self.failing:
            raise PluginFailed(name)
        return [self.answers.get((name, hashlib.sha256(each).hexdigest())) for each in stanzas]


def identity_with_known(words: str) -> AnyIdentity:
    """`IDENTITY RECIPIENT ...`: an identity, and the known recipients of a plugin's (SLOT-32)."""
    text, *known = words.split(" ")
    return identity_of(text, tuple(map(recipient_of, known)))


def expected_state(words: str) -> Expected:
    """`COMMITMENT GENERATION MAC`, with - for what is not required (ARG-6)."""
    commitment, generation, mac = (None if word == "-" else word for word in words.split(" "))
    return Expected(bytes.fromhex(commitment) if commitment else None, int(generation) if generation else None,
                    bytes.fromhex(mac) if mac else None)


def slots_of(request: Request) -> list[AnySlot]:
    slots: list[AnySlot] = [SymmetricSlot(bytes.fromhex(key)) for key in request.get("keys", [])]
    stretching = PassphraseSlot._field_defaults
    slots += [PassphraseSlot(bytes.fromhex(passphrase), int(request.get("passes", stretching["passes"])),
                             int(request.get("memory-kib", stretching["memory_kib"])))
              for passphrase in request.get("passphrases", [])]
    slots += [OtherSlot(int(other["type"]), bytes.fromhex(other["id"]), bytes.fromhex(other["body"]))
              for other in request.get("other-slots", [])]
    return slots


def seeded(seed: str) -> Callable[[int], bytes]:
    """Repeatable randomness, for tests only."""
    drawn = 0

    def draw(n: int) -> bytes:
        nonlocal drawn
        drawn += 1
        return hashlib.shake_256(f"vaultfile reference: {drawn}: {seed}".encode()).digest(n)
    return draw


def encrypt(request: Request, source: BinaryIO, output: BinaryIO) -> dict[str, Any]:
    modified = request.get("modified")
    options: dict[str, Any] = {
        "context": bytes.fromhex(request.get("context", "")),
        "log2_chunk": int(request.get("log2-chunk", p.DEFAULT_LOG2_CHUNK)),
        "compression": int(request.get("compression", 0)),
        "capacity": int(request["capacity"]) if "capacity" in request else None,
        "generation": int(request.get("generation", 1)),
        "digest": bool(request.get("digest", False)),
        "name": bytes.fromhex(request["name"]) if "name" in request else None,
        "content_type": bytes.fromhex(request["content-type"]) if "content-type" in request else None,
        "modified": (int(modified[0]), int(modified[1])) if modified else None,
        "mode": int(str(request["mode"]), 8) if "mode" in request else None,
        "weak_stretching": True,
    }
    if "seed" in request:
        options["random"] = seeded(request["seed"])
    header_file = io.BytesIO() if request.get("detached") else None
    try:
        write_container(output, iter(lambda: source.read(1 << 16), b""), slots_of(request), header_file=header_file,
                        **options)
    except VaultError as error:
        return {"error": error.name}
    return {"result": "written"} | header_file_field(header_file.getvalue() if header_file else None)


def header_file_field(data: Optional[bytes]) -> dict[str, str]:
    return {} if data is None else {"header-file": base64.b64encode(data).decode()}


def drawn_from(data: bytes) -> Callable[[int], bytes]:
    """Given bytes in place of randomness, for tests only."""
    source = io.BytesIO(data)

    def draw(n: int) -> bytes:
        drawn = source.read(n)
        if len(drawn) != n:
            raise ValueError("random: too few bytes")
        return drawn
    return draw


def added_secret(words: str, wraps: Sequence[str] = ()) -> Secret:
    """`key HEX`, `passphrase HEX PASSES MEMORY-KIB`, or `recipient TEXT`, `identity TEXT` and the same with `hidden-`
    before. `wraps`: what plugins make, as `RECIPIENT LABELS STANZAS-HEX`."""
    kind, *values = words.split(" ")
    role = kind[len("hidden-"):] if kind.startswith("hidden-") else kind
    if role in ("recipient", "identity"):
        identity = identity_of(" ".join(values)) if role == "identity" else None
        if isinstance(identity, PluginIdentity):
            raise ValueError(f"add: {words}")
        recipient = identity.recipient if identity is not None else recipient_of(" ".join(values))
        made = [wrap.split(" ") for wrap in wraps if wrap.startswith(" ".join(values) + " ")]
        labels, stanzas = [*made[0], ""][1:3] if made else ("-", "")
        return RecipientSlot(recipient, kind != role, identity, tuple(labels.split(",")) if labels != "-" else (),
                             bytes.fromhex(stanzas))
    if kind == "key" and len(values) == 1:
        return SymmetricSlot(bytes.fromhex(values[0]))
    if kind == "passphrase" and len(values) == 3:
        return PassphraseSlot(bytes.fromhex(values[0]), int(values[1]), int(values[2]))
    raise ValueError(f"add: {words}")


def removed_by(lines: list[str], kind: str) -> tuple[bytes, ...]:
    return tuple(bytes.fromhex(line.partition(" ")[2]) for line in lines if line.partition(" ")[0] == kind)


def changed(request: Request, data: bytes) -> Changed:
    """Rotation, repair or re-encryption; the fields are those of a vector (vectors/README.md)."""
    operation, secrets = request["operation"], secrets_of(request)
    name = bytes.fromhex(request["set-name"]) if "set-name" in request else None
    options = Options(request.get("keep"), request.get("consent") in (True, "yes"),
                      request.get("mixed") in (True, "yes"), name)
    if options.keep not in (None, "front", "tail"):
        raise ValueError(f"keep: {options.keep}")
    add = tuple(added_secret(line, request.get("stanza-wrap", [])) for line in request.get("add", []))
    remove = request.get("remove", [])
    recipients = tuple(recipient_of(line.partition(" ")[2]) for line in remove if line.startswith("recipient "))
    identities = tuple(identity_with_known(line.partition(" ")[2]) for line in remove if line.startswith("identity "))
    kinds = ("id", "passphrase", "recipient", "identity")
    if any(line != "others" and line.partition(" ")[0] not in kinds for line in remove):
        raise ValueError(f"remove: {remove}")
    random = drawn_from(bytes.fromhex(request["random"])) if "random" in request else p.system_random
    change = Change(add, removed_by(remove, "id"), removed_by(remove, "passphrase"), "others" in remove, recipients,
                    identities)
    if operation == "rotate":
        return rotate(data, secrets, change, random, options)
    if operation == "reencrypt" and options.keep is None:
        return reencrypt(data, secrets, change, random, options)
    if operation == "rotate-header" and options.keep is None:
        return rotate_header_file(data, secrets, change, random, options)
    if remove or add:
        raise ValueError(f"add or remove: {operation}")
    if operation == "repair":
        return repair(data, secrets, options)
    if operation == "detach":
        return detach(data, secrets, random, options)
    if operation == "attach" and secrets.header_file is not None:
        return attach(data, secrets, random, options)
    raise ValueError(f"operation {operation}")


def change_fields(data: bytes, request: Request) -> tuple[dict[str, Any], bytes]:
    """The answer, and the container that the change leaves."""
    try:
        result = changed(request, data)
    except VaultError as error:
        return {"error": error.name}, data
    header = parse_form(front_of(result.container))
    steps = [step for step in result.steps if not isinstance(step, HeaderFile)]
    written = "copy" if any(isinstance(step, Copy) for step in steps) else "in place"
    return {"result": "done", "written": written if steps else "nothing",
            "result-sha256": hashlib.sha256(result.container).hexdigest(), "result-generation": header.generation,
            "result-capacity": header.capacity,
            "result-slots": " ".join(slot.key_id.hex() for slot in header.slots)} | header_file_left(result), \
        result.container


def header_file_left(result: Changed) -> dict[str, Any]:
    """The header file that a change makes, or that it removes one."""
    made = [step.data for step in result.steps if isinstance(step, HeaderFile) and step.data is not None]
    if made:
        generation = int.from_bytes(made[0][68:72], "big")
        return {"result-header": f"{hashlib.sha256(made[0]).hexdigest()} {generation}"} | header_file_field(made[0])
    return {"result-header": "removed"} if any(isinstance(step, HeaderFile) for step in result.steps) else {}


def front_of(container: bytes) -> bytes:
    return container[:int.from_bytes(container[64:68], "big")]


def decrypt(request: Request, source: BinaryIO, output: Optional[BinaryIO]) -> dict[str, Any]:
    secrets = secrets_of(request)
    sink = Sink(output)
    reader = request.get("reader", "whole")
    if reader == "stream":
        outcome = read_by_stream(source, secrets, sink.write)
    elif reader == "recover":
        outcome = read_by_recovering(source, secrets, sink.write, request.get("header-offset"))
    else:
        if reader == "whole":
            pieces = Container.read_whole
        elif reader == "seek" and "range" in request:
            start, end = map(int, request["range"])
            pieces = lambda container: iter([container.read(start, end)])  # noqa: E731
        elif reader == "seek":
            pieces = by_ranges
        else:
            raise ValueError(f"reader {reader}")
        outcome = read_by_seeking(source, secrets, sink.write, pieces)
    answer: dict[str, Any] = {"result": outcome.health} if outcome.error is None else {"error": outcome.error}
    if outcome.place is not None:
        answer["at"] = outcome.place
    answer["plaintext-length"] = sink.length
    answer["plaintext-sha256"] = sink.sha256.hexdigest()
    return answer | manifest_fields(outcome.manifest) | outcome.more


def answer_request(request: Request) -> dict[str, Any]:
    """Answers a request of --batch. The input is `in` (a path) or `data` (base64). Without `out` (a path), an encrypted
    container comes back as base64 in `data`, and so does a plaintext if `want-data` is true."""
    operation = request.get("operation", "decrypt")
    if operation not in ("encrypt", "decrypt") + CHANGES:
        raise ValueError(f"operation {operation}")
    source: BinaryIO = open(request["in"], "rb") if "in" in request else io.BytesIO(
        base64.b64decode(request["data"]))
    output: BinaryIO = open(request["out"], "wb") if "out" in request else io.BytesIO()
    with source, output:
        if operation in CHANGES:
            answer, container = change_fields(source.read(), request)
            output.write(container)
        else:
            answer = (encrypt if operation == "encrypt" else decrypt)(request, source, output)
        if isinstance(output, io.BytesIO) and (operation != "decrypt" or request.get("want-data")):
            answer["data"] = base64.b64encode(output.getvalue()).decode()
    return ({"id": request["id"]} if "id" in request else {}) | answer


def batch() -> int:
    for line in sys.stdin:
        try:
            answer = answer_request(json.loads(line))
        except (OSError, ValueError, KeyError, TypeError) as error:
            answer = {"bad-request": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
    return 0


def store_fields(options: dict[str, Any]) -> dict[str, Any]:
    """What is in a store: as the lines of a vector say it."""
    keys, passphrases = ([bytes.fromhex(each) for each in options[name] or ()] for name in ("unlock_keys", "passphrases"))
    unlockers = Secrets(keys=tuple(keys), passphrases=tuple(passphrases)) if keys or passphrases else None
    return answer_of(folder_files(Path(options["folder"])), bytes.fromhex(options["key"]), unlockers)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description="Reference implementation of vaultfile version 1, for tests.")
    commands = top.add_subparsers(dest="operation", required=True)
    for operation in ("encrypt", "decrypt"):
        command = commands.add_parser(operation)
        command.add_argument("--key", dest="keys", action="append", metavar="HEX", help="64 digits; repeatable")
        command.add_argument("--passphrase", dest="passphrases", action="append", metavar="HEX",
                             help="the passphrase's bytes; repeatable")
        command.add_argument("--context", metavar="HEX")
        command.add_argument("--parameters", metavar="JSON", type=json.loads, default={},
                             help="any fields of a --batch request")
        command.add_argument("in")
        command.add_argument("out")
    command = commands.choices["decrypt"]
    command.add_argument("--reader", choices=("stream", "seek", "whole", "recover"))
    command.add_argument("--range", nargs=2, type=int, metavar=("A", "B"), help="with --reader seek")
    command = commands.add_parser("store")
    command.add_argument("--key", required=True, metavar="HEX", help="the device key")
    command.add_argument("--unlock-key", dest="unlock_keys", action="append", metavar="HEX", help="repeatable")
    command.add_argument("--unlock-passphrase", dest="passphrases", action="append", metavar="HEX", help="repeatable")
    command.add_argument("folder")
    return top


def main() -> int:
    if sys.argv[1:] == ["--batch"]:
        return batch()
    options = vars(parser().parse_args())
    if options["operation"] == "store":
        answer = store_fields(options)
        print(json.dumps(answer))
        return 0 if answer["open"] == "done" and answer.get("unlock", "done") == "done" else 1
    request = options.pop("parameters") | {name: value for name, value in options.items() if value is not None}
    answer = answer_request(request)
    print(json.dumps(answer))
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
