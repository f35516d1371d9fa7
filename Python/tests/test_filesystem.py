"""The file system of fsspec, on a local disk, in memory, and on moto's S3 server."""

import contextlib
import gc
import os
import pickle
import random

import pytest

import vaultfile

fsspec = pytest.importorskip("fsspec")
from fsspec.implementations.local import LocalFileSystem  # noqa: E402
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def s3():
    """The options of s3fs for a server of moto, with an empty bucket."""
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}", "skip_instance_cache": True}
    fsspec.filesystem("s3", **options).call_s3("create_bucket", Bucket="bucket")
    yield options
    server.stop()


@pytest.fixture
def key_file(tmp_path):
    vaultfile.Key.generate().save(tmp_path / "k.key")
    return vaultfile.KeyFile(tmp_path / "k.key")


@pytest.fixture
def table():
    generator = random.Random(3)
    count = 200_000
    return pa.table({
        "a": list(range(count)), "b": [generator.random() for _ in range(count)],
        "c": [f"text {generator.randrange(10**9)}" for _ in range(count)],
        "d": [generator.randbytes(60) for _ in range(count)]})


def test_ranges_and_listings(key_file, plaintext):
    memory = fsspec.filesystem("memory")
    fs = fsspec.filesystem("vaultfile", fs=memory, keys=key_file)
    with fs.open("/f/x.vault", "wb") as file:
        file.write(plaintext)
    assert memory.cat("/f/x.vault")[:4] != plaintext[:4]
    assert fs.cat("/f/x.vault") == plaintext
    assert fs.info("/f/x.vault")["size"] == fs.size("/f/x.vault") == len(plaintext)
    (listed,) = fs.ls("/f", detail=True)
    assert listed["size"] is None and listed["container_size"] == memory.size("/f/x.vault")
    assert fs.ls("/f", detail=False) == ["/f/x.vault"] and fs.find("/f") == ["/f/x.vault"]
    assert fs.isfile("/f/x.vault") and fs.isdir("/f") and not fs.exists("/f/y")
    assert fs.cat_file("/f/x.vault", 5, 10) == plaintext[5:10]
    assert fs.cat_file("/f/x.vault", -10) == plaintext[-10:]
    assert fs.tail("/f/x.vault", 100) == plaintext[-100:]
    starts = [0, 100, 999_000]
    assert fs.cat_ranges(["/f/x.vault"] * 3, starts, [10, 200_000, None]) == [
        plaintext[:10], plaintext[100:200_000], plaintext[999_000:]]
    missing = fs.cat_ranges(["/f/x.vault", "/f/y"], 0, 1)
    assert missing[0] == plaintext[:1] and isinstance(missing[1], FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(["/f/y"], 0, 1, on_error="raise")
    with pytest.raises(FileNotFoundError):
        fs.open("/f/y")
    with pytest.raises(FileExistsError):
        fs.open("/f/x.vault", "xb")
    with pytest.raises(NotImplementedError):
        fs.open("/f/x.vault", "ab")
    other = fsspec.filesystem("vaultfile", fs=memory, keys=vaultfile.Key.generate())
    with pytest.raises(vaultfile.WrongKeyError):
        other.cat("/f/x.vault")
    # A copy is the container itself.
    fs.cp_file("/f/x.vault", "/f/z.vault")
    assert fs.cat("/f/z.vault") == plaintext
    fs.rm("/f", recursive=True)
    assert not memory.exists("/f/x.vault")


def test_header_files(tmp_path, s3, key_file, plaintext):
    for name, options in (
            ("memory", {}), ("file", {}), ("s3", s3)):
        below = fsspec.filesystem(name, **options)
        fs = fsspec.filesystem("vaultfile", fs=below, keys=key_file, header_suffix=".hdr")
        path = {"memory": "/h/x.vault", "file": str(tmp_path / "x.vault"), "s3": "bucket/h.vault"}[name]
        with fs.open(path, "wb") as file:
            file.write(plaintext)
        assert fs.cat_file(path, 5, 10) == plaintext[5:10]
        assert vaultfile.inspect_header(below.cat(path + ".hdr"))["generation"] == 1
        plain = fsspec.filesystem("vaultfile", fs=below, keys=key_file)
        with pytest.raises(vaultfile.HeaderDetachedError):
            plain.cat(path)
        # The header file may be elsewhere, and may be bytes.
        for header in (path + ".hdr", below.cat(path + ".hdr")):
            assert fsspec.filesystem("vaultfile", fs=below, keys=key_file, header=header).size(path) == len(plaintext)
        # The header file that is there may be the only way into a container.
        with pytest.raises(FileExistsError):
            fs.open(path, "wb")
        with pytest.raises(FileNotFoundError):
            fs.cat(path + ".hdr")
        below.pipe_file(path + ".hdr", b"no header file")
        with pytest.raises(vaultfile.NotVaultfileError):
            fs.cat(path)
    with pytest.raises(ValueError):
        fsspec.filesystem("vaultfile", fs=below, keys=key_file, header="x", header_suffix=".hdr")


@pytest.fixture(params=["memory", "file", "s3"])
def beside(request, tmp_path, s3, key_file):
    """A file system with header files beside containers, the one below, and a folder there."""
    below = fsspec.filesystem(request.param, **(s3 if request.param == "s3" else {}))
    folder = {"memory": "/beside", "file": str(tmp_path / "beside"), "s3": "bucket/beside"}[request.param]
    below.makedirs(folder, exist_ok=True)
    yield fsspec.filesystem("vaultfile", fs=below, keys=key_file, header_suffix=".hdr"), below, folder
    below.invalidate_cache()
    if below.exists(folder):
        below.rm(folder, recursive=True)


def _names(below, folder):
    below.invalidate_cache()
    return sorted(name.rsplit("/", 1)[-1] for name in below.find(folder))


def test_two_writers_of_one_name(beside, key_file):
    """One of them is refused, and the container has the header file that fits."""
    fs, below, folder = beside
    path = f"{folder}/x.vault"
    first = fs.open(path, "wb")
    with pytest.raises(FileExistsError):
        fs.open(path, "wb")
    first.write(b"first")
    first.close()
    assert fs.cat(path) == b"first"
    # Both see that there is no header file, and then both write it.
    path = f"{folder}/y.vault"
    if not isinstance(below, LocalFileSystem):
        fs.fs = _Blind(below)
    first = fs.open(path, "wb")
    first.write(b"first")
    with pytest.raises(FileExistsError):
        fs.open(path, "wb")
    first.close()
    fs.fs = below
    assert fs.cat(path) == b"first"
    # A header file that someone has put in place of ours does not get our container.
    path = f"{folder}/z.vault"
    late = fs.open(path, "wb")
    late.write(b"late")
    below.rm_file(path + ".hdr")
    other, header = vaultfile.encrypt_detached(b"other", key_file)
    below.pipe_file(path + ".hdr", header)
    below.pipe_file(path, other)
    with pytest.raises(FileExistsError):
        late.close()
    below.invalidate_cache()
    assert fs.cat(path) == b"other" and below.cat(path + ".hdr") == header
    # Keys that change while the container is written do not matter.
    path, new = f"{folder}/w.vault", vaultfile.Key.generate()
    with fs.open(path, "wb") as file:
        file.write(b"rotated")
        below.pipe_file(path + ".hdr", vaultfile.rotate_header(below.cat(path + ".hdr"), key_file, add=new))
    assert fs.cat(path) == b"rotated"


@pytest.mark.parametrize("lost", ["put_object", "complete_multipart_upload"])
def test_a_write_whose_answer_is_lost(s3, key_file, monkeypatch, lost):
    """The client repeats it, and the store refuses the repetition. The container keeps its header file."""
    s3fs = pytest.importorskip("s3fs")
    below = fsspec.filesystem("s3", **s3)
    fs = fsspec.filesystem("vaultfile", fs=below, keys=key_file, header_suffix=".hdr")
    call, repeated = s3fs.S3File._call_s3, []

    def twice(file, method, *arguments, **options):
        done = call(file, method, *arguments, **options)
        if method == lost and options.get("IfNoneMatch"):
            repeated.append(method)
            # moto no longer knows the upload; S3 looks at the condition first.
            below.call_s3("put_object", Bucket="bucket", Key=options["Key"], Body=b"", IfNoneMatch="*")
        return done

    monkeypatch.setattr(s3fs.S3File, "_call_s3", twice)
    path = f"bucket/lost/{lost}.vault"
    with fs.open(path, "wb") as file:
        file.write(b"written")
    assert repeated == [lost]
    assert fs.cat(path) == b"written"
    # A container of someone else is still no success.
    late = f"bucket/late {lost}/x.vault"
    with pytest.raises(FileExistsError):
        with fs.open(late, "wb") as file:
            file.write(b"late")
            below.pipe_file(late, vaultfile.encrypt(b"other", key_file))
    assert _names(below, f"bucket/late {lost}") == ["x.vault"]
    assert fsspec.filesystem("vaultfile", fs=below, keys=key_file).cat(late) == b"other"


def test_an_abandoned_container_takes_its_header_file_along(beside):
    fs, below, folder = beside
    path = f"{folder}/x.vault"
    with pytest.raises(ZeroDivisionError), fs.open(path, "wb") as file:
        file.write(bytes(7_000_000))
        1 / 0
    with pytest.raises(ZeroDivisionError), fs.open(path, "w") as file:
        1 / 0
    with pytest.warns(ResourceWarning):
        fs.open(path, "wb")
        gc.collect()
    assert _names(below, folder) == []
    # It was replaced, and belongs to someone else.
    file = fs.open(path, "wb")
    other, header = vaultfile.encrypt_detached(b"other", vaultfile.Key.generate())
    below.pipe_file(path + ".hdr", header)
    file.discard()
    assert below.cat(path + ".hdr") == header


def test_header_files_go_along(beside, plaintext):
    fs, below, folder = beside
    a, b = f"{folder}/a.vault", f"{folder}/b.vault"
    fs.pipe(a, plaintext)
    assert fs.ls(folder, detail=False) == [fs._below(a)] == fs.glob(f"{folder}/*")
    fs.cp_file(a, b)
    assert fs.cat(b) == plaintext and _names(below, folder) == ["a.vault", "a.vault.hdr", "b.vault", "b.vault.hdr"]
    for call in (fs.cp_file, fs.mv):
        with pytest.raises(FileExistsError):
            call(a, b)
        with pytest.raises(FileNotFoundError):
            call(f"{folder}/none", f"{folder}/c.vault")
    fs.invalidate_cache()
    assert fs.cat(a) == fs.cat(b) == plaintext
    fs.rm(b)
    fs.mv(a, b)
    assert fs.cat(b) == plaintext and _names(below, folder) == ["b.vault", "b.vault.hdr"]
    # An interrupted removal leaves a header file, and the next one finishes it.
    below.rm_file(b)
    fs.invalidate_cache()
    fs.rm_file(b)
    assert _names(below, folder) == []
    for name in ("f/a.vault", "f/b.vault"):
        below.makedirs(f"{folder}/f", exist_ok=True)
        fs.pipe(f"{folder}/{name}", b"x")
    fs.cp(f"{folder}/f", f"{folder}/g", recursive=True) if below.protocol != "s3" else fs.cp(
        f"{folder}/f/", f"{folder}/g/", recursive=True)
    assert fs.cat(f"{folder}/g/a.vault") == b"x"
    fs.rm(f"{folder}/f", recursive=True)
    assert _names(below, folder) == ["a.vault", "a.vault.hdr", "b.vault", "b.vault.hdr"]
    fs.rm(f"{folder}/g/*.vault")
    assert _names(below, folder) == []


def test_a_header_file_that_a_killed_write_left(beside, key_file, plaintext):
    fs, below, folder = beside
    own, name = f"{folder}/own.vault", f"{folder}/new.vault"
    plain = fsspec.filesystem("vaultfile", fs=below, keys=key_file)
    plain.pipe(own, plaintext)
    other, _ = vaultfile.encrypt_detached(b"x", key_file)
    header = fs._below(own) + ".hdr"
    below.pipe_file(header, vaultfile.encrypt_detached(b"x", key_file)[1])
    below.pipe_file(fs._below(name) + ".hdr", vaultfile.encrypt_detached(b"x", key_file)[1])
    fs.invalidate_cache()
    # Every call says what to remove, and none removes the container.
    command = f"fs.fs.rm_file({header!r})"
    for call in (lambda: fs.cat(own), lambda: fs.open(own, "wb"), lambda: fs.rm(own), lambda: fs.rm_file(own)):
        with pytest.raises((vaultfile.DamagedError, vaultfile.InvalidArgumentError, FileExistsError)) as raised:
            call()
        assert command in str(raised.value)
    assert plain.cat(own) == plaintext
    fs.fs.rm_file(header)
    fs.invalidate_cache()
    fs.rm(own)
    # Without a container, rm of its name removes the header file.
    with pytest.raises(FileExistsError, match="rm of .*new.vault removes it"):
        fs.open(name, "wb")
    fs.rm(name)
    assert _names(below, folder) == []
    # Whole pairs, other files, and the only header file of a container.
    fs.pipe(name, plaintext)
    with pytest.raises(FileExistsError, match="removes both"):
        fs.open(name, "wb")
    with pytest.raises(ValueError, match="is the header file of"):
        fs.rm(name + ".hdr")
    with pytest.raises(ValueError, match="one by one"):
        fs.mv([name], [own])
    assert fs.cat(name) == plaintext
    below.pipe_file(fs._below(own) + ".hdr", b"a photo")
    fs.invalidate_cache()
    with pytest.raises(FileExistsError, match="is no header file"):
        fs.open(own, "wb")


def test_a_store_that_does_not_answer_loses_no_header_file(tmp_path, key_file, plaintext, monkeypatch):
    below = fsspec.filesystem("memory")
    fs = fsspec.filesystem("vaultfile", fs=below, keys=iter([key_file]), header_suffix=".hdr")
    file = fs.open("/s/a.vault", "wb")
    file.write(plaintext)
    read = below.open

    def failing(path, mode="rb", **options):
        if mode == "rb":
            raise OSError(5, "the store does not answer")
        return read(path, mode, **options)

    with monkeypatch.context() as patch:
        patch.setattr(below, "open", failing)
        with pytest.raises(OSError, match="does not answer"):
            file.close()
    assert below.exists("/s/a.vault.hdr") and not below.exists("/s/a.vault")
    # The keys were an iterator: every file has them.
    fs.rm("/s/a.vault")
    fs.pipe("/s/a.vault", b"x")
    fs.pipe("/s/b.vault", b"y")
    assert fs.cat("/s/a.vault") == b"x" and fs.cat("/s/b.vault") == b"y"
    fs.rm(["/s/a.vault", "/s/b.vault"])
    # The same on a disk.
    writer = vaultfile.open(tmp_path / "c.vault", "wb", keys=key_file, header=tmp_path / "c.hdr")
    writer.write(b"x")
    (tmp_path / "c.hdr").rename(tmp_path / "away")
    (tmp_path / "c.hdr").mkdir()
    with pytest.raises(vaultfile.SystemCallError, match="inputFailed"):
        writer.close()
    assert (tmp_path / "away").exists() and not (tmp_path / "c.vault").exists()


def _deaf(memory):
    """What takes the place of the `open` of a file system that reads nothing any more."""
    read = memory.open

    def open_(path, mode="rb", **options):
        if mode == "rb":
            raise OSError(5, "the store does not answer")
        return read(path, mode, **options)

    return open_


def test_what_ends_a_block_is_not_replaced_by_a_failing_store(tmp_path, key_file, monkeypatch):
    memory = fsspec.filesystem("memory")
    fs = fsspec.filesystem("vaultfile", fs=memory, keys=key_file, header_suffix=".hdr")
    deaf = _deaf(memory)
    for number, mode in enumerate(("wb", "w")):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            with fs.open(f"/i/{number}", mode):
                patch.setattr(memory, "open", deaf)
                raise KeyboardInterrupt
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        opened = fsspec.core.OpenFile(fs, "/i/2", mode="wb")
        with opened:
            patch.setattr(memory, "open", deaf)
            raise KeyboardInterrupt
    # Nothing else is raised: then the failure is told.
    file = fs.open("/i/3", "wb")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="does not answer"):
        patch.setattr(memory, "open", deaf)
        file.discard()
    # On a disk.
    for mode in ("wb", "w"):
        with pytest.raises(KeyboardInterrupt):
            with vaultfile.open(tmp_path / "x.vault", mode, keys=key_file, header=tmp_path / f"{mode}.hdr"):
                (tmp_path / f"{mode}.hdr").unlink()
                (tmp_path / f"{mode}.hdr").mkdir()
                raise KeyboardInterrupt
    assert not (tmp_path / "x.vault").exists()


