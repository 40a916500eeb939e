"""Settings: the values of a round (context, decision, feedback, report), and known quantities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, overload

import numpy as np

from keyhole.contract.kernel_checks import check_argument_names, check_field_access
from keyhole.contract.reward_units import REWARD, UNIT, Scale, errors_with_scale_hint
from keyhole.contract.state_arrays import Field, FloatArray, declared_attributes
from keyhole.kernels.fingerprint import Kernel
from keyhole.validation import ANY, Range, check_integer, check_number, check_vector

SAME_TYPE: Final = object()
"""The default of `fact(argument=...)`: `Policy.learner` takes a value of the fact's own type."""


@dataclass(frozen=True)
class Fact:
    """A quantity that a policy may know before the first round; made with `fact`.

    Parameters
    ----------
    doc : str
        A description of the fact, in a few words.
    field : Field
        The type of the fact, and its shape in terms of other facts.
    allowed : Range
        The range of the fact, or of its entries.
    always : bool
        Whether every policy knows the fact; otherwise a policy must name it in its `needs`.
    argument : type or None
        The type of the argument of `Policy.learner` that gives the fact; None if there is no such
        argument.
    default : Any
        The value of the fact if none is given.
    unit : str
        The unit of the fact in terms of rewards (see `keyhole.contract.reward_units`); "" if the
        fact does not depend on the units of rewards.
    """

    doc: str
    field: Field
    allowed: Range = ANY
    always: bool = True
    argument: Any = None
    default: object = None
    unit: str = ""

    @property
    def own_type(self) -> Any:
        """The Python type of the fact's value."""
        if self.field.shape:
            return Sequence[float]
        return int if self.field.dtype == "int64" else float

    def check(self, name: str, value: object) -> Any:
        """Check a value, and return it converted; errors name the fact."""
        if self.field.shape:
            return check_vector(name, value, self.allowed)
        if self.field.dtype == "int64":
            return check_integer(name, value, self.allowed)
        return check_number(name, value, self.allowed)

    def to_unit(self, name: str, value: object, scale: Scale) -> Any:
        """Check a value in the user's units, and return it in the units of policies."""
        # The check is in the user's units, so that an error names the range that the user knows.
        user_fact = replace(self, allowed=scale.map_range(self.allowed, self.unit))
        return scale.to_unit(user_fact.check(name, value), self.unit)


# The options of the overloads are the keywords of the last definition.
@overload
def fact(number_type: type[float], length: str, /, *, doc: str, **options: Any) -> FloatArray: ...
@overload
def fact(number_type: type[int], /, *, doc: str, **options: Any) -> int: ...
@overload
def fact(number_type: type[float], /, *, doc: str, **options: Any) -> float: ...
def fact(
    number_type: type,
    length: str = "",
    /,
    *,
    doc: str,
    always: bool = True,
    argument: Any = SAME_TYPE,
    default: Any = None,
    unit: str = "",
    **ends: float,
) -> Any:
    """Declare a fact of a setting, in its class `Facts`.

    Parameters
    ----------
    number_type : {int, float}
        The type of the fact, or of the numbers in a vector.
    length : str, optional
        The name of the fact that holds the length, if this fact is a vector of numbers.
    doc : str
        A description of the fact, in a few words.
    always : bool, default True
        Whether every policy knows the fact; otherwise a policy must name it in its `needs`.
    argument : type or None, optional
        The type of the argument of `Policy.learner`; None if there is no argument. By default it is
        the type of the fact. If the types differ, `Policy.facts_of` converts the argument.
    default : Any, optional
        The value of the fact if none is given.
    unit : str, optional
        ``"reward"`` for a reward, ``"difference"`` for differences of rewards, ``"difference**-2"``
        for sums of inverse squares of differences: see `Setting.rewards`.
    **ends : float
        The ends of the range of allowed values: ``ge`` or ``gt`` is the lower end, ``le`` or ``lt``
        the upper end. The values ``gt`` and ``lt`` themselves are not allowed.

    Examples
    --------
    >>> class Facts:
    ...     arms = fact(int, ge=1, doc="number of arms")
    ...     gaps = fact(float, "arms", ge=0, always=False, doc="true gaps of the arms")
    """
    shape = (length,) if length else ()
    field = Field("int64" if number_type is int else "float64", shape)
    declaration = Fact(doc, field, Range(**ends), always, argument, default, unit)
    if argument is SAME_TYPE:
        return replace(declaration, argument=declaration.own_type)
    return declaration


