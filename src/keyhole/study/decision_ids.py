"""Decision ids: short, ordered by time, and impossible to guess.

A program that has acted on a decision tells a study by this id what came of it.
"""

import secrets
from typing import Final

_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TWO: Final = [a + b for a in _LETTERS for b in _LETTERS]
_LENGTH: Final = 26


def new_id(now: float) -> str:
    """Return a ULID: 48 bits of time in milliseconds, then 80 random ones, in Crockford's base 32.

    Examples
    --------
    >>> len(new_id(0.0)), new_id(1.0) < new_id(2.0)
    (26, True)
    """
    bits = (max(0, int(now * 1000.0)) & (2**48 - 1)) << 80 | secrets.randbits(80)
    return "".join([_TWO[bits >> shift & 1023] for shift in range(120, -1, -10)])


def is_id(text: object) -> bool:
    """Return whether a value has the form of an id."""
    return isinstance(text, str) and len(text) == _LENGTH and not set(text) - set(_LETTERS)
