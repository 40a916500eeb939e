"""Summary of a tune (which command is best, at which time limit) as text, tables and JSON."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.durations import format_duration
from keyhole.extras import has_extra
from keyhole.pages.notebook_html import notebook_html, picture_html, text_table
from keyhole.pages.page import Table
from keyhole.results.estimate import format_estimate
from keyhole.tune import recommendation
from keyhole.tune.function_arms import TYPED
from keyhole.tune.interval import Interval
from keyhole.tune.warnings import OtherLoad

if TYPE_CHECKING:
    from keyhole.tune.arms import Arm
    from keyhole.tune.recommendation import Best, CommandLimitEstimate
    from keyhole.tune.saved_tune import SavedTune
    from keyhole.tune.trial_log import TrialRecord

_SAFE_WORD: Final = re.compile(
    r"(?:\{\w+(?::[\w.,+-]*)?\}|[\w@%+=:,./-])+"
)  # fields and characters that a shell does not interpret
_OUTCOMES: Final = ("ok", "out of time", "failed", "out of memory")
_MORE: Final = 4  # times as many runs halve an interval
_MOST_ROWS: Final = 10  # of a table in a notebook
# Runs that end in so small a share of a limit of so many seconds hint at limits in milliseconds.
_SHORT_SHARE: Final = 0.01
_LONG_LIMIT: Final = 10.0
POOLING_NOTE: Final = "Gains of arms with few runs are estimated mostly from the other arms."


def format_progress(tune: SavedTune) -> str:
    """Return name, number of runs, time, and number of runs by outcome."""
    runs = recommendation.format_runs(len(tune.runs)) if tune.runs else "0 runs"
    cpu = sum(run.cpu for run in [*tune.runs, *tune.expired])
    text = f"{tune.spec.name}: {runs} in {timedelta(seconds=round(tune.elapsed))}"
    text += f" (CPU {format_duration(cpu)})" if cpu else ""
    counts = ", ".join(f"{n:,} {outcome}" for outcome, n in count_outcomes(tune.runs).items() if n)
    text += f"; {counts}" if counts else ""
    if tune.expired:
        text += f"; {len(tune.expired):,} did not count and were repeated"
    return text


def count_outcomes(runs: list[TrialRecord]) -> dict[str, int]:
    """Return the number of runs by outcome."""
    return {outcome: sum(run.outcome == outcome for run in runs) for outcome in _OUTCOMES}


def format_warnings(tune: SavedTune) -> list[str]:
    """Return a line for each reason to doubt the results: no success, a busy machine, units."""
    load = OtherLoad(tune.spec, tune.runs)
    longest = max((run.seconds for run in tune.runs if run.outcome == "ok"), default=math.inf)
    least = tune.spec.limits[0]
    is_short = least >= _LONG_LIMIT and longest < _SHORT_SHARE * least
    best = tune.best()
    outcomes = {run.outcome for run in tune.runs_of(best.arm)}
    no_success = ""
    if not best.successes:
        no_success = recommendation.NO_SUCCESS
    elif outcomes and "ok" not in outcomes:
        no_success = f"no run of {best.arm} has succeeded: giving up early costs least so far"
    return [
        *([no_success] if no_success else []),
        *([_describe_short_runs(longest, least)] if is_short else []),
        *([load.warning] if load.is_high else []),
    ]


def _describe_short_runs(longest: float, least: float) -> str:
    return (
        f"every success took at most {format_duration(longest)}, and the least limit is "
        f"{least:g} s: limits are in seconds"
    )


def format_recommendation(tune: SavedTune) -> list[str]:
    """Return lines on the best pair: its name, a table of estimates, and how sure they are."""
    best = tune.best()
    sentences = (
        format_comparison(tune),
        "" if has_one_pair(tune) else recommendation.format_probability(best),
        format_cut_off(tune),
        format_open_question(tune),
    )
    return [
        recommendation.format_best_name(best),
        text_table(*pair_table(tune)),
        *filter(None, sentences),
    ]


def has_one_pair(tune: SavedTune) -> bool:
    """Return whether a tune has one command and one limit, which is compared with no other."""
    return len(tune.spec.arms) == len(tune.spec.limits) == 1


def is_early(tune: SavedTune) -> bool:
    """Return whether the recommended limit is shorter than the full cut-off."""
    return tune.best().limit < tune.spec.limits[-1]


def pair_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of estimates: of the best pair, and at the full cut-off."""
    best, full = tune.best(), tune.best().full
    head = ["", f"{best.limit:g} s"]
    rows = [_pair_cells(pair) for pair in (best, full)]
    rows.append([str(best.gain_over_full), "", time_over_full(tune).as_duration(), ""])
    if is_early(tune):
        head += [_name_pair(full, best), "difference"]
    columns = zip(("gain", "success", "time", "runs"), *rows[: len(head) - 1], strict=True)
    return head, [list(row) for row in columns]


def _pair_cells(pair: CommandLimitEstimate) -> list[str]:
    share, time = recommendation.format_share(pair.success_rate), pair.seconds.as_duration()
    return [str(pair.gain), share, time, f"{pair.runs:,}"]


