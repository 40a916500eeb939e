"""Benchmarks: speeds as ratios to reference programs that are timed in the same run."""

import os

# Always compile: short simulations would otherwise be interpreted.
os.environ.setdefault("KEYHOLE_INTERPRET", "0")
