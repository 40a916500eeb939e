"""Base classes of the policies for late rewards, and of the policies that play in phases."""

import math
from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

import numpy as np

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.reward_units import DIFFERENCE, Scale, format_arm_means
from keyhole.contract.state_arrays import declared_fields
from keyhole.delayed.learner import Learner, StudyVocabulary
from keyhole.delayed.setting import SETTING, Facts, Feedback
from keyhole.policy import FloatArray, IntArray, Kernel, float_array, int_array
from keyhole.stochastic.policies.improved_ucb import next_active_arm
from keyhole.validation import DEFAULT_SEED


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies for delayed feedback.

    Kernels read `p.arms`, `p.named` (1 if feedback names the arm of each reward, 0 if it is
    anonymous), and `p.horizon` if the class lists it in `needs`. `select` returns an ``arm``.
    `update` may have the parameters ``arm`` and ``total``, and with named feedback ``count``,
    ``sources`` (the arm of each reward) and ``rewards``. A field of the state that holds rewards is
    declared with the length "memory", as in ``float_array("memory")``.

    A policy that plays in phases overrides `recommend`, which reports the phases. The kernel writes
    ``phase[0]``, the number of the current phase, and three values for each arm: ``eliminated`` is
    the round in which the arm was given up, or 0; ``judged`` is the number of the last phase at
    whose end the arm was kept or given up, or 0; and ``estimates`` is the arm's mean at the end of
    that phase.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> learner = ODAAF(expected_delay=2).learner(
    ...     arms=2, horizon=10_000, feedback="anonymous"
    ... )
    >>> learner.ask()
    0
    >>> learner.tell(0)  # nothing has arrived yet
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    # `pending` is inherited and is "wait": every round ends with feedback, which may have no
    # rewards. A policy whose `update` reads ``sources`` or ``rewards`` sets `feedback` itself.
    feedback = "the sum of what arrives in a round; the arms in named feedback are ignored"

    if TYPE_CHECKING:  # at run time the method is generated from `Facts`

        @overload
        def learner(
            self,
            *,
            arms: int,
            feedback: Feedback,
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = DEFAULT_SEED,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: object) -> Any: ...
        def learner(self, *, arms: object, **facts: object) -> object:
            """Return a learner: this policy, asked for one decision at a time."""

    def recommend(
        p, phase: IntArray, eliminated: IntArray, estimates: FloatArray, judged: IntArray
    ) -> None:
        """Report that there are no phases and that no arm was given up."""
        phase[0] = 0
        for arm in range(p.arms):
            eliminated[arm] = judged[arm] = 0
            estimates[arm] = 0.0

    def buffered_rewards(self, state: Mapping[str, Any], rewards: int) -> int:
        """Return the number of rewards that the state buffers, or an upper bound on this number.

        `rewards` is the number of rewards of named feedback so far. This method returns `rewards`
        if the state has an array of the length "memory", and else 0. A policy that reuses positions
        in its arrays overrides it to return a smaller number, so that the memory of its learner
        does not grow with the rounds.
        """
        shapes = [field.shape for field in declared_fields(type(self).State).values()]
        return rewards if any("memory" in shape for shape in shapes) else 0

    def longest_delay(self) -> float:
        """Return the longest delay that the policy assumes; infinite by default."""
        return math.inf

    def describe(self, learner: Learner) -> list[str]:
        """Return the arrays of the state.

        A policy that counts rewards overrides this method and calls `format_used_rewards`.
        """
        return [f"{name}: {value}" for name, value in learner.state.items()]


def format_used_rewards(counts: FloatArray, totals: FloatArray, scale: Scale) -> list[str]:
    """Return a line for each arm: the number of used rewards, and their mean with its interval.

    `counts` and `totals` are the numbers and sums of the rewards that the policy has used. The
    interval holds if the delay of a reward does not depend on the reward.
    """
    return format_arm_means(counts, totals, scale, "used reward", has_interval=True)


