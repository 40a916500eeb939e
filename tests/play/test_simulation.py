import os
import re
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from keyhole import simulate
from keyhole.drivers import engine
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.learner import make_learner
from keyhole.play.threaded_simulation import split_replications
from keyhole.policy import parameter, uniform
from keyhole.thresholding import LSA, IndexPolicy, Policy, Problem
from tests.busy import wait_until_busy
from tests.toys import Greedy, Halving, Impatient, LastHalfEnvironment, RunEnvironment, Toy

PROBLEM = Problem(means=[0.2, 0.45, 0.55, 0.9], threshold=0.5)


def play(policies=None, **change):
    arguments = {"horizon": 100, "replications": 30, "seed": 3, "checkpoints": [10, 50, 100]}
    return simulate(PROBLEM, policies or [LSA()], **(arguments | change))


def same(a, b, label="LSA(alpha=1.35)"):
    return all(np.array_equal(a.values(label, m), b.values(label, m)) for m in a.metrics)


@pytest.mark.parametrize("threads", [1, 2, 5, 40])
def test_threads_change_nothing(threads):
    assert same(play(threads=1), play(threads=threads))


def test_other_policies_change_nothing():
    assert same(play(), play([LSA(alpha=0.5), LSA(), LSA(alpha=4)]))


def test_more_replications_only_add_some():
    few, many = play(replications=7), play(replications=30)
    label = few.labels[0]
    for metric in few.metrics:
        assert np.array_equal(few.values(label, metric), many.values(label, metric)[:, :7])


def test_checkpoints_only_choose_what_is_shown():
    all_of_them = play(checkpoints=range(4, 101)).values("LSA(alpha=1.35)", "aggregate_regret")
    some = play().values("LSA(alpha=1.35)", "aggregate_regret")
    assert np.array_equal(all_of_them[[6, 46, 96]], some)


def test_seeds_change_everything():
    assert not same(play(), play(seed=4))


@pytest.mark.interpreted
def test_lanes_change_nothing(monkeypatch, tmp_path):
    expected = play(replications=7, horizon=50, checkpoints=[10, 50])
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))  # other machine code, another cache
    monkeypatch.setattr("keyhole.kernels.compile_cache._functions", {})
    monkeypatch.setattr(engine, "LANES", 3)
    assert same(expected, play(replications=7, horizon=50, checkpoints=[10, 50]))


def test_pieces_are_whole_groups_of_lanes_but_leave_no_thread_without():
    assert [len(piece) for piece in split_replications(range(3, 103), 2)] == [8] * 12 + [4]
    assert split_replications(range(10), 2) == [range(5), range(5, 10)]
    assert split_replications(range(3), 8) == [range(1), range(1, 2), range(2, 3)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, r"horizon must lie in \[1, 2\*\*53\], got 0"),
        ({"horizon": 10.0}, "horizon must be a whole number, got 10.0"),
        ({"replications": 0}, r"replications must lie in \[1, 2\*\*53\], got 0"),
        ({"threads": 0}, r"threads must lie in \[1, 1024\], got 0"),
        ({"threads": 1025}, r"threads must lie in \[1, 1024\], got 1025"),
        ({"seed": -1}, "seed must lie in"),
        ({"checkpoints": [3, 50]}, "must be at least the number of arms, 4; got 3"),
        ({"checkpoints": []}, "checkpoints must have at least one entry"),
        ({"checkpoints": [50, 10]}, "checkpoints must rise, got 10 after 50"),
        ({"checkpoints": [50, 50]}, "checkpoints must rise, got 50 after 50"),
        ({"checkpoints": [50, 101]}, r"checkpoints\[1\] must lie in \[1, 100\], got 101"),
        ({"policies": []}, "policies must have at least one entry"),
        ({"policies": [LSA(), LSA()]}, "policies must differ in their parameters"),
        ({"policies": ["LSA"]}, r"must be a policy, got 'LSA': write LSA\(\)$"),
        ({"policies": ["LSA(alpha=2)"]}, r"must be a policy, got 'LSA\(alpha=2\)'$"),
        ({"on": "foo"}, r"^on must be threads, dask\[=ADDRESS\] or ray\[=ADDRESS\], got 'foo'$"),
        ({"seed": None}, r"seed must be a whole number, got None"),
        ({"policies": {"x": 3}}, r"policies\['x'\] must be a policy, got 3"),
    ],
)
def test_bad_input_is_named(change, message):
    policies = change.pop("policies", [LSA()])
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(PROBLEM, policies, **({"horizon": 100, "replications": 5} | change))


