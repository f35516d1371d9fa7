"""Writes the results as Markdown and as a chart."""

import os

from cases import THREADS, UNTOUCHED
from chart import growth
from measure import MIB
from report import duration, machine, paragraph

VERBS = ("verify", "decrypt", "stream", "inspect")
ABOUT = """Written by `make resources`; do not edit. For each cap of the [format](../Spec/FORMAT.md) there is a
container at the cap and one past it. Then there are series of containers in which an attacker makes one thing large.
The script makes all of them with the code that makes the test vectors. `make resources` fails if a result is not the
format's, if a bound is exceeded, or if time grows faster than the size."""
MEASURES = """Times are processor times of all threads together, of whole processes, start included. “Stream” decrypts
from a pipe. Memory is the peak of the process, in MiB; values below {floor} cannot be measured. Each container is
read with one thread and with two. The first two columns of memory are for one thread; the other two, and the times,
are for two. Everything that is decrypted or recovered is compared with the right contents."""
BOUND = """The bound is the memory that CAP-4 allows so many threads; plus {untouched} MiB for parts of the program,
its libraries and its heap that a small container does not touch (libcrypto does not start for it); plus the memory
that the same verb takes for a container of 700 bytes, with one thread or two: {bases} MiB."""
POWER = """The power says how the time grows with the size: 1 is linear, 2 is quadratic. It is fitted to the time that
each size takes above the size before. No single step may exceed the power of 1.3 either."""


def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}".replace(".0 ", " ")
    return f"{count} B"


def memory(count, floor):
    return f"{count / MIB:,.1f}" if count > floor * 1.05 else f"< {floor / MIB:.0f}"


def results(row):
    """The results of all verbs; one word if they agree."""
    by_result = {}
    for verb, each in row["verbs"].items():
        by_result.setdefault(each["result"], []).append(verb)
    named = [text if text == "opens" else f"`{text}`" for text in by_result]
    if len(named) == 1:
        return named[0]
    return "; ".join(f"{', '.join(verbs)}: {name}" for name, verbs in zip(named, by_result.values()))


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def memory_and_bound(row, found):
    for threads in THREADS:
        yield memory(row["memory"][threads], found["floor"])
        yield f"{row['memory bound'][threads] / MIB:,.0f}"


def bases(found):
    """The memory that each verb takes for a small container, with each number of threads."""
    said = {}
    for (verb, _), least in sorted(found["base"].items()):
        said.setdefault(verb, []).append(f"{least / MIB:.1f}")
    return ", ".join(f"{verb} {' or '.join(each)}" for verb, each in said.items())


def case_rows(found):
    for row in found["cases"]:
        seconds = [duration(row["verbs"][verb]["cpu"]) if verb in row["verbs"] else "" for verb in VERBS]
        wrong = f" **{'; '.join(row['wrong'])}**" if row["wrong"] else ""
        yield [
            row["what"], row["rule"], row["value"], size(row["bytes"]), results(row) + wrong, *seconds,
            *memory_and_bound(row, found)]


def series_rows(found):
    for row in found["series"]:
        (first, start), (last, end) = row["points"][0], row["points"][-1]
        power = "too small to measure" if row["slope"] is None else f"{row['slope']:.2f}"
        wrong = f" **{'; '.join(row['wrong'])}**" if row["wrong"] else ""
        yield [
            row["verb"], row["what"], f"{first:,} … {last:,} {row['unit']}", duration(start), duration(end),
            power + wrong, *(memory(row["memory"][threads], found["floor"]) for threads in THREADS)]


def markdown(found):
    return "\n".join([
        "# What hostile containers cost", "",
        paragraph(ABOUT), "",
        paragraph(MEASURES.format(floor=f"{found['floor'] / MIB:.0f}")), "",
        paragraph(BOUND.format(untouched=UNTOUCHED // MIB, bases=bases(found))), "",
        "| | |", "|---|---|", f"| machine | {machine()} |", f"| measured | {found['measured']} |", "",
        "## At the caps, and past them", "",
        *table(["cap", "rule", "value", "container", "result", *VERBS, *2 * ["MiB", "bound"]], case_rows(found)), "",
        "## Time against size", "",
        paragraph(POWER), "",
        "![Time against size](growth.svg)", "",
        *table(["verb", "what is made large", "from … to", "least", "most", "power", *2 * ["MiB"]],
               series_rows(found)), ""])


def write(folder, found):
    series = [
        (f"{row['verb']}: {row['what']}",
         [(size / row["points"][-1][0], max(cpu, 1e-4)) for size, cpu in row["points"]])
        for row in found["series"]]
    note = "Logarithmic scales; sizes are fractions of the largest. Whole processes, start included."
    text = growth("Time against size", note, series, "s")
    for name, contents in [("growth.svg", text), ("RESOURCES.md", markdown(found))]:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(contents)
