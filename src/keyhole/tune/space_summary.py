"""Summary of a tune over a parameter space, as text, tables and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from keyhole.pages.notebook_html import notebook_html, text_table
from keyhole.pages.page import Table
from keyhole.tune.arms import Arm
from keyhole.tune.summary import (
    NO_SUCCESS,
    count_outcomes,
    format_progress,
    format_share,
    shell_command,
)
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.validation import YARDSTICK
from keyhole.tune.warnings import OtherLoad

if TYPE_CHECKING:
    from keyhole.tune.space_estimates import ConfigurationEstimate
    from keyhole.tune.space_tune import SavedSpaceTune

_MOST_TRIED: Final = 100
CellTable = tuple[list[str], list[list[str]]]


def recommended_arm(tune: SavedSpaceTune) -> Arm:
    """Return the command with the parameters that are recommended."""
    return tune.spec.configure(tune.best().incumbent.parameters)


def format_parameters(tune: SavedSpaceTune, parameters: dict[str, Any]) -> str:
    """Return the parameters that differ from the default; "the default" if none does."""
    search = tune.spec.search
    assert search is not None
    default = search.space.default
    changes = [f"{k}={v}" for k, v in parameters.items() if k not in default or default[k] != v]
    return " ".join(changes) or "the default"


def format_warnings(tune: SavedSpaceTune) -> list[str]:
    """Return a line for each reason to doubt the results: no success, a busy machine."""
    load = OtherLoad(tune.spec, tune.runs)
    has_success = any(run.outcome == "ok" for run in tune.runs)
    return [NO_SUCCESS] * (not has_success) + [load.warning] * load.is_high


def format_recommendation(tune: SavedSpaceTune) -> list[str]:
    """Return lines on the recommended configuration: what to run, and a table beside others."""
    best = tune.best().incumbent
    return [
        f"best: {format_parameters(tune, best.parameters)}, with {best.limit:g} s",
        text_table(*estimates_table(tune, tune.estimates())),
        "gain over default: over a run with the default and the full cut-off, paired by instance",
        *format_validation(tune),
    ]


def best_line(tune: SavedSpaceTune) -> str:
    """Return the recommended command line, with its limit as a comment."""
    limit = tune.best().incumbent.limit
    return f"{shell_command(recommended_arm(tune))}    # for at most {limit:g} s"


def estimates_table(
    tune: SavedSpaceTune, estimates: Mapping[str, ConfigurationEstimate], title: str = ""
) -> CellTable:
    """Return head and rows of estimates of configurations, by name."""
    head = [title, "limit", "gain", "gain over default", "success", "time", "runs", "parameters"]
    return head, [
        [name, f"{e.limit:g} s", str(e.gain), "" if name == YARDSTICK else str(e.gain_over_default),
         format_share(e.success_rate), e.seconds.as_duration(), f"{e.runs:,}",
         format_parameters(tune, e.parameters)]
        for name, e in estimates.items()
    ]  # fmt: skip


def tried_table(tune: SavedSpaceTune) -> CellTable:
    """Return head and rows of the configurations that were run, that with most runs first."""
    by_number: dict[int | None, list[TrialRecord]] = {}
    for run in tune.runs:
        by_number.setdefault(run.configuration, []).append(run)
    rows = [
        [str(number), f"{len(runs):,}", *(f"{n:,}" for n in count_outcomes(runs).values()),
         f"{sum(run.seconds for run in runs):,.1f}",
         format_parameters(tune, runs[0].parameters or {})]
        for number, runs in sorted(by_number.items(), key=lambda item: -len(item[1]))
    ]  # fmt: skip
    head = ["configuration", "runs", *count_outcomes([]), "seconds", "parameters"]
    return head, rows[:_MOST_TRIED]


def format_validation(tune: SavedSpaceTune) -> list[str]:
    """Return lines on the comparison on instances kept aside; none if there is none."""
    estimates = tune.validation()
    return [text_table(*estimates_table(tune, estimates, "kept aside"))] if estimates else []


def tune_html(tune: SavedSpaceTune) -> str:
    """Return what notebooks show."""
    if not tune.runs:
        return notebook_html([], line=f"{format_progress(tune)}.")
    table = Table(f"{format_progress(tune)}.", *estimates_table(tune, tune.estimates()))
    line = " ".join(f"{text}." for text in [*format_warnings(tune), format_recommendation(tune)[0]])
    return notebook_html([table], line=line)


def tune_as_json(tune: SavedSpaceTune) -> dict[str, Any]:
    """Return progress and results as JSON data: what `keyhole tune show` prints."""
    return {
        "name": tune.spec.name,
        "runs": len(tune.runs),
        "elapsed": tune.elapsed,
        "outcomes": count_outcomes(tune.runs),
        "not_counted": len(tune.expired),
        "best": best_as_json(tune) if tune.runs else None,
        "effects": [asdict(effect) for effect in tune.effects()] if tune.runs else [],
        "validation": {name: asdict(row) for name, row in tune.validation().items()},
    }


def best_as_json(tune: SavedSpaceTune) -> dict[str, Any]:
    """Return the recommendation as JSON data."""
    best = tune.best()
    arm = recommended_arm(tune)
    data = asdict(best.incumbent) | {
        "arm": arm.name,
        "command": list(arm.command),
        "template": arm.template(),
        "default": asdict(best.default),
        "default_at_cutoff": asdict(best.default_at_cutoff),
        "runners_up": [asdict(estimate) for estimate in best.runners_up],
        "warnings": format_warnings(tune),
    }
    if arm.function:
        data["function"] = arm.function
    return data
