"""Stores the results, and says which state of the sources they are for."""

import datetime
import json
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load(path, empty):
    """The stored results, or `empty` if there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return empty


def save(found, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(found, file, indent=1)
    os.replace(path + ".new", path)


def measured():
    """The time, and the state of the sources."""
    def git(*arguments):
        return subprocess.run(
            ["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False).stdout.strip()

    differs = git("status", "--porcelain", "--untracked-files=no", "--", "Sources", "Package.swift")
    changed = " with changes" if differs else ""
    now = datetime.datetime.now(datetime.timezone.utc)
    return f"{now:%Y-%m-%d %H:%M} UTC, commit {git('rev-parse', '--short=10', 'HEAD') or 'unknown'}{changed}"
