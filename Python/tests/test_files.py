"""`vaultfile.open`."""

import asyncio
import gc
import io
import multiprocessing
import os
import pathlib
import random
import tarfile
import threading
import zipfile

import pytest

import vaultfile
from conftest import CHEAP


def test_what_was_written_is_read(path, key, plaintext):
    with vaultfile.open(path, "rb", keys=key) as file:
        assert file.read() == plaintext
        assert file.read() == b""
        assert file.length == len(plaintext)


@pytest.mark.parametrize("of_file_object", [False, True])
def test_random_places(path, key, plaintext, of_file_object):
    generator = random.Random(2)
    with open(path, "rb") as below, vaultfile.open(
            below if of_file_object else path, "rb", keys=key) as file, io.BytesIO(plaintext) as plain:
        for _ in range(300):
            match generator.randrange(4):
                case 0:
                    offset = generator.randrange(len(plaintext) + 10)
                    assert file.seek(offset) == plain.seek(offset)
                case 1:
                    offset = -generator.randrange(len(plaintext))
                    assert file.seek(offset, os.SEEK_END) == plain.seek(offset, os.SEEK_END)
                case 2:
                    count = generator.choice([0, 1, 65_535, 65_536, 65_537, 200_000])
                    assert file.read(count) == plain.read(count)
                case _:
                    found = file.read1(100)
                    assert found == plain.read(len(found)) and (found or file.tell() >= len(plaintext))
            assert file.tell() == plain.tell()


def test_lines(tmp_path, key):
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "w", keys=key, encoding="utf-8", newline="\n") as file:
        file.writelines(f"line {number} äöü\n" for number in range(20_000))
    with vaultfile.open(path, "r", keys=key, encoding="utf-8") as file:
        assert [line for line in file] == [f"line {number} äöü\n" for number in range(20_000)]


def test_a_file_object_is_written(key, plaintext):
    below = io.BytesIO()
    with vaultfile.open(below, "wb", keys=key, compress=True) as file:
        for start in range(0, len(plaintext), 7_777):
            file.write(plaintext[start : start + 7_777])
        assert file.tell() == len(plaintext)
    assert vaultfile.decrypt(below.getvalue(), key) == plaintext


def test_an_unbuffered_file_that_takes_little(key, plaintext):
    class Slow(io.RawIOBase):
        def __init__(self):
            self.bytes = bytearray()

        def write(self, buffer):
            taken = bytes(buffer[:1000])
            self.bytes += taken
            return len(taken)

    below = Slow()
    with vaultfile.open(below, "wb", keys=key) as file:
        file.write(plaintext)
    assert vaultfile.decrypt(below.bytes, key) == plaintext


def test_an_exception_leaves_nothing(tmp_path, key):
    path = tmp_path / "x.vault"
    with pytest.raises(KeyError), vaultfile.open(path, "wb", keys=key) as file:
        file.write(b"x" * 3_000_000)
        raise KeyError
    with pytest.raises(KeyError), vaultfile.open(path, "w", keys=key) as file:
        file.write("x" * 3_000_000)
        raise KeyError
    file = vaultfile.open(path, "wb", keys=key)
    file.write(b"x" * 3_000_000)
    del file
    text = vaultfile.open(path, "w", keys=key)
    text.write("x")
    del text
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_an_exception_keeps_the_old_file(path, key, plaintext):
    with pytest.raises(KeyError), vaultfile.open(path, "wb", keys=key) as file:
        file.write(b"new")
        raise KeyError
    with vaultfile.open(path, "rb", keys=key) as file:
        assert file.read() == plaintext


