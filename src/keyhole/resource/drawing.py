"""Pictures of the setting: runs of each arm, gains over limits, grids that become finer."""

from collections.abc import Iterator, Sequence
from typing import Final

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from keyhole.play.referee import Referee
from keyhole.resource.functions import Power
from keyhole.resource.learner import Learner
from keyhole.resource.problem import Problem
from keyhole.results.plot import look
from keyhole.validate import Range, integer

_POINTS: Final = 400
_OPEN: Final = 1e9  # a limit that no run exceeds


def draw_runs(
    problem: Problem,
    axes: Axes | None = None,
    *,
    runs: int = 300,
    seed: int = 0,
    names: Sequence[str] = (),
) -> Axes:
    """Draw what runs of each arm consume and yield, without a limit.

    Parameters
    ----------
    problem : Problem
        Whose arms.
    axes : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    runs : int, default 300
        Of each arm, at least 1.
    seed : int, default 0
        Of the runs.
    names : sequence of str, optional
        Of the arms; by default their numbers.

    Returns
    -------
    matplotlib Axes
        What was drawn on.

    References
    ----------
    Bengs and Huellermeier (2022), Figure 1.
    """
    axes = _axes(axes)
    integer("runs", runs, Range(ge=1))
    points = _every_run(problem, runs, seed)
    for arm, (name, (used, earned)) in enumerate(
        zip(_named(problem.arms, names), points, strict=True)
    ):
        style = look(arm) | {"linestyle": "none", "alpha": 0.5}
        axes.plot(used, earned, label=name, **style)
    axes.set_xlabel("consumption")
    axes.set_ylabel("reward")
    axes.legend()
    return axes


def draw_gains(problem: Problem, axes: Axes | None = None, *, names: Sequence[str] = ()) -> Axes:
    """Draw what each arm is worth over the limits, and mark the best pair.

    Parameters
    ----------
    problem : Problem
        The instance.
    axes : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    names : sequence of str, optional
        Of the arms; by default their numbers.

    Returns
    -------
    matplotlib Axes
        What was drawn on.

    References
    ----------
    Bengs and Huellermeier (2022), equation (2), Figure 2.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> axes = draw_gains(three_models("strict"), names=["complex", "medium", "simple"])
    >>> axes.get_xlabel()
    'limit'
    """
    axes = _axes(axes)
    limits = problem.limits
    if problem.continuous:
        limits = np.linspace(0.0, problem.limits[-1], _POINTS + 1)[1:]
    for arm, name in enumerate(_named(problem.arms, names)):
        gains = [problem.gain(arm, limit) for limit in limits]
        axes.plot(limits, gains, label=name, **look(arm) | {"markevery": max(1, len(limits) // 10)})
    best_arm, best_limit = problem.best_pair
    axes.axvline(best_limit, color="0.5", linewidth=0.8)
    axes.annotate(
        f"best pair: {_named(problem.arms, names)[best_arm]}, {best_limit:.3g}",
        (best_limit, problem.best_gain),
        textcoords="offset points",
        xytext=(-6, 6),
        ha="right",
    )
    axes.set_xlabel("limit")
    axes.set_ylabel("penalized expected gain")
    axes.legend()
    return axes


def draw_grids(learner: Learner, axes: Axes | None = None, *, names: Sequence[str] = ()) -> Axes:
    """Draw the limits that a learner distinguishes on each arm.

    Parameters
    ----------
    learner : Learner
        Of a policy that refines grids, such as `keyhole.resource.ZoomingRCUCB`.
    axes : matplotlib Axes, optional
        Where to draw; by default on a new figure.
    names : sequence of str, optional
        Of the arms; by default their numbers.

    Returns
    -------
    matplotlib Axes
        What was drawn on.

    Raises
    ------
    TypeError
        If the policy keeps no grids.

    References
    ----------
    Bengs and Huellermeier (2022), Figure 3.
    """
    if "sizes" not in learner.state:
        raise TypeError(f"learner must be of a policy that refines grids, got {learner.policy!r}")
    axes = _axes(axes)
    arms, largest = learner.facts["arms"], float(learner.facts["limits"][-1])
    for arm, size in enumerate(learner.state["sizes"].tolist()):
        points = learner.state["points"][arm, :size]
        axes.plot([0.0, largest], [arm, arm], color="0.8", linewidth=0.8, zorder=0)
        axes.plot(points, np.full(size, arm), "|", color=look(arm)["color"], markersize=12.0)
    axes.set_yticks(range(arms), _named(arms, names))
    axes.invert_yaxis()
    axes.set_xlabel("limit")
    axes.set_ylabel("arm")
    return axes


def _axes(axes: Axes | None) -> Axes:
    return plt.subplots(figsize=(7.2, 4.6), layout="constrained")[1] if axes is None else axes


def _named(arms: int, names: Sequence[str]) -> list[str]:
    if names and len(names) != arms:
        raise ValueError(f"names must have {arms} entries, got {len(names)}")
    return list(names) or [f"arm {arm}" for arm in range(arms)]


def _every_run(problem: Problem, runs: int, seed: int) -> Iterator[tuple[list[float], list[float]]]:
    """Yield what runs of each arm consume and yield, under a limit that none exceeds."""
    referee = Referee(Problem(problem.laws, [_OPEN], Power(), Power()), seed=seed)
    for arm in range(problem.arms):
        answers = [referee.respond({"arm": arm, "limit": _OPEN}) for _ in range(runs)]
        yield [a["consumption"].item() for a in answers], [a["reward"].item() for a in answers]
