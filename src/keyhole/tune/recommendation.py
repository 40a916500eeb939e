"""Recommendations of tunes, with estimates for them and for their alternatives."""

from dataclasses import dataclass
from typing import Final

from keyhole.results.estimate import format_estimate
from keyhole.text_formatting import count_text
from keyhole.tune.arms import Scalar
from keyhole.tune.pair_estimates import Interval

TOLERANCE: Final = 0.01
"""Pairs count as equally good if their gains differ by at most this share of the reward span."""
NO_SUCCESS: Final = "no run has succeeded: there is no evidence for any command"
REFERENCE: Final = "default, full cut-off"
"""Name of the estimate with which gains are compared: the default at the largest limit."""


@dataclass(frozen=True)
class PairEstimate:
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
        The mean duration of a run; a run that is killed counts as the limit.
    runs : int
        How many runs inform these estimates: the runs of the command with at least this limit.
    """

    arm: str
    limit: float
    gain: Interval
    success_rate: Interval
    seconds: Interval
    runs: int


@dataclass(frozen=True, repr=False)
class Best(PairEstimate):
    """The recommended pair of command and limit; printed, it is three lines.

    Attributes
    ----------
    probability : float
        The probability that no other pair, tried or not, is better by more than 1 % of the reward
        span (the largest reward less the reward of a run without success).
    regret_bound : float
        With probability 95 %, the best pair is better than this one by at most this much.
    full : PairEstimate
        Estimates at the full cut-off (the largest limit) of the command with the largest mean gain
        there.
    gain_over_full : Interval
        Gain of a run, less the gain of the best tried command at the full cut-off. The mean and the
        lower end take the best command of each posterior draw, so they may be below 0; the upper
        end takes the command of `full`.
    runs_of_arms : dict of str to int
        How often each command was run.
    successes : int
        How many runs of all commands succeeded; if none, there is no evidence for any command.
    """

    probability: float
    regret_bound: float
    full: PairEstimate
    gain_over_full: Interval
    runs_of_arms: dict[str, int]
    successes: int

    @property
    def untried(self) -> list[str]:
        """Names of the commands that were never run."""
        return [arm for arm, runs in self.runs_of_arms.items() if runs == 0]

    def __repr__(self) -> str:
        """Return three lines: what to run, the gain, and how sure the recommendation is."""
        texts = ["" if self.successes else NO_SUCCESS, format_untried(self)]
        name = f"best: {self.arm} with {self.limit:g} s"
        first_line = "; ".join(filter(None, [*texts, name]))
        return f"{first_line}\n{_format_gain(self)}\n{format_probability(self)}"


def format_untried(best: Best) -> str:
    """Return how many arms were never run; "" for none."""
    count = len(best.untried)
    return f"{count} of {len(best.runs_of_arms)} arms not tried yet" if count else ""


def format_probability(best: Best) -> str:
    """Return the probability that no other pair is better by much, and the bound on how much."""
    bound = format_estimate(best.regret_bound, best.regret_bound)
    choice = "pair" if len(best.runs_of_arms) > 1 else "limit"  # pairs of one arm differ in limits
    return (
        f"probability that no other {choice} is better by more than 0.01 of a success: "
        f"{best.probability:.0%}; the best {choice} is better by at most {bound} (95 %)"
    )


@dataclass(frozen=True)
class ConfigurationEstimate:
    """Estimates of a configuration with a limit.

    Attributes
    ----------
    configuration : int
        Its number; 0 is the default.
    parameters : dict
        Its active parameters.
    limit : float
        The limit in seconds.
    runs : int
        How many runs the configuration had.
    gain, success_rate, seconds : Interval
        Mean gain, share of runs that succeed, and mean seconds of a run.
    gain_over_default : Interval
        Gain of the configuration, less the gain of the default configuration at the full cut-off.
    gains : tuple of Interval
        Gain with each limit that may be recommended; empty in an estimate of `Tuner.validate`.
    """

    configuration: int
    parameters: dict[str, Scalar]
    limit: float
    runs: int
    gain: Interval
    success_rate: Interval
    seconds: Interval
    gain_over_default: Interval
    gains: tuple[Interval, ...]


@dataclass(frozen=True, repr=False)
class BestConfiguration:
    """The recommended configuration beside the default and others; printed, it is three lines.

    Attributes
    ----------
    incumbent : ConfigurationEstimate
        The best configuration with its best limit.
    default, default_at_cutoff : ConfigurationEstimate
        The default with its own best limit, and at the full cut-off.
    runners_up : tuple of ConfigurationEstimate
        The next best configurations, each with its best limit.
    """

    incumbent: ConfigurationEstimate
    default: ConfigurationEstimate
    default_at_cutoff: ConfigurationEstimate
    runners_up: tuple[ConfigurationEstimate, ...]

    def __repr__(self) -> str:
        """Return three lines: what to run, its gain, and its gain over the default."""
        best = self.incumbent
        parameters = " ".join(f"{name}={value}" for name, value in best.parameters.items())
        return (
            f"best: {parameters}, with {best.limit:g} s\n{_format_gain(best)}\n"
            f"gain over the default with the full cut-off: {best.gain_over_default}"
        )


def _format_gain(estimate: PairEstimate | ConfigurationEstimate) -> str:
    return (
        f"gain: {estimate.gain} a run; {format_share(estimate.success_rate)} succeed, "
        f"{estimate.seconds} s a run (from {count_text(estimate.runs, 'run')})"
    )


def format_share(share: Interval) -> str:
    """Return a share in percent, with its interval."""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"
