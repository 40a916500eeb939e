"""Base classes of problems (instances of a setting) and of environments, which simulate them."""

from abc import ABC, abstractmethod
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, Final

from keyhole.contract import kernel_signatures
from keyhole.contract.arm_names import name_text
from keyhole.contract.kernel_signatures import ENVIRONMENT_KERNELS
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import declared_fields
from keyhole.metric import Metric
from keyhole.validation import check_distinct, short_repr


class Environment:
    """The compiled simulator of a problem, which answers each decision with feedback.

    The *truth*, such as the means, is declared by class attributes made with `int_input`,
    `float_input`, `float_array` and `int_array`. The nested class `State` declares the
    environment's own state. Kernels are written as for a policy (see
    `keyhole.contract.policy.Policy`). They may name ``e`` (the truth), ``s`` (the state), ``rng``
    (the environment's random stream), ``t`` (the round, from 1), and the values of the setting.

    ``init`` prepares the state. ``observe`` returns the context, if the setting has one.
    ``respond`` returns the feedback to a decision. ``score(e, s, t, <report>, metrics)`` fills
    each of the class's `metrics` at a checkpoint, by name: ``metrics.regret[0] = s.regret[0]``, or
    ``metrics.pulls[arm]`` for a metric of each arm. For <report> write the names of the values that
    the setting's policies recommend. If a metric grows round by round, `respond` sums it in the
    state. A policy learns nothing but the result of `respond`.

    An environment that declares ``horizon = int_input()`` knows how many rounds the run has.
    ``memory = int_input()`` is the same number, meant as a length of arrays.
    """

    setting: ClassVar[Setting]
    metrics: ClassVar[tuple[Metric, ...]]
    helpers: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # else type checkers would want a subclass's State to derive from this State
        State: ClassVar[Any]
    else:

        class State:
            """The environment's state: empty, unless a subclass declares arrays."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Refuse a class that breaks the contract (see `keyhole.contract.kernel_signatures`)."""
        if kernel_signatures.is_restoring.get():
            return
        kernel_signatures.check_functions(cls, ENVIRONMENT_KERNELS, Environment, abstract=abstract)
        if not abstract:
            kernel_signatures.check_kernels(
                cls, ENVIRONMENT_KERNELS, declared_fields(cls), cls.helpers, remedy=lambda name: ""
            )


def checked_metrics(environment: type[Environment]) -> tuple[Metric, ...]:
    """Return the metrics of an environment; those that are kept on request only come last.

    Raises
    ------
    TypeError
        If a metric is not made with `Metric`.
    ValueError
        If a name is not an identifier, is a keyword, begins with ``_``, or is used twice.
    """
    for i, metric in enumerate(environment.metrics):
        field = f"{environment.__qualname__}.metrics[{i}]"
        if not isinstance(metric, Metric):
            raise TypeError(f"{field} must be a keyhole.Metric, got {short_repr(metric)}")
        if not metric.name.isidentifier() or iskeyword(metric.name) or metric.name[0] == "_":
            raise ValueError(f"{field}.name must be a public name in Python, got {metric.name!r}")
    check_distinct(
        f"{environment.__qualname__}.metrics", [metric.name for metric in environment.metrics]
    )
    return tuple(sorted(environment.metrics, key=lambda metric: metric.detail))


ROUND_COUNT_NAMES: Final = ("horizon", "memory")
"""The names under which policies and environments get the number of rounds of a run.

The horizon is a known quantity. The memory is the length of arrays with one entry for each round.
In a learner without a horizon the memory grows.
"""


