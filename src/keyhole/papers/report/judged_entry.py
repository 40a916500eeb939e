"""An entry that has been run, with its verdicts, and the answer that follows from them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from keyhole.experiment import RunFolder
from keyhole.pages.page import Answer
from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Status, Verdict, deciding_verdict, format_counts, split_by_setup
from keyhole.results.curves import Curves
from keyhole.text_formatting import count_text


class TemplateBlock:
    """A block of a page: a template of this package, and the values that it shows."""

    template: ClassVar[str]  # the path of the template, set for each block

    def __init__(self, template: str, **values: object) -> None:
        vars(self).update(values, template=f"papers/report/templates/{template}.html.j2")


@dataclass(frozen=True)
class JudgedEntry:
    """An entry that has been run, with its verdicts."""

    entry: Entry
    scale: str
    runs: dict[str, RunFolder]  # the finished runs, by problem
    verdicts: tuple[Verdict, ...]  # the verdicts on its claims

    @property
    def replications(self) -> int:
        """The smallest number of replications on its problems."""
        return min(run.curves.replications for run in self.runs.values())

    @property
    def paper_replications(self) -> int:
        """The number of replications at the scale "paper"."""
        return self.entry.scales["paper"].replications

    @property
    def curves(self) -> dict[str, Curves]:
        """The results by problem."""
        return {key: run.curves for key, run in self.runs.items()}

    @property
    def papers_verdicts(self) -> list[Verdict]:
        """The verdicts on claims of the paper."""
        return [verdict for verdict in self.verdicts if verdict.origin != "ours"]

    @property
    def own_check_verdicts(self) -> list[Verdict]:
        """The verdicts on Keyhole's own checks."""
        return [verdict for verdict in self.verdicts if verdict.origin == "ours"]

    @property
    def related_entries(self) -> set[str]:
        """The names of the entries that judge the same statements."""
        return {id.partition("/")[0] for verdict in self.verdicts for id in verdict.same_as}

    def metrics_of(self, problem: str) -> list[str]:
        """Return the entry's metrics that a problem has, the most important first."""
        problem_metrics = self.runs[problem].curves.metrics
        return [metric for metric in self.entry.metrics if metric in problem_metrics]

    def common_metric(self) -> str:
        """Return the entry's first metric that all problems have; without any, its first metric."""
        common = set.intersection(*(set(curves.metrics) for curves in self.curves.values()))
        return next(filter(common.__contains__, self.entry.metrics), self.entry.metrics[0])


def verdicts_by_id(outcomes: Iterable[JudgedEntry]) -> Mapping[str, Verdict]:
    """Return all verdicts of entries by id."""
    return {verdict.id: verdict for outcome in outcomes for verdict in outcome.verdicts}


@dataclass(frozen=True)
class SharedVerdict:
    """Another entry's verdict on the same statement, or the command that runs that entry."""

    id: str
    replications: int
    status: Status | None = None  # None if the claim has not been judged
    address: str = ""  # the link to the verdict, if it has been judged
    command: str = ""  # the command that judges the claim, if it has not been judged


def shared_verdicts(
    verdict: Verdict, scale: str, all_verdicts: Mapping[str, Verdict], on_page: Collection[str]
) -> list[SharedVerdict]:
    """Return the verdicts of other entries on the same statement, the one with most runs first.

    Parameters
    ----------
    verdict : Verdict
        A verdict on the statement.
    scale : str
        The scale at which other entries are run, or would be run.
    all_verdicts : mapping of str to Verdict
        All verdicts of this page and of the pages beside it, by id.
    on_page : collection of str
        The names of the entries of this page.
    """
    shared = []
    for id in verdict.same_as:
        name = id.partition("/")[0]
        if id in all_verdicts:
            address = f"#{id}" if name in on_page else f"../{name}/report.html#{id}"
            judged = all_verdicts[id]
            shared.append(SharedVerdict(id, judged.replications, judged.status, address))
        else:
            entry = Entry.load(name)
            replications = entry.scales[scale].replications
            shared.append(SharedVerdict(id, replications, command=entry.command(scale)))
    return sorted(shared, key=lambda other: -other.replications)


class RunsToDecide(NamedTuple):
    """How many runs would decide a claim, and the command that plays more runs."""

    text: str
    command: str = ""  # empty where no scale has more runs


def runs_to_decide(outcome: JudgedEntry, verdict: Verdict) -> RunsToDecide | None:
    """Return how many runs would decide a claim, and how to play more; None if this is unknown."""
    if verdict.needed is None:
        return None
    needed_runs = float(f"{verdict.needed:.2g}")  # two digits, since it is an estimate
    text = f"{needed_runs:,.0f} runs needed, {verdict.replications:,} played"
    if outcome.scale == "paper" or outcome.paper_replications <= verdict.replications:
        return RunsToDecide(f"{text}; raise the replications in a copy of the entry's file")
    if outcome.paper_replications < needed_runs:
        text += f", {outcome.paper_replications:,} with"  # the command follows
    return RunsToDecide(text, outcome.entry.command("paper"))


