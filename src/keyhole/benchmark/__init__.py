"""The benchmark: every policy of a setting on a fixed list of problems, by fixed rules."""

from keyhole.benchmark.benchmark import RESULTS_FILE, bench
from keyhole.benchmark.results_file import BenchmarkResults, read_results
from keyhole.former_names import add_former_names

__all__ = ["RESULTS_FILE", "BenchmarkResults", "bench", "read_results"]

add_former_names(__name__)
