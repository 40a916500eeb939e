"""Learners and simulations whose kernels Python runs: they equal compiled ones."""

import copy
import gc
import pickle
import sys
import threading
import traceback

import numpy as np
import pytest

import keyhole
from keyhole import Learner, simulate
from keyhole.distributions.busy_times import Exponential
from keyhole.kernels.interpreted_mode import AtomicCall
from keyhole.kernels.interpreter import interpreted_arrays
from keyhole.policy import FloatArray, IntArray, float_array, int_array, parameter, uniform
from keyhole.stochastic import UCB1, Policy, Problem, RoundRobin, ThompsonSampling
from keyhole.threshold import KaplanMeierUCB

PROBLEM = Problem(means=[0.2, 0.45, 0.7])


class Faulty(Policy):
    """Does one wrong thing in round 5."""

    wrong: int = parameter(default=0, ge=0)

    class State:
        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")
        number: IntArray = int_array()

    def select(p, s: State, t: int) -> int:
        return t % p.arms

    def update(p, s: State, t: int, arm: int, reward: float) -> None:
        s.pulls[arm] += 1.0
        if t == 5:
            arm += 5 * (p.wrong == 1)
            s.pulls[arm] += 1.0
            none = s.pulls[0] - s.pulls[0]
            if p.wrong == 2:
                s.number[0] = int(none / none)
            if p.wrong == 3:
                s.number[0] = t // int(none)
            if p.wrong == 4:
                s.number[0] = int(1e300)
            if p.wrong == 5:
                raise ValueError("on purpose")


def line_of(text):
    with open(__file__) as file:
        return 1 + next(i for i, line in enumerate(file) if text in line)


FAULTS = [
    (1, IndexError, "s.pulls[arm] += 1.0\n            none", "reads or writes beyond an array"),
    (2, ValueError, "int(none / none)", "makes an index or another integer of nan"),
    (
        3,
        ValueError,
        "t // int(none)",
        "divides an integer by 0: t // int(none) with none = 0.0, t = 5",
    ),
    (4, ValueError, "int(1e300)", "makes an integer of more than 64 bits of 1e+300"),
]


def play(learner, rounds):
    for _ in range(rounds):
        learner.ask()
        learner.tell(0.5)


@pytest.mark.parametrize(("wrong", "kind", "text", "message"), FAULTS)
def test_what_goes_wrong_is_said_with_its_line_and_round(wrong, kind, text, message):
    line = line_of(text.splitlines()[0]) if wrong > 1 else line_of("arm += 5") + 1
    learner = Faulty(wrong=wrong).learner(arms=3, interpreted=True)
    with pytest.raises(kind) as from_learner:
        play(learner, 6)
    with pytest.raises(kind) as from_engine:
        simulate(PROBLEM, [Faulty(wrong=wrong)], horizon=9, replications=3, interpreted=True)
    for found in (from_learner, from_engine):
        said = str(found.value)
        assert said.startswith("a kernel of Faulty")
        assert message in said
        assert f"{__file__}, line {line}, in update, round 5, arm " in said
        assert traceback.extract_tb(found.tb)[-1].lineno == line  # where a debugger stops


def test_an_error_that_a_kernel_raises_is_its_own():
    with pytest.raises(ValueError, match=r"^on purpose") as found:
        simulate(PROBLEM, [Faulty(wrong=5)], horizon=9, replications=3, interpreted=True)
    assert found.value.args == ("on purpose",)
    (note,) = found.value.__notes__
    assert f"{__file__}, line " in note
    assert ", in update, round 5, arm " in note


POLICIES = [UCB1(), ThompsonSampling(), RoundRobin()]


