"""Bayesian models of run times and failures: configurations and instances have effects."""

import math
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray

RunRows = NDArray[Any]
"""Runs as rows of a structured array: see `keyhole.tune.run_arrays.RunArray`."""
DRAWS: Final = 200
"""Number of draws from a posterior; estimates are means and quantiles of the draws."""
_BURN_IN: Final = 50
_TAIL_BEGIN: Final = 0.45
"""For bounds above this, more exponential proposals than normal ones are accepted."""
# Variances have inverse gamma priors of this shape, with which the mean of a prior is its scale.
# The scale is largest for instances, since they mostly differ most.
_SHAPE: Final = 2.0
_SCALE: Final = 1.0
_INSTANCE_SCALE: Final = 3.0
_FEATURE_SCALE: Final = 0.5
_MEAN_VARIANCE: Final = 9.0
"""Prior variance of the mean. The deviation is 3, which is a factor of 20 in time. If all runs are
censored, only this prior keeps the mean from growing."""


class RunTimeModel:
    r"""Gibbs sampler of a linear model of log run times, some of which are censored.

    .. math::
        \log t = a_c + b_i + e, \qquad a_c \sim N(\mu + x_c' \beta, v_a), \quad
        \beta_k \sim N(0, v_\beta), \quad b_i \sim N(0, v_b), \quad e \sim N(0, s^2 / w)

    for configuration c with features x, instance i and a run of weight w. The effects of the
    instances that were run have the sum 0. The prior of :math:`\mu` is normal with variance 9; its
    mean is the mean log time of the runs in the first Gibbs sweep. The variances have inverse gamma
    priors.

    Parameters
    ----------
    instance_count, feature_count : int
        Numbers of instances and of features.
    configuration_scale : float, default 1
        Prior mean of :math:`v_a`.

    Attributes
    ----------
    configuration_effects, instance_effects : ndarray
        The last draws of a and b.
    feature_effects : ndarray
        The last draw of :math:`\beta`.
    means, deviations : ndarray
        Mean and standard deviation of each a, given all other quantities.
    mean : float
        The last draw of :math:`\mu`.
    used_instances : ndarray of bool
        Which instances were run.
    variance, configuration_variance, instance_variance : float
        The last draws of :math:`s^2, v_a, v_b`.
    """

    def __init__(
        self, instance_count: int, feature_count: int, configuration_scale: float = _SCALE
    ) -> None:
        self._configuration_scale = configuration_scale
        self.configuration_effects: FloatArray = np.zeros(0)
        self.instance_effects: FloatArray = np.zeros(instance_count)
        self.means: FloatArray = np.zeros(0)
        self.deviations: FloatArray = np.zeros(0)
        self.feature_effects: FloatArray = np.zeros(feature_count)
        self._feature_variance = _FEATURE_SCALE
        self.used_instances = np.zeros(instance_count, np.bool_)
        self.mean = 0.0
        self._prior_mean = 0.0
        self.variance = 1.0
        self.configuration_variance = 1.0
        self.instance_variance = 1.0

    def sweep(self, runs: RunRows, features: FloatArray, rng: np.random.Generator) -> None:
        """Make a Gibbs sweep: draw each quantity once, given the others and the runs.

        `features` has a row for each configuration.
        """
        self._add_new_effects(runs, features)
        values = self._draw_values(runs, rng)
        residuals = values - self.configuration_effects[runs["configuration"]]
        self._draw_instance_effects(runs, residuals, rng)
        residuals = values - self.instance_effects[runs["instance"]]
        self._draw_configuration_effects(runs, residuals, features, rng)
        errors = residuals - self.configuration_effects[runs["configuration"]]
        self._draw_run_variance(rng, runs["weight"] * errors**2)

    def _add_new_effects(self, runs: RunRows, features: FloatArray) -> None:
        if not self.configuration_effects.size:
            self.mean = self._prior_mean = self._guess_mean(runs)
        new_features = features[len(self.configuration_effects) :]
        if len(new_features):
            new_effects = self.mean + new_features @ self.feature_effects
            self.configuration_effects = np.append(self.configuration_effects, new_effects)
        new_count = int(runs["instance"].max()) + 1 - len(self.instance_effects)
        if new_count > 0:
            self.instance_effects = np.append(self.instance_effects, np.zeros(new_count))

    @property
    def instance_mean_square(self) -> float:
        """Mean square of the effects of the instances that were run."""
        return float(np.mean(self.instance_effects[self.used_instances] ** 2))

    def _guess_mean(self, runs: RunRows) -> float:
        return float(runs["log_time"].mean())

    def _draw_run_variance(self, rng: np.random.Generator, squares: FloatArray) -> None:
        self.variance = _draw_variance(rng, _SCALE, squares, len(squares))

    def _sum_effects(self, runs: RunRows) -> FloatArray:
        effects = self.configuration_effects[runs["configuration"]]
        return np.asarray(effects + self.instance_effects[runs["instance"]])

    def _draw_values(self, runs: RunRows, rng: np.random.Generator) -> FloatArray:
        """Return the log times, with draws in place of censored ones."""
        log_times: FloatArray = runs["log_time"].copy()
        censored = runs[runs["is_censored"]]
        means = self._sum_effects(censored)
        deviations = np.sqrt(self.variance / censored["weight"])
        draws = draw_normals_above(rng, (censored["log_time"] - means) / deviations)
        log_times[runs["is_censored"]] = means + deviations * draws
        return log_times

    def _sum_evidence(
        self, runs: RunRows, column: str, residuals: FloatArray, count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return for each effect the sum of its runs' precisions, and of precision * residual."""
        weights = runs["weight"]
        precisions = np.bincount(runs[column], weights, count) / self.variance
        return precisions, np.bincount(runs[column], weights * residuals, count) / self.variance

    def _draw_instance_effects(
        self, runs: RunRows, residuals: FloatArray, rng: np.random.Generator
    ) -> None:
        count = len(self.instance_effects)
        precisions, sums = self._sum_evidence(runs, "instance", residuals, count)
        variances = 1.0 / (precisions + 1.0 / self.instance_variance)
        draws = variances * sums + np.sqrt(variances) * rng.standard_normal(count)
        # A normal vector is conditioned on a sum of 0: the excess is taken off in proportion to the
        # variances. Instances without runs are left out, since they would offset any sum of the
        # others, and the effects of all configurations would drift together.
        self.used_instances = used = precisions > 0.0
        excess = draws[used].sum() / variances[used].sum()
        self.instance_effects = draws - used * variances * excess
        squares = self.instance_effects[used] ** 2
        self.instance_variance = _draw_variance(rng, _INSTANCE_SCALE, squares, len(squares) - 1)

    def _draw_configuration_effects(
        self, runs: RunRows, residuals: FloatArray, features: FloatArray, rng: np.random.Generator
    ) -> None:
        count = len(features)
        precisions, sums = self._sum_evidence(runs, "configuration", residuals, count)
        prior_means = self.mean + features @ self.feature_effects
        prior_variance = self.configuration_variance
        variances = 1.0 / (precisions + 1.0 / prior_variance)
        self.means = variances * (sums + prior_means / prior_variance)
        self.deviations = np.sqrt(variances)
        self.configuration_effects = self.means + self.deviations * rng.standard_normal(count)

        unexplained_effects = self.configuration_effects - features @ self.feature_effects
        precision = count / prior_variance + 1.0 / _MEAN_VARIANCE
        total = unexplained_effects.sum() / prior_variance + self._prior_mean / _MEAN_VARIANCE
        self.mean = float(total / precision + rng.standard_normal() / math.sqrt(precision))
        centred_effects = self.configuration_effects - self.mean
        precisions = features.T @ features / prior_variance
        precisions += np.eye(len(precisions)) / self._feature_variance
        root = np.linalg.cholesky(precisions)
        scaled = np.linalg.solve(root, features.T @ centred_effects / prior_variance)
        scaled += rng.standard_normal(len(scaled))
        self.feature_effects = np.linalg.solve(root.T, scaled)
        squares = self.feature_effects**2
        self._feature_variance = _draw_variance(rng, _FEATURE_SCALE, squares, len(squares))
        squares = (centred_effects - features @ self.feature_effects) ** 2
        scale = self._configuration_scale
        self.configuration_variance = _draw_variance(rng, scale, squares, count)


class FailureModel(RunTimeModel):
    r"""Gibbs sampler of a probit model: a run fails if a normal number is above 0.

    .. math::
        z = a_c + b_i + e, \qquad e \sim N(0, 1 / w)

    with effects as in `RunTimeModel`. Its runs are those that failed or succeeded.

    Source: Albert and Chib (1993), the sampler of the probit model.
    """

    def _guess_mean(self, runs: RunRows) -> float:
        return 0.0

    def _draw_run_variance(self, rng: np.random.Generator, squares: FloatArray) -> None:
        """Keep the variance, which is 1."""

    def _draw_values(self, runs: RunRows, rng: np.random.Generator) -> FloatArray:
        """Draw z of each run: above 0 if the run failed, else below 0."""
        signs = np.where(runs["is_failed"], 1.0, -1.0)
        deviations = 1.0 / np.sqrt(runs["weight"])
        means = self._sum_effects(runs)
        draws = draw_normals_above(rng, -signs * means / deviations)
        return np.asarray(means + signs * deviations * draws)


class OutcomeModel:
    """Model of run times and failures: `RunTimeModel`, and `FailureModel` once a run has failed.

    The run times are those of runs that did not fail, or of all runs if all failed.

    Attributes
    ----------
    times, failures : RunTimeModel
        The two models.
    """

    def __init__(self, instance_count: int, feature_count: int) -> None:
        self.times = RunTimeModel(instance_count, feature_count)
        self.failures = FailureModel(instance_count, feature_count)

    def sweep(self, runs: RunRows, features: FloatArray, rng: np.random.Generator) -> None:
        """Sweep the models that have runs."""
        features = features[: int(runs["configuration"].max()) + 1]
        is_failed = runs["is_failed"]
        self.times.sweep(runs if is_failed.all() else runs[~is_failed], features, rng)
        if is_failed.any():
            self.failures.sweep(runs[is_failed | ~runs["is_censored"]], features, rng)

    def success_chances(self, effects: FloatArray) -> FloatArray | float:
        """Return the chances that runs on a random instance succeed, if they are not cut off.

        `effects` has a row for each of the `models`.
        """
        if len(effects) == 1:
            return 1.0
        return normal_cdf(-effects[1] / math.sqrt(1.0 + self.failures.instance_mean_square))

    @property
    def models(self) -> list[RunTimeModel]:
        """The models that have runs: of times, and of failures if there are any."""
        return [self.times, self.failures] if self.failures.means.size else [self.times]

    @property
    def means(self) -> FloatArray:
        """Means of effects of configurations, a row for each of the `models`."""
        return np.array([model.means for model in self.models])

    @property
    def deviations(self) -> FloatArray:
        """Standard deviations of effects of configurations, a row for each of the `models`."""
        return np.array([model.deviations for model in self.models])


Model = TypeVar("Model", RunTimeModel, OutcomeModel)


def posterior_sweeps(
    model: Model, runs: RunRows, features: FloatArray, rng: np.random.Generator
) -> Iterator[Model]:
    """Sweep a model for a burn-in, then yield it after each of `DRAWS` sweeps."""
    for sweep in range(-_BURN_IN, DRAWS):
        model.sweep(runs, features, rng)
        if sweep >= 0:
            yield model


def draw_feature_effects(
    model: RunTimeModel, runs: RunRows, features: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Return `DRAWS` posterior draws of the effects of features, a row for each draw."""
    swept_models = posterior_sweeps(model, runs, features, rng)
    return np.array([swept_model.feature_effects for swept_model in swept_models])


def _draw_variance(
    rng: np.random.Generator, scale: float, squares: FloatArray, freedom: int
) -> float:
    """Draw a variance given the squares of normal deviates with `freedom` degrees of freedom."""
    return float((scale + squares.sum() / 2) / rng.gamma(_SHAPE + freedom / 2))


def draw_normals_above(rng: np.random.Generator, bounds: FloatArray) -> FloatArray:
    """Draw standard normal numbers, each above its bound.

    Source: Robert (1995), Section 2.

    Examples
    --------
    >>> draws = draw_normals_above(np.random.default_rng(1), np.array([-2.0, 0.0, 10.0]))
    >>> bool(np.all(draws > [-2.0, 0.0, 10.0]))
    True
    """
    draws = np.empty(len(bounds))
    remaining = np.arange(len(bounds))
    while remaining.size:
        low = bounds[remaining]
        rates = (low + np.sqrt(low**2 + 4.0)) / 2
        is_tail = low > _TAIL_BEGIN
        normals = rng.standard_normal(len(low))
        proposals = np.where(is_tail, low + rng.exponential(size=len(low)) / rates, normals)
        chances = np.exp(-((proposals - rates) ** 2) / 2)
        is_accepted = np.where(is_tail, rng.random(len(low)) < chances, proposals > low)
        draws[remaining[is_accepted]] = proposals[is_accepted]
        remaining = remaining[~is_accepted]
    return draws


def normal_cdf(values: FloatArray) -> FloatArray:
    """Return the distribution function of the standard normal distribution.

    Examples
    --------
    >>> normal_cdf(np.array([0.0, 1.96])).round(3)
    array([0.5  , 0.975])
    """
    scaled = (values.ravel() * -math.sqrt(0.5)).tolist()
    return 0.5 * np.fromiter(map(math.erfc, scaled), float, values.size).reshape(values.shape)
