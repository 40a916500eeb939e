import numpy as np
import pytest

from keyhole import Metric, simulate
from keyhole.contract.kernel_compilation import compiled_environment
from keyhole.contract.problem import Problem, checked_metrics, environment_inputs, metrics_for
from keyhole.contract.state_arrays import float_input, int_array
from tests.toys import Halving, LevelEnvironment, RunEnvironment, Toy

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


class SizedEnvironment(LevelEnvironment):
    """An environment with an input of each kind."""

    size = float_input()
    starts = int_array("arms")


class Sized(Problem):
    """A problem whose truth is correct, except for the given changes."""

    setting = LevelEnvironment.setting
    environment = SizedEnvironment

    def __init__(self, **changes):
        self.changes = changes

    def truth(self):
        truth = {"arms": 2, "levels": 3, "speed": [1, 0.5], "size": 1, "starts": [0, 1]}
        return {name: v for name, v in (truth | self.changes).items() if v is not None}


INTEGER = r"must be a whole number in \[-2\*\*63, 2\*\*63\)"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("levels", 1.5, rf"^Sized.truth\(\)\['levels'\] {INTEGER}, got 1.5$"),
        ("levels", np.float64(1.5), rf"\['levels'\] {INTEGER}, got .*1.5"),
        ("levels", float("inf"), rf"\['levels'\] {INTEGER}, got inf$"),
        ("levels", float("nan"), rf"\['levels'\] {INTEGER}, got nan$"),
        ("levels", 2**63, rf"\['levels'\] {INTEGER}, got 9"),
        ("levels", np.uint64(2**63), rf"\['levels'\] {INTEGER}, got .*9"),
        ("levels", "3", rf"\['levels'\] {INTEGER}, got '3'$"),
        ("levels", None, rf"\['levels'\] {INTEGER}; the input is missing$"),
        ("size", "x", r"^Sized.truth\(\)\['size'\] must be a number, got 'x'$"),
        ("size", [[1], [2, 3]], r"\['size'\] must be a number, got \[\[1\], \[2, 3\]\]$"),
        ("size", None, r"\['size'\] must be a number; the input is missing$"),
        ("speed", [1, "x"], r"^each entry of Sized.*\['speed'\] must be a number, got \[1, 'x'\]$"),
        ("starts", [0, 1.5], rf"^each entry of .*\['starts'\] {INTEGER}, got \[0, 1.5\]$"),
        ("starts", np.array([0, 1.5]), rf"^each entry of .*\['starts'\] {INTEGER}, got "),
    ],
)
def test_an_input_that_is_missing_or_of_another_type_is_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        environment_inputs(Sized(**{name: value}), 10)


@pytest.mark.parametrize("arms", [1.5, None])
def test_the_number_of_arms_is_not_truncated(arms):
    with pytest.raises(ValueError, match=rf"Sized.truth\(\)\['arms'\] {INTEGER}"):
        assert Sized(arms=arms).arms


@pytest.mark.parametrize("levels", [1.0, True, np.True_, np.int8(1), np.uint64(1), np.array(1.0)])
def test_whole_numbers_of_all_types_are_accepted(levels):
    problem = Sized(levels=levels, starts=np.array([0.0, levels]), size=float("nan"))
    views = compiled_environment(SizedEnvironment).inputs
    inputs = environment_inputs(problem, 10)
    cells = views.pack(inputs, {"arms": 2, "levels": 1})
    assert views.views(cells, {"arms": 2, "levels": 1})["levels"] == 1
