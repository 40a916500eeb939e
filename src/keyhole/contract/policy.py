"""The base classes of policies, and how their parameters are declared."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, dataclass_transform, overload

import numpy as np
from numpy.typing import NDArray

from keyhole import validation
from keyhole.contract import kernel_signatures, pending_mode_inference
from keyhole.contract.kernel_signatures import IMPUTE, POLICY_KERNELS
from keyhole.contract.learner_arguments import make_learner_method
from keyhole.contract.reward_units import format_arm_means
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, argmin_tree_array, declared_state, float_array
from keyhole.draws.argmin_tree import argmin_tree_fill, argmin_tree_find, argmin_tree_update
from keyhole.kernels.fingerprint import Kernel

_STOPPING_ARRAYS: Final = {"settled": Field("int64", ("arms",)), "stopped": Field("int64", (1,))}


@dataclass(frozen=True)
class Guarantee:
    """The promise of a policy that can stop: the mean of a metric is at most `most`.

    Attributes
    ----------
    metric : {"wrong_settled", "any_wrong_settled", "wrong_of_settled"}
        The metric: see `keyhole.metric.STOP_METRICS`.
    most : float
        The largest mean that the metric may have.
    text : str
        The promise in words.
    """

    metric: str
    most: float
    text: str


def check_verdicts(cls: "type[Policy]") -> None:
    """Refuse verdicts that are not distinct texts, and a class that lacks the arrays for them."""
    name = f"{cls.__name__}.verdicts"
    if not isinstance(cls.verdicts, tuple) or not all(isinstance(v, str) for v in cls.verdicts):
        raise TypeError(f"{name} must be a tuple of texts, got {cls.verdicts!r}")
    if not cls.verdicts:
        return
    validation.check_distinct(name, cls.verdicts)
    state = declared_state(cls)
    for array, required_field in _STOPPING_ARRAYS.items():
        if state.get(array) != required_field:
            shape = '"arms"' if required_field.shape == ("arms",) else ""
            raise TypeError(
                f"{cls.__name__} has verdicts: its State must declare {array} = int_array({shape})"
            )


def check_saved_state(policy: "Policy", state: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a state read from a file if it has verdicts that the policy cannot give."""
    if not policy.verdicts:
        return
    count = len(policy.verdicts)
    for arm, code in enumerate(state["settled"]):
        if not 0 <= code <= count:
            raise ValueError(f"settled[{arm}] must be from 0 to {count}, got {code}")


