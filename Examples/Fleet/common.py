"""What the programs beside it have in common: their options, and what they print. Only the program that starts an engine
imports it; the engine's workers need vaultfile alone."""

import argparse
import itertools
import json

from vaultfile import KeyFile, fleet


def arguments():
    parser = argparse.ArgumentParser(description="Rotates header files in a bucket from one key to another.")
    parser.add_argument("inventory", help="a file with the keys of the objects, one a line")
    parser.add_argument("--bucket", required=True)
    parser.add_argument("--endpoint", help="the URL of a store other than Amazon's")
    parser.add_argument("--old", required=True, help="a key file, on every worker")
    parser.add_argument("--new", required=True, help="a key file, on every worker")
    parser.add_argument("--jobs", type=int, default=2, help="how many objects at once")
    parser.add_argument("--results", help="a new file of results, a line of JSON each")
    given = parser.parse_args()
    client = {"endpoint_url": given.endpoint} if given.endpoint else {}
    store = fleet.S3Headers(given.bucket, client)
    change = fleet.Change(keys=KeyFile(given.old), add=KeyFile(given.new), remove=KeyFile(given.old))
    return given, store, change


#: Names that a task has: few are done again after an interruption, and a task costs little beside them.
PART = 100


def parts(given):
    """The inventory in lists of names, read as they are needed."""
    with open(given.inventory, encoding="utf-8") as file:
        names = (line.rstrip("\n") for line in file)
        while part := list(itertools.islice(names, PART)):
            yield part


def window(given):
    """How many tasks are given to an engine at once: enough that no worker waits, and not a whole inventory."""
    return 4 * given.jobs


def report(given, results):
    """Writes the results as they come, and prints the sums. The status is 1 if something is left to do."""
    def noted():
        if given.results is None:
            yield from results
            return
        with open(given.results, "x", encoding="utf-8") as file:
            for result in results:
                file.write(json.dumps(result.as_dict()) + "\n")
                yield result

    sums = fleet.count(noted())
    print(json.dumps({
        "outcomes": sums.outcomes, "keys": sums.keys, "requests": sums.requests, "bytes_read": sums.bytes_read,
        "bytes_written": sums.bytes_written}))
    return 0 if set(sums.outcomes) <= {outcome.value for outcome in fleet.DONE} else 1
