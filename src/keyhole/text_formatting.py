"""Formatting of counts and lists of names as English text."""

from collections.abc import Sequence


def count_text(number: float, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count_text(1, "pull"), count_text(3.0, "pull")
    ('1 pull', '3 pulls')
    >>> count_text(2, "policy"), count_text(2, "day")
    ('2 policies', '2 days')
    >>> count_text(float("inf"), "pull")  # a learner's file may have such a count
    'inf pulls'
    """
    if number != 1:
        if noun.endswith("y") and noun[-2] not in "aeiou":
            noun = f"{noun[:-1]}ie"
        noun += "s"
    return f"{number:,.0f} {noun}"


def join_words(items: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> join_words(["pulls"]), join_words(["pulls", "totals", "index"])
    ('pulls', 'pulls, totals and index')
    """
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def capitalize(text: str) -> str:
    """Return a text that begins with a capital letter, and is otherwise unchanged.

    Examples
    --------
    >>> capitalize("regret of LSA")
    'Regret of LSA'
    """
    return f"{text[:1].upper()}{text[1:]}"
