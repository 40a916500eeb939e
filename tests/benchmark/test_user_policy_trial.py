"""Policies of users' files that fail are refused by name before anything is simulated."""

import pytest

from keyhole.benchmark import bench

BROKEN = """
from keyhole.policy import float_array
from keyhole.thresholding import Policy

class Broken(Policy):
    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, s: State, t: int) -> int:
        return t % p.arms

    def update(p, s: State, t: int, arm: int, reward: float) -> None:
        LINE
"""
"""With a line that compiled code would carry out in silence."""


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("s.pulls[arm + p.arms] += 1.0", "beyond an array"),
        ("s.pulls[arm] += t // (p.arms - p.arms)", "divides an integer by 0"),
    ],
)
def test_a_policy_that_fails_is_refused_by_name(tmp_path, line, error):
    file = tmp_path / "broken.py"
    file.write_text(BROKEN.replace("LINE", line))
    with pytest.raises(ValueError, match=f"broken.py:Broken fails on the problem 'tao-1'.*{error}"):
        bench("thresholding", out=tmp_path / "out", problems=["tao-1"], policies=[f"{file}:Broken"])
    assert not (tmp_path / "out").exists()
