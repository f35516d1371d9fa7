#!/usr/bin/env python3
"""Runs the recipes of Documentation/Unlocking.md, Mount.md and Scenarios.md as they are printed there.

A block of a page after `<!-- recipe: NAME -->` belongs to the recipe NAME. Tests/recipes/NAME.sh makes what a user has
before the recipe, runs the blocks as "$RECIPE/1", "$RECIPE/2" …, and checks the result. It has a terminal, on which this
program types the passphrase and the PIN; "$RECIPE/answered" holds how often. In the blocks, /home/me and /usr/local/bin become folders of the test.

usage: run.py BINARY [NAME ...]
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "Documentation" / name for name in ("Unlocking.md", "Mount.md", "Scenarios.md")]
BLOCK = re.compile(r"<!-- recipe: (\S+) -->\n```\w+\n(.*?)```", re.S)
PASSPHRASE = "correct horse battery staple"
ANSWERS = {"Passphrase for the keyring: ": PASSPHRASE, "PIN: ": "1234"}
LONGEST = 60
# The programs of the examples.
EXAMPLES = ROOT / ".build" / "clients" / "debug"


def recipes():
    """The blocks of each recipe, in the order of its page."""
    found = {}
    for page in PAGES:
        for name, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(text)
    return found


def prepare(folder, binary, blocks):
    """Makes a home with a keyring, and the blocks. Returns the environment."""
    home, programs, runtime = folder / "home", folder / "bin", folder / "run"
    for each in (home, programs, runtime, folder / "recipe"):
        each.mkdir(mode=0o700)
    (programs / "vaultfile").symlink_to(binary)
    for number, text in enumerate(blocks, 1):
        text = text.replace("/home/me", str(home)).replace("/usr/local/bin", str(programs))
        (folder / "recipe" / str(number)).write_text(text)
    environment = {
        "HOME": str(home), "PATH": f"{programs}:{EXAMPLES}:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C.UTF-8", "TERM": "dumb",
        "XDG_RUNTIME_DIR": str(runtime), "RECIPE": str(folder / "recipe"),
    }
    (folder / "passphrase").write_text(PASSPHRASE)
    (folder / "passphrase").chmod(0o600)
    subprocess.run(
        ["vaultfile", "key", "generate", "--name", "work", "--unlock", f"passphrase-file:{folder / 'passphrase'}"],
        env=environment, check=True, stdout=subprocess.DEVNULL)
    return environment


def run(script, environment):
    """Runs a script on a terminal, and answers its questions. Returns its status and what it wrote."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(environment["HOME"])
        os.execve("/bin/bash", ["bash", "-eu", str(script)], environment)
    output, answered, count, end = b"", 0, 0, time.monotonic() + LONGEST
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            output += os.read(terminal, 65536)
        except OSError:
            break
        for question, answer in ANSWERS.items():
            if output[answered:].endswith(question.encode()):
                answered, count = len(output), count + 1
                pathlib.Path(environment["RECIPE"], "answered").write_text(str(count))
                os.write(terminal, answer.encode() + b"\n")
    else:
        os.kill(process, 9)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode(errors="replace")


def main():
    binary, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    found = recipes()
    scripts = {path.stem for path in (ROOT / "Tests" / "recipes").glob("*.sh")}
    if scripts != set(found):
        sys.exit(f"recipes without a script, or scripts without a recipe: {sorted(scripts ^ set(found))}")
    failed = []
    for name in names or found:
        if name == "systemd" and os.geteuid() != 0:
            print("systemd: left out, because only root can make the machine's key")
            continue
        if name == "uploads" and not (EXAMPLES / "Uploads").exists():
            print("uploads: left out, because `make examples` has not built its server")
            continue
        start = time.monotonic()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="vaultfile-recipe-"))
        try:
            status, output = run(ROOT / "Tests" / "recipes" / f"{name}.sh", prepare(folder, binary, found[name]))
        finally:
            shutil.rmtree(folder)
        print(f"{name}: {'done' if status == 0 else f'status {status}'}, {time.monotonic() - start:.1f} s", flush=True)
        if status != 0:
            print(output, flush=True)
            failed.append(name)
    sys.exit(1 if failed else 0)


main()