def test_a_refusal_is_not_replaced_by_a_failing_store(key_file, monkeypatch):
    memory = fsspec.filesystem("memory")
    fs = fsspec.filesystem("vaultfile", fs=memory, keys=key_file, header_suffix=".hdr")
    fs.pipe("/r/a.vault", b"x")
    for verb in ("cp_file", "mv"):
        with monkeypatch.context() as patch:

            def interrupted(*_, **__):
                patch.setattr(memory, "open", _deaf(memory))
                raise KeyboardInterrupt

            patch.setattr(memory, verb, interrupted)
            with pytest.raises(KeyboardInterrupt):
                getattr(fs, verb)("/r/a.vault", f"/r/{verb}.vault")
    # The container has been written by someone else, and then the store does not answer.
    file = fs.open("/r/late.vault", "wb")
    memory.pipe_file("/r/late.vault", vaultfile.encrypt(b"other", key_file))
    monkeypatch.setattr(file._beside, "fits", lambda path: memory.open("/r/none", "rb"))
    monkeypatch.setattr(file._beside, "discard", lambda: 1 / 0)
    with pytest.raises(FileExistsError):
        file.close()
    assert memory.exists("/r/late.vault.hdr")


def test_messages_name_the_file_that_they_are_about(key_file, plaintext):
    memory = fsspec.filesystem("memory")
    fs = fsspec.filesystem("vaultfile", fs=memory, keys=key_file, header_suffix=".hdr")
    _, other = vaultfile.encrypt_detached(b"x", key_file)
    fs.pipe("/n/a.vault", plaintext)
    memory.pipe_file("/n/other.hdr", other)
    # A header file that the caller gives is not to be removed.
    for header in (other, "/n/other.hdr"):
        with pytest.raises(vaultfile.DamagedError) as raised:
            fs.open("/n/a.vault", header=header)
        assert "remove" not in str(raised.value) and "None" not in str(raised.value)
    # Nor is it the one beside the container.
    for path in ("/n/a.vault", "/n/new.vault"):
        with pytest.raises(FileExistsError, match="/n/other.hdr is a header file, maybe of another") as raised:
            fs.open(path, "wb", header="/n/other.hdr")
        assert "rm of" not in str(raised.value)
    memory.pipe_file("/n/photo", b"a photo")
    memory.pipe_file("/n/photo.hdr", other)
    with pytest.raises(FileExistsError, match="/n/photo is no container, or is damaged") as raised:
        fs.open("/n/photo", "wb")
    assert "rm" not in str(raised.value)


