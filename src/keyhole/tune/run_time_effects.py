"""Effects of parameters on run times: estimates from draws of the model, and their table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.pair_estimates import Interval

FAILED_RUNS: Final = "A failed run counts as longer than the largest limit."
EFFECTS_CAPTION: Final = (
    "Run time with each value, or in each third of a range, as a multiple of the mean over all "
    "values of the parameter, with the other parameters alike. The estimates come from a model of "
    f"log run times that has an effect of each instance. {FAILED_RUNS} An interval that "
    "contains 1 leaves open whether the value matters."
)


@dataclass(frozen=True)
class ParameterEffect:
    """Effect of a level of a parameter on run times.

    Attributes
    ----------
    parameter, level : str
        The parameter, and its value or a third of its range.
    configurations : int
        How many configurations with this level were run.
    log_time : Interval
        Mean log time of this level less the mean of all levels, with the other parameters alike.
    """

    parameter: str
    level: str
    configurations: int
    log_time: Interval


def parameter_effects(
    levels: Sequence[tuple[str, str]], features: FloatArray, draws: FloatArray
) -> list[ParameterEffect]:
    """Return the effect of each level that was run.

    A level is a pair of a parameter and a value or a third of a range. `features` has a row for
    each configuration that was run, with 1 for each of its levels; `draws` are the results of
    `draw_feature_effects`.
    """
    counts = features.sum(axis=0)
    effects = []
    for column, (parameter, level) in enumerate(levels):
        columns = [k for k, (name, _) in enumerate(levels) if name == parameter]
        if counts[column]:
            means = draws[:, columns] @ (counts[columns] / counts[columns].sum())
            interval = Interval.from_draws(draws[:, column] - means)
            effects.append(ParameterEffect(parameter, level, int(counts[column]), interval))
    return effects


def effects_table(
    effects: Iterable[ParameterEffect], noun: str
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table of effects; `noun` names what was run, such as "arms"."""
    head = ["parameter", "value", f"{noun} run", "run time, times the mean"]
    rows = []
    for effect in effects:
        factor = Interval(*map(math.exp, vars(effect.log_time).values()))
        rows.append([effect.parameter, effect.level, f"{effect.configurations:,}", str(factor)])
    return head, rows
