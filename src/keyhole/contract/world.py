"""The world's side of the contract: what comes back, and what it was worth."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from keyhole.contract.memory import Field
from keyhole.contract.setting import Setting

PER_ROUND: Final = ("horizon", "memory")
"""What a simulation says to policies and worlds under these names: how many rounds a run has.

The first is knowledge; the second is how long the arrays are that need one entry a round, which
is longer with every round where there is no horizon.
"""


class World:
    """What answers a policy's decisions, and knows the truth.

    The truth is described by class attributes made with `whole`, `real`, `per` and `counts`, the
    world's own state by those of the nested class `State`. Kernels are written as a policy's are
    (see `keyhole.contract.policy.Policy`) and name what they need: ``e`` (the truth), ``s`` (the
    state), ``rng`` (the world's stream), ``t`` (the round, from 1), and the words of the setting.

    ``init`` prepares the state; ``observe`` returns the context, where the setting has one;
    ``respond`` returns the feedback to a decision; ``score(e, s, t, <report>, metrics)`` writes
    one number for each metric at a checkpoint: first `metrics`, then `details`, which are kept on
    request alone, then for each of `by_arm` one number an arm. A metric that grows round by round
    is summed in the state by `respond`. Only `respond`'s return value reaches a policy. `words`
    says what a metric is called in figures where that differs from setting to setting, `shares`
    which metrics are 0 or 1, so that their mean is a share of the replications.

    A world that declares ``horizon = whole()`` is told how many rounds the run has; ``memory``,
    for the shapes of arrays, is the same number.
    """

    setting: ClassVar[Setting]
    metrics: ClassVar[tuple[str, ...]]
    details: ClassVar[tuple[str, ...]] = ()
    by_arm: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Mapping[str, str]] = {}
    shares: ClassVar[tuple[str, ...]] = ()
    helpers: ClassVar[tuple[str, ...]] = ()

    class State:
        """What the world remembers: nothing, unless a subclass says otherwise."""


class Problem(Protocol):
    """An instance of a setting: what `keyhole.simulate` needs of it.

    One that ends, because it replays a sequence, says after how many rounds in an attribute
    `rounds`; a longer horizon is refused.
    """

    @property
    def setting(self) -> Setting:
        """Its setting."""

    @property
    def world(self) -> type[World]:
        """The kernels that answer decisions."""

    def truth(self) -> dict[str, Any]:
        """Return the values of what the world declares, by name (all but those of `PER_ROUND`)."""

    def fact(self, name: str) -> Any:
        """Return a fact of the setting (all but those of `PER_ROUND`)."""


def metrics_of(problem: Problem, *, details: bool) -> tuple[str, ...]:
    """Return the names of what is measured in a problem, in the order in which `score` writes.

    Parameters
    ----------
    problem : Problem
        The instance.
    details : bool
        Whether to go beyond the world's `metrics`. What is taken for each arm is called
        ``pulls[0]``, ``pulls[1]``, ...

    Returns
    -------
    tuple of str
        The names.
    """
    world = problem.world
    if not details:
        return world.metrics
    arms = range(int(problem.fact("arms"))) if world.by_arm else ()
    each = tuple(f"{name}[{arm}]" for name in world.by_arm for arm in arms)
    return (*world.metrics, *world.details, *each)


def declared(cls: type) -> dict[str, Field]:
    """Return the arrays that a class declares with `per`, `counts` and the like, bases first.

    Parameters
    ----------
    cls : type
        A world, or the nested class `State` of a policy or a world.

    Returns
    -------
    dict of str to Field
        In the order of declaration.
    """
    found: dict[str, Field] = {}
    for base in reversed(cls.__mro__):
        found |= {name: value for name, value in vars(base).items() if isinstance(value, Field)}
    return found


def truth_of(problem: Problem, horizon: int | None) -> dict[str, Any]:
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
    if declared(problem.world).keys().isdisjoint(PER_ROUND):
        return truth
    if horizon is None:
        raise TypeError("horizon must be given: what happens in this problem depends on it")
    return truth | dict.fromkeys(PER_ROUND, horizon)


def declared_state(owner: type) -> dict[str, Field]:
    """Return the arrays of the nested class `State`.

    Raises
    ------
    TypeError
        If one of its attributes is not made with `per`, `counts` or `keys`.
    """
    state: type = owner.State  # type: ignore[attr-defined]
    for base in state.__mro__[:-1]:
        for name, value in vars(base).items():
            if not name.startswith("__") and not isinstance(value, Field):
                raise TypeError(
                    f"{state.__qualname__}.{name} must be made with per, counts or keys, "
                    f"got {value!r}"
                )
    return declared(state)
