"""`vaultfile.fleet`: header files on a disk, in fsspec's memory, and on moto's S3 server."""

import json
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import vaultfile
from vaultfile import fleet

pytest.importorskip("moto")
pytest.importorskip("boto3")
fsspec = pytest.importorskip("fsspec")
from s3_server import Server  # noqa: E402

CAPACITY = 4096


def header_for(*keys):
    """A header copy alone is a header file."""
    return vaultfile.encrypt(b"x", keys, header_capacity=CAPACITY)[:CAPACITY]


def ids(header):
    return [slot["id"] for slot in vaultfile.inspect_header(header)["slots"]]


@pytest.fixture(scope="module")
def running():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def server(running):
    running.fail, running.done = (lambda method, path: None), (lambda method, path: False)
    for item in running.client.list_objects_v2(Bucket="headers").get("Contents", []):
        running.client.delete_object(Bucket="headers", Key=item["Key"])
    running.requests.clear()
    return running


@pytest.fixture
def keys(tmp_path):
    """An old and a new key, and the change from one to the other by key files."""
    old, new = vaultfile.Key.generate(), vaultfile.Key.generate()
    old.save(tmp_path / "old.key")
    new.save(tmp_path / "new.key")
    files = [vaultfile.KeyFile(tmp_path / name) for name in ("old.key", "new.key")]
    return old, new, fleet.Change(keys=files[0], add=files[1], remove=files[0])


@pytest.fixture
def s3(server):
    return fleet.S3Headers("headers", server.settings, attempts=3)


class Disk:
    """Puts header files on a disk, as `Server` does on its server."""

    def __init__(self, folder):
        self.folder = folder

    def put(self, name, header):
        (self.folder / name).write_bytes(header)

    def get(self, name):
        return (self.folder / name).read_bytes()


@pytest.fixture(params=["files", "s3", "s3fs", "memory"])
def store(request, tmp_path):
    """A store, what puts and gets its objects, and the prefix of their names in it."""
    if request.param == "files":
        return fleet.HeaderFiles(), Disk(tmp_path), f"{tmp_path}/"
    if request.param == "memory":
        made = fleet.FsspecHeaders("memory", sole_writer=True)
        made.fs.rm("/headers", recursive=True) if made.fs.exists("/headers") else None

        class Memory:
            put = staticmethod(lambda name, header: made.fs.pipe_file("/headers/" + name, header))
            get = staticmethod(lambda name: made.fs.cat_file("/headers/" + name))

        return made, Memory, "/headers/"
    server = request.getfixturevalue("server")
    if request.param == "s3":
        return request.getfixturevalue("s3"), server, ""
    pytest.importorskip("s3fs")
    options = {"endpoint_url": server.url, "key": "k", "secret": "s", "skip_instance_cache": True}
    return fleet.FsspecHeaders("s3", options), server, "headers/"


def test_every_outcome(store, keys):
    store, objects, prefix = store
    old, new, change = keys
    foreign = vaultfile.Key.generate()
    good = header_for(old)
    damaged = bytearray(good)
    damaged[100] ^= 1
    untouched = {
        "foreign": header_for(foreign),
        "damaged": bytes(damaged), "cut": good[:-1], "empty": b"", "large": bytes((1 << 20) + 1),
    }
    for name, header in {
        "a": good, "b": header_for(old, foreign), "current": header_for(new), **untouched,
    }.items():
        objects.put(name, header)
    names = ["a", "b", "current", "foreign", "damaged", "cut", "empty", "large", "missing"]
    wanted = ["rotated", "rotated", "current", "no key fits", "damaged", "damaged", "damaged", "damaged", "missing"]
    results = list(fleet.rotate([prefix + name for name in names], store, change))
    assert [result.outcome.value for result in results] == wanted
    assert results[0].before == (old.id,) and results[0].after == (new.id,)
    assert set(results[1].after) == {new.id, foreign.id} == set(ids(objects.get("b")))
    assert ids(objects.get("a")) == [new.id]
    assert all(bytes(objects.get(name)) == header for name, header in untouched.items())
    assert results[0].bytes_read == results[0].bytes_written == CAPACITY and results[2].bytes_written == 0
    before = [objects.get(name) for name in names[:3]]
    again = list(fleet.rotate([prefix + name for name in names], store, change))
    assert [result.outcome.value for result in again] == ["current"] * 3 + wanted[3:]
    assert [objects.get(name) for name in names[:3]] == before
    sums = fleet.count(results) + fleet.count(again)
    assert sums.outcomes["current"] == 4 and sums.outcomes["rotated"] == 2 and sums.keys[new.id] == 6
    assert sums.bytes_written == 2 * CAPACITY


