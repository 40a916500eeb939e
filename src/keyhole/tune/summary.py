"""Summary of a tune: what is recommended and how sure that is, as text, tables and JSON."""

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final

from keyhole.durations import format_duration
from keyhole.pages.notebook_html import chart_html, notebook_html, text_table
from keyhole.pages.page import Table
from keyhole.text_formatting import count_text
from keyhole.tune.arms import TYPED, Arm
from keyhole.tune.pair_estimates import Interval
from keyhole.tune.recommendation import (
    NO_SUCCESS,
    REFERENCE,
    TOLERANCE,
    ConfigurationEstimate,
    PairEstimate,
    format_probability,
    format_share,
    format_untried,
)
from keyhole.tune.saved_tune import AnyTune, SavedSpaceTune, SavedTune
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.varied_parameters import label_arms
from keyhole.tune.warm_start import read_warm_start
from keyhole.tune.warnings import OtherLoad
from keyhole.validation import escape_controls

RECOMMENDED: Final = "recommended"
_SAFE_WORD: Final = re.compile(
    r"(?:\{\w+(?::[\w.,+-]*)?\}|[\w@%+=:,./-])+"
)  # fields and characters that a shell does not interpret
_OUTCOMES: Final = ("ok", "out of time", "failed", "out of memory")
_COUNTS_HEAD: Final = ("runs", *_OUTCOMES, "seconds")
_HALVING_FACTOR: Final = 4  # with this many times the runs, an interval roughly halves
_MOST_ROWS: Final = 10  # in a table of a notebook
_MOST_CONFIGURATIONS: Final = 100  # in a table
# Limits were probably meant in milliseconds if all are at least 10 s, and every success took less
# than 1 % of the shortest.
_SHORT_SHARE: Final = 0.01
_LONG_LIMIT: Final = 10.0
_POOLING_NOTE: Final = "Gains of arms with few runs are estimated mostly from the other arms."
CellTable = tuple[list[str], list[list[str]]]
"""Head and rows of a table."""


@dataclass(frozen=True)
class Summary:
    """The recommendation of a tune, compared with what one would run without the tune.

    Attributes
    ----------
    name : str
        The recommended command or parameters.
    arm : Arm
        The command with its parameters.
    estimate : PairEstimate or ConfigurationEstimate
        The recommended limit, with estimates.
    advice : str
        A sentence: what to run, and what is gained.
    reference : str
        Name of the row of `table` with which the recommendation is compared, or of the row of the
        recommendation if there is no row to compare with.
    table : CellTable
        Estimates of the recommendation and of others; the first column has their names.
    sentences : list of str
        How sure the recommendation is.
    """

    name: str
    arm: Arm
    estimate: PairEstimate | ConfigurationEstimate
    advice: str
    reference: str
    table: CellTable
    sentences: list[str]


def summarize(tune: AnyTune) -> Summary:
    """Return the summary of a tune that has runs."""
    return _summarize_list(tune) if isinstance(tune, SavedTune) else _summarize_space(tune)


def _summarize_list(tune: SavedTune) -> Summary:
    best = tune.best()
    full = best.full
    difference = None if has_one_pair(tune) else best.gain_over_full
    rows = [[RECOMMENDED, *_estimate_cells(best, difference)]]
    has_shorter_limit = best.limit < full.limit
    if has_shorter_limit or full.arm != best.arm:
        rows.append([f"{full.arm}, full cut-off", *_estimate_cells(full, None)])
    advice = f"run {best.arm} for at most {best.limit:g} s"
    if has_shorter_limit:
        advice += _format_gain(best.gain_over_full, gain_unit(tune), "the full cut-off")
    else:
        advice += f", the full cut-off: {format_share(best.success_rate)} succeed"
    notes = []
    if len(tune.spec.arms) > 1:
        notes.append("gain over full cut-off: compared with the best command at the full cut-off")
    if not has_one_pair(tune):
        notes.append(format_probability(best))
    notes += [longer_limit_note(tune), more_runs_note(tune)]
    return Summary(
        name=f"{best.arm} with {best.limit:g} s",
        arm=tune.spec.arms[tune.spec.names.index(best.arm)],
        estimate=best,
        advice=advice,
        reference=rows[-1][0],
        table=(_estimates_head("full cut-off"), rows),
        sentences=[note for note in notes if note],
    )