@pytest.mark.parametrize("step", range(8))
def test_an_interruption_leaves_no_container_that_nobody_opens(beside, step, plaintext):
    """Each call of `rm`, `cp` and `mv` to the file system below fails in turn."""
    fs, below, folder = beside
    for verb in ("rm", "cp_file", "mv"):
        a, b = f"{folder}/a-{verb}-{step}.vault", f"{folder}/b-{verb}-{step}.vault"
        fs.pipe(a, b"x")
        fs.fs = failing = _FailingAt(below, step)
        with contextlib.suppress(_Stop):
            fs.rm(a) if verb == "rm" else getattr(fs, verb)(a, b)
        fs.fs = below
        below.invalidate_cache()
        assert failing.count
        for path in (a, b):
            if below.exists(path):
                assert fs.cat(path) == b"x"
        if verb != "rm":
            assert below.exists(a) or below.exists(b)


class _Blind:
    """A file system that sees no file."""

    def __init__(self, fs):
        self.fs = fs

    def __getattr__(self, name):
        return getattr(self.fs, name)

    def exists(self, path, **options):
        return False


class _Stop(Exception):
    pass


class _FailingAt:
    """A file system of which one call, and every later one, fails."""

    def __init__(self, fs, step):
        self.fs, self.step, self.count = fs, step, 0

    def __getattr__(self, name):
        found = getattr(self.fs, name)
        if name not in ("open", "rm", "rm_file", "mv", "cp_file"):
            return found

        def call(*arguments, **options):
            self.count += 1
            if self.count > self.step:
                raise _Stop
            return found(*arguments, **options)

        return call


