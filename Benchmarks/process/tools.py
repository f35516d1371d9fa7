"""The tools that are compared: how each one is called, and its version."""

import os
import re
import shutil
import subprocess

from measure import Pipe

OPENSSL_KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"


def output_of(*command):
    """The output of a command, or nothing if it cannot run."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout + done.stderr


def first_line(text):
    return text.strip().splitlines()[0].strip() if text.strip() else "unknown"


class Tool:
    """One way to encrypt and decrypt, or only to copy. `family` names the containers that it reads."""

    def __init__(self, name, program, family, version):
        self.name, self.program, self.family, self.version = name, program, family, version

    def steps(self, action, source, target, synced):
        """The commands from a file to a file."""
        steps = [Pipe([self.command(action, source, target)])]
        if synced:
            steps.append(Pipe([["sync", target, os.path.dirname(target)]]))
        return steps


class Copy(Tool):
    """The least work possible: cp, and cat in pipes."""

    def __init__(self, folder):
        super().__init__("cp", "cp", "plain", first_line(output_of("cp", "--version")))
        self.options = ["--reflink=never"] if clones_files(folder) else []

    def command(self, action, source, target):
        return ["cp", *self.options, source, target]

    def stream(self, action):
        return ["cat"]


def clones_files(folder):
    """Whether cp would copy nothing in this folder: some file systems let two files share their bytes."""
    source, target = os.path.join(folder, "probe"), os.path.join(folder, "probe-2")
    try:
        with open(source, "wb") as file:
            file.write(bytes(1 << 16))
        done = subprocess.run(["cp", "--reflink=always", source, target], capture_output=True, check=False)
        return done.returncode == 0
    finally:
        for path in (source, target):
            if os.path.exists(path):
                os.unlink(path)


class Vaultfile(Tool):
    """vaultfile, by default with one thread for each processor."""

    def __init__(self, program, key, name="vaultfile", jobs=None, options=()):
        super().__init__(name, program, "vault", first_line(output_of(program, "--version")))
        self.key = key
        self.jobs = jobs
        self.options = list(options)

    def call(self, verb, *arguments):
        jobs = ["--jobs", str(self.jobs)] if self.jobs else []
        return [self.program, verb, "--quiet", "--key-file", self.key, *jobs, *arguments]

    def steps(self, action, source, target, synced):
        sync = [] if synced else ["--no-sync"]
        options = self.options if action == "encrypt" else []
        return [Pipe([self.call(action, *sync, *options, "-o", target, source)])]

    def stream(self, action):
        return self.call(action, *(self.options if action == "encrypt" else []))

    def can_compress(self):
        return "--compress" in output_of(self.program, "help", "encrypt")


class Age(Tool):
    """age, or rage, with the same options. To a public key: it costs microseconds, a passphrase half a second."""

    def __init__(self, program, folder):
        super().__init__(program, program, "age", first_line(output_of(program, "--version")))
        self.identity = os.path.join(folder, program + ".key")
        made = output_of(program + "-keygen", "-o", self.identity)
        self.recipient = re.search(r"age1[a-z0-9]+", made).group()

    def command(self, action, source, target):
        return [*self.stream(action), "-o", target, source]

    def stream(self, action):
        if action == "encrypt":
            return [self.program, "-r", self.recipient]
        return [self.program, "-d", "-i", self.identity]


class OpenSSL(Tool):
    """openssl enc, the cipher alone. It does not authenticate: a changed file silently decrypts to other contents."""

    def __init__(self):
        super().__init__(
            "openssl chacha20 (no authentication)", "openssl", "openssl", first_line(output_of("openssl", "version")))

    def command(self, action, source, target):
        return [*self.stream(action), "-in", source, "-out", target]

    def stream(self, action):
        undo = ["-d"] if action == "decrypt" else []
        return ["openssl", "enc", "-chacha20", *undo, "-K", OPENSSL_KEY, "-iv", OPENSSL_KEY[:32]]


class GnuPG(Tool):
    """gpg with a passphrase and AES-256, without compression, and with as little stretching as it allows."""

    def __init__(self, folder):
        super().__init__("gpg", "gpg", "gpg", first_line(output_of("gpg", "--version")))
        self.home = os.path.join(folder, "gnupg")
        os.makedirs(self.home, mode=0o700, exist_ok=True)
        self.passphrase = os.path.join(folder, "gpg.passphrase")
        with open(self.passphrase, "w", encoding="ascii") as file:
            file.write("benchmark\n")

    def command(self, action, source, target):
        return [*self.stream(action, ["-o", target]), source]

    def stream(self, action, output=()):
        common = [
            "gpg", "--homedir", self.home, "--batch", "--quiet", "--no-options", "--pinentry-mode", "loopback",
            "--passphrase-file", self.passphrase, *output]
        if action == "decrypt":
            return [*common, "--decrypt"]
        return [
            *common, "--cipher-algo", "AES256", "--compress-algo", "none", "--s2k-count", "1024", "--no-symkey-cache",
            "--symmetric"]

    def close(self):
        """Ends the agent that gpg started."""
        output_of("gpgconf", "--homedir", self.home, "--kill", "all")


class Tools:
    """The tools that this machine has."""

    def __init__(self, folder, program, sodium_program, static_program, earlier_program=None):
        self.folder = folder
        self.missing = []
        key = os.path.join(folder, "key.txt")
        output_of(program, "key", "generate", "-o", key)
        self.vaultfile = Vaultfile(program, key)
        self.sodium = self._if(
            os.access(sodium_program, os.X_OK), "vaultfile, libsodium alone (make bench builds it)",
            lambda: Vaultfile(sodium_program, key, "vaultfile, libsodium alone"))
        self.static = self._if(
            os.access(static_program, os.X_OK), "vaultfile, static (make static builds it)",
            lambda: Vaultfile(static_program, key, "vaultfile, static"))
        self.earlier = Vaultfile(earlier_program, key, "vaultfile, before") if earlier_program else None
        self.age = self._if(shutil.which("age") and shutil.which("age-keygen"), "age", lambda: Age("age", folder))
        self.rage = self._if(shutil.which("rage") and shutil.which("rage-keygen"), "rage", lambda: Age("rage", folder))
        self.openssl = self._if(shutil.which("openssl"), "openssl", OpenSSL)
        self.gpg = self._if(shutil.which("gpg"), "gpg", lambda: GnuPG(folder))

    def _if(self, is_there, name, make):
        if is_there:
            return make()
        self.missing.append(name)
        return None

    def few(self, folder):
        """The tools that every table compares."""
        one = Vaultfile(self.vaultfile.program, self.vaultfile.key, "vaultfile, one thread", 1)
        return [tool for tool in [Copy(folder), self.vaultfile, self.earlier, one, self.sodium, self.age] if tool]

    def all(self, folder):
        return self.few(folder) + [tool for tool in [self.rage, self.openssl, self.gpg] if tool]

    def versions(self):
        lines = {"vaultfile": first_line(output_of(self.vaultfile.program, "--version"))}
        for tool in self.all(self.folder):
            if not isinstance(tool, Vaultfile):
                lines[tool.program] = tool.version
        lines["gzip"] = first_line(output_of("gzip", "--version"))
        return lines

    def close(self):
        if self.gpg:
            self.gpg.close()