@pytest.mark.interpreted
@pytest.mark.parametrize("first", [1, 7])
def test_a_decision_out_of_range_is_refused_before_it_does_harm(first):
    class Wild(Policy):
        class State:
            pass

        def select(p, s, t):
            return p.arms if t == first else 0

        def update(p, s):
            pass

        def recommend(p, s, labels):
            pass

    words = rf"Wild\(\) took a decision .* in round {first} of replication"
    with pytest.raises(ValueError, match=words):
        simulate(PROBLEM, [Wild()], horizon=10, replications=9)


class Rash(Policy):
    """Takes an arm that there is not, now and then."""

    class State:
        pass

    def select(p, rng):
        return p.arms if uniform(rng) < 0.02 else 0

    def update(p, s):
        pass

    def recommend(p, s, labels):
        pass


@pytest.mark.interpreted
def test_a_refusal_names_its_round_and_its_replication():
    with pytest.raises(ValueError, match="took a decision") as refusal:
        simulate(PROBLEM, [Rash()], horizon=99, replications=6, seed=3, threads=1)
    place = re.search(r"in round (\d+) of replication (\d+)", str(refusal.value))
    last, replication = map(int, place.groups())
    assert replication > 0
    learner = make_learner(Rash(), {"arms": 4, "threshold": 0.5}, seed=3, replication=replication)
    for _ in range(last - 1):
        learner.ask()
        learner.tell(1.0)
    with pytest.raises(ValueError, match=f"in round {last}"):
        learner.ask()


class OwnError(Exception):
    """An error of a user's own."""


class Unlucky(Policy):
    which: int = parameter(default=0)

    class State:
        pass

    def select(p, s, t):
        if t == 7:
            if p.which == 0:
                raise IndexError("bad luck")
            if p.which == 1:
                raise OwnError("bad", 3)
            if p.which == 2:
                raise AssertionError
            if p.which == 3:
                raise ValueError("as the user words it")
        return 0

    def update(p, s):
        pass

    def recommend(p, s, labels):
        pass


@pytest.mark.parametrize(
    ("which", "raised"),
    [(0, "IndexError: bad luck"), (1, "OwnError: ('bad', 3)"), (2, "AssertionError")],
)
def test_what_a_kernel_raises_is_said_with_whose_it_is(which, raised):
    words = f"a kernel of Unlucky(which={which}) or of its environment raised {raised}"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$") as caught:
        simulate(PROBLEM, [Unlucky(which=which)], horizon=10, replications=9)
    assert type(caught.value.__cause__).__name__ == raised.partition(":")[0]


def test_a_kernels_own_complaint_is_left_in_its_words():
    with pytest.raises(ValueError, match=r"^as the user words it$"):
        simulate(PROBLEM, [Unlucky(which=3)], horizon=10, replications=9)


@pytest.mark.interpreted
def test_a_policy_says_what_rounds_it_needs():
    problem = Toy(LastHalfEnvironment, {"arms": 2, "longest": 1})
    message = r"^Impatient\(\) needs at most two rewards: not so in round 8 of replication 0$"
    with pytest.raises(ValueError, match=message):
        simulate(problem, {"it": Impatient()}, horizon=10, replications=3, threads=1)
    learner = make_learner(Impatient(), {"arms": 2})
    environment = InteractiveEnvironment(problem, horizon=10)
    for _ in range(7):
        environment.play_round(learner)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"not so in round 8$"):
            learner._ask()
    assert learner.rounds == 7


@pytest.mark.interpreted
def test_an_environment_knows_the_horizon_of_its_run():
    problem = Toy(LastHalfEnvironment, {"arms": 2, "longest": 1})
    for horizon in (10, 40):
        curves = simulate(problem, {"it": Greedy()}, horizon=horizon, replications=1)
        assert curves.mean("it", "generated")[-1] == horizon / 2
    with pytest.raises(TypeError, match="horizon must be given"):
        InteractiveEnvironment(problem)


