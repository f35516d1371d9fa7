"""The vectors of the specification, through this package: single files and streams of the seeking reader."""

import base64
import hashlib
import io
import zlib

import pytest

import vaultfile
from conftest import ROOT

#: What the package has; vectors that need another part are left out.
PARTS = {"x25519", "x-wing", "tar-index", "detached"}
#: Fields whose effect this package cannot have: other operations, plugins, and large containers that must be sealed first.
OTHERS = {
    "operation", "stanza-answer", "failing-plugin", "unsealed", "keyring", "entry", "signature-result",
    "key-text", "store"}
#: Pins with parts that are not required, which this package does not have.
EXPECTED = {"expect", "expect-header"}
HEALTHS = {"intact", "rotationUnfinished", "copiesConflict", "frontDamaged", "tailDamaged"}
LIMITS = {
    "max-passes": "max_passes", "max-memory-kib": "max_memory_kib", "max-passphrase-slots": "max_passphrase_slots",
    "max-stretching-kib": "max_stretching_kib", "max-public-key-slots": "max_public_key_slots",
    "max-stanza-slots": "max_stanza_slots", "max-plaintext-length": "max_plaintext", "max-chunk-size": "max_chunk_size"}


def parse(path):
    header, container = path.read_bytes().split(b"\n\n", 1)
    fields = {}
    for line in header.decode().split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value[1:])
    if fields.get("compressed") == ["zlib"]:
        container = zlib.decompress(container)
    return fields, container


def chosen():
    for path in sorted((ROOT / "Spec/vectors").glob("*.vector")):
        fields, _ = parse(path)
        needs = set(filter(None, fields.get("needs", [""])[0].split(",")))
        if needs <= PARTS and not OTHERS & set(fields) and "seek" in fields and not EXPECTED & set(fields):
            yield path


VECTORS = list(chosen())


def test_there_are_many():
    assert len(VECTORS) > 900


def keys(fields):
    found = []
    for value in fields.get("key", []):
        found.append(vaultfile.Key(bytes.fromhex(value)))
    for value in fields.get("passphrase", []):
        found.append(vaultfile.Passphrase(bytes.fromhex(value)))
    for value in fields.get("identity", []):
        found.append(vaultfile.Identity(value))
    return found


def read(fields, container):
    """The result of the seeking reader: a health or the name of an error, where it appeared, and the plaintext."""
    options = {LIMITS[name]: int(fields[name][0]) for name in LIMITS if name in fields}
    if "context" in fields:
        options["context"] = bytes.fromhex(fields["context"][0])
    if "header-file" in fields:
        options["header"] = base64.b64decode(fields["header-file"][0])
    place = "at opening"
    try:
        opening = keys(fields)
        with vaultfile.open(io.BytesIO(container), "rb", keys=opening, **options) as file:
            place = "at reading"
            plaintext = file.read()
            return file.info()["health"], "", plaintext
    except vaultfile.Error as error:
        return error.name, place, None


@pytest.mark.parametrize("shard", range(8))
def test_vectors(shard):
    wrong = []
    for path in VECTORS[shard::8]:
        fields, container = parse(path)
        expected, _, where = fields["seek"][0].partition(" ")
        result, place, plaintext = read(fields, container)
        right = result == expected or expected == "E" and result not in HEALTHS
        if where and place != where:
            right = False
        if expected in HEALTHS and plaintext is not None:
            right = right and len(plaintext) == int(fields["plaintext-length"][0]) and hashlib.sha256(
                plaintext).hexdigest() == fields["plaintext-sha256"][0]
        if not right:
            wrong.append((path.name, fields["seek"][0], result, place))
    assert not wrong