class PhasePolicy(Policy, abstract=True):
    r"""Base class of the policies that play in phases, and give up arms that fall behind.

    In phase m = 1, 2, ... with the tolerance :math:`\tilde\Delta_m = 2^{-m}`, each remaining arm is
    pulled in consecutive rounds until its pulls in phases 1 to m sum to :math:`n_m`. Rewards that
    arrive meanwhile are credited to it; its average is their sum divided by :math:`n_m`. After the
    last arm, each arm whose average is more than the tolerance below the best average is given up.
    In a subclass with bridges, a *bridge* follows: the remaining arm with the best average is
    pulled :math:`n_m - n_{m-1}` times before the next phase, and rewards that arrive meanwhile are
    ignored. If only one arm remains, it is pulled to the end.

    Only the sum of the rewards that arrive is used; with named feedback, their arms are ignored.

    A subclass writes the kernel ``length(p, phase, tolerance)`` that returns :math:`n_m`, not yet
    rounded up, and the kernel ``has_bridge(p)`` if there is a bridge.
    """

    needs = ("horizon",)
    pending = ("wait",)
    cost_per_round = "O(1); O(K) at the end of a phase"
    helpers: ClassVar[tuple[str, ...]] = ("length", "has_bridge")
    helper_arguments = MappingProxyType(
        {"length": ("p", "phase", "tolerance"), "has_bridge": ("p",)}
    )

    class State:
        """Sums of rewards, and the position in the current phase."""

        totals = float_array("arms")
        """The sum of the rewards that arrived while the arm was pulled, except in bridges."""
        active = int_array("arms")
        eliminated = int_array("arms")
        """The round in which the arm was given up, or 0."""
        estimates = float_array("arms")
        """The arm's average at the end of the phase `judged`."""
        judged = int_array("arms")
        """The number of the last phase at whose end the arm was kept or given up, or 0."""
        phase = int_array()
        length = float_array()
        """n_m, with m the phase: the pulls of each remaining arm in phases 1 to m together."""
        before = float_array()
        """n_(m-1), or 0 in the first phase."""
        arm = int_array()
        """The current arm of the phase."""
        left = float_array()
        """Remaining pulls of the current arm in the phase, or in the bridge."""
        bridging = int_array()
        """Whether a bridge is played, 0 or 1."""

    def has_bridge(p) -> bool:
        """Return whether a bridge follows each phase."""
        return False

    def init(p, s: State, length: Kernel) -> None:
        """Begin the first phase with all arms."""
        s.active[:] = 1
        begin_phase(p, s, length)
        # A single arm is pulled to the end, since there is nothing to compare it with.
        if p.arms == 1:
            s.left[0] = math.inf

    def select(p, s: State) -> int:
        """Return the current arm of the phase."""
        return int(s.arm[0])

    def update(
        p, s: State, t: int, arm: int, total: float, length: Kernel, has_bridge: Kernel
    ) -> None:
        """Credit what arrived to the arm, except in a bridge; go on after the arm's last pull."""
        # Nothing is credited in a bridge, since rewards that arrive in it may be late rewards that
        # other arms earned in the last phase.
        if s.bridging[0] == 0:
            s.totals[arm] += total
        s.left[0] -= 1.0
        if s.left[0] > 0.0:
            return
        next_arm = next_active_arm(s.active, arm + 1)
        if s.bridging[0] == 1:
            begin_phase(p, s, length)
        elif next_arm < p.arms:
            s.arm[0] = next_arm
            s.left[0] = s.length[0] - s.before[0]
        else:
            end_phase(p, s, t, has_bridge(p), length)

    def recommend(  # type: ignore[override]
        p, s: State, phase: IntArray, eliminated: IntArray, estimates: FloatArray, judged: IntArray
    ) -> None:
        """Report the phase, the rounds in which arms were given up, and the last estimates."""
        phase[0] = s.phase[0]
        for arm in range(p.arms):
            eliminated[arm] = s.eliminated[arm]
            estimates[arm] = s.estimates[arm]
            judged[arm] = s.judged[arm]

    def caution(self, facts: Mapping[str, Any], problem: object) -> str:
        """Return a warning if the first phase is longer than the horizon, else no text."""
        arms = facts["arms"]
        horizon = facts["horizon"]
        rounds = arms * self.phase_lengths(horizon, 1)[0]
        if arms == 1 or rounds <= horizon:
            return ""
        return (
            f"{self} gives up no arm within the horizon of {horizon} rounds: "
            f"the first phase takes {rounds}"
        )

    def describe(self, learner: Learner) -> list[str]:
        """Return a line about the phase, or a caution, and a line about each arm's rewards."""
        state = learner.state
        phase = int(state["phase"][0])
        length = int(state["length"][0])
        bridge = ", in the bridge after it" if state["bridging"][0] else ""
        scale = learner.scale
        tolerance = scale.from_unit(0.5**phase, DIFFERENCE)
        phase_text = (
            f"phase {phase}{bridge}: tolerance {tolerance:g}, {length} pulls per arm by its end"
        )
        statuses = [f"given up in round {t}" if t else "remaining" for t in state["eliminated"]]
        arm_lines = [
            f"arm {arm}: {status}, credited with {scale.from_unit(total, DIFFERENCE):g}"
            for arm, (status, total) in enumerate(zip(statuses, state["totals"], strict=True))
        ]
        return [self.caution(learner.facts, None) or phase_text, *arm_lines]

    def phase_lengths(self, horizon: int, phases: int) -> list[int]:
        r"""Return :math:`n_1, n_2, \ldots`, the pulls of a remaining arm by each phase's end."""
        # Python runs the kernel `length` here, with a namespace of the parameters and the horizon
        # as `p`.
        p = SimpleNamespace(**self.numbers(), horizon=horizon)
        length = cast(Any, self).length.__func__
        lengths: list[int] = []
        for phase in range(1, phases + 1):
            # As in `begin_phase`, a phase has at least one pull of each arm.
            min_length = lengths[-1] + 1 if lengths else 1
            lengths.append(max(min_length, math.ceil(length(p, phase, 0.5**phase))))
        return lengths