def _name_pair(pair: CommandLimitEstimate, best: Best) -> str:
    """Return the limit of a pair, after its command if the best pair has another one."""
    return f"{pair.limit:g} s" if pair.arm == best.arm else f"{pair.arm} with {pair.limit:g} s"


def time_over_full(tune: SavedTune) -> Interval:
    """Return the seconds of a run of the best pair, less those at the full cut-off."""
    best, spec = tune.best(), tune.spec
    draws = tune.gains.cut_off_seconds
    seconds = draws[:, spec.names.index(best.arm), spec.limits.index(best.limit)]
    interval = Interval.from_draws(seconds - draws[:, spec.names.index(best.full.arm), -1])
    # The difference of the means that are printed, whose draws are others than the interval's.
    value = best.seconds.value - best.full.seconds.value
    return Interval(value, min(interval.low, value), max(interval.high, value))


def format_comparison(tune: SavedTune) -> str:
    """Return what the best pair is compared with at the full cut-off; "" for one command or pair.

    Which command is the best one there is uncertain.
    """
    best, several = tune.best(), len(tune.spec.arms) > 1
    if is_early(tune):
        text = (
            f"at the full cut-off, {best.full.limit:g} s, {best.full.arm} is probably the best "
            "command; the gain is compared with whichever is"
        )
        below = ", and below 0, since another may be better there"
        return f"{text}{below if best.gain_over_full.value < 0.0 else ''}" if several else ""
    if has_one_pair(tune):
        return ""
    text = "the full cut-off is its best limit: no earlier limit has a larger mean gain"
    if best.gain_over_full.low < 0.0:
        bound = format_estimate(-best.gain_over_full.low, -best.gain_over_full.low)
        text += f"; another command is better there by at most {bound} a run (95 %)"
    return text


def count_cut_off(tune: SavedTune) -> int:
    """Return how many runs of the recommended command were killed at the full cut-off."""
    runs = tune.runs_of(tune.best().arm)
    return sum(run.outcome == "out of time" and run.limit == tune.spec.limits[-1] for run in runs)


def format_cut_off(tune: SavedTune) -> str:
    """Return that longer limits may be better; "" if the largest one is not recommended, or ample.

    All other statements are about the limits of the spec alone.
    """
    best, cut_off = tune.best(), count_cut_off(tune)
    if not cut_off or is_early(tune):
        return ""
    runs = recommendation.format_runs(best.runs)
    text = (
        f"this holds among the limits tried: {cut_off:,} of {runs} with {best.limit:g} s "
        f"{'was' if cut_off == 1 else 'were'} still at work then: a longer limit, "
        "if you can wait for it, may be better"
    )
    success, arm = tune.spec.success, _find_arm(tune, best.arm)
    if not success.at_limit and (success.number or "limit" in arm.open_fields()):
        text += "; success.at_limit counts what a run has printed by its limit"
    return text


def format_open_question(tune: SavedTune) -> str:
    """Return which pair may be better, and how many runs would roughly tell; "" if none may be."""
    best, rival = tune.best(), find_rival(tune)
    if has_one_pair(tune) or not best.successes:
        return ""
    # Which pairs have not been tried matters more than which of two tried ones is better.
    question = "arms not tried yet"
    if not best.untried:
        if rival is None or best.regret_bound <= recommendation.TOLERANCE * tune.spec.success.span:
            return ""
        pair, probability = rival
        name, runs = _name_pair(pair, best), recommendation.format_runs(pair.runs)
        question = f"is {name} better? {probability:.0%} ({runs})"
    # Cost of the further runs only: those made so far are paid for.
    more, cost = _MORE * len(tune.runs), format_duration((_MORE - 1) * tune.elapsed)
    text = f"--runs {more}, about {cost} more, roughly halves what may be missed"
    return f"open: {question}; {text}"


def find_rival(tune: SavedTune) -> tuple[CommandLimitEstimate, float] | None:
    """Return the pair that is most often the best one where the recommended pair is not.

    With the probability that it is, and better by more than 1 % of the best reward. None if no draw
    has a better pair.
    """
    best, spec, draws = tune.best(), tune.spec, tune.gains.comparison_gains
    gain = draws[:, spec.names.index(best.arm), spec.limits.index(best.limit)]
    pairs = draws.reshape(len(draws), -1)
    is_better = pairs.max(axis=1) - gain > recommendation.TOLERANCE * spec.success.span
    if not is_better.any():
        return None
    counts = np.bincount(pairs[is_better].argmax(axis=1))
    pair = tune.estimate_pair(*divmod(int(counts.argmax()), len(spec.limits)))
    return pair, float(counts.max() / len(draws))


def gain_unit(tune: SavedTune) -> str:
    """Return the unit of gains: a success, if all successes earn 1, else the reward's."""
    spec = tune.spec
    varies = bool(spec.success.number) or any(arm.function for arm in spec.arms)
    return "of the reward" if varies or spec.success.scale[1] != 1.0 else "of a success"


