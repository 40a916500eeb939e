"""Workers that ask, are busy, tell, and ask again: slow and obvious, an event after the other.

Nothing here comes from `keyhole`. A policy is one of the other references: it chooses and learns.
"""

from copy import deepcopy
from dataclasses import dataclass


@dataclass(eq=False)
class Open:
    """A decision whose feedback is yet to come."""

    arm: int
    reward: float
    back: float


def play(policy, reward, duration, *, workers, impute, rounds):
    """Return the arms pulled, and after each decision when all that are open will be back.

    `reward(arm, n)` is the n-th of an arm, `duration(t, arm, reward)` how long round t takes.
    """
    now, opened, arms, clocks = 0.0, [], [], []
    for t in range(1, rounds + 1):
        if len(opened) == workers:
            first = min(opened, key=lambda one: one.back)  # of equals the one taken first
            opened.remove(first)
            now = first.back
            policy.learn(first.arm, first.reward)
        deciding = policy
        if impute:
            deciding = deepcopy(policy)
            for one in opened:
                seen = deciding.rewards[one.arm]
                deciding.learn(one.arm, sum(seen) / len(seen) if seen else 0.5)
        arm = deciding.choose(t)
        earned = reward(arm, arms.count(arm))
        opened.append(Open(arm, earned, now + duration(t, arm, earned)))
        arms.append(arm)
        clocks.append(max(one.back for one in opened))
    return arms, clocks
