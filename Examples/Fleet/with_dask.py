"""Processes of Dask, on this machine. With the address of a scheduler, Client() takes a cluster."""

import sys

from dask.distributed import Client, as_completed
from vaultfile import fleet

import common


def work(part, store, change):
    return list(fleet.rotate(part, store, change))


if __name__ == "__main__":
    given, store, change = common.arguments()
    names = common.names(given)
    with Client(n_workers=given.jobs, threads_per_worker=1, dashboard_address=None) as client:
        parts = [names[start : start + 100] for start in range(0, len(names), 100)]
        # pure=False: a run is not an answer to remember.
        futures = client.map(work, parts, store=store, change=change, pure=False)
        done = as_completed(futures, with_results=True)
        sys.exit(common.report(given, (result for _, part in done for result in part)))
