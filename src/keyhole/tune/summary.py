"""Recommendation and summary of a tune, in numbers, as text, tables and JSON."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.durations import format_duration
from keyhole.extras import has_extra
from keyhole.pages.notebook_html import notebook_html, picture_html, text_table
from keyhole.pages.page import Table
from keyhole.results.estimate import format_estimate
from keyhole.text_formatting import count_text
from keyhole.tune.arms import TYPED
from keyhole.tune.grids import estimate_effects, label_arms
from keyhole.tune.value_estimates import Interval
from keyhole.tune.warnings import OtherLoad

if TYPE_CHECKING:
    from keyhole.tune.arms import Arm
    from keyhole.tune.saved_tune import SavedRuns, SavedTune
    from keyhole.tune.trial_log import TrialRecord

TOLERANCE: Final = 0.01
"""Pairs count as equally good whose gains differ by at most this share of the best reward."""
NO_SUCCESS: Final = "no run has succeeded: there is no evidence for any command"
_SAFE_WORD: Final = re.compile(
    r"(?:\{\w+(?::[\w.,+-]*)?\}|[\w@%+=:,./-])+"
)  # fields and characters that a shell does not interpret
_OUTCOMES: Final = ("ok", "out of time", "failed", "out of memory")
_MORE: Final = 4  # times as many runs halve an interval
_MOST_ROWS: Final = 10  # of a table in a notebook
# Runs that end in so small a share of a limit of so many seconds hint at limits in milliseconds.
_SHORT_SHARE: Final = 0.01
_LONG_LIMIT: Final = 10.0
_POOLING_NOTE: Final = "Gains of arms with few runs are estimated mostly from the other arms."


@dataclass(frozen=True)
class CommandLimitEstimate:
    """A pair of command and limit, with the estimates of its gain, success rate and run time.

    Attributes
    ----------
    arm : str
        Name of the command.
    limit : float
        Time limit in seconds.
    gain : Interval
        Expected gain of a run (reward less costs), in the unit of the reward.
    success_rate : Interval
        The share of runs that succeed.
    seconds : Interval
        The mean duration of a run.
    runs : int
        How many runs inform these estimates: those with this limit or a larger one.
    """

    arm: str
    limit: float
    gain: Interval
    success_rate: Interval
    seconds: Interval
    runs: int


@dataclass(frozen=True, repr=False)
class Best(CommandLimitEstimate):
    """The pair that is recommended; printed, it is three lines.

    Attributes
    ----------
    probability : float
        The probability that no other pair, tried or not, is better by more than 1 % of the best
        reward.
    regret_bound : float
        With probability 95 %, the best pair is better by at most this much.
    full : CommandLimitEstimate
        The command with the largest mean gain at the full cut-off.
    gain_over_full : Interval
        Gain of a run less that of the best command at the full cut-off; which of the tried
        commands that is, is uncertain, so that it may be below 0.
    runs_of_arms : dict of str to int
        How often each command was run.
    successes : int
        How many runs succeeded, of all commands; with 0, no command is better than another.
    """

    probability: float
    regret_bound: float
    full: CommandLimitEstimate
    gain_over_full: Interval
    runs_of_arms: dict[str, int]
    successes: int

    @property
    def untried(self) -> list[str]:
        """Names of the commands that were never run."""
        return [arm for arm, runs in self.runs_of_arms.items() if runs == 0]

    def __repr__(self) -> str:
        """Return three lines: what to run, what that gains, and how sure it is."""
        name = format_best_name(self)
        lines = (
            name if self.successes else f"{NO_SUCCESS}; {name}",
            f"gain: {self.gain} a run; {format_share(self.success_rate)} succeed, "
            f"{self.seconds} s a run (from {format_runs(self.runs)})",
            format_probability(self),
        )
        return "\n".join(lines)


def format_best_name(best: Best) -> str:
    """Return the command and the limit of the best pair, after the number of untried commands."""
    untried = format_untried(best)
    return "; ".join(filter(None, [untried, f"best: {best.arm} with {best.limit:g} s"]))


def format_untried(best: Best) -> str:
    """Return how many arms were never run; "" for none."""
    count = len(best.untried)
    return f"{count} of {len(best.runs_of_arms)} arms not tried yet" if count else ""


def format_probability(best: Best) -> str:
    """Return the probability that no other pair is better by much, and the bound on how much."""
    bound = format_estimate(best.regret_bound, best.regret_bound)
    choice = "pair" if len(best.runs_of_arms) > 1 else "limit"  # of the only command
    return (
        f"probability that no other {choice} is better by more than 1 % of a success: "
        f"{best.probability:.0%}; the best {choice} is better by at most {bound} (95 %)"
    )


def format_share(share: Interval) -> str:
    """Return a share in percent, with its interval."""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def format_runs(runs: int) -> str:
    """Return a number of runs in words."""
    return count_text(runs, "run") if runs else "no run"


def format_progress(tune: SavedRuns) -> str:
    """Return name, number of runs, time, and number of runs by outcome."""
    runs = count_text(len(tune.runs), "run")
    text = f"{tune.spec.name}: {runs} in {timedelta(seconds=round(tune.elapsed))}"
    if cpu := sum(run.cpu for run in [*tune.runs, *tune.expired]):
        text += f" (CPU {format_duration(cpu)})"
    counts = count_outcomes(tune.runs)
    if tune.runs:
        text += "; " + ", ".join(f"{n:,} {outcome}" for outcome, n in counts.items() if n)
    if tune.expired:
        text += f"; {len(tune.expired):,} did not count and were repeated"
    return text


def count_outcomes(runs: list[TrialRecord]) -> dict[str, int]:
    """Return the number of runs by outcome."""
    return {outcome: sum(run.outcome == outcome for run in runs) for outcome in _OUTCOMES}


def format_warnings(tune: SavedTune) -> list[str]:
    """Return a line for each reason to doubt the results: no success, a busy machine, units."""
    warnings = []
    best = tune.best()
    shortest_limit = tune.spec.limits[0]
    outcomes = {run.outcome for run in tune.runs_of(best.arm)}
    if not best.successes:
        warnings.append(NO_SUCCESS)
    elif outcomes and "ok" not in outcomes:
        warnings.append(f"no run of {best.arm} has succeeded: giving up early costs least so far")
    longest = max((run.seconds for run in tune.runs if run.outcome == "ok"), default=math.inf)
    if shortest_limit >= _LONG_LIMIT and longest < _SHORT_SHARE * shortest_limit:
        warnings.append(
            f"every success took at most {format_duration(longest)}, and the least limit is "
            f"{shortest_limit:g} s: limits are in seconds"
        )
    load = OtherLoad(tune.spec, tune.runs)
    if load.is_high:
        warnings.append(load.warning)
    return warnings


def format_recommendation(tune: SavedTune) -> list[str]:
    """Return lines on the best pair: its name, a table of estimates, and how sure they are."""
    best = tune.best()
    sentences = (
        format_comparison(tune),
        "" if has_one_pair(tune) else format_probability(best),
        format_cut_off(tune),
        format_open_question(tune),
    )
    return [format_best_name(best), text_table(*pair_table(tune)), *filter(None, sentences)]


def has_one_pair(tune: SavedTune) -> bool:
    """Return whether a tune has one command and one limit, which is compared with no other."""
    return len(tune.spec.arms) == len(tune.spec.limits) == 1


def has_shorter_limit(tune: SavedTune) -> bool:
    """Return whether the recommended limit is shorter than the full cut-off."""
    return tune.best().limit < tune.spec.limits[-1]


def pair_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of estimates: of the best pair, and at the full cut-off."""
    best = tune.best()
    full = best.full
    head = ["", f"{best.limit:g} s"]
    rows = [
        [str(pair.gain), format_share(pair.success_rate), pair.seconds.as_duration(),
         f"{pair.runs:,}"]
        for pair in (best, full)
    ]  # fmt: skip
    rows.append([str(best.gain_over_full), "", time_over_full(tune).as_duration(), ""])
    if has_shorter_limit(tune):
        head += [_name_pair(full, best), "difference"]
    columns = zip(("gain", "success", "time", "runs"), *rows[: len(head) - 1], strict=True)
    return head, [list(row) for row in columns]


