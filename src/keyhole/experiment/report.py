"""The report of a run, which compares simulated policies: one self-contained HTML file."""

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from keyhole.experiment.run_folder import RunFolder, load_run_folder
from keyhole.experiment.run_summary import first_metric_and_means, summarize_run
from keyhole.experiment.stopping_summary import find_guarantees, stopping_table
from keyhole.experiment.sweep_points import parse_path, value_to_toml
from keyhole.experiment.sweep_report import sweep_page
from keyhole.experiment.sweep_summary import SweepSummary
from keyhole.pages.line_chart import LineChart
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.pages.page import Answer, Page, Section, Table, Text, write_page
from keyhole.provenance import software_text
from keyhole.results.curve_chart import caption, cell_note, curve_chart
from keyhole.results.curves import Curves
from keyhole.text_formatting import capitalize, count_text, join_words

_NOT_LISTED: Final = ("policy", "title", "notes")
_MOST_CHECKPOINTS: Final = 5  # columns that fit on paper
_LONGEST_VALUE: Final = 600  # characters


def means_table(curves: Curves, metric: str) -> Table:
    """Return a table of means with 95 % intervals at up to five checkpoints, including the last."""
    count = len(curves.checkpoints)
    # The positions are evenly spread, up to the position of the last checkpoint.
    exact_positions = np.linspace(0, count, min(count, _MOST_CHECKPOINTS) + 1)[1:] - 1
    positions = sorted({round(position) for position in exact_positions})
    rows = []
    for label in curves.labels:
        estimates = curves.estimates(label, metric)
        rows.append([label, *(estimates[position].plus_minus() for position in positions)])
    head = ["policy", *(f"round {curves.checkpoints[position]:,}" for position in positions)]
    note = cell_note(curves.metric(metric))
    if curves.metric(metric).better == "higher":
        note += "; higher is better"
    return Table(f"{note}.", head, rows)


def tail_tables(curves: Curves, metric: str) -> list[Table]:
    """Return the table of 90 % quantiles and worst runs at the last checkpoint, as a list.

    The list is empty for a share, and for a single replication.
    """
    if curves.replications == 1 or curves.metric(metric).drawn == "share":
        return []
    rows = [[label, *curves.tail(label, metric).cells()] for label in curves.labels]
    title = f"{curves.metric(metric).title}: bad runs, round {curves.checkpoints[-1]:,}."
    return [Table(title, ["policy", "90 % quantile", "worst run"], rows)]


def paired_tables(curves: Curves, metric: str) -> list[Table]:
    """Return the table of paired differences to the first policy, as a list; empty for one policy.

    The differences are those at the last checkpoint.
    """
    first_label, *other_labels = curves.labels
    last_round = curves.checkpoints[-1]
    rows = []
    for label in other_labels:
        difference = curves.paired(label, first_label, metric=metric, round=last_round)
        rows.append([f"{label} minus {first_label}", str(difference)])
    note = f"paired over common random numbers, round {last_round:,}"
    head = ["difference", "mean [95 % interval], p of the two-sided t-test"]
    return [Table(f"{curves.metric(metric).title}: {note}.", head, rows)] if rows else []


def _write_metric_chart(run: RunFolder, metric: str, path: Path) -> LineChart:
    """Return the chart of a metric, and write it to figure files: `path` with suffixes."""
    axes: dict[str, Any] = run.spec.get("figure", {})
    text = caption(run.curves, metric, axes.get("y"))
    chart = curve_chart(run.curves, metric, anchor=f"chart-{path.name}", **axes, caption=text)
    title = run.spec.get("title") or run.spec["name"]
    return write_chart(chart, path, title=f"{title}: {run.curves.metric(metric).title}")


def metric_tables(run: RunFolder, metric: str) -> list[Table]:
    """Return the tables of a metric: its means, its bad runs, and its paired differences."""
    return [
        means_table(run.curves, metric),
        *tail_tables(run.curves, metric),
        *paired_tables(run.curves, metric),
    ]


def provenance_section(runs: Sequence[RunFolder]) -> Section:
    """Return the section with the versions, seeds and commands of runs."""
    rows = [
        [
            run.spec["name"],
            str(run.provenance["seed"]),
            _list_replications(run.spec),
            software_text(run.provenance),
            f"{run.provenance['started']} to {run.provenance['finished']}",
            run.provenance["command"],
        ]
        for run in runs
    ]
    head = ["run", "seed", "replications", "versions", "when", "command"]
    table = Table("Versions, seed and command of each run.", head, rows)
    return Section("provenance", "Provenance", [table])