def is_done(policy: "Policy", state: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether a policy with this state has settled every arm."""
    return bool(policy.verdicts) and bool(state["settled"].all())


def settled_arms(policy: "Policy", state: Mapping[str, NDArray[Any]]) -> dict[int, str]:
    """Return the verdicts on the settled arms, by the arm's number."""
    if not policy.verdicts:
        return {}
    codes = state["settled"].tolist()
    return {arm: policy.verdicts[code - 1] for arm, code in enumerate(codes) if code}


def remaining_arms(policy: "Policy", state: Mapping[str, NDArray[Any]], arms: int) -> list[int]:
    """Return the numbers of the arms that are not settled yet."""
    settled = settled_arms(policy, state)
    return [arm for arm in range(arms) if arm not in settled]


T = TypeVar("T")


def parameter_fields(policy: Any) -> tuple[dataclasses.Field[object], ...]:
    """Return the declared parameters of a policy, or of its class."""
    return dataclasses.fields(policy)


@overload
def parameter(*, default: T, doc: str = "", **ends: float | None) -> T: ...
@overload
def parameter(*, doc: str = "", **ends: float | None) -> Any: ...
def parameter(default: Any = MISSING, *, doc: str = "", **ends: float | None) -> Any:
    """Declare a parameter of a policy.

    Parameters
    ----------
    default : float or int, optional
        The parameter's default. Without a default, the parameter must always be given. The default
        is a keyword argument, so that type checkers see which parameters must be given.
    doc : str
        A description in a few words, which the catalog shows.
    **ends : float
        The ends of the range of allowed values: ``ge`` or ``gt`` is the lower end, ``le`` or ``lt``
        the upper end. The values ``gt`` and ``lt`` themselves are not allowed.

    Examples
    --------
    >>> parameter(default=1.35, gt=0).default
    1.35
    """
    allowed = validation.Range(**ends)
    return dataclasses.field(default=default, metadata={"allowed": allowed, "doc": doc})


@dataclass_transform(field_specifiers=(parameter,), frozen_default=True)
class Policy:
    """A rule that takes a decision in every round, from the feedback so far.

    A policy has three parts. Its *parameters* are annotated class attributes made with
    `parameter`; a policy object is immutable. Its *state* is declared by the nested class `State`,
    whose attributes are made with `float_array`, `int_array`, `argmin_tree_array` and
    `scratch_array`; all arrays start as zeros. Its *kernels* are plain functions in the class body,
    which are compiled at their first use. A kernel receives the arguments that it names, out of
    these:

    ``p``
        the parameters, and the known quantities (`p.arms`, `p.threshold`, ...);
    ``s``
        the state; a kernel may change nothing else;
    ``rng``
        the policy's own random stream (see `keyhole.draws.samplers`);
    ``t``
        the round, from 1;
    the values of the setting
        its context, decision and feedback, and in `recommend` the arrays of its report.

    ``init(p, s)`` prepares the state, ``select(...)`` returns the decision, ``update(...)``
    learns from the feedback, and ``recommend(...)`` fills the report. `init` and `recommend` may
    be left out if there is nothing to do.

    A base class of other policies may list further functions in `helpers`; kernels may name them as
    arguments, too.

    Attributes
    ----------
    setting : Setting
        The setting. The setting's base class of policies sets it.
    needs : tuple of str
        The known quantities that the policy uses beyond those that all policies of the setting
        know.
    oracle : bool
        Whether `needs` contains quantities that are unknown in practice.
    helpers : tuple of str
        The functions that kernels may name.
    helper_arguments : mapping of str to tuple of str
        For each helper that subclasses write, the arguments with which kernels call it.
    learner_class : type, optional
        The setting's subclass of `keyhole.Learner`.
    vocabulary_class : type, optional
        The words that studies use for the setting: a `keyhole.policy.StudyVocabulary`.
    arms_change : bool
        Whether arms may be added and retired while the policy is at work. Each of its arrays that
        is about arms must then have an axis of arms. An arm that was never pulled must either be
        pulled first whenever it appears, or be treated like other arms.
    abstract : bool
        Whether the class is only a base of others: ``class Mine(Policy, abstract=True)``.
    works_with : tuple of str
        The kinds of feedback with which the policy works: by default all of the setting's.
    off_policy : bool
        Whether the policy can learn from decisions that it has not taken, such as those of a log.
        It can if `update` counts feedback, and `select` reads the counts. If, besides, `select`
        writes nothing that is read later, users may exclude arms from a decision
        (``ask(exclude=...)``). The policy then decides on a copy of its state that has only the
        other arms. If the state holds the number of an arm, this number may be `p.arms` or more in
        the copy, so a kernel must compare it with `p.arms`.
    requires : str
        A condition on rounds, in words, for a policy that does not work in all rounds. In a round
        that violates the condition, `select` returns a decision that the setting does not allow
        (arm -1).
    pending : tuple of str
        The modes in which the policy can treat pending decisions, the best mode first. "impute":
        the kernel `impute` imputes their feedback, on a copy of the state. "ignore": the policy
        decides as if they had not been taken. "wait": it takes no other decision meanwhile. A class
        that does not declare `pending` has the setting's modes, but waits if its `select` writes
        state that is read later (see `explain_waiting`).
    verdicts : tuple of str
        The verdicts that the policy can give on an arm, such as "above" and "below"; empty for a
        policy that never stops. A policy that stops has two more arrays in its `State`. The first
        is ``settled = int_array("arms")``: 0 for an arm without a verdict, otherwise 1 + the
        position of its verdict, which is final. The second is ``stopped = int_array()``: 0, or the
        round in which `update` settled the last arm. The policy is then done, and simulations play
        no further round. It also defines `guarantee` and `wrong_verdicts` (see `docs/contract.md`).
    feedback, randomness, cost_per_round : str
        What the policy learns from, what it draws, and how many steps a round takes. Catalog and
        documentation print these (see `traits`).
    """

    setting: ClassVar[Setting]
    needs: ClassVar[tuple[str, ...]] = ()
    oracle: ClassVar[bool] = False
    helpers: ClassVar[tuple[str, ...]] = ()
    helper_arguments: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    learner_class: ClassVar[type[Any] | None] = None
    vocabulary_class: ClassVar[type[Any] | None] = None
    arms_change: ClassVar[bool] = False
    abstract: ClassVar[bool] = True
    works_with: ClassVar[tuple[str, ...]] = ()
    off_policy: ClassVar[bool] = False
    requires: ClassVar[str] = ""
    pending: ClassVar[tuple[str, ...]] = ("wait",)
    verdicts: ClassVar[tuple[str, ...]] = ()
    feedback: ClassVar[str] = ""
    randomness: ClassVar[str] = "none"
    cost_per_round: ClassVar[str] = ""

    if TYPE_CHECKING:  # else type checkers would want a subclass's State to derive from this State
        State: ClassVar[Any]
    else:

        class State:
            """The policy's state: empty, unless a subclass declares arrays."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Make the subclass a frozen dataclass; refuse a class that breaks the contract."""
        if kernel_signatures.is_restoring.get():
            return
        # Fields are checked afterwards, since `dataclass` itself accepts any default and type.
        dataclass(frozen=True, repr=False)(cls)
        cls.abstract = abstract
        for item in parameter_fields(cls):
            _check_parameter(cls, item)
        if not hasattr(cls, "setting"):  # a base class for several settings
            return
        # The base class of a setting gets `works_with` and `learner`, which its policies inherit.
        if "setting" in vars(cls):
            cls.works_with = cls.setting.modes
            if cls.learner_class is not None:
                learner_method = make_learner_method(cls.setting, cls.learner_class, cls)
                cls.learner = learner_method  # type: ignore[method-assign]
        for name in cls.needs:
            validation.check_choice(f"{cls.__name__}.needs", name, cls.setting.facts)
        kernel_signatures.check_functions(cls, (*POLICY_KERNELS, IMPUTE), Policy, abstract=abstract)
        pending_mode_inference.check_declared_modes(cls)
        if not abstract:
            check_verdicts(cls)
            cls.check_kernels()

    def learner(self, *unnamed: Any, **facts: Any) -> Any:
        """Return a learner; the arguments depend on the setting's known quantities."""
        raise TypeError(
            f"policies of the setting {self.setting.name!r} have no learner: their base class must "
            "name the class of learners as learner_class"
        )

    @classmethod
    def traits(cls) -> dict[str, str]:
        """Return the properties that catalog and documentation print, by heading."""
        quantities = ", ".join(cls.setting.argument_names(cls.needs))
        if "horizon" not in cls.needs:
            quantities += "; needs no horizon (anytime)"
        secrets = [name for name in cls.needs if cls.oracle and name != "horizon"]
        if secrets:
            quantities += f"; unknown in practice: {' and '.join(secrets)}"
        pending = ", ".join(cls.pending)
        if reason := pending_mode_inference.reason_to_wait(cls):
            pending += f" ({reason})"
        traits = {
            "known quantities": quantities,
            "feedback": cls.feedback,
            "randomness": cls.randomness,
            "cost per round": cls.cost_per_round,
            "pending decisions": pending,
            "verdicts": ", ".join(cls.verdicts),
        }
        return {heading: text for heading, text in traits.items() if text}

    @classmethod
    def check_kernels(cls) -> None:
        """Refuse kernels that name arguments or read fields that do not exist."""

        def remedy(name: str) -> str:
            return f"add {name!r} to `needs`" if name in cls.setting.facts else ""

        pending_mode_inference.infer_pending_modes(cls)
        signatures = POLICY_KERNELS
        if "impute" in pending_mode_inference.possible_modes(cls):
            signatures += (IMPUTE,)
        borrowed = cls.borrowed_kernels()
        kernel_signatures.check_kernels(cls, signatures, cls.input_fields(), borrowed, remedy)

    @classmethod
    def explain_waiting(cls) -> str:
        """Return why the policy waits although its class does not say so, and a remedy; or "".

        The policy waits if `select` writes state that `update`, `recommend` or a later `select`
        reads, since the policy would then learn feedback with the values of another decision. It
        also waits if the kernels cannot be analysed, and if neither the class nor its setting
        declares `pending`.
        """
        reason = pending_mode_inference.reason_to_wait(cls)
        return reason and (
            f"{cls.__name__} waits for the feedback of each decision: {reason}; "
            f"{pending_mode_inference.describe_remedy(cls)}"
        )

    @classmethod
    def borrowed_kernels(cls) -> tuple[str, ...]:
        """Return the names of functions that kernels may call: by default `helpers`."""
        return cls.helpers

    @classmethod
    def _check_parameter_names(cls, args: tuple[object, ...], values: Mapping[str, object]) -> None:
        """Refuse unknown and missing parameters before Python does, and name the allowed ones."""
        names = [item.name for item in parameter_fields(cls)]
        for name in values:
            if name not in names:
                expectation = f"{cls.__name__} has no parameters,"
                if names:
                    expectation = f"parameter of {cls.__name__} must be one of {', '.join(names)};"
                raise TypeError(f"{expectation} got {name!r}{validation.suggestion(name, names)}")
        for item in parameter_fields(cls)[len(args) :]:
            if item.default is MISSING and item.name not in values:
                raise TypeError(f"{cls.__name__} needs the parameter {item.name!r}")

    if not TYPE_CHECKING:  # type checkers take the arguments from the parameters

        def __new__(cls, *args, **values):
            """Return an instance, if the class has parameters of these names."""
            cls._check_parameter_names(args, values)
            return super().__new__(cls)

    def __reduce__(self) -> tuple[object, ...]:
        """Return how to pickle and copy a policy: by its class and its parameters."""
        # The class of a `WrapperPolicy` is made at run time, so pickle cannot find it by name.
        # `factory` returns the class as written in a module.
        values = {item.name: getattr(self, item.name) for item in parameter_fields(self)}
        return partial(self.factory(), **values), ()

    @classmethod
    def factory(cls) -> type[Self]:
        """Return the class that is called to make policies of this class: the class itself."""
        return cls

    def __post_init__(self) -> None:
        """Check the parameters and bring them to their declared type."""
        for item in parameter_fields(self):
            if isinstance(getattr(self, item.name), Policy):
                continue  # the base of a wrapper policy was checked when it was made
            convert = (
                validation.check_integer if item.type in (int, "int") else validation.check_number
            )
            value = convert(item.name, getattr(self, item.name), item.metadata["allowed"])
            object.__setattr__(self, item.name, value)

    def __repr__(self) -> str:
        """Return the call that makes this policy."""
        numbers = Policy.numbers(self).items()
        arguments = (f"{name}={_format_number(value)}" for name, value in numbers)
        return f"{type(self).__name__}({', '.join(arguments)})"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name, as plain numbers for TOML or JSON.

        `from_parameters` makes an equal policy from them.
        """
        return self.numbers()

    def numbers(self) -> dict[str, Any]:
        """Return the parameters as kernels read them, by name."""
        return {item.name: getattr(self, item.name) for item in parameter_fields(self)}

    @classmethod
    def from_parameters(cls, values: Mapping[str, Any]) -> Self:
        """Make a policy from parameters by name; parameters with a default may be missing."""
        return cls(**values)

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the known quantities of the policy by name, checked.

        A subclass may refuse values with which it does not work. In `values`, None stands for a
        quantity that is not known.
        """
        facts = self.setting.check(self.needs, values)
        if self.setting.mode:
            feedback = self.setting.modes[facts[self.setting.mode]]
            if feedback not in self.works_with:
                allowed = " or ".join(map(repr, self.works_with))
                raise ValueError(f"feedback must be {allowed} for {self}, got {feedback!r}")
        return facts

    @classmethod
    def facts_of(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts that follow from arguments of `learner`; by default the arguments."""
        return dict(arguments)

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning about facts or a problem for which the policy is not made; or "".

        `facts` are those that `check_facts` returns, and in a simulation the ``horizon``, even if
        the policy does not know it. For a learner, `problem` is None.
        """
        return ""

    @property
    def beta_prior(self) -> tuple[float, float] | None:
        """The shapes of the beta prior of each arm's mean; None if the policy has no posterior.

        A reward x adds x to the first shape and 1 - x to the second. Studies then show the chance
        of each arm to be the best (`Study.best_chances`).
        """
        return None

    def guarantee(self) -> Guarantee:
        """Return the promise of a policy that can stop; a class with `verdicts` overrides this."""
        raise TypeError(f"{type(self).__name__} has verdicts and must define guarantee")

    def wrong_verdicts(self, problem: Any) -> NDArray[np.bool_]:
        """Return which verdicts break the guarantee on a problem, shape (arms, verdicts).

        Simulations count wrong verdicts. A class with `verdicts` overrides this method.
        """
        raise TypeError(f"{type(self).__name__} has verdicts and must define wrong_verdicts")

    def describe(self, learner: Any) -> list[str]:
        """Return what a learner of this policy has learnt, as lines of text.

        By default these are the pulls and the mean of each arm if the state has `pulls` and
        `totals`, and otherwise all arrays of the state. If `has_plain_counts`, each line has an
        interval that contains the arm's true mean at all times at once, with 95 % confidence for
        each arm.

        A policy may override this. `learner.state` has the arrays of its state by name, and
        `learner.facts` the known quantities, both with rewards from 0 to 1. `learner.scale` has the
        units in which rewards are shown. Arms are numbers here, also in the results of the
        learner's methods. If arms have names, "arm 3" in a line is replaced by the name of arm 3.

        Parameters
        ----------
        learner : Learner
            A learner of this policy.

        Returns
        -------
        list of str
            The lines; the first ten are shown when the learner is printed.
        """
        state = learner.state
        if not {"pulls", "totals"} <= state.keys():
            return [f"{name}: {value}" for name, value in state.items()]
        has_interval = self.has_plain_counts(learner)
        return format_arm_means(
            state["pulls"], state["totals"], learner.scale, has_interval=has_interval
        )

    def has_plain_counts(self, learner: Any) -> bool:
        """Return whether each arm's rewards have one mean, and `pulls` counts all rounds told.

        A policy that forgets or discounts has fewer pulls, and no interval is known for it.
        """
        pulls = float(learner.state["pulls"].sum())
        return self.setting.fixed_means and pulls == learner.rounds_told

    def refusal(self, where: str, decision: str = "") -> str:
        """Return the error message about a decision that is not allowed."""
        if self.requires:
            return f"{self} needs {self.requires}: not so in {where}"
        if decision:
            decision = f" ({decision})"
        return f"{self} took a decision that the setting does not allow{decision}, in {where}"

    @classmethod
    def input_fields(cls) -> dict[str, Field]:
        """Return the fields of `p`: the parameters, then the known quantities."""
        parameters = {
            item.name: Field("int64" if item.type in (int, "int") else "float64")
            for item in parameter_fields(cls)
        }
        return parameters | {n: f.field for n, f in cls.setting.known_quantities(cls.needs).items()}


def _check_parameter(cls: type, item: dataclasses.Field[object]) -> None:
    """Refuse a parameter that is not made with `parameter`, or is not annotated int or float."""
    name = f"{cls.__name__}.{item.name}"
    if "allowed" not in item.metadata:
        got = "no value" if item.default is MISSING else repr(item.default)
        raise TypeError(f"{name} must be made with parameter(...), got {got}")
    # The base of a `WrapperPolicy` is annotated with a class of policies. In a module with
    # `from __future__ import annotations`, annotations are strings. Any string is accepted, since
    # strings are not looked up here.
    is_policy_class = isinstance(item.type, type) and issubclass(item.type, Policy)
    if not (is_policy_class or isinstance(item.type, str) or item.type in (int, float)):
        raise TypeError(f"{name} must be annotated int or float, got {item.type!r}")


def _format_number(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return repr(int(value))
    return repr(value)


class IndexPolicy(Policy, abstract=True):
    """A policy that pulls the arm with the largest index, which a formula gives.

    A subclass writes one kernel, ``index(p, pulls, total)``: it returns the index of an arm that
    has been pulled `pulls` times (at least once) with rewards that sum to `total`. Every arm is
    pulled once, in order. After that the arm with the largest index is pulled; among equal indices
    the lowest number wins. If the smallest index should win, the kernel returns the negative of its
    formula.

    An arm's index may depend only on the arm's own pulls and rewards. A round then changes one
    index, and its cost grows at most with the logarithm of the number of arms.
    """

    helpers: ClassVar[tuple[str, ...]] = ("index",)
    helper_arguments = MappingProxyType({"index": ("p", "pulls", "total")})
    off_policy: ClassVar[bool] = True
    arms: ClassVar[int]  # a known quantity, for type checkers

    class State:
        """Pulls and summed rewards of each arm, and the negative of its index."""

        pulls = float_array("arms")
        totals = float_array("arms")
        # Negative, since the tree finds the smallest key.
        index = argmin_tree_array("arms")

    def init(p, s: State) -> None:
        """Give every arm an infinite index, so that arms without pulls come first."""
        argmin_tree_fill(s.index, p.arms, -math.inf)

    def select(p, s: State) -> int:
        """Return the arm with the largest index."""
        return argmin_tree_find(s.index, p.arms)

    def update(p, s: State, arm: int, reward: float, index: Kernel) -> None:
        """Count the pull and renew the arm's index."""
        pulls = s.pulls[arm] + 1.0
        total = s.totals[arm] + reward
        s.pulls[arm] = pulls
        s.totals[arm] = total
        argmin_tree_update(s.index, p.arms, arm, -index(p, pulls, total))
