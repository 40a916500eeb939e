"""How long tests are that compare random cases exactly: short in `make test`, longer beside it."""

LONG = False
"""Whether all is compiled, as in `make test-slow`; set before tests are collected."""


def short_or_long(short: int, long: int) -> int:
    """Return how many examples to try."""
    return long if LONG else short
