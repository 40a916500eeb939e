"""Random forests on house prices: which configuration to train, and when to give up on it.

Needs scikit-learn: install keyhole[forests].
"""

from dataclasses import dataclass
from importlib import resources
from itertools import product
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from keyhole.core.memory import FloatArray
from keyhole.core.validate import Range, integer, number
from keyhole.data.measured import Measured, read_measured_csv
from keyhole.data.worker import Worker
from keyhole.resource import Power, Problem
from keyhole.resource.functions import KnownFunction

_TARGET: Final = "Sale_Price"
_TEST: Final = 0.3  # of the houses are held out
_SEEDS: Final = 2**32


@dataclass(frozen=True)
class Configuration:
    """Parameters of a random forest.

    Parameters
    ----------
    trees : int
        How many.
    features : float
        Part of the features that a split may choose from.
    leaf : int
        Least number of houses in a leaf.
    sample : float
        Part of the houses that a tree is given.
    """

    trees: int
    features: float
    leaf: int
    sample: float

    def __str__(self) -> str:
        """Return the parameters, as an arm is called."""
        return (
            f"{self.trees} trees, {self.features:.2g} of the features, "
            f"leaves of {self.leaf}, {self.sample:g} of the houses"
        )


CONFIGURATIONS: Final = tuple(
    Configuration(*values)
    for values in product((10, 30, 100), (1 / 3, 2 / 3, 1.0), (1, 5), (0.5, 1.0))
)
"""The arms: three numbers of trees by three parts of the features, two leaves, two samples."""

_houses: dict[str, FloatArray] = {}


def _prepare() -> None:
    """Load houses and scikit-learn, before the time is taken."""
    import pyarrow.parquet as pq
    from sklearn.ensemble import RandomForestRegressor

    path = resources.files("keyhole.data").joinpath("ames", "houses.parquet")
    with resources.as_file(path) as file:
        table = pq.read_table(file)
    names = [name for name in table.column_names if name != _TARGET]
    columns = [table[name].to_numpy() for name in names]
    _houses["features"] = np.column_stack(columns).astype(np.float64)
    _houses["prices"] = table[_TARGET].to_numpy().astype(np.float64)
    RandomForestRegressor(n_estimators=1).fit(_houses["features"][:50], _houses["prices"][:50])


def train(job: tuple[Configuration, int]) -> float:
    """Train a forest on seven tenths of the houses, drawn anew; return how good it is on the rest.

    Parameters
    ----------
    job : tuple of (Configuration, int)
        What to train, and the seed of the split and the forest.

    Returns
    -------
    float
        One less the root mean squared error over the standard deviation of the prices, at least 0.
    """
    from sklearn.ensemble import RandomForestRegressor

    if not _houses:
        _prepare()
    configuration, seed = job
    features, prices = _houses["features"], _houses["prices"]
    order = np.random.default_rng(seed).permutation(len(prices))
    held_out, rest = np.split(order, [round(_TEST * len(prices))])
    forest = RandomForestRegressor(
        n_estimators=configuration.trees,
        max_features=configuration.features,
        min_samples_leaf=configuration.leaf,
        max_samples=None if configuration.sample == 1.0 else configuration.sample,
        random_state=seed % _SEEDS,
        n_jobs=1,
    )
    forest.fit(features[rest], prices[rest])
    error = forest.predict(features[held_out]) - prices[held_out]
    return float(max(0.0, 1.0 - np.sqrt(np.mean(error**2)) / prices[held_out].std()))


