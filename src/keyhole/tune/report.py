"""Report of a tune: one self-contained HTML file."""

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Final

from matplotlib.figure import Figure

from keyhole.pages.page import Page, PageBlock, Section, Text, write_page
from keyhole.pages.picture import Picture
from keyhole.pages.table import Table
from keyhole.tune import figures, folder
from keyhole.tune.saved_tune import Tune
from keyhole.tune.summary import (
    POOLING_NOTE,
    arms_table,
    command_line,
    format_progress,
    format_recommendation,
)

_HEAD: Final = ("round", "arm", "limit", "instance", "outcome", "seconds", "reward", "CPU s",
                "MiB", "why", "began")  # fmt: skip
_MIB: Final = 2**20
_SPEC: Final = (
    "limits",
    "success",
    "objective",
    "seed",
    "memory",
    "cores",
    "clock",
    "policy",
    "folder",
)


@dataclass(frozen=True)
class RecommendationBlock:
    """Block with the recommended command."""

    sentence: str
    command: str
    template: ClassVar[str] = "tune/templates/recommended.html.j2"


@dataclass(frozen=True)
class RunsTable:
    """Block with a table of all runs, which can be filtered and sorted."""

    caption: str
    head: tuple[str, ...]
    rows: str  # JSON, safe within a script
    file: str
    template: ClassVar[str] = "tune/templates/runs.html.j2"


def write_report(tune: Tune) -> Path:
    """Write figures and ``report.html`` into the folder of a tune; return the page."""
    sections = [
        Section("arms", "Time and outcomes by arm", [_arms_block(tune)]),
        _gains_section(tune),
        _survival_section(tune),
        _cactus_section(tune),
        Section("runs", "All runs", [_runs_block(tune)]),
        _spec_section(tune),
    ]
    best = tune.best()
    first, *others = format_recommendation(tune)
    opening: list[PageBlock] = [
        RecommendationBlock(_make_sentence(first), command_line(tune, best.arm)),
        Text("\n".join(map(_make_sentence, others)), note=f"{format_progress(tune)}."),
        Text(tune.spec.notes),
    ]
    return write_page(
        tune.folder / folder.REPORT, Page(title=tune.spec.name, answer=opening, sections=sections)
    )


def _make_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _arms_block(tune: Tune) -> Table:
    head, rows = arms_table(tune)
    caption = f"Runs of each arm by outcome, and their time. {POOLING_NOTE}"
    return Table(caption, head, rows)


def _gains_section(tune: Tune) -> Section:
    caption = (
        f"{_describe_unit(tune)} Mean and 95 % interval, given all runs; a circle marks the "
        "recommended pair. Limits above the largest one that an arm was run with are left out."
    )
    limits = [f"{limit:g} s" for limit in tune.spec.limits]
    run_counts = tune.gains.run_counts
    rows = [
        [arm.name, *(f"{(pair := tune.estimate_pair(i, k)).gain}\nn = {pair.runs:,}"
                     if run_counts[i, k] else "" for k in range(len(limits)))]
        for i, arm in enumerate(tune.spec.arms)
    ]  # fmt: skip
    table = Table("Gain of a run by arm and limit, and the number n of runs that inform it.",
                  ["arm", *limits], rows)  # fmt: skip
    drawn = figures.gains_figure(tune)
    return _figure_section(tune, "gains", "Gain by limit", drawn, caption, table)


def _describe_unit(tune: Tune) -> str:
    costs, success = tune.spec.objective, tune.spec.success
    price = f"a second costs {costs.cost_per_second:.3g}"
    if costs.cost_of_giving_up:
        price += f", giving up {costs.cost_of_giving_up:g} more"
    named = f" ({costs.preset})" if costs.preset else ""
    return f"A success earns up to {success.scale[1]:g}, {price}{named}."


def _survival_section(tune: Tune) -> Section:
    caption = (
        "Share of runs without success by a time (Kaplan and Meier), with pointwise 95 % intervals "
        "(Greenwood). A run that reached its limit is censored there; a failed run never succeeds."
    )
    return _figure_section(tune, "survival", "Run times", figures.survival_figure(tune), caption)


def _cactus_section(tune: Tune) -> Section:
    caption = (
        "Seconds within which a share of the runs succeeds, by arm: the inverse of the curves "
        "above. Further right and further down is better."
    )
    return _figure_section(tune, "cactus", "Cactus plot", figures.cactus_figure(tune), caption)


def _figure_section(
    tune: Tune, name: str, title: str, figure: Figure, caption: str, *more: PageBlock
) -> Section:
    """Return a section with a figure, and save the figure in files of that name."""
    heading = f"{tune.spec.name}: {title.lower()}"
    picture = Picture.of(figure, tune.folder / name, title=heading, caption=caption)
    return Section(name, title, [picture, *more])


def _runs_block(tune: Tune) -> RunsTable:
    rows = [
        [
            run.round, run.arm, run.limit, run.instance, run.outcome, round(run.seconds, 4),
            run.reward, round(run.cpu, 3), round(run.memory / _MIB, 1),
            " ".join(f"{run.reason} {run.output}".split()),
            datetime.fromtimestamp(run.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        ]
        for run in sorted([*tune.runs, *tune.expired], key=lambda run: (run.round, run.at))
    ]  # fmt: skip
    # "<" is escaped: an output with "</script>" would end the script element.
    data = json.dumps(rows).replace("<", "\\u003c")
    caption = "Click on a heading to sort; times are in UTC."
    return RunsTable(caption, _HEAD, data, folder.RUNS)


def _spec_section(tune: Tune) -> Section:
    fields = tune.spec.as_json()
    names = [one.name for one in tune.spec.instances]
    shown = ", ".join(names[:5]) + (f", ... {len(names):,} in all" if len(names) > 5 else "")
    rows = [["instances", shown]]
    rows += [[key, "not given" if fields[key] is None else str(fields[key])] for key in _SPEC]
    rows.append(["versions", f"keyhole {version('keyhole')}; Python {platform.python_version()}; "
                             f"{platform.system()} {platform.machine()}"])  # fmt: skip
    arms = [[arm.name, command_line(tune, arm.name)] for arm in tune.spec.arms]
    return Section(
        "spec",
        "Spec",
        [
            Table("Commands.", ["arm", "command"], arms),
            Table("Other entries.", ["entry", "value"], rows),
        ],
    )
