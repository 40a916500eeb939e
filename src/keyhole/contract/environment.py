"""The world's side of the contract: what comes back, and what it was worth."""

from abc import ABC, abstractmethod
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar, Final

from keyhole.contract.kernel_signatures import ENVIRONMENT, check_functions, check_kernels
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import declared_fields
from keyhole.metric import Metric
from keyhole.validate import check_distinct, short_repr

PER_ROUND: Final = ("horizon", "memory")
"""What a simulation says to policies and worlds under these names: how many rounds a run has.

The first is knowledge; the second is how long the arrays are that need one entry a round, which
is longer with every round where there is no horizon.
"""


class Environment:
    """What answers a policy's decisions, and knows the truth.

    The truth is described by class attributes made with `integer`, `number`, `float_array` and
    `int_array`, the world's own state by those of the nested class `State`. Kernels are written as
    a policy's are (see `keyhole.contract.policy.Policy`) and name what they need: ``e`` (the
    truth), ``s`` (the state), ``rng`` (the environment's stream), ``t`` (the round, from 1), and
    the words of the setting.

    ``init`` prepares the state; ``observe`` returns the context, where the setting has one;
    ``respond`` returns the feedback to a decision; ``score(e, s, t, <report>, metrics)`` fills
    each of the class's `metrics` at a checkpoint, by name: ``metrics.regret[0] = s.regret[0]``,
    and ``metrics.pulls[arm]`` where there is one for each arm. A metric that grows round by round
    is summed in the state by `respond`. Only `respond`'s return value reaches a policy.

    A world that declares ``horizon = integer()`` is told how many rounds the run has; ``memory``,
    for the shapes of arrays, is the same number.
    """

    setting: ClassVar[Setting]
    metrics: ClassVar[tuple[Metric, ...]]
    helpers: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # or else a subclass could only have a State that derives from this one
        State: ClassVar[Any]
    else:

        class State:
            """What the world remembers: nothing, unless a subclass says otherwise."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Refuse a class that breaks the grammar (see `keyhole.contract.kernel_signatures`)."""
        check_functions(cls, ENVIRONMENT, Environment, abstract=abstract)
        if not abstract:
            check_kernels(cls, ENVIRONMENT, declared_fields(cls), cls.helpers, lambda name: "")


class Problem(ABC):
    """An instance of a setting: what is true, checked.

    A setting of your own derives from it, and names its setting and its world::

        class Problem(keyhole.policy.Problem):
            setting = SLEEPING
            world = Sleepers

            def truth(self):
                return {"arms": 2, "means": [0.2, 0.8]}

    Facts that policies are told are its attributes, unless `fact` says otherwise.
    """

    rounds: int | None = None
    """How many rounds there are at most, where a sequence is replayed; None for any number."""

    @property
    @abstractmethod
    def setting(self) -> Setting:
        """Its setting."""

    @property
    @abstractmethod
    def environment(self) -> type[Environment]:
        """The kernels that answer decisions."""

    @property
    def arms(self) -> int:
        """How many arms."""
        return int(self.truth()["arms"])

    @abstractmethod
    def truth(self) -> dict[str, Any]:
        """Return what the world reads; no policy sees it.

        Returns
        -------
        dict
            The values of what the world declares, by name (all but those of `PER_ROUND`).
        """

    def fact(self, name: str) -> Any:
        """Return what a policy may be told under this name (all but those of `PER_ROUND`)."""
        return getattr(self, name)

    def resized(self, arms: int) -> "Problem | None":
        """Return a problem like this one with so many arms, for tests; None if there is none."""
        return None


def with_metric_names(environment: type[Environment]) -> tuple[Metric, ...]:
    """Return what a world measures, details last.

    Raises
    ------
    TypeError
        If it is not declared as metrics.
    ValueError
        If a name cannot stand in a kernel, or stands twice.
    """
    for i, metric in enumerate(environment.metrics):
        where = f"{environment.__qualname__}.metrics[{i}]"
        if not isinstance(metric, Metric):
            raise TypeError(f"{where} must be a keyhole.Metric, got {short_repr(metric)}")
        if not metric.name.isidentifier() or iskeyword(metric.name) or metric.name[0] == "_":
            raise ValueError(f"{where}.name must be a name in Python, got {metric.name!r}")
    check_distinct(
        f"{environment.__qualname__}.metrics", [metric.name for metric in environment.metrics]
    )
    return tuple(sorted(environment.metrics, key=lambda metric: metric.detail))


def metrics_for(problem: Problem, *, details: bool) -> tuple[Metric, ...]:
    """Return what is measured in a problem, arm by arm, in the order in which it is kept.

    Parameters
    ----------
    problem : Problem
        The instance.
    details : bool
        Whether to take what is kept on request alone.

    Returns
    -------
    tuple of Metric
        Those taken for each arm are called ``pulls[0]``, ``pulls[1]``, ...
    """
    found: list[Metric] = []
    for metric in with_metric_names(problem.environment):
        if details or not metric.detail:
            arms = range(int(problem.fact("arms"))) if metric.per_arm else ()
            found += [metric.of(arm) for arm in arms] if metric.per_arm else [metric]
    return tuple(found)


def true_values(problem: Problem, horizon: int | None) -> dict[str, Any]:
    """Return the values of everything that a problem's world declares, in one run.

    Parameters
    ----------
    problem : Problem
        The instance.
    horizon : int, optional
        Rounds of the run.

    Returns
    -------
    dict
        By name.

    Raises
    ------
    TypeError
        If the world wants to be told the horizon, and it is not given.
    """
    truth = problem.truth()
    if declared_fields(problem.environment).keys().isdisjoint(PER_ROUND):
        return truth
    if horizon is None:
        raise TypeError("horizon must be given: what happens in this problem depends on it")
    return truth | dict.fromkeys(PER_ROUND, horizon)
