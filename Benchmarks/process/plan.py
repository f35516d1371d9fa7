"""Which tables there are, in which order, and what each of them needs."""

import os
from dataclasses import dataclass

import sections
from measure import MIB
from sections import size_name

GIB = 1 << 30
# MiB a second and thread of work, roughly: only to say beforehand how long it will take.
RATES = {"cp": 1500, "vaultfile": 1000, "vaultfile, libsodium alone": 700, "age": 600, "rage": 600, "gpg": 250}
DISK_RATE = 300
# Up to this size all tools are compared, and in every round.
FOR_ALL = 2 * GIB
CORPUS = ["/usr/share", "/usr/include", "/usr/lib"]


@dataclass
class Section:
    """One table."""

    identity: str
    title: str
    note: str
    medium: str  # memory or disk
    place: str  # sections that follow each other in one place share its files
    space: int  # bytes that it needs there
    seconds: float  # about, a round
    baselines: tuple  # the names of the rows that are the copy and age
    make: object  # gives the tasks, in a folder
    most_rounds: int = 1000


@dataclass
class Extent:
    """How much is measured."""

    sizes: list
    middle: int  # for pipes and threads
    files: int
    calls: int
    corpus: int
    ranges: list
    processors: int

    @classmethod
    def full(cls, sizes, processors):
        return cls(sizes, GIB, 10_000, 500, GIB, [64 * MIB, 4 * GIB], processors)

    @classmethod
    def quick(cls, sizes, processors):
        return cls(sizes, 64 * MIB, 200, 20, 16 * MIB, [16 * MIB, 64 * MIB], processors)


def plan(tools, extent, folders, room):
    """All sections. `folders` and `room` say where memory and disk are, and how much is free there."""
    made = []
    for medium in ["memory", "disk"]:
        for size in extent.sizes:
            made += list(whole_files(tools, medium, size, folders[medium], room[medium]))
    made += list(pipes(tools, extent, folders["memory"]))
    made += list(threads(tools, extent))
    made += list(small(tools, extent))
    made.append(Section(
        "start", "Start-up", "Twenty runs a round. The time of `true` is what it takes to start any process.", "memory",
        "start", 10 * MIB, 3, (("true",), ("age: *",)), lambda folder: sections.start_up(tools, folder)))
    made.append(Section(
        "ranges", "1 MiB out of the middle",
        "vaultfile reads the records that the range touches. age as a command has to decrypt all that comes before.",
        "disk", "ranges", 3 * sum(extent.ranges), 3 + sum(extent.ranges) / MIB / 500, (("dd*",), ("age*",)),
        lambda folder: sections.ranges(tools, folder, extent.ranges)))
    made.append(Section(
        "rotation", "A key is changed, on disk, synced",
        "age has no such thing: contents are decrypted and encrypted anew.",
        "disk", "rotation", 6 * sum([MIB, max(extent.ranges)]), max(extent.ranges) / MIB / 150, ((), ("age*",)),
        lambda folder: sections.rotation(tools, folder, [MIB, max(extent.ranges)]), 3))
    made += list(compressed(tools, extent))
    return made


def whole_files(tools, medium, size, folder, room):
    short = size_name(size).replace(" ", "")
    for action in ["encrypt", "decrypt"]:
        chosen, note = tools.all(folder), ""
        if size > FOR_ALL or files_at_once(action, chosen) * size > room * 0.6:
            chosen = tools.few(folder)
            note = " The other tools are in the tables of smaller sizes: here they would take too much time or room."
        if size > FOR_ALL and files_at_once(action, chosen) * size > room * 0.5:
            # Near the limit the system takes memory back while it is measured, and whoever comes then waits for it.
            chosen = [tool for tool in chosen if tool.family != "age"]
        where = "in memory, nothing synced" if medium == "memory" else "on disk, synced"
        note = (
            "From a file to a file on tmpfs; vaultfile with `--no-sync`." if medium == "memory" else
            "From a file to a file on disk. vaultfile as it comes, which makes the file and its folder durable; for "
            "the others `sync FILE FOLDER` follows and counts.") + note
        space = files_at_once(action, chosen) * size
        seconds = sum(size / MIB / min(RATES.get(tool.name, 500), DISK_RATE if medium == "disk" else 9999)
                      for tool in chosen)
        yield Section(
            f"{medium}-{short}-{action}", f"{size_name(size)} {where}: {action}", note, medium, f"{medium}-{short}",
            space, seconds, (("cp", "cp, synced"), ("age",)), lambda folder, action=action: sections.files(
                folder, size, action, medium == "disk", chosen))


