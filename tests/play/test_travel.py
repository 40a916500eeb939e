"""Plans that travel to a process that has none of the files."""

import pickle
import subprocess
import sys

import pytest

from keyhole.laws import Sampler
from keyhole.play.block import plan_digest
from keyhole.play.plan import Plan
from keyhole.play.travel import Script, pack, unpack
from keyhole.policy import FloatArray, uniform
from keyhole.stochastic import UCB1
from keyhole.stochastic import Problem as StochasticProblem
from keyhole.thresholding import Problem, Uniform

HELPERS = """
def after(arm, arms):
    return (arm + 1) % arms
"""

SCRIPT = """
import sys
import helpers
from keyhole.play.block import plan_digest
from keyhole.play.plan import Plan
from keyhole.play.travel import pack
from keyhole.policy import per
from keyhole.thresholding import Policy, Problem


class Turns(Policy):
    class State:
        pulls = per("arms")
        totals = per("arms")

    def select(p, t):
        return helpers.after(t, p.arms)

    def update(s, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


if __name__ == "__main__":
    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    plan = Plan.make(problem, [Turns()], horizon=60, checkpoints=[60], seed=3)
    with open(sys.argv[1], "wb") as file:
        file.write(pack(plan))
    print(plan_digest(plan), plan.play("Turns()", range(8), threads=1).sum())
"""

AWAY = """
import sys
from keyhole.play.block import plan_digest
from keyhole.play.travel import unpack

plan = unpack(open(sys.argv[1], "rb").read())
print(plan_digest(plan), plan.play("Turns()", range(8), threads=1).sum())
assert "helpers" not in sys.modules
"""


def python(folder, *words):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


@pytest.fixture
def packed(tmp_path):
    """Return what a script said that has packed its plan, and the file."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "script.py").write_text(SCRIPT)
    (here / "helpers.py").write_text(HELPERS)
    said, errors = python(here, "script.py", str(tmp_path / "plan"))
    assert said, errors
    return said, tmp_path / "plan"


def test_a_script_travels_with_the_modules_beside_it(packed, tmp_path):
    said, file = packed
    (tmp_path / "here" / "helpers.py").unlink()
    found, errors = python(tmp_path / "there", "-c", AWAY, str(file))
    assert found == said, errors


def test_a_file_that_cannot_be_run_there_is_named(packed, tmp_path):
    script = Script("helpers", "/home/me/helpers.py", b"import no_such_package")
    with pytest.raises(
        ValueError, match=r"/home/me/helpers.py cannot be imported on a worker: Mod"
    ):
        unpack(pickle.dumps(([script], b"")))


def drawn(rng, numbers: FloatArray) -> float:
    return float(uniform(rng) < numbers[0])


def test_laws_of_ones_own_travel():
    problem = StochasticProblem([Sampler(drawn, mean=0.3, numbers=[0.3]), 0.5])
    plan = Plan.make(problem, [UCB1()], horizon=60, checkpoints=[60], seed=3)
    assert plan_digest(unpack(pack(plan))) == plan_digest(plan)


def test_a_class_in_a_function_is_refused():
    class Inner(Uniform):
        pass

    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    plan = Plan.make(problem, [Inner()], horizon=60, checkpoints=[60], seed=3)
    with pytest.raises(ValueError, match="Inner must stand in a file, and there not in a function"):
        pack(plan)