def _name_pair(pair: CommandLimitEstimate, best: Best) -> str:
    """Return the limit of a pair, after its command if the best pair has another one."""
    return f"{pair.limit:g} s" if pair.arm == best.arm else f"{pair.arm} with {pair.limit:g} s"


def time_over_full(tune: SavedTune) -> Interval:
    """Return the seconds of a run of the best pair, less those at the full cut-off."""
    best = tune.best()
    draws = tune.gains.cut_off_draws[1]
    seconds = draws[:, *tune.gains.best_pair()]
    interval = Interval.from_draws(seconds - draws[:, tune.spec.names.index(best.full.arm), -1])
    # The difference of the means that are printed, whose draws are others than the interval's.
    value = best.seconds.value - best.full.seconds.value
    return Interval(value, min(interval.low, value), max(interval.high, value))


def format_comparison(tune: SavedTune) -> str:
    """Return what the best pair is compared with at the full cut-off; "" for one command or pair.

    Which command is the best one there is uncertain.
    """
    best = tune.best()
    if has_shorter_limit(tune):
        if len(tune.spec.arms) == 1:
            return ""
        text = (
            f"at the full cut-off, {best.full.limit:g} s, {best.full.arm} is probably the best "
            "command; the gain is compared with whichever is"
        )
        if best.gain_over_full.value < 0.0:
            text += ", and below 0, since another may be better there"
        return text
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
    best = tune.best()
    cut_off = count_cut_off(tune)
    if not cut_off or has_shorter_limit(tune):
        return ""
    runs = format_runs(best.runs)
    text = (
        f"this holds among the limits tried: {cut_off:,} of {runs} with {best.limit:g} s "
        f"{'was' if cut_off == 1 else 'were'} still at work then: a longer limit, "
        "if you can wait for it, may be better"
    )
    success = tune.spec.success
    arm = _find_arm(tune, best.arm)
    if not success.at_limit and (success.number or "limit" in arm.open_fields()):
        text += "; success.at_limit counts what a run has printed by its limit"
    return text


