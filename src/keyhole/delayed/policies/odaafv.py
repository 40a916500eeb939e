"""Policy ODAAFV for late rewards: plays in phases sized by the delays' variance."""

from keyhole.delayed.policy_base import PhasePolicy, least_pulls, phase_log_term
from keyhole.policy import parameter
from keyhole.validation import Range, check_number


class ODAAFV(PhasePolicy):
    r"""Pull arms in phases sized by the delays' variance, with bridges for late rewards in between.

    It is better than `ODAAF` where delays have no bound and their variance is not much larger than
    the expected delay (Poisson delays, say). It is worse for heavy-tailed delays, whose variance is
    large.

    It plays the phases of `keyhole.delayed.PhasePolicy` with bridges; see there for m,
    :math:`n_m`, :math:`\tilde\Delta_m` and bridges. Let T be the horizon,
    :math:`L = \ln(T \tilde\Delta_m^2)` and

    .. math:: n_m = \Big\lceil \frac{1}{\tilde\Delta_m^2} \Big( \sqrt{2 L} +
        \sqrt{2 L + \tfrac83 \tilde\Delta_m L
        + 4 \tilde\Delta_m (\mathbb{E}[\tau] + 2 \mathbb{V}[\tau])} \Big)^2
        \Big\rceil

    Parameters
    ----------
    expected_delay : float
        :math:`\mathbb{E}[\tau]`, the expected delay in rounds, or an upper bound; at least 0.
    variance : float
        :math:`\mathbb{V}[\tau]`, the variance of the delay, or an upper bound. Since delays are
        whole numbers, it is at least f (1 - f), f being the fractional part of the expected delay.

    Notes
    -----
    Departures from the paper: as for `ODAAFB`, with the constants of Appendix E.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), "Bandits with Delayed, Aggregated
    Anonymous Feedback", ICML; Algorithm 1, equation (6) and Appendix E.

    Examples
    --------
    >>> ODAAFV(expected_delay=50, variance=50).phase_lengths(horizon=250_000, phases=4)
    [2126, 4986, 12149, 30698]
    """

    expected_delay: float = parameter(ge=0, doc="expected delay, or an upper bound")
    variance: float = parameter(ge=0, doc="variance of the delay, or an upper bound")

    def __post_init__(self) -> None:
        """Check that delays in whole rounds can have this mean and this variance."""
        super().__post_init__()
        fraction = self.expected_delay % 1.0
        check_number("variance", self.variance, Range(ge=fraction * (1.0 - fraction)))

    def has_bridge(p) -> bool:
        """Return True: a bridge follows each phase."""
        return True

    def length(p, phase: int, tolerance: float) -> float:
        """Return n_m, not rounded."""
        log = phase_log_term(p.horizon, tolerance)
        delay_bias = 2.0 * p.expected_delay + 4.0 * p.variance
        return least_pulls(tolerance, log, 4.0 / 3.0 * log + delay_bias)
