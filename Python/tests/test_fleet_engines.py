"""The programs in Examples/Fleet, each once with its engine on this machine."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

import vaultfile
from conftest import ROOT

pytest.importorskip("moto")
from s3_server import Server  # noqa: E402
from test_fleet import header_for, ids  # noqa: E402

FLEET = ROOT / "Examples/Fleet"
#: More than one task has.
COUNT = 120


@pytest.mark.parametrize("engine, package", [
    ("threads", "boto3"), ("dask", "distributed"), ("spark", "pyspark"), ("ray", "ray")])
def test_engine(engine, package, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    old, new = vaultfile.Key.generate(), vaultfile.Key.generate()
    old.save(tmp_path / "old.key")
    new.save(tmp_path / "new.key")
    server = Server()
    try:
        header = header_for(old)
        names = [f"h{number}" for number in range(COUNT)]
        for name in names:
            server.put(name, header)
        server.put("foreign", header_for(vaultfile.Key.generate()))
        (tmp_path / "names").write_text("".join(f"{name}\n" for name in [*names, "foreign", "none"]))

        results = tmp_path / "results"
        done = subprocess.run(
            [sys.executable, FLEET / f"with_{engine}.py", tmp_path / "names", "--bucket", "headers", "--endpoint",
             server.url, "--old", tmp_path / "old.key", "--new", tmp_path / "new.key", "--results", results],
            capture_output=True, text=True, cwd=tmp_path,
            env={**os.environ, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
                 "AWS_DEFAULT_REGION": "us-east-1", "PYSPARK_PYTHON": sys.executable})
        assert done.returncode == 1 and done.stdout, done.stderr
        assert sorted(json.loads(line)["name"] for line in results.read_text().splitlines()) == sorted(
            [*names, "foreign", "none"])
        sums = json.loads(done.stdout.splitlines()[-1])
        assert sums["outcomes"] == {"rotated": COUNT, "no key fits": 1, "missing": 1}
        assert sums["keys"][new.id] == COUNT
        assert all(ids(server.get(name)) == [new.id] for name in names)
    finally:
        server.stop()


def test_parallel(tmp_path):
    command = os.environ.get("VAULTFILE_BINARY")
    if not command or not shutil.which("parallel"):
        pytest.skip("it needs GNU parallel, and the command in VAULTFILE_BINARY")
    old, new = vaultfile.Key.generate(), vaultfile.Key.generate()
    old.save(tmp_path / "old.key")
    new.save(tmp_path / "new.key")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/vaultfile").symlink_to(command)
    names = [tmp_path / f"h{number}.hdr" for number in range(COUNT)]
    for name in names:
        name.write_bytes(header_for(old))
    (tmp_path / "names").write_text("".join(f"{name}\n" for name in names))
    for _ in range(2):
        done = subprocess.run(
            [FLEET / "with_parallel.sh", tmp_path / "names", tmp_path / "old.key", tmp_path / "new.key"],
            capture_output=True, text=True, env={
                **os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path)})
        assert done.returncode == 0, done.stderr
    assert all(ids(name.read_bytes()) == [new.id] for name in names)
