"""The errors and exceptions of files: what a program sees, and that nothing is lost by them."""

import errno
import io
import os
import pickle
import random
import signal
import threading
import time

import pytest

import vaultfile


def test_closed_files(path, key):
    file = vaultfile.open(path, "rb", keys=key)
    raw = file.raw
    file.close()
    file.close()
    for call in (lambda: raw.read(1), lambda: raw.seek(0), raw.tell, raw.info, lambda: raw.read_at(0, 1)):
        with pytest.raises(ValueError):
            call()
    writer = vaultfile.open(path, "wb", keys=key)
    writer.close()
    with pytest.raises(ValueError):
        writer.write(b"x")


def test_exceptions_of_a_file_object_come_back(path, key):
    class Broken(io.BytesIO):
        calls = 0

        def read(self, count=-1):
            self.calls += 1
            if self.calls > self.allowed:
                raise self.error
            return super().read(count)

    bytes_ = path.read_bytes()
    for error in (OSError(5, "the network is gone"), KeyboardInterrupt(), ZeroDivisionError("x")):
        below = Broken(bytes_)
        below.error, below.allowed = error, 10**9
        file = vaultfile.open(below, "rb", keys=key)
        below.allowed = 0
        with pytest.raises(type(error)) as found:
            file.read()
        assert found.value is error
    text = io.StringIO("text")
    with pytest.raises(TypeError):
        vaultfile.open(text, "rb", keys=key)


def test_exceptions_of_a_written_file_object(key):
    class Full(io.BytesIO):
        def write(self, buffer):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError) as found, vaultfile.open(Full(), "wb", keys=key) as file:
        file.write(b"x")
    assert found.value.errno == 28


class Full(io.BytesIO):
    """Fails once, after it has taken a part."""

    def __init__(self, error):
        super().__init__()
        self.error, self.left = error, 1 << 30

    def write(self, buffer):
        if len(buffer) <= self.left:
            self.left -= len(buffer)
            return super().write(buffer)
        super().write(buffer[: self.left])
        self.left = 1 << 30
        raise self.error


BROKEN = "outputFailed: .*an earlier write failed"


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "full"), BlockingIOError(errno.EAGAIN, "later"), KeyboardInterrupt(), ZeroDivisionError()])
@pytest.mark.parametrize("text", [False, True])
def test_a_write_that_failed_makes_no_container(key, error, text):
    """Programs close a file in `finally`. What came before and after the failure must not look complete."""
    for fail in ("write", "flush", "close"):
        below = Full(error)
        file = vaultfile.open(below, "wb", keys=key)
        writer = io.TextIOWrapper(file, "latin-1") if text else file
        piece = "x" * 3_000_000 if text else b"x" * 3_000_000
        with pytest.raises(vaultfile.SystemCallError, match=BROKEN) if fail != "close" else pytest.raises(
                (type(error), vaultfile.SystemCallError)) as raised:
            try:
                writer.write(piece)
                if fail == "write":
                    below.left = 1000
                    with pytest.raises(type(error)):
                        writer.write(piece)
                    for again in (lambda: (writer.write(piece), writer.flush()), writer.flush, file.flush):
                        with pytest.raises(vaultfile.SystemCallError, match=BROKEN):
                            again()
                writer.write(piece[:10])
                below.left = 10
                if fail == "flush":
                    with pytest.raises(type(error)):
                        while True:
                            writer.write(piece[:70_000])
                            writer.flush()
            finally:
                writer.close()
        assert raised.value is error or raised.value.name == "outputFailed"
        assert file.closed and writer.closed
        writer.close()
        with pytest.raises(vaultfile.DamagedError):
            vaultfile.decrypt(below.getvalue(), key)


