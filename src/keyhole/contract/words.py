"""How policies say what they have counted, and messages what there is."""

from collections.abc import Sequence

from keyhole.contract.scale import UNIT, Scale


def counted(number: float, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "pull"), counted(3.0, "pull")
    ('1 pull', '3 pulls')
    """
    return f"{int(number)} {noun}{'' if number == 1 else 's'}"


def averaged(number: float, total: float, scale: Scale = UNIT) -> str:
    """Return the mean of a number of things with a sum, to be added to a line; of none, nothing.

    It is shown in the units of a learner's `scale`.

    Examples
    --------
    >>> averaged(4, 1.0), averaged(0, 0.0)
    (', mean 0.25', '')
    """
    return f", mean {scale.outward(total / number):.3g}" if number else ""


def listed(words: Sequence[str]) -> str:
    """Return some words, one after the other.

    Examples
    --------
    >>> listed(["pulls"]), listed(["pulls", "totals", "index"])
    ('pulls', 'pulls, totals and index')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