def secrets(values, path):
    """What a vector adds or removes; None if this package does not have it."""
    found = []
    for value in values:
        kind, *words = value.split(" ")
        if kind == "key":
            found.append(vaultfile.Key(bytes.fromhex(words[0])))
        elif kind == "id":
            found.append(vaultfile.SlotID(words[0]))
        elif kind == "passphrase":
            costs = {"passes": int(words[1]), "memory_kib": int(words[2])} if len(words) > 1 else {}
            found.append(vaultfile.Passphrase(bytes.fromhex(words[0]), **costs))
        elif kind != "others":
            raise AssertionError(f"{path.name}: {value}")
    return found


def operate(fields, path, folder, container):
    """Runs the operation of a vector of group P. Returns the slots, generation and capacity of what it leaves."""
    (operation,) = fields["operation"]
    body, header = folder / "x.vault", folder / "x.hdr"
    body.write_bytes(container)
    if "header-file" in fields:
        header.write_bytes(base64.b64decode(fields["header-file"][0]))
    given = {"header": header} if header.exists() else {}
    options = {}
    if "keep" in fields:
        options["keep_copy"] = fields["keep"][0]
    consent = fields.get("consent") == ["yes"]
    others = "others" in fields.get("remove", [])
    adding, removing = secrets(fields.get("add", []), path), secrets(fields.get("remove", []), path)
    opening = keys(fields)
    if operation == "rotate-header":
        new = vaultfile.rotate_header(
            container, opening, add=adding, remove=removing, remove_others=others, lose_access=consent)
        written = "nothing" if new == container else "copy"
        # The same in the file system.
        vaultfile.rotate_header_file(
            body, opening, add=adding, remove=removing, remove_others=others, lose_access=consent)
        assert vaultfile.inspect_header(body.read_bytes())["generation"] == vaultfile.inspect_header(new)["generation"]
        return vaultfile.inspect_header(new), written, None
    if operation == "detach":
        vaultfile.detach(body, opening, header, lose_slots=consent, break_links=consent, **options)
    elif operation == "attach":
        vaultfile.attach(body, opening, header, break_links=consent, **options)
    elif operation == "repair":
        vaultfile.repair(body, opening, **given, **options)
    elif operation == "rotate":
        vaultfile.rotate(
            body, opening, add=adding, remove=removing, remove_others=others, lose_access=consent, **given, **options)
    else:
        vaultfile.reencrypt(
            body, opening, adding, drop=removing, lose_slots=consent, lose_access=consent, **given, **options)
    written = "nothing" if body.read_bytes() == container else "something"
    beside = [item for item in folder.iterdir() if item != body]
    made = vaultfile.inspect_header(beside[0].read_bytes())["generation"] if beside else None
    return vaultfile.inspect(body)["front"], written, made


def operations():
    for path in sorted((ROOT / "Spec/vectors").glob("P*.vector")):
        fields, container = parse(path)
        if fields.get("operation", ["recover"]) != ["recover"] and not EXPECTED & set(fields):
            yield path, fields, container


def test_operations_with_header_files(tmp_path):
    wrong = []
    count = 0
    for path, fields, container in operations():
        count += 1
        folder = tmp_path / path.name
        folder.mkdir()
        try:
            left, written, made = operate(fields, path, folder, container)
            result = "done"
        except vaultfile.Error as error:
            result = error.name
        if fields["result"] != [result]:
            wrong.append((path.name, fields["result"], result))
            continue
        if result != "done":
            # The container is left as it was.
            assert (folder / "x.vault").read_bytes() == container, path.name
            continue
        slots = " ".join(slot["id"] for slot in left["slots"])
        for name, value in (
                ("result-slots", slots), ("result-generation", str(left["generation"])),
                ("result-capacity", str(left["capacity"]))):
            if name in fields and fields[name] != [value]:
                wrong.append((path.name, name, fields[name], value))
        if (written == "nothing") != (fields["written"] == ["nothing"]):
            wrong.append((path.name, fields["written"], written))
        if "result-header" in fields:
            expected = fields["result-header"][0].split(" ")
            if expected != ["removed"] and expected[1] != str(made) or expected == ["removed"] and made is not None:
                wrong.append((path.name, expected, made))
    assert count > 60 and not wrong
