"""Policy NaivePhases for late rewards: plays in phases sized for the longest delay."""

import math

from keyhole.delayed.policy_base import PhasePolicy, phase_log_term
from keyhole.policy import parameter


class NaivePhases(PhasePolicy):
    r"""Pull arms in phases sized for the longest delay, and give up arms that fall behind.

    It needs the longest delay only. Among the policies in phases it is the best choice if the
    longest delay is at most two or three times the expected delay; at twice the expected delay, its
    regret is about half the regret of `ODAAF`. Its phases grow with the longest delay, the phases
    of `ODAAF` with the expected delay. If the longest delay is 20 times the expected delay, the
    regret is nearly four times the regret of `ODAAF`. To compare, call `phase_lengths` of both.

    It plays the phases of `keyhole.delayed.PhasePolicy` without bridges; see there for m,
    :math:`n_m`, :math:`\tilde\Delta_m` and bridges. Let T be the horizon,
    :math:`L = \ln(T \tilde\Delta_m^2)` and

    .. math:: n_m = \Big\lceil \frac{1}{2 \tilde\Delta_m^2} \Big( \sqrt{L} + \sqrt{L +
        4 \tilde\Delta_m m d} \Big)^2 \Big\rceil

    Parameters
    ----------
    bound : int
        The longest delay d in rounds, at least 0.

    Notes
    -----
    Departures from the paper: the constants are derived here, since the paper gives the order only.
    In every phase at most d rewards of other arms come in and at most d of the arm's own stay out,
    so after phase m the average is off by at most :math:`m d / n_m`. If L falls below 1, 1 is
    taken. Arms are played in the order of their numbers; the paper leaves the order open.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), "Bandits with Delayed, Aggregated
    Anonymous Feedback", ICML; Appendix B, equation (10), for the idea.

    Examples
    --------
    >>> NaivePhases(bound=100).phase_lengths(horizon=250_000, phases=4)
    [638, 2475, 7645, 21507]
    """

    bound: int = parameter(ge=0, le=2**52, doc="longest delay")

    def longest_delay(self) -> float:
        """Return the bound."""
        return self.bound

    def length(p, phase: int, tolerance: float) -> float:
        """Return n_m, not rounded."""
        log = phase_log_term(p.horizon, tolerance)
        # The smallest n with sqrt(L / (2 n)) + m d / n <= tolerance / 2; compare `least_pulls`.
        root_sum = math.sqrt(log) + math.sqrt(log + 4.0 * tolerance * phase * p.bound)
        return 0.5 * (root_sum / tolerance) ** 2
