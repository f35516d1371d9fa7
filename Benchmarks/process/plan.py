"""The tables, their order, and what each of them needs."""

import os
from dataclasses import dataclass

import sections
from measure import MIB
from sections import size_name

GIB = 1 << 30
# Rough speeds in MiB a second and thread, only to estimate beforehand how long it takes.
RATES = {"cp": 1500, "vaultfile": 1000, "vaultfile, libsodium alone": 700, "age": 600, "rage": 600, "gpg": 250}
DISK_RATE = 300
# Up to this size, all tools are compared.
FOR_ALL = 2 * GIB
CORPUS = ["/usr/share", "/usr/include", "/usr/lib"]


@dataclass
class Section:
    """One table."""

    identity: str
    title: str
    note: str
    medium: str  # memory or disk
    place: str  # neighbouring sections with the same place share its files
    space: int  # the bytes that it needs there
    seconds: float  # estimated, for a round
    baselines: tuple  # the names of the rows for the copy and for age
    make: object  # takes a folder and returns the tasks
    most_rounds: int = 1000


@dataclass
class Extent:
    """The extent of a measurement."""

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
    """All sections. `folders` and `room` give the folders in memory and on disk, and the free bytes there."""
    made = []
    for medium in ["memory", "disk"]:
        for size in extent.sizes:
            made += list(whole_files(tools, medium, size, folders[medium], room[medium]))
    made += list(pipes(tools, extent, folders["memory"]))
    made += list(threads(tools, extent))
    made += list(small(tools, extent))
    made.append(Section(
        "start", "Start-up", "Twenty runs a round. `true` shows how long the start of any process takes.", "memory",
        "start", 10 * MIB, 3, (("true",), ("age: *",)), lambda folder: sections.start_up(tools, folder)))
    made.append(Section(
        "ranges", "1 MiB from the middle",
        "vaultfile reads only the records that contain the range. The command age must decrypt everything before it.",
        "disk", "ranges", 3 * sum(extent.ranges), 3 + sum(extent.ranges) / MIB / 500, (("dd*",), ("age*",)),
        lambda folder: sections.ranges(tools, folder, extent.ranges)))
    made.append(Section(
        "rotation", "A change of keys, on disk, synced",
        "age has no such operation, so the contents are decrypted and encrypted again.",
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
            note = " The tables of smaller sizes have the other tools; here they would need too much time or space."
        if size > FOR_ALL and files_at_once(action, chosen) * size > room * 0.5:
            # Near the limit the system reclaims memory during the measurement, and the tool that runs waits for it.
            chosen = [tool for tool in chosen if tool.family != "age"]
        where = "in memory, nothing synced" if medium == "memory" else "on disk, synced"
        note = (
            "From file to file on tmpfs; vaultfile runs with `--no-sync`." if medium == "memory" else
            "From file to file on disk. vaultfile makes the file and its folder durable by default; for the others, "
            "`sync FILE FOLDER` follows and counts.") + note
        space = files_at_once(action, chosen) * size
        seconds = sum(size / MIB / min(RATES.get(tool.name, 500), DISK_RATE if medium == "disk" else 9999)
                      for tool in chosen)
        yield Section(
            f"{medium}-{short}-{action}", f"{size_name(size)} {where}: {action}", note, medium, f"{medium}-{short}",
            space, seconds, (("cp", "cp, synced"), ("age",)), lambda folder, action=action: sections.files(
                folder, size, action, medium == "disk", chosen))


def files_at_once(action, chosen):
    """The most files of this size at once: the plaintext, the output, and the file that either is compared with."""
    return 3 if action == "encrypt" else 1 + len({tool.family for tool in chosen})


def pipes(tools, extent, folder):
    size = extent.middle
    count = len(tools.all(folder))
    for action in ["encrypt", "decrypt"]:
        yield Section(
            f"pipes-{action}", f"{size_name(size)} from pipe to pipe: {action}",
            "`cat FILE` feeds the tool's standard input, and a second `cat` reads its standard output. `cat | cat` is "
            "one pipe without a tool; `cat | cat | cat` has a cat in place of the tool.",
            "memory", "pipes", size * (count + 2), count * size / MIB / 500,
            (("cat \\| cat",), ("cat \\| age \\| cat",)),
            lambda folder, action=action: sections.pipes(tools, folder, size, action))


def threads(tools, extent):
    counts = sorted({1, *range(2, extent.processors + 1), 8})
    for action in ["encrypt", "decrypt"]:
        yield Section(
            f"jobs-{action}", f"{size_name(extent.middle)} in memory, by threads: {action}",
            f"This machine has {extent.processors} processors.", "memory", "jobs", 4 * extent.middle,
            (len(counts) + 2) * extent.middle / MIB / 800, (("cp",), ("age",)),
            lambda folder, action=action: sections.jobs(tools, folder, extent.middle, counts, action))


def small(tools, extent):
    for medium in ["memory", "disk"]:
        for action in ["encrypt", "decrypt"]:
            synced = medium == "disk"
            yield Section(
                f"small-{medium}-{action}",
                f"{extent.files:,} files of 4 KiB {'on disk, synced' if synced else 'in memory'}: {action}",
                "One call of vaultfile for all files, with `--files-from`." + (
                    " vaultfile makes every file durable before it gets its name; after `cp -r`, every file is synced."
                    if synced else "") + f" age and openssl need a call for each file; {extent.calls} calls were "
                "measured.",
                medium, f"small-{medium}", extent.files * 30_000, extent.files / (150 if synced else 700),
                (("cp -r", "cp -r, each synced"), ("age, a call for each file", "age, a call for each file, synced")),
                lambda folder, action=action, synced=synced: sections.small_files(
                    tools, folder, action, synced, extent.files, extent.calls), 3)


def compressed(tools, extent):
    corpus = sections.corpus_of([each for each in CORPUS if os.path.isdir(each)], extent.corpus)
    for action in ["encrypt", "decrypt"]:
        note = ("Text, headers and programs of this machine, in memory. The length of the result reveals something of "
                "the contents.")
        if not tools.vaultfile.can_compress():
            note += " This build of vaultfile has no `--compress`, so it is not in the table."
        copy, age = ("gzip -6", "gzip -6 \\| age") if action == "encrypt" else ("gzip -d", "age -d \\| gzip -d")
        yield Section(
            f"compression-{action}", f"Compression: {action}", note + " Here “copy” is gzip alone.", "memory",
            "compression", 6 * extent.corpus, 4 * extent.corpus / MIB / (30 if action == "encrypt" else 150),
            ((copy,), (age,)),
            lambda folder, action=action: sections.compression(tools, folder, corpus, action), 3)
