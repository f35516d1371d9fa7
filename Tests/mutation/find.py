"""Finds what can be switched in a source: its checks, and its steps if it is of the writing path."""

from collections import Counter
from pathlib import Path

from checks import Checks
from steps import Steps


def find(root, path, writes=False):
    """Reads a source and finds its checks, and its steps if it is of the writing path."""
    source = (Steps if writes else Checks)(path, (Path(root) / path).read_text(encoding="utf-8")).find()
    source.points.sort(key=lambda point: point.line)
    alike = Counter()
    for point in source.points:
        name = f"{path} {point.kind} {point.text}"
        point.key = f"{name} {alike[name]}"
        alike[name] += 1
    return source