def test_header_files(tmp_path, key, plaintext):
    body, header = tmp_path / "x.vault", tmp_path / "x.hdr"
    with vaultfile.open(body, "wb", keys=key, header=header) as file:
        file.write(plaintext)
        # It is there before the container.
        assert header.stat().st_mode & 0o777 == 0o600 and not body.exists()
    with pytest.raises(vaultfile.HeaderDetachedError):
        vaultfile.open(body, "rb", keys=key)
    for given in (header, str(header), header.read_bytes(), bytearray(header.read_bytes()), io.BytesIO(header.read_bytes())):
        with vaultfile.open(body, "rb", keys=key, header=given) as file:
            file.seek(70_000)
            assert file.read(10) == plaintext[70_000:70_010]
    assert vaultfile.verify(body, key, header=header)["headerFileHeader"]["slots"][0]["id"] == key.id
    assert vaultfile.decrypt(body.read_bytes(), key, header=header) == plaintext
    vaultfile.decrypt_file(body, tmp_path / "y", key, header=header)
    assert (tmp_path / "y").read_bytes() == plaintext
    assert vaultfile.inspect(body)["front"]["status"] == "intact"
    # Other header files, and none.
    other, others = vaultfile.encrypt_detached(b"x", key)
    assert vaultfile.decrypt(other, key, header=others) == b"x"
    for wanted, given in (
            (vaultfile.DamagedError, others), (vaultfile.NotVaultfileError, b"no header"),
            (vaultfile.NotVaultfileError, io.BytesIO(b"no header")), (FileNotFoundError, tmp_path / "none"),
            (vaultfile.DamagedError, b""), (TypeError, io.StringIO("text")), (ValueError, "")):
        with pytest.raises(wanted):
            vaultfile.open(body, "rb", keys=key, header=given)
    own = vaultfile.encrypt(b"x", key, header_capacity=4096)
    for wanted, given in ((vaultfile.DamagedError, others), (vaultfile.InvalidArgumentError, own[:4096])):
        with pytest.raises(wanted):
            vaultfile.decrypt(own, key, header=given)
    # A header file that is there is not lost, and the container stays.
    before = body.read_bytes(), header.read_bytes()
    with pytest.raises(FileExistsError):
        vaultfile.open(body, "wb", keys=key, header=header)
    assert (body.read_bytes(), header.read_bytes()) == before
    with pytest.raises(ZeroDivisionError), vaultfile.open(body, "wb", keys=key, header=tmp_path / "z.hdr"):
        1 / 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.hdr", "x.vault", "y"]
    # File objects.
    there, slots = io.BytesIO(), io.BytesIO()
    with vaultfile.open(there, "wb", keys=key, header=slots) as file:
        assert slots.getvalue() and not there.getvalue()
        file.write(b"there")
    with vaultfile.open(there, "rb", keys=key, header=slots.getvalue()) as file:
        assert file.read() == b"there"


