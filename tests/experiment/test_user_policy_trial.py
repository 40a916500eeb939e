"""Policies of users' files that fail are refused by name before anything is simulated."""

import pytest

from keyhole.experiment import Spec, run, user_policy_trial
from keyhole.experiment.spec_factories import load_user_policy
from keyhole.experiment.user_policy_trial import try_user_policy
from keyhole.thresholding import Problem

pytestmark = pytest.mark.interpreted

BROKEN = """
import math
from keyhole.policy import float_array
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
            labels[arm] = math.nan if arm == 1 else 1.0

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
"""
"""Policies with mistakes that compiled code mostly carries out in silence, and one without."""

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


def attempt(tmp_path, name, problem=PROBLEM, line="pass"):
    (tmp_path / "broken.py").write_text(BROKEN.replace("LINE", line))
    policy = load_user_policy(f"broken.py:{name}", tmp_path)()
    try_user_policy(f"broken.py:{name}", policy, problem, 1000, "here")


@pytest.mark.parametrize(
    ("name", "line", "error"),
    [
        ("Broken", "s.pulls[arm + p.arms] += 1.0", "beyond an array"),
        ("Broken", "s.pulls[arm] += t // (p.arms - p.arms)", "divides an integer by 0"),
        ("Undefined", "pass", "Undefined.index must return a number, got nan"),
        ("NaNLabels", "pass", r"into every entry of labels; .* 200 labels\[1\] is NaN or was not"),
        ("Silent", "pass", r"Silent.recommend must write .* labels\[0\] is NaN or was not written"),
        ("TooMany", "pass", "beyond an array"),
        ("Stopping", "pass", "no"),
        ("Outside", "pass", r"a decision that the setting does not allow \(arm 3\), in round 1"),
    ],
)
def test_a_policy_that_fails_is_refused_by_name(tmp_path, name, line, error):
    with pytest.raises(ValueError, match=rf"^broken.py:{name} fails here: \w+: .*{error}"):
        attempt(tmp_path, name, line=line)


def test_a_policy_that_keeps_the_contract_is_not_refused(tmp_path):
    attempt(tmp_path, "Fine")


def test_a_policy_that_takes_long_in_python_is_tried_less(tmp_path, monkeypatch):
    monkeypatch.setattr(user_policy_trial, "_SECONDS", 0.0)
    with pytest.raises(ValueError, match="after round 1 labels"):
        attempt(tmp_path, "Silent")
    attempt(tmp_path, "Silent", Problem(means=[0.4] * 1001, threshold=0.5))


def test_a_run_tries_the_policies_of_files_before_it_makes_its_folder(tmp_path, text):
    (tmp_path / "broken.py").write_text(BROKEN.replace("LINE", "pass"))
    text = text.replace('name = "LSA"', 'name = "broken.py:Silent"')
    with pytest.raises(ValueError, match=r"^broken.py:Silent fails before the run: ValueError: "):
        run(Spec.from_text(text, folder=tmp_path), tmp_path / "out")
    assert not (tmp_path / "out").exists()
