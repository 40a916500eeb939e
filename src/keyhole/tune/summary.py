"""Summary of a tune (which command is best, at which time limit) as text, tables and JSON."""

import re
import shlex
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

import numpy as np

from keyhole.results.estimate import format_estimate
from keyhole.tune.comparison import compare_time
from keyhole.tune.function_arms import TYPED
from keyhole.tune.interval import Interval
from keyhole.tune.other_load import OtherLoad
from keyhole.tune.saved_tune import Best, CommandLimitEstimate, SavedTune
from keyhole.tune.trial_log import TrialRecord

_SAFE_WORD: Final = re.compile(
    r"(?:\{\w+(?::[\w.,+-]*)?\}|[\w@%+=:,./-])+"
)  # fields and characters that a shell does not interpret
_OUTCOMES: Final = ("ok", "out of time", "failed", "out of memory")
_UNITS: Final = ((2 * 86_400.0, 86_400.0, "days"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"))
# from how many seconds on, the unit in seconds, its name
NO_SUCCESS: Final = "no run has succeeded: there is no evidence for any command"


def format_duration(interval: Interval) -> str:
    """Return a duration with its interval, in seconds, minutes, hours or days.

    Examples
    --------
    >>> format_duration(Interval(1.5, 1.2, 1.8)), format_duration(Interval(300.0, 240.0, 360.0))
    ('1.50 [1.20, 1.80] s', '5.0 [4.0, 6.0] min')
    """
    for least, unit, name in _UNITS:
        if abs(interval.value) >= least:
            scaled = (end / unit for end in (interval.value, interval.low, interval.high))
            return f"{Interval(*scaled)} {name}"
    return f"{interval} s"


def format_seconds_roughly(seconds: float) -> str:
    """Return a duration in two digits.

    Examples
    --------
    >>> format_seconds_roughly(0.123), format_seconds_roughly(754), format_seconds_roughly(3e5)
    ('0.12 s', '13 min', '3.5 days')
    """
    for least, unit, name in _UNITS:
        if abs(seconds) >= least:
            return f"{format_estimate(seconds / unit, abs(seconds) / unit)} {name}"
    return f"{format_estimate(seconds, abs(seconds))} s"


def format_share(interval: Interval) -> str:
    """Return a share in percent, with its interval."""
    return f"{interval.value:.0%} [{interval.low:.0%}, {interval.high:.0%}]"


def count_outcomes(runs: list[TrialRecord]) -> dict[str, int]:
    """Return the number of runs by outcome."""
    return {outcome: sum(run.outcome == outcome for run in runs) for outcome in _OUTCOMES}


def format_progress(tune: SavedTune) -> str:
    """Return name, number of runs, time, and number of runs by outcome."""
    ended = ", ".join(f"{n:,} {outcome}" for outcome, n in count_outcomes(tune.runs).items() if n)
    took = timedelta(seconds=round(tune.elapsed))
    runs = format_run_count(len(tune.runs)) if tune.runs else "0 runs"
    text = f"{tune.spec.name}: {runs} in {took}" + (f"; {ended}" if ended else "")
    if tune.expired:
        text += f"; {len(tune.expired):,} did not count and were repeated"
    return text


def format_recommendation(tune: SavedTune) -> list[str]:
    """Return lines on the best pair: gain, probability, gain over the full cut-off, runs per arm.

    The lines of `format_warnings` come first. A single pair is compared with no other.
    """
    best = tune.best()
    pair, comparison = _format_pair(best), [_format_comparison(tune)]
    if has_one_pair(tune):
        pair, comparison = pair[:-1], []
    return [
        *format_warnings(tune),
        *pair,
        *comparison,
        *([text] if (text := format_cut_off(tune)) else []),
        _format_runs_of_arms(list(best.runs_of_arms.values())),
    ]


def has_one_pair(tune: SavedTune) -> bool:
    """Return whether a tune has one command and one limit."""
    return len(tune.spec.arms) == len(tune.spec.limits) == 1


def count_cut_off(tune: SavedTune) -> int:
    """Return how many runs of the recommended command were killed at the full cut-off."""
    runs = tune.runs_of(tune.best().arm)
    return sum(run.outcome == "out of time" and run.limit == tune.spec.limits[-1] for run in runs)


def format_cut_off(tune: SavedTune) -> str:
    """Return that longer limits may be better; "" if the largest one is not recommended, or ample.

    All other statements are about the limits of the spec alone.
    """
    best, cut_off = tune.best(), count_cut_off(tune)
    if not cut_off or best.limit < tune.spec.limits[-1]:
        return ""
    text = (
        f"this holds among the limits tried: {cut_off:,} of {format_run_count(best.runs)} with "
        f"{best.limit:g} s {'was' if cut_off == 1 else 'were'} still at work then: a longer limit, "
        "if you can wait for it, may be better"
    )
    success, arm = tune.spec.success, tune.spec.arms[tune.spec.names.index(best.arm)]
    if not success.at_limit and (success.number or "limit" in arm.open_fields()):
        text += "; success.at_limit counts what a run has printed by its limit"
    return text


def format_warnings(tune: SavedTune) -> list[str]:
    """Return a line for each reason to doubt the results: no success, a busy machine."""
    load = OtherLoad(tune.spec, tune.runs)
    return [
        *([] if tune.best().successes else [NO_SUCCESS]),
        *([load.warning] if load.is_high else []),
    ]


def format_best(best: Best) -> list[str]:
    """Return three lines on the best pair: its command and limit, its gain, and how sure it is."""
    first, *others = _format_pair(best)
    return [first if best.successes else f"{NO_SUCCESS}; {first}", *others]


def _format_pair(best: Best) -> list[str]:
    first = f"best: {best.arm} with {best.limit:g} s"
    if best.untried:
        first = f"{len(best.untried)} of {len(best.runs_of_arms)} arms not tried yet; {first}"
    return [
        first,
        f"gain: {best.gain} a run; {format_share(best.success_rate)} succeed, "
        f"{best.seconds} s a run (from {format_run_count(best.runs)})",
        f"{format_probability(best)}; the best {_pair_name(best)} is better by at most "
        f"{format_estimate(best.regret_bound, best.regret_bound)} (95 %)",
    ]


def format_probability(best: Best) -> str:
    """Return the probability that no other pair is better by much."""
    return (
        f"probability that no other {_pair_name(best)} is better by more than 1 % of a success: "
        f"{best.probability:.0%}"
    )


def _pair_name(best: Best) -> str:
    """Return what is chosen: a pair of command and limit, or the limit of the only command."""
    return "pair" if len(best.runs_of_arms) > 1 else "limit"


def _format_comparison(tune: SavedTune) -> str:
    """Return the comparison of the best pair with the best command at the full cut-off."""
    best, full = tune.best(), tune.best().full
    if best.limit == full.limit:
        text = "the full cut-off is its best limit: no earlier limit has a larger mean gain"
        if best.gain_over_full.low < 0.0:
            most = format_estimate(-best.gain_over_full.low, -best.gain_over_full.low)
            text += f"; another command is better there by at most {most} a run (95 %)"
        return text
    gained = f"full cut-off, {full.limit:g} s: {best.gain_over_full} a run"
    there = f"gain {full.gain} (from {format_run_count(full.runs)})"
    if len(tune.spec.arms) == 1:
        return f"gain over the {gained}; there {there}; {format_saving(tune)} than that"
    text = (
        f"gain over the best command at the {gained}; that command is probably {full.arm}, {there}"
    )
    if best.gain_over_full.value < 0.0:
        text += "; below 0, since another command may be better there"
    return f"{text}; {format_saving(tune)} than that"


def format_saving(tune: SavedTune) -> str:
    """Return how much less, or more, time a run takes than that command at the full cut-off."""
    saved = compare_time(tune)
    if saved.seconds.value >= 0.0:
        return f"a run takes {format_duration(saved.seconds)} ({format_share(saved.share)}) less"
    seconds, share = -saved.seconds, -saved.share
    return f"a run takes {format_duration(seconds)} ({format_share(share)}) more"


def _format_runs_of_arms(runs: list[int]) -> str:
    """Return the smallest and the largest number of runs of an arm."""
    if len(runs) == 1:
        return f"runs: {runs[0]:,}"
    least, most = min(runs), max(runs)
    spread = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return f"runs per arm: {spread}, {len(runs):,} arms"


def format_run_count(runs: int) -> str:
    """Return a number of runs in words."""
    return f"{runs:,} run{'' if runs == 1 else 's'}" if runs else "no run"


def command_line(tune: SavedTune, arm: str) -> str:
    """Return the command line of an arm for a shell, with its own parameters filled in."""
    found = next(one for one in tune.spec.arms if one.name == arm)
    if found.function:
        given = ", ".join(f"{name}={value!r}" for name, value in found.parameters.items())
        return f"{found.function.removeprefix(f'{TYPED}:')}({given})"
    return " ".join(word if _SAFE_WORD.fullmatch(word) else shlex.quote(word)
                    for word in found.template())  # fmt: skip


POOLING_NOTE: Final = "Gains of arms with few runs are estimated mostly from the other arms."


def arms_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of arms: outcomes, seconds, and best limit."""
    head = ["arm", "runs", *_OUTCOMES, "seconds", "of all", "best limit", "gain with it"]
    total = sum(run.seconds for run in tune.runs) or 1.0
    rows = []
    for number, arm in enumerate(tune.spec.arms):
        runs = tune.runs_of(arm.name)
        spent = sum(run.seconds for run in runs)
        best = _best_pair(tune, number)
        row = [arm.name, f"{len(runs):,}", *map(str, count_outcomes(runs).values())]
        row += [f"{spent:,.1f}", f"{spent / total:.0%}"]
        row += [f"{best.limit:g} s", str(best.gain)] if best else ["", ""]
        rows.append(row)
    return head, rows


def _best_pair(tune: SavedTune, arm: int) -> CommandLimitEstimate | None:
    """Return the estimates of an arm with its best limit, of those that were tried."""
    tried = np.flatnonzero(tune.gains.run_counts[arm] > 0)
    if not len(tried):
        return None
    means = tune.gains.draws[:, arm, tried].mean(axis=0)
    return tune.estimate_pair(arm, int(tried[means.argmax()]))


def tune_as_json(tune: SavedTune) -> dict[str, Any]:
    """Return progress and results as JSON data: what `keyhole tune show` prints."""
    arms = []
    for number, arm in enumerate(tune.spec.arms):
        runs = tune.runs_of(arm.name)
        best = _best_pair(tune, number) if runs else None
        arms.append(
            {
                "arm": arm.name,
                "runs": len(runs),
                "outcomes": count_outcomes(runs),
                "seconds": sum(run.seconds for run in runs),
                "best": asdict(best) if best else None,
            }
        )
    return {
        "name": tune.spec.name,
        "runs": len(tune.runs),
        "elapsed": tune.elapsed,
        "outcomes": count_outcomes(tune.runs),
        "not_counted": len(tune.expired),
        "best": best_as_json(tune) if tune.runs else None,
        "arms": arms,
    }


def best_as_json(tune: SavedTune) -> dict[str, Any]:
    """Return the recommendation as JSON data."""
    best = tune.best()
    found = next(one for one in tune.spec.arms if one.name == best.arm)
    data = asdict(best) | {
        "command": list(found.command),
        "parameters": dict(found.parameters),
        "template": found.template(),  # the command with its parameters
        "out_of_time_at_full_cut_off": count_cut_off(tune),  # of this command
        "other_load": OtherLoad(tune.spec, tune.runs).share,
        "warnings": format_warnings(tune),
    }
    if found.function:
        data["function"] = found.function
    return data
