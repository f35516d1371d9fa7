"""Threads of one process. The library and the network work without Python's lock."""

import sys
from concurrent.futures import ThreadPoolExecutor

from vaultfile import fleet

import common

given, store, change = common.arguments()
names = common.names(given)
parts = [names[start : start + 100] for start in range(0, len(names), 100)]
with ThreadPoolExecutor(given.jobs) as pool:
    parts = pool.map(lambda part: list(fleet.rotate(part, store, change)), parts)
    sys.exit(common.report(given, (result for part in parts for result in part)))
