"""Programs here are read by type checkers, and not run."""

collect_ignore = ["right.py", "wrong.py"]