class Forests:
    """Real training with a real limit: what a learner decides is done, and ended when it is time.

    A run trains one configuration on a fresh random split of 2,930 houses in a process of its own;
    one that takes longer than its limit is ended. The arms are `CONFIGURATIONS`.

    Parameters
    ----------
    seed : int, default 0
        Of the splits and the forests; the n-th run has the same ones whatever was decided. Times
        are those of the machine, and differ from run to run.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> learner = RCUCB().learner(
    ...     arms=36, limits=[30, 60], cost=Power(slope=0.01), penalty=Power(slope=0.02)
    ... )
    >>> with Forests() as forests:
    ...     arm, limit = learner.ask()
    ...     done = forests.run(arm, limit)
    ...     learner.tell(exceeded=True) if done is None else learner.tell(*done)
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = integer("seed", seed, Range(ge=0))
        self._runs = 0
        self._worker = Worker(train, _prepare)

    def run(self, arm: int, limit: float) -> tuple[float, float] | None:
        """Train a configuration.

        Parameters
        ----------
        arm : int
            Which, from 0.
        limit : float
            Seconds, above 0.

        Returns
        -------
        tuple of (float, float) or None
            The reward, as `train` has it, and the seconds that it took; None if it was ended.

        Raises
        ------
        TypeError, ValueError
            If there is no such arm, or the limit is not allowed.
        RuntimeError
            If the training fails, or scikit-learn is missing.
        """
        at = integer("arm", arm, Range(ge=0, lt=len(CONFIGURATIONS)))
        allowed = number("limit", limit, Range(gt=0))
        self._runs += 1
        return self._worker.run((CONFIGURATIONS[at], self._seed + self._runs), allowed)

    def close(self) -> None:
        """End the process."""
        self._worker.close()

    def __enter__(self) -> Self:
        """Return the forests."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()


def load_forests() -> Measured:
    """Return runs of all configurations that were measured on one machine.

    Source and licence of the houses stand in the README beside the data.

    Returns
    -------
    Measured
        25 runs of each of the `CONFIGURATIONS`: rewards, and seconds of training.

    Examples
    --------
    >>> len(load_forests().arms)
    36
    """
    with resources.as_file(resources.files("keyhole.data").joinpath("ames", "forests.csv")) as path:
        return read_measured_csv(path)


def forests(
    limits: int = 11,
    *,
    cost: KnownFunction | None = None,
    penalty: KnownFunction | None = None,
) -> Problem:
    """Make a problem of random forests: which configuration to train, and when to give up on it.

    The runs are those of `load_forests`: a pull draws one of the configuration's. Limits lie evenly
    between the quartiles of the configurations' mean times, the upper of which is 1.

    Parameters
    ----------
    limits : int, default 11
        How many, at least 2.
    cost, penalty : Function or callable, optional
        Of times in units of the largest limit; by default the time, and ten times the limit, as in
        the PAR10 score, each divided by ten.

    Returns
    -------
    keyhole.resource.Problem
        The problem.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> forests(limits=3).arms
    36
    """
    runs = load_forests()
    low, high = runs.quartiles()
    scaled = Measured(
        runs.name, runs.arms, runs.rewards, tuple(used / high for used in runs.consumptions)
    )
    grid = np.linspace(low / high, 1.0, integer("limits", limits, Range(ge=2)))
    return scaled.problem(
        grid,
        cost=Power(slope=0.1) if cost is None else cost,
        penalty=Power(slope=1.0) if penalty is None else penalty,
    )


def measure_forests(runs: int, *, limit: float = 60.0, seed: int = 0) -> Measured:
    """Run every configuration so many times, and note what came of it.

    Parameters
    ----------
    runs : int
        Of each configuration, at least 1.
    limit : float, default 60
        Seconds after which a run is ended.
    seed : int, default 0
        Of splits and forests.

    Returns
    -------
    Measured
        Rewards and seconds; to be saved, and replayed as a problem. The configurations take turns,
        so that what else the machine does meets all alike.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `Forests.run`.
    """
    count = integer("runs", runs, Range(ge=1))
    found: list[list[Any]] = [[] for _ in CONFIGURATIONS]
    with Forests(seed) as forests:
        for _ in range(count):
            for arm, noted in enumerate(found):
                noted.append(forests.run(arm, limit) or (0.0, np.inf))
    table = np.array(found, np.float64)
    return Measured(
        "forests",
        tuple(map(str, CONFIGURATIONS)),
        tuple(table[:, :, 0]),
        tuple(table[:, :, 1]),
    )
