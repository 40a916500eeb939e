"""Training runs of random forests, as the problem of choosing parameters and a time limit."""

from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import Final, Self

import numpy as np

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.data.recorded_consumptions import MeasuredRuns, read_measured_runs_csv
from keyhole.extras import require_extra
from keyhole.resource import Power, Problem
from keyhole.resource.cost_functions import KnownFunction
from keyhole.runner import FunctionProcess
from keyhole.validation import DEFAULT_SEED, Range, check_integer, check_number

_TARGET: Final = "Sale_Price"
_TEST_SHARE: Final = 0.3  # of a task's houses: these are held out
_TASK_SIZES: Final = (150, 450)  # smallest and largest number of houses of a task
_SPLITS: Final = 10  # train-test splits of a thorough task; other tasks have one
_THOROUGH_SHARE: Final = 0.2  # of the tasks: these are thorough
_SEEDS: Final = 2**32  # scikit-learn takes seeds below this


@dataclass(frozen=True)
class Configuration:
    """Parameters of a random forest."""

    trees: int
    features: float  # share of the features that are candidates for a split
    leaf: int  # smallest number of houses in a leaf
    sample: float  # share of the houses in a tree's bootstrap sample

    def __str__(self) -> str:
        """Return the parameters, as the name of an arm."""
        return (
            f"{self.trees} trees, {self.features:.2g} of the features, "
            f"leaves of {self.leaf}, {self.sample:g} of the houses"
        )


CONFIGURATIONS: Final = tuple(
    Configuration(*values)
    for values in product((4, 12, 40), (1 / 3, 2 / 3, 1.0), (1, 5), (0.5, 1.0))
)
"""The arms: all combinations of these numbers of trees, features, leaf sizes and samples."""

# The houses are loaded once in each process that trains; they are not sent with each task.
_houses: dict[str, FloatArray] = {}


def load_houses() -> None:
    """Load the houses and scikit-learn before any time is measured."""
    import pyarrow.parquet as pq
    from sklearn.ensemble import RandomForestRegressor

    path = resources.files("keyhole.data").joinpath("ames", "houses.parquet")
    with resources.as_file(path) as file:
        table = pq.read_table(file)
    names = [name for name in table.column_names if name != _TARGET]
    columns = [table[name].to_numpy() for name in names]
    _houses["features"] = np.column_stack(columns).astype(np.float64)
    _houses["prices"] = table[_TARGET].to_numpy().astype(np.float64)
    # The first fit takes 6 ms of CPU time instead of 1, since scikit-learn loads modules late. This
    # fit spares the first measured run that time.
    RandomForestRegressor(n_estimators=1).fit(_houses["features"][:50], _houses["prices"][:50])


def draw_task(seed: int, house_count: int) -> list[tuple[IntArray, IntArray]]:
    """Draw a task: the rows to train on and to test on, for each split of a subset of the houses.

    A task has 150 to 450 of the `house_count` houses. Most tasks have one split, as in the paper;
    one in five, at random, has ten. Three tenths of the task's houses are held out in each split.
    """
    rng = np.random.default_rng(seed)
    task_rows = rng.choice(house_count, rng.integers(*_TASK_SIZES, endpoint=True), replace=False)
    splits = _SPLITS if rng.random() < _THOROUGH_SHARE else 1
    test_count = round(_TEST_SHARE * len(task_rows))
    orders = (rng.permutation(task_rows) for _ in range(splits))
    return [(order[test_count:], order[:test_count]) for order in orders]


def train_and_score(job: tuple[Configuration, int]) -> float:
    """Train a configuration on the task of a seed; return its score on the houses held out.

    The score is 1 minus the error, but at least 0. The error is the mean over the splits of the
    root mean squared error divided by the standard deviation of the prices.
    """
    from sklearn.ensemble import RandomForestRegressor

    if not _houses:
        load_houses()
    configuration, seed = job
    features = _houses["features"]
    prices = _houses["prices"]
    errors = []
    for train_rows, test_rows in draw_task(seed, len(prices)):
        forest = RandomForestRegressor(
            n_estimators=configuration.trees,
            max_features=configuration.features,
            min_samples_leaf=configuration.leaf,
            max_samples=None if configuration.sample == 1.0 else configuration.sample,
            random_state=seed % _SEEDS,
            n_jobs=1,
        )
        forest.fit(features[train_rows], prices[train_rows])
        error = forest.predict(features[test_rows]) - prices[test_rows]
        errors.append(np.sqrt(np.mean(error**2)) / prices[test_rows].std())
    return float(max(0.0, 1.0 - np.mean(errors)))


