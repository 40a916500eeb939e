"""Claim (statement of a paper) that an estimate, such as a mean or a ratio, lies in a range."""

from collections.abc import Mapping
from typing import Literal

from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.bounds import check_bound
from keyhole.papers.claims.estimate_fields import EstimateFields
from keyhole.papers.claims.estimated_quantities import JUDGE_POLICY, JUDGE_TWO_CELLS
from keyhole.play.plan import Plan


class EstimateClaim(EstimateFields):
    r"""An estimate lies between `low` and `high`; `of` says what is estimated.

    Of a policy on a problem:

    - ``mean``: the mean of the metric.
    - ``proportion``: the share of replications whose metric lies between `metric_low` and
      `metric_high`, with its exact interval (Clopper and Pearson, 1934). A share of 1 in n
      replications is compatible with a true share as low as 0.025 to the power 1/n.
    - ``growth``: the mean at `late` over that at `early`; with `ratio_to`, of the mean divided by
      that of another policy.
    - ``gain``: the mean at `late` less that at `early`, which what came before, such as a search,
      does not change; by the round with `each_round`. With a `bound`, the range is in multiples of
      the gain of that bound.
    - ``slope``: :math:`(R(b) - R(a)) / (\ln b - \ln a)`, to compare with the constant of a
      logarithmic bound.
    - ``level``: the mean, or ln(mean / arms), is within `std_errors` standard errors of the
      `levels`: those of the difference, of what was measured and of the levels.
    - ``log-endpoint``: ln(mean / arms) at the horizon; by default of the lowest curve.
    - ``value``: the metric has one `value`, by default for all policies, at every checkpoint in
      every replication.

    Of two cells, `cell` and `over`, paired replication by replication:

    - ``ratio``, ``difference``: of their means.
    - ``deviation-ratio``: of their standard deviations, with the interval of the jackknife of its
      logarithm (Miller 1968, "Jackknifing variances"), which needs no normal distribution.
    - ``gain-ratio``: of what they gain from `early` to `late`.

    Intervals of ratios of means come from the delta method. The claim holds if the 95 % interval
    lies in the range at every round, and does not hold if it lies outside at some (with several
    rounds: significantly outside, adjusted by Holm). Where a denominator, or a standard deviation,
    may be 0, it is undecided.
    """

    kind: Literal["estimate"]

    @property
    def judged_by(self) -> str:
        """The kind, and what is estimated."""
        return f"{self.kind}: {self.of}"

    def check(self, plan: Plan) -> None:
        """Refuse a bound of another setting, or one that has no value at the checkpoints."""
        if self.bound is not None:
            check_bound(self.bound, self.policy or "", plan, self.ends)

    def judge_policy(self, results: Mapping[str, Result], policy: str) -> Finding:
        """Compare the intervals of the estimates with their ranges."""
        if self.cells is not None:
            return JUDGE_TWO_CELLS[self.of](self, results, self.cells)
        return JUDGE_POLICY[self.of](self, results[self.problem or ""], policy)
