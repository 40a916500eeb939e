"""Wrapper policies: policies that leave the choice among arms to another policy, their base."""

import dataclasses
import inspect
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

from keyhole.contract import state_arrays
from keyhole.contract.kernel_signatures import BASE_KERNELS
from keyhole.contract.pending_mode_inference import combine_pending_modes, possible_modes
from keyhole.contract.policy import Policy, parameter_fields
from keyhole.draws.argmin_tree import argmin_tree_fill, argmin_tree_find, argmin_tree_update
from keyhole.draws.e_process import GRID, add_to_histogram
from keyhole.draws.streams import Stream
from keyhole.former_names import find_new_name
from keyhole.kernels.fingerprint import Kernel
from keyhole.validation import check_choice

# One subclass for each pair of a wrapper class and a class of bases. With two subclasses, equal
# policies would not compare as equal, and kernels would be compiled twice.
_SUBCLASSES: Final[dict[tuple[type, type], type["WrapperPolicy"]]] = {}


class WrapperPolicy(Policy, abstract=True):
    """Base class of policies with a parameter `base`: a policy of the same or of another setting.

    A subclass annotates `base` with the class of policies that it takes::

        base: stochastic.Policy = parameter(default=UCB1(), doc="who decides")

    In its kernels, `p` and `s` also hold the parameters and the state of the base. The kernels may
    name three more functions, which run the kernels of the base:

    ``base_init(p, s, t, rng)``
        prepares the state of the base;
    ``base_select(p, s, t, rng, <context>)``
        returns the decision of the base;
    ``base_update(p, s, t, rng, <context>, <decision>, <feedback>)``
        has the base learn from the feedback.

    Context, decision and feedback stand for the values of the base's setting as single arguments,
    in the order of the setting, and ``t`` is the round as the base counts it. The policy needs the
    known quantities that its base needs, too. By default it waits while a decision is pending. If a
    subclass declares other modes in `pending`, the policy has each of them that its base has, too.

    Attributes
    ----------
    base_class : Policy class
        The class of the base. A wrapper class has a subclass of the same name for each class of
        bases, since kernels are compiled for the base. Instances belong to such a subclass.
    """

    randomness = "that of the base"
    pending: ClassVar[tuple[str, ...]] = ("wait",)
    base_class: ClassVar[type[Policy]]
    _class_as_written: ClassVar[type["WrapperPolicy"]]

    if not TYPE_CHECKING:  # type checkers take the arguments from the parameters

        def __new__(cls, *args, **values):
            """Return an instance of the subclass for the class of the base."""
            cls._check_parameter_names(args, values)
            arguments = inspect.signature(cls.__init__).bind(None, *args, **values)
            arguments.apply_defaults()
            base = arguments.arguments["base"]
            base_class = cast(type[Policy], _base_parameter(cls).type)
            if not isinstance(base, base_class):
                raise TypeError(
                    f"base must be a policy of the setting {base_class.setting.name!r}, "
                    f"got {base!r}"
                )
            # The instance is also an instance of `cls`, so Python then calls its `__init__` with
            # these arguments.
            return object.__new__(_subclass_for_base(cls, type(base)))

    @classmethod
    def factory(cls) -> type[Self]:
        """Return the class as written in a module, not its subclass for a class of bases."""
        return cast(type[Self], getattr(cls, "_class_as_written", cls))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name; the base is a table of its name and its parameters."""
        base = cast(Policy, getattr(self, "base"))  # noqa: B009 (declared by subclasses)
        return Policy.numbers(self) | {"base": {"name": type(base).__name__, **base.parameters()}}

    def numbers(self) -> dict[str, Any]:
        """Return the parameters as kernels read them, by name; the base's come last."""
        numbers = super().numbers()
        return numbers | cast(Policy, numbers.pop("base")).numbers()

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Self:
        """Make a policy from parameters by name.

        The base is a policy, its name, or a mapping of its name and its parameters.
        """
        factory = cls.factory()
        if factory is not cls:  # `cls` is for one class of bases, and the values may name another
            return factory.from_parameters(values)
        base = values.get("base")
        if isinstance(base, str):
            base = {"name": base}
        if isinstance(base, Mapping):
            subclasses = _concrete_subclasses(cast(type[Policy], _base_parameter(cls).type))
            base_classes = {subclass.__name__: subclass for subclass in subclasses}
            name = base.get("name")
            # A saved learner or a spec may have a former name, unless a class is called so now.
            if isinstance(name, str) and name not in base_classes:
                name = find_new_name(f"keyhole.{cls.setting.name}", name)[1]
            name = check_choice("base.name", name, base_classes)
            base_values = {key: value for key, value in base.items() if key != "name"}
            values = {**values, "base": base_classes[name].from_parameters(base_values)}
        return super().from_parameters(values)

    @classmethod
    def input_fields(cls) -> dict[str, state_arrays.Field]:
        """Return the fields of `p`: the fields of the base, then those of this policy."""
        input_fields = super().input_fields()
        del input_fields["base"]
        return cls.base_class.input_fields() | input_fields

    @classmethod
    def traits(cls) -> dict[str, str]:
        """Return the properties that catalog and documentation print, by heading."""
        quantities = [*cls.setting.argument_names(cls.needs), "those that its base needs"]
        traits = super().traits() | {"known quantities": ", ".join(quantities)}
        if possible_modes(cls) != ("wait",):
            traits["pending decisions"] = f"those of {', '.join(cls.pending)} that its base has"
        return traits

    @classmethod
    def check_kernels(cls) -> None:
        """Refuse kernels that name arguments or read fields that do not exist.

        Arguments and fields of the base exist, too. A class without a default base is checked when
        it gets a base.
        """
        if hasattr(cls, "base_class"):
            super().check_kernels()
            combine_pending_modes(cls, cls.base_class)
        elif isinstance(_base_parameter(cls).default, Policy):
            subclass_for_default_base(cls)

    @classmethod
    def borrowed_kernels(cls) -> tuple[str, ...]:
        """Return the names of functions that kernels may call: `helpers`, and those of the base."""
        return (*cls.helpers, *(f"base_{signature.name}" for signature in BASE_KERNELS))