class _Full:
    """A file system whose files take a part of what is written, and then fail."""

    def __init__(self, fs, part):
        self.fs, self.part, self.is_full = fs, part, True

    def __getattr__(self, name):
        return getattr(self.fs, name)

    def open(self, path, mode="rb", **options):
        file = self.fs.open(path, mode, **options)
        if "b" in mode and mode != "rb" and path.endswith(".hdr") and self.is_full:
            write = file.write

            def torn(bytes_):
                write(bytes_[: self.part])
                raise OSError(28, "No space left on device")

            file.write = torn
        return file


@pytest.mark.parametrize("part", [0, 1, 100])
def test_a_header_file_that_was_written_in_part_goes(beside, part):
    fs, below, folder = beside
    name, other = f"{folder}/x.vault", f"{folder}/y.vault"
    fs.pipe(other, b"other")
    fs.fs = full = _Full(below, part)
    if hasattr(below, "call_s3"):
        with pytest.raises(OSError, match="space"):
            fs.open(name, "wb")
    for call in (fs.cp_file, fs.mv):
        with pytest.raises(OSError, match="space"):
            call(other, name)
    assert _names(below, folder) == ["y.vault", "y.vault.hdr"]
    full.is_full = False
    fs.cp_file(other, name)
    fs.invalidate_cache()
    assert fs.cat(name) == fs.cat(other) == b"other"