@pytest.mark.interpreted
def test_a_problem_that_ends_is_not_played_on():
    class Short(Toy):
        rounds = 9

    problem = Short(RunEnvironment, {"arms": 2})
    assert simulate(problem, {"it": Halving()}, horizon=9, replications=1).checkpoints == (9,)
    with pytest.raises(ValueError, match=r"horizon must be at most 9, .*; got 10"):
        simulate(problem, {"it": Halving()}, horizon=10, replications=1)


class Broken(RunEnvironment):
    """An environment that divides nothing by nothing."""

    def score(s, metrics):
        metrics.gain[0] = s.gain[0]
        metrics.censored[0] = (s.gain[0] - s.gain[0]) / (s.censored[0] - s.censored[0])


class Forgetful(RunEnvironment):
    """An environment that leaves a metric out."""

    def score(s, metrics):
        metrics.gain[0] = s.gain[0]


@pytest.mark.interpreted
@pytest.mark.parametrize("environment", [Broken, Forgetful])
def test_a_metric_that_is_no_number_or_left_out_is_refused(environment):
    with pytest.raises(
        ValueError, match=r"Halving\(.*\) led to a metric, censored, that is not a finite"
    ):
        simulate(Toy(environment, {"arms": 2}), {"it": Halving()}, horizon=10, replications=2)


@pytest.mark.interpreted
def test_curves_have_the_metrics_that_the_environment_declares():
    curves = simulate(
        Toy(RunEnvironment, {"arms": 2}), {"it": Halving()}, horizon=4, replications=2
    )
    assert curves.metrics == ("gain", "censored")
    assert curves.metric("gain") is RunEnvironment.metrics[0]
    assert curves.plot("gain").get_ylabel() == "reward less what it took (hours)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "def select(p, s): return len(np.zeros(3))",
            "a kernel cannot allocate memory",
            marks=pytest.mark.slow,  # see also the tests of the interpreter
        ),
        (
            "def select(p, s): return len(s.pulls.ravel())",
            r"cannot call what may make a new array, such as `ravel`: take entries by their "
            r"indices \(<string>, line 1\)",
        ),
    ],
)
def test_a_kernel_that_cannot_be_compiled_is_explained(body, message):
    scope = {"np": np}
    exec(body, scope)
    mine = type("Mine", (LSA,), {"select": scope["select"]})
    with pytest.raises(TypeError, match=message):
        simulate(PROBLEM, [mine()], horizon=10, replications=1)


def test_the_reason_has_no_bold_letters(monkeypatch):
    """Numba writes them where colorama can be imported, as it can once Ray is."""
    from numba.core import errors

    monkeypatch.setattr(errors, "_termcolor_inst", type("Bold", (), {"__getattr__": _bold})())
    scope = {}
    exec("def select(p, s): return s.index.somewhere", scope)
    mine = type("Mine", (LSA,), {"select": scope["select"]})
    message = r"^Mine in BernoulliRewardEnvironment cannot be compiled: [^\x1b]*somewhere[^\x1b]*$"
    with pytest.raises(TypeError, match=message):
        simulate(PROBLEM, [mine()], horizon=10, replications=1)


def _bold(self, name):
    return lambda text: f"\x1b[1m{text}\x1b[0m"


def test_progress_that_is_no_answer_is_refused():
    with pytest.raises(TypeError, match=r"progress must be True, False or a function .* got 'yes'"):
        simulate(PROBLEM, [LSA()], horizon=10, replications=1, progress="yes")


def test_memory_does_not_grow_with_the_horizon():
    def peak(horizon):
        tracemalloc.start()
        play(horizon=horizon, checkpoints=None, replications=4, threads=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1_000)  # whatever is made once
    assert peak(1_000_000) < 1.5 * peak(1_000)


@pytest.mark.interpreted
def test_a_users_policy_runs_beside_the_built_in_ones():
    class Flat(IndexPolicy):
        def index(p, pulls, total):
            return -pulls

    curves = play([LSA(), Flat()])
    assert curves.mean("LSA(alpha=1.35)", "aggregate_regret")[-1] < 4
    assert "Flat()" in curves.labels


ENDLESS = """
from keyhole import simulate
from keyhole.thresholding import LSA, Problem
problem = Problem(means=[0.2, 0.7] * 20, threshold=0.5)
simulate(problem, [LSA()], horizon=50, replications=1)
print("ready", flush=True)
simulate(problem, [LSA()], horizon=10**11, replications=64)
"""


