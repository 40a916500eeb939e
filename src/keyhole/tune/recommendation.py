"""Recommendation of a tune: the best pair of command and time limit, in numbers and in words."""

from dataclasses import dataclass
from typing import Final

from keyhole.results.estimate import format_estimate
from keyhole.tune.value_estimates import Interval

TOLERANCE: Final = 0.01
"""Pairs count as equally good whose gains differ by at most this share of the best reward."""


@dataclass(frozen=True)
class CommandLimitEstimate:
    """A pair of command and limit, with the estimates of its gain, success rate and run time.

    Attributes
    ----------
    arm : str
        Name of the command.
    limit : float
        Time limit in seconds.
    gain : Interval
        Expected gain of a run (reward less costs), in the unit of the reward.
    success_rate : Interval
        The share of runs that succeed.
    seconds : Interval
        The mean duration of a run.
    runs : int
        How many runs inform these estimates: those with this limit or a larger one.
    """

    arm: str
    limit: float
    gain: Interval
    success_rate: Interval
    seconds: Interval
    runs: int


@dataclass(frozen=True, repr=False)
class Best(CommandLimitEstimate):
    """The pair that is recommended; printed, it is three lines.

    Attributes
    ----------
    probability : float
        The probability that no other pair, tried or not, is better by more than 1 % of the best
        reward.
    regret_bound : float
        With probability 95 %, the best pair is better by at most this much.
    full : CommandLimitEstimate
        The command with the largest mean gain at the full cut-off.
    gain_over_full : Interval
        Gain of a run less that of the best command at the full cut-off; which of the tried
        commands that is, is uncertain, so that it may be below 0.
    runs_of_arms : dict of str to int
        How often each command was run.
    successes : int
        How many runs succeeded, of all commands; with 0, no command is better than another.
    """

    probability: float
    regret_bound: float
    full: CommandLimitEstimate
    gain_over_full: Interval
    runs_of_arms: dict[str, int]
    successes: int

    @property
    def untried(self) -> list[str]:
        """Names of the commands that were never run."""
        return [arm for arm, runs in self.runs_of_arms.items() if runs == 0]

    def __repr__(self) -> str:
        """Return three lines: what to run, what that gains, and how sure it is."""
        return "\n".join(format_best(self))


NO_SUCCESS: Final = "no run has succeeded: there is no evidence for any command"


def format_best(best: Best) -> list[str]:
    """Return three lines on the best pair: its command and limit, its gain, and how sure it is."""
    name = format_best_name(best)
    return [
        name if best.successes else f"{NO_SUCCESS}; {name}",
        f"gain: {best.gain} a run; {format_share(best.success_rate)} succeed, "
        f"{best.seconds} s a run (from {format_runs(best.runs)})",
        format_probability(best),
    ]


def format_best_name(best: Best) -> str:
    """Return the command and the limit of the best pair, after the number of untried commands."""
    untried = format_untried(best)
    return f"{untried}{'; ' if untried else ''}best: {best.arm} with {best.limit:g} s"


def format_untried(best: Best) -> str:
    """Return how many arms were never run; "" for none."""
    count = len(best.untried)
    return f"{count} of {len(best.runs_of_arms)} arms not tried yet" if count else ""


def format_probability(best: Best) -> str:
    """Return the probability that no other pair is better by much, and the bound on how much."""
    bound = format_estimate(best.regret_bound, best.regret_bound)
    choice = "pair" if len(best.runs_of_arms) > 1 else "limit"  # of the only command
    return (
        f"probability that no other {choice} is better by more than 1 % of a success: "
        f"{best.probability:.0%}; the best {choice} is better by at most {bound} (95 %)"
    )


def format_share(share: Interval) -> str:
    """Return a share in percent, with its interval."""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def format_runs(runs: int) -> str:
    """Return a number of runs in words."""
    return f"{runs:,} run{'' if runs == 1 else 's'}" if runs else "no run"
