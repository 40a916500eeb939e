"""Problems as environments of Gymnasium, so that agents written for it can take the decisions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keyhole import delayed, resource, semibandit, stochastic, threshold, thresholding
from keyhole.contract.problem import Problem, metrics_for
from keyhole.extras import require_extra
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.semibandit.setting import clip_to_budget
from keyhole.validate import Range, check_integer, check_seed, short_repr

require_extra("gymnasium", "keyhole.gymnasium_environment")

import gymnasium  # noqa: E402  (after the check that it is installed)
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space  # noqa: E402
from gymnasium.spaces import Tuple as TupleSpace  # noqa: E402

Observation = dict[str, Any]
_LONGEST: Final = 2**40


@dataclass(frozen=True)
class _Translation:
    """How the actions and observations of a problem translate into decisions and feedback."""

    feedback: Mapping[str, Space[Any]]
    reward: Callable[[Mapping[str, Any], Mapping[str, Any]], float]
    """The reward of a decision and its feedback, as one who sees only these can compute it."""
    decide: Callable[[Any], Mapping[str, Any]] = lambda action: {"arm": int(action)}
    """The decision of an action."""
    observe: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda feedback: feedback
    """The values of the spaces of feedback."""
    actions: Space[Any] | None = None
    """By default the arms."""


class GymnasiumEnvironment(gymnasium.Env[Observation, Any]):
    """A problem of any of Keyhole's settings as an environment of Gymnasium.

    A step is a round, an episode `horizon` rounds. The n-th episode after ``reset(seed=s)`` has the
    random numbers of replication n - 1 of ``keyhole.simulate(..., seed=s)``: equal decisions have
    equal feedback.

    =============  =========================  ========================================  ==========
    setting        action                     observation                               reward
    =============  =========================  ========================================  ==========
    stochastic     arm                        reward                                    reward
    thresholding   arm                        reward                                    reward
    threshold      arm                        value; threshold of the next round        0 or 1
    delayed        arm                        total, or totals and counts by arm        total
    semibandit     amount for each arm        losses                                    less losses
    resource       arm and limit              reward, consumption, exceeded             gain
    =============  =========================  ========================================  ==========

    An action of `semibandit` whose amounts exceed the resource together stands for amounts that are
    smaller by a common factor, so that they fit. One of `resource` is the numbers of arm and limit;
    where all limits are allowed, arm and share of the largest limit. The reward of `threshold` is 1
    if the sample is known to reach the threshold; that of `resource` the run's reward less the cost
    of its consumption, or minus the penalty if it exceeded its limit. In the delayed setting it is
    the sum of the rewards that arrive in the round.

    Parameters
    ----------
    problem : Problem
        A problem of one of these settings.
    horizon : int
        The rounds of an episode, from 1 to 2**40; it is then truncated.
    with_regret : bool, default False
        Whether ``info["regret"]`` has the cumulative regret so far, which an agent must not use.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or the setting has no regret of its decisions.

    Examples
    --------
    >>> from keyhole.delayed import Poisson, Problem
    >>> environment = GymnasiumEnvironment(Problem([0.3, 0.7], Poisson(5)), horizon=100)
    >>> seen, _ = environment.reset(seed=1)
    >>> for _ in range(3):
    ...     seen, reward, terminated, truncated, _ = environment.step(1)
    >>> seen["total"].shape, truncated
    ((1,), False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (declared by Gymnasium)
    observation_space: Dict

    def __init__(self, problem: Problem, *, horizon: int, with_regret: bool = False) -> None:
        if not isinstance(problem, Problem) or problem.setting.name not in _TRANSLATIONS:
            listed = ", ".join(_TRANSLATIONS)
            raise TypeError(
                f"problem must be of one of the settings {listed}; got {short_repr(problem)}"
            )
        self._problem = problem
        largest = problem.rounds or _LONGEST
        self._horizon = check_integer("horizon", horizon, Range(ge=1, le=largest))
        self._with_regret = with_regret
        if with_regret and "regret" not in [m.name for m in metrics_for(problem, details=False)]:
            raise ValueError(
                f"with_regret must be False in the setting {problem.setting.name!r}, whose regret "
                "is not that of its decisions"
            )
        self._translation = translation = _TRANSLATIONS[problem.setting.name](problem)
        arms = Discrete(problem.arms)
        self.action_space = arms if translation.actions is None else translation.actions
        context = {
            name: Discrete(getattr(problem, "levels"), start=1)  # noqa: B009 (of one setting)
            for name in problem.setting.context
        }
        self.observation_space = Dict({**translation.feedback, **context})
        self._seed: int | None = None
        self._episode = 0
        self._played: InteractiveEnvironment | None = None
        self._is_over = True
        self._context: Observation = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; return an observation without feedback, all of whose numbers are 0.

        Parameters
        ----------
        seed : int, optional
            From 0, below 2**63. Without it, the next replication of the last seed; a first episode
            takes a random one.
        options : dict, optional
            There are none.
        """
        super().reset(seed=seed)
        if seed is None and self._seed is not None:
            self._episode += 1
        else:
            fresh = int(self.np_random.integers(2**63)) if seed is None else seed
            self._seed = check_seed(fresh)
            self._episode = 0
        self._played = InteractiveEnvironment(
            self._problem, seed=self._seed, replication=self._episode, horizon=self._horizon
        )
        self._is_over = False
        self._begin_round(self._played)
        empty = {name: _element(space, 0) for name, space in self._translation.feedback.items()}
        return {**empty, **self._context}, {"regret": 0.0} if self._with_regret else {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play a round; return observation, reward, False, whether it was the last, and info.

        Raises
        ------
        RuntimeError
            If the episode has not begun or is over.
        ValueError
            If the action is not in the action space.
        """
        played = self._played
        if played is None or self._is_over:
            raise RuntimeError("the episode has not begun or is over: call reset()")
        if not self.action_space.contains(action):
            raise ValueError(f"action must lie in {self.action_space}, got {action!r}")
        decision = self._translation.decide(action)
        feedback = played.respond(decision)
        values = self._translation.observe(feedback)
        spaces = self._translation.feedback
        observation = {name: _element(space, values[name]) for name, space in spaces.items()}
        reward = self._translation.reward({**decision, **self._context}, feedback)
        # Regret does not depend on a recommendation, but the kernel needs a limit that exists.
        report = {"best_limit": decision.get("limit")}
        info = {"regret": played.score(report)["regret"]} if self._with_regret else {}
        self._is_over = played.rounds == self._horizon
        if not self._is_over:
            self._begin_round(played)
        return {**observation, **self._context}, reward, False, self._is_over, info

    def _begin_round(self, played: InteractiveEnvironment) -> None:
        self._context = {name: np.int64(view[()]) for name, view in played.observe().items()}


def _element(space: Space[Any], value: Any) -> Any:
    """Return a value, or as many equal ones, as an element of a space of feedback."""
    if isinstance(space, Discrete):
        return np.int64(value)
    return np.full(space.shape, value, np.float64)


def _box(high: float, *, count: int = 1) -> Box:
    return Box(0.0, high, (count,), np.float64)


def _rewards(problem: Problem) -> _Translation:
    return _Translation(
        feedback={"reward": _box(1.0)},
        reward=lambda decision, feedback: float(feedback["reward"]),
    )


def _threshold(problem: Any) -> _Translation:
    return _Translation(
        feedback={"value": Discrete(problem.levels + 1)},
        reward=lambda decision, feedback: float(feedback["value"] >= decision["threshold"]),
    )


def _delayed(problem: Any) -> _Translation:
    arms = problem.arms

    def by_arm(feedback: Mapping[str, Any]) -> Observation:
        count = int(feedback["count"])
        sources = feedback["sources"][:count]
        return {
            "totals": np.bincount(sources, feedback["rewards"][:count], arms),
            "counts": np.bincount(sources, minlength=arms),
        }

    named = {name: _box(np.inf, count=arms) for name in ("totals", "counts")}
    return _Translation(
        feedback=named if problem.named else {"total": _box(np.inf)},
        reward=lambda decision, feedback: float(feedback["total"]),
        observe=by_arm if problem.named else lambda feedback: feedback,
    )


def _semibandit(problem: Any) -> _Translation:
    def decide(action: Any) -> dict[str, Any]:
        amounts = np.array(action, np.float64)
        clip_to_budget(amounts, len(amounts), problem.resource)
        return {"allocation": amounts}

    return _Translation(
        actions=_box(1.0, count=problem.arms),
        feedback={"losses": _box(1.0, count=problem.arms)},
        reward=lambda decision, feedback: -float(feedback["losses"].sum()),
        decide=decide,
    )


def _resource(problem: Any) -> _Translation:
    longest = float(problem.limits[-1])

    def decide(action: Any) -> dict[str, Any]:
        arm, limit = action
        value = float(limit[0]) * longest if problem.continuous else float(problem.limits[limit])
        return {"arm": int(arm), "limit": value}

    def gain(decision: Mapping[str, Any], feedback: Mapping[str, Any]) -> float:
        if feedback["exceeded"]:
            return -float(problem.penalty(decision["limit"]))
        return float(feedback["reward"] - problem.cost(feedback["consumption"]))

    actions: Space[Any] = MultiDiscrete([problem.arms, len(problem.limits)])
    if problem.continuous:
        # A limit is above 0.
        actions = TupleSpace([Discrete(problem.arms), Box(2.0**-53, 1.0, (1,), np.float64)])
    spaces = {"reward": _box(1.0), "consumption": _box(longest), "exceeded": Discrete(2)}
    return _Translation(spaces, reward=gain, decide=decide, actions=actions)


_TRANSLATIONS: Final[dict[str, Callable[[Any], _Translation]]] = {
    stochastic.SETTING.name: _rewards,
    thresholding.SETTING.name: _rewards,
    threshold.SETTING.name: _threshold,
    delayed.SETTING.name: _delayed,
    semibandit.SETTING.name: _semibandit,
    resource.SETTING.name: _resource,
}
