"""How policies say what they have counted, and messages what there is."""

from collections.abc import Sequence

from keyhole.contract.scale import UNIT, Scale


def counted(number: float, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> counted(1, "pull"), counted(3.0, "pull")
    ('1 pull', '3 pulls')
    >>> counted(2, "policy"), counted(2, "day")
    ('2 policies', '2 days')
    >>> counted(float("inf"), "pull")  # as a learner's file may say
    'inf pulls'
    """
    if number != 1:
        ends_in_y = noun.endswith("y") and noun[-2] not in "aeiou"
        noun = f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"
    return f"{number:.0f} {noun}"


def averaged(number: float, total: float, scale: Scale = UNIT) -> str:
    """Return the mean of a number of things with a sum, to be added to a line; of none, nothing.

    It is shown in the units of a learner's `scale`.

    Examples
    --------
    >>> averaged(4, 1.0), averaged(0, 0.0)
    (', mean 0.25', '')
    """
    return f", mean {scale.outward(float(total) / float(number)):.3g}" if number else ""


def listed(words: Sequence[str]) -> str:
    """Return some words, one after the other.

    Examples
    --------
    >>> listed(["pulls"]), listed(["pulls", "totals", "index"])
    ('pulls', 'pulls, totals and index')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
