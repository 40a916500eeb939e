"""The report: one HTML file that needs nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from matplotlib.figure import Figure

from keyhole.core.curves import Curves
from keyhole.core.plot import name_of
from keyhole.core.saving import write_atomically
from keyhole.experiment.plots import caption, figure_of, picture, write_figure
from keyhole.experiment.store import Run, open_run

Status = Literal["holds", "does not hold", "undecided"]
_NOT_LISTED: Final = ("policy", "title", "notes")
_SHOWN_CHECKPOINTS: Final = 10
_SHOWN_ENTRIES: Final = 12
_STYLE: Final = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Verdict:
    """A claim, and what the results say of it.

    Attributes
    ----------
    claim : str
        What is claimed.
    source : str
        By whom, and where.
    status : {"holds", "does not hold", "undecided"}
        What the results say.
    detail : str
        The numbers behind it.
    """

    claim: str
    source: str
    status: Status
    detail: str


def number(value: float) -> str:
    """Return a number as reports show it: four significant digits."""
    return f"{value:.4g}" if math.isfinite(value) else "-"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; all cells are escaped."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><tr>{top}</tr>{body}</table></div>'


def inline(figure: Figure, description: str) -> str:
    """Return a figure as inline SVG."""
    svg = picture(figure, "svg").decode()
    svg = svg[svg.index("<svg") :]
    return f'<figure role="img" aria-label="{escape(description)}">{svg}</figure>'


def shown(curves: Curves) -> list[int]:
    """Return the positions of at most ten checkpoints, evenly spread, the last among them."""
    count = len(curves.checkpoints)
    spread = np.linspace(0, count, min(count, _SHOWN_CHECKPOINTS) + 1)[1:] - 1
    return sorted({round(p) for p in spread})


def values_section(curves: Curves, metric: str, arms: int | None) -> str:
    """Return the table of means with their 95 % intervals."""
    places = shown(curves)
    rows = []
    for label in curves.labels:
        mean, error = curves.mean(label, metric), curves.std_error(label, metric)
        cells = []
        for c in places:
            cell = f"{number(mean[c])} ± {1.96 * error[c]:.2g}"
            if arms is not None and mean[c] > 0:
                cell += f"\nln {math.log(mean[c] / arms):.3f}"
            cells.append(cell)
        rows.append([label, *cells])
    head = ["policy", *(f"round {curves.checkpoints[c]:,}" for c in places)]
    note = "Mean ± half of the 95 % interval"
    note += "; below it ln(mean / number of arms)." if arms is not None else "."
    return f"<p>{note}</p>{table(head, rows)}"


def paired_section(curves: Curves, metric: str) -> str:
    """Return the table of paired differences to the first policy, at the last checkpoint."""
    first, last = curves.labels[0], curves.checkpoints[-1]
    rows = []
    for label in curves.labels[1:]:
        gap = curves.paired(label, first, metric=metric, round=last)
        rows.append(
            [
                f"{label} minus {first}",
                number(gap.difference),
                f"[{number(gap.low)}, {number(gap.high)}]",
                f"{gap.p_value:.2g}",
            ]
        )
    if not rows:
        return ""
    head = ["difference", "mean", "95 % interval", "p (two-sided)"]
    title = f"<h3>Paired over common random numbers, round {last:,}</h3>"
    return title + table(head, rows)


def claims_section(verdicts: Sequence[Verdict]) -> str:
    """Return the claims, each with its verdict."""
    if not verdicts:
        return ""
    rows = "".join(
        f'<tr><td class="verdict {escape(v.status.replace(" ", "-"))}">{escape(v.status)}</td>'
        f"<td>{escape(v.claim)}<br><small>{escape(v.source)}</small></td>"
        f"<td>{escape(v.detail)}</td></tr>"
        for v in verdicts
    )
    head = "<tr><th>verdict</th><th>claim</th><th>what was found</th></tr>"
    return f'<h2>Claims</h2><div class="wide"><table class="claims">{head}{rows}</table></div>'


def metric_figure(run: Run, metric: str, *, title: str | None = None) -> Figure:
    """Return the figure of one metric of a run, by default under a title that names both."""
    title = title or _metric_title(run, metric)
    return figure_of(run.curves, metric, title=title, **_drawn(run, metric))


def run_section(run: Run, metrics: Sequence[str] | None = None) -> str:
    """Return figures and tables of one run."""
    curves = run.curves
    parts = []
    for metric in metrics or curves.metrics:
        drawn = _drawn(run, metric)
        said = caption(curves, metric, logarithm="arms" in drawn or drawn["y"] == "log")
        parts += [
            f"<h3>{escape(name_of(metric))}</h3>",
            inline(metric_figure(run, metric), f"{_metric_title(run, metric)}. {said}"),
            values_section(curves, metric, drawn.get("arms")),
            paired_section(curves, metric),
        ]
    return "".join(parts)


def _metric_title(run: Run, metric: str) -> str:
    return f"{run.spec.get('title') or run.spec['name']}: {name_of(metric)}"


def _drawn(run: Run, metric: str) -> dict[str, Any]:
    """Return how a metric is drawn: as the spec says, else as its setting's papers do."""
    wanted = run.spec.get("figure", {})
    x, y, arms = wanted.get("x", "linear"), wanted.get("y"), arms_of(run)
    if y is None and metric == "aggregate_regret" and arms is not None:
        return {"x": x, "y": "linear", "arms": arms}
    return {"x": x, "y": y or "linear"}


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
    return f"<h2>Provenance</h2>{table(head, rows)}"


def page(title: str, body: str) -> str:
    """Return a whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )


def arms_of(run: Run) -> int | None:
    """Return the number of arms of a run's problem, as its provenance has it."""
    arms = run.provenance.get("arms")
    return int(arms) if arms else None


def write_report(
    folder: str | Path, *, title: str | None = None, verdicts: Sequence[Verdict] = ()
) -> Path:
    """Write figures and ``report.html`` of a finished run.

    Parameters
    ----------
    folder : str or Path
        The run folder.
    title : str, optional
        By default the spec's.
    verdicts : sequence of Verdict
        Claims to show.

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
    body = (
        notes_section(run.spec.get("notes", ""))
        + claims_section(verdicts)
        + "<h2>Results</h2>"
        + run_section(run)
    )
    body += spec_section(run.spec) + provenance_section([run])
    path = run.folder / "report.html"
    write_atomically(path, page(name, body).encode())
    return path


def spec_section(spec: dict[str, Any]) -> str:
    """Return the spec as a table."""
    rows = [[name, _text(value)] for name, value in spec.items() if name not in _NOT_LISTED]
    rows += [[f"policy {i + 1}", _text(entry)] for i, entry in enumerate(spec["policy"])]
    return f"<h2>Spec</h2>{table(['entry', 'value'], rows)}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} = {_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        more = f", ... {len(value)} in all" if len(value) > _SHOWN_ENTRIES else ""
        return f"[{', '.join(_text(entry) for entry in value[:_SHOWN_ENTRIES])}{more}]"
    return str(value)
