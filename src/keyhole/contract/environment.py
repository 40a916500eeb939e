"""Base class of environments, which simulate problems.

A problem gives the options (arms) with their chances; its environment draws what comes of the
choice in each round.
"""

from keyword import iskeyword
from typing import TYPE_CHECKING, Any, ClassVar

from keyhole.contract.kernel_signatures import (
    ENVIRONMENT_KERNELS,
    check_functions,
    check_kernels,
    is_restoring,
)
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import declared_fields
from keyhole.metric import Metric
from keyhole.validate import check_distinct, short_repr


class Environment:
    """The compiled simulator of a problem, which answers each decision with feedback.

    The truth (means, say) is described by class attributes made with `integer`, `number`,
    `float_array` and `int_array`, the environment's own state by those of the nested class `State`.
    Kernels are written as a policy's are (see `keyhole.contract.policy.Policy`) and name what they
    need: ``e`` (the truth), ``s`` (the state), ``rng`` (the environment's random stream), ``t``
    (the round, from 1), and the values of the setting.

    ``init`` prepares the state; ``observe`` returns the context, where the setting has one;
    ``respond`` returns the feedback to a decision; ``score(e, s, t, <report>, metrics)`` fills
    each of the class's `metrics` at a checkpoint, by name: ``metrics.regret[0] = s.regret[0]``,
    and ``metrics.pulls[arm]`` where there is one for each arm. A metric that grows round by round
    is summed in the state by `respond`. Only `respond`'s return value reaches a policy.

    An environment that declares ``horizon = integer()`` knows how many rounds the run has;
    ``memory``, for the shapes of arrays, is the same number.
    """

    setting: ClassVar[Setting]
    metrics: ClassVar[tuple[Metric, ...]]
    helpers: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:  # or else a subclass could only have a State that derives from this one
        State: ClassVar[Any]
    else:

        class State:
            """The environment's state: empty, unless a subclass declares arrays."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Refuse a class that breaks the contract (see `keyhole.contract.kernel_signatures`)."""
        if is_restoring.get():
            return
        check_functions(cls, ENVIRONMENT_KERNELS, Environment, abstract=abstract)
        if not abstract:
            check_kernels(
                cls, ENVIRONMENT_KERNELS, declared_fields(cls), cls.helpers, lambda name: ""
            )


def check_metrics(environment: type[Environment]) -> tuple[Metric, ...]:
    """Return the metrics of an environment, details last.

    Raises
    ------
    TypeError
        If one is not made with `Metric`.
    ValueError
        If a name is not an identifier, or is used twice.
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
