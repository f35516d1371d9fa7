"""Spark, on this machine. With spark-submit --master it runs on a cluster."""

import os
import sys

from pyspark.sql import SparkSession
from vaultfile import fleet

import common

given, store, change = common.arguments()
spark = SparkSession.builder.appName("vaultfile").getOrCreate()
# A name has some fifty bytes: so a partition has some hundreds.
inventory = spark.sparkContext.textFile(given.inventory, 4 * given.jobs + os.path.getsize(given.inventory) // 20_000)
rotated = inventory.mapPartitions(lambda names: fleet.rotate(names, store, change))


def results():
    """A job of some partitions after the other: all workers are busy, and not all results are here at once. On a cluster,
    rotated.map(…).saveAsTextFile(…) keeps them there, and the sums alone come here."""
    count = rotated.getNumPartitions()
    for first in range(0, count, common.window(given)):
        some = range(first, min(first + common.window(given), count))
        yield from spark.sparkContext.runJob(rotated, list, some)


status = common.report(given, results())
spark.stop()
sys.exit(status)
