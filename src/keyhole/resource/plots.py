"""Plots of runs, of gains by limit, and of grids of limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.draws.streams import ENVIRONMENT, seek_pull, stream
from keyhole.extras import require_extra
from keyhole.pages.policy_colours import add_legend, figure_size, matplotlib_styles
from keyhole.resource.problem import Problem
from keyhole.validation import DEFAULT_SEED, Range, check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS: Final = 400  # limits at which a curve is computed if every limit may be chosen


def draw_runs(
    problem: Problem,
    axes: Axes | None = None,
    *,
    runs: int = 300,
    seed: int = DEFAULT_SEED,
    names: Sequence[str] = (),
) -> Axes:
    """Draw a scatter plot of the consumption and reward of each arm's runs, which no limit stops.

    Parameters
    ----------
    problem : Problem
        The instance.
    axes : matplotlib Axes, optional
        The axes to draw on; by default those of a new figure.
    runs : int, default 300
        Number of runs of each arm, at least 1.
    seed : int, default 0
        Seed of the runs.
    names : sequence of str, optional
        Names of the arms; by default their numbers.

    Returns
    -------
    matplotlib Axes
        The axes.

    References
    ----------
    Bengs and Huellermeier (2022), Figure 1.
    """
    labels = _make_arm_labels(problem.arms, names)
    axes = _make_axes(axes, labels)
    count = check_integer("runs", runs, Range(ge=1))
    styles = matplotlib_styles(labels)
    # The runs are those of the first pulls in a simulation with this seed.
    rng = stream(check_integer("seed", seed, Range(ge=0)), 0, ENVIRONMENT)
    for arm, (name, distribution) in enumerate(zip(labels, problem.distributions, strict=True)):
        draws = []
        for pull in range(count):
            seek_pull(rng, arm, pull)
            draws.append(distribution.draw(rng, distribution.numbers))
        rewards, consumptions = np.transpose(draws)
        style = styles[name] | {"linestyle": "none", "alpha": 0.5}
        axes.plot(consumptions, rewards, label=name, **style)
    axes.set_xlabel("consumption")
    axes.set_ylabel("reward")
    add_legend(axes, *axes.get_legend_handles_labels())
    return axes


def draw_gains(problem: Problem, axes: Axes | None = None, *, names: Sequence[str] = ()) -> Axes:
    """Draw each arm's penalized expected gain over the limits, and mark the best pair.

    Parameters
    ----------
    problem : Problem
        The instance.
    axes : matplotlib Axes, optional
        The axes to draw on; by default those of a new figure.
    names : sequence of str, optional
        Names of the arms; by default their numbers.

    Returns
    -------
    matplotlib Axes
        The axes.

    References
    ----------
    Bengs and Huellermeier (2022), equation (2), Figure 2.

    Examples
    --------
    >>> from keyhole.resource import three_models_problem
    >>> axes = draw_gains(three_models_problem("strict"), names=["complex", "medium", "simple"])
    >>> axes.get_xlabel()
    'limit'
    """
    labels = _make_arm_labels(problem.arms, names)
    axes = _make_axes(axes, labels)
    limits = problem.limits
    if problem.continuous:
        limits = np.linspace(0.0, problem.limits[-1], _POINTS + 1)[1:]
    styles = matplotlib_styles(labels)
    for arm, name in enumerate(labels):
        gains = [problem.gain(arm, limit) for limit in limits]
        style = styles[name] | {"markevery": max(1, len(limits) // 10)}
        axes.plot(limits, gains, label=name, **style)
    best_arm, best_limit = problem.best_pair
    axes.margins(y=0.12)  # for the label above the best pair
    axes.axvline(best_limit, color="0.5", linewidth=0.8)
    axes.annotate(
        f"best pair: {labels[best_arm]}, {best_limit:.3g}",
        (best_limit, problem.best_gain),
        textcoords="offset points",
        xytext=(-6, 6),
        ha="right",
    )
    axes.set_xlabel("limit")
    axes.set_ylabel("penalized expected gain")
    add_legend(axes, *axes.get_legend_handles_labels())
    return axes


def draw_points(
    axes: Axes, grids: Sequence[FloatArray], largest: float, names: Sequence[str]
) -> Axes:
    """Draw one line per arm, from 0 to the limit `largest`, with the points of the arm's grid."""
    labels = _make_arm_labels(len(grids), names)
    styles = matplotlib_styles(labels)
    for arm, (name, points) in enumerate(zip(labels, grids, strict=True)):
        axes.plot([0.0, largest], [arm, arm], color="0.8", linewidth=0.8, zorder=0)
        axes.plot(
            points, np.full(len(points), arm), "|", color=styles[name]["color"], markersize=12.0
        )
    axes.set_yticks(range(len(grids)), labels)
    axes.set_ylim(len(grids) - 0.5, -0.5)
    axes.set_xlabel("limit")
    axes.set_ylabel("arm")
    return axes


def _make_axes(axes: Axes | None, labels: Sequence[str]) -> Axes:
    """Return the given axes, or those of a new figure."""
    if axes is not None:
        return axes
    require_extra("plots", "a plot")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figure_size(labels), layout="constrained")[1]


def _make_arm_labels(arms: int, names: Sequence[str]) -> list[str]:
    if names and len(names) != arms:
        raise ValueError(f"names must have {arms} entries, got {len(names)}")
    return list(names) or [f"arm {arm}" for arm in range(arms)]
