"""The types that a program of a user sees, and the options that they name."""

import subprocess
import sys

import pytest
from vaultfile import _options as options

PROGRAM = '''
import io
import pathlib
import vaultfile
from vaultfile import KeyFile, Passphrase, Recipient

key = KeyFile("k")
with vaultfile.open("a", keys=key) as reader:
    first: bytes = reader.read_at(0, 1)
    length: int = reader.length
with vaultfile.open(pathlib.Path("a"), "wb", keys=[key, Passphrase("p")], compress=True, header="h") as writer:
    count: int = writer.write(b"x")
with vaultfile.open(io.BytesIO(), "r", keys=key, encoding="utf-8", max_plaintext=10, pin=None) as text:
    line: str = text.readline()

def by_mode(mode: str) -> None:
    with vaultfile.open("a", mode, keys=key, service_limits=True) as file:
        file.close()

plain: bytes = vaultfile.decrypt(vaultfile.encrypt(b"x", key, chunk_size=4096), key, context="c")
vaultfile.encrypt_file("a", b"b", Recipient("age1"), replace=True, jobs=2)
report = vaultfile.rotate("a", key, add=Passphrase("p"), remove_others=True, keep_copy="front", dry_run=True)
names: list[str] = [entry.name for entry in vaultfile.Keyring("ring", key)]
there: bool = "name" in vaultfile.Keyring("ring", key)

vaultfile.encrypt(b"x", key, compres=True)  # wrong
vaultfile.encrypt(b"x", key, header="h")  # wrong
vaultfile.open("a", "rb", keys=key, max_plain=1)  # wrong
vaultfile.open("a", "rb", keys="age1")  # wrong
vaultfile.open("a", "w", keys=key, compress="deflate")  # wrong
vaultfile.rotate("a", key, keep_copy="middle")  # wrong
vaultfile.encrypt_file(io.BytesIO(), "b", key)  # wrong
vaultfile.decrypt(b"x", key, jobs=1)  # wrong
'''


def test_a_program_of_a_user(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"),
         "program.py"],
        cwd=tmp_path, capture_output=True, text=True)
    wrong = {number for number, line in enumerate(PROGRAM.split("\n"), 1) if line.endswith("# wrong")}
    lines = [line for line in found.stdout.split("\n") if ": error: " in line]
    assert {int(line.split(":")[1]) for line in lines} == wrong, found.stdout + found.stderr


@pytest.mark.parametrize("kind, names", [
    (options.ReadOptions, options.LIMITS),
    (options.HeaderOptions, options.HEADER),
    (options.VerifyOptions, options.LIMITS | {"jobs", "progress"}),
    (options.ReadFileOptions, options.LIMITS | {"replace", "jobs", "sparse", "progress"}),
    (options.SealOptions, options.SEALING),
    (options.WriteOptions, options.SEALING | {"header"}),
    (options.OpenOptions, options.LIMITS | options.SEALING),
    (options.SealFileOptions, options.SEALING | {"replace", "jobs", "progress"}),
    (options.RepairOptions, options.CHANGING),
    (options.RotateOptions, options.CHANGING | {"remove_others"}),
    (options.ReencryptOptions,
     options.CHANGING | options.SEALING | {"remove_others", "lose_slots", "keep_slots", "jobs", "progress"}),
    (options.RotateHeaderOptions, options.HEADER | {"lose_access", "mix_recipients", "remove_others"}),
    (options.RotateHeaderFileOptions,
     options.HEADER | {"lose_access", "mix_recipients", "remove_others", "break_links", "dry_run"}),
    (options.DetachOptions, (options.CHANGING - {"header", "header_pin"}) | {"header_capacity", "lose_slots"}),
    (options.AttachOptions, options.CHANGING - {"header"}),
])
def test_the_types_name_the_options(kind, names):
    assert kind.__required_keys__ | kind.__optional_keys__ == names