def test_the_server_has_conditional_writes(server):
    """What the other tests stand on: the server refuses a PUT with the ETag of an older object."""
    server.put("a", b"1")
    etag = server.client.get_object(Bucket="headers", Key="a")["ETag"]
    server.put("a", b"2")
    with pytest.raises(server.client.exceptions.ClientError) as caught:
        server.client.put_object(Bucket="headers", Key="a", Body=b"3", IfMatch=etag)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 412 and server.get("a") == b"2"


def test_a_lost_race_keeps_the_other_header(store, keys):
    """Between the read and the write another writer adds a key: both changes are in the end."""
    store, objects, prefix = store
    if getattr(store, "_conditional", True) is False or isinstance(store, fleet.HeaderFiles):
        pytest.skip("it has no conditional write, or a lock instead")
    old, new, change = keys
    other = vaultfile.Key.generate()
    objects.put("a", header_for(old))
    replace, raced = type(store).replace, []

    class Raced(type(store)):
        def replace(self, *arguments):
            if not raced:
                raced.append(1)
                objects.put("a", vaultfile.rotate_header(objects.get("a"), old, add=other))
            return replace(self, *arguments)

    object.__setattr__(store, "__class__", Raced)
    (result,) = fleet.rotate([prefix + "a"], store, change)
    assert result.outcome is fleet.Outcome.ROTATED and result.tries == 2
    assert set(ids(objects.get("a"))) == set(result.after) == {other.id, new.id}


def test_the_tries_are_bounded(server, s3, keys):
    old, new, change = keys
    server.put("a", header_for(old))
    server.fail = lambda method, path: 412 if method == "PUT" else None
    (result,) = fleet.rotate(["a"], s3, change, tries=3)
    assert result.outcome is fleet.Outcome.CONFLICT and result.tries == 3 and result.requests == 6
    assert server.requests["PUT"] == 4 and ids(server.get("a")) == [old.id]


def test_two_rotators_at_once(server, s3, keys, tmp_path):
    """Each adds a key of its own to the same objects. No key is lost."""
    old, _, _ = keys
    names = [f"h{number}" for number in range(12)]
    for name in names:
        server.put(name, header_for(old))
    added = [vaultfile.Key.generate() for _ in range(3)]
    found = [[] for _ in added]
    barrier = threading.Barrier(len(added))

    def work(place):
        barrier.wait()
        found[place] = list(fleet.rotate(names, s3, fleet.Change(keys=old, add=added[place]), tries=50))

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(added))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(result.outcome is fleet.Outcome.ROTATED for results in found for result in results)
    assert sum(len(results) for results in found) == 36
    for name in names:
        assert set(ids(server.get(name))) == {old.id, *(key.id for key in added)}


def test_throttling_is_tried_again_and_then_a_failure(server, s3, keys):
    old, new, change = keys
    for name in ("a", "b"):
        server.put(name, header_for(old))
    slow = [1]
    server.fail = lambda method, path: 503 if path.endswith("a") and slow and (slow.pop() or True) else None
    (result,) = fleet.rotate(["a"], s3, change)
    assert result.outcome is fleet.Outcome.ROTATED and result.requests == 3
    server.fail = lambda method, path: 503 if method == "PUT" else None
    (result,) = fleet.rotate(["b"], s3, change)
    assert result.outcome is fleet.Outcome.FAILED and "SlowDown" in result.error and result.requests == 4
    assert ids(server.get("b")) == [old.id]


