"""Colours and line styles of policies, equal on all pages and in all figures.

A policy is what charts compare; its colour follows the leading identifier of its label: ``LSA``,
``LSA(alpha=2)`` and ``LSA, our replica`` have the same colour, and differ by the dashes of their
lines.
"""

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
"""Okabe and Ito's (2008) palette without its yellow, which is too pale on white.

Readers with any colour vision can distinguish them.
"""

# Two constants of a hash, found by a search: with them no two built-in policies of a setting have
# the same colour if the setting has at most seven; of those with up to fourteen, at most two have.
# Nor have labels of the figures in the documentation, which name policies as papers do. Tests say
# so when a new policy breaks this. The order of the colours gives `Uniform`, to which
# others are compared, the black.
_START: Final = 7356
_MULTIPLIER: Final = 3_871_776_092
_MASK: Final = 0xFFFFFFFF  # 32 bits

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class LineStyle:
    """The look of a line: the numbers of its colour, of its dashes, and of its marker."""

    colour: int
    dashes: int
    """How many lines before it have its colour."""
    position: int


def leading_identifier(label: str) -> str:
    """Return the name that a label begins with, or the label if it begins with none.

    Examples
    --------
    >>> leading_identifier("LSA(alpha=1.35)"), leading_identifier("0.5")
    ('LSA', '0.5')
    """
    found = _IDENTIFIER.match(label)
    return found[0] if found else label


def policy_colour(label: str) -> str:
    """Return the colour of a policy as ``#RRGGBB``.

    Examples
    --------
    >>> policy_colour("LSA") == policy_colour("LSA(alpha=1.35)")
    True
    """
    return COLOURS[_colour_number(leading_identifier(label))]


def _colour_number(identifier: str) -> int:
    # Not `hash`, which differs between processes.
    mixed = zlib.crc32(identifier.encode(), _START) * _MULTIPLIER & _MASK
    return mixed * len(COLOURS) >> _MASK.bit_length()


def line_styles(labels: Sequence[str]) -> dict[str, LineStyle]:
    """Return the style of each line of a figure, by label.

    Where all lines are of one policy, or of numbered arms, their positions determine the colours.

    Examples
    --------
    >>> styles = line_styles(["LSA(alpha=1)", "Uniform", "LSA(alpha=2)"])
    >>> [style.dashes for style in styles.values()]
    [0, 0, 1]
    >>> [style.colour for style in line_styles(["arm 1", "arm 2"]).values()]
    [0, 1]
    """
    identifiers = {label: leading_identifier(label) for label in labels}
    # The name of a policy gives its colour, which cannot tell variants of one policy apart.
    alike = len(identifiers) > 1 and len(set(identifiers.values())) == 1
    lines_before: Counter[int] = Counter()
    styles = {}
    for position, (label, identifier) in enumerate(identifiers.items()):
        colour = position % len(COLOURS) if alike else _colour_number(identifier)
        styles[label] = LineStyle(colour, lines_before[colour], position)
        lines_before[colour] += 1
    return styles
