"""The runs: every verb, on fresh files for each run, and what must hold afterwards."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field

PLAIN = b"".join(b"line %06d of the plaintext\n" % number for number in range(5000))
TINY = PLAIN[:3000]
# What an editor makes of PLAIN.
EDITED = PLAIN + b"one more line of the plaintext\n"
KEYRING = "ring.vault"
# No message may hold this text.
MARK = "of the plaintext"


@dataclass(frozen=True)
class Scene:
    name: str
    words: str
    # The outputs that must be right if the status is 0: maps each name to its kind.
    outputs: dict = field(default_factory=dict)
    # A file that the run reads through a pipe.
    stdin: str = None
    # The kind of standard output: "plain", of which only a beginning may ever be there, or "container".
    stdout: str = None
    # The container that the run changes in place, which "key" always opens; the keys that open it after the change, and
    # the keys that must not; its contents after the change, if they are others.
    place: str = None
    opened_by: tuple = ()
    refused: tuple = ()
    becomes: bytes = None
    # The file that the run removes at last: without it the work is done, and there is no second run.
    until: str = None
    # The states of the keyring's keys after the change. Before, they are those of KEYS.
    keyring: dict = None
    # A key that also opens the keyring after the change.
    unlocked_by: str = None
    # The files that the run removes if the status is 0. The output of each is the one with its name and ".vault", or
    # else all outputs.
    removes: tuple = ()
    # A run before, without faults, that unlocks the keyring; and whether the keyring is unlocked after the run.
    first: str = None
    is_unlocked: bool = None
    # The run starts other programs, whose calls do not fail.
    has_children: bool = False
    # The status without faults.
    status: int = 0
    # Further statuses that are allowed, beside those for errors of the system.
    also: tuple = ()
    # Variables and their values; {} is the folder of the run.
    environment: tuple = ()

    def variables(self, folder):
        """The environment of the run, beside the general one."""
        own = {name: value.format(folder) for name, value in self.environment}
        return {**(RING if "--unlock" in self.words else {}), **own}


KEY = "--jobs 1 --key-file key"
# The keyring's keys at the beginning. A key that the run made is called "made".
KEYS = {"one": "retired", "two": "current"}
# The container that only this key of the keyring opens, and its contents.
BY_KEY = {"one": ("one.vault", TINY), "two": ("two.vault", TINY), "three": ("c.vault", PLAIN)}
# The plaintexts, by their names in a trace.
PLAINTEXTS = {"plain", "1", "2", "new", "changed", "standard input"}
# The contents of a container, if they are not PLAIN.
CONTENTS = {"tiny.vault": TINY}

# The changes of a container's slots.
EXCHANGED = {"opened_by": ("new-key",), "refused": ("other",)}
ADDED = {"opened_by": ("new-key", "other")}


def exchange(verb, name):
    return f"{verb} {KEY} --add file:new-key --remove file:other {name}"


# The environment that names the keyring.
RING = {"VAULTFILE_KEYRING": KEYRING}

SCENES = [
    Scene("encrypt", f"encrypt {KEY} -o out.vault plain", {"out.vault": "container"}),
    Scene("encrypt, replacing", f"encrypt -f {KEY} -o old.vault plain", {"old.vault": "container"}),
    Scene("encrypt onto itself", f"encrypt -f {KEY} -o plain plain", status=73),
    Scene("encrypt onto the key", f"encrypt -f {KEY} -o key plain", status=73),
    Scene("encrypt a pipe", f"encrypt {KEY} -o out.vault", {"out.vault": "container"}, stdin="plain"),
    Scene("encrypt to a pipe", f"encrypt {KEY} -o - plain", stdout="container"),
    Scene("encrypt, packed", f"encrypt {KEY} --compress deflate --digest -o out.vault plain",
          {"out.vault": "container"}),
    Scene("encrypt, 2 threads", "encrypt --jobs 2 --key-file key --chunk-size 4K -o out.vault plain",
          {"out.vault": "container"}),
    Scene("encrypt and remove", f"encrypt {KEY} --remove-source plain", {"plain.vault": "container"},
          removes=("plain",)),
    Scene("encrypt and remove, after an interrupted run", f"encrypt {KEY} --remove-source half", removes=("half",)),
    Scene("encrypt a folder and remove", f"encrypt {KEY} --recursive --remove-source d",
          {"d/1.vault": "container", "d/2.vault": "container"}, removes=("d/1", "d/2")),
    Scene("encrypt what is new", f"encrypt {KEY} --recursive --update u",
          {"u/new.vault": "container", "u/changed.vault": "container"}),
    Scene("encrypt a folder", f"encrypt {KEY} --recursive d", {"d/1.vault": "container", "d/2.vault": "container"}),
    Scene("encrypt for the keyring", "encrypt --jobs 1 --unlock file:key -o out.vault plain",
          {"out.vault": "container of the keyring"}),
    Scene("encrypt for a recipient", "encrypt --jobs 1 -R friends -o out.vault plain",
          {"out.vault": "container of the identity"}),
    Scene("encrypt for a post-quantum recipient", "encrypt --jobs 1 -R post-quantum-friends -o out.vault plain",
          {"out.vault": "container of the post-quantum identity"}),
    Scene("decrypt", f"decrypt {KEY} -o out c.vault", {"out": "plain"}),
    Scene("decrypt, an identity", "decrypt --jobs 1 -i identity -o out shared.vault", {"out": "plain"}),
    Scene("decrypt, replacing", f"decrypt -f {KEY} -o old c.vault", {"old": "plain"}),
    Scene("decrypt a pipe", f"decrypt {KEY} -o out", {"out": "plain"}, stdin="c.vault"),
    Scene("decrypt to a pipe", f"decrypt {KEY} -o - c.vault", stdout="plain"),
    Scene("decrypt, packed", f"decrypt {KEY} -o out packed.vault", {"out": "plain"}),
    Scene("decrypt, 2 threads", "decrypt --jobs 2 --key-file key -o out small.vault", {"out": "plain"}),
    Scene("decrypt to the stored name", f"decrypt {KEY} --restore-name -o fresh/ c.vault", {"fresh/plain": "plain"}),
    Scene("decrypt a range", f"decrypt {KEY} --offset 70000 --length 10 -o out c.vault", {"out": "range"}),
    Scene("decrypt and remove", f"decrypt {KEY} --remove-source -o out c.vault", {"out": "plain"},
          removes=("c.vault",)),
    Scene("cat", f"cat {KEY} c.vault", stdout="plain"),
    Scene("cat, packed", f"cat {KEY} packed.vault", stdout="plain"),
    Scene("ls", "ls --jobs 1 c.vault tiny.vault packed.vault"),
    Scene("ls a folder", "ls --jobs 1 --recursive e"),
    Scene("ls with the keyring", "ls --jobs 1 --unlock file:key one.vault two.vault"),
    Scene("verify", f"verify {KEY} c.vault"),
    Scene("verify, quick", f"verify --quick {KEY} c.vault"),
    Scene("verify, interrupted rotation", f"verify {KEY} unfinished.vault", status=65),
    Scene("verify a folder", f"verify {KEY} --recursive e"),
    Scene("inspect", "inspect c.vault"),
    Scene("inspect with a key", "inspect --key-file key c.vault"),
    Scene("rotate", exchange("rotate", "c.vault"), place="c.vault", **EXCHANGED),
    Scene("rotate, an interrupted rotation", exchange("rotate", "unfinished.vault"), place="unfinished.vault",
          **EXCHANGED),
    Scene("rotate, a torn front", exchange("rotate", "front-torn.vault"), place="front-torn.vault", **EXCHANGED),
    Scene("rotate, a torn tail", exchange("rotate", "tail-torn.vault"), place="tail-torn.vault", **EXCHANGED),
    Scene("rotate, a new file", f"rotate {KEY} --add file:new-key tiny.vault", place="tiny.vault", **ADDED),
    Scene("rotate, a new file of three records", f"rotate {KEY} --add file:new-key full.vault", place="full.vault",
          **ADDED),
    Scene("rotate, a recipient comes", f"rotate {KEY} --add recipients-file:friends --remove file:other c.vault",
          place="c.vault", opened_by=("identity",), refused=("other",)),
    Scene("rotate, a recipient goes", f"rotate {KEY} --remove recipients-file:friends shared.vault",
          place="shared.vault", refused=("identity",)),
    Scene("rotate a header file", exchange("rotate", "apart.hdr"), place="apart.hdr", **EXCHANGED),
    Scene("detach", "detach --key-file key --header c.hdr c.vault", {"c.hdr": "header file"}, place="c.vault",
          opened_by=("other",)),
    Scene("attach", "attach --key-file key --header apart.hdr apart.vault", place="apart.vault",
          opened_by=("other",), removes=("apart.hdr",), until="apart.hdr"),
    Scene("encrypt with a header file", f"encrypt {KEY} --header out.hdr -o out.vault plain",
          {"out.vault": "container", "out.hdr": "header file"}),
    Scene("reencrypt", exchange("reencrypt", "c.vault"), place="c.vault", **EXCHANGED),
    Scene("reencrypt, an interrupted rotation", exchange("reencrypt", "unfinished.vault"), place="unfinished.vault",
          **EXCHANGED),
    Scene("edit", "edit --key-file key --allow-disk --remove others notes.vault", place="notes.vault",
          refused=("other",), becomes=EDITED, has_children=True,
          environment=(("XDG_RUNTIME_DIR", "{}/work"), ("EDITOR", "cp edited"))),
    Scene("repair", f"repair {KEY} unfinished.vault", place="unfinished.vault", **EXCHANGED),
    Scene("repair a torn front", f"repair {KEY} front-torn.vault", place="front-torn.vault", **EXCHANGED),
    Scene("repair a torn tail", f"repair {KEY} tail-torn.vault", place="tail-torn.vault", opened_by=("other",),
          refused=("new-key",)),
    Scene("repair the end", f"repair {KEY} no-footer.vault", place="no-footer.vault", opened_by=("other",)),
    Scene("recover, nothing lost", f"recover {KEY} -o out c.vault", {"out": "plain"}, also=(65,)),
    Scene("recover", f"recover {KEY} -o out damaged.vault", {"out": "recovered"}, status=65, also=(65,)),
    Scene("key generate", "key generate -o made", {"made": "key"}),
    Scene("key generate, keyring", "key generate --unlock file:key",
          keyring={"one": "retired", "two": "retired", "made": "current"}),
    Scene("key show", "key show --key-file key"),
    Scene("key list", "key list --unlock file:key"),
    Scene("key use", "key use one --unlock file:key", keyring={"one": "current", "two": "retired"}),
    Scene("key retire", "key retire two --unlock file:key", keyring={"one": "retired", "two": "retired"}),
    Scene("key destroy", "key destroy one --yes --unlock file:key", keyring={"one": "destroyed", "two": "current"}),
    Scene("key import", "key import other --name three --unlock file:key", keyring={**KEYS, "three": "retired"}),
    Scene("key import, a recipient", "key import --name alice --unlock file:key -r "
          "age1guqappygg504gkjqn76c4cl9skqu5s9v8al3z35ce4caatrnegqsayk6a2", keyring={**KEYS, "made": "recipient"}),
    Scene("key export", "key export one -o made --unlock file:key", {"made": "exported key"}),
    Scene("key passphrase", "key passphrase --add file:new-key --unlock file:key", keyring=KEYS, unlocked_by="new-key"),
    Scene("key backup", "key backup --unlock file:key bk",
          {"bk/keyring.vault": "keyring", "bk/keyring.vault.key": "keyring"}),
    Scene("key backup, replacing", "key backup --unlock file:key old-bk", {"old-bk/keyring.vault": "keyring"}),
    Scene("key restore", "key restore --unlock file:key saved", {"lost.vault": "keyring", "lost.vault.key": "keyring"},
          environment=(("VAULTFILE_KEYRING", "lost.vault"),)),
    Scene("key unlock", "key unlock --unlock file:key", is_unlocked=True),
    Scene("key lock", "key lock", first="key unlock --unlock file:key", is_unlocked=False,
          environment=(("VAULTFILE_KEYRING", KEYRING),)),
    Scene("key list, unlocked", "key list", first="key unlock --unlock file:key", is_unlocked=True,
          environment=(("VAULTFILE_KEYRING", KEYRING),)),
]


def prepare(vaultfile, folder):
    """Makes the files for every run."""
    def call(*words, status=0):
        done = subprocess.run(
            [vaultfile, *words], cwd=folder, capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": folder, **RING})
        assert done.returncode == status, (words, done)
        return done.stdout

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
    write("edited", EDITED)
    for name in ("d", "fresh", "work", "u", "bk", "old-bk", "saved"):
        os.mkdir(os.path.join(folder, name))
    for name in ("d/1", "d/2"):
        write(name, PLAIN)
    for name in ("key", "other", "new-key", "third", "fourth"):
        call("key", "generate", "-o", name)
    for name, more in {"identity": ("--x25519",), "post-quantum-identity": ()}.items():
        made = json.loads(call("key", "generate", "--recipient", *more, "--json", "-o", name))
        write(name.replace("identity", "friends"), made["recipient"].encode() + b"\n")
    both = ("--key-file", "key", "--key-file", "other")
    call("encrypt", *both, "-o", "c.vault", "plain")
    call("encrypt", *both, "-o", "notes.vault", "plain")
    call("encrypt", *both, "--header", "apart.hdr", "-o", "apart.vault", "plain")
    call("encrypt", "--key-file", "key", "-R", "friends", "-o", "shared.vault", "plain")
    call("encrypt", "--key-file", "key", "--chunk-size", "4K", "-o", "small.vault", "plain")
    call("encrypt", "--key-file", "key", "--compress", "deflate", "--digest", "-o", "packed.vault", "plain")
    # A file whose container an interrupted run has made, and a folder of which one file is new and one has changed.
    write("half", PLAIN)
    for name, contents in {"u/same": PLAIN, "u/changed": TINY}.items():
        write(name, contents)
        os.utime(os.path.join(folder, name), (1_600_000_000, 1_600_000_000))
    call("encrypt", "--key-file", "key", "half", "u/same", "u/changed")
    write("u/changed", PLAIN)
    write("u/new", PLAIN)
    # As many slots as fit.
    full = (*both, "--key-file", "third", "--key-file", "fourth")
    call("encrypt", *full, "--header-capacity", "512", "-o", "tiny.vault", "tiny")
    os.mkdir(os.path.join(folder, "many"))
    for number in range(39):
        call("key", "generate", "-o", f"many/{number}")
        full += ("--key-file", f"many/{number}")
    call("encrypt", *full, "--header-capacity", "4096", "-o", "full.vault", "plain")
    shutil.rmtree(os.path.join(folder, "many"))
    before = read("c.vault")
    # A container without the suffix: only its contents show that it is one.
    os.mkdir(os.path.join(folder, "e"))
    write("e/container", before)
    write("unfinished.vault", before)
    call("rotate", "--key-file", "key", "--add", "file:new-key", "--remove", "file:other", "unfinished.vault")
    after = read("unfinished.vault")
    # An interrupted rotation: the old front, then the rest of the rotated file.
    write("unfinished.vault", before[:4096] + after[4096:])
    # Rotations that were interrupted while they wrote a copy: one new sector, and the rest is old.
    write("front-torn.vault", after[:512] + before[512:4096] + after[4096:])
    tail = len(before) - 32 - 4096
    write("tail-torn.vault", before[:tail] + after[tail:tail + 512] + before[tail + 512:])
    write("no-footer.vault", before[:-32] + bytes(32))
    middle = 4096 + 65_556 + 5
    write("damaged.vault", before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1:])
    for name in KEYS:
        call("key", "generate", "--name", name, "--unlock", "file:key")
        call("encrypt", "--key", name, "--unlock", "file:key", "-o", BY_KEY[name][0], "tiny")
        # The first backup lacks the second key.
        call("key", "backup", "--unlock", "file:key", "old-bk" if name == "one" else "saved")


def recovered():
    return PLAIN[:65_536] + bytes(65_536) + PLAIN[131_072:]
