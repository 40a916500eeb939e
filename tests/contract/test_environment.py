import numpy as np
import pytest

from keyhole import Metric, simulate
from keyhole.contract.kernel_compilation import compiled_environment
from keyhole.contract.problem import checked_metrics, metrics_for
from keyhole.contract.state_arrays import int_array
from tests.toys import Halving, RunEnvironment, Toy

pytestmark = pytest.mark.interpreted


class Counted(RunEnvironment):
    """An environment with a metric for each arm, on request and always."""

    metrics = (
        Metric("late", detail=True),
        Metric("pulls", better="higher", per_arm=True),
        *RunEnvironment.metrics,
        Metric("twice", per_arm=True, detail=True),
    )

    class State(RunEnvironment.State):
        n = int_array("arms")

    def respond(s, arm, limit):
        s.n[arm] += 1
        return 1.0, 1.0, 0

    def score(e, s, t, metrics):
        for arm in range(e.arms):
            metrics.pulls[arm] = s.n[arm]
            metrics.twice[arm] = 2 * s.n[arm]
        metrics.late[0] = t
        metrics.gain[0] = metrics.censored[0] = -1.0


PROBLEM = Toy(Counted, {"arms": 3})


def test_details_come_last_in_the_order_of_declaration():
    assert [metric.name for metric in checked_metrics(Counted)] == [
        "pulls", "gain", "censored", "late", "twice",
    ]  # fmt: skip
    assert [metric.name for metric in metrics_for(PROBLEM, details=False)] == [
        "pulls[0]", "pulls[1]", "pulls[2]", "gain", "censored",
    ]  # fmt: skip


@pytest.mark.parametrize("details", [False, True])
def test_every_metric_is_filled_by_name(details):
    curves = simulate(PROBLEM, {"it": Halving()}, horizon=30, replications=2, details=details)
    pulls = np.array([curves.mean("it", f"pulls[{arm}]")[0] for arm in range(3)])
    assert pulls.sum() == 30
    assert curves.mean("it", "gain")[0] == -1
    assert curves.metric("pulls[2]") == Metric("pulls[2]", "pulls, arm 2", better="higher")
    if details:
        twice = [curves.mean("it", f"twice[{arm}]")[0] for arm in range(3)]
        assert twice == (2 * pulls).tolist()
        assert curves.mean("it", "late")[0] == 30


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (("gain",), r"Bad.metrics\[0\] must be a keyhole.Metric, got 'gain'"),
        ((Metric("a b"),), r"Bad.metrics\[0\].name must be a public name in Python, got 'a b'"),
        ((Metric("_a"),), r"Bad.metrics\[0\].name must be a public name in Python, got '_a'"),
        ((Metric("if"),), r"Bad.metrics\[0\].name must be a public name in Python, got 'if'"),
        ((Metric("a"), Metric("a")), "Bad.metrics"),
    ],
)
def test_invalid_metric_names_are_refused(metrics, message):
    bad = type("Bad", (RunEnvironment,), {"metrics": metrics})
    with pytest.raises((TypeError, ValueError), match=message):
        checked_metrics(bad)


def test_an_undeclared_metric_is_refused_with_the_nearest_name():
    class Slip(RunEnvironment):
        def score(s, metrics):
            metrics.gian[0] = 0.0

    with pytest.raises(ValueError, match=r"Slip.score .*did you mean 'gain'"):
        compiled_environment(Slip)


def test_descriptions_of_metrics_are_not_compiled():
    renamed = tuple(Metric(metric.name, "other words") for metric in RunEnvironment.metrics)
    other = type("Other", (RunEnvironment,), {"metrics": renamed})
    assert compiled_environment(other).digest == compiled_environment(RunEnvironment).digest
    more = type("More", (RunEnvironment,), {"metrics": (*RunEnvironment.metrics, Metric("more"))})
    assert compiled_environment(more).digest != compiled_environment(RunEnvironment).digest
