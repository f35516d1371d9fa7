"""The measurements. Each section is a table of tools that do the same work."""

import os
import random
import shutil
import subprocess
from functools import partial

from measure import MIB, Failed, Pipe, Task, warm
from tools import Copy, Vaultfile

SMALL_SIZE = 4096


def size_name(size):
    return f"{size >> 30} GiB" if size % (1 << 30) == 0 else f"{size >> 20} MiB"


def same(left, right):
    """Returns a check that two files are equal."""

    def check():
        if subprocess.run(["cmp", "-s", left, right], check=False).returncode != 0:
            raise Failed(f"{right} is not what was encrypted")

    return check


def removing(*paths):
    def remove():
        for path in paths:
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)

    return remove


def write_random(path, size, seed=1):
    """Bytes that do not compress."""
    source = random.Random(seed)
    with open(path, "wb") as file:
        for start in range(0, size, MIB):
            file.write(source.randbytes(min(MIB, size - start)))


def files(folder, size, action, synced, chosen):
    """Tasks from file to file."""
    plain = os.path.join(folder, "plain")
    if not os.path.exists(plain) or os.path.getsize(plain) != size:
        write_random(plain, size)
    os.sync()
    tasks = []
    target = os.path.join(folder, "output")
    for tool in chosen:
        source, check, clear = plain, None, removing(target)
        if action == "decrypt" and tool.family != "plain":
            check = same(plain, target)
            source = prepared(os.path.join(folder, "made." + tool.family), lambda path, tool=tool:
                              tool.steps("encrypt", plain, path, False))
        elif tool.family != "plain":
            check = decrypting(tool, target, os.path.join(folder, "back"), plain)

        def prepare(clear=clear, source=source):
            clear()
            if synced:
                # Otherwise this run would also wait for the unwritten data of others.
                os.sync()
            warm(source, size)

        name = tool.name + (", synced" if synced and tool.family == "plain" else "")
        tasks.append(Task(name, tool.steps(action, source, target, synced), size, prepare, check))
    return tasks


def decrypting(tool, container, back, plain):
    """Returns a check that the container decrypts to the plaintext."""

    def check():
        removing(back)()
        for step in tool.steps("decrypt", container, back, False):
            step.run()
        same(plain, back)()
        os.unlink(back)

    return check


def pipes(tools, folder, size, action):
    """`cat FILE | tool | cat > /dev/null`, and for comparison `cat | cat | cat` and `cat | cat`."""
    plain = os.path.join(folder, "plain")
    if not os.path.exists(plain):
        write_random(plain, size)
    tasks = [
        Task("cat \\| cat", [Pipe([["cat", plain], ["cat"]])], size, partial(warm, plain)),
        Task("cat \\| cat \\| cat", [Pipe([["cat", plain], ["cat"], ["cat"]])], size, partial(warm, plain)),
    ]
    for tool in tools.all(folder):
        if tool.family == "plain":
            continue
        source = plain
        if action == "decrypt":
            source = prepared(os.path.join(folder, "made." + tool.family), lambda path, tool=tool:
                              [Pipe([["cat", plain], tool.stream("encrypt")], target=path)])
        tasks.append(Task(
            f"cat \\| {tool.name} \\| cat", [Pipe([["cat", source], tool.stream(action), ["cat"]])], size,
            partial(warm, source), piped_back(tool, plain, folder)))
    return tasks


def piped_back(tool, plain, folder):
    def check():
        back = os.path.join(folder, "back")
        Pipe([["cat", plain], tool.stream("encrypt"), tool.stream("decrypt")], target=back).run()
        same(plain, back)()
        os.unlink(back)

    return check


def jobs(tools, folder, size, counts, action):
    """One file with increasing numbers of threads."""
    chosen = [
        Vaultfile(tools.vaultfile.program, tools.vaultfile.key, f"vaultfile --jobs {count}", count) for count in counts]
    return files(folder, size, action, False, [Copy(folder), *filter(None, [tools.age]), *chosen])


def small_files(tools, folder, action, synced, number, calls):
    """Many files in one call. age and openssl need a call for each: `calls` are made, and their time is scaled."""
    plain, made = os.path.join(folder, "plain"), os.path.join(folder, "made")
    target = os.path.join(folder, "output")
    if not os.path.exists(plain):
        os.makedirs(plain)
        source = random.Random(1)
        for each in range(number):
            with open(os.path.join(plain, f"{each:05}"), "wb") as file:
                file.write(source.randbytes(SMALL_SIZE))
    vault = tools.vaultfile
    sync = [] if synced else ["--no-sync"]
    if action == "decrypt" and not os.path.exists(made):
        os.makedirs(made)
        Pipe([vault.call("encrypt", "--no-sync", "-o", made + "/", "--files-from", "-")],
             source=listing(plain, folder, "all")).run()
    size = number * SMALL_SIZE

    def prepare():
        removing(target)()
        os.makedirs(target)
        os.sync()

    def check():
        if len(os.listdir(target)) != number:
            raise Failed(f"{target} has {len(os.listdir(target))} files instead of {number}")
        if action == "decrypt" and subprocess.run(["diff", "-r", plain, target], check=False).returncode != 0:
            raise Failed("the files are not what was encrypted")

    copied = ["find", target, "-type", "f", "-exec", "sync", "{}", "+"]
    copying = [Pipe([["cp", "-r", plain + "/.", target]])]
    if synced:
        copying += [Pipe([copied]), Pipe([["sync", target]])]
    tasks = [Task("cp -r" + (", each synced" if synced else ""), copying, size, prepare, check)]
    source = plain if action == "encrypt" else made
    for tool in [vault, tools.earlier, tools.sodium]:
        # With syncs the disk determines the time, not the cipher.
        if tool and not (synced and tool is tools.sodium):
            tasks.append(Task(
                tool.name, [Pipe([tool.call(action, *sync, "-o", target + "/", "--files-from", "-")],
                                 source=listing(source, folder, action))], size, prepare, check))
    for tool in [tools.age, tools.openssl]:
        if tool:
            tasks.append(one_by_one(tool, action, plain, folder, target, calls, synced))
    return tasks


