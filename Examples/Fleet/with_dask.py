"""Processes of Dask, on this machine. With the address of a scheduler, Client() takes a cluster."""

import itertools
import sys

from dask.distributed import Client, as_completed
from vaultfile import fleet

import common


def work(part, store, change):
    return list(fleet.rotate(part, store, change))


def results(client, given, store, change):
    def submit(count):
        # pure=False: a run is not an answer to remember.
        return [
            client.submit(work, part, store, change, pure=False) for part in itertools.islice(parts, count)]

    parts = common.parts(given)
    waiting = as_completed(submit(common.window(given)), with_results=True)
    for _, done in waiting:
        yield from done
        waiting.update(submit(1))


if __name__ == "__main__":
    given, store, change = common.arguments()
    with Client(n_workers=given.jobs, threads_per_worker=1, dashboard_address=None) as client:
        sys.exit(common.report(given, results(client, given, store, change)))