class Problem(ABC):
    """An instance of a setting, such as arms with given means, and the class that simulates it.

    A problem of your own setting derives from this class, and names its setting and environment::

        class Problem(keyhole.policy.Problem):
            setting = SLEEPING
            environment = Sleepers

            def truth(self):
                return {"arms": 2, "means": [0.2, 0.8]}

    By default, each known quantity (fact) is the attribute of the same name: see `fact`.
    """

    rounds: int | None = None
    """The largest number of rounds, if a sequence is replayed; None if there is no limit."""
    arm_names: tuple[Any, ...] | None = None
    """The names of the arms, with different texts; None if arms have only numbers.

    The names of an arm's metrics contain the arm's name. No simulated value depends on arms' names.
    """

    @property
    @abstractmethod
    def setting(self) -> Setting:
        """The setting of the problem."""

    @property
    @abstractmethod
    def environment(self) -> type[Environment]:
        """The environment class: the kernels that answer decisions."""

    @property
    def arms(self) -> int:
        """The number of arms."""
        return int(_checked_truth(self)["arms"])

    @abstractmethod
    def truth(self) -> dict[str, Any]:
        """Return the inputs of the environment; no policy sees them.

        Returns
        -------
        dict
            The values by name of all inputs that the environment declares, except
            `ROUND_COUNT_NAMES`.
        """

    def fact(self, name: str) -> Any:
        """Return a known quantity by its name; the name is none of `ROUND_COUNT_NAMES`."""
        return getattr(self, name)

    def resized(self, arms: int) -> "Problem | None":
        """Return a similar problem with `arms` arms, for tests; None if there is none."""
        return None


def metrics_for(problem: Problem, *, details: bool) -> tuple[Metric, ...]:
    """Return a problem's metrics in the order of storage; a `per_arm` metric becomes one per arm.

    Parameters
    ----------
    problem : Problem
        The instance.
    details : bool
        Whether to include the metrics that are kept on request only.

    Returns
    -------
    tuple of Metric
        Metrics of each arm have the names ``pulls[0]``, ``pulls[1]``, ..., or ``pulls[red]``, ...
        if arms have names.
    """
    metrics: list[Metric] = []
    for metric in checked_metrics(problem.environment):
        if metric.detail and not details:
            continue
        if not metric.per_arm:
            metrics.append(metric)
        elif problem.arm_names is None:
            metrics += map(metric.of, range(int(problem.fact("arms"))))
        else:
            metrics += map(metric.of, map(name_text, problem.arm_names))
    return tuple(metrics)


def environment_inputs(problem: Problem, horizon: int | None) -> dict[str, Any]:
    """Return the values of all inputs that a problem's environment declares, for one run.

    Parameters
    ----------
    problem : Problem
        The instance.
    horizon : int, optional
        The number of rounds of the run.

    Returns
    -------
    dict
        The values by name.

    Raises
    ------
    TypeError
        If the environment declares `horizon` or `memory`, and `horizon` is not given.
    ValueError
        If the problem's `truth` lacks an input, or has one that is not of the declared type.
    """
    truth = _checked_truth(problem)
    if declared_fields(problem.environment).keys().isdisjoint(ROUND_COUNT_NAMES):
        return truth
    if horizon is None:
        raise TypeError("horizon must be given: this problem depends on it")
    return truth | dict.fromkeys(ROUND_COUNT_NAMES, horizon)


_NUMBER_TEXTS: Final = {"int64": "a whole number in [-2**63, 2**63)", "float64": "a number"}


def _checked_truth(problem: Problem) -> dict[str, Any]:
    """Return a problem's truth; refuse an input that is missing or not of its declared type."""
    truth = problem.truth()
    for name, field in declared_fields(problem.environment).items():
        if name in ROUND_COUNT_NAMES:
            continue
        title = f"{type(problem).__qualname__}.truth()[{name!r}]"
        if field.shape:
            title = f"each entry of {title}"
        expectation = f"{title} must be {_NUMBER_TEXTS[field.dtype]}"
        if name not in truth:
            raise ValueError(f"{expectation}; the input is missing")
        if not field.can_hold(truth[name]):
            raise ValueError(f"{expectation}, got {short_repr(truth[name])}")
    return truth
