"""The report: one HTML file that needs nothing else."""

import math
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from keyhole.experiment.html import heading, inline, page, table, unbroken
from keyhole.experiment.plots import caption, figure_of, write_figure
from keyhole.experiment.store import Run, open_run
from keyhole.files import write_atomically
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate, written
from keyhole.results.plot import per_arm

_NOT_LISTED: Final = ("policy", "title", "notes")
_SHOWN_CHECKPOINTS: Final = 10
_SHOWN_ENTRIES: Final = 12


def shown(curves: Curves) -> list[int]:
    """Return the positions of at most ten checkpoints, evenly spread, the last among them."""
    count = len(curves.checkpoints)
    spread = np.linspace(0, count, min(count, _SHOWN_CHECKPOINTS) + 1)[1:] - 1
    return sorted({round(p) for p in spread})


def values_section(curves: Curves, metric: str, arms: int | None) -> str:
    """Return the table of means with their 95 % intervals, and per arm ln(mean / arms)."""
    places = shown(curves)
    rows = []
    for label in curves.labels:
        found = curves.estimates(label, metric)
        cells = [unbroken(found[c].plus_minus()) for c in places]
        if arms is not None:
            logs = [unbroken(_logarithm(found[c], arms)) for c in places]
            cells = [f"{cell}\n{log}".strip() for cell, log in zip(cells, logs, strict=True)]
        rows.append([label, *cells])
    head = ["policy", *(f"round {curves.checkpoints[c]:,}" for c in places)]
    note = "Mean ± half of the 95 % interval; of a share, the whole interval"
    note += "; below it ln(mean / number of arms)." if arms is not None else "."
    note += " Higher is better." if curves.metric(metric).better == "higher" else ""
    return table(note, head, rows)


def _logarithm(number: Estimate, arms: int) -> str:
    """Return ln(mean / arms) with its interval, where a mean has one."""
    if number.value <= 0.0:
        return ""
    low, value, high = (
        math.log(end / arms) if end > 0.0 else -math.inf
        for end in (number.low, number.value, number.high)
    )
    if not math.isfinite(high):
        return f"ln {value:.3f}"
    reach = (high - value) if math.isinf(low) else (high - low) / 2
    return f"ln {written(value, reach)} [{written(low, reach)}, {written(high, reach)}]"


def paired_section(curves: Curves, metric: str) -> str:
    """Return the table of paired differences to the first policy, at the last checkpoint."""
    first, last = curves.labels[0], curves.checkpoints[-1]
    rows = []
    for label in curves.labels[1:]:
        gap = curves.paired(label, first, metric=metric, round=last)
        rows.append([f"{label} minus {first}", unbroken(str(gap))])
    if not rows:
        return ""
    title = f"Paired over common random numbers, round {last:,}"
    head = ["difference", "mean [95 % interval], p of the two-sided t-test"]
    return table(title, head, rows)


Decorate = Callable[[Figure, str], None]
"""Draws more into the figure of a metric, given its name."""


def metric_figure(
    run: Run, metric: str, *, title: str | None = None, decorate: Decorate | None = None
) -> Figure:
    """Return the figure of one metric of a run, by default under a title that names both."""
    title = title or _metric_title(run, metric)
    figure = figure_of(run.curves, metric, title=title, **_axes(run))
    if decorate is not None:
        decorate(figure, metric)
    return figure


def run_section(
    run: Run, metrics: Sequence[str] | None = None, *, decorate: Decorate | None = None
) -> str:
    """Return figures and tables of one run."""
    curves, y = run.curves, _axes(run).get("y")
    parts = []
    for metric in metrics or curves.metrics:
        parts += [
            heading(3, curves.metric(metric).title),
            inline(
                metric_figure(run, metric, decorate=decorate),
                f"{_metric_title(run, metric)}. {caption(curves, metric, y)}",
            ),
            values_section(curves, metric, per_arm(curves, metric, y)),
            paired_section(curves, metric),
        ]
    return "".join(parts)


def _metric_title(run: Run, metric: str) -> str:
    return f"{run.spec.get('title') or run.spec['name']}: {run.curves.metric(metric).title}"


def _axes(run: Run) -> dict[str, Any]:
    """Return the axes that the spec asks for."""
    axes: dict[str, Any] = run.spec.get("figure", {})
    return axes


def notes_section(notes: str) -> str:
    """Return the notes of a spec, a paragraph for each part between empty lines."""
    parts = [part.strip() for part in notes.replace("\r\n", "\n").split("\n\n")]
    return "".join(f'<p class="notes">{escape(part)}</p>' for part in parts if part)


def provenance_section(runs: Sequence[Run]) -> str:
    """Return what was run, and how to run it again."""
    rows = []
    for run in runs:
        found = run.provenance
        versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
        rows.append(
            [
                run.spec["name"],
                str(found["seed"]),
                f"{run.curves.replications:,}",
                f"{versions}; Python {found['python']}; {found['system']}",
                f"{found['started']} to {found['finished']}",
                found["command"],
            ]
        )
    head = ["run", "seed", "replications", "versions", "when", "command"]
    return heading(2, "Provenance") + table("What was run, and how to run it again", head, rows)


def write_report(folder: str | Path, *, title: str | None = None) -> Path:
    """Write figures and ``report.html`` of a finished run.

    Parameters
    ----------
    folder : str or Path
        The run folder.
    title : str, optional
        By default the spec's.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    FileNotFoundError, ValueError
        If the folder holds no finished run.
    """
    run = open_run(folder)
    metric = run.curves.metrics[0]
    name = title or run.spec.get("title") or run.spec["name"]
    write_figure(metric_figure(run, metric, title=name), run.folder, "figure")
    body = notes_section(run.spec.get("notes", "")) + heading(2, "Results") + run_section(run)
    body += spec_section(run.spec) + provenance_section([run])
    path = run.folder / "report.html"
    write_atomically(path, page(name, body).encode())
    return path


def spec_section(spec: dict[str, Any]) -> str:
    """Return the spec as a table."""
    rows = [[name, _text(value)] for name, value in spec.items() if name not in _NOT_LISTED]
    rows += [[f"policy {i + 1}", _text(entry)] for i, entry in enumerate(spec["policy"])]
    return heading(2, "Spec") + table("The experiment, as it was given", ["entry", "value"], rows)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        more = f", ... {len(value)} in all" if len(value) > _SHOWN_ENTRIES else ""
        return f"[{', '.join(_text(entry) for entry in value[:_SHOWN_ENTRIES])}{more}]"
    return str(value)