def _summarize_space(tune: SavedSpaceTune) -> Summary:
    best = tune.best().incumbent
    # A validation on other instances is preferred, since the tune's own estimates are optimistic.
    validation = tune.validation()
    difference = (validation or tune.estimates())[RECOMMENDED].gain_over_default
    reference = "the default with the full cut-off" + " on instances kept aside" * bool(validation)
    advice = f"run {format_parameters(tune, best.parameters)} for at most {best.limit:g} s"
    note = "gain over default: over a run with the default and the full cut-off, paired by instance"
    return Summary(
        name=name_configuration(tune, best),
        arm=tune.spec.configure(best.parameters),
        estimate=best,
        advice=f"{advice}{_format_gain(difference, gain_unit(tune), reference)}",
        reference=REFERENCE,
        table=configurations_table(tune, tune.estimates()),
        sentences=[note],
    )


def _format_gain(difference: Interval, unit: str, reference: str) -> str:
    if difference.low == difference.high == 0.0:  # mostly the reference itself is recommended
        return f", {reference}"
    if difference.low <= 0.0 <= difference.high:
        return f": no sure difference from {reference} (gain {difference} {unit} a run)"
    return f": it gains {difference} {unit} a run over {reference}"


def _estimates_head(reference: str) -> list[str]:
    return ["", "limit", "gain", f"gain over {reference}", "success", "time", "runs"]


def _estimate_cells(
    estimate: PairEstimate | ConfigurationEstimate, difference: Interval | None
) -> list[str]:
    return [
        f"{estimate.limit:g} s",
        str(estimate.gain),
        "" if difference is None else str(difference),
        format_share(estimate.success_rate),
        estimate.seconds.as_duration(),
        f"{estimate.runs:,}",
    ]


def configurations_table(
    tune: SavedSpaceTune, estimates: Mapping[str, ConfigurationEstimate], title: str = ""
) -> CellTable:
    """Return a table with a row for each estimate, under the name of the estimate."""
    rows = []
    for name, estimate in estimates.items():
        # The rows of the default would be equal if its best limit is the full cut-off.
        if name == "default" and estimate.limit == estimates[REFERENCE].limit:
            continue
        difference = None if name == REFERENCE else estimate.gain_over_default
        parameters = format_parameters(tune, estimate.parameters)
        rows.append([name, *_estimate_cells(estimate, difference), parameters])
    return [title, *_estimates_head("default")[1:], "parameters"], rows


def name_configuration(tune: SavedSpaceTune, estimate: ConfigurationEstimate) -> str:
    """Return the parameters and the limit of a configuration."""
    return f"{format_parameters(tune, estimate.parameters)}, with {estimate.limit:g} s"


def format_parameters(tune: SavedSpaceTune, parameters: Mapping[str, Any]) -> str:
    """Return the parameters that differ from the default; "the default" if none does."""
    assert tune.spec.search is not None
    default = tune.spec.search.space.default
    changes = [f"{k}={v}" for k, v in parameters.items() if k not in default or default[k] != v]
    return " ".join(changes) or "the default"


def format_validation(tune: AnyTune) -> str:
    """Return the table of the comparison on instances kept aside, as text; "" if there is none."""
    if not isinstance(tune, SavedSpaceTune) or not (estimates := tune.validation()):
        return ""
    return text_table(*configurations_table(tune, estimates, "kept aside"))


def format_progress(tune: AnyTune) -> str:
    """Return name, number of runs, time, number of runs by outcome, and the warm start."""
    runs = count_text(len(tune.runs), "run")
    text = f"{tune.spec.name}: {runs} in {timedelta(seconds=round(tune.elapsed))}"
    if cpu := sum(run.cpu for run in [*tune.runs, *tune.expired]):
        text += f" (CPU {format_duration(cpu)})"
    counts = count_outcomes(tune.runs)
    if tune.runs:
        text += "; " + ", ".join(f"{n:,} {outcome}" for outcome, n in counts.items() if n)
    if tune.expired:
        text += f"; {len(tune.expired):,} did not count and were repeated"
    if start := read_warm_start(tune.folder):
        runs = f"{len(start.runs):,} of {count_text(start.earlier_count, 'run')}"
        text += f"; begun with {runs} of {escape_controls(start.folder)}, weight {start.weight:g}"
    return text


def count_outcomes(runs: Iterable[TrialRecord]) -> dict[str, int]:
    """Return the number of runs by outcome."""
    outcomes = [run.outcome for run in runs]
    return {outcome: outcomes.count(outcome) for outcome in _OUTCOMES}