def _list_replications(spec: dict[str, Any]) -> str:
    """Return the numbers of replications of a spec, which a sweep may vary."""
    counts = spec.get("sweep", {}).get("replications", [spec["replications"]])
    return ", ".join(f"{count:,}" for count in counts)


def write_report(folder: str | Path) -> Path:
    """Write figures and ``report.html`` of a finished run.

    Parameters
    ----------
    folder : str or Path
        The run folder.

    Returns
    -------
    Path
        The report.

    Raises
    ------
    FileNotFoundError, ValueError
        If the folder holds no finished run.
    """
    return write_run_report(load_run_folder(folder))


def write_run_report(run: RunFolder, *, summary: SweepSummary | None = None) -> Path:
    """Write the report of a run; without `summary`, a sweep is summarised first."""
    title = run.spec.get("title") or _default_title(run)
    if "sweep" in run.spec:
        page = sweep_page(run, summary or SweepSummary.from_run(run), title)
    else:
        page = _run_page(run, title)
    last_sections = [spec_report_section(run.spec), provenance_section([run])]
    page = replace(page, sections=[*page.sections, *last_sections])
    return write_page(run.folder / "report.html", page)


def _run_page(run: RunFolder, title: str) -> Page:
    """Return the page of a run without a sweep; write its figures to files."""
    charts: list[LineChart] = []
    sections: list[Section] = []
    for metric in run.curves.metrics:
        name = f"figure-{metric}" if charts else "figure"
        heading = capitalize(run.curves.metric(metric).title)
        chart = _write_metric_chart(run, metric, run.folder / name)
        tables = metric_tables(run, metric)
        if charts:
            sections.append(Section(name, f"{heading}: chart and tables", [chart, *tables]))
        else:  # the chart of the first metric is on the first screen
            sections.append(Section(name, f"{heading}: tables", tables))
        charts.append(chart)
    if guarantees := find_guarantees(run):
        table = stopping_table(run.curves, guarantees)
        sections.insert(0, Section("stopping", "Stopping: rounds used and errors", [table]))
    return Page(
        title=title,
        answer=[
            Answer(summarize_run(run.curves), _replications_sentence(run)),
            Text(run.spec.get("notes", "")),
        ],
        figures=charts[:1],
        beside=[_ranking_table(run.curves)],
        sections=sections,
    )


def _default_title(run: RunFolder) -> str:
    """Return the title of the report of a run whose spec has no title."""
    varied_entries = list(run.spec.get("sweep", {}))
    verb = "varies" if len(varied_entries) == 1 else "vary"
    suffix = f", as {join_words(varied_entries)} {verb}" if varied_entries else ""
    return f"{run.spec['name']}: which policy is best{suffix}?"


def _replications_sentence(run: RunFolder) -> str:
    """Return the numbers of replications and rounds as a sentence."""
    replications = count_text(run.curves.replications, "replication")
    return f"{replications} of {run.curves.checkpoints[-1]:,} rounds; 95 % intervals."


def _ranking_table(curves: Curves) -> Table:
    """Return the table of the policies at the last checkpoint, the best first."""
    metric, means = first_metric_and_means(curves)
    labels = metric.rank({label: mean.value for label, mean in means.items()})
    rows = [[label, means[label].plus_minus()] for label in labels]
    return Table(f"After {curves.checkpoints[-1]:,} rounds.", ["policy", metric.title], rows)


def spec_report_section(spec: dict[str, Any]) -> Section:
    """Return the section with the table of a spec."""
    spec = _mark_varied(spec)
    rows = [[name, _format_value(value)] for name, value in spec.items() if name not in _NOT_LISTED]
    rows += [[f"policy {i + 1}", _format_value(entry)] for i, entry in enumerate(spec["policy"])]
    return Section("spec", "Spec", [Table("The entries of the spec.", ["entry", "value"], rows)])


def _mark_varied(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a spec in which entries that the sweep varies have the value "varied"."""
    spec = deepcopy(spec)
    for name in spec.get("sweep", {}):
        *steps, last = parse_path(name)
        # There may be no such entry, or a distribution may be given by its name.
        with suppress(LookupError, TypeError):
            parent = reduce(getitem, steps, cast(Any, spec))
            # ``policy.alpha`` means the parameter `alpha` of every policy that has it.
            tables = [parent]
            if steps == ["policy"] and isinstance(last, str):
                tables = [policy for policy in parent if last in policy]
            for table in tables:
                table[last] = "varied"
    return spec


def _format_value(value: object) -> str:
    """Return a value in TOML, or its beginning."""
    text = value if isinstance(value, str) else value_to_toml(value)
    if len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[:_LONGEST_VALUE]}... ({len(text):,} characters in all)"
