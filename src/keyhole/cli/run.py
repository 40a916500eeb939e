"""Command `run`: simulate the experiment in a spec file, or forecast its time; print results."""

from dataclasses import asdict
from pathlib import Path
from time import process_time
from typing import Any, Final

import typer

from keyhole.cli.output import one_line_text, print_json, print_result, try_to_write
from keyhole.clusters.cluster import THREADS
from keyhole.durations import format_duration
from keyhole.experiment import Spec, run
from keyhole.experiment.forecast import Forecast, measure_forecast
from keyhole.experiment.report import write_run_report
from keyhole.experiment.stopping_summary import find_guarantees, stopping_table
from keyhole.experiment.sweep_summary import (
    PointSummary,
    SweepSummary,
    explain_best,
    format_point_title,
    summarize_sweep,
)
from keyhole.pages.notebook_html import text_table
from keyhole.play.progress import print_step_name
from keyhole.results.curves import Curves
from keyhole.text_formatting import capitalize, count_text

_MOST_SHOWN_POINTS: Final = 12


def run_spec(
    spec: Spec,
    out: Path,
    threads: int | None,
    on: str,
    command: str,
    *,
    as_json: bool = False,
    as_latex: bool = False,
    quiet: bool = False,
) -> None:
    """Run a spec; print its means and the path of the report, which shows the command."""
    if threads is not None:
        command += f" --threads {threads}"
    if on != THREADS:
        command += f" --on {on}"
    result = run(spec, out, threads=threads, progress=not quiet, command=command, on=on)
    summary = SweepSummary.from_run(result) if "sweep" in result.spec else None
    if not quiet:
        print_step_name("drawing the report")
    # The report is written before anything is printed, since a closed pipe makes printing fail.
    report = try_to_write(write_run_report, result, summary=summary)
    if as_json:
        points = summary.points if summary is not None else [result.curves]
        print_json({"points": [_point_as_json(point) for point in points], "report": report})
        return
    if as_latex:
        for point in result.points:
            values = ", ".join(f"{name} = {value}" for name, value in point.values.items())
            typer.echo(point.curves.to_latex(caption=values or result.spec["name"]) + "\n")
        return
    if summary is not None:
        _print_points(summary)
    else:
        _print_means(result.curves)
        if guarantees := find_guarantees(result):
            table = stopping_table(result.curves, guarantees)
            typer.echo(text_table(table.head, table.rows))
    if report is not None:
        typer.echo(f"report: {report}")


def _point_as_json(point: PointSummary | Curves) -> dict[str, Any]:
    """Return the metrics of all policies at the last checkpoint of a point, by name."""
    metrics: dict[str, dict[str, Any]] = {}
    for label in point.labels:
        for metric in point.metrics:
            mean = point.estimates(label, metric)[-1]
            estimate = {"mean": mean.value, "low": mean.low, "high": mean.high}
            metrics.setdefault(metric, {})[label] = estimate
    return {
        "point": dict(point.names) if isinstance(point, PointSummary) else {},
        "rounds": int(point.checkpoints[-1]),
        "replications": point.replications,
        "metrics": metrics,
    }


def show_forecast(spec: Spec, threads: int | None, on: str, *, as_json: bool = False) -> None:
    """Print the size of a spec's run, and its expected duration on this machine."""
    if on != THREADS:
        raise ValueError(
            f"--on must be left out for a forecast, got {on!r}: divide the time of one thread "
            "(--threads 1) by the number of workers"
        )
    if not as_json:
        _print_sweep(spec)
    startup = process_time()  # CPU seconds so far: a run takes about as many to start
    forecast = measure_forecast(spec, threads=threads)
    content = asdict(forecast) | {"starting": startup, "on": on}
    print_result(content, *_forecast_lines(forecast, startup), as_json=as_json)


def _print_sweep(spec: Spec) -> None:
    for name, values in (spec.sweep or {}).items():
        typer.echo(one_line_text(f"{name}: {count_text(len(values), 'value')}"))
    if spec.sweep and len(spec.points) <= _MOST_SHOWN_POINTS:
        for point in spec.points:
            typer.echo(f"  {one_line_text(str(point))}")


def _forecast_lines(forecast: Forecast, startup: float) -> list[str]:
    runs_text = f"runs (one for each policy at each point): {forecast.runs:,}"
    if forecast.distinct != forecast.runs:
        runs_text += f", {forecast.distinct:,} of which differ and are played"
    lines = [
        f"points: {forecast.points:,}",
        runs_text,
        f"replications: {forecast.replications:,}",
        f"rounds: {forecast.rounds:,}",
    ]
    if forecast.compiled:
        lines.append(
            f"compiled just now, and kept: {count_text(forecast.compiled, 'piece')} in "
            f"{format_duration(forecast.compiling)}"
        )
    if forecast.endless:
        policies_text = one_line_text(", ".join(forecast.endless))
        return [*lines, f"time: not known; no round of {policies_text} ended while it was measured"]
    lines.append(
        f"time: about {format_duration(forecast.seconds + startup)} with "
        f"{count_text(forecast.threads, 'thread')} on this machine, of which "
        f"{format_duration(startup)} to start; measured by "
        f"{count_text(forecast.samples, 'short run')}; tables and report are not included"
    )
    return lines


def _print_means(curves: Curves) -> None:
    """Print the mean of each metric at the last checkpoint, and half of its 95 % interval."""
    width = max(map(len, curves.labels))
    for metric in curves.metrics:
        typer.echo(f"{metric} after {curves.checkpoints[-1]:,} rounds")
        for label in curves.labels:
            typer.echo(f"  {label:{width}}  {curves.estimates(label, metric)[-1].plus_minus()}")


def _print_points(summary: SweepSummary) -> None:
    """Print the first metric at each point, if there are few points, and the best policies."""
    metric = next(iter(summary.metrics))
    if len(summary.points) <= _MOST_SHOWN_POINTS:
        typer.echo(f"{metric} at the last checkpoint")
        for point in summary.points:
            means = ((label, point.last_mean(label, metric)) for label in point.labels)
            means_text = ", ".join(f"{label} {mean.plus_minus()}" for label, mean in means if mean)
            title = format_point_title(point.names)
            typer.echo(f"  {one_line_text(f'{title}: {means_text}')}")
    typer.echo(f"{capitalize(summarize_sweep(summary))} {explain_best(summary)}")
