"""What is run: every verb, on files that are made anew for each run, and what must hold afterwards."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field

PLAIN = b"".join(b"line %06d of the plaintext\n" % number for number in range(5000))
TINY = PLAIN[:3000]
KEYRING = "ring.vault"
# Stays out of every message.
MARK = "of the plaintext"


@dataclass(frozen=True)
class Scene:
    name: str
    words: str
    # What must be there, and right, where the status is 0: a name, and what makes it right.
    outputs: dict = field(default_factory=dict)
    # A file that comes through a pipe.
    stdin: str = None
    # What standard output may hold: nothing but the beginning of this.
    stdout: str = None
    # The container that is changed in its place, and the keys one of which opens it then.
    place: str = None
    # The keyring is the old one or the new one, and opens.
    keyring: bool = False
    # Removed where the status is 0.
    removes: tuple = ()
    # With nothing failing.
    status: int = 0
    # Statuses besides those that an error of the system may give.
    also: tuple = ()
    environment: tuple = ()


KEY = "--jobs 1 --key-file key"

SCENES = [
    Scene("encrypt", f"encrypt {KEY} -o out.vault plain", {"out.vault": "container"}),
    Scene("encrypt, replacing", f"encrypt -f {KEY} -o old.vault plain", {"old.vault": "container"}),
    Scene("encrypt onto itself", f"encrypt -f {KEY} -o plain plain", status=73),
    Scene("encrypt onto the key", f"encrypt -f {KEY} -o key plain", status=73),
    Scene("encrypt a pipe", f"encrypt {KEY} -o out.vault", {"out.vault": "container"}, stdin="plain"),
    Scene("encrypt to a pipe", f"encrypt {KEY} -o - plain", stdout="container"),
    Scene("encrypt, packed", f"encrypt {KEY} --compress deflate --digest -o out.vault plain", {"out.vault": "container"}),
    Scene("encrypt, 2 threads", "encrypt --jobs 2 --key-file key --chunk-size 4K -o out.vault plain",
          {"out.vault": "container"}),
    Scene("encrypt and remove", f"encrypt {KEY} --remove-source plain", {"plain.vault": "container"}, removes=("plain",)),
    Scene("encrypt a folder", f"encrypt {KEY} --recursive d", {"d/1.vault": "container", "d/2.vault": "container"}),
    Scene("encrypt for the keyring", "encrypt --jobs 1 --unlock file:key -o out.vault plain",
          {"out.vault": "container"}),
    Scene("decrypt", f"decrypt {KEY} -o out c.vault", {"out": "plain"}),
    Scene("decrypt, replacing", f"decrypt -f {KEY} -o old c.vault", {"old": "plain"}),
    Scene("decrypt a pipe", f"decrypt {KEY} -o out", {"out": "plain"}, stdin="c.vault"),
    Scene("decrypt to a pipe", f"decrypt {KEY} -o - c.vault", stdout="plain"),
    Scene("decrypt, packed", f"decrypt {KEY} -o out packed.vault", {"out": "plain"}),
    Scene("decrypt, 2 threads", "decrypt --jobs 2 --key-file key -o out small.vault", {"out": "plain"}),
    Scene("decrypt to the stored name", f"decrypt {KEY} --restore-name -o fresh/ c.vault", {"fresh/plain": "plain"}),
    Scene("decrypt a range", f"decrypt {KEY} --offset 70000 --length 10 -o out c.vault", {"out": "range"}),
    Scene("decrypt and remove", f"decrypt {KEY} --remove-source -o out c.vault", {"out": "plain"}, removes=("c.vault",)),
    Scene("verify", f"verify {KEY} c.vault"),
    Scene("verify, quick", f"verify --quick {KEY} c.vault"),
    Scene("verify, interrupted rotation", f"verify {KEY} unfinished.vault", status=65),
    Scene("verify a folder", f"verify {KEY} --recursive e"),
    Scene("inspect", "inspect c.vault"),
    Scene("inspect with a key", "inspect --key-file key c.vault"),
    Scene("rotate", f"rotate {KEY} --add file:new-key --remove file:other c.vault", place="c.vault"),
    Scene("rotate, a new file", f"rotate {KEY} --add file:new-key tiny.vault", place="tiny.vault"),
    Scene("reencrypt", f"reencrypt {KEY} --add file:new-key --remove file:other c.vault", place="c.vault"),
    Scene("repair", f"repair {KEY} unfinished.vault", place="unfinished.vault"),
    Scene("repair the end", f"repair {KEY} no-footer.vault", place="no-footer.vault"),
    Scene("recover, nothing lost", f"recover {KEY} -o out c.vault", {"out": "plain"}, also=(65,)),
    Scene("recover", f"recover {KEY} -o out damaged.vault", {"out": "recovered"}, status=65, also=(65,)),
    Scene("key generate", "key generate -o made", {"made": "key"}),
    Scene("key generate, keyring", f"key generate --unlock file:key", keyring=True),
    Scene("key show", "key show --key-file key"),
    Scene("key list", "key list --unlock file:key"),
    Scene("key use", "key use one --unlock file:key", keyring=True),
    Scene("key retire", "key retire two --unlock file:key", keyring=True),
    Scene("key destroy", "key destroy one --yes --unlock file:key", keyring=True),
    Scene("key import", "key import other --name three --unlock file:key", keyring=True),
    Scene("key export", "key export one -o made --unlock file:key", {"made": "key"}),
    Scene("key passphrase", "key passphrase --add file:new-key --unlock file:key", keyring=True),
]
# Those that read the keyring find it by the environment.
RING = {"VAULTFILE_KEYRING": KEYRING}


def prepare(vaultfile, folder):
    """Makes the files that every run begins with."""
    def call(*words, status=0):
        done = subprocess.run(
            [vaultfile, *words], cwd=folder, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": folder, **RING})
        assert done.returncode == status, (words, done)

    def write(name, contents):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(contents)

    def read(name):
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()

    write("plain", PLAIN)
    write("tiny", TINY)
    write("old", b"what stood there\n")
    write("old.vault", b"what stood there\n")
    os.mkdir(os.path.join(folder, "d"))
    os.mkdir(os.path.join(folder, "fresh"))
    for name in ("d/1", "d/2"):
        write(name, PLAIN)
    for name in ("key", "other", "new-key", "third", "fourth"):
        call("key", "generate", "-o", name)
    both = ("--key-file", "key", "--key-file", "other")
    call("encrypt", *both, "-o", "c.vault", "plain")
    call("encrypt", "--key-file", "key", "--chunk-size", "4K", "-o", "small.vault", "plain")
    call("encrypt", "--key-file", "key", "--compress", "deflate", "--digest", "-o", "packed.vault", "plain")
    # As many slots as fit.
    full = (*both, "--key-file", "third", "--key-file", "fourth")
    call("encrypt", *full, "--header-capacity", "512", "-o", "tiny.vault", "tiny")
    before = read("c.vault")
    # Only its contents say what it is.
    os.mkdir(os.path.join(folder, "e"))
    write("e/container", before)
    write("unfinished.vault", before)
    call("rotate", "--key-file", "key", "--add", "file:new-key", "--remove", "file:other", "unfinished.vault")
    after = read("unfinished.vault")
    # A rotation that was stopped: the old front before the rest of the rotated file.
    write("unfinished.vault", before[:4096] + after[4096:])
    write("no-footer.vault", before[:-32] + bytes(32))
    middle = 4096 + 65_556 + 5
    write("damaged.vault", before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1:])
    call("key", "generate", "--name", "one", "--unlock", "file:key")
    call("key", "generate", "--name", "two", "--unlock", "file:key")


def recovered():
    return PLAIN[:65_536] + bytes(65_536) + PLAIN[131_072:]
