"""Rendering of HTML from Jinja templates."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from keyhole.validate import escape_controls

if TYPE_CHECKING:
    from jinja2 import Environment

_SPACE: Final = "\N{NO-BREAK SPACE}"
# A number or its logarithm with its interval or ± half of it; a p-value; a round.
_UNBROKEN: Final = re.compile(
    r"(?:\bln )?[-\d.,e+]+ (?:\[[^\]]*\]|± \S+)|\b[pT] [=<] \S+|\bln \S+|95 %"
)


def keep_intervals_together(text: str) -> str:
    r"""Return a text with no-break spaces between numbers and their intervals.

    Examples
    --------
    >>> keep_intervals_together("a minus b: 1.0 [0.5, 1.5], p = 0.01").split(" ")
    ['a', 'minus', 'b:', '1.0\xa0[0.5,\xa01.5],', 'p\xa0=\xa00.01']
    """
    return _UNBROKEN.sub(lambda found: found[0].replace(" ", _SPACE), text)


def _show(value: Any) -> Any:
    """Return what a template prints of a value, before it is escaped as HTML."""
    return value if hasattr(value, "__html__") else escape_controls(str(value), "\n\t")


def render(template: str, **shown: Any) -> str:
    """Render a template, given by its path in the package."""
    return _templates().get_template(template).render(shown)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only reports need it

    # With StrictUndefined a misspelt name in a template is an error, not an empty text.
    found = Environment(
        loader=PackageLoader("keyhole", ""), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_show,
    )  # fmt: skip
    found.filters["together"] = keep_intervals_together
    return found
