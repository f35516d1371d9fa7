"""Checks from outside, after a run in which a call failed, what the command promises."""

import json
import os
import re
import subprocess

import scenes

# The statuses for failures outside the command: no such input, not on this system, no output, reading or writing, in
# use, no key.
OF_THE_SYSTEM = {66, 69, 73, 74, 75, 78}


def contents(folder):
    """All files below a folder: maps names to bytes, or to the target of a link."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            found[os.path.relpath(path, folder)] = (
                b"-> " + os.readlink(path).encode() if os.path.islink(path) else open(path, "rb").read())
    return found


def without_chance(text):
    """The text without what differs in every run: IDs, and the time when a key was made."""
    text = re.sub(rb"\b[0-9a-f]{32}\b", b"ID", text)
    return re.sub(rb"\b\d{4}-\d\d-\d\d(T[\d:]+Z|-\w+)?\b", b"TIME", text)


class Judge:
    def __init__(self, vaultfile, template):
        self.vaultfile = vaultfile
        self.before = contents(template)
        # The standard output of each scene without faults.
        self.said = {}

    def call(self, folder, *words, stdin=b"", environment=None):
        return subprocess.run(
            [self.vaultfile, *words], cwd=folder, input=stdin, capture_output=True, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": folder, **scenes.RING, **(environment or {})})

    def with_key(self, folder, verb, key, name):
        """Runs a verb on a container, with a key file or an identity file. If it needs the header file X.hdr beside
        X.vault, and for X.hdr itself, it gets this header file."""
        body, header = name.removesuffix(".hdr"), name.removesuffix(".vault")
        words = [verb[0], "-i" if "identity" in key else "--key-file", key, *verb[1:]]
        if body == name:
            done = self.call(folder, *words, name)
            if done.returncode == 0 or not os.path.exists(os.path.join(folder, header + ".hdr")):
                return done
        return self.call(folder, *words, "--header", header.removesuffix(".hdr") + ".hdr", body.removesuffix(
            ".vault") + ".vault")

    def decrypt(self, folder, key, name):
        return self.with_key(folder, ["decrypt", "-o", "-"], key, name)

    def is_whole(self, folder, name):
        return self.with_key(folder, ["verify"], "key", name).returncode == 0

    def opens(self, folder, key, name, *others):
        """Whether a key opens a container, and it has its contents or one of the others."""
        done = self.decrypt(folder, key, name)
        return done.returncode == 0 and done.stdout in (others or (scenes.CONTENTS.get(name, scenes.PLAIN),))

    def is_right(self, kind, name, folder):
        """Whether an output is whole and right."""
        path = os.path.join(folder, name)
        if kind == "container":
            return self.is_whole(folder, name) and self.opens(folder, "key", name)
        if kind == "header file":
            # It is durable before its container changes or appears.
            body = name.removesuffix("hdr") + "vault"
            return self.call(folder, "inspect", name).returncode == 0 and (
                not os.path.exists(os.path.join(folder, body)) or self.opens(folder, "key", body))
        if kind.startswith("container of the ") and kind.endswith("identity"):
            return self.opens(folder, kind.removeprefix("container of the ").replace(" ", "-"), name)
        if kind == "container of the keyring":
            done = self.call(folder, "decrypt", "--unlock", "file:key", "-o", "-", name)
            return done.returncode == 0 and done.stdout == scenes.PLAIN
        if kind == "keyring":
            # Both files, as they are in the keyring.
            place = path.removesuffix(".key")
            return all(
                os.path.exists(place + end) and open(place + end, "rb").read() == self.before[scenes.KEYRING + end]
                for end in ("", ".key"))
        if kind == "key":
            return self.call(folder, "key", "show", "--key-file", name).returncode == 0
        if kind == "exported key":
            container, right = scenes.BY_KEY["one"]
            done = self.decrypt(folder, name, container)
            return done.returncode == 0 and done.stdout == right
        right = {"plain": scenes.PLAIN, "range": scenes.PLAIN[70000:70010], "recovered": scenes.recovered()}[kind]
        return open(path, "rb").read() == right

    def expect(self, scene, run):
        """Takes the output of a run without faults as the right one."""
        self.said[scene.name] = without_chance(run.stdout)

    def problems(self, scene, run, folder, words=None, damaged=False, quiet=False, keeps_names=False):
        """Everything that is wrong with a run.

        words: the system's text for the error, which the message must repeat; damaged: an input ended too early, which
        the message may say; quiet: messages cannot be written; keeps_names: names could not be removed.
        """
        wrong = []
        if run.timed_out:
            return ["the command does not end"]
        if run.status < 0 or run.status > 128:
            return [f"the command ends by a signal: {run.status}: {run.stderr[:300]}"]
        allowed = {scene.status, *scene.also, *((65,) if damaged else ())} | OF_THE_SYSTEM
        if run.status not in allowed:
            wrong.append(f"status {run.status}")
        # If the run has this status also without faults, the status needs no further message.
        failed = run.status != 0 and run.status not in (scene.status, *scene.also)
        wrong += self.of_messages(run, failed, words, quiet)
        wrong += self.of_files(scene, run, folder, keeps_names)
        wrong += self.of_output(scene, run, folder, damaged)
        if scene.place:
            wrong += self.of_place(scene, run, folder, damaged)
        if scene.keyring:
            wrong += self.of_keyring(scene, run, folder)
        if scene.is_unlocked is not None:
            wrong += self.of_unlocking(scene, run, folder)
        return wrong

    def of_messages(self, run, failed, words, quiet):
        wrong = []
        if scenes.MARK in run.stderr or "VAULTFILE-KEY" in run.stderr:
            wrong.append("a message holds a secret")
        lines = run.stderr.splitlines()
        if any(not line.startswith(("vaultfile: ", "  ", "hint: ")) for line in lines):
            wrong.append(f"a line has the wrong form: {run.stderr!r}")
        if failed and not quiet:
            if not lines:
                wrong.append("there is no message")
            elif words and not any(words.lower() in line.lower() for line in lines):
                wrong.append(f"no message names the reason {words!r}: {run.stderr!r}")
        return wrong

    def of_files(self, scene, run, folder, keeps_names):
        """No file changed, disappeared or appeared, except those that the scene names."""
        wrong = []
        now = contents(folder)
        mine = {scene.place, *scene.outputs, *((scenes.KEYRING, scenes.KEYRING + ".key") if scene.keyring else ())}
        for name in sorted(set(now) | set(self.before)):
            if name in mine:
                continue
            if name not in self.before:
                if ".vaultfile-" in name and keeps_names:
                    continue
                # What the user has written stays if the container could not be written; a text that could not be
                # removed stays, too. A message says where it is.
                if name.startswith("work/") and run.status != 0 and name in run.stderr:
                    continue
                wrong.append(f"{name} is left behind")
            elif name not in now:
                own = name + ".vault"
                outputs = {own: scene.outputs[own]} if own in scene.outputs else scene.outputs
                if name not in scene.removes:
                    wrong.append(f"{name} is gone")
                elif not all(o in now and self.is_right(k, o, folder) for o, k in outputs.items()):
                    # This file was the only one with the contents.
                    wrong.append(f"{name} was removed without its output")
            elif now[name] != self.before[name]:
                wrong.append(f"{name} was changed")
            elif name in scene.removes and run.status == 0:
                wrong.append(f"status 0, but {name} is still there")
        for name, kind in scene.outputs.items():
            whole = name in now and now[name] != self.before.get(name) and self.is_right(kind, name, folder)
            untouched = now.get(name) == self.before.get(name)
            if run.status in (0, scene.status) and scene.status != 73 and not whole:
                wrong.append(f"status {run.status}, but {name} is {'missing' if untouched else 'wrong'}")
            if not whole and not untouched:
                if not (run.status in scene.also and kind == "plain" and self.is_a_recovery(now[name])):
                    wrong.append(f"{name} is neither whole nor unchanged")
        return wrong

    @staticmethod
    def is_a_recovery(found):
        """Whether every byte is the right one or a zero."""
        return len(found) <= len(scenes.PLAIN) and all(
            byte in (0, right) for byte, right in zip(found, scenes.PLAIN))

    def of_output(self, scene, run, folder, damaged):
        """Checks standard output."""
        if scene.stdout == "plain":
            if not scenes.PLAIN.startswith(run.stdout):
                return ["the released bytes are not a beginning of the plaintext"]
            if run.status == 0 and run.stdout != scenes.PLAIN:
                return ["status 0, but not all of the plaintext"]
            return []
        if scenes.MARK.encode() in run.stdout:
            return ["plaintext on standard output"]
        if run.status == 0 and scene.stdout == "container":
            back = self.call(folder, "decrypt", "--key-file", "key", "-o", "-", stdin=run.stdout)
            if not run.stdout or back.returncode != 0 or back.stdout != scenes.PLAIN:
                return [f"status 0, but standard output is not a whole container: {back.stderr.decode()!r}"]
        elif run.status == 0 and not damaged and without_chance(run.stdout) != self.said.get(scene.name, b""):
            return [f"status 0, but standard output differs: {run.stdout[:300]!r}"]
        return []

    def of_place(self, scene, run, folder, damaged):
        """A container changed in place still opens; with status 0 the change is complete; a second run completes it."""
        wrong = []
        # If one header copy could not be read, repair uses the other, whichever it is.
        only_own = damaged and scene.words.startswith("repair")
        with open(os.path.join(folder, scene.place), "rb") as file:
            is_changed = file.read() != self.before[scene.place]
        if run.status == 0:
            wrong += [] if is_changed else ["status 0, but nothing changed"]
            wrong += self.of_slots(scene, folder, "status 0", only_own)
        if not is_changed:
            return wrong
        either = (scenes.PLAIN, scene.becomes) if scene.becomes else ()
        if scene.place != "no-footer.vault" and not self.opens(folder, "key", scene.place, *either):
            wrong.append(f"{scene.place} no longer opens")
        if scene.until and not os.path.exists(os.path.join(folder, scene.until)):
            return wrong
        again = self.call(folder, *scene.words.split(), environment=scene.variables(folder))
        if again.returncode != 0:
            wrong.append(f"the second run: {again.returncode} {again.stderr.decode()!r}")
        return wrong + self.of_slots(scene, folder, "after the second run", only_own)

    def of_slots(self, scene, folder, when, only_own):
        """Which keys open a container after a complete change. `only_own`: checks only the key that always opens it."""
        wrong = []
        if not self.is_whole(folder, scene.place):
            wrong.append(f"{when}: {scene.place} is not whole")
        for key in ("key", *(() if only_own else scene.opened_by)):
            if not self.opens(folder, key, scene.place, *([scene.becomes] if scene.becomes else [])):
                wrong.append(f"{when}: {key} does not open it")
        for key in () if only_own else scene.refused:
            status = self.decrypt(folder, key, scene.place).returncode
            if status != 77:
                wrong.append(f"{when}: {key} gives {status}")
        return wrong

    def of_keyring(self, scene, run, folder):
        """The keyring is as it was or as it should become, and each of its keys works, except a destroyed one."""
        listed = self.call(folder, "key", "list", "--json", "--unlock", "file:key")
        if listed.returncode != 0:
            return [f"the keyring no longer opens: {listed.stderr.decode()!r}"]
        keys = [json.loads(line) for line in listed.stdout.splitlines()]
        states = {key["keyName"] if key["keyName"] in scenes.BY_KEY else "made": key["state"] for key in keys}
        wrong = []
        if len(states) != len(keys) or states not in ([scene.keyring] if run.status == 0 else [
                scenes.KEYS, scene.keyring]):
            wrong.append(f"the keyring's keys: {states}")
        for name, (container, right) in scenes.BY_KEY.items():
            done = self.call(folder, "decrypt", "--unlock", "file:key", "-o", "-", container)
            if states.get(name, "destroyed") == "destroyed":
                if done.returncode != 77:
                    wrong.append(f"key {name} is gone, but {container} gives {done.returncode}")
            elif done.returncode != 0 or done.stdout != right:
                wrong.append(f"key {name} does not open {container}: {done.stderr.decode()!r}")
        if run.status == 0 and scene.unlocked_by:
            by = self.call(folder, "key", "list", "--unlock", f"file:{scene.unlocked_by}").returncode
            if by != 0:
                wrong.append(f"{scene.unlocked_by} does not open the keyring: {by}")
        return wrong

    def of_unlocking(self, scene, run, folder):
        """With status 0, the keyring is unlocked, or locked, as it should be. Then locks it."""
        listed = self.call(folder, "key", "list").returncode
        locked = self.call(folder, "key", "lock").returncode
        wrong = [f"the keyring gives {listed}, and locking it {locked}"] if listed not in (0, 78) or locked else []
        if run.status == 0 and (listed == 0) != scene.is_unlocked:
            wrong.append(f"status 0, but the keyring is {'locked' if scene.is_unlocked else 'unlocked'}")
        return wrong
