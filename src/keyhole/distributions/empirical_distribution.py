"""Empirical distributions, which draw from the recorded values of an arm."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from keyhole import validation
from keyhole.contract.arm_names import check_distinct_arm_texts
from keyhole.contract.reward_units import errors_with_conversion_hint
from keyhole.distributions.distribution import NumberDistribution
from keyhole.policy import FloatArray, Stream, uniform


def draw_recorded(rng: Stream, numbers: FloatArray) -> float:
    """Draw one of the numbers uniformly."""
    # The index is always below the length: the largest uniform number is 1 - 2**-53, and rounding
    # does not raise its product with the length to the length.
    return float(numbers[int(uniform(rng) * len(numbers))])


def draw_recorded_pair(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
    """Draw a pair uniformly; `numbers` has the pairs' first components, then their second ones."""
    count = len(numbers) // 2
    i = int(uniform(rng) * count)
    return numbers[i], numbers[count + i]


class Replay(NumberDistribution):
    """Empirical distribution: recorded values, drawn with replacement.

    Parameters
    ----------
    samples : sequence of float
        The recorded values, at least one.

    Examples
    --------
    >>> Replay([0, 1, 1, 0]).mean
    0.5
    """

    draw = staticmethod(draw_recorded)

    def __init__(self, samples: ArrayLike | Sequence[float]) -> None:
        values = validation.check_vector("samples", samples)
        self.samples = self.numbers = values
        # The sum is exact, so the order of the samples does not change the mean.
        self.mean = math.fsum(values) / len(values)
        self.variance = float(values.var())
        self.least = float(values.min())
        self.bound = float(values.max())
        self.whole = bool((values == np.floor(values)).all())

    def __repr__(self) -> str:
        """Return the number of samples, and their mean."""
        return f"{type(self).__name__}({len(self.samples)} samples, mean {self.mean:g})"

    def __eq__(self, other: object) -> bool:
        """Return whether the other distribution has the same samples."""
        return type(other) is type(self) and np.array_equal(self.samples, other.samples)

    def __hash__(self) -> int:
        """Return a hash of the samples."""
        return hash(self.samples.tobytes())


AnyReplay = TypeVar("AnyReplay", bound=Replay)


def replay_by_name(
    samples: Any,
    allowed: validation.Range = validation.ANY,
    distribution: type[AnyReplay] = Replay,  # type: ignore[assignment]
) -> Any:
    """Return the empirical distribution of each arm, as a mapping if the arms have names.

    Raises
    ------
    TypeError, ValueError
        If there is no arm, or a value is not allowed; the error names the arm and the entry.

    Examples
    --------
    >>> replay_by_name({"red": [0, 1, 1, 0]})
    {'red': Replay(4 samples, mean 0.5)}
    """
    arms = [distribution(values) for values in check_recorded("samples", samples, allowed)]
    names = names_of_recorded_arms("samples", samples)
    return arms if names is None else dict(zip(names, arms, strict=True))


def names_of_recorded_arms(name: str, samples: object) -> tuple[Any, ...] | None:
    """Return the names of the arms of recorded values, or None if the values are a plain list."""
    if validation.data_frame_column_names(samples) is None and not isinstance(samples, Mapping):
        return None
    return check_distinct_arm_texts(name, samples_by_arm(name, samples))


def check_recorded(name: str, samples: Any, allowed: validation.Range) -> list[FloatArray]:
    """Check the recorded values of each arm, and return them as vectors."""
    by_arm = samples_by_arm(name, samples)
    if not by_arm:
        raise ValueError(f"{name} must have at least one arm, got none")
    return [_check_values(f"{name}[{arm!r}]", values, allowed) for arm, values in by_arm.items()]


def _check_values(field: str, values: Any, allowed: validation.Range) -> FloatArray:
    if hasattr(values, "__len__") and len(values) == 0:
        return validation.check_vector(field, values, allowed)  # raises an error
    with errors_with_conversion_hint():
        return validation.check_vector(field, values, allowed)


def samples_by_arm(name: str, samples: Any, value_column: str = "reward") -> dict[Any, Any]:
    """Return the values of each arm, by its number or name.

    `samples` are a list for each arm, a mapping from arms to lists, or a data frame with the
    columns ``arm`` and `value_column`. Other data frames are ambiguous and refused: their columns
    might be arms, or attributes of a reward.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"arm": ["red", "blue", "red"], "reward": [1, 0, 0]})
    >>> samples_by_arm("samples", table)
    {'red': [1, 0], 'blue': [0]}
    """
    if (names := validation.data_frame_column_names(samples)) is not None:
        if not {"arm", value_column} <= {*names}:
            raise ValueError(
                f"{name} must be a list for each arm, or a data frame with the columns arm and "
                f"{value_column} (if it has a column for each arm, give dict(frame)), got "
                f"{validation.short_repr(samples)}"
            )
        result: dict[Any, list[Any]] = {}
        arms, values = (
            validation.column_to_array(samples[column]).tolist() for column in ("arm", value_column)
        )
        for arm, entry in zip(arms, values, strict=True):
            result.setdefault(arm, []).append(entry)
    elif isinstance(samples, Mapping):
        result = dict(samples)
    else:
        result = dict(enumerate(validation.check_sequence(name, samples, "a list for each arm")))
    return result
