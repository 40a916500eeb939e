"""Random forests on house prices: which configuration to train, and when to give up on it.

Needs scikit-learn: install keyhole[forests].
"""

import time
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import Final, Self

import numpy as np

from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.data.measured_runs import MeasuredRuns, read_measured_csv
from keyhole.extras import require_extra
from keyhole.resource import Power, Problem
from keyhole.resource.cost_functions import KnownFunction
from keyhole.runner import LimitedProcess
from keyhole.validate import Range, check_integer, check_number

_TARGET: Final = "Sale_Price"
_TEST: Final = 0.3  # of a task's houses are held out
_SIZES: Final = (150, 450)  # houses of a task, from and to
_SPLITS: Final = 10  # of a thorough task
_THOROUGH: Final = 0.2  # of the tasks
_SEEDS: Final = 2**32


@dataclass(frozen=True)
class Configuration:
    """Parameters of a random forest."""

    trees: int
    features: float  # part of the features that a split may choose from
    leaf: int  # least number of houses in a leaf
    sample: float  # part of the houses that a tree is given

    def __str__(self) -> str:
        """Return the parameters, as an arm is called."""
        return (
            f"{self.trees} trees, {self.features:.2g} of the features, "
            f"leaves of {self.leaf}, {self.sample:g} of the houses"
        )


CONFIGURATIONS: Final = tuple(
    Configuration(*values)
    for values in product((4, 12, 40), (1 / 3, 2 / 3, 1.0), (1, 5), (0.5, 1.0))
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


def task(seed: int, houses: int) -> list[tuple[IntArray, IntArray]]:
    """Draw a task: some of the houses, and how they are split into those to learn and to judge.

    A task has 150 to 450 houses; four in five have one split, as in the paper, the fifth has ten.
    Three tenths of the houses of a split are held out.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.choice(houses, size=rng.integers(*_SIZES, endpoint=True), replace=False)
    splits = _SPLITS if rng.random() < _THOROUGH else 1
    test = round(_TEST * len(chosen))
    orders = (rng.permutation(chosen) for _ in range(splits))
    return [(order[test:], order[:test]) for order in orders]


def train(job: tuple[Configuration, int]) -> float:
    """Train a configuration on a task; return how good its forests are on the houses held out.

    That is one less the root mean squared error over the standard deviation of the prices, in the
    mean over the task's splits; at least 0.
    """
    from sklearn.ensemble import RandomForestRegressor

    if not _houses:
        _prepare()
    configuration, seed = job
    features, prices = _houses["features"], _houses["prices"]
    errors = []
    for learnt, judged in task(seed, len(prices)):
        forest = RandomForestRegressor(
            n_estimators=configuration.trees,
            max_features=configuration.features,
            min_samples_leaf=configuration.leaf,
            max_samples=None if configuration.sample == 1.0 else configuration.sample,
            random_state=seed % _SEEDS,
            n_jobs=1,
        )
        forest.fit(features[learnt], prices[learnt])
        error = forest.predict(features[judged]) - prices[judged]
        errors.append(np.sqrt(np.mean(error**2)) / prices[judged].std())
    return float(max(0.0, 1.0 - np.mean(errors)))


class Forests:
    """Real training with a real limit: what a learner decides is done, and ended when it is time.

    A run trains one configuration on a fresh task, see `task`, in a process of its own; one that
    takes longer than its limit is ended. The arms are `CONFIGURATIONS`.

    Parameters
    ----------
    seed : int, default 0
        Of the tasks and the forests; the n-th run has the same ones whatever was decided. Times
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
        require_extra("forests", "keyhole.data.Forests")
        self._seed = check_integer("seed", seed, Range(ge=0))
        self._runs = 0
        self._process = LimitedProcess(train, _prepare)

    def run(self, arm: int, limit: float) -> tuple[float, float] | None:
        """Train a configuration, by its number; return its reward, and the seconds it took.

        The reward is that of `train`; None is returned if it was ended, after `limit` seconds. If
        the training fails, that is a RuntimeError; see `keyhole.runner.LimitedProcess`.
        """
        at = check_integer("arm", arm, Range(ge=0, lt=len(CONFIGURATIONS)))
        allowed = check_number("limit", limit, Range(gt=0))
        self._runs += 1
        return self._process.run((CONFIGURATIONS[at], self._seed + self._runs), allowed)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def __enter__(self) -> Self:
        """Return the forests."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()


def load_forests() -> MeasuredRuns:
    """Return runs of all configurations that were measured on one machine.

    There are 40 runs of each of the `CONFIGURATIONS`, on the same tasks: rewards, as `train` has
    them, and seconds of a processor.

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
    r"""Make a problem of random forests: which configuration to train, and when to give up on it.

    The runs are those of `load_forests`: a pull draws one of the configuration's. Limits lie evenly
    between the quartiles of the configurations' median times, the upper of which is 1.

    Rewards and gains are one more than those of the paper, whose reward is minus the error, and 0
    for a run that is ended. The problem is that of the paper with
    :math:`\lambda(\tau) = 1 + \tau` where the penalty here is :math:`\tau`: whoever returns no
    forest fares like one who always answers with the mean price, and pays for the time.

    Parameters
    ----------
    limits : int, default 11
        How many, from 2 to 1,000.
    cost, penalty : Function or callable, optional
        Of times in units of the largest limit; by default the time, and ten times the limit, as in
        the PAR10 score, each divided by ten.

    References
    ----------
    Bengs and Huellermeier (2022), section 5.2.

    Examples
    --------
    >>> forests(limits=3).arms
    36
    """
    runs = load_forests()
    low, high = runs.quartiles()
    scaled = MeasuredRuns(
        runs.name, runs.arms, runs.rewards, tuple(used / high for used in runs.consumptions)
    )
    grid = np.linspace(low / high, 1.0, check_integer("limits", limits, Range(ge=2, le=1000)))
    return scaled.problem(
        grid,
        cost=Power(slope=0.1) if cost is None else cost,
        penalty=Power(slope=1.0) if penalty is None else penalty,
    )


def measure_forests(runs: int, *, seed: int = 0) -> MeasuredRuns:
    """Run every configuration so many times, and note what came of it.

    Noted are rewards, as `train` has them, and seconds of the processor that training and judging
    took; to be saved, and replayed as a problem. The configurations take turns, so that what else
    the machine does meets all alike. It needs scikit-learn.

    Parameters
    ----------
    runs : int
        Of each configuration, at least 1.
    seed : int, default 0
        Of the tasks and the forests; the n-th run has the same ones for all configurations.
    """
    count = check_integer("runs", runs, Range(ge=1))
    first = check_integer("seed", seed, Range(ge=0)) + 1
    _prepare()
    table = np.empty((count, len(CONFIGURATIONS), 2))
    for run, arm in np.ndindex(count, len(CONFIGURATIONS)):
        began = time.process_time()
        reward = train((CONFIGURATIONS[arm], first + run))
        table[run, arm] = reward, time.process_time() - began
    return MeasuredRuns(
        "forests",
        tuple(map(str, CONFIGURATIONS)),
        tuple(table[:, :, 0].T),
        tuple(table[:, :, 1].T),
    )
