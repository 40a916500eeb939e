"""Rows beside the figure of a tune's report: what is saved, what was spent, what is open."""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final

from keyhole.results.estimate import format_estimate
from keyhole.tune.charts import gain_unit
from keyhole.tune.comparison import compare_time, find_rival
from keyhole.tune.saved_tune import TOLERANCE, Tune
from keyhole.tune.summary import (
    count_outcomes,
    format_duration,
    format_run_count,
    format_seconds_roughly,
    format_share,
)

_BATCH: Final = 100  # runs, for which the time saved is stated
_MORE: Final = 4  # times as many runs halve an interval


@dataclass(frozen=True)
class Fact:
    """A name, what is to be said of it, and a note in smaller type."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True)
class FactsBlock:
    """Block with a few rows of facts."""

    facts: list[Fact]
    template: ClassVar[str] = "tune/templates/facts.html.j2"


def facts_block(tune: Tune) -> FactsBlock:
    """Return the facts on the recommended pair, on the runs made, and on what is open."""
    facts = [_spent_fact, _open_fact]
    if tune.best().successes:
        facts = [_time_fact, _success_fact, _gain_fact, *facts]
    return FactsBlock([fact(tune) for fact in facts])


def _is_earlier(tune: Tune) -> bool:
    return tune.best().limit < tune.spec.limits[-1]


def _time_fact(tune: Tune) -> Fact:
    best, full = tune.best(), tune.best().full
    text = format_duration(best.seconds)
    if not _is_earlier(tune):
        return Fact("Time of a run", text)
    saved = compare_time(tune).seconds
    word, size = ("less", saved) if saved.value >= 0.0 else ("more", -saved)
    batch = f"{format_seconds_roughly(_BATCH * size.value)} in {_BATCH} runs"
    return Fact(
        "Time of a run",
        f"{text}; at {full.limit:g} s {format_duration(full.seconds)}",
        f"{format_duration(size)} {word}, {batch}, against {full.arm} "
        f"({format_run_count(full.runs)})",
    )


def _success_fact(tune: Tune) -> Fact:
    best, full = tune.best(), tune.best().full
    at_full = (
        f"; at {full.limit:g} s {format_share(full.success_rate)}" if _is_earlier(tune) else ""
    )
    return Fact("Success", f"{format_share(best.success_rate)}{at_full}")


def _gain_fact(tune: Tune) -> Fact:
    best, more = tune.best(), tune.best().gain_over_full
    note = ""
    if _is_earlier(tune):
        note = f"{more} more than the best with {best.full.limit:g} s"
        if more.value < 0.0:
            note = f"{-more} less than the best with {best.full.limit:g} s, perhaps another"
    return Fact("Gain of a run", f"{best.gain} {gain_unit(tune)}", note)


def _spent_fact(tune: Tune) -> Fact:
    took = timedelta(seconds=round(tune.elapsed))
    cpu = sum(run.cpu for run in [*tune.runs, *tune.expired])
    ended = ", ".join(f"{n:,} {outcome}" for outcome, n in count_outcomes(tune.runs).items() if n)
    return Fact(
        "Spent",
        f"{format_run_count(len(tune.runs))}, {took}, CPU {format_seconds_roughly(cpu)}",
        ended,
    )


def _open_fact(tune: Tune) -> Fact:
    best, rival = tune.best(), find_rival(tune)
    if not best.successes:
        return Fact("Open", "Which command is better, until a run succeeds")
    most = format_estimate(best.regret_bound, best.regret_bound)
    bound = f"At most {most} {gain_unit(tune)} is missed (95 %)."
    # Cost of the further runs only: those made so far are paid for.
    more, cost = _MORE * len(tune.runs), format_seconds_roughly((_MORE - 1) * tune.elapsed)
    note = f"{bound} To roughly halve it: --runs {more:,}, about {cost} more."
    # Which pairs have not been tried matters more than which of two tried ones is better.
    if best.untried:
        return Fact("Open", f"{len(best.untried)} of {len(best.runs_of_arms)} arms not tried", note)
    if rival is None or best.regret_bound <= TOLERANCE * tune.spec.success.span:
        return Fact("Open", bound)
    name = f"{rival.limit:g} s" if rival.arm == best.arm else f"{rival.arm} with {rival.limit:g} s"
    text = f"Is {name} better? {rival.probability:.0%} ({format_run_count(rival.runs)})"
    return Fact("Open", text, note)
