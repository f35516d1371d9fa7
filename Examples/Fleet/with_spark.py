"""Spark, on this machine. With spark-submit --master it runs on a cluster."""

import sys

from pyspark.sql import SparkSession
from vaultfile import fleet

import common

given, store, change = common.arguments()
spark = SparkSession.builder.appName("vaultfile").getOrCreate()
inventory = spark.sparkContext.textFile(given.inventory, 4 * given.jobs)
results = inventory.mapPartitions(lambda names: fleet.rotate(names, store, change))
# On a cluster, results.map(…).saveAsTextFile(…) keeps them there, and the sums alone come here.
status = common.report(given, results.toLocalIterator(prefetchPartitions=True))
spark.stop()
sys.exit(status)
