"""Problems as environments of Gymnasium, whose agents can then take the decisions."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.problem import Problem, metrics_for
from keyhole.extras import require_extra
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.semibandit.setting import clip_to_budget
from keyhole.validation import Range, check_integer, check_seed, short_repr

require_extra("gymnasium", "keyhole.gymnasium_environment")

import gymnasium  # noqa: E402  (after the check that it is installed)
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space  # noqa: E402
from gymnasium.spaces import Tuple as TupleSpace  # noqa: E402

Observation = dict[str, Any]
_MOST_ROUNDS: Final = 2**40
_SETTINGS: Final = (
    "stochastic", "thresholding", "threshold", "delayed", "semibandit", "resource",
)  # fmt: skip
_SMALLEST_SHARE: Final = 2.0**-53  # of the largest limit, since a limit must be above 0


class GymnasiumEnvironment(gymnasium.Env[Observation, Any]):
    """A problem of any of Keyhole's settings as an environment of Gymnasium.

    A step is a round, and an episode has `horizon` rounds. From ``reset(seed=s)`` on, the n-th
    episode has the random numbers of replication n - 1 of ``keyhole.simulate(..., seed=s)``, so
    equal decisions get equal feedback.

    =============  ====================  ========================================  ==============
    setting        action                observation                               reward
    =============  ====================  ========================================  ==============
    stochastic     arm                   reward                                    reward
    thresholding   arm                   reward                                    reward
    threshold      arm                   value; threshold of the next round        0 or 1
    delayed        arm                   total, or totals and counts by arm        total
    semibandit     amount for each arm   losses                                    minus losses
    resource       arm and limit         reward, consumption, exceeded             gain
    =============  ====================  ========================================  ==============

    If the amounts of an action of `semibandit` add up to more than the resource, they are reduced
    by a common factor until they fit. An action of `resource` is the number of the arm and the
    number of the limit. If limits are continuous, it is the number of the arm and a share of the
    largest limit. The reward of `threshold` is 1 if the sample is known to reach the threshold. The
    reward of `resource` is the run's reward minus the cost of its consumption, or minus the penalty
    if the run exceeded its limit. The reward of `delayed` is the sum of the rewards that arrive in
    the round.

    Parameters
    ----------
    problem : Problem
        A problem of one of these settings.
    horizon : int
        The number of rounds after which an episode is truncated, from 1 to 2**40.
    with_regret : bool, default False
        Whether ``info["regret"]`` has the cumulative regret so far. An agent must not use it.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or if `with_regret` is True in a setting that has no metric
        ``regret``.

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
        if not isinstance(problem, Problem) or problem.setting.name not in _SETTINGS:
            settings_text = ", ".join(_SETTINGS)
            raise TypeError(
                f"problem must be of one of the settings {settings_text}; got {short_repr(problem)}"
            )
        self._problem = problem
        most_rounds = problem.rounds or _MOST_ROUNDS
        self._horizon = check_integer("horizon", horizon, Range(ge=1, le=most_rounds))
        self._with_regret = with_regret
        if with_regret and "regret" not in [m.name for m in metrics_for(problem, details=False)]:
            raise ValueError(
                f"with_regret must be False in the setting {problem.setting.name!r}, which has no "
                "metric regret"
            )
        self.action_space = _make_action_space(problem)
        self._feedback_spaces: dict[str, Any] = _make_feedback_spaces(problem)
        context_spaces = {
            name: Discrete(getattr(problem, "levels"), start=1)  # noqa: B009 (of one setting)
            for name in problem.setting.context
        }
        self.observation_space = Dict({**self._feedback_spaces, **context_spaces})
        self._seed: int | None = None
        self._episode = 0
        self._simulation: InteractiveEnvironment | None = None  # while an episode is played
        self._context: Observation = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; return an observation (context, and 0 for feedback) and info.

        Parameters
        ----------
        seed : int, optional
            The seed, from 0, below 2**63. Without a seed, the episode is the next replication of
            the last seed, or has a random seed if it is the first episode.
        options : dict, optional
            Not used.
        """
        super().reset(seed=seed)
        if seed is None and self._seed is not None:
            self._episode += 1
        else:
            new_seed = int(self.np_random.integers(2**63)) if seed is None else seed
            self._seed = check_seed(new_seed)
            self._episode = 0
        self._simulation = InteractiveEnvironment(
            self._problem, seed=self._seed, replication=self._episode, horizon=self._horizon
        )
        self._begin_round(self._simulation)
        no_feedback = dict.fromkeys(self._feedback_spaces, 0)
        return self._make_observation(no_feedback), {"regret": 0.0} if self._with_regret else {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play a round; return observation, reward, False, whether it was the last round, and info.

        Raises
        ------
        RuntimeError
            If the episode has not begun or is over.
        ValueError
            If the action is not in the action space.
        """
        simulation = self._simulation
        if simulation is None:
            raise RuntimeError("the episode has not begun or is over: call reset()")
        if not self.action_space.contains(action):
            raise ValueError(f"action must lie in {self.action_space}, got {action!r}")
        decision = _read_action(self._problem, action)
        feedback = simulation.respond(decision)
        reward = _compute_reward(self._problem, {**decision, **self._context}, feedback)
        # The kernel `score` needs a limit that exists, although regret does not depend on it.
        report = {"best_limit": decision.get("limit")}
        info = {"regret": simulation.score(report)["regret"]} if self._with_regret else {}
        is_last = simulation.rounds == self._horizon
        if is_last:
            self._simulation = None
        else:
            self._begin_round(simulation)
        if "totals" in self._feedback_spaces:
            feedback = _sum_by_arm(feedback, self._problem.arms)
        return self._make_observation(feedback), reward, False, is_last, info

    def _begin_round(self, simulation: InteractiveEnvironment) -> None:
        self._context = {name: np.int64(view[()]) for name, view in simulation.observe().items()}

    def _make_observation(self, feedback: Mapping[str, Any]) -> Observation:
        """Return feedback as elements of its spaces, and the context of the next round."""
        observation = {
            name: np.full(space.shape, feedback[name], space.dtype)[()]
            for name, space in self._feedback_spaces.items()
        }
        return observation | self._context


