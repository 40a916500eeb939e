"""Policy AnytimeZoomingRCUCB: plays ZoomingRCUCB for a number of rounds that is not known."""

import math

from keyhole.policy import FloatArray, IntArray, Kernel, float_array, int_array
from keyhole.resource.policies.zooming import ZoomingRCUCB, learn_from_run
from keyhole.resource.refined_grid_policy import find_finest_pair, log_confidence_ratio, start_grids


class AnytimeZoomingRCUCB(ZoomingRCUCB):
    r"""Play `ZoomingRCUCB` for 1, 2, 4, ... rounds, each time from the beginning.

    For an unknown number of rounds: the horizon only sets the size of the memory. Period m = 0, 1,
    2, ... follows the rule of `ZoomingRCUCB` with

    .. math:: T = 2^m

    rounds and without the observations of earlier periods. The last complete period gives the
    recommendation. The regret is 1.6 to 2.9 times that of `ZoomingRCUCB`, which knows the number
    of rounds.

    Parameters
    ----------
    alpha, delta, refine, lipschitz, gain_range
        See `ZoomingRCUCB`.

    Notes
    -----
    Departures from the paper: the paper only names the doubling trick; ours are a first period of
    one round, no transfer between periods, and the recommendation of the last complete period.

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
    ...     learner.tell(reward=0.9, consumption=limit / 2)
    >>> learner.ask()  # a new period
    (0, 1.0)
    """

    pending = ("wait",)

    class State(ZoomingRCUCB.State):
        """State of the present period, its length and start; the last period's recommendation."""

        period = int_array()
        """Length of the present period in rounds."""
        begun = int_array()
        """The last round before the present period."""
        found_arm = int_array()
        found_limit = float_array()

    def _least_length(self, horizon: int) -> float:
        """Return the smallest confidence length if f is 1, over all periods but the first."""
        # Every period has its own T, and the horizon may cut the last period short. The only round
        # of the first period splits at most one interval, for which every grid has room.
        period = 2
        smallest = math.inf
        while period < 2 * max(horizon, 2):
            log = log_confidence_ratio(period, self.delta)
            smallest = min(smallest, math.sqrt(0.5 * self.alpha * log / min(period, horizon)))
            period *= 2
        return smallest

    def init(p, s: State) -> None:  # type: ignore[override]
        """Start the first period."""
        s.period[0] = 1
        start_grids(p, s)

    def planned_rounds(p, s: State) -> int:  # type: ignore[override]
        """Return T, the number of rounds of the present period."""
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
        factor: Kernel,
        planned_rounds: Kernel,
    ) -> None:
        """Learn as `ZoomingRCUCB` does; at the end of a period keep only its recommendation."""
        elapsed = t - s.begun[0]
        rounds = planned_rounds(p, s)
        learn_from_run(p, s, elapsed, arm, limit, reward, consumption, exceeded, factor, rounds)
        if elapsed < rounds:
            return
        s.found_arm[0], s.found_limit[0] = find_finest_pair(p, s)
        s.begun[0] = t
        s.period[0] *= 2
        # The arrays `limits`, `consumptions` and `gains` need no reset: they are read only through
        # the linked lists of rounds, which are now empty.
        s.plays[:] = 0
        s.first[:] = 0
        s.last[:] = 0
        s.following[:] = 0
        start_grids(p, s)

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:  # type: ignore[override]
        """Recommend what the last complete period recommended."""
        best_arm[0], best_limit[0] = s.found_arm[0], s.found_limit[0]