def test_a_write_whose_answer_is_lost(server, s3, keys):
    """The client repeats it, and the store refuses the repetition. That is no lost race."""
    old, new, change = keys
    server.put("a", header_for(old))
    lost = [1]
    server.done = lambda method, path: method == "PUT" and bool(lost and lost.pop())
    (result,) = fleet.rotate(["a"], s3, change)
    assert result.outcome is fleet.Outcome.ROTATED and result.after == (new.id,) and result.tries == 2
    assert server.requests["PUT"] == 3 and vaultfile.inspect_header(server.get("a"))["generation"] == 2


def test_what_an_object_has_beside_its_bytes_stays(server, s3, keys):
    old, _, change = keys
    server.client.put_object(
        Bucket="headers", Key="a", Body=header_for(old), Metadata={"body": "x"}, ContentType="a/b",
        StorageClass="STANDARD_IA")
    (result,) = fleet.rotate(["a"], s3, change)
    found = server.client.get_object(Bucket="headers", Key="a")
    assert result.outcome is fleet.Outcome.ROTATED and found["Metadata"] == {"body": "x"}
    assert found["ContentType"] == "a/b" and found["StorageClass"] == "STANDARD_IA"


def test_an_interruption_and_the_log(server, s3, keys, tmp_path):
    old, new, change = keys
    names = [f"h{number}" for number in range(8)]
    for name in names:
        server.put(name, header_for(old))

    def interrupt(method, path):
        if method == "PUT" and path.endswith("h5"):
            raise KeyboardInterrupt
        return False

    class Interrupted(fleet.S3Headers):
        def replace(self, name, *arguments):
            super().replace(name, *arguments)
            interrupt("PUT", name)

    with fleet.Log(tmp_path / "log", "2026") as log, pytest.raises(KeyboardInterrupt):
        list(fleet.rotate(names, Interrupted("headers", server.settings), change, log=log))
    assert len(log.done) == 5
    # The process died in the middle of a line.
    with open(tmp_path / "log", "a") as file:
        file.write('{"name": "h5", "outc')
    server.requests.clear()
    with fleet.Log(tmp_path / "log", "2026") as log:
        results = list(fleet.rotate(names, s3, change, log=log))
        assert [(result.name, result.outcome.value) for result in results] == [
            ("h5", "current"), ("h6", "rotated"), ("h7", "rotated")]
    assert server.requests == {"GET": 3, "PUT": 2}
    lines = (tmp_path / "log").read_text().splitlines()
    assert len(lines) == 9 and all(json.loads(line) for line in lines)
    assert all(ids(server.get(name)) == [new.id] for name in names)
    with pytest.raises(ValueError, match="not the log"):
        fleet.Log(tmp_path / "log", "2027")
    for text in ["a name without an end", "one\ntwo\nthr"]:
        (tmp_path / "names").write_text(text)
        with pytest.raises(ValueError, match="not the log"):
            fleet.Log(tmp_path / "names", "2026")
        assert (tmp_path / "names").read_text() == text
    (tmp_path / "torn").write_text('{"run": "20')
    with fleet.Log(tmp_path / "torn", "2026") as log:
        assert not log.done


def test_a_file_keeps_what_it_has(tmp_path, keys):
    """The library replaces it; its own tests interrupt it at every step."""
    old, new, change = keys
    path = tmp_path / "a.hdr"
    path.write_bytes(header_for(old))
    path.chmod(0o640)
    (result,) = fleet.rotate([str(path)], fleet.HeaderFiles(), change)
    assert result.outcome is fleet.Outcome.ROTATED and path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["a.hdr", "new.key", "old.key"]
    os.link(path, tmp_path / "b.hdr")
    (result,) = fleet.rotate([str(path)], fleet.HeaderFiles(), fleet.Change(keys=new, add=old))
    assert result.outcome is fleet.Outcome.FAILED and "hardLinks" in result.error


