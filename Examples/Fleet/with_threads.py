"""Threads of one process. The library and the network work without Python's lock."""

import itertools
import sys
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from vaultfile import fleet

import common

given, store, change = common.arguments()


def work(part):
    return list(fleet.rotate(part, store, change))


def results(pool):
    parts = common.parts(given)
    waiting = {pool.submit(work, part) for part in itertools.islice(parts, common.window(given))}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for part in done:
            yield from part.result()
        waiting |= {pool.submit(work, part) for part in itertools.islice(parts, len(done))}


with ThreadPoolExecutor(given.jobs) as pool:
    sys.exit(common.report(given, results(pool)))
