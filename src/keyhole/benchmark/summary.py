"""Summaries of the benchmark by situation: which policy is best, by fixed rules; and tables."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from keyhole.benchmark.problem import PARTS, Part
from keyhole.benchmark.results_file import BenchmarkResults, ProblemRecord, ResultRecord
from keyhole.benchmark.rules import COUNTED_LINEAR, FLOOR_SHARE, SEED, SITUATIONS, TOLERATED_LINEAR
from keyhole.pages.page import Table
from keyhole.results.estimate import Estimate
from keyhole.text_formatting import count_text


@dataclass(frozen=True)
class Standing:
    """The results of a policy on those problems of a situation that it can play.

    A *run* is a replication.

    Attributes
    ----------
    policy : str
        Its label.
    is_yardstick : bool
        Whether it knows what is unknown in practice.
    ratios : tuple of float
        For each problem, the policy's mean regret divided by the mean regret of the best policy.
    worst_ratios : tuple of float
        For each problem, the regret of its worst run divided by the best policy's mean regret.
    ranks : tuple of int
        For each problem, one more than the number of policies that are clearly better.
    linear, runs : int
        The numbers of linear runs, which have more than half of the regret of wrong choices in all
        rounds (`LINEAR_REGRET_SHARE` of `keyhole.benchmark.rules`), and of runs, on the problems
        where linear runs count (see `can_be_learnt`).
    nanoseconds : float
        The mean time of a round over the problems.
    """

    policy: str
    is_yardstick: bool
    ratios: tuple[float, ...]
    worst_ratios: tuple[float, ...]
    ranks: tuple[int, ...]
    linear: int
    runs: int
    nanoseconds: float

    @property
    def mean_ratio(self) -> float:
        """The geometric mean of the ratios."""
        return float(np.exp(np.mean(np.log(self.ratios))))

    @property
    def worst_ratio(self) -> float:
        """The largest of `worst_ratios`."""
        return max(self.worst_ratios)

    @property
    def mean_rank(self) -> float:
        """The mean of the ranks."""
        return float(np.mean(self.ranks))

    @property
    def first_places(self) -> int:
        """The number of problems on which no policy is clearly better."""
        return sum(rank == 1 for rank in self.ranks)

    @property
    def linear_share(self) -> float:
        """The share of linear runs, on the problems where they count."""
        return self.linear / max(1, self.runs)


@dataclass(frozen=True)
class SituationSummary:
    """The standings of policies in a situation, on the problems of one part: tuning or judging.

    Policies that play all of the problems, and are no yardsticks, come first.
    """

    setting: str
    situation: str
    part: Part
    problems: tuple[ProblemRecord, ...]
    standings: tuple[Standing, ...]

    @property
    def title(self) -> str:
        """The guide's name of the situation."""
        return SITUATIONS[self.setting][self.situation]

    @property
    def ranked(self) -> list[Standing]:
        """The standings of the policies that play all problems and are no yardsticks."""
        return [standing for standing in self.standings if _is_ranked(standing, self.problems)]

    @property
    def best(self) -> Standing:
        """The recommended policy: of those with few linear runs, it has the smallest ratio."""
        # A policy may have the smallest mean, and yet some runs that never find the best arm.
        linear_limit = min(standing.linear_share for standing in self.ranked) + TOLERATED_LINEAR
        return next(standing for standing in self.ranked if standing.linear_share <= linear_limit)

    @property
    def next_best(self) -> "tuple[str, RatioInterval] | None":
        """The ranked policy that follows `best` in ratio, and its regret divided by `best`'s."""
        best = self.best
        for standing in self.ranked:
            # Policies with too many linear runs may have smaller ratios than the best.
            if standing != best and standing.mean_ratio >= best.mean_ratio:
                return standing.policy, ratio_interval(self.problems, standing.policy, best.policy)
        return None

    @property
    def runner_up(self) -> str:
        """The policy of `next_best`, and its ratio or `UNCLEAR`; empty if there is none."""
        if self.next_best is None:
            return ""
        policy, interval = self.next_best
        return f"{policy}, {interval} times" if interval.is_above_one else f"{policy}, {UNCLEAR}"

    @property
    def uncounted_problems(self) -> int:
        """The number of problems on which linear runs do not count."""
        return sum(not can_be_learnt(problem) for problem in self.problems)

    def as_json(self) -> dict[str, object]:
        """Return the names of the situation, and the numbers of each policy."""
        policies = [
            asdict(standing) | {"ratio": standing.mean_ratio, "rank": standing.mean_rank}
            for standing in self.standings
        ]
        names = {"setting": self.setting, "situation": self.situation, "part": self.part}
        return names | {"policies": policies}


