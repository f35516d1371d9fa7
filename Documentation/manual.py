#!/usr/bin/env python3
"""Writes the manual pages of the command, in mdoc: one for vaultfile, and one for each of its commands.

The texts are those of the command itself: its description of all options (--experimental-dump-help), the usage and the
examples of its help, and the sections of `vaultfile help --long`. With --check, lexgrog must also find a name and a
description in each page, as whatis and apropos need them.
"""

import argparse
import json
import os
import re
import subprocess
import sys


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def escaped(text):
    """The text as mdoc shows it. A line that begins with a point or an apostrophe would be a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def quoted(text):
    return '"' + escaped(text).replace('"', '\\(dq') + '"'


def page_name(words):
    return "-".join(["vaultfile", *words])


def paragraphs(text):
    return "\n.Pp\n".join(escaped(" ".join(part.split())) for part in text.split("\n\n") if part.strip())


def flags(argument):
    """The names of an option with its value, such as `-o, --output output`."""
    names = argument.get("names", [])
    words = [("-" if name["kind"] == "short" else "--") + name["name"] for name in names]
    text = ", ".join(sorted(words, key=len))
    return text if argument["kind"] == "flag" else f"{text} {argument['valueName']}"


def options(command):
    """The options and operands, in the sections of the long help."""
    shown = [item for item in command.get("arguments", []) if item["shouldDisplay"]]
    lines, title = [], None
    operands = [item for item in shown if item["kind"] == "positional"]
    for item in [*operands, *(item for item in shown if item["kind"] != "positional")]:
        section = item.get("sectionTitle")
        if section and section != title:
            lines.append(f".It Sy {quoted(section + ':')}")
        title = section or title
        name = item["valueName"] if item["kind"] == "positional" else flags(item)
        lines += [f".It {quoted(name)}", escaped(item.get("abstract", ""))]
    return lines


def usage(help_text):
    return help_text.split("\n", 1)[0].removeprefix("Usage: ")


def examples(help_text):
    """The lines of the first indented block."""
    for block in help_text.split("\n\n"):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            return lines
    sys.exit(f"no examples in {help_text!r}")


def sections(text):
    """The sections of the long help as mdoc, by their headings."""
    found, lines, in_list = {}, None, False

    def end_list():
        nonlocal in_list
        if in_list:
            lines.append(".El")
        in_list = False

    for line in text.split("\n"):
        if re.fullmatch(r"[A-Z]{2}[A-Z ]+", line):
            if lines is not None:
                end_list()
            lines = found.setdefault(line, [])
        elif lines is None:
            continue
        elif line.startswith("      "):
            lines.append(escaped(line.strip()))
        elif line.startswith("  "):
            if not in_list:
                lines.append(".Bl -tag -width Ds")
            in_list = True
            lines.append(f".It {quoted(line.strip())}")
        elif line.strip():
            if in_list:
                end_list()
                lines.append(".Pp")
            lines.append(escaped(line))
    end_list()
    return found


def page(binary, words, command, others, date):
    name = page_name(words)
    help_text = output(binary, "help", *words)
    abstract = command["abstract"].rstrip(".")
    lines = [
        f".Dd {date}", f".Dt {name.upper()} 1", ".Os",
        ".Sh NAME", f".Nm {name}", f".Nd {escaped(abstract[0].lower() + abstract[1:])}",
        ".Sh SYNOPSIS", f".Nm {quoted(usage(help_text))}",
        ".Sh DESCRIPTION", paragraphs(command.get("discussion", command["abstract"]))]
    commands = [item for item in command.get("subcommands", []) if item["shouldDisplay"] and item["commandName"] != "help"]
    if commands:
        lines += [".Sh COMMANDS", ".Bl -tag -width Ds"]
        for item in commands:
            lines += [f".It Xr {page_name([*words, item['commandName']])} 1", escaped(item["abstract"])]
        lines.append(".El")
    lines += [".Sh OPTIONS", ".Bl -tag -width Ds", *options(command), ".El"]
    if words:
        lines += [
            ".Sh EXIT STATUS", "0 on success; the others are listed in", ".Xr vaultfile 1 .",
            ".Sh EXAMPLES", ".Bd -literal", *[escaped(line) for line in examples(help_text)], ".Ed"]
    else:
        for heading, text in sections(output(binary, "help", "--long")).items():
            lines += [f".Sh {heading}", *text]
    see = [f".Xr {other} 1" for other in others if other != name]
    lines += [".Sh SEE ALSO", *[f"{line} ," for line in see[:-1]], see[-1]]
    return "\n".join(lines) + "\n"


def commands(command, words=()):
    """Every command with the words that name it, the program first."""
    yield list(words), command
    for item in command.get("subcommands", []):
        if item["shouldDisplay"] and item["commandName"] != "help":
            yield from commands(item, (*words, item["commandName"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--date", required=True, help="the date of the pages, such as 2026-11-23")
    parser.add_argument("--check", action="store_true", help="check each page with lexgrog")
    arguments = parser.parse_args()
    root = json.loads(output(arguments.binary, "--experimental-dump-help"))["command"]
    os.makedirs(arguments.folder, exist_ok=True)
    for old in os.listdir(arguments.folder):
        os.remove(os.path.join(arguments.folder, old))
    found = list(commands(root))
    names = sorted(page_name(words) for words, _ in found)
    for words, command in found:
        path = os.path.join(arguments.folder, page_name(words) + ".1")
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(arguments.binary, words, command, names, arguments.date))
        if arguments.check:
            parsed = subprocess.run(["lexgrog", path], capture_output=True, text=True)
            if parsed.returncode != 0 or f"{page_name(words)} - " not in parsed.stdout:
                sys.exit(f"{path}: lexgrog: {parsed.stdout}{parsed.stderr}")
    print(f"{len(found)} pages")


main()
