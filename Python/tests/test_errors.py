"""The errors and exceptions of files: what a program sees, and that nothing is lost by them."""

import io
import pickle
import threading

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
    container = tmp_path / "c"
    container.write_bytes(vaultfile.encrypt(b"x", key))
    damaged = bytearray(container.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    for call, kind in (
            (lambda: vaultfile.open(tmp_path / "missing", keys=key), FileNotFoundError),
            (lambda: vaultfile.encrypt_file(container, container, key), FileExistsError),
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