def test_a_writer_whose_store_fails_once(key_file, plaintext):
    """Of the memory of fsspec: the old object stays, and the header file goes along."""
    memory = fsspec.filesystem("memory")
    for suffix in (None, ".hdr"):
        fs = fsspec.filesystem("vaultfile", fs=memory, keys=key_file, header_suffix=suffix)
        path = f"/once{suffix}/x.vault"
        if suffix is None:
            fs.pipe(path, b"old")
        file = fs.open(path, "wb")
        write, failed = file._below.write, []

        def once(bytes_):
            if not failed:
                failed.append(write(bytes_[:1000]))
                raise OSError(28, "No space left on device")
            return write(bytes_)

        file._below.write = once
        with pytest.raises(vaultfile.SystemCallError, match="an earlier write failed") as raised:
            try:
                with pytest.raises(OSError, match="space"):
                    file.write(plaintext * 3)
                with pytest.raises(vaultfile.SystemCallError, match="an earlier write failed"):
                    file.write(b"x")
            finally:
                file.close()
        assert raised.value.path == path and raised.value.name == "outputFailed"
        if suffix is None:
            assert fs.cat(path) == b"old"
        else:
            assert not memory.exists(path) and not memory.exists(path + suffix)


def test_keys_that_change_while_a_container_moves(beside, key_file, monkeypatch):
    """The header file of the old place is what other programs change until the move is done."""
    fs, below, folder = beside
    for changes in (1, 3, 100):
        a, b, keys = f"{folder}/a{changes}.vault", f"{folder}/b{changes}.vault", []
        fs.pipe(a, b"x")
        read = vaultfile._beside.read_header

        def changing(fs_, path):
            if path == fs._below(a) + ".hdr" and below.exists(b) and len(keys) < changes:
                keys.append(vaultfile.Key.generate())
                below.pipe_file(path, vaultfile.rotate_header(read(fs_, path), key_file, add=keys[-1]))
            return read(fs_, path)

        with monkeypatch.context() as patch:
            patch.setattr(vaultfile._beside, "read_header", changing)
            if changes < 100:
                fs.mv(a, b)
            else:
                with pytest.raises(vaultfile.InUseError, match="changes again and again"):
                    fs.mv(a, b)
        fs.invalidate_cache()
        assert below.exists(fs._below(a) + ".hdr") == (changes == 100)
        newest = fsspec.filesystem("vaultfile", fs=below, keys=keys[-1], header_suffix=".hdr")
        assert newest.cat(b) == b"x"
    # The header file at the new place was changed as well: neither is lost.
    a, b, new = f"{folder}/a.vault", f"{folder}/b.vault", [vaultfile.Key.generate() for _ in range(2)]
    fs.pipe(a, b"x")
    move = below.mv

    def moving(path1, path2, **options):
        move(path1, path2, **options)
        for path, key in zip((path1, path2), new):
            below.pipe_file(f"{path}.hdr", vaultfile.rotate_header(below.cat(f"{path}.hdr"), key_file, add=key))

    with monkeypatch.context() as patch:
        patch.setattr(below, "mv", moving)
        with pytest.raises(vaultfile.InUseError, match="was changed meanwhile"):
            fs.mv(a, b)
    fs.invalidate_cache()
    for path, key in ((a, new[0]), (b, new[1])):
        vaultfile.verify_header(below.cat(path + ".hdr"), key)
    assert fs.cat(b) == b"x"


