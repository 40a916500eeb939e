"""Grids of parameters in a tune: short labels of their arms, and what each value did."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.pages.chart_drawing import shorten
from keyhole.tune.value_estimates import Interval

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune
    from keyhole.tune.spec import Spec

_MISSING: Final = "-"  # in the place of a parameter that only other arms of the command have
Levels = dict[str, dict[str, list[int]]]
"""The indices of the arms with each value of each parameter."""


def find_levels(spec: Spec) -> dict[str, Levels]:
    """Return the levels of the parameters in which the arms of a command differ, by command."""
    arms_of_commands: dict[str, list[int]] = defaultdict(list)
    parameters = [arm.parameters for arm in spec.arms]
    names = spec.names  # made anew by each access
    for arm, values in enumerate(parameters):
        # As a grid makes the names of its arms; an arm with fixed parameters has a plain name.
        assignments = "".join(f" {name}={value}" for name, value in values.items())
        arms_of_commands[names[arm].removesuffix(assignments)].append(arm)
    levels_of_commands = {}
    for command, arms in arms_of_commands.items():
        levels: Levels = defaultdict(lambda: defaultdict(list))
        for name in dict.fromkeys(name for arm in arms for name in parameters[arm]):
            for arm in arms:
                levels[name][str(parameters[arm].get(name, _MISSING))].append(arm)
        levels_of_commands[command] = {
            name: arms_of_values for name, arms_of_values in levels.items()
            if len(arms_of_values) > 1
        }  # fmt: skip
    return levels_of_commands


def label_arms(spec: Spec) -> tuple[list[str], str]:
    """Return short labels of all arms, and a sentence that explains them, or "".

    They have the parameters that differ, and only the values where a legend has no room for more.

    Examples
    --------
    >>> from keyhole.tune import Spec
    >>> arm = {"name": "zip", "command": "true", "grid": {"level": [3, 9], "threads": [1]}}
    >>> label_arms(Spec.from_table({"arm": [arm], "limits": [1]}))
    (['zip level=3', 'zip level=9'], '')
    >>> arm["grid"] = {"compression": [3, 9], "threads": [1, 8]}
    >>> label_arms(Spec.from_table({"arm": [arm], "limits": [1]}))[0]
    ['zip 3 1', 'zip 3 8', 'zip 9 1', 'zip 9 8']
    """
    labels = list(spec.names)
    short_labels = list(spec.names)
    explanations = []
    for command, levels in find_levels(spec).items():
        if not levels:
            continue
        explanations.append(f"Arms of {command} are named by their {', '.join(levels)}.")
        for arms in next(iter(levels.values())).values():
            for arm in arms:
                values = {n: str(spec.arms[arm].parameters.get(n, _MISSING)) for n in levels}
                labels[arm] = " ".join([command, *map("=".join, values.items())])
                short_labels[arm] = " ".join([command, *values.values()])
    if all(shorten(label) == label for label in labels):
        explanations = []
    elif explanations:
        labels = short_labels
    # As of a command that is called like an arm of another one's grid.
    if len(set(labels)) < len(labels):
        return list(spec.names), ""
    return labels, " ".join(explanations)


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
    for command, levels in find_levels(tune.spec).items():
        if len(levels) == 1:  # the table of arms says as much
            continue
        for parameter, arms_of_values in levels.items():
            tried_arms = {value: [arm for arm in arms if runs[arm]]
                          for value, arms in arms_of_values.items()}  # fmt: skip
            arms_of_all = [arm for arms in tried_arms.values() for arm in arms]
            for value, arms in tried_arms.items():
                gain = effect = None
                if arms:
                    means = draws[:, arms].mean(axis=1)
                    gain = Interval.from_draws(means)
                    effect = Interval.from_draws(means - draws[:, arms_of_all].mean(axis=1))
                effects.append(ParameterEffect(
                    command, parameter, value, len(arms_of_values[value]), len(arms),
                    int(runs[arms].sum()), gain, effect,
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
