"""Known quantities (facts): what a policy may know in advance, such as the number of rounds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, overload

from keyhole.contract.reward_units import Scale
from keyhole.contract.state_arrays import Field, FloatArray
from keyhole.validate import ANY, Range, check_integer, check_number, check_vector

OWN_PARAMETER: Final = object()
"""Marks that the argument of `Policy.learner` is of the fact's own type."""


@dataclass(frozen=True)
class Fact:
    """A quantity that a policy may know before the first round; made with `fact`.

    Parameters
    ----------
    doc : str
        What it is, in a few words.
    field : Field
        Its type, and its shape in terms of other facts.
    allowed : Range
        What values it may take.
    always : bool
        Whether every policy knows it; otherwise a policy must name it in its `needs`.
    argument : type or None
        What `Policy.learner` takes for it; None where it follows from something else.
    default : Any
        Its value where none is given.
    unit : str
        How it depends on the units of rewards (see `keyhole.contract.reward_units`); "" if it does
        not.
    """

    doc: str
    field: Field
    allowed: Range = ANY
    always: bool = True
    argument: Any = None
    default: Any = None
    unit: str = ""

    @property
    def own(self) -> Any:
        """The fact's own type, as an argument."""
        if self.field.shape:
            return Sequence[float]
        return int if self.field.dtype == "int64" else float

    def check(self, name: str, value: Any) -> Any:
        """Return the value, converted; raise an error that names the fact if it is not allowed."""
        if self.field.shape:
            return check_vector(name, value, self.allowed)
        convert = check_integer if self.field.dtype == "int64" else check_number
        return convert(name, value, self.allowed)

    def to_unit(self, name: str, value: Any, scale: Scale) -> Any:
        """Return the value in units of policies; errors speak in the user's units."""
        # Checked in the user's units, so that the error names the range that the user knows.
        theirs = replace(self, allowed=scale.range(self.allowed, self.unit))
        return scale.to_unit(theirs.check(name, value), self.unit)


# The options are those of the last definition.
@overload
def fact(kind: type[float], length: str, /, *, doc: str, **options: Any) -> FloatArray: ...
@overload
def fact(kind: type[int], /, *, doc: str, **options: Any) -> int: ...
@overload
def fact(kind: type[float], /, *, doc: str, **options: Any) -> float: ...
def fact(
    kind: type,
    length: str = "",
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = OWN_PARAMETER,
    default: Any = None,
    unit: str = "",
    **ends: float,
) -> Any:
    """Declare a fact of a setting, in its class `Facts`.

    Parameters
    ----------
    kind : {int, float}
        Its type.
    length : str, optional
        For a vector of numbers: the fact that is its length.
    doc : str
        What it is, in a few words.
    always : bool, default True
        Whether every policy knows it; otherwise a policy must name it in its `needs`.
    argument : type or None, optional
        What `Policy.learner` takes for it, where that is of another type (the setting then converts
        it: see `Policy.facts_of`); None where it takes nothing.
    default : Any, optional
        Its value where none is given.
    unit : str, optional
        ``"reward"`` for a reward, ``"difference"`` for differences of rewards, ``"difference**-2"``
        for sums of their inverse squares: see `Setting.rewards`.
    **ends : float
        ``ge``, ``gt``, ``le``, ``lt``: least and largest value, included or not.

    Examples
    --------
    >>> class Facts:
    ...     arms = fact(int, ge=1, doc="number of arms")
    ...     gaps = fact(float, "arms", ge=0, always=False, doc="true gaps of the arms")
    """
    declared = Field("int64" if kind is int else "float64", (length,) if length else ())
    made = Fact(doc, declared, Range(**ends), always, argument, default, unit)
    return replace(made, argument=made.own) if argument is OWN_PARAMETER else made
