"""Policy ImprovedUCB: pulls all arms equally often, in phases; gives up arms that fall behind."""

import math
from typing import Any

from keyhole.policy import IntArray, int_array
from keyhole.stochastic.policy_base import Policy, RewardCounts


class ImprovedUCB(Policy):
    r"""Pull all remaining arms equally often, and give up arms that fall behind.

    Methods for delayed feedback build on it, since its phases are known in advance and last many
    rounds. `KLUCB` and others have less regret.

    In phase m = 0, 1, ... with :math:`\tilde\Delta_m = 2^{-m}`, the remaining arms are pulled one
    after the other, each until its pulls in phases 0 to m sum to :math:`n_m`. Then arm i is given
    up if

    .. math:: \hat\mu_i + w_m < \max_j \hat\mu_j - w_m, \qquad
        w_m = \sqrt{\frac{\ln(T \tilde\Delta_m^2)}{2 n_m}}, \qquad
        n_m = \Big\lceil \frac{2 \ln(T \tilde\Delta_m^2)}{\tilde\Delta_m^2} \Big\rceil

    Here T is the horizon. The last phase is :math:`\lfloor \tfrac12 \log_2 (T / e) \rfloor`. If a
    single arm remains, it is pulled to the end.

    Notes
    -----
    Departures from the paper: none. The paper is read as follows: within a phase all pulls of an
    arm are consecutive, the lowest arm first; arms that remain after the last phase are pulled in
    turn. For a horizon below 3 there is no phase.

    References
    ----------
    Auer and Ortner (2010), "UCB Revisited: Improved Regret Bounds for the Stochastic Multi-armed
    Bandit Problem", Periodica Mathematica Hungarica 61; Figure 1.

    Examples
    --------
    >>> learner = ImprovedUCB().learner(arms=2, horizon=100)
    >>> for _ in range(40):
    ...     arm = learner.ask()
    ...     learner.tell(1.0 if arm == 1 else 0.0)
    >>> learner
    ImprovedUCB() after 40 rounds, 2 arms, horizon 100
      arm 0: 10 pulls, mean 0.00 [0.00, 0.42] at any time, given up
      arm 1: 30 pulls, mean 1.00 [0.80, 1.00] at any time
    """

    pending = ("wait",)  # a phase ends with the feedback of its last pull
    cost_per_round = "O(1); O(K) at the end of a phase"
    needs = ("horizon",)

    class State(RewardCounts):
        """Pulls and summed rewards, the remaining arms, the phase, and its current arm."""

        active = int_array("arms")
        """Whether the arm remains, 1 or 0."""
        phase = int_array()
        arm = int_array()

    def init(p, s: State) -> None:
        """Begin with all arms."""
        s.active[:] = 1

    def select(p, s: State) -> int:
        """Return the current arm of the phase."""
        return int(s.arm[0])

    def update(p, s: State, arm: int, reward: float) -> None:
        """Count the pull; if the arm's pulls are complete, go on to the next arm or phase."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        is_in_phase = s.phase[0] <= last_phase(p.horizon)
        if is_in_phase and s.pulls[arm] < pulls_by_phase_end(p.horizon, s.phase[0]):
            return
        # After the last phase, the code below runs for every pull: the remaining arms take turns.
        next_arm = next_active_arm(s.active, arm + 1)
        if next_arm == p.arms:
            if is_in_phase:
                eliminate_arms(p, s)
                s.phase[0] += 1
            next_arm = next_active_arm(s.active, 0)
        s.arm[0] = next_arm

    def describe(self, learner: Any) -> list[str]:
        """Return the pulls and the mean of each arm, and whether it was given up."""
        lines = zip(super().describe(learner), learner.state["active"], strict=True)
        return [line if active else f"{line}, given up" for line, active in lines]


def last_phase(horizon: int) -> int:
    """Return floor(log2(T / e) / 2), or -1 if there is no phase."""
    return math.floor(0.5 * math.log2(horizon / math.e)) if horizon >= 3 else -1


def phase_log(horizon: int, phase: int) -> float:
    """Return ln(T Delta_m^2), with T the horizon and Delta_m = 2^-m in phase m."""
    return math.log(horizon * 0.25**phase)


def pulls_by_phase_end(horizon: int, phase: int) -> float:
    """Return n_m, the number of pulls of each remaining arm in phases 0 to m together."""
    return float(math.ceil(2.0 * phase_log(horizon, phase) / 0.25**phase))


def eliminate_arms(p: ImprovedUCB, s: ImprovedUCB.State) -> None:
    """Give up the arms whose upper bound is below the largest lower bound."""
    pulls = pulls_by_phase_end(p.horizon, s.phase[0])
    width = math.sqrt(phase_log(p.horizon, s.phase[0]) / (2.0 * pulls))
    highest = -1.0
    for arm in range(p.arms):
        if s.active[arm] == 1:
            highest = max(highest, s.totals[arm] / s.pulls[arm])
    for arm in range(p.arms):
        if s.active[arm] == 1 and s.totals[arm] / s.pulls[arm] + width < highest - width:
            s.active[arm] = 0


def next_active_arm(active: IntArray, start: int) -> int:
    """Return the first remaining arm from `start` on, or the number of arms if there is none."""
    arm = start
    while arm < len(active) and active[arm] == 0:
        arm += 1
    return arm
