"""Evidence that one option's mean reward is above another's, for kernels (compiled functions)."""

from keyhole.confidence_sequences import binary_entropy, log_beta


def log_loss(pulls: float, total: float) -> float:
    r"""Return :math:`n H(\hat\mu)`: minus the largest logarithm of the likelihood of rewards."""
    return pulls * binary_entropy(min(total / pulls, 1.0)) if pulls > 0.0 else 0.0


def transport_cost(pulls: float, total: float, other_pulls: float, other_total: float) -> float:
    r"""Return the cost to explain two arms' rewards by one mean; 0 if the first's is no higher.

    It is :math:`n_1 \mathrm{kl}(\hat\mu_1, m) + n_2 \mathrm{kl}(\hat\mu_2, m)` with m the mean of
    all rewards: the logarithm of the likelihood ratio. Both arms have pulls.
    """
    if total / pulls <= other_total / other_pulls:
        return 0.0
    own = log_loss(pulls, total) + log_loss(other_pulls, other_total)
    return max(log_loss(pulls + other_pulls, total + other_total) - own, 0.0)


def is_mean_higher(
    pulls: float, total: float, other_pulls: float, other_total: float, level: float
) -> bool:
    r"""Return whether the e-process against "the first mean is at most the second" is exp(level).

    See `keyhole.stochastic.BestArmStopping`. Most calls take a few operations: the e-process is at
    most the likelihood ratio, which is at most the exponential of
    :math:`\frac{n_1 n_2}{n_1 + n_2} \frac{(\hat\mu_1 - \hat\mu_2)^2}{m (1 - m)}`.
    """
    gap = total / pulls - other_total / other_pulls
    both = pulls + other_pulls
    mean = (total + other_total) / both
    if gap <= 0.0 or pulls * other_pulls / both * gap * gap < level * mean * (1.0 - mean):
        return False
    mixtures = log_beta(total, pulls - total) + log_beta(other_total, other_pulls - other_total)
    return mixtures + log_loss(both, total + other_total) >= level
