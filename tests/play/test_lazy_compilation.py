"""What is not compiled yet is begun by Python, and compiled when it pays: with the same results."""

import copy
import os
import subprocess
import sys

import numpy as np
import pytest

import keyhole
from keyhole import simulate
from keyhole.delayed import QPMD
from keyhole.kernels import compile_cache, compiler_fork_locks, tiered_execution
from keyhole.kernels.interpreted_mode import AtomicCall
from keyhole.kernels.tiered_execution import BUDGET, TieredFunction
from keyhole.thresholding import APT, LSA, Problem

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


@pytest.fixture
def compilings(monkeypatch, tmp_path):
    """Return whose code is compiled from now on; there is none yet, and nobody says who runs it."""
    names, really = [], compile_cache._compile

    def counting(owner, *rest):
        names.append(owner)
        return really(owner, *rest)

    monkeypatch.delenv("KEYHOLE_INTERPRET", raising=False)
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_cache, "_compile", counting)
    for held in ("_functions", "_recent_functions", "_budgets"):
        monkeypatch.setattr(compile_cache, held, type(getattr(compile_cache, held))())
    return names


@pytest.fixture
def uncompiled(compilings, monkeypatch):
    """Return the same where nothing is compiled: it only takes time."""

    def refuse(owner, *rest):
        compilings.append(owner)
        raise TypeError("compiled")

    monkeypatch.setattr(compile_cache, "_compile", refuse)
    return compilings


def decide(learner, rounds):
    """Yield decisions."""
    for n in range(rounds):
        yield learner.ask()
        learner.tell((n % 3) / 2)


def ask_and_wait(learner, rounds):
    """Ask so many times, and tell the rewards of all together in the last round."""
    rewards = []
    for n in range(rounds):
        rewards.append((learner.ask(), 0.5))
        learner.tell(rewards if n == rounds - 1 else [])


@pytest.mark.parametrize("event", ["memory grows", "an error"])
def test_machine_code_takes_over_although(compilings, event):
    learner = QPMD().learner(arms=2, feedback="named")
    if event == "memory grows":
        ask_and_wait(learner, learner.facts["memory"] + 1)
    else:
        learner.ask()
        with pytest.raises(ValueError, match="must lie in"):
            learner.tell([(9, 1)], rounds=2)
        learner.tell([])
    learner._step.budget.used_seconds = BUDGET + 1.0
    ask_and_wait(learner, 2)
    assert compilings == ["QPMD"]
    assert not isinstance(learner._step, TieredFunction)


def test_machine_code_takes_over_between_two_calls(compilings):
    learner = APT().learner(arms=4, threshold=0.5, seed=3)
    alike = APT().learner(arms=4, threshold=0.5, seed=3, interpreted=True)
    assert [*decide(learner, 10)] == [*decide(alike, 10)]
    assert learner.ask() == alike.ask()
    assert compilings == []
    other = copy.deepcopy(learner)
    learner._step.budget.used_seconds = BUDGET + 1.0
    for one in (learner, alike):
        one.tell(1.0)
    assert compilings == ["APT"]
    assert not isinstance(learner._step, TieredFunction)
    assert [*decide(learner, 10)] == [*decide(alike, 10)]
    assert np.array_equal(learner._memory, alike._memory)
    assert not isinstance(APT().learner(arms=2, threshold=0.5)._step, TieredFunction)
    other.tell(1.0)  # one that began before
    assert not isinstance(other._step, TieredFunction)
    compile_cache._functions.clear()
    compile_cache._recent_functions.clear()
    # What is kept in a file is not begun by Python.
    assert not isinstance(APT().learner(arms=2, threshold=0.5)._step, TieredFunction)
    assert compilings == ["APT"]


