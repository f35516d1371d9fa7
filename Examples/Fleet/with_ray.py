"""Ray, on this machine. With the address of a cluster, ray.init() takes that."""

import sys

import ray
from vaultfile import fleet

import common

given, store, change = common.arguments()
names = common.names(given)
ray.init(num_cpus=given.jobs, include_dashboard=False, log_to_driver=False)


@ray.remote
def work(part):
    return list(fleet.rotate(part, store, change))


def results():
    waiting = [work.remote(names[start : start + 100]) for start in range(0, len(names), 100)]
    while waiting:
        done, waiting = ray.wait(waiting)
        for part in ray.get(done):
            yield from part


status = common.report(given, results())
ray.shutdown()
sys.exit(status)