def test_two_rotators_of_a_file(tmp_path, keys):
    """The lock is taken for one of them at a time: no change is lost."""
    old, _, _ = keys
    path = tmp_path / "a.hdr"
    path.write_bytes(header_for(old))
    added = [vaultfile.Key.generate() for _ in range(6)]

    def work(some):
        for key in some:
            (result,) = fleet.rotate([str(path)], fleet.HeaderFiles(), fleet.Change(keys=old, add=key), tries=50)
            assert result.outcome is fleet.Outcome.ROTATED

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, (added[:3], added[3:])))
    assert set(ids(path.read_bytes())) == {old.id, *(key.id for key in added)}


@pytest.mark.parametrize("kind", [fleet.HeaderFiles, fleet.Containers])
def test_a_key_file_that_goes_is_no_missing_object(tmp_path, keys, kind):
    old, _, change = keys
    names = [str(tmp_path / name) for name in ("a", "b")]
    for name in names:
        with open(name, "wb") as file:
            file.write(header_for(old) if kind is fleet.HeaderFiles else vaultfile.encrypt(b"x", old))
    results = fleet.rotate(names, kind(), change)
    assert next(results).outcome is fleet.Outcome.ROTATED
    os.unlink(change.keys.path)
    with pytest.raises(FileNotFoundError):
        next(results)


def test_a_locked_file_is_a_conflict(tmp_path, keys):
    import fcntl

    old, _, change = keys
    path = tmp_path / "a.hdr"
    path.write_bytes(header_for(old))
    with open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (result,) = fleet.rotate([str(path)], fleet.HeaderFiles(), change, tries=2)
    assert result.outcome is fleet.Outcome.CONFLICT and ids(path.read_bytes()) == [old.id]


def test_containers_in_place(tmp_path, keys, plaintext):
    old, new, change = keys
    (tmp_path / "a").write_bytes(vaultfile.encrypt(plaintext, old))
    (tmp_path / "f").write_bytes(vaultfile.encrypt(b"f", vaultfile.Key.generate()))
    (tmp_path / "d").write_bytes(b"no container" * 1000)
    names = [str(tmp_path / name) for name in ("a", "f", "d", "missing")]
    for first in ("rotated", "current"):
        results = list(fleet.rotate(names, fleet.Containers(), change))
        assert [result.outcome.value for result in results] == [first, "no key fits", "damaged", "missing"]
        assert results[0].after == (new.id,)
    assert vaultfile.decrypt((tmp_path / "a").read_bytes(), new) == plaintext


def test_keys_are_not_pickled(keys, tmp_path):
    old, new, change = keys
    assert pickle.loads(pickle.dumps(change)).keys.path == change.keys.path
    with pytest.raises(TypeError):
        pickle.dumps(fleet.Change(keys=old))
    calls = []

    def fetch():
        calls.append(1)
        return [old]

    for name in ("a", "b"):
        (tmp_path / name).write_bytes(header_for(old))
    names = [str(tmp_path / name) for name in ("a", "b")]
    results = list(fleet.rotate(names, fleet.HeaderFiles(), fleet.Change(keys=fetch, add=lambda: new)))
    assert calls == [1] and [len(result.after) for result in results] == [2, 2]
    with pytest.raises(FileNotFoundError):
        list(fleet.rotate(names, fleet.HeaderFiles(), fleet.Change(keys=vaultfile.KeyFile(tmp_path / "none"))))
    with pytest.raises(TypeError):
        list(fleet.rotate(names, fleet.HeaderFiles(), fleet.Change(keys=old, options={"nonsense": 1})))


def test_file_systems_without_conditional_writes_are_refused():
    with pytest.raises(ValueError, match="sole_writer"):
        fleet.FsspecHeaders("memory")
    with pytest.raises(ValueError, match="HeaderFiles"):
        fleet.FsspecHeaders("file", sole_writer=True)


def test_arguments_that_are_mistaken(tmp_path, key):
    change = fleet.Change(key, add=key)
    for names, store in (("h0.hdr", fleet.HeaderFiles()), (["h0.hdr"], fleet.HeaderFiles), (["h0.hdr"], change)):
        with pytest.raises(TypeError):
            list(fleet.rotate(names, store, change))
    with pytest.raises(TypeError):
        list(fleet.rotate(["h0.hdr"], change, fleet.HeaderFiles()))
