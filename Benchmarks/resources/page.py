"""What was measured, as Markdown and as a chart."""

import os

from cases import THREADS, UNTOUCHED
from chart import growth
from measure import MIB
from report import duration, machine

VERBS = ("verify", "decrypt", "stream", "inspect")


def size(count):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}".replace(".0 ", " ")
    return f"{count} B"


def memory(count, floor):
    return f"{count / MIB:,.1f}" if count > floor * 1.05 else f"< {floor / MIB:.0f}"


def results(row):
    """One word where all say the same."""
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
    """What the verbs take for a small container, with each number of threads."""
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
        power = "too little to tell" if row["slope"] is None else f"{row['slope']:.2f}"
        wrong = f" **{'; '.join(row['wrong'])}**" if row["wrong"] else ""
        yield [
            row["verb"], row["what"], f"{first:,} … {last:,} {row['unit']}", duration(start), duration(end),
            power + wrong, *(memory(row["memory"][threads], found["floor"]) for threads in THREADS)]


def markdown(found):
    return "\n".join([
        "# What hostile containers cost", "",
        "Written by `make resources`; do not edit. For each cap of the [format](../Spec/FORMAT.md) a container at it",
        "and one past it, and series of containers in which a stranger makes one thing large. They are made on the",
        "spot of what the test vectors are made of. `make resources` fails where a result is another than the",
        "format's, where a bound is exceeded, or where time grows faster than the size.", "",
        "Times are the processor's, of all threads together, of whole processes with their start. “Stream” decrypts",
        f"from a pipe. Memory is the peak of the process, in MiB; less than {found['floor'] / MIB:.0f} cannot be told.",
        "All is read by one thread, to which the first column of memory belongs, and by two, to which the second and the",
        "times belong. The bound is what CAP-3 allows as many threads, above what the same verb takes for a container of",
        "700 bytes:", f"{bases(found)} MiB;",
        f"and {UNTOUCHED // MIB} MiB for what such a container does not touch of the program, its libraries and its",
        "heap: libcrypto does not start for it. What is decrypted or recovered is compared with what it must be.", "",
        "| | |", "|---|---|", f"| machine | {machine()} |", f"| measured | {found['measured']} |", "",
        "## At the caps, and past them", "",
        *table(["cap", "rule", "value", "container", "result", *VERBS, *2 * ["MiB", "bound"]], case_rows(found)), "",
        "## Time against size", "",
        "The power is that of the size by which the time grows, fitted to what each size of the series takes above the",
        "one before: 1 is linear, 2 would be a square. No single step may exceed the power of 1.3 either.", "",
        "![Time against size](growth.svg)", "",
        *table(["verb", "what is made large", "from … to", "least", "most", "power", *2 * ["MiB"]],
               series_rows(found)), ""])


def write(folder, found):
    series = [
        (f"{row['verb']}: {row['what']}",
         [(size / row["points"][-1][0], max(cpu, 1e-4)) for size, cpu in row["points"]])
        for row in found["series"]]
    note = "Both as powers of ten; sizes are parts of the largest. Whole processes, with their start."
    text = growth("Time against size", note, series, "s")
    for name, contents in [("growth.svg", text), ("RESOURCES.md", markdown(found))]:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(contents)
