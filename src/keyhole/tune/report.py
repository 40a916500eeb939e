"""The report of a tune: one HTML file that needs nothing else."""

import json
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Final

from matplotlib.figure import Figure

from keyhole.experiment.html_page import Block, Picture, Section, Text, write_page
from keyhole.results.html import Table
from keyhole.tune import figures, folder
from keyhole.tune.summary import (
    POOLED,
    arms_table,
    command_line,
    format_progress,
    format_recommendation,
)
from keyhole.tune.tune import Tune

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
class Recommended:
    """What to run, for who reads no further."""

    sentence: str
    command: str
    template: ClassVar[str] = "tune/templates/recommended.html.j2"


@dataclass(frozen=True)
class Runs:
    """All runs, to be filtered and sorted on the page."""

    caption: str
    head: tuple[str, ...]
    rows: str  # JSON, safe within a script
    file: str
    template: ClassVar[str] = "tune/templates/runs.html.j2"


def write_report(tune: Tune) -> Path:
    """Write figures and ``report.html`` into the folder of a tune; return the page."""
    sections = [
        Section("arms", "Time and outcomes by arm", [_arms(tune)]),
        _gains(tune),
        _survival(tune),
        _cactus(tune),
        Section("runs", "What became of every run", [_runs(tune)]),
        _spec(tune),
    ]
    best = tune.best()
    first, *others = format_recommendation(tune)
    opening: list[Block] = [
        Recommended(_sentence(first), command_line(tune, best.arm)),
        Text("\n".join(map(_sentence, others)), note=f"{format_progress(tune)}."),
        Text(tune.spec.notes),
    ]
    return write_page(tune.folder / folder.REPORT, tune.spec.name, opening, sections)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _arms(tune: Tune) -> Table:
    head, rows = arms_table(tune)
    caption = f"What became of the runs of each arm, and the time that they took. {POOLED}"
    return Table(caption, head, rows)


def _gains(tune: Tune) -> Section:
    caption = (
        f"{_unit(tune)} Mean and 95 % interval, given all runs; a circle is around the pair that "
        "is recommended. Limits beyond those with which an arm was run are left out."
    )
    limits = [f"{limit:g} s" for limit in tune.spec.limits]
    told = tune.gains.told
    rows = [
        [arm.name, *(f"{(p := tune.pair(i, k)).gain}\nn = {p.runs:,}" if told[i, k] else ""
                     for k in range(len(limits)))]
        for i, arm in enumerate(tune.spec.arms)
    ]  # fmt: skip
    table = Table("Worth of a run, by arm and limit, and how many runs tell of it.",
                  ["arm", *limits], rows)  # fmt: skip
    drawn = figures.gains_figure(tune)
    return _pictured(tune, "gains", "What every limit is worth", drawn, caption, table)


def _unit(tune: Tune) -> str:
    worth, success = tune.spec.objective, tune.spec.success
    price = f"a second costs {worth.cost_per_second:.3g}"
    if worth.cost_of_giving_up:
        price += f", giving up {worth.cost_of_giving_up:g} more"
    named = f" ({worth.preset})" if worth.preset else ""
    return f"A success is worth up to {success.scale[1]:g}, {price}{named}."


def _survival(tune: Tune) -> Section:
    caption = (
        "Share of runs that have not succeeded by a time (Kaplan and Meier), with pointwise 95 % "
        "intervals (Greenwood). A run that was given up was watched until its limit; one that "
        "failed never succeeds."
    )
    return _pictured(tune, "survival", "Run times", figures.survival_figure(tune), caption)


def _cactus(tune: Tune) -> Section:
    caption = (
        "Within how many seconds a share of the runs is done, by arm: the same estimates, the "
        "other way round. The further right and down, the better."
    )
    return _pictured(tune, "cactus", "Cactus plot", figures.cactus_figure(tune), caption)


def _pictured(
    tune: Tune, name: str, title: str, figure: Figure, caption: str, *more: Block
) -> Section:
    """Return the section of a figure, which is also kept in files of that name."""
    said = f"{tune.spec.name}: {title.lower()}"
    picture = Picture.of(figure, tune.folder / name, title=said, caption=caption)
    return Section(name, title, [picture, *more])


def _runs(tune: Tune) -> Runs:
    rows = [
        [
            run.round, run.arm, run.limit, run.instance, run.outcome, round(run.seconds, 4),
            run.reward, round(run.cpu, 3), round(run.memory / _MIB, 1),
            " ".join(f"{run.reason} {run.output}".split()),
            datetime.fromtimestamp(run.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        ]
        for run in sorted([*tune.runs, *tune.expired], key=lambda run: (run.round, run.at))
    ]  # fmt: skip
    said = json.dumps(rows).replace("<", "\\u003c")
    caption = "A click on a heading sorts; times are in UTC."
    return Runs(caption, _HEAD, said, folder.RUNS)


def _spec(tune: Tune) -> Section:
    said = tune.spec.as_json()
    names = [one.name for one in tune.spec.instances]
    shown = ", ".join(names[:5]) + (f", ... {len(names):,} in all" if len(names) > 5 else "")
    rows = [["instances", shown]]
    rows += [[key, "not given" if said[key] is None else str(said[key])] for key in _SPEC]
    rows.append(["versions", f"keyhole {version('keyhole')}; Python {platform.python_version()}; "
                             f"{platform.system()} {platform.machine()}"])  # fmt: skip
    arms = [[arm.name, command_line(tune, arm.name)] for arm in tune.spec.arms]
    return Section(
        "spec",
        "What was tuned",
        [
            Table("The commands.", ["arm", "command"], arms),
            Table("All else.", ["entry", "value"], rows),
        ],
    )