class ForestTrainer:
    """Training runs with enforced time limits, for a learner.

    A run trains one of the `CONFIGURATIONS` on a new task (`draw_task`) in a child process, which
    is killed at the limit.

    Parameters
    ----------
    seed : int, default 0
        Seed of the tasks and the forests: the task and the forest's seed of the n-th run do not
        depend on earlier decisions. Times are measured, so they differ between repetitions.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> learner = RCUCB().learner(
    ...     arms=36, limits=[30, 60], cost=Power(slope=0.01), penalty=Power(slope=0.02)
    ... )
    >>> with ForestTrainer() as forests:
    ...     arm, limit = learner.ask()
    ...     result = forests.run(arm, limit)
    ...     learner.tell(exceeded=True) if result is None else learner.tell(*result)
    """

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        require_extra("files,forests", "keyhole.data.ForestTrainer")
        self._seed = check_integer("seed", seed, Range(ge=0))
        self._runs = 0
        self._process = FunctionProcess(train_and_score, load_houses)

    def run(self, arm: int, limit: float) -> tuple[float, float] | None:
        """Train the configuration of an arm, for at most `limit` seconds.

        Return the reward, which is the score of `train_and_score`, and the seconds that the run
        took; None if it exceeded the limit. A RuntimeError says that the training failed: see
        `keyhole.runner.FunctionProcess`.
        """
        number = check_integer("arm", arm, Range(ge=0, lt=len(CONFIGURATIONS)))
        seconds = check_number("limit", limit, Range(gt=0))
        self._runs += 1
        return self._process.run((CONFIGURATIONS[number], self._seed + self._runs), seconds)

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def __enter__(self) -> Self:
        """Return the trainer."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()


def load_forest_runs() -> MeasuredRuns:
    """Return recorded runs of all configurations, which were measured on one machine.

    Each of the `CONFIGURATIONS` was run on the same 40 tasks. Rewards are the scores of
    `train_and_score`, and consumptions are seconds of CPU time.

    Examples
    --------
    >>> len(load_forest_runs().arms)
    36
    """
    with resources.as_file(resources.files("keyhole.data").joinpath("ames", "forests.csv")) as path:
        return read_measured_runs_csv(path)


def forests_problem(
    limits: int = 11, *, cost: KnownFunction | None = None, penalty: KnownFunction | None = None
) -> Problem:
    r"""Make a problem of random forests: choose a configuration to train, and a time limit.

    A pull draws one of the configuration's runs in `load_forest_runs`. Each configuration has a
    median time; limits are evenly spaced from the lower to the upper quartile of these medians. The
    unit of time is the upper quartile.

    In the paper, a completed run gains minus its error, less its cost, and a stopped run gains
    :math:`-\lambda(\tau) = -(1 + \tau)`: a run without a forest costs as much as predicting the
    mean price, plus its time. All gains are raised by 1 here: a completed run gains 1 minus its
    error, less its cost, and a stopped run gains :math:`-\tau`.

    Parameters
    ----------
    limits : int, default 11
        Number of limits, from 2 to 1,000.
    cost, penalty : Function or callable, optional
        Functions of times in units of the largest limit. By default the cost is a tenth of the
        time, and the penalty is the limit. Together they are a tenth of the PAR10 score, in which a
        stopped run counts as ten times the limit.

    References
    ----------
    Bengs and Huellermeier (2022), section 5.2.

    Examples
    --------
    >>> forests_problem(limits=3).arms
    36
    """
    runs = load_forest_runs()
    low, high = runs.quartiles()
    # In this unit the largest limit is 1, so the default cost and penalty fit any machine's runs.
    scaled = MeasuredRuns(
        runs.name, runs.arms, runs.rewards, tuple(column / high for column in runs.consumptions)
    )
    grid = np.linspace(low / high, 1.0, check_integer("limits", limits, Range(ge=2, le=1000)))
    return scaled.problem(
        grid,
        cost=Power(slope=0.1) if cost is None else cost,
        penalty=Power(slope=1.0) if penalty is None else penalty,
    )