def test_a_failed_write_keeps_the_old_file(path, key, plaintext, monkeypatch):
    """The library cannot write: then it is as for a file object."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for mode, piece in (("wb", b"x" * 100_000), ("w", "x" * 100_000)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, before[1]))
        try:
            with pytest.raises(vaultfile.SystemCallError) as raised:
                file = vaultfile.open(path, mode, keys=key)
                try:
                    with pytest.raises(OSError) as first:
                        for _ in range(100):
                            file.write(piece)
                            file.flush()
                    assert first.value.errno == errno.EFBIG
                    resource.setrlimit(resource.RLIMIT_FSIZE, before)
                    with pytest.raises(vaultfile.SystemCallError, match=BROKEN):
                        for _ in range(100):
                            file.write(piece)
                finally:
                    file.close()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert str(path) in str(raised.value) and os.listdir(path.parent) == [path.name]
        assert vaultfile.open(path, keys=key).read() == plaintext


@pytest.mark.parametrize("mode", ["wb", "w"])
@pytest.mark.parametrize("of_file_object", [False, True])
def test_an_interrupted_write_leaves_no_hole(tmp_path, key, mode, of_file_object):
    """Wherever Ctrl-C comes: a container that is complete afterwards has all that was written before, and no more than
    the write that was interrupted."""
    generator, completed = random.Random(7), 0
    for number in range(60):
        target = io.BytesIO() if of_file_object else tmp_path / f"{number}"
        wait = generator.uniform(0, 0.05)

        def send():
            time.sleep(wait)
            os.kill(os.getpid(), signal.SIGINT)

        file = vaultfile.open(target, mode, keys=key)
        thread, count = threading.Thread(target=send), 0
        try:
            thread.start()
            while True:
                line = f"{count} ".rjust(20_000)
                file.write(line if mode == "w" else line.encode())
                count += 1
        except KeyboardInterrupt:
            pass
        try:
            file.close()
        except vaultfile.SystemCallError as error:
            assert "earlier write" in str(error) and (of_file_object or not target.exists())
            continue
        finally:
            thread.join()
        completed += 1
        bytes_ = target.getvalue() if of_file_object else target.read_bytes()
        found = vaultfile.decrypt(bytes_, key).decode().split()
        assert found == [str(number) for number in range(len(found))] and count <= len(found) <= count + 1
    if not of_file_object and mode == "wb":
        assert completed == 60


@pytest.mark.parametrize("call", ["write", "flush", "close"])
def test_text_that_was_lost_on_its_way(tmp_path, key, call):
    """TextIOWrapper forgets text when it calls the writer. The handler of a signal can raise before the writer has it."""
    path = tmp_path / "x"
    file = vaultfile.open(path, "w", keys=key)
    file.write("before")

    def interrupted(buffer):
        del file._writer.write
        raise KeyboardInterrupt

    file._writer.write = interrupted
    with pytest.raises(KeyboardInterrupt):
        file.write("x" * 100_000) if call == "write" else getattr(file, call)()
    if call == "close":
        assert file.closed
        file.close()
    else:
        with pytest.raises(vaultfile.SystemCallError, match=BROKEN):
            try:
                file.write("after")
            finally:
                file.close()
    assert file.closed and not path.exists() and os.listdir(tmp_path) == []


def test_threads_write_lines(key):
    """As those of a program that logs."""
    below = io.BytesIO()
    with vaultfile.open(below, "wb", keys=key) as file:
        threads = [
            threading.Thread(target=lambda number=number: [
                file.write(bytes([65 + number]) * 9_999 + b"\n") for _ in range(400)]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert file.tell() == 16_000_000
    lines = vaultfile.decrypt(below.getvalue(), key).split(b"\n")
    assert sorted(lines) == [b""] + [bytes([65 + number]) * 9_999 for number in range(4) for _ in range(400)]


def test_a_text_that_cannot_be_encoded_breaks_nothing(tmp_path, key):
    with vaultfile.open(tmp_path / "x", "w", keys=key, encoding="ascii") as file:
        file.write("a")
        with pytest.raises(UnicodeEncodeError):
            file.write("ä")
        with pytest.raises(TypeError):
            file.write(b"b")
        print("c", file=file)
    assert vaultfile.open(tmp_path / "x", keys=key).read() == b"ac\n"


def test_damage(path, key, plaintext):
    bytes_ = bytearray(path.read_bytes())
    bytes_[300_000] ^= 1
    with vaultfile.open(io.BytesIO(bytes_), "rb", keys=key) as file:
        assert file.read(65_536) == plaintext[:65_536]
        with pytest.raises(vaultfile.DamagedError) as found:
            file.read()
        assert found.value.name == "recordDamaged"
        assert isinstance(found.value.record, int) and isinstance(found.value.offset, int)
        lost = file.damage()
        assert len(lost) == 1 and lost[0]["error"] == "recordDamaged"
        first, last = lost[0]["range"]
        file.seek(last)
        assert file.read() == plaintext[last:]
        with pytest.raises(vaultfile.DamagedError):
            file.verify()
    with pytest.raises(vaultfile.DamagedError):
        vaultfile.verify(io.BytesIO(bytes_), key)
    with pytest.raises(vaultfile.NotVaultfileError):
        vaultfile.open(io.BytesIO(b"plain text" * 1000), "rb", keys=key)
    with pytest.raises(vaultfile.Error):
        vaultfile.open(io.BytesIO(b""), "rb", keys=key)


def test_a_read_that_fails_moves_nothing(path, key, plaintext):
    """A loop that catches the error and goes on loses no good bytes."""
    bytes_ = bytearray(path.read_bytes())
    bytes_[300_000] ^= 1
    fs = pytest.importorskip("fsspec").filesystem("memory")
    fs.pipe("/damage.vault", bytes(bytes_))
    path.write_bytes(bytes_)
    shared = pytest.importorskip("fsspec").filesystem("vaultfile", fs=fs, keys=key).open("/damage.vault")
    with vaultfile.open(path, "rb", keys=key) as file, shared:
        (lost,) = file.damage()
        first, last = lost["range"]
        for reader, name in ((file, str(path)), (shared, "/damage.vault")):
            assert first > 200_000
            for call in (
                    lambda: reader.read(600_000), reader.read, lambda: reader.readinto(bytearray(600_000)),
                    lambda: reader.read(first)):
                reader.seek(100)
                with pytest.raises(vaultfile.DamagedError) as found:
                    call()
                assert reader.tell() == 100 and found.value.path == name
                assert str(found.value).startswith(f"recordDamaged: {name}: record {found.value.record}, at byte ")
            # What is not asked for does not matter.
            reader.seek(first - 10)
            assert reader.read(10) == plaintext[first - 10 : first]
            reader.seek(first - 40_000)
            assert reader.read(39_000) == plaintext[first - 40_000 : first - 1_000]
            reader.seek(last)
            assert reader.read() == plaintext[last:]
    text = vaultfile.open(path, "r", keys=key, encoding="latin-1")
    assert text.buffer.length == len(plaintext)
    # In one line: the file lives as long as the call.
    assert vaultfile.open(path, keys=key).damage() and vaultfile.open(path, keys=key).read_at(5, 5) == plaintext[5:10]
    assert vaultfile.open(path, keys=key).info()["manifest"]["plaintextLength"] == len(plaintext)
    assert str(path) in repr(vaultfile.open(path, keys=key))


def test_threads_get_their_own_exceptions(key):
    container = vaultfile.encrypt(bytes(1 << 22), key)

    class Failing(io.BytesIO):
        fails = False

        def read(self, count=-1):
            if self.fails:
                raise KeyError(threading.get_ident())
            return super().read(count)

    source = Failing(container)
    reader = vaultfile.open(source, "rb", keys=key)
    source.fails = True
    found = []

    def read(place):
        for _ in range(50):
            try:
                reader.read_at(place, 1)
            except BaseException as error:
                found.append((threading.get_ident(), error))

    threads = [threading.Thread(target=read, args=(place << 18,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 400
    assert all(type(error) is KeyError and error.args == (thread,) for thread, error in found), set(
        type(error) for _, error in found)


def test_errors_go_to_other_processes(tmp_path, key):
    plain, container = tmp_path / "p", tmp_path / "c"
    plain.write_bytes(b"x")
    container.write_bytes(vaultfile.encrypt(b"x", key))
    damaged = bytearray(container.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    for call, kind in (
            (lambda: vaultfile.open(tmp_path / "missing", keys=key), FileNotFoundError),
            (lambda: vaultfile.encrypt_file(plain, container, key), FileExistsError),
            (lambda: vaultfile.KeyFile(tmp_path / "missing")._add_to_keys(None), vaultfile.MissingFileError),
            (lambda: vaultfile.open(container, keys=vaultfile.Key.generate()), vaultfile.WrongKeyError),
            (lambda: vaultfile.decrypt(damaged, key), vaultfile.DamagedError)):
        with pytest.raises(kind) as found:
            call()
        error = found.value
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        for name in ("name", "status", "message", "offset", "record", "path", "errno", "strerror", "filename"):
            assert getattr(again, name, None) == getattr(error, name, None), name
    assert again.errno if isinstance(again, OSError) else True


def test_an_error_about_the_header_file_names_it(tmp_path, key):
    body, header, missing = (str(tmp_path / name) for name in ("c", "h", "missing"))
    with vaultfile.open(body, "wb", keys=key, header=header) as file:
        file.write(b"x")
    for call in (
            lambda path: vaultfile.open(body, keys=key, header=path),
            lambda path: vaultfile.decrypt_file(body, body + ".out", key, header=path),
            lambda path: vaultfile.verify(body, key, header=path),
            lambda path: vaultfile.repair(body, key, header=path),
            lambda path: vaultfile.reencrypt(body, key, key, header=path),
            lambda path: vaultfile.attach(body, key, path)):
        with pytest.raises(FileNotFoundError) as found:
            call(missing)
        assert found.value.path == found.value.filename == missing, str(found.value)
    with pytest.raises(FileNotFoundError) as found:
        vaultfile.open(missing, keys=key, header=header)
    assert found.value.path == missing
    # The third argument of `reencrypt` is no header file, also where the error is about one.
    from vaultfile._errors import about_its_path, invalid

    @about_its_path
    def call(path, keys, third, **options):
        raise invalid("its header file: something")

    with pytest.raises(ValueError) as found:
        call(body, key, "recipients")
    assert found.value.path == body
