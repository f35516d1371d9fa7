"""The declarations of ctypes beside those of vaultfile.h, and handles that are freed."""

import ctypes
import gc
import io
import os
import re
import subprocess
import sys
import weakref

import pytest

import vaultfile
from conftest import ROOT
from vaultfile import _library, _options

HEADER = (ROOT / "Sources/VaultC/vaultfile.h").read_text()
CODE = re.sub(r"/\*.*?\*/", " ", HEADER, flags=re.S)
SCALARS = {
    "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t, "bool": ctypes.c_bool, "vaultfile_read_callback": _library.ReadCallback,
    "vaultfile_key_callback": _library.KeyCallback, "vaultfile_progress_callback": _library.ProgressCallback,
}


def expected(text):
    """The type of ctypes for a type of C, with the name of the argument behind it or not."""
    words = text.replace("*", " * ").split()
    stars = words.count("*")
    words = [word for word in words if word not in ("const", "*")]
    if stars == 0:
        return None if words == ["void"] else SCALARS[words[0]]
    if words[0] == "char":
        return ctypes.c_char_p
    if stars == 2:
        return ctypes.POINTER(ctypes.c_void_p)
    if words[0] in SCALARS:
        return ctypes.POINTER(SCALARS[words[0]])
    return ctypes.c_void_p


def declarations():
    found = {}
    pattern = r"^((?:const )?[a-z_0-9]+ ?\*?)\s*vaultfile_(\w+)\(([^)]*)\)\s*(?:VAULTFILE_RESULT)?;"
    for result, name, arguments in re.findall(pattern, CODE, flags=re.M):
        arguments = " ".join(arguments.split())
        listed = [] if arguments == "void" else arguments.split(",")
        found[name] = (expected(result), *(expected(item) for item in listed))
    return found


def test_every_function_has_the_prototype_of_the_header():
    found = declarations()
    assert len(found) > 70
    assert set(found) == set(_library.PROTOTYPES)
    for name, prototype in found.items():
        # Bytes that are a secret's text are `void *`, and ctypes takes them as such.
        assert _library.PROTOTYPES[name] == prototype, name


def test_the_version_is_that_of_the_header():
    (version,) = re.findall(r'VAULTFILE_VERSION "([^"]+)"', HEADER)
    project = (ROOT / "Python/pyproject.toml").read_text()
    assert vaultfile.__version__ == version and f'\nversion = "{version}"\n' in project


def test_every_option_has_the_number_of_the_header():
    numbers = dict(re.findall(r"VAULTFILE_([A-Z_]+) = (\d+)", CODE.split("enum vaultfile_number")[1].split("}")[0]))
    assert {name: str(value) for name, value in vars(_library.Options).items() if name.isupper()} == numbers
    # The size of a read is chosen here.
    assert {name.upper() for name in _options._NUMBERS} == set(numbers) - {"READ_SIZE"}
    texts = dict(re.findall(r"VAULTFILE_([A-Z_]+) = (\d+)", CODE.split("enum vaultfile_text")[1].split("}")[0]))
    assert {name.upper(): str(value) for name, value in _library.TEXT_OPTIONS.items()} == texts


def test_every_error_of_the_header_has_a_class():
    from vaultfile import _errors

    names = re.findall(r"VAULTFILE_([A-Z_]+) = \d+", CODE.split("enum vaultfile_status")[1].split("}")[0])
    spelled = {name.split("_")[0].lower() + "".join(part.title() for part in name.split("_")[1:]) for name in names}
    # These are made where they are found, or need no class of their own.
    others = {
        "ok", "other", "callbackFailed", "inputFailed", "outputFailed", "outputNotReplaceable", "forked",
        "generationExhausted", "copiesConflict", "rotationUnfinished"}
    assert spelled - others == set(_errors._CLASSES)