def begin_phase(p: PhasePolicy, s: PhasePolicy.State, length: Kernel) -> None:
    """Begin the next phase with the first remaining arm."""
    s.phase[0] += 1
    s.before[0] = s.length[0]
    pulls = length(p, s.phase[0], 0.5 ** s.phase[0])
    # A phase has at least one pull of each arm, even if `length` of the subclass does not grow.
    s.length[0] = max(s.before[0] + 1.0, np.ceil(pulls))
    s.arm[0] = next_active_arm(s.active, 0)
    s.left[0] = s.length[0] - s.before[0]
    s.bridging[0] = 0


def end_phase(
    p: PhasePolicy, s: PhasePolicy.State, t: int, has_bridge: bool, length: Kernel
) -> None:
    """Give up the arms that have fallen behind, and begin the bridge or the next phase."""
    best = find_best_active_arm(s.totals, s.active)
    # Sums are compared, since averages are rounded: an arm whose average is lower than the best one
    # by exactly the tolerance is kept.
    sum_tolerance = 0.5 ** s.phase[0] * s.length[0]
    arms_left = 0
    for arm in range(p.arms):
        if s.active[arm] == 0:
            continue
        s.estimates[arm] = s.totals[arm] / s.length[0]
        s.judged[arm] = s.phase[0]
        if s.totals[arm] + sum_tolerance < s.totals[best]:
            s.active[arm] = 0
            s.eliminated[arm] = t
        arms_left += s.active[arm]
    # The last arm is pulled to the end. The field `left` is a float, so that it can be infinite.
    if arms_left == 1:
        s.arm[0] = best
        s.left[0] = math.inf
    elif has_bridge:
        s.arm[0] = best
        s.left[0] = s.length[0] - s.before[0]
        s.bridging[0] = 1
    else:
        begin_phase(p, s, length)


def find_best_active_arm(totals: FloatArray, active: IntArray) -> int:
    """Return the remaining arm with the largest total; of several such arms, the lowest."""
    best = next_active_arm(active, 0)
    for arm in range(best + 1, len(active)):
        if active[arm] == 1 and totals[arm] > totals[best]:
            best = arm
    return best


def phase_log_term(horizon: int, tolerance: float) -> float:
    """Return L = max(1, ln(T tolerance^2)), with T the horizon.

    The formulas of the phase lengths have no meaning for an L of 0 or less.
    """
    return max(1.0, math.log(horizon * tolerance * tolerance))


def least_pulls(tolerance: float, log: float, bias: float) -> float:
    r"""Return the smallest n with sqrt(2 L / n) + B / n <= tolerance / 2, not rounded.

    `log` is the number L that `phase_log_term` returns, and `bias` is B. The bound on an average's
    error has one part that falls with the root of 1 / n, and one that falls with 1 / n.
    """
    # sqrt(n) is the larger root of a quadratic equation. Both terms of the root are positive, so no
    # digits cancel.
    root_times_tolerance = math.sqrt(2.0 * log) + math.sqrt(2.0 * log + 2.0 * bias * tolerance)
    return (root_times_tolerance / tolerance) ** 2
