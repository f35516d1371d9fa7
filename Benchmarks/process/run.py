#!/usr/bin/env python3
"""Compares vaultfile with other tools, and writes RESULTS.md and its charts. `make bench` builds what this needs first.

It keeps the results in .build/benchmarks/results.json, so --only measures some sections again and keeps the others.
"""

import argparse
import os
import shutil
import sys
import tempfile

import report
from measure import MIB, Failed, memory_floor, rounds_of, row
from plan import Extent, plan
from store import load, measured, save
from tools import Tools, output_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def size(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit) and text[:-3].strip().isdigit():
            return int(text[:-3]) * factor
    raise argparse.ArgumentTypeError(f"{text} is not a size such as 64MiB or 2GiB")


def sizes(text):
    return [size(each.strip()) for each in text.split(",")]


def options():
    build = os.path.join(ROOT, ".build")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="rounds of every section (default: 5)")
    parser.add_argument("--sizes", type=sizes, help="sizes of the large files (default: 64MiB,1GiB,2GiB,4GiB)")
    parser.add_argument("--folder", default=os.path.join(build, "benchmarks"), help="a folder on the disk to measure")
    parser.add_argument("--memory", default="/dev/shm", help="a folder in memory")
    parser.add_argument(
        "--only", action="append", default=[], metavar="SECTION",
        help="only sections whose names begin so, such as memory, disk-1GiB, pipes, jobs, small, start; repeatable")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to test the script; writes nothing into the source folders")
    parser.add_argument("--list", action="store_true", help="list the sections and how long they take")
    parser.add_argument("--vaultfile", default=os.path.join(build, "release", "vaultfile"))
    parser.add_argument("--static", default=os.path.join(build, "static", "release", "vaultfile"))
    parser.add_argument("--libsodium", default=os.path.join(build, "libsodium", "release", "vaultfile"))
    parser.add_argument("--before", help="a vaultfile of an earlier commit, measured beside this one")
    parser.add_argument("--output", help="a folder for RESULTS.md and the charts (default: Benchmarks)")
    chosen = parser.parse_args()
    chosen.rounds = chosen.rounds or (2 if chosen.quick else 5)
    chosen.sizes = chosen.sizes or sizes("16MiB,64MiB" if chosen.quick else "64MiB,1GiB,2GiB,4GiB")
    chosen.store = os.path.join(build, "benchmarks", "quick" if chosen.quick else "", "results.json")
    chosen.output = chosen.output or (os.path.dirname(chosen.store) if chosen.quick else os.path.dirname(HERE))
    return chosen


def free(folder):
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize


def free_memory(folder):
    """The free bytes of a folder in memory. tmpfs may report more than the machine has."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            available = next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return free(folder)
    return min(free(folder), available)


def say(text, end="\n"):
    if sys.stderr.isatty() or end == "\n":
        print(text, end=end, file=sys.stderr, flush=True)


def announce(planned, room, rounds):
    """Says what the measurement needs, before it begins. Returns the sections that fit."""
    fitting = [each for each in planned if each.space <= room[each.medium] * 0.9]
    seconds = sum(each.seconds * (min(rounds, each.most_rounds) + 2) for each in fitting)
    minutes = max(1, round(seconds / 60))
    say(f"{len(fitting)} sections, {rounds} rounds: about {minutes} min, if nothing else runs on this machine.")
    for medium in ["memory", "disk"]:
        most = max((each.space for each in fitting if each.medium == medium), default=0)
        say(f"{medium}: at most {most / MIB:,.0f} MiB at a time; {room[medium] / MIB:,.0f} MiB are free")
    for each in planned:
        if each not in fitting:
            say(f"left out: {each.identity} needs {each.space / MIB:,.0f} MiB in {each.medium}")
    return fitting


def measure(section, folder, rounds):
    """Measures one section. Returns its rows."""
    progress = sys.stderr.isatty()
    tasks = section.make(folder)
    samples = rounds_of(
        tasks, min(rounds, section.most_rounds),
        lambda text: say(f"\r\033[K  {text}", end="") if progress else None)
    if progress:
        say("\r\033[K", end="")
    return [row(task, samples[task.name]) for task in tasks]


def main():
    chosen = options()
    os.makedirs(chosen.folder, exist_ok=True)
    if not os.access(chosen.vaultfile, os.X_OK):
        sys.exit(f"{chosen.vaultfile} is missing. Use `make bench`, which builds vaultfile first.")
    if chosen.before and not os.access(chosen.before, os.X_OK):
        sys.exit(f"{chosen.before} is not a program")
    folders = {"memory": tempfile.mkdtemp(prefix="vaultfile-bench-", dir=chosen.memory),
               "disk": tempfile.mkdtemp(prefix="vaultfile-bench-", dir=chosen.folder)}
    tools = Tools(folders["memory"], chosen.vaultfile, chosen.libsodium, chosen.static, chosen.before)
    try:
        room = {"memory": free_memory(folders["memory"]), "disk": free(folders["disk"])}
        processors = len(os.sched_getaffinity(0))
        extent = (Extent.quick if chosen.quick else Extent.full)(chosen.sizes, processors)
        every = plan(tools, extent, folders, room)
        planned = [each for each in every if not chosen.only or each.identity.startswith(tuple(chosen.only))]
        if not planned:
            sys.exit("no such section; the sections are: " + " ".join(each.identity for each in every))
        planned = announce(planned, room, chosen.rounds)
        if chosen.list:
            print("\n".join(f"{each.identity:24} {each.title}" for each in planned))
            return
        run(chosen, tools, folders, every, planned)
    finally:
        tools.close()
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def run(chosen, tools, folders, every, planned):
    stored = load(chosen.store, {"sections": {}})
    stored["floor"] = memory_floor()
    versions = tools.versions()
    versions["vaultfile"] = "; ".join(output_of(chosen.vaultfile, "--version", "--verbose").split("\n")[:2])
    stored["about"] = {
        "machine": report.machine(), "versions": versions, "missing": tools.missing,
        "measured": measured(),
        "folders": {"in memory": report.file_system(folders["memory"]), "on disk": report.file_system(folders["disk"])},
    }
    failures, place = [], None
    for number, section in enumerate(planned):
        if place and section.place != place:
            shutil.rmtree(os.path.join(folders[planned[number - 1].medium], place))
        place = section.place
        folder = os.path.join(folders[section.medium], place)
        os.makedirs(folder, exist_ok=True)
        say(f"{number + 1}/{len(planned)} {section.title}")
        try:
            rows = measure(section, folder, chosen.rounds)
        except Failed as failure:
            failures.append(f"{section.title}: {failure}")
            say(failures[-1])
            continue
        stored["sections"][section.identity] = {
            "title": section.title, "note": section.note, "baselines": section.baselines, "rows": rows,
            "measured": stored["about"]["measured"]}
        save(stored, chosen.store)
    # Sections of older runs that this plan does not have come last.
    order = [each.identity for each in every]
    order += [each for each in stored["sections"] if each not in order]
    os.makedirs(chosen.output, exist_ok=True)
    charts = report.draw(stored, chosen.output)
    page = os.path.join(chosen.output, "RESULTS.md")
    with open(page, "w", encoding="utf-8") as file:
        file.write(report.markdown(stored, order, charts))
    say(f"wrote {page}")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
