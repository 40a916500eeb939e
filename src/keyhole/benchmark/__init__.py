"""The benchmark: every policy of a setting on a fixed list of problems, by rules fixed before."""

from keyhole.benchmark.benchmark import RESULTS_FILE, bench
from keyhole.benchmark.results_file import BenchmarkFile, add_results, pool_seeds, read_results

__all__ = ["RESULTS_FILE", "BenchmarkFile", "add_results", "bench", "pool_seeds", "read_results"]
