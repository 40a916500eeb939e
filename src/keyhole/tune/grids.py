"""Grids of parameters in a tune: short labels of their arms, and what each value did."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.pages.line_chart import shorten_label
from keyhole.tune.run_history import RunHistory, Trial
from keyhole.tune.run_time_model import RunTimeModel
from keyhole.tune.space_estimates import ParameterEffect
from keyhole.tune.trial_log import EXPIRED
from keyhole.tune.value_estimates import Interval

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune
    from keyhole.tune.spec import Spec

_MISSING: Final = "-"  # in the place of a parameter that only other arms of the command have
_MOST_LEVELS: Final = 60  # of a table that can be read
_MOST_RUNS: Final = 20_000  # the first ones: a second of sampling
_BURN_IN: Final = 100
_DRAWS: Final = 200
# Inverse gamma distribution of the variance of arms around the sums of the effects of their values.
_SHAPE: Final = 2.0
_SCALE: Final = 0.25
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
    if all(shorten_label(label) == label for label in labels):
        explanations = []
    elif explanations:
        labels = short_labels
    # As of a command that is called like an arm of another one's grid.
    if len(set(labels)) < len(labels):
        return list(spec.names), ""
    return labels, " ".join(explanations)


def estimate_effects(tune: SavedTune) -> list[ParameterEffect]:
    """Return what each value does to run times, of grids in which several parameters differ.

    A failed run counts as longer than the full cut-off. Values without runs are left out, and so is
    a grid of which too few arms were run to tell its parameters apart.
    """
    effects = []
    levels_of_commands = find_levels(tune.spec)
    for command, levels in levels_of_commands.items():
        if len(levels) < 2:  # the table of arms says as much
            continue
        members = {arm for arms in next(iter(levels.values())).values() for arm in arms}
        runs, positions = _read_runs(tune, members)
        level_arms = {
            (name, value): tried_arms
            for name, arms_of_values in levels.items()
            for value, arms in arms_of_values.items()
            if (tried_arms := [positions[arm] for arm in arms if arm in positions])
        }
        design = np.zeros((len(positions), len(level_arms)))
        for column, tried_arms in enumerate(level_arms.values()):
            design[tried_arms, column] = 1.0
        # The mean, and for each parameter one effect less than it has values.
        unknown_count = 1 + len(level_arms) - len(levels)
        is_legible = 0 < len(level_arms) <= _MOST_LEVELS
        if not is_legible or np.linalg.matrix_rank(design) < unknown_count:
            continue
        draws = _draw_effects(runs, design)
        for column, ((name, value), tried_arms) in enumerate(level_arms.items()):
            is_parameter = [parameter == name for parameter, _ in level_arms]
            log_times = draws[:, column] - draws[:, is_parameter].mean(axis=1)
            label = f"{command} {name}" if len(levels_of_commands) > 1 else name
            interval = Interval.from_draws(log_times)
            effects.append(ParameterEffect(label, value, len(tried_arms), interval))
    return effects


def _read_runs(tune: SavedTune, members: Collection[int]) -> tuple[NDArray[Any], dict[int, int]]:
    """Return the runs of some arms, and the position of each arm with runs among these."""
    arms = {tune.spec.names[arm]: arm for arm in members}
    positions: dict[int, int] = {}
    instances: dict[str, int] = {}
    history = RunHistory(tune.spec.limits[-1])
    for run in tune.runs[:_MOST_RUNS]:
        if run.arm in arms and run.outcome != EXPIRED:
            position = positions.setdefault(arms[run.arm], len(positions))
            instance = instances.setdefault(run.instance, len(instances))
            trial = Trial(run.round, position, {}, instance, run.limit)
            history.add(trial, run.outcome, run.seconds)
    return history.runs, positions


def _draw_effects(runs: NDArray[Any], design: FloatArray) -> FloatArray:
    """Return posterior draws of the effects of levels, whose arms `design` marks with 1.

    The log time of an arm is normal around the sum of the effects of its values. Around one mean of
    all arms, as the model has it, arms with few runs would hide what their parameters do: intervals
    of 95 % held .61 to .90, and hold .95 to .97 (simulated grids of 8 and 32 arms).
    """
    rng = np.random.default_rng(0)
    model = RunTimeModel(0, 0)
    no_features = np.empty((len(design), 0))  # the model's are around one mean, too
    columns = np.column_stack([np.ones(len(design)), design])
    inverse = np.linalg.pinv(columns)
    log_times = runs["log_time"].copy()
    sums = np.zeros(len(design))
    draws = np.empty((_DRAWS, design.shape[1]))
    for sweep in range(-_BURN_IN, _DRAWS):
        # The model has what arms differ by beside the effects of their values.
        runs["log_time"] = log_times - sums[runs["configuration"]]
        model.sweep(runs, no_features, rng)
        arm_effects = model.configuration_effects + sums
        # A flat prior of the effects: least squares, and the error of its mean.
        squares = (model.configuration_effects - model.mean) ** 2
        scale = _SCALE + squares.sum() / 2
        deviation = math.sqrt(scale / rng.gamma(_SHAPE + len(design) / 2))
        noise = deviation * rng.standard_normal(len(design))
        effects = inverse @ (arm_effects + noise)
        effects[0] = 0.0  # the mean is the model's
        sums = columns @ effects
        model.configuration_effects = arm_effects - sums
        if sweep >= 0:
            draws[sweep] = effects[1:]
    return draws


EFFECTS_CAPTION: Final = (
    "Run time with each value, or in each third of a range, in times of the mean of all values of "
    "the parameter, whatever the others are: from a model of the logarithms of run times, with an "
    "effect of each instance. A failed run counts as longer than the full cut-off. An interval "
    "with 1 in it leaves open whether the value matters."
)


def effects_table(
    effects: Iterable[ParameterEffect], counted: str
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of effects on run times; `counted` are arms, say."""
    head = ["parameter", "value", f"{counted} run", "run time, times the mean"]
    rows = []
    for effect in effects:
        factor = Interval(*map(math.exp, vars(effect.log_time).values()))
        rows.append([effect.parameter, effect.level, f"{effect.configurations:,}", str(factor)])
    return head, rows
