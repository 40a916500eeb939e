"""Speed, measured against yardsticks in the same run."""

import os

# What is measured is compiled, however little of it there is.
os.environ.setdefault("KEYHOLE_INTERPRET", "0")