def format_warnings(tune: AnyTune) -> list[str]:
    """Return a line for each reason to doubt the results: no success, a busy machine, units."""
    warnings = []
    shortest_limit = tune.spec.limits[0]
    success_seconds = [run.seconds for run in tune.runs if run.outcome == "ok"]
    if not success_seconds:
        warnings.append(NO_SUCCESS)
    if isinstance(tune, SavedTune):
        best = tune.best()
        outcomes = {run.outcome for run in tune.runs_of(best.arm)}
        warnings.append(format_untried(best))
        if success_seconds and "ok" not in outcomes:
            text = f"no run of {best.arm} has succeeded: giving up early costs least so far"
            warnings.append(text)
    longest = max(success_seconds, default=math.inf)
    if shortest_limit >= _LONG_LIMIT and longest < _SHORT_SHARE * shortest_limit:
        warnings.append(
            f"every success took at most {format_duration(longest)}, and the least limit is "
            f"{shortest_limit:g} s: limits are in seconds"
        )
    warnings.append(OtherLoad(tune.spec, tune.runs).warning)
    return [text for text in warnings if text]


def has_one_pair(tune: SavedTune) -> bool:
    """Return whether a tune has only one pair of command and limit: nothing to compare."""
    return len(tune.spec.arms) == len(tune.spec.limits) == 1


def count_cut_off_runs(tune: SavedTune) -> int:
    """Return how many runs of the recommended command were out of time at the full cut-off."""
    runs = tune.runs_of(tune.best().arm)
    return sum(run.outcome == "out of time" and run.limit == tune.spec.limits[-1] for run in runs)


def longer_limit_note(tune: SavedTune) -> str:
    """Return a note that a limit above the full cut-off may be better.

    It is "" if a shorter limit is recommended, or if no run of the recommended command was out of
    time at the full cut-off.
    """
    best = tune.best()
    cut_off_count = count_cut_off_runs(tune)
    if not cut_off_count or best.limit < best.full.limit:
        return ""
    return (
        f"{cut_off_count:,} of {count_text(best.runs, 'run')} ran out of time at {best.limit:g} s, "
        "the largest limit tried; a longer limit, if you can wait for it, may be better"
    )


def more_runs_note(tune: SavedTune) -> str:
    """Return a note on how many runs roughly halve the bound on the regret.

    It is "" if the bound is small and all commands were tried, if there is nothing to compare, or
    if no run of any command has succeeded.
    """
    best = tune.best()
    is_settled = not best.untried and best.regret_bound <= TOLERANCE * tune.spec.success.reward_span
    if is_settled or has_one_pair(tune) or not best.successes:
        return ""
    run_count = _HALVING_FACTOR * len(tune.runs)
    more_time = format_duration((_HALVING_FACTOR - 1) * tune.elapsed)
    return f"--runs {run_count}, about {more_time} more, roughly halves the possible loss"


def gain_unit(tune: AnyTune) -> str:
    """Return the unit of gains: a success if each success earns 1, else the reward."""
    earns_one = tune.spec.success.scale[1] == 1.0 and not tune.spec.has_varying_rewards
    return "of a success" if earns_one else "of the reward"


def describe_objective(tune: AnyTune) -> str:
    """Return what a success earns and what time costs, in a sentence."""
    costs = tune.spec.objective
    reward = f"{tune.spec.success.scale[1]:g}"
    if gain_unit(tune) == "of the reward":
        reward = f"up to {reward}"
    price = f"a second costs {costs.cost_per_second:.3g}"
    if costs.cost_of_giving_up:
        price += f", giving up {costs.cost_of_giving_up:g} more"
    return f"A success earns {reward}, {price}."


def shell_command(arm: Arm) -> str:
    """Return a command line for a shell, or a call of a function, with the arm's parameters."""
    if arm.function:
        values = ", ".join(f"{name}={value!r}" for name, value in arm.parameters.items())
        return f"{arm.function.removeprefix(f'{TYPED}:')}({values})"
    return " ".join(word if _SAFE_WORD.fullmatch(word) else shlex.quote(word)
                    for word in arm.template())  # fmt: skip


def _arm_results(
    tune: SavedTune,
) -> list[tuple[str, list[TrialRecord], PairEstimate | None]]:
    """Return for each arm its label, its runs, and its best tried pair (None without runs)."""
    labels, _ = label_arms(tune.spec)
    results = []
    for arm, name in enumerate(tune.spec.names):
        best = None
        if runs := tune.runs_of(name):
            best = tune.estimate_pair(arm, int(tune.gains.tried_means[arm].argmax()))
        results.append((labels[arm], runs, best))
    return results


