"""Grids of parameters in a tune: short labels of their arms, and what each value did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.pages.chart_drawing import shorten
from keyhole.tune.value_estimates import Interval

if TYPE_CHECKING:
    from keyhole.tune.arms import Parameter
    from keyhole.tune.saved_tune import SavedTune
    from keyhole.tune.spec import Spec

_MISSING: Final = "-"  # in the place of a parameter that only other arms of the command have


@dataclass(frozen=True)
class ParameterGrid:
    """The arms of one command, which differ in their parameters.

    Attributes
    ----------
    command : str
        Its name, with which the names of its arms begin.
    arms : dict of int to mapping
        The parameters of each arm, by its index in the spec.
    """

    command: str
    arms: dict[int, Mapping[str, Parameter]]

    def levels(self) -> dict[str, dict[str, list[int]]]:
        """Return the arms with each value, of each parameter in which the arms differ."""
        names = dict.fromkeys(name for values in self.arms.values() for name in values)
        levels: dict[str, dict[str, list[int]]] = {name: defaultdict(list) for name in names}
        for index, values in self.arms.items():
            for name in names:
                levels[name][str(values.get(name, _MISSING))].append(index)
        return {name: arms_of_values for name, arms_of_values in levels.items()
                if len(arms_of_values) > 1}  # fmt: skip


def find_grids(spec: Spec) -> list[ParameterGrid]:
    """Return the arms of each command; a command without a grid has one arm."""
    grids: dict[str, dict[int, Mapping[str, Parameter]]] = defaultdict(dict)
    for index, arm in enumerate(spec.arms):
        # As a grid makes the names of its arms; an arm with fixed parameters has a plain name.
        assignments = "".join(f" {name}={value}" for name, value in arm.parameters.items())
        grids[arm.name.removesuffix(assignments)][index] = arm.parameters
    return [ParameterGrid(command, arms) for command, arms in grids.items()]


def label_arms(spec: Spec) -> tuple[list[str], str]:
    """Return short labels of all arms, and a sentence that explains them, or "".

    They have the parameters that differ, and only the values where a legend has no room for more.

    Examples
    --------
    >>> from keyhole.tune import Spec
    >>> arm = {"name": "zip", "command": "true", "grid": {"level": [3, 9], "threads": [1]}}
    >>> label_arms(Spec.from_table({"arm": [arm], "limits": [1]}))
    (['zip level=3', 'zip level=9'], '')
    >>> arm["grid"] = {"compression": ["fast"], "level": [3, 9], "threads": [1, 8]}
    >>> label_arms(Spec.from_table({"arm": [arm], "limits": [1]}))[0]
    ['zip 3 1', 'zip 3 8', 'zip 9 1', 'zip 9 8']
    """
    labels = list(spec.names)
    short_labels = list(spec.names)
    explanations = []
    for grid in find_grids(spec):
        names = list(grid.levels())
        for index, parameters in grid.arms.items():
            values = [str(parameters.get(name, _MISSING)) for name in names]
            assignments = map("=".join, zip(names, values, strict=True))
            labels[index] = " ".join([grid.command, *assignments])
            short_labels[index] = " ".join([grid.command, *values])
        if names:
            explanations.append(f"Arms of {grid.command} are named by their {', '.join(names)}.")
    explanation = ""
    if explanations and any(shorten(label) != label for label in labels):
        labels = short_labels
        explanation = " ".join(explanations)
    # As of a command that is called like an arm of another one's grid.
    if len(set(labels)) < len(labels):
        return list(spec.names), ""
    return labels, explanation


@dataclass(frozen=True)
class ParameterEffect:
    """What a value of a parameter did: the main effect of a level.

    Attributes
    ----------
    command, parameter, value : str
        The value of a parameter of a command.
    arms, tried : int
        How many arms have it, and how many of them were run.
    runs : int
        How many runs these had.
    gain : Interval or None
        Mean gain of the arms that were run, each with its best limit.
    effect : Interval or None
        The same, less the mean of all arms of the command that were run.
    """

    command: str
    parameter: str
    value: str
    arms: int
    tried: int
    runs: int
    gain: Interval | None
    effect: Interval | None


def estimate_effects(tune: SavedTune) -> list[ParameterEffect]:
    """Return the effect of each value of each grid in which several parameters differ."""
    gains = tune.gains
    runs = gains.run_counts[:, 0]
    best_limits = gains.tried_means.argmax(axis=1)
    draws = gains.draws[:, np.arange(len(runs)), best_limits]
    effects = []
    for grid in find_grids(tune.spec):
        levels = grid.levels()
        tried_arms = [arm for arm in grid.arms if runs[arm]]
        if len(levels) < 2 or not tried_arms:  # of one parameter, the table of arms says it
            continue
        grid_means = draws[:, tried_arms].mean(axis=1)
        for parameter, arms_of_values in levels.items():
            for value, arms in arms_of_values.items():
                tried = [arm for arm in arms if runs[arm]]
                gain = effect = None
                if tried:
                    means = draws[:, tried].mean(axis=1)
                    gain = Interval.from_draws(means)
                    effect = Interval.from_draws(means - grid_means)
                run_count = int(runs[arms].sum())
                effects.append(ParameterEffect(
                    grid.command, parameter, value, len(arms), len(tried), run_count, gain, effect
                ))  # fmt: skip
    return effects


EFFECTS_CAPTION: Final = (
    "Mean gain of the arms with each value, each with its best limit, and the same less the mean "
    "of all arms of the command. Only arms that were run are in it, and each counts the same: "
    "where some are left out, a value may owe its gain to values of other parameters."
)


def effects_table(tune: SavedTune) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of effects; without rows if there are no such grids."""
    head = ["parameter", "value", "arms run", "runs", "mean gain", "less mean of all"]
    effects = estimate_effects(tune)
    has_several = len({effect.command for effect in effects}) > 1
    rows = [
        [
            f"{effect.command} {effect.parameter}" if has_several else effect.parameter,
            effect.value, f"{effect.tried:,} of {effect.arms:,}", f"{effect.runs:,}",
            str(effect.gain or ""), str(effect.effect or ""),
        ]
        for effect in effects
    ]  # fmt: skip
    return head, rows
