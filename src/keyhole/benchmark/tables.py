"""Tables of the benchmark, on its page and on a terminal."""

from typing import Final

from keyhole.benchmark.results_file import ProblemRecord, ResultRecord
from keyhole.benchmark.summary import SituationSummary, Standing, ratio_to_best
from keyhole.pages.table import Table
from keyhole.results.estimate import Estimate

_PLAIN_BELOW: Final = 100
_WHOLE_FROM: Final = 10
_MOST_OF_SOME: Final = 99  # per cent: 100 is all of them

HEAD: Final = (
    "policy", "ratio", "largest ratio", "worst run", "rank", "first on", "linear runs", "ns",
)  # fmt: skip


def situation_table(summary: SituationSummary) -> Table:
    """Return the table of a situation: a row for each policy, the recommended one first."""
    count = len(summary.problems)
    rows = [_standing_row(summary, one) for one in summary.standings]
    problems = f"{count} problem{'' if count == 1 else 's'} for {summary.part}"
    return Table(f"{summary.title}: {problems}", HEAD, rows)


def _standing_row(summary: SituationSummary, one: Standing) -> list[str]:
    marks = " (yardstick)" if one.is_yardstick else ""
    played, count = len(one.ranks), len(summary.problems)
    marks += f" (plays {played} of {count})" if played < count else ""
    return [
        f"{one.policy}{marks}",
        format_ratio(one.ratio),
        format_ratio(one.largest_ratio),
        format_ratio(one.worst_run),
        # Yardsticks know what is unknown in practice, and so have no rank among the others.
        "" if one.is_yardstick else f"{one.rank:.1f}",
        "" if one.is_yardstick else f"{one.firsts} of {played}",
        format_share(one.linear_share),
        f"{one.nanoseconds:,.0f}",
    ]


def problem_table(problem: ProblemRecord) -> Table:
    """Return the table of a problem: a row for each policy, the smallest mean first."""
    order = sorted(problem.results, key=lambda one: one.mean)
    caption = (
        f"{problem.name}: {problem.title}. {problem.replications} replications of "
        f"{problem.horizon:,} rounds; {problem.part}"
    )
    head = ["policy", "mean", "90 % quantile", "worst run", "linear runs", "ratio", "rank", "ns"]
    return Table(caption, head, [_result_row(problem, one) for one in order])


def _result_row(problem: ProblemRecord, one: ResultRecord) -> list[str]:
    mean = Estimate(one.mean, one.std_error, problem.replications)
    return [
        f"{one.policy} (yardstick)" if one.yardstick else one.policy,
        mean.plus_minus().removesuffix(" in every run"),
        f"{one.quantile_90:,.4g}" if one.quantile_90 < 1e4 else f"{one.quantile_90:,.0f}",
        f"{one.worst:,.4g}" if one.worst < 1e4 else f"{one.worst:,.0f}",
        format_share(one.linear / problem.replications),
        format_ratio(ratio_to_best(problem, one.mean)),
        "" if one.yardstick else str(1 + len(one.better)),
        f"{one.nanoseconds:,.0f}",
    ]


def format_ratio(ratio: float) -> str:
    """Return a ratio with two decimals; of a large one, none.

    Examples
    --------
    >>> [format_ratio(ratio) for ratio in (1, 1.234, 12.34, 1234.5)]
    ['1.00', '1.23', '12.3', '1,234']
    """
    if ratio < _PLAIN_BELOW / 10:
        return f"{ratio:.2f}"
    return f"{ratio:.1f}" if ratio < _PLAIN_BELOW else f"{ratio:,.0f}"


def format_share(share: float) -> str:
    """Return a share in per cent.

    Examples
    --------
    >>> [format_share(share) for share in (0, 0.001, 0.5, 0.999, 1)]
    ['0', '0.1 %', '50 %', '99 %', '100 %']
    """
    percent = 100 * share
    if percent < _WHOLE_FROM:
        return f"{percent:.2g} %" if share else "0"
    return f"{percent if share == 1 else min(percent, _MOST_OF_SOME):.0f} %"