@dataclass(frozen=True)
class Setting:
    """The interaction protocol of one kind of bandit, such as those with delayed feedback.

    In every round the environment may show a *context*, the policy takes a *decision*, and the
    environment gives *feedback*. At any time the policy can be asked for its *report* (a
    recommendation). Each of these four is a group of named values. Kernels name the values that
    they need. They return a single value as it is, and several values as a tuple, in the order of
    the group.

    Parameters
    ----------
    name : str
        The name of the setting.
    declarations : type
        The known quantities: a class whose attributes are made with `fact`.
    decision, feedback, context, report : mapping of str to Field
        Named values; a single value has the shape ().
    allowed : kernel
        The guard: a kernel that returns whether a decision can be carried out. It may name ``p``
        (with the quantities that every policy knows), the context and the decision. It must refuse
        indices out of range, since it protects the memory of the environment.
    modes : tuple of str
        The kinds of feedback, if there are several.
    mode : str
        The name of the fact that holds the position of the kind of feedback in `modes`. A learner
        takes the kind by its name, as the argument ``feedback``.
    budgeted : bool
        Whether each checkpoint is a separate budget. A policy that knows the horizon is then run
        once for each checkpoint, with the checkpoint as its horizon.
    rewards : bool
        Whether feedback consists of rewards in [0, 1]. A learner may then take rewards in other
        units, which its argument ``scale`` gives.
    fixed_means : bool
        Whether the rewards of an arm, in [0, 1], have the same mean whatever was decided and seen
        before. Summaries then show an interval for this mean that holds at all times at once.
    by_round : bool
        Whether feedback belongs to the round in which it arrives, and not to a decision. Rounds are
        then steps of time, and simulations have no simulated workers.
    version : int, default 1
        The version of the values' meaning. Databases of studies hold values, not their meaning, and
        can be opened only with the version that wrote them. The version must be raised if the same
        names and types get another meaning. A change of names, types or order is noticed without
        the version.
    """

    name: str
    declarations: type
    decision: Mapping[str, Field]
    feedback: Mapping[str, Field]
    allowed: Kernel
    context: Mapping[str, Field] = field(default_factory=dict)
    report: Mapping[str, Field] = field(default_factory=dict)
    modes: tuple[str, ...] = ()
    mode: str = ""
    budgeted: bool = False
    rewards: bool = False
    fixed_means: bool = False
    by_round: bool = False
    version: int = 1
    facts: Mapping[str, Fact] = field(init=False)

    def __post_init__(self) -> None:
        """Collect the facts; refuse a guard that names or reads values that it does not get."""
        object.__setattr__(self, "facts", declared_attributes(self.declarations, Fact))
        check_integer("version", self.version, Range(ge=1))
        owner = f"Setting({self.name!r})"
        check_argument_names(owner, self.allowed, ["p", *self.context, *self.decision])
        check_field_access(owner, self.allowed, "p", self.known_quantities(()), lambda name: "")

    def known_quantities(self, needs: tuple[str, ...]) -> dict[str, Fact]:
        """Return the facts that a policy with these needs knows."""
        return {n: f for n, f in self.facts.items() if f.always or n in needs}

    def to_unit(self, values: Mapping[str, object], scale: Scale) -> dict[str, Any]:
        """Return facts in the units of policies; `values` are in the user's units."""
        converted_values = dict(values)
        for name, fact in self.facts.items():
            if values.get(name) is None:
                continue
            if scale != UNIT and fact.unit:
                converted_values[name] = fact.to_unit(name, values[name], scale)
            # Without a scale, a reward is checked here, so that the error advises to give one.
            elif fact.unit == REWARD and not fact.field.shape:
                with errors_with_scale_hint():
                    fact.check(name, values[name])
        return converted_values

    def check(self, needs: tuple[str, ...], values: Mapping[str, object]) -> dict[str, Any]:
        """Return the facts that a policy with these needs knows, checked and converted."""
        facts = self.known_quantities(needs)
        for name in facts:
            if values.get(name) is None:
                raise TypeError(f"{name} ({facts[name].doc}) must be given, as {name}=...")
        checked = {name: fact.check(name, values[name]) for name, fact in facts.items()}
        # A shape may name an integer fact, so shapes are checked once all facts are converted.
        sizes = {name: value for name, value in checked.items() if isinstance(value, int)}
        for name, fact in facts.items():
            expected_shape = fact.field.extent(sizes)
            if np.shape(checked[name]) != expected_shape:
                raise ValueError(
                    f"{name} must have {expected_shape[0]} entries, got {len(checked[name])}"
                )
        if self.budgeted and "horizon" in checked and checked["horizon"] < checked["arms"]:
            raise ValueError(
                f"horizon must be at least the number of arms, {checked['arms']}; "
                f"got {checked['horizon']}"
            )
        return checked

    def argument_names(self, needs: tuple[str, ...]) -> list[str]:
        """Return the arguments of `Policy.learner` for the facts of a policy with these needs."""
        facts = {n: f for n, f in self.known_quantities(needs).items() if f.argument is not None}
        return ["feedback" if name == self.mode else name for name in facts]
