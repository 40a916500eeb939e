"""Policy ODAAFB for late rewards: plays in phases sized for bounded delays."""

import numpy as np

from keyhole.delayed.policy_base import PhasePolicy, least_pulls, phase_log_term
from keyhole.policy import parameter
from keyhole.validation import Range, check_number


class ODAAFB(PhasePolicy):
    r"""Pull arms in phases sized for bounded delays, with bridges for late rewards between them.

    It is better than `ODAAF` if a bound on the delays is known, since the bridges keep late rewards
    of a phase out of the next phase. If the bound is at most two or three times the expected delay,
    `NaivePhases` is better still.

    It plays the phases of `keyhole.delayed.PhasePolicy` with bridges; see there for m,
    :math:`n_m`, :math:`\tilde\Delta_m` and bridges. Let T be the horizon,
    :math:`L = \ln(T \tilde\Delta_m^2)` and

    .. math:: n_m = \Big\lceil \max\Big\{ m \tilde d_m, \;
        \frac{1}{\tilde\Delta_m^2} \Big( \sqrt{2 L} + \sqrt{2 L + \tfrac83 \tilde\Delta_m L
        + 4 \tilde\Delta_m \mathbb{E}[\tau]} \Big)^2 \Big\} \Big\rceil, \qquad
        \tilde d_m = \min\{ d, \, n_m^{\text{ODAAF}} / m \}

    Parameters
    ----------
    expected_delay : float
        :math:`\mathbb{E}[\tau]`, the expected delay in rounds, or an upper bound; at least 0.
    bound : int
        The longest delay d in rounds, at least the expected one.

    Notes
    -----
    Departures from the paper: as for `ODAAF`, with the constants of Appendix D. In a bridge, the
    paper allows any remaining arm; here the arm with the best average is pulled, since any worse
    arm would only cost more.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), "Bandits with Delayed, Aggregated
    Anonymous Feedback", ICML; Algorithm 1, equation (4.2) and Appendix D.

    Examples
    --------
    >>> ODAAFB(expected_delay=50, bound=100).phase_lengths(horizon=250_000, phases=4)
    [1076, 2746, 7359, 20491]
    """

    expected_delay: float = parameter(ge=0, doc="expected delay, or an upper bound")
    bound: int = parameter(ge=0, le=2**52, doc="longest delay")

    def __post_init__(self) -> None:
        """Check that the bound is at least the expected delay."""
        super().__post_init__()
        check_number("bound", self.bound, Range(ge=self.expected_delay))

    def longest_delay(self) -> float:
        """Return the bound."""
        return self.bound

    def has_bridge(p) -> bool:
        """Return True: a bridge follows each phase."""
        return True

    def length(p, phase: int, tolerance: float) -> float:
        """Return n_m, not rounded."""
        log = phase_log_term(p.horizon, tolerance)
        odaaf_pulls = least_pulls(tolerance, log, 4.0 / 3.0 * log + 3.0 * phase * p.expected_delay)
        pulls = least_pulls(tolerance, log, 4.0 / 3.0 * log + 2.0 * p.expected_delay)
        # The first term is m times d-tilde: the smaller of m d and the n_m of `ODAAF`, rounded up.
        return max(min(float(phase * p.bound), float(np.ceil(odaaf_pulls))), pulls)
