"""Policy ODAAF for late rewards: plays in phases sized for the expected delay."""

from keyhole.delayed.policy_base import PhasePolicy, least_pulls, phase_log_term
from keyhole.policy import parameter


class ODAAF(PhasePolicy):
    r"""Pull arms in phases sized for the expected delay, and give up arms that fall behind.

    It needs the expected delay only, and its regret does not depend on how long rare delays are.
    `ODAAFV` has less regret if the variance is small, and `ODAAFB` if a bound on the delays is
    known. If this bound is at most two or three times the expected delay, use `NaivePhases`.

    It plays the phases of `keyhole.delayed.PhasePolicy` without bridges; see there for m,
    :math:`n_m`, :math:`\tilde\Delta_m` and bridges. Let T be the horizon,
    :math:`L = \ln(T \tilde\Delta_m^2)` and

    .. math:: n_m = \Big\lceil \frac{1}{\tilde\Delta_m^2} \Big( \sqrt{2 L} + \sqrt{2 L +
        \tfrac83 \tilde\Delta_m L + 6 \tilde\Delta_m m \mathbb{E}[\tau]} \Big)^2 \Big\rceil

    Parameters
    ----------
    expected_delay : float
        :math:`\mathbb{E}[\tau]`, the expected delay in rounds, or an upper bound; at least 0.

    Notes
    -----
    Departures from the paper: the constants come from the proofs (Appendix C), since the main text
    has none. The paper is read as follows: if L falls below 1, 1 is taken, since the formula has no
    meaning if L is 0 or less. Arms are played in the order of their numbers (open in the paper).

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), "Bandits with Delayed, Aggregated
    Anonymous Feedback", ICML; Algorithm 1, equation (2) and Appendix C.

    Examples
    --------
    >>> ODAAF(expected_delay=50).phase_lengths(horizon=250_000, phases=4)
    [1350, 4986, 15471, 44558]
    """

    expected_delay: float = parameter(ge=0, doc="expected delay, or an upper bound")

    def length(p, phase: int, tolerance: float) -> float:
        """Return n_m, not rounded; the bias is half of 8/3 L + 6 m E[tau]."""
        log = phase_log_term(p.horizon, tolerance)
        return least_pulls(tolerance, log, 4.0 / 3.0 * log + 3.0 * phase * p.expected_delay)