def test_handles_are_freed(key, tmp_path):
    gc.collect()
    before = _library.lib.vaultfile_handle_count()
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(b"x")
    for _ in range(10):
        with vaultfile.open(path, "rb", keys=key) as file:
            assert file.read() == b"x"
        with pytest.raises(vaultfile.WrongKeyError):
            vaultfile.open(path, "rb", keys=vaultfile.Key.generate())
    del file
    gc.collect()
    assert _library.lib.vaultfile_handle_count() == before


def test_secrets_are_wiped(key):
    from vaultfile import _memory

    secret = _memory.Secret(b"a secret")
    bytes_ = secret._bytes
    assert bytes_.raw == b"a secret"
    del secret
    gc.collect()
    assert bytes_.raw == bytes(8)


def test_nothing_waits_for_the_garbage_collector(key):
    """What the program gave goes with the object that it gave it to."""
    class Source(io.BytesIO):
        pass

    class Ask:
        def __call__(self, kind, ids):
            return key

        def hear(self, done):
            pass

    container = vaultfile.encrypt(bytes(100_000), key)
    gc.collect()
    before = _library.lib.vaultfile_handle_count()
    gc.disable()
    try:
        for use in (
                lambda file: file.read(), lambda file: file.verify(), lambda file: file.damage(),
                lambda file: file.info()):
            source, ask = Source(container), Ask()
            gone = [weakref.ref(source), weakref.ref(ask)]
            with vaultfile.open(source, keys=vaultfile.AskForKeys(ask)) as file:
                use(file)
            del file, source, ask
            assert [there() for there in gone] == [None, None]
        source, ask = Source(container), Ask()
        gone = [weakref.ref(source), weakref.ref(ask)]
        vaultfile.inspect(source)
        vaultfile.verify(source, key, progress=ask.hear)
        del source, ask
        assert [there() for there in gone] == [None, None]
        assert _library.lib.vaultfile_handle_count() == before
    finally:
        gc.enable()


def test_finalizers_run_no_python():
    """A signal's handler would run in them; its exception would be lost, and the handle would stay."""
    from vaultfile import _memory

    freed, calls = [], []
    handle, secret = _memory.Handle(5, freed.append), _memory.Secret(b"a secret")
    bytes_, before = secret._bytes, len(_memory._secrets)
    sys.settrace(lambda frame, event, _: calls.append(frame.f_code))
    del handle, secret
    sys.settrace(None)
    assert freed == [5] and bytes_.raw == bytes(8) and calls == [] and len(_memory._secrets) == before - 1
    # Once, also if the program frees it before.
    handle = _memory.Handle(6, freed.append)
    handle.free()
    handle.free()
    del handle
    assert freed == [5, 6]


def test_a_child_frees_no_handle_of_its_parent():
    from vaultfile import _memory

    freed = []
    handle = _memory.Handle(5, freed.append)
    child = os.fork()
    if not child:
        handle.free()
        del handle
        own = _memory.Handle(6, freed.append)
        del own
        os._exit(freed != [6])
    assert os.waitpid(child, 0)[1] == 0
    del handle
    assert freed == [5]


def test_a_child_that_ends_frees_nothing_of_its_parent(tmp_path, key):
    """By sys.exit, after which Python calls finalizers, or by the end of its program."""
    program = f"""
import os, sys, vaultfile
key = vaultfile.KeyFile({str(tmp_path / "k")!r})
for number, leave in enumerate((sys.exit, os._exit, lambda status: None)):
    file = vaultfile.open(f"x{{number}}", "wb", keys=key)
    file.write(bytes(3_000_000))
    child = os.fork()
    if not child:
        del file
        leave(0)
        break
    assert os.waitpid(child, 0)[1] == 0
    file.write(b"the end")
    file.close()
    assert vaultfile.open(f"x{{number}}", keys=key).read()[-7:] == b"the end"
else:
    # What was not closed leaves nothing behind when Python ends.
    left = vaultfile.open("left", "wb", keys=key)
    left.write(bytes(3_000_000))
    print("whole")
"""
    key.save(tmp_path / "k")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0 and done.stdout.strip() == "whole", done.stderr
    assert sorted(os.listdir(tmp_path)) == ["k", "x0", "x1", "x2"]