def files_at_once(action, chosen):
    """How many files of the size there are at most: the plaintext, the output, and what either is compared with."""
    return 3 if action == "encrypt" else 1 + len({tool.family for tool in chosen})


def pipes(tools, extent, folder):
    size = extent.middle
    count = len(tools.all(folder))
    for action in ["encrypt", "decrypt"]:
        yield Section(
            f"pipes-{action}", f"{size_name(size)} from pipe to pipe: {action}",
            "`cat FILE` writes into the tool's standard input, and a `cat` reads its standard output. `cat | cat` is "
            "one pipe without a tool; in `cat | cat | cat` a cat stands in the tool's place.",
            "memory", "pipes", size * (count + 2), count * size / MIB / 500,
            (("cat \\| cat",), ("cat \\| age \\| cat",)),
            lambda folder, action=action: sections.pipes(tools, folder, size, action))


def threads(tools, extent):
    counts = sorted({1, *range(2, extent.processors + 1), 8})
    for action in ["encrypt", "decrypt"]:
        yield Section(
            f"jobs-{action}", f"{size_name(extent.middle)} in memory, by threads: {action}",
            f"There are {extent.processors} processors here.", "memory", "jobs", 4 * extent.middle,
            (len(counts) + 2) * extent.middle / MIB / 800, (("cp",), ("age",)),
            lambda folder, action=action: sections.jobs(tools, folder, extent.middle, counts, action))


def small(tools, extent):
    for medium in ["memory", "disk"]:
        for action in ["encrypt", "decrypt"]:
            synced = medium == "disk"
            yield Section(
                f"small-{medium}-{action}",
                f"{extent.files:,} files of 4 KiB {'on disk, synced' if synced else 'in memory'}: {action}",
                "One call of vaultfile, with all names from `--files-from`." + (
                    " Every file is made durable before it gets its name; `cp -r` is followed by `sync` for every file."
                    if synced else "") + f" age and openssl take one file a call: {extent.calls} were measured.",
                medium, f"small-{medium}", extent.files * 30_000, extent.files / (150 if synced else 700),
                (("cp -r", "cp -r, each synced"), ("age, a call for each file", "age, a call for each file, synced")),
                lambda folder, action=action, synced=synced: sections.small_files(
                    tools, folder, action, synced, extent.files, extent.calls), 3)


def compressed(tools, extent):
    corpus = sections.corpus_of([each for each in CORPUS if os.path.isdir(each)], extent.corpus)
    for action in ["encrypt", "decrypt"]:
        note = "Text, headers and programs of this machine, in memory. The length then tells something of the contents."
        if not tools.vaultfile.can_compress():
            note += " This vaultfile has no `--compress`, so it is not in the table."
        copy, age = ("gzip -6", "gzip -6 \\| age") if action == "encrypt" else ("gzip -d", "age -d \\| gzip -d")
        yield Section(
            f"compression-{action}", f"Compression: {action}", note + " Here “copy” is gzip alone.", "memory",
            "compression", 6 * extent.corpus, 4 * extent.corpus / MIB / (30 if action == "encrypt" else 150),
            ((copy,), (age,)),
            lambda folder, action=action: sections.compression(tools, folder, corpus, action), 3)
