"""Plans that travel to a process that has none of the files."""

import shutil
import statistics
import subprocess
import sys
from textwrap import dedent

import pytest

from keyhole.distributions import CustomDistribution
from keyhole.experiment import Spec
from keyhole.play.plan_pickling import pickle_plan, unpickle_plan
from keyhole.play.simulation_job import plan_digest
from keyhole.play.simulation_plan import Plan
from keyhole.policy import FloatArray, uniform
from keyhole.stochastic import UCB1
from keyhole.stochastic import Problem as StochasticProblem

FILES = {
    "helpers.py": """
        import constants
        from fast import plus
        from gear.more import NUMBERS

        def after(arm, arms):
            return plus(arm, NUMBERS[0]) % arms
        """,
    "constants.py": "import helpers\nONE = 1",  # in a circle
    "fast.py": """
        from numba import njit
        from constants import ONE

        @njit
        def plus(a, b):
            return a + b * ONE
        """,
    "gear/__init__.py": "",
    "gear/more.py": "from . import numbers\nNUMBERS = numbers.FIRST",
    "gear/numbers.py": "FIRST = (1, 2)",
    "statistics.py": "raise RuntimeError('not the one of the library')",
    "script.py": """
        import sys
        import helpers
        from keyhole.play.simulation_job import plan_digest
        from keyhole.play.simulation_plan import Plan
        from keyhole.play.threaded_simulation import simulate_replications
        from keyhole.play.plan_pickling import pickle_plan
        from keyhole.policy import float_array
        from keyhole.thresholding import Policy, Problem


        class Turns(Policy):
            class State:
                pulls = float_array("arms")
                totals = float_array("arms")

            def select(p, t):
                return helpers.after(t, p.arms)

            def update(s, arm, reward):
                s.pulls[arm] += 1.0
                s.totals[arm] += reward


        if __name__ == "__main__":
            problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
            plan = Plan.make(problem, [Turns()], horizon=60, checkpoints=[60], seed=3)
            with open(sys.argv[1], "wb") as file:
                file.write(pickle_plan(plan))
            values = simulate_replications(plan, "Turns()", range(8), threads=1)
            print(plan_digest(plan), values.sum())
        """,
}
AWAY = """
import statistics
import sys
from keyhole.play.simulation_job import plan_digest
from keyhole.play.plan_pickling import unpickle_plan
from keyhole.play.threaded_simulation import simulate_replications

for name in sys.argv[1:]:
    plan = unpickle_plan(open(name, "rb").read())
    print(plan_digest(plan), simulate_replications(plan, "Turns()", range(8), threads=1).sum())
assert statistics.mean([1, 3]) == 2
assert not {"helpers", "constants", "fast", "gear", "gear.more"} & set(sys.modules)
"""


def write(folder):
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(dedent(text))


def python(folder, *words):
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


SPEC = """
name = "small"
replications = 8
horizon = 60
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "statistics.py:Turns"
"""


def test_a_file_of_a_spec_may_have_a_name_that_is_taken(tmp_path):
    write(tmp_path)
    (tmp_path / "statistics.py").write_text((tmp_path / "script.py").read_text())
    plan = Spec.from_text(SPEC, folder=tmp_path).plan
    data = pickle_plan(plan)
    assert plan_digest(unpickle_plan(data)) == plan_digest(plan)
    assert not hasattr(statistics, "Turns")


@pytest.mark.slow
def test_what_lies_beside_a_script_or_a_file_of_a_spec_travels_with_it(tmp_path, monkeypatch):
    here, files = tmp_path / "here", [str(tmp_path / name) for name in ("script", "spec")]
    write(here)
    (here / "statistics.py").unlink()
    said, errors = python(here, "script.py", files[0])
    assert said, errors
    (here / "mine.py").write_text((here / "script.py").read_text())
    monkeypatch.chdir(here)  # the folder one is in
    plan = Spec.from_text(SPEC.replace("statistics.py", "mine.py")).plan
    (tmp_path / "spec").write_bytes(pickle_plan(plan))
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(here)
    output, errors = python(tmp_path / "there", "-c", AWAY, *files)
    assert output.startswith(f"{said}{plan_digest(plan)} "), errors