def test_a_small_simulation_is_played_by_python_and_a_large_one_is_compiled(uncompiled):
    small = {"horizon": 30, "replications": 10, "seed": 1}
    begun = simulate(PROBLEM, {"it": APT()}, **small)
    whole = simulate(PROBLEM, {"it": APT()}, interpreted=True, **small)
    for metric in whole.metrics:
        assert np.array_equal(begun.values("it", metric), whole.values("it", metric))
    assert uncompiled == []
    with pytest.raises(TypeError, match=r"^compiled$"):
        simulate(PROBLEM, {"it": APT()}, horizon=1000, replications=1000)
    assert uncompiled == ["APT in BernoulliRewardEnvironment"]


def test_what_cannot_be_interpreted_is_compiled(uncompiled, monkeypatch):
    def refuse(owner, function):
        raise TypeError(f"{owner}: cannot be interpreted")

    monkeypatch.setattr(tiered_execution, "interpret", refuse)
    with pytest.raises(TypeError, match=r"^compiled$"):
        APT().learner(arms=2, threshold=0.5)


def test_many_small_simulations_are_compiled_in_the_end(uncompiled):
    play = lambda: simulate(PROBLEM, [APT()], horizon=10, replications=1)  # noqa: E731
    play()
    (budget,) = compile_cache._budgets.values()
    assert 0.0 < budget.used_seconds < BUDGET
    budget.used_seconds = BUDGET + 1.0
    with pytest.raises(TypeError, match=r"^compiled$"):
        play()


class Mine(APT):
    """A policy of a user's, one kernel of which is their own."""

    pending = ("ignore",)

    def select(p, s, t):
        return t % p.arms


class Unable(Mine):
    """One that Python can run, and that cannot be compiled."""

    def select(p, s, t):
        return len(str(t)) % p.arms if t < 1000 else {}


def test_a_policy_of_a_users_own_is_compiled_at_once_or_refused(uncompiled, monkeypatch):
    for policy in (Mine(), Unable()):
        with pytest.raises(TypeError, match=r"^compiled$"):
            policy.learner(arms=2, threshold=0.5)
        with pytest.raises(TypeError, match=r"^compiled$"):
            simulate(PROBLEM, [policy], horizon=5, replications=1)


@pytest.mark.parametrize("how", ["argument", "context", "variable"])
def test_it_can_be_switched_off(uncompiled, monkeypatch, how):
    given = {"interpreted": False} if how == "argument" else {}
    if how == "variable":
        monkeypatch.setenv("KEYHOLE_INTERPRET", "0")

    def play():
        if how == "context":
            with keyhole.interpreted(False):
                return simulate(PROBLEM, [LSA()], horizon=5, replications=1)
        return simulate(PROBLEM, [LSA()], horizon=5, replications=1, **given)

    with pytest.raises(TypeError, match=r"^compiled$"):
        play()
    if how != "context":
        with pytest.raises(TypeError, match=r"^compiled$"):
            LSA().learner(arms=2, threshold=0.5, **given)


def test_what_is_interpreted_for_good_is_never_compiled(uncompiled, monkeypatch):
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    learner = LSA().learner(arms=2, threshold=0.5)
    assert not isinstance(learner._step, TieredFunction)
    assert [*decide(learner, 5)]
    assert simulate(PROBLEM, [LSA()], horizon=3, replications=1).labels
    assert uncompiled == []


def test_no_fork_happens_in_the_midst_of_a_call():
    assert AtomicCall("Mine", lambda: compiler_fork_locks._calling._is_owned())()
    assert not compiler_fork_locks._calling._is_owned()


PROCESS = """
import sys
from keyhole import simulate
from keyhole.delayed import QPMD
from keyhole.thresholding import LSA, Problem
learner = LSA().learner(arms=3, threshold=0.5)
learner.ask()
problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
simulate(problem, [LSA()], horizon=10, replications=2)
heavy = ("numba", "llvmlite", "scipy", "pyarrow", "pydantic", "matplotlib")
print([name for name in heavy if name in sys.modules])
"""


def test_first_results_without_any_cache_need_no_compiler(tmp_path):
    variables = {k: v for k, v in os.environ.items() if k != "KEYHOLE_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", PROCESS],
        env=variables | {"KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
    assert [*tmp_path.iterdir()] == []
