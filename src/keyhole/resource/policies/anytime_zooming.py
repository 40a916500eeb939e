"""z-RCUCB that need not know the horizon: the doubling trick."""

import math

from keyhole.policy import FloatArray, IntArray, Kernel, float_array, int_array
from keyhole.resource.limit_grid import finest_width, log_ratio, start_grids
from keyhole.resource.policies.zooming import ZoomingRCUCB, learn


class AnytimeZoomingRCUCB(ZoomingRCUCB):
    r"""Play `ZoomingRCUCB` for 1, 2, 4, ... rounds, each time from the beginning.

    For those who do not know how many rounds there will be: the horizon only says for how many
    there must be memory, and no decision depends on it. In period m = 0, 1, 2, ... the rule
    is that of `ZoomingRCUCB` with

    .. math:: T = 2^m

    rounds, and with nothing of earlier periods. Recommended is what the last complete period
    recommends. It costs: on the three instances of `keyhole.resource.replica`, with T = 10,000,
    alpha = 0.02 and L = 2, its regret is 1.6 to 2.9 times, its simple regret 1.6 to 3.9 times that
    of `ZoomingRCUCB`, which knows T.

    Parameters
    ----------
    alpha, delta, refine, lipschitz, gain_range
        See `ZoomingRCUCB`.

    Notes
    -----
    Departures from the paper: it names the doubling trick, and no more; the first period is one
    round long, nothing is carried over, and the recommendation is that of the last period that is
    complete.

    References
    ----------
    Bengs and Huellermeier (2022), "Multi-Armed Bandits with Censored Consumption of Resources",
    Machine Learning; section 4.1, after Cesa-Bianchi and Lugosi (2006), "Prediction, Learning,
    and Games".

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = AnytimeZoomingRCUCB(lipschitz=4).learner(
    ...     arms=1, limits=[1.0], cost=Power(slope=0.1), penalty=Power(constant=0.2),
    ...     continuous=True, horizon=1000,
    ... )
    >>> for _ in range(255):
    ...     arm, limit = learner.ask()
    ...     if limit < 0.4:
    ...         learner.tell(exceeded=True)
    ...     else:
    ...         learner.tell(reward=0.9, consumption=0.4)
    >>> 0.4 <= learner.recommend()[1] < 1.0
    True
    >>> learner.ask()  # a new period
    (0, 1.0)
    """

    pending = ("wait",)

    class State(ZoomingRCUCB.State):
        """Beside the present period, its length, where it began, and what the last one found."""

        period = int_array()
        begun = int_array()
        found_arm = int_array()
        found_limit = float_array()

    def _least_root(self, horizon: int) -> float:
        """Return the smallest root in a confidence length of any period but the first."""
        length, least = 2, math.inf
        while length < 2 * max(horizon, 2):
            log = log_ratio(length, self.delta)
            least = min(least, math.sqrt(0.5 * self.alpha * log / min(length, horizon)))
            length *= 2
        return least

    def init(p, s: State) -> None:  # type: ignore[override]
        """Begin the first period."""
        s.period[0] = 1
        start_grids(p, s)

    def planned(p, s: State) -> int:  # type: ignore[override]
        """Return how long the period is."""
        return int(s.period[0])

    def update(  # type: ignore[override]
        p,
        s: State,
        t: int,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
        width: Kernel,
        planned: Kernel,
    ) -> None:
        """Learn as `ZoomingRCUCB` does; at the end of the period forget all but its best pair."""
        learn(p, s, t - s.begun[0], arm, limit, reward, consumption, exceeded, width, planned(p, s))
        if t - s.begun[0] < s.period[0]:
            return
        s.found_arm[0], s.found_limit[0] = finest_width(p, s)
        s.begun[0] = t
        s.period[0] *= 2
        for i in range(p.arms):
            s.plays[i] = 0
            s.first[i] = 0
            s.last[i] = 0
        for i in range(p.horizon):
            s.following[i] = 0
        start_grids(p, s)

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:  # type: ignore[override]
        """Name the pair that the last complete period found."""
        best_arm[0], best_limit[0] = s.found_arm[0], s.found_limit[0]