def test_ctrl_c_stops_what_would_go_on_for_hours():
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=600)
    assert "KeyboardInterrupt" in errors


LOOPING = """
import sys
import threading

import keyhole.play.policy_trial
import keyhole.play.threaded_simulation
from keyhole import simulate
from keyhole.thresholding import IndexPolicy, Problem

class Stuck(IndexPolicy):
    def index(p, pulls, total):
        n = 0.0
        while n < 1.0 or pulls > 1.0:
            n += 1.0
        return n

join = threading.Thread.join

def told(thread, timeout=None):
    print("waiting", flush=True)
    join(thread, timeout)

threading.Thread.join = told
keyhole.play.threaded_simulation._GRACE_SECONDS = float(sys.argv[1])
keyhole.play.policy_trial._MOST_SECONDS = 0.0  # in the trial, Ctrl-C works at once
problem = Problem(means=[0.2, 0.7], threshold=0.5)
simulate(problem, [Stuck()], horizon=2, replications=1)
print("ready", flush=True)
simulate(problem, [Stuck()], horizon=50, replications=8, threads=1)
"""


@pytest.mark.parametrize(
    ("presses", "grace"), [(1, 0.3), pytest.param(2, 60.0, marks=pytest.mark.slow)]
)
def test_ctrl_c_ends_a_process_whose_kernel_never_returns(presses, grace):
    with subprocess.Popen(
        [sys.executable, "-c", LOOPING, str(grace)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            wait_until_busy(process, 0.3)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "waiting\n"
            if presses == 2:
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    assert "a kernel of Stuck() does not return: its thread is abandoned" in errors
    assert errors.splitlines()[-1] == "KeyboardInterrupt"


def test_more_threads_than_any_machine_has_change_nothing():
    assert same(play(), play(threads=1024))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 2**63}, r"horizon must lie in \[1, 2\*\*53\], got 9223372036854775808"),
        ({"replications": 2**63}, r"replications must lie in \[1, 2\*\*53\], got"),
        ({"replications": 2**53}, "replications = .* must fit into memory: "),
        ({"seed": 10**400}, r"seed must lie in \[0, 2\*\*63\), got a whole number of 401 digits"),
        ({"policies": {1: LSA()}}, "the label of a policy must be a text, got 1"),
        ({"policies": {None: LSA()}}, "the label of a policy must be a text, got None"),
        ({"policies": {"": LSA()}}, "the label of a policy must not be empty"),
        ({"policies": {"a\x1b[2J": LSA()}}, "the label of a policy must have no control char"),
    ],
)
def test_input_beyond_all_measure_is_named(change, message):
    policies = change.pop("policies", [LSA()])
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(PROBLEM, policies, **({"horizon": 100, "replications": 5} | change))


def test_simulations_in_several_threads_do_not_disturb_each_other():
    expected = play()
    results = []
    workers = [threading.Thread(target=lambda: results.append(play(threads=2))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 3
    assert all(same(expected, r) for r in results)


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (LSA(), r"policies must be a list of policies, got LSA\(alpha=1.35\)"),
        ([LSA], r"^policies\[0\] must be a policy, got .*LSA.*: write LSA\(\)"),
        (["LSA", "LSA"], r"^policies\[0\] must be a policy, got 'LSA': write LSA\(\)"),
        ({"mine": 3}, r"^policies\['mine'\] must be a policy, got 3$"),
        ({LSA()}, r"^policies must be a list of policies, got \{LSA\(alpha=1.35\)\}"),
        (pa.table({"a": [1]}), "^policies must be a list of policies; .* the columns a$"),
    ],
)
def test_what_is_no_list_of_policies_is_refused(policies, message):
    with pytest.raises(TypeError, match=message):
        simulate(PROBLEM, policies, horizon=10, replications=1)


TABLE = np.zeros(3)


class WritesTable(LSA):
    def select(p, t):
        TABLE[0] = t
        return t % p.arms


def test_a_kernel_that_writes_to_an_array_of_its_module_hears_what_it_may_write_to():
    message = r"writes to an array of its module, .*: only the arrays of State .*line \d+\)"
    with pytest.raises(TypeError, match=message):
        simulate(PROBLEM, [WritesTable()], horizon=10, replications=1, interpreted=False)