def test_a_header_file_on_a_disk_is_replaced_as_a_whole(tmp_path, key_file, monkeypatch):
    below = fsspec.filesystem("file")
    header = vaultfile._beside.HeaderBeside(below, str(tmp_path / "x.hdr"))
    _, first = vaultfile.encrypt_detached(b"x", key_file)
    second = vaultfile.rotate_header(first, key_file, add=vaultfile.Key.generate())
    header.write(first)
    os.chmod(header.path, 0o640)
    os.symlink("x.hdr", tmp_path / "link")
    for failing in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="the disk fails"):
            patch.setattr(os, failing, lambda *_, **__: (_ for _ in ()).throw(OSError(5, "the disk fails")))
            header.update(second)
        assert (tmp_path / "x.hdr").read_bytes() == first
        assert sorted(os.listdir(tmp_path)) == ["k.key", "link", "x.hdr"]
    header.path = str(tmp_path / "link")
    header.update(second)
    assert (tmp_path / "x.hdr").read_bytes() == second and (tmp_path / "link").is_symlink()
    assert os.stat(tmp_path / "x.hdr").st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["k.key", "link", "x.hdr"]


def test_a_container_in_a_container(key_file, plaintext):
    other = vaultfile.Key.generate()
    memory = fsspec.filesystem("memory")
    outer = fsspec.filesystem("vaultfile", fs=memory, keys=other)
    inner = fsspec.filesystem("vaultfile", fs=outer, keys=key_file)
    inner.pipe("/twice.vault", plaintext)
    assert vaultfile.decrypt(vaultfile.decrypt(memory.cat("/twice.vault"), other), key_file) == plaintext
    assert inner.cat("/twice.vault") == plaintext and inner.cat_file("/twice.vault", 5, 10) == plaintext[5:10]
    with inner.open("/twice.vault") as file:
        file.verify(jobs=4)
        assert file.damage(jobs=4) == []
    # A URL has options for one of them only.
    with pytest.raises(ValueError, match="no keys"):
        fsspec.open("vaultfile::vaultfile::memory:///twice.vault", "rb", vaultfile={"keys": other}).open()


def test_an_exception_keeps_the_old_object(tmp_path, s3, key_file):
    local = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file)
    remote = fsspec.filesystem("vaultfile", target_protocol="s3", target_options=s3, keys=key_file)
    for fs, path in ((local, str(tmp_path / "x.vault")), (remote, "bucket/x.vault")):
        with fs.open(path, "wb") as file:
            file.write(b"old")
        with pytest.raises(ZeroDivisionError), fs.open(path, "wb") as file:
            file.write(bytes(20_000_000))
            1 / 0
        fs.invalidate_cache()
        assert fs.cat(path) == b"old"
    assert sorted(os.listdir(tmp_path)) == ["k.key", "x.vault"]


def test_another_with_block_keeps_the_old_object(tmp_path, s3, key_file):
    """`with fsspec.open(…)` closes the file after an exception: it is abandoned."""
    options = {"vaultfile": {"keys": key_file}, "s3": s3}
    for url in (f"vaultfile::file://{tmp_path}/x.vault", "vaultfile::s3://bucket/old.vault"):
        with fsspec.open(url, "wb", **options) as file:
            file.write(b"old")
        fs, path = fsspec.url_to_fs(url, **options)
        for mode, text in (("wb", b"new"), ("w", "new")):
            with pytest.raises(ZeroDivisionError), fsspec.open(url, mode, **options) as file:
                file.write(text)
                1 / 0
            with pytest.raises(ZeroDivisionError), fs.open(path, mode) as file:
                file.write(text)
                1 / 0
        fs.invalidate_cache()
        assert fs.cat(path) == b"old"
    # Every other `close` completes, wherever it is called.
    with contextlib.suppress(ZeroDivisionError), _Reporting(fs.open(f"{path}.log", "wb")):
        1 / 0
    assert fs.cat(f"{path}.log") == b"ZeroDivisionError"
    with pytest.raises(ZeroDivisionError), contextlib.closing(
            vaultfile.open(tmp_path / "x.vault", "wb", keys=key_file)) as file:
        file.write(b"part")
        1 / 0
    assert vaultfile.open(tmp_path / "x.vault", keys=key_file).read() == b"part"


