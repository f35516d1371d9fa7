"""What must hold after a run in which a call failed: the contract of the command, checked from outside."""

import os
import subprocess

import scenes

# Statuses that say that something outside failed: no such input, no output, reading or writing, in use, no key to be had.
OF_THE_SYSTEM = {66, 73, 74, 75, 78}


def contents(folder):
    """All files below a folder: name to bytes; folders and links by what they are."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            found[os.path.relpath(path, folder)] = (
                b"-> " + os.readlink(path).encode() if os.path.islink(path) else open(path, "rb").read())
    return found


class Judge:
    def __init__(self, vaultfile, template):
        self.vaultfile = vaultfile
        self.before = contents(template)

    def call(self, folder, *words):
        return subprocess.run(
            [self.vaultfile, *words], cwd=folder, capture_output=True, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": folder, **scenes.RING})

    def opens(self, folder, key, name):
        done = self.call(folder, "decrypt", "--key-file", key, "-o", "-", name)
        return done.returncode == 0 and done.stdout == (scenes.TINY if name == "tiny.vault" else scenes.PLAIN)

    def is_right(self, kind, name, folder):
        """Whether an output is whole and what it must be."""
        path = os.path.join(folder, name)
        if kind == "container":
            return self.call(folder, "verify", "--key-file", "key", name).returncode == 0 and \
                self.opens(folder, "key", name) or self.opens_by_keyring(folder, name)
        if kind == "key":
            return self.call(folder, "key", "show", "--key-file", name).returncode == 0
        right = {"plain": scenes.PLAIN, "range": scenes.PLAIN[70000:70010], "recovered": scenes.recovered()}[kind]
        return open(path, "rb").read() == right

    def opens_by_keyring(self, folder, name):
        done = self.call(folder, "decrypt", "--unlock", "file:key", "-o", "-", name)
        return done.returncode == 0 and done.stdout == scenes.PLAIN

    def problems(self, scene, run, folder, words=None, quiet=False, keeps_names=False):
        """All that is wrong.

        words: what the system says of the error, which the message must repeat; quiet: nothing can be said;
        keeps_names: names could not be removed.
        """
        wrong = []
        if run.timed_out:
            return ["it does not end"]
        if run.status < 0 or run.status > 128:
            return [f"it ends by a signal: {run.status}: {run.stderr[:300]}"]
        allowed = {scene.status, *scene.also} | OF_THE_SYSTEM
        if run.status not in allowed:
            wrong.append(f"status {run.status}")
        # A status that the run has with nothing failing says no more than it says then.
        failed = run.status != 0 and run.status not in (scene.status, *scene.also)
        wrong += self.of_messages(run, failed, words, quiet)
        wrong += self.of_files(scene, run, folder, keeps_names)
        wrong += self.of_outputs(scene, run)
        if scene.place:
            wrong += self.of_place(scene, folder)
        if scene.keyring:
            wrong += self.of_keyring(folder)
        return wrong

    def of_messages(self, run, failed, words, quiet):
        wrong = []
        if scenes.MARK in run.stderr or "VAULTFILE-KEY" in run.stderr:
            wrong.append("a message holds what is secret")
        lines = run.stderr.splitlines()
        if any(not line.startswith(("vaultfile: ", "  ", "hint: ")) for line in lines):
            wrong.append(f"a line of another form: {run.stderr!r}")
        if failed and not quiet:
            if not lines:
                wrong.append("nothing is said")
            elif words and not any(words.lower() in line.lower() for line in lines):
                wrong.append(f"the reason {words!r} is not said: {run.stderr!r}")
        return wrong

    def of_files(self, scene, run, folder, keeps_names):
        """No file is changed, gone or new but those that the scene names."""
        wrong = []
        now = contents(folder)
        mine = {scene.place, *scene.outputs, *((scenes.KEYRING, scenes.KEYRING + ".key") if scene.keyring else ())}
        for name in sorted(set(now) | set(self.before)):
            if name in mine:
                continue
            if name not in self.before:
                if ".vaultfile-" in name and keeps_names:
                    continue
                wrong.append(f"{name} is left behind")
            elif name not in now:
                if name not in scene.removes:
                    wrong.append(f"{name} is gone")
                elif run.status != 0 or not all(self.is_right(k, o, folder) for o, k in scene.outputs.items()):
                    # The only place where the contents stood.
                    if not all(o in now and self.is_right(k, o, folder) for o, k in scene.outputs.items()):
                        wrong.append(f"{name} was removed without its output")
            elif now[name] != self.before[name]:
                wrong.append(f"{name} was changed")
        for name, kind in scene.outputs.items():
            whole = name in now and now[name] != self.before.get(name) and self.is_right(kind, name, folder)
            untouched = now.get(name) == self.before.get(name)
            if run.status in (0, scene.status) and scene.status != 73 and not whole:
                wrong.append(f"status {run.status}, and {name} is {'not there' if untouched else 'wrong'}")
            if not whole and not untouched:
                if not (run.status in scene.also and kind == "plain" and self.is_a_recovery(now[name])):
                    wrong.append(f"{name} is neither whole nor as it was")
        return wrong

    @staticmethod
    def is_a_recovery(found):
        """Every byte is the right one or a zero."""
        return len(found) <= len(scenes.PLAIN) and all(
            byte in (0, right) for byte, right in zip(found, scenes.PLAIN))

    def of_outputs(self, scene, run):
        if scene.stdout == "plain":
            if not scenes.PLAIN.startswith(run.stdout):
                return ["what it released is not the beginning of the plaintext"]
            if run.status == 0 and run.stdout != scenes.PLAIN:
                return ["status 0, and not all of the plaintext"]
        elif scene.stdout is None and scenes.MARK.encode() in run.stdout:
            return ["plaintext on standard output"]
        return []

    def of_place(self, scene, folder):
        """What was changed in its place still opens, and the same once more finishes it."""
        wrong = []
        now = open(os.path.join(folder, scene.place), "rb").read()
        if now == self.before[scene.place]:
            return wrong
        if scene.place != "no-footer.vault" and not self.opens(folder, "key", scene.place):
            wrong.append(f"{scene.place} does not open any more")
        again = self.call(folder, *scene.words.split())
        if again.returncode != 0:
            wrong.append(f"once more: {again.returncode} {again.stderr.decode()!r}")
        if not self.opens(folder, "key", scene.place):
            wrong.append(f"{scene.place} does not open after the second run")
        return wrong

    def of_keyring(self, folder):
        listed = self.call(folder, "key", "list", "--unlock", "file:key")
        if listed.returncode != 0:
            return [f"the keyring does not open any more: {listed.stderr.decode()!r}"]
        lines = listed.stdout.decode()
        return [] if "one" in lines and "two" in lines else [f"the keyring has lost a key: {lines!r}"]
