"""Parameters in which the arms of a command differ: labels of the arms, and effects of values."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from keyhole.pages.line_chart import shorten_label
from keyhole.tune.run_arrays import RunArray, Trial
from keyhole.tune.run_time_effects import ParameterEffect, parameter_effects
from keyhole.tune.run_time_model import RunRows, RunTimeModel, draw_feature_effects
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import EXPIRED, TrialRecord

_MISSING: Final = "-"  # for a parameter that an arm lacks, and another arm of its command has
_MOST_LEVELS: Final = 60  # in a table; a longer one is not made
_MOST_RUNS: Final = 20_000  # later runs are left out, so that sampling takes about a second
_INTERACTION_SCALE: Final = 0.25
"""Prior mean of the variance of an arm's difference from the sum of its values' effects. Intervals
of 95 % covered 94 to 100 % of the true differences in simulated grids of 4, 8 and 32 arms."""
Levels = dict[str, dict[str, list[int]]]
"""By parameter and value, the indices of the arms that have it."""


def varied_values(spec: Spec) -> dict[str, Levels]:
    """Return, by a command's name, the parameters in which its arms differ, with their values."""
    arms_by_command_name: dict[str, list[int]] = defaultdict(list)
    parameters = [arm.parameters for arm in spec.arms]
    names = spec.names  # made anew by each access
    for arm, values in enumerate(parameters):
        # The name of an arm of a grid is the command's name and then the arm's values. Without a
        # grid it is the command's name.
        assignments = "".join(f" {name}={value}" for name, value in values.items())
        arms_by_command_name[names[arm].removesuffix(assignments)].append(arm)
    levels_of_commands = {}
    for command, arms in arms_by_command_name.items():
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
    """Return a short label of each arm, and sentences that explain the labels, or "".

    A label is the command's name and the parameters in which its arms differ, with their values. If
    a legend has no room for these labels, they have the values alone, and the sentences name the
    parameters.

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
    for command, levels in varied_values(spec).items():
        if not levels:
            continue
        explanations.append(f"Arms of {command} are named by their {', '.join(levels)}.")
        # Every arm of the command is listed under one value of the first parameter.
        for arms in next(iter(levels.values())).values():
            for arm in arms:
                values = {n: str(spec.arms[arm].parameters.get(n, _MISSING)) for n in levels}
                labels[arm] = " ".join([command, *map("=".join, values.items())])
                short_labels[arm] = " ".join([command, *values.values()])
    if all(shorten_label(label) == label for label in labels):
        explanations = []
    elif explanations:
        labels = short_labels
    # A command may have the same name as an arm of another command's grid.
    if len(set(labels)) < len(labels):
        return list(spec.names), ""
    return labels, " ".join(explanations)


def estimate_effects(spec: Spec, runs: Sequence[TrialRecord]) -> list[ParameterEffect]:
    """Return how parameter values affect run times, for grids that vary several parameters.

    A failed run counts as longer than the largest limit. Values without runs are left out, and so
    are commands that vary a single parameter, or more than 60 values in all.
    """
    effects = []
    levels_of_commands = varied_values(spec)
    for command, levels in levels_of_commands.items():
        level_arms = {
            (f"{command} {name}" if len(levels_of_commands) > 1 else name, value): arms
            for name, arms_of_values in levels.items()
            for value, arms in arms_of_values.items()
        }
        # With a single parameter, the table of arms says as much.
        if len(levels) < 2 or len(level_arms) > _MOST_LEVELS:
            continue
        members = {arm for row in level_arms.values() for arm in row}
        arm_runs, arms = _pick_runs(spec, runs, members)
        if arms:
            features = np.array(
                [[float(arm in row) for row in level_arms.values()] for arm in arms]
            )
            model = RunTimeModel(0, len(level_arms), _INTERACTION_SCALE)
            draws = draw_feature_effects(model, arm_runs, features, np.random.default_rng(0))
            effects += parameter_effects([*level_arms], features, draws)
    return effects


def _pick_runs(
    spec: Spec, runs: Sequence[TrialRecord], members: Collection[int]
) -> tuple[RunRows, list[int]]:
    """Return the runs of some arms, and these arms in the order of their first runs.

    In the returned runs, the position of an arm in this order stands for its configuration, and
    instances are numbered in the order of their first runs.
    """
    arms = {spec.names[arm]: arm for arm in members}
    positions: dict[int, int] = {}
    instances: dict[str, int] = {}
    run_array = RunArray(spec.limits[-1])
    for run in runs[:_MOST_RUNS]:
        if run.arm in arms and run.outcome != EXPIRED:
            position = positions.setdefault(arms[run.arm], len(positions))
            instance = instances.setdefault(run.instance, len(instances))
            trial = Trial(run.round, position, {}, instance, run.limit)
            run_array.add(trial, run.outcome, run.seconds)
    return run_array.runs, [*positions]
