"""Queued partial monitoring with delays: any policy, fed from queues."""

from collections.abc import Mapping
from typing import Any

from keyhole.delayed.setting import Policy, usable_rewards
from keyhole.policy import (
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    WrapperPolicy,
    float_array,
    int_array,
    parameter,
)
from keyhole.stochastic import UCB1
from keyhole.stochastic import Policy as StochasticPolicy


class QPMD(WrapperPolicy, Policy):
    r"""Let a policy for prompt feedback decide, and feed it late rewards from queues.

    The yardstick for anonymous feedback: it sees more, namely which reward is whose. Any policy
    of the classical bandit (`keyhole.stochastic`) can be the base; the default is the one of the
    paper, and `ThompsonSampling` has a fifth of its regret, `KLUCB` a quarter (gap 0.3, expected
    delay 20, 20,000 rounds). While nothing is told the same arm is asked for, again and again.

    There is a queue of rewards for each arm. When the base asks for an arm whose queue is not
    empty, it is given the oldest reward there, at no cost, and asked again. Otherwise the arm is
    pulled, and what arrives is put into the queues. With UCB1 as the base that is, on the clock n
    of the rewards it has been given,

    .. math:: \arg\max_i \; \hat\mu_i + \sqrt{2 \ln n / n_i}

    Parameters
    ----------
    base : policy of `keyhole.stochastic`, default UCB1()
        Who decides.

    Notes
    -----
    Departures from the paper: none. A reading: rewards that arrive in the same round are queued in
    the order in which they are told, that of their pulls in a simulation.

    References
    ----------
    Joulani, Gyorgy and Szepesvari (2013), "Online Learning under Delayed Feedback", ICML; section
    3.2, QPM-D. It is the baseline of Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018),
    section 5.

    Examples
    --------
    >>> learner = QPMD(base=UCB1()).learner(arms=2, feedback="named")
    >>> asked = []
    >>> for arrived in ([], [], [(0, 1.0), (0, 0.0)], []):
    ...     asked.append(learner.ask())
    ...     learner.tell(arrived)
    >>> asked  # arm 0 until its first reward is there
    [0, 0, 0, 1]
    """

    pending = ("wait",)
    feedback = "each reward that arrives, and whose it is (named)"
    cost_per_round = "one step of the base for each reward that arrives, on average"
    works_with = ("named",)

    base: StochasticPolicy = parameter(default=UCB1(), doc="a policy of the classical bandit")

    class State:
        """Beside what the base remembers: its step and choice, and a queue for each arm."""

        steps = int_array()
        chosen = int_array()
        held = int_array()
        """Rewards in all queues."""
        used = int_array()
        """Places that have ever held a reward."""
        free = int_array()
        """The first of those that hold none, from 1, or 0; `following` leads on."""
        oldest = int_array("arms")
        """Where the queue begins: the place of the reward, from 1; 0 for an empty queue."""
        newest = int_array("arms")
        following = int_array("memory")
        """For each reward the next in its queue, or 0."""
        waiting = float_array("memory")
        """The rewards themselves."""

    def init(p, s: State, rng: Stream, base_init: Kernel) -> None:
        """Prepare the base."""
        base_init(p, s, 0, rng)

    def select(p, s: State, rng: Stream, base_select: Kernel, base_update: Kernel) -> int:
        """Feed the base as long as its choices can be met from the queues."""
        if s.steps[0] == 0:
            s.steps[0] = 1
            s.chosen[0] = base_select(p, s, 1, rng)
        while s.oldest[s.chosen[0]] > 0:
            reward = take(s, s.chosen[0])
            base_update(p, s, s.steps[0], rng, s.chosen[0], reward)
            s.steps[0] += 1
            s.chosen[0] = base_select(p, s, s.steps[0], rng)
        return int(s.chosen[0])

    def update(p, s: State, count: int, sources: IntArray, rewards: FloatArray) -> None:
        """Queue what has arrived."""
        for i in range(count):
            put(s, sources[i], rewards[i])

    def describe(self, learner: Any) -> list[str]:
        """Return of each arm the rewards that the base has been fed, if it counts them."""
        state = learner.state
        if not {"pulls", "totals"} <= state.keys():
            return super().describe(learner)
        return usable_rewards(state["pulls"], state["totals"], learner.scale)

    def buffered_rounds(self, state: Mapping[str, Any], told: int) -> int:
        """Return how many rewards are in the queues."""
        return int(state["held"][0])


def put(s: QPMD.State, arm: int, reward: float) -> None:
    """Add a reward to the end of an arm's queue."""
    place = s.free[0]
    if place > 0:
        s.free[0] = s.following[place - 1]
    else:
        s.used[0] += 1
        place = s.used[0]
    s.waiting[place - 1] = reward
    s.following[place - 1] = 0
    if s.oldest[arm] == 0:
        s.oldest[arm] = place
    else:
        s.following[s.newest[arm] - 1] = place
    s.newest[arm] = place
    s.held[0] += 1


def take(s: QPMD.State, arm: int) -> float:
    """Remove the first reward of an arm's queue, and return it."""
    place = s.oldest[arm]
    s.oldest[arm] = s.following[place - 1]
    s.following[place - 1] = s.free[0]
    s.free[0] = place
    s.held[0] -= 1
    return float(s.waiting[place - 1])
