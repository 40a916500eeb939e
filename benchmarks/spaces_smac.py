"""SMAC as a child of benchmarks.spaces, in an environment of its own: asks for runs on its output.

``pip install smac 'scikit-learn<1.8'``. A line is a JSON list of values, instance and limit; the
answer on its input is the cost of the run, and its seconds.
"""

import json
import logging
import sys
import tempfile
import warnings

from ConfigSpace import ConfigurationSpace
from smac import AlgorithmConfigurationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

warnings.filterwarnings("ignore")
LEAST_LIMIT = 0.001


def train(config, instance, seed=0):
    """Stand for a run; runs are asked for instead."""


def train_capped(config, instance, seed=0, cutoff=1.0):
    """Stand for a run with a cap; runs are asked for instead."""


def main(path, instances, seed, has_caps):
    """Ask for runs until the input ends; after each say what the incumbent is."""
    scenario = Scenario(
        ConfigurationSpace.from_json(path),
        instances=[str(i) for i in range(instances)],
        instance_features={str(i): [float(i)] for i in range(instances)},
        deterministic=True,
        adaptive_capping=has_caps,
        n_trials=100_000,
        seed=seed,
        output_directory=tempfile.mkdtemp(),
    )
    smac = AlgorithmConfigurationFacade(
        scenario,
        train_capped if has_caps else train,
        overwrite=True,
        logging_level=logging.ERROR,
    )
    while True:
        trial = smac.ask()
        limit = (trial.additional_info or {}).get("cutoff", 1.0)
        limit = min(max(limit, LEAST_LIMIT), 1.0)
        print(json.dumps([plain(trial.config), int(trial.instance), limit]), flush=True)
        cost, seconds = map(float, sys.stdin.readline().split())
        smac.tell(trial, TrialValue(cost=cost, time=seconds), save=False)
        incumbents = smac.intensifier.get_incumbents() or [trial.config]
        print(json.dumps(plain(incumbents[0])), flush=True)


def plain(configuration):
    """Return a configuration as JSON data."""
    return {
        name: getattr(value, "item", lambda v=value: v)() for name, value in configuration.items()
    }


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1")