def listing(plain, folder, name):
    path = os.path.join(folder, name + ".list")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(os.path.join(plain, each) + "\n" for each in sorted(os.listdir(plain)))
    return path


def one_by_one(tool, action, plain, folder, target, calls, synced):
    """A call for each file, from a shell loop."""
    source = plain
    if action == "decrypt":
        source = os.path.join(folder, "made." + tool.family)
        if not os.path.exists(source):
            os.makedirs(source)
            for name in sorted(os.listdir(plain))[:calls]:
                tool.steps("encrypt", os.path.join(plain, name), os.path.join(source, name), False)[0].run()
    output = f'"{target}/${{f##*/}}"'
    command = tool.command(action, '"$f"', output)
    names = os.path.join(folder, f"{tool.family}.{action}.sh")
    with open(names, "w", encoding="utf-8") as file:
        sync = f'sync {output} "{target}"; ' if synced else ""
        chosen = " ".join(os.path.join(source, name) for name in sorted(os.listdir(source))[:calls])
        file.write(f"set -e\nfor f in {chosen}; do {' '.join(command)}; {sync}done\n")

    def prepare():
        removing(target)()
        os.makedirs(target)
        os.sync()

    def check():
        made = sorted(os.listdir(target))
        if made != sorted(os.listdir(source))[:calls]:
            raise Failed(f"{target} does not have the files that were processed")
        if action == "encrypt":
            return
        for each in made:
            same(os.path.join(plain, each), os.path.join(target, each))()

    return Task(
        f"{tool.name}, a call for each file" + (", synced" if synced else ""), [Pipe([["sh", names]])],
        len(os.listdir(plain)) * SMALL_SIZE, prepare, check,
        scale=len(os.listdir(plain)) / calls, note=f"from {calls} files")


def start_up(tools, folder):
    """The smallest tasks: they show the time of the start."""
    tiny = os.path.join(folder, "tiny")
    with open(tiny, "wb") as file:
        file.write(b"x")
    tasks = [Task("true", [Pipe([["true"]])], repeats=20)]
    for tool in [
            tools.vaultfile, tools.earlier, tools.static, tools.sodium, tools.age, tools.rage, tools.openssl]:
        if not tool:
            continue
        version = "version" if tool.family == "openssl" else "--version"
        tasks.append(Task(f"{tool.name}: print the version", [Pipe([[tool.program, version]])], repeats=20))
        tasks.append(Task(f"{tool.name}: encrypt 1 byte", [Pipe([tool.stream("encrypt")], source=tiny)], repeats=20))
        made = os.path.join(folder, "tiny." + tool.family)
        Pipe([tool.stream("encrypt")], source=tiny, target=made).run()
        tasks.append(Task(f"{tool.name}: decrypt 1 byte", [Pipe([tool.stream("decrypt")], source=made)], repeats=20))
    return tasks


def ranges(tools, folder, sizes):
    """One MiB from the middle."""
    tasks = []
    wanted, got = os.path.join(folder, "wanted"), os.path.join(folder, "got")
    for size in sizes:
        plain = os.path.join(folder, f"plain.{size}")
        write_random(plain, size)
        offset = size // 2 + 12_345
        with open(plain, "rb") as file, open(f"{wanted}.{size}", "wb") as part:
            file.seek(offset)
            part.write(file.read(MIB))
        compare = same(f"{wanted}.{size}", got)
        part = ["dd", "bs=1M", f"skip={offset}", f"count={MIB}", "status=none"]
        direct = [*part, f"if={plain}", "iflag=skip_bytes,count_bytes"]
        piped = [*part, "iflag=skip_bytes,count_bytes,fullblock"]
        tasks.append(Task(f"dd, {size_name(size)}", [Pipe([direct], target=got)], MIB, check=compare, repeats=10))
        for tool in [tools.vaultfile, tools.age]:
            if not tool:
                continue
            made = os.path.join(folder, f"made.{size}.{tool.family}")
            tool.steps("encrypt", plain, made, False)[0].run()
            if tool is tools.vaultfile:
                stages = [tool.call(
                    "decrypt", "--offset", str(offset), "--length", str(MIB), "-o", "-", made)]
                name, repeats = f"{tool.name}, {size_name(size)}", 10
            else:
                stages = [[*tool.stream("decrypt"), made], piped]
                name, repeats = f"{tool.name} -d \\| dd, {size_name(size)}", 1
            tasks.append(Task(name, [Pipe(stages, target=got)], MIB, check=compare, repeats=repeats))
    return tasks