class _Reporting:
    """Closes what it has in the end, after an exception too."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.file.write(kind.__name__.encode())
        self.file.close()


def test_a_transaction_that_is_given_up(beside, key_file):
    _, below, folder = beside
    plain = fsspec.filesystem("vaultfile", fs=below, keys=key_file)
    with pytest.raises(ZeroDivisionError), plain.transaction:
        with plain.open(f"{folder}/x.vault", "wb") as file:
            file.write(bytes(7_000_000))
        1 / 0
    assert _names(below, folder) == []
    if hasattr(below, "call_s3"):
        assert not below.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads")


def test_a_removal_beside_a_writer(beside):
    """Between the two removals someone else removes and writes: their header file stays."""
    fs, below, folder = beside
    path = f"{folder}/x.vault"
    fs.pipe(path, b"old")

    class Slow(_Blind):
        def exists(self, path, **options):
            return self.fs.exists(path, **options)

        def rm_file(self, path):
            self.fs.rm_file(path)
            fs.fs = below
            if path.endswith(".vault"):
                fs.rm_file(path)
                fs.pipe(path, b"new")

    slow = fsspec.filesystem("vaultfile", fs=Slow(below), keys=fs._keys, header_suffix=".hdr")
    slow.rm_file(path)
    fs.invalidate_cache()
    assert fs.cat(path) == b"new"


def test_options(tmp_path, key_file):
    path = str(tmp_path / "x.vault")
    fs = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file, compress=True)
    fs.pipe(path, b"a" * 1_000_000)
    assert os.path.getsize(path) < 50_000
    small = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file, max_plaintext=10)
    with pytest.raises(vaultfile.LimitExceededError):
        small.cat(path)
    with pytest.raises(vaultfile.LimitExceededError):
        fs.open(path, max_plaintext=10)
    other = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file)
    other.pipe(str(tmp_path / "y.vault"), b"y")
    pin = vaultfile.verify(tmp_path / "y.vault", key_file)["header"]["pin"]
    with pytest.raises(vaultfile.UnexpectedStateError):
        fs.open(path, pin=pin)
    with pytest.raises(TypeError, match="max_plaintext"):
        fs.open(path, "wb", max_plaintext=10)
    with pytest.raises(TypeError, match="compress"):
        fs.open(path, compress=True)
    with fs.open(str(tmp_path / "z.vault"), "wb", header=str(tmp_path / "z.hdr")) as file:
        file.write(b"z")
    assert fs.open(str(tmp_path / "z.vault"), header=str(tmp_path / "z.hdr")).read() == b"z"
    with pytest.raises(TypeError, match="compres"):
        fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file, compres=1)
    with pytest.raises(TypeError, match="keys"):
        fsspec.open(f"vaultfile::file://{path}", "rb", vaultfile={"key": key_file})
    with pytest.raises(ValueError, match="no keys"):
        fsspec.filesystem("vaultfile", target_protocol="file").cat(path)


def test_relative_names(tmp_path, key_file, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fs = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file)
    fs.pipe("x.vault", b"x")
    expected = [str(tmp_path / "x.vault")]
    assert fs.glob("*.vault") == fs.find(".") [-1:] == fs.glob("vaultfile://*.vault") == expected
    assert fs.du(".") == sum(path.stat().st_size for path in tmp_path.iterdir())


def test_chained_urls(tmp_path, s3, key_file, plaintext):
    options = {"vaultfile": {"keys": key_file}, "s3": s3}
    with fsspec.open("vaultfile::s3://bucket/x.vault", "wb", **options) as file:
        file.write(plaintext)
    with fsspec.open("vaultfile::s3://bucket/x.vault", "rb", **options) as file:
        file.seek(500_000)
        assert file.read(1000) == plaintext[500_000:501_000]
    # A cache of ciphertext below.
    cache = str(tmp_path / "cache")
    with fsspec.open(
            "vaultfile::blockcache::s3://bucket/x.vault", "rb", blockcache={"cache_storage": cache}, **options) as file:
        assert file.read() == plaintext
    assert os.listdir(cache)
    for folder, _, names in os.walk(cache):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert plaintext[1000:1032] not in file.read()
    local = tmp_path / "y.vault"
    with fsspec.open(f"vaultfile::file://{local}", "wb", vaultfile={"keys": key_file}) as file:
        file.write(b"local")
    assert vaultfile.decrypt(local.read_bytes(), key_file) == b"local"


def test_the_file_system_is_pickled(tmp_path, key_file):
    fs = fsspec.filesystem("vaultfile", target_protocol="file", keys=key_file)
    path = str(tmp_path / "x.vault")
    fs.pipe(path, b"x")
    assert pickle.loads(pickle.dumps(fs)).cat(path) == b"x"


def test_parquet_by_columns(s3, key_file, table):
    """A query of one column fetches a part of the object, and the result is that of the plain table."""
    options = {"vaultfile": {"keys": key_file}, "s3": s3}
    url = "vaultfile::s3://bucket/t.parquet.vault"
    with fsspec.open(url, "wb", **options) as file:
        pq.write_table(table, file, row_group_size=50_000, compression="none")
    fs, path = fsspec.url_to_fs(url, **options)
    fetched = 0

    class Counting:
        """Counts what the file system below fetches."""

        def __init__(self, fs):
            self.fs = fs

        def __getattr__(self, name):
            return getattr(self.fs, name)

        def open(self, *arguments, **keywords):
            file = self.fs.open(*arguments, **keywords)
            original = file.cache.fetcher

            def fetch(start, end):
                nonlocal fetched
                fetched += end - start
                return original(start, end)

            file.cache.fetcher = fetch
            return file

    size = fs.fs.size(path)
    fs.fs = Counting(fs.fs)
    assert pq.read_table(path, filesystem=fs, columns=["a"]).equals(table.select(["a"]))
    assert 0 < fetched < size / 4
    assert pq.read_table(path, filesystem=fs).equals(table)


def test_pandas(tmp_path, key_file, table):
    pandas = pytest.importorskip("pandas")
    url = f"vaultfile::file://{tmp_path}/t.parquet.vault"
    options = {"vaultfile": {"keys": key_file}}
    frame = table.select(["a", "b", "c"]).to_pandas()
    frame.to_parquet(url, storage_options=options)
    pandas.testing.assert_frame_equal(pandas.read_parquet(url, storage_options=options), frame)
    with vaultfile.open(tmp_path / "t.csv.vault", "w", keys=key_file) as file:
        frame.to_csv(file, index=False)
    with vaultfile.open(tmp_path / "t.csv.vault", "r", keys=key_file) as file:
        assert list(pandas.read_csv(file)["a"]) == list(frame["a"])


def test_duckdb(tmp_path, s3, key_file, table):
    """DuckDB 2 calls seek and then read from several threads at one file."""
    duckdb = pytest.importorskip("duckdb")
    generator = random.Random(4)
    numbers = pa.table({f"c{column}": [generator.randrange(2**40) for _ in range(60_000)] for column in range(3)})
    for below, options, path in (
            ("file", {}, str(tmp_path / "t.parquet.vault")), ("s3", s3, "bucket/duck.parquet.vault")):
        fs = fsspec.filesystem("vaultfile", target_protocol=below, target_options=options, keys=key_file)
        with fs.open(path, "wb") as file:
            pq.write_table(numbers, file, row_group_size=5_000, compression="none", use_dictionary=False)
        for _ in range(5):
            connection = duckdb.connect()
            connection.register_filesystem(fs)
            (total,) = connection.execute(f"select sum(c1) from read_parquet('vaultfile://{path}')").fetchone()
            assert total == sum(numbers["c1"].to_pylist())


def test_zarr(tmp_path, key_file):
    zarr = pytest.importorskip("zarr")
    numpy = pytest.importorskip("numpy")
    fs = fsspec.filesystem(
        "vaultfile", target_protocol="file", target_options={"auto_mkdir": True}, keys=key_file)
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper

    store = zarr.storage.FsspecStore(
        AsyncFileSystemWrapper(fs, asynchronous=True), path=str(tmp_path / "z"), allowed_exceptions=(
            FileNotFoundError, NotADirectoryError, IsADirectoryError))
    values = numpy.arange(100_000).reshape(100, 1000)
    zarr.create_array(store=store, data=values, chunks=(10, 1000))
    again = zarr.open_array(store=store, mode="r")
    assert (again[15:25] == values[15:25]).all()
    for folder, _, names in os.walk(tmp_path / "z"):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                vaultfile.inspect(file)


def test_dask(tmp_path, key_file, table):
    dask = pytest.importorskip("dask.dataframe")
    options = {"vaultfile": {"keys": key_file}}
    for number in range(3):
        with fsspec.open(f"vaultfile::file://{tmp_path}/t{number}.parquet.vault", "wb", **options) as file:
            pq.write_table(table.slice(number * 10_000, 10_000).select(["a", "b"]), file)
    paths = [f"vaultfile::file://{tmp_path}/t{number}.parquet.vault" for number in range(3)]
    frame = dask.read_parquet(paths, storage_options=options)
    assert frame["a"].sum().compute(scheduler="threads") == sum(range(30_000))