def _box(high: float, count: int = 1) -> Box:
    return Box(0.0, high, (count,), np.float64)


def _make_action_space(problem: Any) -> Space[Any]:
    """Return the space of actions: see `GymnasiumEnvironment`."""
    if "allocation" in problem.setting.decision:
        return _box(1.0, problem.arms)
    if "limit" not in problem.setting.decision:
        return Discrete(problem.arms)
    if problem.continuous:
        return TupleSpace([Discrete(problem.arms), Box(_SMALLEST_SHARE, 1.0, (1,), np.float64)])
    return MultiDiscrete([problem.arms, len(problem.limits)])


def _read_action(problem: Any, action: Any) -> dict[str, Any]:
    """Return the decision for which an action stands."""
    if "allocation" in problem.setting.decision:
        amounts = np.array(action, np.float64)
        clip_to_budget(amounts, len(amounts), problem.resource)
        return {"allocation": amounts}
    if "limit" not in problem.setting.decision:
        return {"arm": int(action)}
    arm, limit = action
    if problem.continuous:
        return {"arm": int(arm), "limit": float(limit[0]) * float(problem.limits[-1])}
    return {"arm": int(arm), "limit": float(problem.limits[limit])}


def _make_feedback_spaces(problem: Any) -> dict[str, Space[Any]]:
    """Return the spaces of a problem's feedback by name."""
    if getattr(problem, "named", False):  # rewards arrive with the arms that earned them
        return {name: _box(np.inf, problem.arms) for name in ("totals", "counts")}
    largest_limit = float(getattr(problem, "limits", [1.0])[-1])
    spaces: dict[str, Space[Any]] = {
        "reward": _box(1.0),
        "total": _box(np.inf),
        "value": Discrete(getattr(problem, "levels", 0) + 1),
        "losses": _box(1.0, problem.arms),
        "consumption": _box(largest_limit),
        "exceeded": Discrete(2),
    }
    return {name: spaces[name] for name in problem.setting.feedback if name in spaces}


def _sum_by_arm(feedback: Mapping[str, Any], arms: int) -> dict[str, Any]:
    """Return the sum and the number of the rewards that arrived in a round, by arm."""
    count = int(feedback["count"])
    sources = feedback["sources"][:count]
    return {
        "totals": np.bincount(sources, feedback["rewards"][:count], arms),
        "counts": np.bincount(sources, minlength=arms),
    }


def _compute_reward(problem: Any, values: Mapping[str, Any], feedback: Mapping[str, Any]) -> float:
    """Return the reward of a round; `values` are the values of its decision and context."""
    if "losses" in feedback:
        return -float(feedback["losses"].sum())
    if "value" in feedback:
        return float(feedback["value"] >= values["threshold"])
    if "total" in feedback:
        return float(feedback["total"])
    if "exceeded" not in feedback:
        return float(feedback["reward"])
    if feedback["exceeded"]:
        return -float(problem.penalty(values["limit"]))
    return float(feedback["reward"] - problem.cost(feedback["consumption"]))
