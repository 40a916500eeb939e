"""Plans that travel to a process that has none of the files."""

import pickle
import shutil
import statistics
import subprocess
import sys
from textwrap import dedent

import pytest

from keyhole.distributions import CustomDistribution
from keyhole.experiment import Spec
from keyhole.play.plan import Plan
from keyhole.play.plan_pickling import _check_names, pickle_plan, unpickle_plan
from keyhole.play.replication_block import plan_digest
from keyhole.play.user_modules import UserModule
from keyhole.policy import FloatArray, uniform
from keyhole.stochastic import UCB1
from keyhole.stochastic import Problem as StochasticProblem
from keyhole.thresholding import Problem, Uniform

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
        from keyhole.play.replication_block import plan_digest
        from keyhole.play.plan import Plan
        from keyhole.play.thread_executor import simulate_replications
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
from keyhole.play.replication_block import plan_digest
from keyhole.play.plan_pickling import unpickle_plan
from keyhole.play.thread_executor import simulate_replications

plan = unpickle_plan(open(sys.argv[1], "rb").read())
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


@pytest.fixture
def packed(tmp_path):
    """Return what a script said that has packed its plan, and the file."""
    here = tmp_path / "here"
    write(here)
    (here / "statistics.py").unlink()
    said, errors = python(here, "script.py", str(tmp_path / "plan"))
    assert said, errors
    return said, tmp_path / "plan"


def test_a_script_travels_with_all_that_lies_beside_it(packed, tmp_path):
    said, file = packed
    shutil.rmtree(tmp_path / "here")
    found, errors = python(tmp_path / "there", "-c", AWAY, str(file))
    assert found == said, errors


def test_a_file_that_cannot_be_run_there_is_named(packed, tmp_path):
    script = UserModule("helpers", "/home/me/helpers.py", b"import no_such_package")
    with pytest.raises(
        ValueError, match=r"/home/me/helpers.py cannot be imported on a worker: Mod"
    ):
        unpickle_plan(pickle.dumps(([script], b"")))


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


def test_what_lies_beside_a_file_travels_with_it_from_the_folder_one_is_in(tmp_path, monkeypatch):
    write(tmp_path)
    (tmp_path / "mine.py").write_text((tmp_path / "script.py").read_text())
    monkeypatch.chdir(tmp_path)
    data = pickle_plan(Spec.from_text(SPEC.replace("statistics.py", "mine.py")).plan)
    assert {"helpers", "constants", "fast", "gear.more"} <= {
        one.name for one in pickle.loads(data)[0]
    }


def test_a_file_that_many_points_name_is_run_once(tmp_path):
    write(tmp_path)
    (tmp_path / "mine.py").write_text((tmp_path / "script.py").read_text())
    text = SPEC.replace("statistics.py", "mine.py")
    one, other = (Spec.from_text(text, folder=tmp_path).plan for _ in range(2))
    assert type(one.policies["Turns()"]) is type(other.policies["Turns()"])
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# changed")
    third = Spec.from_text(text, folder=tmp_path).plan
    assert type(one.policies["Turns()"]) is not type(third.policies["Turns()"])


def test_two_files_that_are_imported_by_one_name_are_refused():
    modules = [UserModule("helpers", f"/home/{who}/helpers.py", b"") for who in ("me", "you")]
    with pytest.raises(ValueError, match=r"helpers.py and /home/you/helpers.py cannot both be"):
        _check_names(modules)


def drawn(rng, numbers: FloatArray) -> float:
    return float(uniform(rng) < numbers[0])


def test_custom_distributions_are_pickled():
    problem = StochasticProblem([CustomDistribution(drawn, mean=0.3, numbers=[0.3]), 0.5])
    plan = Plan.make(problem, [UCB1()], horizon=60, checkpoints=[60], seed=3)
    assert plan_digest(unpickle_plan(pickle_plan(plan))) == plan_digest(plan)


def test_a_class_in_a_function_is_refused():
    class Inner(Uniform):
        pass

    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    plan = Plan.make(problem, [Inner()], horizon=60, checkpoints=[60], seed=3)
    with pytest.raises(ValueError, match="Inner must be defined in a file, outside of functions"):
        pickle_plan(plan)


def test_what_is_typed_is_refused_before_a_cluster_is_started(monkeypatch):
    from keyhole import simulate
    from keyhole.play import simulation
    from keyhole.thresholding import Problem, Uniform

    class Typed(Uniform):
        """A policy that is in no file."""

    monkeypatch.setattr(
        simulation, "cluster_connection", lambda *_: pytest.fail("a cluster was started")
    )
    words = r"Typed must be defined in .* \(in a notebook: %%writefile FILE.py, then import it\)"
    with pytest.raises(ValueError, match=words):
        simulate(
            Problem(means=[0.2, 0.7], threshold=0.5), [Typed()], horizon=9, replications=1, on="ray"
        )