def format_open_question(tune: SavedTune) -> str:
    """Return which pair may be better, and how many runs would roughly tell; "" if none may be."""
    best = tune.best()
    rival = find_rival(tune)
    if has_one_pair(tune) or not best.successes:
        return ""
    # Which pairs have not been tried matters more than which of two tried ones is better.
    question = "arms not tried yet"
    if not best.untried:
        if rival is None or best.regret_bound <= TOLERANCE * tune.spec.success.span:
            return ""
        pair, probability = rival
        runs = format_runs(pair.runs)
        question = f"is {_name_pair(pair, best)} better? {probability:.0%} ({runs})"
    run_count = _MORE * len(tune.runs)
    # Cost of the further runs only: those made so far are paid for.
    cost = format_duration((_MORE - 1) * tune.elapsed)
    text = f"--runs {run_count}, about {cost} more, roughly halves what may be missed"
    return f"open: {question}; {text}"


def find_rival(tune: SavedTune) -> tuple[CommandLimitEstimate, float] | None:
    """Return the pair that is most often the best one where the recommended pair is not.

    With the probability that it is, and better by more than 1 % of the best reward. None if no draw
    has a better pair.
    """
    draws = tune.gains.comparison_gains
    gain = draws[:, *tune.gains.best_pair()]
    pairs = draws.reshape(len(draws), -1)
    is_better = pairs.max(axis=1) - gain > TOLERANCE * tune.spec.success.span
    if not is_better.any():
        return None
    counts = np.bincount(pairs[is_better].argmax(axis=1))
    pair = tune.estimate_pair(*divmod(int(counts.argmax()), len(tune.spec.limits)))
    return pair, float(counts.max() / len(draws))


def gain_unit(tune: SavedRuns) -> str:
    """Return the unit of gains: a success, if all successes earn 1, else the reward's."""
    spec = tune.spec
    is_number = any(arm.function for arm in spec.arms) and spec.search is None
    varies = bool(spec.success.number) or is_number
    return "of the reward" if varies or spec.success.scale[1] != 1.0 else "of a success"


def describe_objective(tune: SavedRuns) -> str:
    """Return what a success earns and what time costs, in a sentence."""
    costs = tune.spec.objective
    price = f"a second costs {costs.cost_per_second:.3g}"
    if costs.cost_of_giving_up:
        price += f", giving up {costs.cost_of_giving_up:g} more"
    if costs.preset:
        price += f" ({costs.preset})"
    reward = f"{tune.spec.success.scale[1]:g}"
    if gain_unit(tune) == "of the reward":
        reward = f"up to {reward}"
    return f"A success earns {reward}, {price}."


