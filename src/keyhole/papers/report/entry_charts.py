"""Charts of a reproduced experiment, and their files: over rounds or a parameter, ratios."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from keyhole.pages import figure_files
from keyhole.pages.figure_files import FIGURE_KINDS
from keyhole.pages.line_chart import Axis, ChartGrid, Curve, LineChart, ReferenceLine
from keyhole.pages.matplotlib_chart import write_chart
from keyhole.papers.claims import BOUNDS, Claim
from keyhole.papers.claims.base import ratio_of
from keyhole.papers.entry import ParameterFigure, ProblemFigure
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.report.problem_figure_drawing import draw_problem_figure
from keyhole.results.curve_chart import caption, curve_chart
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate

_NAMED: Final = 5
"""More names at the curves would be read by nobody in ten seconds."""
_SHORT_CAPTION: Final = "Mean and 95 % interval."
_COMPARED: Final = 2  # a claim that compares a policy with more is about that policy
_FAR: Final = 4.0  # times the highest mean; drawn, such a bound would flatten all curves


def entry_charts(part: JudgedEntry, problems: Sequence[str], id: str) -> LineChart | ChartGrid:
    """Return the chart of an entry's first metric on its problems, a panel each."""
    charts = [problem_chart(part, key, part.metrics_of(key)[0], id=id) for key in problems]
    # The number of replications stands above; what is true of all panels is said once, below them.
    notes = [one.caption.removeprefix(interval_caption(part.replications)) for one in charts]
    if len(charts) == 1:
        return replace(charts[0], caption=f"{_SHORT_CAPTION}{notes[0]}")
    panels = [
        replace(one, caption=note.strip(), files=())
        for one, note in zip(charts, notes, strict=True)
    ]
    return ChartGrid(panels, _SHORT_CAPTION)


def problem_chart(part: JudgedEntry, problem: str, metric: str, id: str = "chart") -> LineChart:
    """Return the chart of a metric on a problem, with the bounds that claims name."""
    curves = part.runs[problem].curves
    lines, references = _bounds(part, problem, metric)
    several = len(part.runs) > 1
    chart = curve_chart(
        curves,
        metric,
        anchor=f"{id}-{problem}-{metric}",
        title=part.entry.problems[problem].title if several else "",
        caption=caption(curves, metric, None),
        named=_named_policies(part, problem, metric) if len(curves.labels) > 1 else (),
        more=lines,
    )
    files = [f"{problem}-{metric}.{kind}" for kind in FIGURE_KINDS]
    return replace(chart, references=references, files=files)


def parameter_chart(part: JudgedEntry, declared: ParameterFigure, stem: str) -> LineChart:
    """Return the chart of a metric against a number that differs between problems."""
    metric = declared.metric or part.common_metric()
    known = next(iter(part.curves.values())).metric(metric)
    points = declared.estimates(part.curves, metric)
    first = next(iter(points.values()))
    ends = ", ".join(f"{label} {line[-1][1].plus_minus()}" for label, line in points.items())
    best = sorted(points, key=lambda label: points[label][-1][1].value)
    return LineChart(
        id=f"chart-{stem}",
        x=Axis(title=declared.x_label, scale=declared.x_scale),
        y=Axis(title=known.title, scale=declared.mean_scale(points)),
        curves=[
            *(_curve(label, line) for label, line in points.items()),
            *_parameter_bounds(part, declared),
        ],
        alt=f"{known.title} against {declared.x_label}; at {first[-1][0]:g}: {ends}.",
        caption=interval_caption(part.replications),
        title=declared.title,
        named=_order_named(part, best if known.better == "lower" else best[::-1]),
        files=[f"{stem}.{kind}" for kind in FIGURE_KINDS],
        among=[policy["label"] for policy in part.entry.policies],
    )


def _parameter_bounds(part: JudgedEntry, declared: ParameterFigure) -> list[Curve]:
    """Return the bound of such a figure, if it names one."""
    if declared.bound is None:
        return []
    plans = {key: part.entry.spec(key, part.scale).plan for key in declared.x}
    name = declared.bound.partition(".")[2].replace("_", " ")
    xs, values = map(list, zip(*declared.bound_values(plans), strict=True))
    return [Curve(label=f"bound: {name}", x=xs, y=values, note="bound", is_bound=True)]


def ratio_chart(curves: Curves, problem: str, metric: str, to: str) -> LineChart:
    """Return the chart of a metric of other policies relative to that of one, on a problem.

    A line is broken where the denominator may be 0: nothing is claimed of what lies between.
    """
    title, below = curves.metric(metric).title, curves.values(to, metric)
    lines = []
    for label in curves.labels:
        if label != to:
            ratios = map(ratio_of, curves.values(label, metric), below)
            lines.append(_curve(label, zip(curves.checkpoints, ratios, strict=True)))
    return LineChart(
        id=f"chart-{problem}-{metric}-ratio",
        x=Axis(title="round"),
        y=Axis(title=f"{title} / that of {to}"),
        curves=lines,
        alt=f"{title} relative to {to}, over the rounds",
        caption=f"Ratio of the means over {curves.replications:,} replications, with its 95 % "
        "interval (delta method, paired); left out where the mean in the denominator may be 0.",
        references=[ReferenceLine(value=1.0, label=f"as {to}")],
        files=[f"{problem}-{metric}-ratio.{kind}" for kind in FIGURE_KINDS],
        among=curves.labels,
    )


def interval_caption(replications: int) -> str:
    """Return the caption of a chart or figure of means."""
    return f"Mean over {replications:,} replications, with its 95 % interval."


