"""Ray, on this machine. With the address of a cluster, ray.init() takes that."""

import itertools
import sys

import ray
from vaultfile import fleet

import common

given, store, change = common.arguments()
ray.init(num_cpus=given.jobs, include_dashboard=False, log_to_driver=False)


@ray.remote
def work(part):
    return list(fleet.rotate(part, store, change))


def results():
    parts = common.parts(given)
    waiting = [work.remote(part) for part in itertools.islice(parts, common.window(given))]
    while waiting:
        done, waiting = ray.wait(waiting)
        for part in ray.get(done):
            yield from part
        waiting += [work.remote(part) for part in itertools.islice(parts, len(done))]


status = common.report(given, results())
ray.shutdown()
sys.exit(status)