def test_a_file_that_many_points_name_is_run_once(tmp_path):
    write(tmp_path)
    (tmp_path / "mine.py").write_text((tmp_path / "script.py").read_text())
    text = SPEC.replace("statistics.py", "mine.py")
    one, other = (Spec.from_text(text, folder=tmp_path).plan for _ in range(2))
    assert type(one.policies["Turns()"]) is type(other.policies["Turns()"])
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# changed")
    third = Spec.from_text(text, folder=tmp_path).plan
    assert type(one.policies["Turns()"]) is not type(third.policies["Turns()"])


def drawn(rng, numbers: FloatArray) -> float:
    return float(uniform(rng) < numbers[0])


def test_custom_distributions_are_pickled():
    problem = StochasticProblem([CustomDistribution(drawn, mean=0.3, numbers=[0.3]), 0.5])
    plan = Plan.make(problem, [UCB1()], horizon=60, checkpoints=[60], seed=3)
    assert plan_digest(unpickle_plan(pickle_plan(plan))) == plan_digest(plan)


NOTEBOOK = """
import linecache
import sys

def execute(name, cell):
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    exec(compile(cell, name, "exec"), globals())

execute("<cell 1>", '''
import math
from keyhole.policy import FloatArray, float_array, parameter
from keyhole.thresholding import Policy, Problem
SHIFT = 0.5
def shift(x):
    return x * SHIFT + math.sqrt(4.0)
''')
execute("<cell 2>", '''
class Typed(Policy):
    period: float = parameter(default=2.0, gt=0)

    class State:
        pulls: FloatArray = float_array("arms")

    def select(p, s: State, t: int) -> int:
        return int(shift(t) / p.period) % p.arms

    def update(p, s: State, arm: int) -> None:
        s.pulls[arm] += 1

    def recommend(p, s: State, labels: FloatArray) -> None:
        for arm in range(p.arms):
            labels[arm] = s.pulls[arm]
''')

from keyhole import simulate
from keyhole.play.simulation_plan import Plan
from keyhole.play.plan_pickling import pickle_plan
from keyhole.play.simulation_job import plan_digest
from keyhole.play.threaded_simulation import simulate_replications

def packed(kind, name):
    plan = Plan.make(
        Problem([0.2, 0.7], 0.5), [kind()], horizon=20, checkpoints=[20], seed=3, interpreted=True
    )
    values = simulate_replications(plan, "Typed(period=2)", range(4), threads=1).tolist()
    with open(name, "wb") as file:
        file.write(pickle_plan(plan))
    print(plan_digest(plan), values)

def inside():
    class Typed(globals()["Typed"]):
        pass
    return Typed

packed(Typed, sys.argv[1])
packed(inside(), sys.argv[2])
"""
ELSEWHERE = """
import sys
from keyhole.play.simulation_job import plan_digest
from keyhole.play.plan_pickling import unpickle_plan
from keyhole.play.threaded_simulation import simulate_replications

assert "keyhole.semibandit" not in sys.modules
for name in sys.argv[1:]:
    plan = unpickle_plan(open(name, "rb").read())
    values = simulate_replications(plan, "Typed(period=2)", range(4), threads=1).tolist()
    print(plan_digest(plan), values)
    (policy,) = plan.policies.values()
    assert type(policy)(period=3.0).period == 3.0

from keyhole.thresholding import Policy
try:
    class Wrong(Policy):
        pass
except TypeError:
    print("checked")
"""


def test_a_class_of_a_cell_or_a_function_is_sent_by_value_and_its_lines_interpreted(tmp_path):
    files = [str(tmp_path / name) for name in ("cell", "function")]
    output, errors = python(tmp_path / "here", "-c", NOTEBOOK, *files)
    assert output.count("\n") == 2, errors
    there, errors = python(tmp_path / "there", "-c", ELSEWHERE, *files)
    assert there == f"{output}checked\n", errors


def test_what_cannot_be_pickled_is_refused_with_what_to_do(tmp_path, monkeypatch):
    (tmp_path / "held.py").write_text("from threading import Lock\nLOCK, ONE = Lock(), 1.0\n")
    (tmp_path / "mine.py").write_text(
        "import held\nfrom keyhole.thresholding import LSA\n"
        "class Mine(LSA):\n    def index(p, pulls, total):\n        return held.ONE\n"
    )
    spec = SPEC.replace("statistics.py:Turns", "mine.py:Mine")
    with pytest.raises(ValueError, match=r"cannot be sent .*lock.*import only the names that"):
        pickle_plan(Spec.from_text(spec, folder=tmp_path).plan)
