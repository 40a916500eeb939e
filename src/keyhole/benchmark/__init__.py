"""The benchmark: every policy of a setting on a fixed list of problems, by rules fixed before."""

from keyhole.benchmark.benchmark import RESULTS_FILE, bench
from keyhole.benchmark.results_file import BenchmarkFile, add_results, read_results

__all__ = ["RESULTS_FILE", "BenchmarkFile", "add_results", "bench", "read_results"]
