import pathlib
import random
import sys

import pytest

import vaultfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Python" / "tests"))

#: The least cost that the format allows: tests stretch a passphrase often.
CHEAP = {"passes": 2, "memory_kib": 19456}


@pytest.fixture
def key():
    return vaultfile.Key.generate()


@pytest.fixture
def plaintext():
    return random.Random(1).randbytes(1_000_003)


@pytest.fixture
def path(tmp_path, key, plaintext):
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(plaintext)
    return path
