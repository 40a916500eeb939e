"""Estimate of the time that the tables and the report of a run take, from their size."""

from typing import Final

from keyhole.experiment.spec import Spec
from keyhole.experiment.sweep_report import count_panels

# Measured on one processor, which drew an empty figure in this time. Elsewhere all of them are
# scaled by how long the same figure, or anything else, takes.
SECONDS_TO_DRAW: Final = 0.29
_SECONDS_A_VALUE: Final = 2e-7  # to write it and to compute its mean
_SECONDS_A_RUN: Final = 0.009
_SECONDS_A_FIGURE: Final = 0.2
_SECONDS_A_PANEL: Final = 0.105


def estimate_writing(spec: Spec, runs: int) -> float:
    """Return the seconds to write tables and report on the reference machine."""
    specs = [point.spec for point in spec.points]
    over_rounds = spec.sweep is None or any(len(s.plan.checkpoints) > 1 for s in specs)
    figures = count_panels(spec.sweep or {}, over_rounds=over_rounds)
    drawn = {
        metric.name
        for point in specs
        for metric in point.plan.measured
        if spec.sweep is None or not metric.detail
    }
    report = len(figures) * _SECONDS_A_FIGURE + sum(figures) * _SECONDS_A_PANEL
    tables = sum(map(_count_values, specs)) * _SECONDS_A_VALUE + runs * _SECONDS_A_RUN
    return tables + len(drawn) * report


def _count_values(spec: Spec) -> int:
    plan = spec.plan
    return len(plan.policies) * len(plan.checkpoints) * len(plan.metrics) * spec.replications
