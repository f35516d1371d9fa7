"""The vectors of the specification, through this package: single files and streams of the seeking reader."""

import hashlib
import io
import zlib

import pytest

import vaultfile
from conftest import ROOT

#: What the package has; vectors that need another part are left out.
PARTS = {"x25519", "x-wing", "tar-index"}
#: Fields whose effect this package cannot have: other operations, plugins, and large containers that must be sealed first.
OTHERS = {
    "operation", "stanza-answer", "failing-plugin", "unsealed", "header-file", "keyring", "entry", "signature-result",
    "key-text", "store"}
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
        if needs <= PARTS and not OTHERS & set(fields) and "seek" in fields and "expect" not in fields:
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