_Mark = tuple[Status, str]  # the status that an answer stands for, and its first word
_NO: Final[_Mark] = ("does not hold", "No.")
_NOT_DECIDED: Final[_Mark] = ("undecided", "Not decided.")
_IN_PART: Final[_Mark] = ("undecided", "In part.")
_MOSTLY: Final[_Mark] = ("holds", "Mostly.")
_YES: Final[_Mark] = ("holds", "Yes.")
_WEAKEST_FIRST: Final = (_NO, _NOT_DECIDED, _IN_PART, _MOSTLY, _YES)


def line_below_answer(
    outcome: JudgedEntry, all_verdicts: Mapping[str, Verdict], index_link: str
) -> TemplateBlock:
    """Return the small line below the answer of an entry.

    `index_link` is the link to the page of all entries, or empty.
    """
    about = f"{outcome.replications:,} runs."
    if outcome.entry.question:
        about = f"{outcome.entry.title}. {about}"
    papers_verdicts = outcome.papers_verdicts
    return TemplateBlock(
        "entry_line",
        outcome=outcome,
        about=about,
        checks=format_counts(outcome.own_check_verdicts) if papers_verdicts else "",
        overruled=sum(deciding_verdict(v, all_verdicts).id != v.id for v in papers_verdicts),
        index_link=index_link,
    )


def entry_answer(outcome: JudgedEntry, all_verdicts: Mapping[str, Verdict]) -> Answer:
    """Return the answer of an entry to its question.

    `all_verdicts` are the verdicts of the whole folder by id: of several on one statement, the one
    with the most replications decides.
    """
    deciding = [deciding_verdict(verdict, all_verdicts) for verdict in outcome.papers_verdicts]
    if not deciding:
        text = "Figures alone: nothing is claimed."
        if outcome.own_check_verdicts:
            checks = count_sentence(outcome.own_check_verdicts, "Keyhole's own", "check")
            text = f"No paper claims this. {checks}"
        return Answer(text)
    on_papers_setup, on_our_setups = split_by_setup(deciding)
    where = "" if on_papers_setup else f" on {describe_setups(on_our_setups)}"
    text = count_sentence(deciding, "The paper's", "claim", where)
    if on_papers_setup and on_our_setups:
        text += f" On {describe_setups(on_our_setups)}, of these: {format_counts(on_our_setups)}."
    status, mark = _entry_mark(on_papers_setup or on_our_setups, deciding)
    if is_answer_provisional(outcome, all_verdicts):
        mark = mark.replace(".", ", so far.")
    # The first word answers a question. An entry without a question is headed by its title.
    if not outcome.entry.question:
        mark = ""
    return Answer(text, "", mark, status)


def answer_sentence(outcome: JudgedEntry, all_verdicts: Mapping[str, Verdict]) -> str:
    """Return the answer of an entry with its first word, and how many of Keyhole's checks hold."""
    answer = entry_answer(outcome, all_verdicts)
    sentences = [answer.mark, answer.text]
    if outcome.papers_verdicts and outcome.own_check_verdicts:
        sentences.append(count_sentence(outcome.own_check_verdicts, "Keyhole's own", "check"))
    return " ".join(filter(None, sentences))


def _entry_mark(on_papers_setup: Sequence[Verdict], verdicts: Sequence[Verdict]) -> _Mark:
    """Return the answer's status and first word, given the verdicts on the paper's set-up, and all.

    Claims on set-ups of ours may weaken the answer, but raise it at most to "In part.".
    """
    papers_mark = answer_mark(on_papers_setup)
    common_mark = answer_mark(verdicts)
    if _WEAKEST_FIRST.index(common_mark) <= _WEAKEST_FIRST.index(papers_mark):
        return common_mark
    return max(papers_mark, _IN_PART, key=_WEAKEST_FIRST.index)


def is_answer_provisional(outcome: JudgedEntry, all_verdicts: Mapping[str, Verdict]) -> bool:
    """Return whether an entry that has not been run would judge a paper's claim in more runs."""
    return any(
        shared.status is None and shared.replications > verdict.replications
        for verdict in outcome.papers_verdicts
        for shared in shared_verdicts(verdict, outcome.scale, all_verdicts, on_page=())
    )


def answer_mark(verdicts: Sequence[Verdict]) -> tuple[Status, str]:
    """Return the status and the first word of an answer, by the rules in `rules.txt.j2`."""
    statuses = [verdict.status for verdict in verdicts]
    half = len(statuses) / 2
    if statuses.count("holds") == len(statuses):
        return _YES
    if statuses.count("holds") > half:
        return _MOSTLY
    if statuses.count("does not hold") > half:
        return _NO
    return _NOT_DECIDED if statuses.count("undecided") >= half else _IN_PART


def count_sentence(verdicts: Sequence[Verdict], whose: str, noun: str, where: str = "") -> str:
    """Return a sentence that says how many claims hold, are open, and do not hold.

    Examples
    --------
    >>> count_sentence([], "The paper's", "claim")
    "The paper's 0 claims: none is judged."
    """
    subject = f"{whose} {count_text(len(verdicts), noun)}{where}"
    return f"{subject}: {format_counts(verdicts) or 'none is judged'}."


def describe_setups(verdicts: Sequence[Verdict]) -> str:
    """Return the words for the set-ups of claims that are not judged on the paper's set-up."""
    is_replica = all(verdict.setup == "replica" for verdict in verdicts)
    return "our replica of its set-up" if is_replica else "set-ups of ours"