def subclass_for_default_base(cls: type[WrapperPolicy]) -> type[WrapperPolicy]:
    """Return the subclass of a policy class for its default base."""
    return _subclass_for_base(cls, type(cast(Policy, _base_parameter(cls).default)))


def _base_parameter(cls: type[WrapperPolicy]) -> dataclasses.Field[object]:
    """Return the parameter `base` of a class; its type is the class of allowed bases."""
    return {item.name: item for item in parameter_fields(cls)}["base"]


def _subclass_for_base(cls: type[WrapperPolicy], base_class: type[Policy]) -> type[WrapperPolicy]:
    """Return the subclass of a policy class for a class of bases; make it at the first call."""
    if (cls, base_class) not in _SUBCLASSES:
        _SUBCLASSES[cls, base_class] = _make_subclass(cls, base_class)
    return _SUBCLASSES[cls, base_class]


def _make_subclass(cls: type[WrapperPolicy], base_class: type[Policy]) -> type[WrapperPolicy]:
    if cls.verdicts and base_class.verdicts:
        raise ValueError(f"base must be a policy that does not stop, got {base_class.__name__}")
    base_parameters = {item.name for item in parameter_fields(base_class)}
    shared_names = {item.name for item in parameter_fields(cls)} & base_parameters
    shared_names |= (
        state_arrays.declared_state(cls).keys() & state_arrays.declared_state(base_class).keys()
    )
    if shared_names:
        raise TypeError(
            f"{cls.__name__} and its base {base_class.__name__} both have "
            f"{', '.join(sorted(shared_names))}: use other names in {cls.__name__}"
        )
    # The subclass has the name and module of the class as written, so that messages, files and
    # pickles name that class; `factory` returns it.
    namespace = {
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        # The arrays of both states, so that the kernels of both classes find their arrays.
        "State": type("State", (cls.State, base_class.State), {}),
        "base_class": base_class,
        "needs": tuple(dict.fromkeys((*cls.needs, *base_class.needs))),
        "oracle": cls.oracle or base_class.oracle,
        "arms_change": cls.arms_change and base_class.arms_change,
        "off_policy": cls.off_policy and base_class.off_policy,
        "_class_as_written": cls,
    }
    return type(cls.__name__, (cls,), namespace)