def bounds_of(
    part: JudgedEntry, problem: str, metric: str
) -> dict[str, tuple[list[int], list[float]]]:
    """Return the bounds that claims name for a metric on a problem: name, rounds and values."""
    claims: list[Any] = [
        claim
        for claim in part.entry.claims
        if claim.judged_by in ("above-bound", "below-bound")
        and (claim.problem_keys, claim.metric) == ((problem,), metric)
    ]
    if not claims:
        return {}
    plan, found = part.entry.spec(problem, part.scale).plan, {}
    # By name: several claims may be about the same bound.
    for name, claim in {f"{claim.bound} of {claim.policy}": claim for claim in claims}.items():
        rounds = list(claim.rounds or plan.checkpoints)
        policy = plan.policies[claim.policy or ""]
        values = [BOUNDS[claim.bound](plan.problem, policy, t, plan.horizon) for t in rounds]
        found[name] = rounds, values
    return found


def _bounds(
    part: JudgedEntry, problem: str, metric: str
) -> tuple[list[Curve], list[ReferenceLine]]:
    """Return bounds as curves, and as lines those that are constant or far above the curves."""
    curves = part.runs[problem].curves
    lines, references = list[Curve](), list[ReferenceLine]()
    if curves.metric(metric).drawn in ("mean", "from 0"):
        highest = max(float(curves.mean(label, metric).max()) for label in curves.labels)
        for name, (rounds, values) in bounds_of(part, problem, metric).items():
            if len(set(values)) == 1 or max(values) > _FAR * highest:
                references.append(ReferenceLine(value=values[-1], label=name))
            else:
                x = [float(t) for t in rounds]
                lines.append(Curve(label=name, x=x, y=values, note="bound", is_bound=True))
    return lines, references


def _curve(label: str, line: Iterable[tuple[float, Estimate | None]]) -> Curve:
    nothing = Estimate(math.nan, math.nan, 0)
    points = [(float(x), nothing if estimate is None else estimate) for x, estimate in line]
    # One replication alone has an infinite interval: nothing to draw.
    ends = [
        (one.low, one.high) if math.isfinite(one.reach) else (math.nan, math.nan)
        for _, one in points
    ]
    lows, highs = map(list, zip(*ends, strict=True))
    xs, ys = [x for x, _ in points], [one.value for _, one in points]
    return Curve(label=label, x=xs, y=ys, low=lows, high=highs)


def _named_policies(part: JudgedEntry, problem: str, metric: str) -> list[str]:
    """Return the policies whose names a chart shows: those of the paper's claims, then the best."""
    curves = part.runs[problem].curves
    best = sorted(curves.labels, key=lambda label: float(curves.mean(label, metric)[-1]))
    return _order_named(part, best if curves.metric(metric).better == "lower" else best[::-1])


def _order_named(part: JudgedEntry, best: Sequence[str]) -> list[str]:
    claims = [part.claims[verdict.id] for verdict in part.papers_verdicts]
    subjects = [label for claim in claims for label in _subjects(claim) if label in best]
    return list(dict.fromkeys([*subjects, *best]))[:_NAMED]


def _subjects(claim: Claim) -> list[str]:
    """Return the policies that a claim is about, without those that it compares many with."""
    named = [cell.policy for cell in claim.named_cells]
    others = [*getattr(claim, "others", []), *(getattr(claim, "policies", None) or [])]
    few = others if len(others) <= _COMPARED else []
    return [label for label in (claim.subject, *named, *few) if label]


def entry_figures(
    part: JudgedEntry, first_drawing: int = 1, first_overview: int = 1
) -> Iterator[tuple[str, str, Callable[[], LineChart] | ProblemFigure]]:
    """Yield the stem of each figure's files, its title, and how it is drawn.

    They are those against parameters, of problems, and of each problem's metrics. The numbers are
    those of the entry's first figures of the first two kinds in its folder.
    """
    for i, declared in enumerate(part.entry.parameter_figures, first_overview):
        stem = f"overview-{i}"
        yield stem, declared.title, partial(parameter_chart, part, declared, stem)
    for i, drawn in enumerate(part.entry.problem_figures, first_drawing):
        yield f"drawing-{i}", drawn.title, drawn
    for problem, curves in part.curves.items():
        for metric in part.metrics_of(problem):
            title = f"{part.entry.problems[problem].title}: {curves.metric(metric).title}"
            yield f"{problem}-{metric}", title, partial(problem_chart, part, problem, metric)
            if (to := part.entry.ratio_to) is not None:
                draw = partial(ratio_chart, curves, problem, metric, to)
                yield f"{problem}-{metric}-ratio", f"{title} relative to {to}", draw


def write_entry_figures(
    folder: Path, part: JudgedEntry, first_drawing: int, first_overview: int
) -> None:
    """Write the figures of an entry: see `entry_figures`."""
    for stem, title, draw in entry_figures(part, first_drawing, first_overview):
        if isinstance(draw, ProblemFigure):
            _write_drawing(part, draw, folder / stem)
        else:
            write_chart(draw(), folder / stem, title=title)


def drawing_title(part: JudgedEntry, declared: ProblemFigure) -> str:
    """Return the title of a figure of problems, with their titles."""
    shown = ", ".join(part.entry.problems[key].title for key in declared.problems)
    return f"{declared.title}: {shown}"


def _write_drawing(part: JudgedEntry, declared: ProblemFigure, path: Path) -> None:
    problems = {
        part.entry.problems[key].title: part.entry.spec(key, part.scale).plan.problem
        for key in declared.problems
    }
    figure, title = draw_problem_figure(declared, problems), drawing_title(part, declared)
    figure_files.write_figure(figure, path, title=title, caption=declared.note)