def test_slots_move(tmp_path, key, plaintext):
    body, header, new = tmp_path / "x.vault", tmp_path / "x.hdr", vaultfile.Key.generate()
    with vaultfile.open(body, "wb", keys=key) as file:
        file.write(plaintext)
    done = vaultfile.detach(body, key, header)
    assert done["headerFile"] == str(header) and vaultfile.verify_header(header.read_bytes(), key)["pin"] == done[
        "headerPin"]
    first = header.read_bytes()
    header.write_bytes(vaultfile.rotate_header(first, key, add=new))
    report = vaultfile.rotate_header_file(header, new, remove=key)
    assert [slot["id"] for slot in report["removed"]] == [key.id]
    assert vaultfile.rotate_header_file(header, new, add=key, dry_run=True)["added"]
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.verify(body, key, header=header)
    # An old header file that was put back.
    now = header.read_bytes()
    header.write_bytes(first)
    with pytest.raises(vaultfile.UnexpectedStateError):
        vaultfile.attach(body, key, header, header_pin=report["header"]["pin"])
    with pytest.raises(vaultfile.UnexpectedStateError):
        vaultfile.verify(body, key, header=header, header_pin=report["header"]["pin"])
    header.write_bytes(now)
    assert vaultfile.attach(body, new, header)["newHeader"] and not header.exists()
    assert vaultfile.verify(body, new)["health"] == "intact"
    # Without a path it is beside the container, where the command looks.
    beside = vaultfile.detach(body, new)["headerFile"]
    assert beside.startswith(f"{body}.") and beside.endswith(".hdr")
    other = vaultfile.Key.generate()
    # The new header file is where the old one was.
    (tmp_path / "stick").mkdir()
    there = tmp_path / "stick" / "a.hdr"
    os.rename(beside, there)
    with pytest.raises(vaultfile.DamagedError, match="rotate_header_file"):
        vaultfile.rotate(there, new, add=other)
    # A container that was cut is no header file.
    cut, whole = tmp_path / "cut", vaultfile.encrypt(plaintext, new, header_capacity=4096)
    for length in (500, 4095, 4097, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(vaultfile.DamagedError) as raised:
            vaultfile.rotate(cut, new, add=other)
        with pytest.raises(vaultfile.DamagedError) as found:
            vaultfile.verify(cut, new)
        assert "rotate_header_file" not in raised.value.message and raised.value.offset == found.value.offset
    report = vaultfile.reencrypt(body, new, other, drop=new, header=there)
    assert report["headerFileHeader"]["slots"][0]["id"] == other.id
    assert os.listdir(tmp_path / "stick") == [os.path.basename(report["headerFile"])]
    pin = vaultfile.verify_header(pathlib.Path(report["headerFile"]).read_bytes(), other)["pin"]
    assert pin == report["headerPin"] == report["headerFileHeader"]["pin"]
    assert vaultfile.verify(body, other, header=report["headerFile"])["health"] == "intact"


def test_bytes_are_no_path(key):
    container = vaultfile.encrypt(b"x", key)
    for call in (vaultfile.inspect, lambda bytes_: vaultfile.verify(bytes_, key)):
        with pytest.raises(ValueError, match="BytesIO") as raised:
            call(container)
        assert "\0" not in str(raised.value)


def test_modes(path, key):
    with pytest.raises(FileExistsError):
        vaultfile.open(path, "xb", keys=key)
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(b"new")
        assert file.writable() and not file.readable()
    with vaultfile.open(path, "rb", keys=key) as file:
        assert file.read() == b"new"
        assert file.readable() and file.seekable() and not file.writable()
    for mode in ["", "b", "rw", "rbt", "a", "r+b", "rr", "z"]:
        with pytest.raises(ValueError):
            vaultfile.open(path, mode, keys=key)
    with pytest.raises(ValueError):
        vaultfile.open(path, "rb", keys=key, encoding="utf-8")
    with pytest.raises(ValueError):
        vaultfile.open(io.BytesIO(), "xb", keys=key)
    with pytest.raises(TypeError):
        vaultfile.open(path, "rb", keys=key, compress=True)


def test_threads_and_holes(tmp_path, key):
    plain, container, back = tmp_path / "plain", tmp_path / "c.vault", tmp_path / "back"
    plain.write_bytes(bytes(1 << 20))
    vaultfile.encrypt_file(plain, container, key, jobs=2)
    for sparse in (False, True):
        vaultfile.decrypt_file(container, back, key, jobs=2, sparse=sparse, replace=True)
        assert back.read_bytes() == bytes(1 << 20)
        allocated = back.stat().st_blocks * 512
        assert allocated < 100_000 if sparse else allocated >= 1 << 20
    with pytest.raises(vaultfile.InvalidArgumentError, match="jobs"):
        vaultfile.encrypt_file(plain, container, key, jobs=0, replace=True)
    with pytest.raises(TypeError):
        vaultfile.encrypt_file(plain, container, key, sparse=True, replace=True)


def test_a_long_read_is_few_requests(key):
    class Counting(io.BytesIO):
        asked = []

        def read(self, count=-1):
            self.asked.append(count)
            return super().read(count)

    plain = os.urandom(1 << 20) * 20
    source = Counting(vaultfile.encrypt(plain, key))
    with vaultfile.open(source, keys=key) as file:
        source.asked.clear()
        assert file.read() == plain
    assert len(source.asked) == 3 and max(source.asked) < 1.01 * (1 << 23)


def test_a_given_file_object_stays_open(path, key):
    with open(path, "rb") as below:
        vaultfile.open(below, "rb", keys=key).close()
        assert not below.closed


def test_a_shared_reader_is_a_file(path, key, plaintext, tmp_path):
    fsspec = pytest.importorskip("fsspec")
    generator = random.Random(5)
    lines = b"\n".join(generator.randbytes(generator.randrange(3_000)) for _ in range(300))
    fs = fsspec.filesystem("vaultfile", target_protocol="file", keys=key)
    fs.pipe(str(path), lines)
    with fs.open(str(path)) as file, io.BytesIO(lines) as plain:
        assert list(file) == plain.readlines()
        for _ in range(300):
            offset = generator.randrange(len(lines) + 10)
            assert file.seek(offset) == plain.seek(offset)
            count = generator.choice([0, 1, 100, 65_535, 65_536, 65_537, 200_000])
            assert file.read(count) == plain.read(count)
            assert file.readline() == plain.readline() and file.tell() == plain.tell()
        assert file.seek(-5, os.SEEK_END) == plain.seek(-5, os.SEEK_END) and file.read() == plain.read()
        with pytest.raises(ValueError):
            file.seek(-1)
    for call in (file.read, file.tell, lambda: file.seek(0), file.readline, file.info):
        with pytest.raises(ValueError):
            call()


def test_what_is_not_closed_is_told(tmp_path, key):
    with pytest.warns(ResourceWarning, match="x.vault.*not closed"):
        vaultfile.open(tmp_path / "x.vault", "wb", keys=key).write(b"x")
        gc.collect()
    with pytest.warns(ResourceWarning, match="x.vault.*not closed"):
        vaultfile.open(tmp_path / "x.vault", "w", keys=key).write("x")
        gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_fork_and_another_folder(tmp_path, key, monkeypatch):
    """The header file is that of the process and the folder in which the file was opened."""
    monkeypatch.chdir(tmp_path)
    file = vaultfile.open("x.vault", "wb", keys=key, header="x.hdr")
    file.write(b"x")
    child = os.fork()
    if not child:
        file.discard()
        os._exit(0)
    os.waitpid(child, 0)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    file.close()
    assert vaultfile.open(tmp_path / "x.vault", keys=key, header=tmp_path / "x.hdr").read() == b"x"


def test_threads_read_at_once(path, key, plaintext):
    with vaultfile.open(path, "rb", keys=key) as file:
        failures = []

        def work(seed):
            generator = random.Random(seed)
            for _ in range(50):
                offset = generator.randrange(len(plaintext))
                count = min(len(plaintext) - offset, generator.randrange(100_000))
                if file.read_at(offset, count) != plaintext[offset : offset + count]:
                    failures.append(offset)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        for offset, count in [(-1, 1), (0, len(plaintext) + 1), (len(plaintext), 1), (0, -1)]:
            with pytest.raises(ValueError):
                file.read_at(offset, count)


def test_the_gil_is_released(tmp_path):
    """While a passphrase is stretched, which is one call, another thread runs Python."""
    passphrase = vaultfile.Passphrase("a", **CHEAP)
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "wb", keys=passphrase) as file:
        file.write(b"x")
    counted = 0
    began, done = threading.Event(), threading.Event()

    def count():
        nonlocal counted
        began.set()
        while not done.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    began.wait()
    # The next call takes long. If it held the GIL, the other thread could not count.
    handle = vaultfile._keys.KeysHandle(passphrase)
    made = vaultfile._library.c_void_p()
    first = counted
    error = vaultfile._library.lib.vaultfile_reader_open_path(
        os.fsencode(path), handle.value, None, vaultfile._library.ctypes.byref(made))
    last = counted
    done.set()
    thread.join()
    assert error is None
    vaultfile._library.lib.vaultfile_reader_free(made)
    # The GIL changes hands about 200 times a second; Argon2id over 19 MiB leaves time for many rounds of the loop.
    assert last - first > 100, (first, last)