def _find_arm(tune: SavedTune, name: str) -> Arm:
    return tune.spec.arms[tune.spec.names.index(name)]


def command_line(tune: SavedTune, arm: str) -> str:
    """Return the command line of an arm for a shell, with its own parameters filled in."""
    return shell_command(_find_arm(tune, arm))


def best_line(tune: SavedTune) -> str:
    """Return the recommended command line, with its limit as a comment."""
    best = tune.best()
    return f"{command_line(tune, best.arm)}    # for at most {best.limit:g} s"


def shell_command(entry: Arm) -> str:
    """Return the command line of a command for a shell, with its own parameters filled in."""
    if entry.function:
        values = ", ".join(f"{name}={value!r}" for name, value in entry.parameters.items())
        return f"{entry.function.removeprefix(f'{TYPED}:')}({values})"
    return " ".join(word if _SAFE_WORD.fullmatch(word) else shlex.quote(word)
                    for word in entry.template())  # fmt: skip


def _arm_results(tune: SavedTune) -> list[dict[str, Any]]:
    """Return runs, outcomes, seconds and the best pair of each arm; None for an arm without runs.

    The best pair is that of the limits that the arm was tried with.
    """
    results = []
    for number, name in enumerate(tune.spec.names):
        best = None
        if runs := tune.runs_of(name):
            best = tune.estimate_pair(number, int(tune.gains.tried_means[number].argmax()))
        results.append({
            "arm": name, "runs": len(runs), "outcomes": count_outcomes(runs),
            "seconds": sum(run.seconds for run in runs), "best": best,
        })  # fmt: skip
    return results


def arms_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of arms, that with the largest gain first."""
    head = ["arm", "runs", *_OUTCOMES, "seconds", "of all", "best limit", "gain with it"]
    total = sum(run.seconds for run in tune.runs) or 1.0
    labels, _ = label_arms(tune.spec)
    rows, gains = [], []
    for label, arm in zip(labels, _arm_results(tune), strict=True):
        best = arm["best"]
        counts = [arm["runs"], *arm["outcomes"].values()]
        rows.append([
            label, *(f"{count:,}" for count in counts), f"{arm['seconds']:,.1f}",
            f"{arm['seconds'] / total:.0%}",
            *([f"{best.limit:g} s", str(best.gain)] if best else ["", ""]),
        ])  # fmt: skip
        gains.append(best.gain.value if best else -np.inf)
    return head, [rows[number] for number in np.argsort(-np.array(gains), kind="stable")]


def table_notes(tune: SavedTune) -> list[str]:
    """Return the sentences to read with a table of arms."""
    notes = [label_arms(tune.spec)[1], _POOLING_NOTE * (len(tune.spec.arms) > 1)]
    return [note for note in notes if note]


def tune_html(tune: SavedTune) -> str:
    """Return what notebooks show: see `SavedTune._repr_html_`."""
    if not tune.runs:
        table = Table(format_progress(tune), ["arm"], [[name] for name in tune.spec.names])
        return notebook_html([table])
    head, rows = arms_table(tune)
    caption = f"{format_progress(tune)}."
    if len(rows) > _MOST_ROWS:
        caption += f" Shown are {_MOST_ROWS} of {len(rows):,} arms."
    best = tune.best()
    lines = [format_best_name(best), *repr(best).splitlines()[1:]]
    texts = [*format_warnings(tune), *lines, format_cut_off(tune)]
    line = " ".join(f"{text}." for text in texts if text)
    return notebook_html([Table(caption, head, rows[:_MOST_ROWS])], _picture(tune), line)


def _picture(tune: SavedTune) -> str:
    """Return the picture of the gains; empty without Matplotlib."""
    if not has_extra("plots"):
        return ""
    from keyhole.pages.matplotlib_chart import chart_figure
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
        "arms": [{**arm, "best": arm["best"] and asdict(arm["best"])} for arm in arms],
        "effects": [asdict(effect) for effect in estimate_effects(tune)] if tune.runs else [],
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
    if arm.function:
        data["function"] = arm.function
    return data
