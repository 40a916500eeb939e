"""Problem that measures how often running means leave bounds which should hold at all times.

It is a test of the theory behind policies that label options (arms) as above or below a threshold:
their guarantees need bounds on the mean of an arm's rewards that hold after every pull.
"""

import math
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from keyhole.policy import (
    Environment,
    Metric,
    Stream,
    float_array,
    int_array,
    integer,
    number,
    seek_pull,
    uniform,
)
from keyhole.thresholding.bounds import confidence_failure
from keyhole.thresholding.environment import RewardEnvironment
from keyhole.thresholding.problem import Problem
from keyhole.validate import Range, check_number, check_vector


class ConfidenceSequences(RewardEnvironment):
    """Environment that records whether the running means of Bernoulli arms leave their bounds."""

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("lemma_19_misses", "chance of ever leaving Lemma 19's bound", drawn="share"),
        Metric("third_width_misses", "chance of ever leaving a third of it", drawn="share"),
        Metric(
            "maximal_misses",
            "chance of ever leaving Hoeffding's maximal inequality",
            drawn="share",
        ),
        Metric("narrower_share", "share of rounds in which Lemma 19 is the narrower"),
        Metric("radius_ratio", "Lemma 19's radius over the other's"),
    )
    helpers = ()

    horizon = integer()
    means = float_array("arms")
    a = number()
    b = number()
    failure = number()

    class State:
        """Pulls and summed rewards of each arm; the bounds that were left, and their radii."""

        pulls = int_array("arms")
        totals = float_array("arms")
        missed = float_array(3)
        narrower = float_array()
        ratio = float_array()

    def respond(e, s: State, rng: Stream, arm: int) -> float:  # type: ignore[override]
        """Return the reward of the arm's next pull, and compare the mean with its bounds."""
        seek_pull(rng, arm, s.pulls[arm])
        reward = 1.0 if uniform(rng) < e.means[arm] else 0.0
        s.pulls[arm] += 1
        s.totals[arm] += reward
        t = float(s.pulls[arm])
        # The bounds hold after each pull of the arm, so its own pulls are the time, not the rounds.
        off = abs(s.totals[arm] / t - e.means[arm])
        radius = math.sqrt((e.a + e.b * math.log(e.horizon / t)) / t)
        maximal = math.sqrt(e.horizon / 2.0 * math.log(2.0 / e.failure)) / t
        if off > radius:
            s.missed[0] = 1.0
        if off > radius / 3.0:
            s.missed[1] = 1.0
        if off > maximal:
            s.missed[2] = 1.0
        if radius < maximal:
            s.narrower[0] += 1.0
        s.ratio[0] = radius / maximal
        return reward

    def score(e, s: State, t: int, metrics: Any) -> None:  # type: ignore[override]
        """Write which bounds were ever left, and their radii."""
        metrics.lemma_19_misses[0] = s.missed[0]
        metrics.third_width_misses[0] = s.missed[1]
        metrics.maximal_misses[0] = s.missed[2]
        metrics.narrower_share[0] = s.narrower[0] / t
        metrics.radius_ratio[0] = s.ratio[0]


class ConfidenceCoverageProblem(Problem):
    """Problem that compares running means of Bernoulli arms with Lemma 19; L is the horizon.

    The metrics of `keyhole.simulate` are 1 if the mean of any arm has ever left a bound:
    ``lemma_19_misses`` (`keyhole.thresholding.bounds.confidence_sequence`), ``third_width_misses``
    (a third of its radius) and ``maximal_misses`` (for the same chance of failure,
    `keyhole.thresholding.bounds.maximal_inequality`); ``narrower_share``, the share of rounds in
    which Lemma 19 was the narrower; and ``radius_ratio``, its radius over the other's at the last
    pull.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    threshold : float, default 0.5
        In (0, 1); only the policy depends on it.
    a, b : float
        Constants of Lemma 19, above 0, with a chance of failure below 1.

    References
    ----------
    Tao et al. (2019), Lemma 19.

    Examples
    --------
    >>> problem = ConfidenceCoverageProblem([0.5], a=12, b=1)
    >>> round(problem.failure, 3)
    0.034
    """

    def __init__(self, means: ArrayLike, threshold: float = 0.5, *, a: float, b: float) -> None:
        super().__init__(check_vector("means", means, Range(ge=0, le=1)), threshold)
        self.a, self.b = check_number("a", a, Range(gt=0)), check_number("b", b, Range(gt=0))
        self.failure = confidence_failure(self.a, self.b)
        if self.failure >= 1.0:
            raise ValueError(
                f"a must be larger for b = {b:g}, for a chance of failure below 1; got {a:g}"
            )

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        return ConfidenceSequences

    def truth(self) -> dict[str, Any]:
        """Return the fields of the environment, which no policy sees."""
        numbers = {"means": self.means, "a": self.a, "b": self.b, "failure": self.failure}
        return super().truth() | numbers
