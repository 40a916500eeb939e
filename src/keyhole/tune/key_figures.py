"""Key figures in the report of a tune: time saved, runs made, and what is not yet decided."""

from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Final

from keyhole.results.estimate import format_estimate
from keyhole.tune.charts import gain_unit
from keyhole.tune.comparison import compare_time, find_rival
from keyhole.tune.saved_tune import TOLERANCE, SavedTune
from keyhole.tune.summary import (
    count_outcomes,
    format_cut_off,
    format_duration,
    format_run_count,
    format_seconds_roughly,
    format_share,
    has_one_pair,
)

_BATCH: Final = 100  # runs, for which the time saved is stated
_MORE: Final = 4  # times as many runs halve an interval


@dataclass(frozen=True)
class KeyFigure:
    """A row: its name, its text, and in smaller type a note and an option of a command."""

    name: str
    text: str
    note: str = ""
    option: str = ""


@dataclass(frozen=True)
class KeyFiguresBlock:
    """Block of the report with a few key figures."""

    figures: list[KeyFigure]
    template: ClassVar[str] = "tune/templates/key_figures.html.j2"


def key_figures_block(tune: SavedTune) -> KeyFiguresBlock:
    """Return the figures on the recommended pair, on the runs made, and on what is undecided."""
    figures = [_spent_figure] if has_one_pair(tune) else [_spent_figure, _open_figure]
    if tune.best().successes:
        figures = [_time_figure, _success_figure, _gain_figure, *figures]
    return KeyFiguresBlock([figure(tune) for figure in figures])


def _is_earlier(tune: SavedTune) -> bool:
    return tune.best().limit < tune.spec.limits[-1]


def _time_figure(tune: SavedTune) -> KeyFigure:
    best, full = tune.best(), tune.best().full
    text = format_duration(best.seconds)
    if not _is_earlier(tune):
        return KeyFigure("Time of a run", text)
    saved = compare_time(tune).seconds
    word, size = ("less", saved) if saved.value >= 0.0 else ("more", -saved)
    batch = f"{format_seconds_roughly(_BATCH * size.value)} in {_BATCH} runs"
    return KeyFigure(
        "Time of a run",
        f"{text}; at {full.limit:g} s {format_duration(full.seconds)}",
        f"{format_duration(size)} {word}, {batch}, against {full.arm} "
        f"({format_run_count(full.runs)})",
    )


def _success_figure(tune: SavedTune) -> KeyFigure:
    best, full = tune.best(), tune.best().full
    at_full = (
        f"; at {full.limit:g} s {format_share(full.success_rate)}" if _is_earlier(tune) else ""
    )
    return KeyFigure("Success", f"{format_share(best.success_rate)}{at_full}")


def _gain_figure(tune: SavedTune) -> KeyFigure:
    best, more = tune.best(), tune.best().gain_over_full
    note = ""
    if _is_earlier(tune):
        note = f"{more} more than the best with {best.full.limit:g} s"
        if more.value < 0.0:
            note = f"{-more} less than the best with {best.full.limit:g} s"
            note += ", perhaps another" if len(tune.spec.arms) > 1 else ""
    return KeyFigure("Gain of a run", f"{best.gain} {gain_unit(tune)}", note)


def _spent_figure(tune: SavedTune) -> KeyFigure:
    took = timedelta(seconds=round(tune.elapsed))
    cpu = sum(run.cpu for run in [*tune.runs, *tune.expired])
    ended = ", ".join(f"{n:,} {outcome}" for outcome, n in count_outcomes(tune.runs).items() if n)
    return KeyFigure(
        "Spent",
        f"{format_run_count(len(tune.runs))}, {took}, CPU {format_seconds_roughly(cpu)}",
        ended,
    )


def _open_figure(tune: SavedTune) -> KeyFigure:
    best, rival = tune.best(), find_rival(tune)
    if not best.successes:
        return KeyFigure("Open", "Which command is better, until a run succeeds")
    most = format_estimate(best.regret_bound, best.regret_bound)
    among = " among these limits" if format_cut_off(tune) else ""
    bound = f"At most {most} {gain_unit(tune)} is missed{among} (95 %)."
    # Cost of the further runs only: those made so far are paid for.
    more, cost = _MORE * len(tune.runs), format_seconds_roughly((_MORE - 1) * tune.elapsed)
    note, option = f"{bound} To roughly halve it, in about {cost} more:", f"--runs {more}"
    # Which pairs have not been tried matters more than which of two tried ones is better.
    if best.untried:
        return KeyFigure(
            "Open", f"{len(best.untried)} of {len(best.runs_of_arms)} arms not tried", note, option
        )
    if rival is None or best.regret_bound <= TOLERANCE * tune.spec.success.span:
        return KeyFigure("Open", bound)
    name = f"{rival.limit:g} s" if rival.arm == best.arm else f"{rival.arm} with {rival.limit:g} s"
    text = f"Is {name} better? {rival.probability:.0%} ({format_run_count(rival.runs)})"
    return KeyFigure("Open", text, note, option)
