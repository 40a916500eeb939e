"""Policies of users that fail are refused by name before anything is simulated."""

import math
import warnings
from collections import defaultdict

import pytest

from keyhole import simulate
from keyhole.experiment.objects_from_spec import import_user_policy
from keyhole.play import policy_trial
from keyhole.play.policy_trial import try_policies
from keyhole.play.simulation_plan import Plan
from keyhole.thresholding import LSA, IndexPolicy, Problem

pytestmark = pytest.mark.interpreted

BROKEN = """
import math
import warnings
from keyhole.policy import float_array, parameter
from keyhole.thresholding import IndexPolicy, LSA, Policy

class Broken(Policy):
    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s: State, t: int) -> int:
        return t % p.arms

    def update(p, s: State, t: int, arm: int, reward: float) -> None:
        LINE

class Undefined(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        return math.sqrt(total / pulls - 0.5) if total / pulls > 0.5 else math.nan

class NaNLabels(LSA):
    def recommend(p, labels) -> None:
        for arm in range(p.arms):
            labels[arm] = math.nan

class NotAll(LSA):
    def recommend(p, labels) -> None:
        labels[0] = 1.0

class Printing(LSA):
    def select(p, t: int) -> int:
        print("hello")
        return t % p.arms

class Silent(LSA):
    def recommend(p, labels) -> None:
        pass

class TooMany(LSA):
    def recommend(p, labels) -> None:
        for arm in range(p.arms + 1):
            labels[arm] = 1.0

class Outside(LSA):
    def select(p) -> int:
        return p.arms

class Stop(BaseException):
    pass

class Stopping(LSA):
    def select(p) -> int:
        raise Stop("no")

class Fine(LSA):
    pass

class Partial(LSA):
    def recommend(p, s: LSA.State, labels) -> None:
        for arm in range(p.arms):
            if s.pulls[arm] > 0.0:
                labels[arm] = 1.0

class ByHorizon(LSA):
    needs = ("horizon",)

    def select(p, t: int) -> int:
        return t // (p.horizon // 500) % p.arms

class FourArms(LSA):
    def select(p, s: LSA.State) -> int:
        return int(s.pulls[0 if p.arms < 5 else 1000] < 0.0)

class Spread(LSA):
    def select(p, s: LSA.State) -> int:
        return int(s.pulls.std() < 0.0)

class Parametric(LSA):
    beyond: int = parameter(0)

    def select(p, s: LSA.State) -> int:
        return int(s.pulls[p.beyond] < 0.0)
"""
"""Policies with mistakes that compiled code mostly carries out in silence, and one without."""

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


@pytest.fixture(autouse=True)
def _nothing_tried_yet(monkeypatch):
    monkeypatch.setattr(policy_trial, "_past_trials", defaultdict(set))
    monkeypatch.setattr(policy_trial, "_trial_seconds", defaultdict(float))
    for limit in ("_CPU_SECONDS", "_MOST_SECONDS"):  # however busy the machine is
        monkeypatch.setattr(policy_trial, limit, 60.0)


def load(tmp_path, name, line="pass"):
    (tmp_path / "broken.py").write_text(BROKEN.replace("LINE", line))
    return import_user_policy(f"broken.py:{name}", tmp_path)


def attempt_all(*policies, problem=PROBLEM, horizon=1000):
    for policy in policies:
        plan = Plan.make(problem, {"mine": policy}, horizon=horizon, checkpoints=None, seed=0)
        try_policies([("here", plan)])


def attempt(tmp_path, name, problem=PROBLEM, line="pass", horizon=1000):
    attempt_all(load(tmp_path, name, line)(), problem=problem, horizon=horizon)


@pytest.mark.parametrize(
    ("name", "line", "error"),
    [
        ("Broken", "s.pulls[arm + p.arms] += 1.0", "beyond an array"),
        ("Broken", "s.pulls[arm] += t // (p.arms - p.arms)", "divides an integer by 0"),
        ("Undefined", "pass", "Undefined.index must return a number, got nan"),
        ("NaNLabels", "pass", r"into every entry of labels; .* 200 labels\[0\] is NaN or was not"),
        ("Silent", "pass", r"Silent.recommend must write .* labels\[0\] is NaN or was not written"),
        ("TooMany", "pass", "beyond an array"),
        ("Stopping", "pass", "no"),
        ("Outside", "pass", r"a decision that the setting does not allow \(arm 3\), in round 1"),
    ],
)
def test_a_policy_that_fails_is_refused_by_name(tmp_path, name, line, error):
    with pytest.raises(ValueError, match=rf"^mine fails here: .*{error}"):
        attempt(tmp_path, name, line=line)