def _concrete_subclasses(policy_class: type[Policy]) -> Iterator[type[Policy]]:
    """Yield the subclasses that are neither abstract nor made by `_subclass_for_base`."""
    for cls in policy_class.__subclasses__():
        if not cls.abstract and "_class_as_written" not in vars(cls):
            yield cls
        yield from _concrete_subclasses(cls)


MEAN_TOLERANCE = 1e-12
"""Means that differ by less than this count as equal, since rounding may explain the difference."""


class StoppingState:
    """The state of a policy that settles arms: verdicts, and the rewards on which they rest."""

    settled = state_arrays.int_array("arms")
    stopped = state_arrays.int_array()
    evidence_pulls = state_arrays.float_array("arms")
    evidence_totals = state_arrays.float_array("arms")
    evidence_histogram = state_arrays.float_array("arms", GRID, added=True)
    """The weights of rewards between 0 and 1: see `keyhole.draws.e_process`."""
    open_pulls = state_arrays.argmin_tree_array("arms")
    """The pulls of each *open* arm, which has no verdict yet; infinite for a settled arm."""


class StoppingWrapper(WrapperPolicy, abstract=True):
    """Base class of policies that stop: their `update` settles arms, with a verdict on each.

    The setting must have no context, an arm as its decision, and the arm's reward as its feedback.
    """

    if TYPE_CHECKING:
        base: Policy  # subclasses declare the parameter, with the class of policies that they take
        arms: ClassVar[int]  # a known quantity

    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    off_policy = True

    class State(StoppingState):
        """The verdicts, and the rewards on which they rest."""

    def init(p, s: StoppingState, rng: Stream, base_init: Kernel) -> None:
        """Leave all arms open, and prepare the base."""
        argmin_tree_fill(s.open_pulls, p.arms, 0.0)
        base_init(p, s, 0, rng)

    def select(p, s: StoppingState, t: int, rng: Stream, base_select: Kernel) -> int:
        """Return the arm of the base; if it is settled, the open arm with the fewest pulls."""
        arm = int(base_select(p, s, t, rng))
        # If the arm does not exist, the guard refuses the decision.
        if 0 <= arm < p.arms and s.settled[arm] != 0:
            open_arm = argmin_tree_find(s.open_pulls, p.arms)
            arm = open_arm if s.settled[open_arm] == 0 else arm
        return arm

    def impute(p, s: StoppingState, t: int, rng: Stream, arm: int, base_update: Kernel) -> None:
        """Have the base learn the arm's mean, or 1/2 without pulls; settle no arm."""
        pulls = s.evidence_pulls[arm]
        mean = s.evidence_totals[arm] / pulls if pulls > 0.0 else 0.5
        base_update(p, s, t, rng, arm, mean)
        add_reward(s, arm, mean, p.arms)

    def __post_init__(self) -> None:
        """Check the parameters; refuse a base that can only learn from its own decisions."""
        super().__post_init__()
        # If the base chooses a settled arm, it must learn from the open arm that is pulled instead.
        if not self.base.off_policy:
            raise ValueError(
                "base must be a policy that can learn from decisions of others (off_policy), "
                f"got {self.base!r}"
            )


def add_reward(s: StoppingState, arm: int, reward: float, arms: int) -> None:
    """Add a reward of an arm to the evidence."""
    s.evidence_pulls[arm] += 1.0
    s.evidence_totals[arm] += reward
    add_to_histogram(s.evidence_histogram, arm, reward)
    if s.settled[arm] == 0:
        argmin_tree_update(s.open_pulls, arms, arm, s.evidence_pulls[arm])


def settle_arm(s: StoppingState, arm: int, verdict: int, arms: int) -> None:
    """Give an arm its final verdict; `verdict` is 1 + the position of the verdict in `verdicts`."""
    s.settled[arm] = verdict
    argmin_tree_update(s.open_pulls, arms, arm, math.inf)