def test_verify_over_a_file_object_takes_few_threads(key):
    class Counting(io.BytesIO):
        threads = set()

        def read(self, count=-1):
            self.threads.add(threading.get_ident())
            return super().read(count)

    source = Counting(vaultfile.encrypt(bytes(1 << 24) * 8, key, chunk_size=1 << 16))
    with vaultfile.open(source, keys=key) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: 64)
        for call in (file.verify, file.damage):
            source.threads.clear()
            call()
            assert len(source.threads) <= 4
            call(jobs=1)
            with pytest.raises(vaultfile.InvalidArgumentError, match="jobs"):
                call(jobs=0)


def test_a_container_in_a_container(key, plaintext):
    """The library reads the outer one by callbacks, which call the library."""
    other = vaultfile.Key.generate()
    plain = plaintext * 9
    outside = vaultfile.encrypt(vaultfile.encrypt(plain, key), other)
    with vaultfile.open(io.BytesIO(outside), keys=other) as outer, vaultfile.open(outer, keys=key) as inner:
        assert inner.read() == plain
        inner.verify(jobs=4)
        assert inner.damage(jobs=4) == []
        outer.verify(jobs=4)
        assert outer.read_at(0, 10) == vaultfile.decrypt(outside, other)[:10]
        failures = []

        def work(seed):
            generator = random.Random(seed)
            try:
                for _ in range(20):
                    offset = generator.randrange(len(plain))
                    count = min(len(plain) - offset, generator.randrange(100_000))
                    assert inner.read_at(offset, count) == plain[offset : offset + count]
                (inner if seed % 2 else outer).verify(jobs=2)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
    below = io.BytesIO()
    with vaultfile.open(below, "wb", keys=other) as outer, vaultfile.open(outer, "wb", keys=key) as inner:
        inner.write(plain)
    assert vaultfile.decrypt(vaultfile.decrypt(below.getvalue(), other), key) == plain


