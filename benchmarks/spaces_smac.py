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


def main(path, instances, seed):
    """Ask for runs until the input ends; after each say what the incumbent is."""
    scenario = Scenario(
        ConfigurationSpace.from_json(path),
        instances=[str(i) for i in range(instances)],
        instance_features={str(i): [float(i)] for i in range(instances)},
        deterministic=True,
        n_trials=100_000,
        seed=seed,
        output_directory=tempfile.mkdtemp(),
    )
    smac = AlgorithmConfigurationFacade(
        scenario,
        lambda config, instance, seed=0: 0.0,
        overwrite=True,
        logging_level=logging.ERROR,
    )
    while True:
        trial = smac.ask()
        print(json.dumps([plain(trial.config), int(trial.instance), 1.0]), flush=True)
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
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
