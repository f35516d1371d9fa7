"""The types that a program of a user sees, and the options that they name."""

import inspect
import io
import subprocess
import sys

import pytest
import vaultfile
from vaultfile import _library, _options

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
vaultfile.rotate("a", key, progress=print)
vaultfile.repair("a", key, progress=print)
vaultfile.detach("a", key, progress=print)
vaultfile.attach("a", key, "h", progress=print)
vaultfile.reencrypt("a", key, key, progress=print)
reader.verify(jobs=2)
damage: int = len(reader.damage(jobs=2))
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
vaultfile.rotate("a", key, progress=1)  # wrong
vaultfile.rotate_header(b"x", key, progress=print)  # wrong
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


CLASSES = {
    name: kind for name, kind in vars(_options).items() if hasattr(kind, "__required_keys__")}


def test_every_option_has_a_number():
    """An option that only the types know would be an error that no test sees."""
    known = {*_options._NUMBERS, *_library.TEXT_OPTIONS, "header", "progress"}
    named = set().union(*map(_options.names, CLASSES.values()))
    assert named == known - {"header_file", "header_path"}


def calls():
    """Every function with options, and the class that its types name."""
    key = vaultfile.Key.generate()
    container, header = vaultfile.encrypt_detached(b"x", key)
    sources = {
        "decrypt": (container, key), "verify_header": (header, key), "rotate_header": (header, key),
        "encrypt": (b"x", key), "encrypt_detached": (b"x", key), "attach": ("a", key, "h"),
        "reencrypt": ("a", key, key), "encrypt_file": ("a", "b", key), "decrypt_file": ("a", "b", key)}
    for name in vaultfile.__all__:
        function = getattr(vaultfile, name)
        if not inspect.isfunction(function) or name == "open":
            continue
        options = inspect.signature(function).parameters.get("options")
        if options is not None:
            kind = CLASSES[options.annotation[len("Unpack["):-1]]
            yield pytest.param(function, sources.get(name, ("a", key)), _options.names(kind), id=name)
    for mode, source, kind in (
            ("rb", io.BytesIO(), "ReadOptions"), ("wb", io.BytesIO(), "WriteOptions"), ("wb", "a", "WriteOptions")):
        yield pytest.param(
            lambda source=source, mode=mode, **options: vaultfile.open(source, mode, keys=key, **options), (),
            _options.names(CLASSES[kind]), id=f"open {mode} {type(source).__name__}")


@pytest.mark.parametrize("function, arguments, names", list(calls()))
def test_a_call_takes_what_its_types_say(function, arguments, names):
    with pytest.raises(TypeError, match="'none' is not an option here") as raised:
        function(*arguments, none=1)
    shown = str(raised.value).split("there are: ")[1].split(", ")
    # `verify` reads by an open container, which has its own jobs and progress.
    assert set(shown) == names - ({"jobs", "progress"} if function is vaultfile.verify else set())
