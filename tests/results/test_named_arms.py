"""Problems whose arms have names: per-arm metrics, plots and tables of simulations carry them."""

import enum

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from keyhole import delayed, resource, semibandit, simulate, stochastic, threshold, thresholding
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.simulation_job import digest_parts, json_digest
from keyhole.play.simulation_plan import Plan
from keyhole.stochastic import KLUCB, UCB1

pytestmark = pytest.mark.interpreted


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


RUN = resource.BetaExponential(5, 5, rate=1)
COST = {"cost": resource.Power(slope=0.1), "penalty": resource.Power(slope=0.2)}
DELAY = {"delay": delayed.Constant(3)}
MAKE = {
    "stochastic": stochastic.Problem,
    "thresholding": lambda arms: thresholding.Problem(arms, 0.5),
    "threshold": lambda arms: threshold.Problem(arms, feedback="censored"),
    "delayed": lambda arms: delayed.Problem(arms, **DELAY),
    "resource": lambda arms: resource.Problem(arms, [0.5, 1.0], **COST),
    "semibandit": lambda arms: semibandit.Problem(arms, 0.5, 0.5),
}
ARMS = {"threshold": [[0.9, 0.2], [0.7, 0.6]], "resource": [RUN, RUN]}


@pytest.mark.parametrize("setting", MAKE)
def test_a_mapping_names_the_arms_of_all_settings(setting):
    arms = ARMS.get(setting, [0.25, 0.75])
    named = MAKE[setting](dict(zip(["red", 7], arms, strict=True)))
    numbered = MAKE[setting](arms)
    assert named.arm_names == ("red", 7)
    assert numbered.arm_names is None
    measured = InteractiveEnvironment(named, horizon=10).metrics
    assert {"pulls[red]", "pulls[7]"} < set(measured)
    expected = InteractiveEnvironment(numbered, horizon=10).metrics
    assert [m.replace("[red]", "[0]").replace("[7]", "[1]") for m in measured] == list(expected)
    # What is simulated is the same.
    ours, theirs = named.truth(), numbered.truth()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_names_change_no_number():
    how = {"horizon": 40, "replications": 5, "details": True, "checkpoints": [10, 40]}
    policies = [UCB1(), KLUCB()]
    named = simulate(stochastic.Problem({Colour.RED: 0.3, Colour.BLUE: 0.6}), policies, **how)
    numbered = simulate(stochastic.Problem([0.3, 0.6]), policies, **how)
    assert named.metrics[-2:] == ("pulls[Colour.RED]", "pulls[Colour.BLUE]")
    for mine, theirs in zip(named.metrics, numbered.metrics, strict=True):
        assert (named.values("UCB1", mine) == numbered.values("UCB1", theirs)).all()


def test_plots_and_tables_have_the_names():
    curves = simulate(
        stochastic.Problem({"red": 0.3, "blue": 0.6}),
        [UCB1()],
        horizon=20,
        replications=3,
        details=True,
    )
    assert curves.metric("pulls[blue]").title == "pulls, arm blue"
    axes = curves.plot("pulls[red]", axes=Figure().subplots())
    assert axes.get_ylabel() == "pulls, arm red"
    assert {"pulls[red]", "pulls[blue]"} < set(curves.to_arrow().column("metric").to_pylist())


def digest(problem, *, details):
    plan = Plan.make(problem, [UCB1()], horizon=10, checkpoints=None, seed=0, details=details)
    return json_digest(digest_parts(plan))


def test_cached_results_do_not_depend_on_names_unless_metrics_are_called_by_them():
    named, numbered = stochastic.Problem({"red": 0.3, "blue": 0.6}), stochastic.Problem([0.3, 0.6])
    assert digest(named, details=False) == digest(numbered, details=False)
    assert digest(named, details=True) != digest(numbered, details=True)


def test_replays_of_named_samples_have_the_names():
    frame = pd.DataFrame({"arm": ["red", "blue", "red"], "reward": [1, 0, 0]})
    for samples in (frame, {"red": [1, 0], "blue": [0]}):
        for problem in (
            stochastic.Problem.replay(samples),
            thresholding.Problem.replay(samples, 0.4, gold={"blue": False, "red": None}),
        ):
            assert problem.arm_names == ("red", "blue")
            assert problem.means.tolist() == [0.5, 0.0]
    late = delayed.Problem.replay({"red": [1, 0], "blue": [1]}, {"blue": [2], "red": [1, 1]})
    assert late.arm_names == ("red", "blue")
    levels = threshold.Problem.replay({"red": [0, 2], "blue": [1]}, 2, feedback="uncensored")
    assert levels.arm_names == ("red", "blue")
    chances = threshold.Problem.from_mass({"red": [0.5, 0.5]}, feedback="censored")
    assert chances.arm_names == ("red",)
    days = pd.DataFrame({"north": [1, 0], "south": [0, 1]})
    patrols = semibandit.Problem.replay(days, {"south": 0.5, "north": 0.7}, 1)
    assert patrols.arm_names == ("north", "south")
    assert patrols.thresholds.tolist() == [0.7, 0.5]
    assert stochastic.Problem.replay([[1, 0], [0]]).arm_names is None


def test_reprs_have_the_names():
    assert repr(stochastic.Problem({"red": 0.3, 7: 0.6})) == (
        "Problem(2 bernoulli arms, means={'red': 0.3, 7: 0.6})"
    )
    many = {f"a{i}": 0.5 for i in range(8)}
    assert repr(stochastic.Problem(many)).endswith("'a5': 0.5, ...})")
    patrols = semibandit.Problem({"a": 0.2, "b": 0.3}, {"b": 0.5, "a": 0.7}, 1)
    assert "thresholds={'a': 0.7, 'b': 0.5}" in repr(patrols)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: stochastic.Problem({"a": 2.0}), r"means\['a'\] must lie in \[0, 1\], got 2.0"),
        (lambda: stochastic.Problem({}), "means must have at least one entry, got none"),
        (lambda: stochastic.Problem({1: 0.1, "1": 0.2}), "of means must differ, got '1' twice"),
        (
            lambda: threshold.Problem({"a": [0.9, 0.5], "b": [0.7]}, feedback="censored"),
            r"survival\['b'\] must have as many levels as survival\['a'\], 2; got 1",
        ),
        (
            lambda: threshold.Problem.from_mass({"a": [0.5, 0.6]}, feedback="censored"),
            r"mass\['a'\] must sum to 1, got 1.1",
        ),
        (
            lambda: resource.Problem({"a": 0.5}, [1.0], **COST),
            r"arms\['a'\] must be a distribution",
        ),
        (
            lambda: semibandit.Problem({"a": 0.2}, {"b": 0.5}, 1),
            "thresholds must have a value of each arm, a; got {'b': 0.5}",
        ),
        (
            lambda: thresholding.Problem([0.2], 0.5, gold={"a": True}),
            "gold must be a list with True, False or None for each arm, got {'a': True}",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