def test_archives(tmp_path, key, plaintext):
    """Of Python's own modules, on containers: written in one go, and read at any place."""
    for name, write, read in (
            ("x.zip", lambda file: zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED), zipfile.ZipFile),
            ("x.tar", lambda file: tarfile.open(fileobj=file, mode="w"), lambda file: tarfile.open(fileobj=file)),
            ("x.tar.gz", lambda file: tarfile.open(fileobj=file, mode="w:gz"), lambda file: tarfile.open(fileobj=file)),
            ("y.tar", lambda file: tarfile.open(fileobj=file, mode="w|"), lambda file: tarfile.open(
                fileobj=file, mode="r|*"))):
        with vaultfile.open(tmp_path / name, "wb", keys=key) as file, write(file) as archive:
            for member, bytes_ in (("a", plaintext), ("b", b"short")):
                if isinstance(archive, zipfile.ZipFile):
                    archive.writestr(member, bytes_)
                    continue
                found = tarfile.TarInfo(member)
                found.size = len(bytes_)
                archive.addfile(found, io.BytesIO(bytes_))
        with vaultfile.open(tmp_path / name, keys=key) as file, read(file) as archive:
            if isinstance(archive, zipfile.ZipFile):
                assert archive.testzip() is None
                assert archive.read("b") == b"short" and archive.read("a") == plaintext
            else:
                found = {member.name: archive.extractfile(member).read() for member in archive}
                assert found == {"a": plaintext, "b": b"short"}
    # A writer goes forwards only, and says so.
    with vaultfile.open(tmp_path / "z", "wb", keys=key) as file:
        assert not file.seekable() and not file.readable() and file.writable()
        for call in (lambda: file.seek(0), file.truncate, file.read, file.fileno):
            with pytest.raises(io.UnsupportedOperation):
                call()


def test_asyncio(path, key, plaintext):
    async def main():
        with vaultfile.open(path, keys=key) as file:
            parts = await asyncio.gather(*(
                asyncio.to_thread(file.read_at, start, 1000) for start in range(0, 900_000, 10_000)))
            await asyncio.to_thread(file.verify)
        return parts

    assert asyncio.run(main()) == [plaintext[start : start + 1000] for start in range(0, 900_000, 10_000)]


def _length_and_start(given):
    path, key_path, start = given
    with vaultfile.open(path, keys=vaultfile.KeyFile(key_path)) as file:
        return file.length, file.read_at(start, 10)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(path, tmp_path, key, plaintext, method):
    key.save(tmp_path / "k")
    starts = range(0, 900_000, 100_000)
    # The parent has used the library, and has a file open.
    with vaultfile.open(path, keys=key) as file:
        file.verify()
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map(_length_and_start, [(path, tmp_path / "k", start) for start in starts])
        assert found == [(len(plaintext), plaintext[start : start + 10]) for start in starts]
        assert file.read(10) == plaintext[:10]


def test_a_file_that_was_opened_before_a_fork(path, key, plaintext):
    with vaultfile.open(path, keys=key) as file:
        file.verify()
        child = os.fork()
        if not child:
            # In a thread: one that waits for ever fails.
            thread = threading.Thread(
                target=lambda: os._exit(0 if file.read_at(5, 500_000) == plaintext[5:500_005] else 1))
            thread.start()
            thread.join(60)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert file.read_at(5, 5) == plaintext[5:10]


def test_a_text_file_is_no_source(path, key):
    with open(path) as text, pytest.raises(TypeError, match="'rb'"):
        vaultfile.open(text, keys=key)
    with pytest.raises(TypeError, match="function"):
        vaultfile.AskForKeys(key)


def test_nothing_is_behind_the_end(path, key, plaintext):
    with vaultfile.open(path, keys=key) as file:
        for read in (file.read, lambda: file.read(5), file.readline, file.read1, file.raw.readall, lambda: file.read(-1)):
            file.seek(len(plaintext) + 50)
            assert read() == b"" and file.tell() == len(plaintext) + 50
        assert file.mode == file.raw.mode == "rb"
    with vaultfile.open(path, "r", keys=key, encoding="latin-1") as text:
        text.seek(len(plaintext) + 50)
        assert text.read() == ""


def test_times_and_modes(tmp_path, key):
    for given, seconds in ((1.9, 1), (-1.5, -2), (os.stat(tmp_path).st_mtime, int(os.stat(tmp_path).st_mtime))):
        manifests = []
        for time in (given, seconds):
            with vaultfile.open(io.BytesIO(vaultfile.encrypt(b"x", key, modified=time)), keys=key) as file:
                manifests.append(file.info()["manifest"])
        assert manifests[0] == manifests[1] != vaultfile.verify(io.BytesIO(vaultfile.encrypt(b"x", key)), key)["manifest"]
    for wrong, words in (
            ({"modified": float("nan")}, "a datetime, or seconds"), ({"permissions": "644"}, "0o644"),
            ({"compress": "deflate"}, "True or False"), ({"chunk_size": 4096.5}, "a whole number")):
        with pytest.raises(TypeError, match=words):
            vaultfile.encrypt(b"x", key, **wrong)
    with pytest.raises(TypeError, match="mode w replaces"):
        vaultfile.open(tmp_path / "new", "wb", keys=key, replace=True)
    assert list(tmp_path.iterdir()) == []