@pytest.mark.parametrize("name", ["Fine", "Partial", "ByHorizon", "Spread"])
def test_a_policy_that_keeps_the_contract_is_not_refused(tmp_path, name):
    attempt(tmp_path, name)


def test_what_is_not_written_at_the_end_of_a_game_is_refused(tmp_path):
    attempt(tmp_path, "NotAll")
    with pytest.raises(ValueError, match=r"after round 150 labels\[1\] is NaN or was not written"):
        attempt(tmp_path, "NotAll", horizon=150)


def test_a_policy_is_tried_with_each_of_its_parameters(tmp_path, monkeypatch):
    policy = load(tmp_path, "Parametric")
    attempt_all(policy(beyond=0), policy(beyond=0))
    with pytest.raises(ValueError, match="reads or writes beyond an array"):
        attempt_all(policy(beyond=0), policy(beyond=1000))
    monkeypatch.setattr(policy_trial, "_CLASS_SECONDS", 0.0)
    attempt_all(policy(beyond=1000))  # no time is left for it


def test_a_policy_is_tried_with_each_number_of_arms(tmp_path):
    policy = load(tmp_path, "FourArms")()
    attempt_all(policy)
    with pytest.raises(ValueError, match="reads or writes beyond an array"):
        attempt_all(policy, problem=Problem(means=[0.2] * 5, threshold=0.5))


def test_what_a_policy_prints_in_its_trial_is_no_result(tmp_path, capsys):
    attempt(tmp_path, "Printing")
    said = capsys.readouterr()
    assert "hello" in said.err
    assert "hello" not in said.out


def test_a_policy_that_takes_long_in_python_is_tried_less(tmp_path, monkeypatch):
    monkeypatch.setattr(policy_trial, "_CPU_SECONDS", 0.0)
    with pytest.raises(ValueError, match="after round 1 labels"):
        attempt(tmp_path, "Silent")
    attempt(tmp_path, "Partial")
    attempt(tmp_path, "Silent", Problem(means=[0.4] * 1001, threshold=0.5), horizon=2000)


class Undefined(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        return (total - pulls) / (total - pulls)


class Unlimited(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        return math.inf if total < 0.0 else -1.0 / (total - pulls)


class Cyclic(LSA):
    def select(p, t: int) -> int:
        return t % p.arms


@pytest.mark.compiled
@pytest.mark.parametrize("workers", [1, 2])
def test_simulations_refuse_an_index_that_is_no_number(workers):
    message = (
        r"^Undefined\(\) fails in its first rounds: .*Undefined.index must return a number, got"
    )
    with pytest.raises(ValueError, match=message):
        simulate(PROBLEM, [Undefined()], horizon=50, replications=5, workers=workers)


@pytest.mark.compiled
def test_simulations_take_an_index_that_is_infinite():
    simulate(PROBLEM, [Unlimited()], horizon=50, replications=5)


@pytest.mark.compiled
def test_a_policy_is_tried_once(monkeypatch):
    simulate(PROBLEM, [Cyclic()], horizon=300, replications=5)
    monkeypatch.setattr(policy_trial, "make_learner", None)
    simulate(PROBLEM, [Cyclic()], horizon=310, replications=5)
    simulate(
        PROBLEM, [LSA()], horizon=310, replications=5, interpreted=False
    )  # Keyhole's own never


def test_what_python_runs_anyway_is_not_tried(monkeypatch):
    monkeypatch.setattr(policy_trial, "make_learner", None)
    simulate(PROBLEM, [Cyclic()], horizon=50, replications=5, interpreted=True)


class Endless(LSA):
    def select(p, t: int) -> int:
        while t > 3:
            t = max(t, 4)
        return 0


def test_the_trial_of_a_policy_that_never_decides_ends(monkeypatch):
    monkeypatch.setattr(policy_trial, "_MOST_SECONDS", 0.3)
    before = list(warnings.filters)
    attempt_all(Endless())
    # Its thread may still run, and may then ignore no warning of the simulation's.
    assert warnings.filters == before
