"""Writes the results as Markdown."""

import os
import platform
import subprocess
import textwrap

from chart import bars, lines
from measure import MIB
from targets import Results, targets

GIB = 1 << 30
HEAD = """Written by `make bench`; do not edit. The tools take turns: in each round every tool runs once, and each round
begins with another tool. One more run of each comes first; it does not count, and its output is checked if it goes into
a file. Times are medians, of whole processes, start included. CPU is the time of all threads together. vaultfile has
one thread for each processor, unless the row says otherwise; cp, openssl and gpg have one; age does its work on one.
Peak memory is that of the largest process, with the default chunks of 64 KiB; values below {floor} cannot be measured.
“× copy” is the time divided by that of cp, or of the smallest equivalent: cat, dd, true, gzip. Inputs are in the page
cache. They do not compress, unless the table says so."""


def paragraph(text):
    """One paragraph of a page, in lines of 120 columns."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def duration(seconds):
    if seconds >= 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms" if seconds >= 0.1 else (
        f"{seconds * 1000:.1f} ms")


def table(section, floor):
    """The table of one section: each row with its ratios to the copy and to age."""
    rows = section["rows"]
    copy, age = section["baselines"]
    heads = ["", "median", "least – most", "throughput", "× copy", "× age", "CPU", "peak memory", ""]
    lines_ = ["| " + " | ".join(heads) + " |", "|---|" + "--:|" * 7 + "---|"]
    for row in rows:
        speed = row["bytes"] / MIB / row["seconds"]
        rate = f"{speed:,.0f} MiB/s" if speed >= 10 else f"{speed:.1f} MiB/s" if speed else ""
        peak = f"< {floor / MIB:.0f} MiB" if row["memory"] <= floor else f"{row['memory'] / MIB:.1f} MiB"
        lines_.append("| " + " | ".join([
            row["name"], duration(row["seconds"]), f"{duration(row['least'])} – {duration(row['most'])}", rate,
            against(rows, row, copy), against(rows, row, age), duration(row["cpu"]), peak, row["note"]]) + " |")
    return "\n".join(lines_)


def against(rows, row, baseline):
    """The ratio to a baseline: the row of that name, or, for a name with `*`, the row that also ends like this one."""
    for other in rows:
        for name in baseline or []:
            if other["name"] == name or (name.endswith("*") and other["name"].startswith(name[:-1])
                                         and ending(other["name"]) == ending(row["name"])):
                return f"{row['seconds'] / other['seconds']:.2f}"
    return ""


def runs(section):
    """The number of runs behind each median."""
    return ", ".join(str(count) for count in sorted({row["runs"] for row in section["rows"]}))


def ending(name):
    return name.rsplit(": ", 1)[-1].rsplit(", ", 1)[-1]


def machine():
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return (
        f"{model}, {len(os.sched_getaffinity(0))} processors, {memory / GIB:.0f} GiB of memory, "
        # The part after "-" names a build, which says nothing to others.
        f"{platform.system()} {platform.release().split('-')[0]}")


def file_system(folder):
    done = subprocess.run(
        ["findmnt", "-n", "-o", "FSTYPE,SOURCE", "-T", folder], capture_output=True, text=True, check=False)
    return " on ".join(done.stdout.strip().rpartition("\n")[2].split()) or "unknown"


def markdown(stored, order, charts):
    """The whole page, with every section that has results."""
    about, floor = stored["about"], stored["floor"]
    parts = [
        "# Speed", "",
        paragraph(HEAD.format(floor=f"{floor / MIB:.0f} MiB")), "",
        "| | |", "|---|---|", f"| machine | {about['machine']} |", f"| measured | {about['measured']} |",
        *[f"| folder {name} | {text} |" for name, text in about["folders"].items()],
        *[f"| {name} | {text} |" for name, text in about["versions"].items()]]
    if about["missing"]:
        parts.append(f"| not installed, not measured | {', '.join(about['missing'])} |")
    parts += ["", *[f"![{title}]({name})\n" for name, title in charts]]
    parts += ["## Targets", "", "| target | measured | |", "|---|---|---|"]
    parts += [f"| {' | '.join(row)} |" for row in targets(Results(stored["sections"]))]
    for identity in order:
        section = stored["sections"].get(identity)
        if section:
            note = f"{section['note']} Runs a row: {runs(section)}."
            if section["measured"] != about["measured"]:
                note += f" Measured {section['measured']}."
            parts += ["", f"## {section['title']}", "", note, "", table(section, floor)]
    return "\n".join(parts) + "\n"


def draw(stored, folder):
    """Draws the charts that have results. Returns their names and titles."""
    sections, made = stored["sections"], []
    for identity, size, name, title in [
        ("memory", "2GiB", "speed.svg", "2 GiB in memory, nothing synced"),
        ("disk", "2GiB", "disk.svg", "2 GiB on disk, synced"),
    ]:
        groups = []
        for action in ["encrypt", "decrypt"]:
            found = sections.get(f"{identity}-{size}-{action}")
            if found:
                groups.append((action, [
                    (row["name"], *(row["bytes"] / GIB / row[each] for each in ("seconds", "most", "least")))
                    for row in found["rows"]]))
        if groups:
            note = (f"{stored['about']['machine']}. vaultfile has a thread for each processor, the others have one. "
                    "Longer is faster; the dark line spans all runs.")
            made.append((name, title, bars(title, note, groups, "GiB/s")))
    sizes = [size for size in ["64MiB", "1GiB", "2GiB", "4GiB"] if f"memory-{size}-encrypt" in sections]
    if len(sizes) > 1:
        series = []
        for tool in ["vaultfile", "age", "cp"]:
            for action in ["encrypt", "decrypt"]:
                rows = [Results(sections).row(f"memory-{size}-{action}", tool) for size in sizes]
                if all(rows) and not (tool == "cp" and action == "decrypt"):
                    label = tool if tool == "cp" else f"{tool} {action}"
                    series.append((label, [row["bytes"] / GIB / row["seconds"] for row in rows]))
        names = [f"{size[:-3]} {size[-3:]}" for size in sizes]
        title = "Throughput by size, in memory"
        made.append(("sizes.svg", title, lines(title, "Dashed: decrypt.", names, series, "GiB/s")))
    for name, _, text in made:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return [(name, title) for name, title, _ in made]
