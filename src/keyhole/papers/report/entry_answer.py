"""The answer that heads a report: how many of a paper's statements (claims) hold, in one line."""

from collections.abc import Mapping, Sequence
from typing import Final

from keyhole.pages.page import Answer
from keyhole.papers.report.judged_entry import JudgedEntry, TemplateBlock, shared_verdicts
from keyhole.papers.verdicts import Status, Verdict, deciding_verdict

_VERBS: Final[dict[Status, tuple[str, str]]] = {
    "holds": ("holds", "hold"),
    "undecided": ("is open", "are open"),
    "does not hold": ("does not hold", "do not hold"),
}

_Mark = tuple[Status, str]
_NO: Final[_Mark] = ("does not hold", "No.")
_NOT_DECIDED: Final[_Mark] = ("undecided", "Not decided.")
_IN_PART: Final[_Mark] = ("undecided", "In part.")
_MOSTLY: Final[_Mark] = ("holds", "Mostly.")
_YES: Final[_Mark] = ("holds", "Yes.")
_WEAKEST_FIRST: Final = (_NO, _NOT_DECIDED, _IN_PART, _MOSTLY, _YES)


def entry_answer(
    part: JudgedEntry, known: Mapping[str, Verdict], front: str
) -> list[Answer | TemplateBlock]:
    """Return the answer of an entry, and the small line below it.

    Parameters
    ----------
    part : JudgedEntry
        The entry.
    known : mapping of str to Verdict
        By id, all verdicts of this folder, of which the one with the most replications counts.
    front : str
        Link to the page of all entries, or nothing.
    """
    decided = [deciding_verdict(verdict, known) for verdict in part.papers_verdicts]
    own = part.own_verdicts
    elsewhere = sum(
        one.id != verdict.id for one, verdict in zip(decided, part.papers_verdicts, strict=True)
    )
    if not decided:
        checks = count_sentence(own, "Keyhole's own", "check")
        text = f"No paper claims this. {checks}" if own else "Figures alone: nothing is claimed."
        return [Answer(text), _entry_line(part, "", 0, front)]
    judged = [one for one in decided if one.is_on_papers_setup]
    replicas = [one for one in decided if not one.is_on_papers_setup]
    where = "" if judged else f", on {setup_words(replicas)},"
    text = count_sentence(decided, "the paper's", "claim", where)
    if judged and replicas:
        text += f" On {setup_words(replicas)}, of these: {counts(replicas)}."
    status, mark = _mark_of_setups(judged or replicas, decided)
    if is_provisional(part, known):
        mark = mark.replace(".", ", so far.")
    # A word answers a question; a title asks none.
    answer = Answer(text, "", mark if part.entry.question else "", status)
    return [answer, _entry_line(part, counts(own), elsewhere, front)]


def _entry_line(part: JudgedEntry, checks: str, elsewhere: int, front: str) -> TemplateBlock:
    """Return the small line below an answer: the entry, its size, Keyhole's checks, and a link.

    `checks` are how many of Keyhole's own checks hold, `elsewhere` how many verdicts of longer runs
    the answer counts.
    """
    title = f"{part.entry.title}. " if part.entry.question else ""
    about = f"{title}{part.replications:,} runs."
    return TemplateBlock(
        "entry_line", part=part, about=about, checks=checks, elsewhere=elsewhere, front=front
    )


def _mark_of_setups(judged: Sequence[Verdict], every: Sequence[Verdict]) -> _Mark:
    """Return the mark of claims judged on the paper's set-ups, and of these with all others.

    Claims on set-ups of ours may weaken an answer. They make no more of it than "In part.".
    """
    theirs, together = answer_mark(judged), answer_mark(every)
    if _WEAKEST_FIRST.index(together) <= _WEAKEST_FIRST.index(theirs):
        return together
    return max(theirs, _IN_PART, key=_WEAKEST_FIRST.index)


def is_provisional(part: JudgedEntry, known: Mapping[str, Verdict]) -> bool:
    """Return whether a claim of the paper is judged in more runs by an entry that has not run."""
    return any(
        other.status is None and other.replications > verdict.replications
        for verdict in part.papers_verdicts
        for other in shared_verdicts(verdict, part.scale, known, on_page=())
    )


def answer_mark(verdicts: Sequence[Verdict]) -> tuple[Status, str]:
    """Return the status and the first word of an answer, by the rule `judging_rules.MARK_RULE`."""
    found = [verdict.status for verdict in verdicts]
    half = len(found) / 2
    if found.count("holds") == len(found):
        return _YES
    if found.count("holds") > half:
        return _MOSTLY
    if found.count("does not hold") > half:
        return _NO
    return _NOT_DECIDED if found.count("undecided") >= half else _IN_PART


def count_sentence(verdicts: Sequence[Verdict], whose: str, noun: str, where: str = "") -> str:
    """Return a sentence with how many claims hold, are open, and do not hold.

    Examples
    --------
    >>> count_sentence([], "the paper's", "claim")
    "Of the paper's 0 claims none is judged."
    """
    if not verdicts:
        return f"Of {whose} 0 {noun}s none is judged."
    statuses = {verdict.status for verdict in verdicts}
    if len(verdicts) == 1:
        (status,) = statuses
        text = f"{whose} only {noun}{where} {_VERBS[status][0]}."
    elif len(statuses) == 1:
        (status,) = statuses
        many = f"{whose} {len(verdicts)} {noun}s{where}"
        together = {"holds": "all hold", "undecided": "are all open"}
        text = f"{many} {together[status]}." if status in together else f"none of {many} holds."
    else:
        text = f"of {whose} {len(verdicts)} {noun}s{where} {counts(verdicts)}."
    return text[:1].upper() + text[1:]


def counts(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims hold, are open, and do not hold: "4 hold, 1 is open"."""
    found = [verdict.status for verdict in verdicts]
    return ", ".join(
        f"{n} {verbs[n != 1]}" for status, verbs in _VERBS.items() if (n := found.count(status))
    )


def setup_words(verdicts: Sequence[Verdict]) -> str:
    """Return whose set-up claims of a paper are judged on, where it is not the paper's."""
    replica = all(verdict.setup == "replica" for verdict in verdicts)
    return "our replica of its set-up" if replica else "set-ups of ours"