def describe_objective(tune: SavedTune) -> str:
    """Return what a success earns and what time costs, in a sentence."""
    costs, success = tune.spec.objective, tune.spec.success
    price = f"a second costs {costs.cost_per_second:.3g}"
    if costs.cost_of_giving_up:
        price += f", giving up {costs.cost_of_giving_up:g} more"
    preset = f" ({costs.preset})" if costs.preset else ""
    most = "up to " if gain_unit(tune) == "of the reward" else ""
    return f"A success earns {most}{success.scale[1]:g}, {price}{preset}."


def _find_arm(tune: SavedTune, name: str) -> Arm:
    return tune.spec.arms[tune.spec.names.index(name)]


def command_line(tune: SavedTune, arm: str) -> str:
    """Return the command line of an arm for a shell, with its own parameters filled in."""
    entry = _find_arm(tune, arm)
    if entry.function:
        values = ", ".join(f"{name}={value!r}" for name, value in entry.parameters.items())
        return f"{entry.function.removeprefix(f'{TYPED}:')}({values})"
    return " ".join(word if _SAFE_WORD.fullmatch(word) else shlex.quote(word)
                    for word in entry.template())  # fmt: skip


def _arm_results(tune: SavedTune) -> list[dict[str, Any]]:
    """Return runs, outcomes, seconds and the best pair of each arm; None for an arm without runs.

    The best pair is that of the limits that the arm was tried with.
    """
    gains, results = tune.gains, []
    means = np.where(gains.run_counts > 0, gains.draws.mean(axis=0), -np.inf)
    for number, name in enumerate(tune.spec.names):
        runs = tune.runs_of(name)
        best = tune.estimate_pair(number, int(means[number].argmax())) if runs else None
        results.append({
            "arm": name, "runs": len(runs), "outcomes": count_outcomes(runs),
            "seconds": sum(run.seconds for run in runs), "best": best,
        })  # fmt: skip
    return results


def arms_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of arms, that with the largest gain first."""
    head = ["arm", "runs", *_OUTCOMES, "seconds", "of all", "best limit", "gain with it"]
    total = sum(run.seconds for run in tune.runs) or 1.0
    rows, gains = [], []
    for arm in _arm_results(tune):
        best, counts = arm["best"], [arm["runs"], *arm["outcomes"].values()]
        rows.append([
            arm["arm"], *(f"{count:,}" for count in counts), f"{arm['seconds']:,.1f}",
            f"{arm['seconds'] / total:.0%}",
            *([f"{best.limit:g} s", str(best.gain)] if best else ["", ""]),
        ])  # fmt: skip
        gains.append(best.gain.value if best else -np.inf)
    return head, [rows[number] for number in np.argsort(-np.array(gains), kind="stable")]


def tune_html(tune: SavedTune) -> str:
    """Return what notebooks show: see `SavedTune._repr_html_`."""
    if not tune.runs:
        table = Table(format_progress(tune), ["arm"], [[name] for name in tune.spec.names])
        return notebook_html([table])
    head, rows = arms_table(tune)
    caption = f"{format_progress(tune)}."
    if len(rows) > _MOST_ROWS:
        caption += f" Shown are {_MOST_ROWS} of {len(rows):,} arms."
    texts = [*recommendation.format_best(tune.best()), format_cut_off(tune)]
    line = " ".join(f"{text}." for text in texts if text)
    return notebook_html([Table(caption, head, rows[:_MOST_ROWS])], _picture(tune), line)


def _picture(tune: SavedTune) -> str:
    """Return the picture of the gains; empty without Matplotlib."""
    if not has_extra("plots"):
        return ""
    from keyhole.pages.chart_figure import chart_figure
    from keyhole.tune.charts import gain_chart

    chart = gain_chart(tune)
    return picture_html(chart_figure(chart), chart.alt)


def tune_as_json(tune: SavedTune) -> dict[str, Any]:
    """Return progress and results as JSON data: what `keyhole tune show` prints."""
    arms = _arm_results(tune)
    return {
        "name": tune.spec.name,
        "runs": len(tune.runs),
        "elapsed": tune.elapsed,
        "outcomes": count_outcomes(tune.runs),
        "not_counted": len(tune.expired),
        "best": best_as_json(tune) if tune.runs else None,
        "arms": [{**arm, "best": asdict(arm["best"]) if arm["best"] else None} for arm in arms],
    }


def best_as_json(tune: SavedTune) -> dict[str, Any]:
    """Return the recommendation as JSON data."""
    best = tune.best()
    arm = _find_arm(tune, best.arm)
    data = asdict(best) | {
        "command": list(arm.command),
        "parameters": dict(arm.parameters),
        "template": arm.template(),  # the command with its parameters
        "out_of_time_at_full_cut_off": count_cut_off(tune),  # of this command
        "other_load": OtherLoad(tune.spec, tune.runs).share,
        "warnings": format_warnings(tune),
    }
    return data | ({"function": arm.function} if arm.function else {})