def tried_table(tune: AnyTune) -> CellTable:
    """Return a table of commands in the order of gains, or of configurations by numbers of runs."""
    rows = []
    if isinstance(tune, SavedTune):
        results = _arm_results(tune)
        results.sort(key=lambda result: -result[2].gain.value if result[2] else math.inf)
        for label, runs, best in results:
            best_cells = [f"{best.limit:g} s", str(best.gain)] if best else ["", ""]
            rows.append([*_outcome_count_cells(label, runs), *best_cells])
        return [tune.noun, *_COUNTS_HEAD, "best limit", "gain with it"], rows
    by_number: dict[int | None, list[TrialRecord]] = {}
    for run in tune.runs:
        by_number.setdefault(run.configuration, []).append(run)
    by_runs = sorted(by_number.items(), key=lambda item: -len(item[1]))
    for number, runs in by_runs[:_MOST_CONFIGURATIONS]:
        parameters = format_parameters(tune, runs[0].parameters or {})
        rows.append([*_outcome_count_cells(str(number), runs), parameters])
    return [tune.noun, *_COUNTS_HEAD, "parameters"], rows


def _outcome_count_cells(label: str, runs: list[TrialRecord]) -> list[str]:
    counts = [len(runs), *count_outcomes(runs).values()]
    return [label, *(f"{n:,}" for n in counts), f"{sum(run.seconds for run in runs):,.1f}"]


def tried_table_note(tune: AnyTune) -> str:
    """Return the note that explains the table of what was tried."""
    if isinstance(tune, SavedSpaceTune):
        return "Shown are the parameters that differ from the default."
    _, explanation = label_arms(tune.spec)
    return f"{explanation} {_POOLING_NOTE if len(tune.spec.arms) > 1 else ''}".strip()


def tune_html(tune: AnyTune) -> str:
    """Return what notebooks show: the recommendation, a picture, and what was tried."""
    caption = f"{format_progress(tune)}."
    head, rows = tried_table(tune)
    if len(rows) > _MOST_ROWS:
        caption += f" Shown are {_MOST_ROWS} of {len(rows):,} {head[0]}s."
    table = Table(caption, head, rows[:_MOST_ROWS])
    if not tune.runs:
        return notebook_html([table])
    summary = summarize(tune)
    texts = [*format_warnings(tune), f"best: {summary.name}", *summary.sentences]
    line = " ".join(f"{text}." for text in texts)
    from keyhole.tune.charts import gain_chart

    picture = chart_html(gain_chart(tune))
    return notebook_html([Table("", *summary.table), table], picture, line)


def tune_as_json(tune: AnyTune) -> dict[str, Any]:
    """Return progress and results as JSON data: what `keyhole tune show --json` prints."""
    data = {
        "name": tune.spec.name,
        "runs": len(tune.runs),
        "elapsed": tune.elapsed,
        "outcomes": count_outcomes(tune.runs),
        "not_counted": len(tune.expired),
        "best": best_as_json(tune) if tune.runs else None,
        "effects": [asdict(effect) for effect in tune.effects()],
    }
    if isinstance(tune, SavedSpaceTune):
        validation = tune.validation() if tune.runs else {}
        return data | {"validation": {name: asdict(row) for name, row in validation.items()}}
    arms = [
        {
            "arm": name,
            "runs": len(runs),
            "outcomes": count_outcomes(runs),
            "seconds": sum(run.seconds for run in runs),
            "best": best and asdict(best),
        }
        for name, (_, runs, best) in zip(tune.spec.names, _arm_results(tune), strict=True)
    ]
    return data | {"arms": arms}


def best_as_json(tune: AnyTune) -> dict[str, Any]:
    """Return the recommendation as JSON data."""
    if isinstance(tune, SavedTune):
        data = asdict(tune.best()) | {"out_of_time_at_full_cut_off": count_cut_off_runs(tune)}
    else:
        recommendation = asdict(tune.best())
        data = recommendation.pop("incumbent") | recommendation
    arm = summarize(tune).arm
    data |= {
        "arm": arm.name,
        "command": list(arm.command),
        "parameters": dict(arm.parameters),
        "template": arm.template(),  # the command with its parameters
        "other_load": OtherLoad(tune.spec, tune.runs).share,
        "warnings": format_warnings(tune),
    }
    return data | ({"function": arm.function} if arm.function else {})