def summarize(content: BenchmarkResults) -> list[SituationSummary]:
    """Return the summaries of all situations that have problems, setting by setting."""
    groups = [
        [p for p in content.of_setting(setting) if (p.part, p.situation) == (part_name, situation)]
        for setting in content.settings
        for part_name in PARTS
        for situation in SITUATIONS[setting]
    ]
    return [_summarize_situation(problems) for problems in groups if problems]


def can_be_learnt(problem: ProblemRecord) -> bool:
    """Return whether some policy, yardsticks apart, has linear runs in at most half of its runs.

    If the budget lets no policy find the best arm, linear runs say nothing about a policy.
    """
    return min(result.linear for result in problem.rivals) <= COUNTED_LINEAR * problem.replications


@dataclass(frozen=True)
class RatioInterval:
    """A ratio of regrets, with a 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_above_one(self) -> bool:
        """Whether the interval lies above 1 when it is rounded as it is shown."""
        return round(self.low, 2) > 1

    def __str__(self) -> str:
        """Return the ratio and the interval."""
        value, low, high = map(format_ratio, (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


def ratio_interval(problems: Sequence[ProblemRecord], policy: str, reference: str) -> RatioInterval:
    """Return the ratio of two policies' regrets, as geometric mean over problems.

    It is the regret of `policy` over that of `reference`. The interval is by bootstrap. Problems
    are drawn with replacement; for each drawn problem, the mean regret of each policy is drawn from
    a normal distribution with its standard error. An interval that used the common random numbers
    of the policies would be narrower.
    """
    count = len(problems)
    rng = np.random.default_rng(SEED)
    drawn_problems = rng.integers(count, size=(_BOOTSTRAPS, count))
    # `wrong_choice` is the regret of a wrong choice in every round.
    floors = np.array([FLOOR_SHARE * problem.wrong_choice for problem in problems])
    log_ratios = np.zeros(count)
    drawn_log_ratios = np.zeros((_BOOTSTRAPS, count))
    for label, sign in ((policy, 1.0), (reference, -1.0)):
        results = [
            next(result for result in problem.results if result.policy == label)
            for problem in problems
        ]
        means = np.array([result.mean for result in results])
        errors = np.array([result.std_error for result in results])
        noise = errors[drawn_problems] * rng.standard_normal(drawn_problems.shape)
        drawn_means = np.maximum(means[drawn_problems] + noise, 0.0)
        log_ratios += sign * np.log(means + floors)
        drawn_log_ratios += sign * np.log(drawn_means + floors[drawn_problems])
    low, high = np.quantile(drawn_log_ratios.mean(axis=1), [0.025, 0.975])
    return RatioInterval(*(math.exp(x) for x in (log_ratios.mean(), low, high)))


def ratio_to_best(problem: ProblemRecord, regret: float) -> float:
    """Return a regret divided by the smallest mean regret of the problem's policies.

    A small regret is added to both, since a smallest mean of 0 would make ratios infinite.
    """
    floor = FLOOR_SHARE * problem.wrong_choice
    best = min(result.mean for result in problem.rivals)
    return (regret + floor) / (best + floor)


def _summarize_situation(problems: Sequence[ProblemRecord]) -> SituationSummary:
    """Return the summary of these problems, all of one situation and one part."""
    by_policy: dict[str, list[tuple[ProblemRecord, ResultRecord]]] = {}
    for problem in problems:
        for result in problem.results:
            by_policy.setdefault(result.policy, []).append((problem, result))
    # Ratios over fewer problems cannot be compared, so policies that do not play all come last.
    standings = sorted(
        (_make_standing(policy, results) for policy, results in by_policy.items()),
        key=lambda standing: (not _is_ranked(standing, problems), standing.mean_ratio),
    )
    first = problems[0]
    return SituationSummary(
        first.setting, first.situation, first.part, tuple(problems), tuple(standings)
    )


def _is_ranked(standing: Standing, problems: Sequence[ProblemRecord]) -> bool:
    """Return whether a policy plays all problems and is no yardstick."""
    return not standing.is_yardstick and len(standing.ratios) == len(problems)


def _make_standing(policy: str, results: Sequence[tuple[ProblemRecord, ResultRecord]]) -> Standing:
    counted_results = [(problem, result) for problem, result in results if can_be_learnt(problem)]
    return Standing(
        policy=policy,
        is_yardstick=results[0][1].yardstick,
        ratios=tuple(ratio_to_best(problem, result.mean) for problem, result in results),
        worst_ratios=tuple(ratio_to_best(problem, result.worst) for problem, result in results),
        ranks=tuple(1 + len(result.better) for _, result in results),
        linear=sum(result.linear for _, result in counted_results),
        runs=sum(problem.replications for problem, _ in counted_results),
        nanoseconds=math.fsum(result.nanoseconds for _, result in results) / len(results),
    )


UNCLEAR: Final = "no difference shown"
_BOOTSTRAPS: Final = 10_000
_TWO_DECIMALS_BELOW: Final = 10  # for ratios
_ONE_DECIMAL_BELOW: Final = 100
_WHOLE_FROM: Final = 10  # per cent; smaller shares have two digits
_MAX_PERCENT_BELOW_ALL: Final = 99  # per cent; only a share of 1 is shown as 100 %

HEAD: Final = (
    "policy", "ratio", "largest ratio", "worst run", "rank", "first on", "linear runs", "ns",
)  # fmt: skip


def situation_table(summary: SituationSummary) -> Table:
    """Return the table of a situation: a row for each policy, the smallest ratio first.

    Policies that are not ranked come last.
    """
    rows = [_standing_row(summary, standing) for standing in summary.standings]
    problems = count_text(len(summary.problems), "problem")
    return Table(f"{summary.title}: {problems} for {summary.part}", HEAD, rows)


def _standing_row(summary: SituationSummary, standing: Standing) -> list[str]:
    suffix = " (yardstick)" if standing.is_yardstick else ""
    played_count = len(standing.ranks)
    if played_count < len(summary.problems):
        suffix += f" (plays {played_count} of {len(summary.problems)})"
    return [
        f"{standing.policy}{suffix}",
        format_ratio(standing.mean_ratio),
        format_ratio(max(standing.ratios)),
        format_ratio(standing.worst_ratio),
        # Yardsticks know what is unknown in practice, so they have no rank among the others.
        "" if standing.is_yardstick else f"{standing.mean_rank:.1f}",
        "" if standing.is_yardstick else f"{standing.first_places} of {played_count}",
        format_share(standing.linear_share),
        f"{standing.nanoseconds:,.0f}",
    ]


def policies_on_problem_table(problem: ProblemRecord) -> Table:
    """Return the table of a problem: a row for each policy, the smallest mean first."""
    results = sorted(problem.results, key=lambda result: result.mean)
    caption = (
        f"{problem.name}: {problem.title}. {problem.replications} replications of "
        f"{problem.horizon:,} rounds; {problem.part}"
    )
    head = ["policy", "mean", "90 % quantile", "worst run", "linear runs", "ratio", "rank", "ns"]
    return Table(caption, head, [_result_row(problem, result) for result in results])


def _result_row(problem: ProblemRecord, result: ResultRecord) -> list[str]:
    mean = Estimate(result.mean, result.std_error, problem.replications)
    return [
        f"{result.policy} (yardstick)" if result.yardstick else result.policy,
        # The suffix means that all replications have this regret.
        mean.plus_minus().removesuffix(" in every run"),
        _format_regret(result.quantile_90),
        _format_regret(result.worst),
        format_share(result.linear / problem.replications),
        format_ratio(ratio_to_best(problem, result.mean)),
        "" if result.yardstick else str(1 + len(result.better)),
        f"{result.nanoseconds:,.0f}",
    ]


def _format_regret(regret: float) -> str:
    return f"{regret:,.4g}" if regret < 1e4 else f"{regret:,.0f}"


def format_ratio(ratio: float) -> str:
    """Return a ratio with two decimals, with one from 10 on, and with none from 100 on.

    Examples
    --------
    >>> [format_ratio(ratio) for ratio in (1, 1.234, 12.34, 1234.5)]
    ['1.00', '1.23', '12.3', '1,234']
    """
    if ratio < _TWO_DECIMALS_BELOW:
        return f"{ratio:.2f}"
    return f"{ratio:.1f}" if ratio < _ONE_DECIMAL_BELOW else f"{ratio:,.0f}"


def format_share(share: float) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> [format_share(share) for share in (0, 0.001, 0.5, 0.999, 1)]
    ['0', '0.1 %', '50 %', '99 %', '100 %']
    """
    percent = 100 * share
    if share == 0:
        return "0"
    if percent < _WHOLE_FROM:
        return f"{percent:.2g} %"
    if share < 1:
        percent = min(percent, _MAX_PERCENT_BELOW_ALL)
    return f"{percent:.0f} %"