def rotation(tools, folder, sizes):
    """A change of keys. With age, all contents must be written again."""
    vault = tools.vaultfile
    other = os.path.join(folder, "other.txt")
    if not os.path.exists(other):
        Pipe([[vault.program, "key", "generate", "-o", other]]).run()
    tasks = []
    for size in sizes:
        plain = os.path.join(folder, f"plain.{size}")
        write_random(plain, size)
        made = os.path.join(folder, f"made.{size}.vault")
        vault.steps("encrypt", plain, made, True)[0].run()
        change = [
            Pipe([[vault.program, "rotate", "--key-file", old, "--add", f"file:{new}", "--remove", f"file:{old}",
                   made]])
            for old, new in [(vault.key, other), (other, vault.key)]]
        tasks.append(Task(
            f"vaultfile rotate, {size_name(size)}", change, 0, os.sync, decrypting(vault, made, made + ".back", plain),
            repeats=3, scale=0.5, note="half of a change and the change back"))
        if tools.age:
            old, new = os.path.join(folder, f"made.{size}.age"), os.path.join(folder, f"new.{size}.age")
            tools.age.steps("encrypt", plain, old, True)[0].run()
            again = [Pipe([[*tools.age.stream("decrypt"), old], [*tools.age.stream("encrypt"), "-o", new]]),
                     Pipe([["sync", new, folder]])]
            tasks.append(Task(f"age -d \\| age, synced, {size_name(size)}", again, 0, os.sync,
                              decrypting(tools.age, new, new + ".back", plain)))
    return tasks


def compression(tools, folder, corpus, action):
    """Compression before encryption, of a file that compresses."""
    plain, target = corpus(folder), os.path.join(folder, "output")
    size = os.path.getsize(plain)
    tasks = []
    packing = Vaultfile(tools.vaultfile.program, tools.vaultfile.key, "vaultfile --compress deflate",
                        options=["--compress", "deflate"])
    many = Vaultfile(packing.program, packing.key, "vaultfile --compress deflate --jobs 8", 8, packing.options)
    for tool in [packing, many, tools.vaultfile]:
        if tool.options and not tool.can_compress():
            continue
        name = tool.name + ("" if tool.options else ", not compressed")
        made = prepared(os.path.join(folder, "made.packed" if tool.options else "made.vault"),
                        lambda path, tool=tool: tool.steps("encrypt", plain, path, False))
        source = plain if action == "encrypt" else made
        tasks.append(Task(
            name, tool.steps(action, source, target, False), size, removing(target),
            same(plain, target) if action == "decrypt" else decrypting(tool, target, target + ".back", plain),
            note=ratio(made, size)))
    squeeze, widen = ["gzip", "-6", "-c"], ["gzip", "-d", "-c"]
    zipped = prepared(os.path.join(folder, "made.gz"), lambda path: [Pipe([[*squeeze, plain]], target=path)])
    if action == "encrypt":
        tasks.append(Task("gzip -6", [Pipe([[*squeeze, plain]], target=target)], size, check=same(zipped, target),
                          note=ratio(zipped, size)))
    else:
        tasks.append(Task("gzip -d", [Pipe([[*widen, zipped]], target=target)], size, check=same(plain, target)))
    if tools.age:
        made = prepared(os.path.join(folder, "made.gz.age"),
                        lambda path: tools.age.steps("encrypt", zipped, path, False))
        stages = ([[*squeeze, plain], tools.age.stream("encrypt")] if action == "encrypt"
                  else [[*tools.age.stream("decrypt"), made], widen])
        name = "gzip -6 \\| age" if action == "encrypt" else "age -d \\| gzip -d"
        tasks.append(Task(name, [Pipe(stages, target=target)], size,
                          check=same(plain, target) if action == "decrypt" else None, note=ratio(made, size)))
    return tasks


def prepared(path, steps):
    """A file that several tables use, made once."""
    if not os.path.exists(path):
        for step in steps(path):
            step.run()
    return path


def ratio(path, size):
    return f"{os.path.getsize(path) / size:.0%} of the input's length"


def corpus_of(roots, size):
    """Text, sources and programs of this machine, one behind the other."""

    def make(folder):
        path = os.path.join(folder, "corpus")
        if os.path.exists(path):
            return path
        with open(path, "wb") as file:
            for root in roots:
                room = size // len(roots) + file.tell()
                for place, folders, names in os.walk(root):
                    folders.sort()
                    for name in sorted(names):
                        each = os.path.join(place, name)
                        if file.tell() < room and os.path.isfile(each) and not os.path.islink(each):
                            try:
                                with open(each, "rb") as source:
                                    file.write(source.read(room - file.tell()))
                            except PermissionError:
                                continue
        return path

    return make