@pytest.mark.parametrize(
    ("policies", "options"),
    [
        ([ThompsonSampling(), RoundRobin()], {}),
        ([UCB1()], {"workers": 3, "duration": Exponential(), "checked": True}),
        pytest.param(POLICIES, {}, marks=pytest.mark.slow),
        pytest.param(POLICIES, {"checked": True}, marks=pytest.mark.slow),
        pytest.param(POLICIES, {"workers": 3, "duration": Exponential()}, marks=pytest.mark.slow),
    ],
)
def test_simulations_are_those_of_compiled_code(policies, options):
    def play(**more):
        return simulate(
            PROBLEM, policies, horizon=60, replications=10, checkpoints={"count": 4}, threads=1,
            details=True, **options, **more,
        )  # fmt: skip

    machine, python = play(), play(interpreted=True)
    for label in machine.labels:
        for metric in machine.metrics:
            assert np.array_equal(machine.values(label, metric), python.values(label, metric))


@pytest.mark.parametrize(
    "policy",
    [
        ThompsonSampling(),
        pytest.param(UCB1(), marks=pytest.mark.slow),
        pytest.param(RoundRobin(), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_learners_are_those_of_compiled_code_and_so_are_copies_and_files(policy, tmp_path):
    draw = np.random.default_rng(1)
    machine, python = policy.learner(arms=4), policy.learner(arms=4, interpreted=True)
    for t in range(60):
        arm = machine.ask()
        assert python.ask() == arm
        reward = float(draw.random())
        machine.tell(reward)
        python.tell(reward)
        assert np.array_equal(machine._memory[5:], python._memory[5:])
        if t == 20:
            python = copy.deepcopy(python)
        if t == 30:
            python = pickle.loads(pickle.dumps(python))
        if t == 40:
            python.save(tmp_path / "learner.json")
            python = Learner.load(tmp_path / "learner.json", interpreted=True)
        assert isinstance(python._step, AtomicCall)


def test_a_log_is_gone_through_as_by_compiled_code():
    draw = np.random.default_rng(2)
    arms, rewards = draw.integers(3, size=50), draw.random(50)
    machine, python = UCB1().learner(arms=3), UCB1().learner(arms=3, interpreted=True)
    assert machine.replay(arms, rewards) == python.replay(arms, rewards)
    assert np.array_equal(machine._memory[5:], python._memory[5:])


def test_a_whole_number_may_be_a_reward():
    learner = KaplanMeierUCB().learner(
        arms=2, levels=4, horizon=9, feedback="uncensored", interpreted=True
    )
    learner._ask(1.0)  # calls of compiled code have a float for any number
    learner.tell(3)
    assert [value.tolist() for value in learner._feedback.values()] == [3]


def test_nothing_is_left_of_a_learner_that_is_gone():
    before = set(interpreted_arrays._borrowed_by_buffer)
    learner = UCB1().learner(arms=3, interpreted=True)
    play(learner, 3)
    new = interpreted_arrays._borrowed_by_buffer.keys() - before
    assert new
    del learner
    gc.collect()
    assert not new & interpreted_arrays._borrowed_by_buffer.keys()


def test_a_context_and_the_environment_say_it_too(monkeypatch):
    def is_interpreted(**options):
        return isinstance(UCB1().learner(arms=2, **options)._step, AtomicCall)

    assert not is_interpreted()
    with keyhole.interpreted():
        assert is_interpreted()
        with keyhole.interpreted(False):
            assert not is_interpreted()
            assert is_interpreted(interpreted=True)
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    assert is_interpreted()
    with keyhole.interpreted(False):
        assert not is_interpreted()
    monkeypatch.setenv("KEYHOLE_INTERPRET", "yes")
    with pytest.raises(ValueError, match="KEYHOLE_INTERPRET must be 0 or 1, got 'yes'"):
        UCB1().learner(arms=2)


def test_one_simulation_is_played_in_the_callers_thread():
    seen = set()

    class Looking(Policy):
        class State:
            pulls: FloatArray = float_array("arms")
            totals: FloatArray = float_array("arms")

        def select(p, rng) -> int:
            return int(uniform(rng) * p.arms)

        def update(p, arm: int, reward: float) -> None:
            pass

    def report(frame, event, argument):
        seen.add((frame.f_code.co_name, threading.current_thread()))
        return None

    before = sys.gettrace()
    sys.settrace(report)
    try:
        simulate(PROBLEM, [Looking()], horizon=3, replications=20, interpreted=True)
    finally:
        sys.settrace(before)
    assert ("select", threading.main_thread()) in seen
