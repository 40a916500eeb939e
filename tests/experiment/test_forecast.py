"""What a run is going to take, worked out from made-up measurements."""

import math

import pytest

import keyhole.experiment.forecast
from keyhole.experiment import Spec
from keyhole.experiment.forecast import measure_forecast

TEXT = """
name = "grid"
replications = 16
horizon = 60
checkpoints = [20, 60]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "RoundRobin"
"""


class Measured:
    """Stands for the measuring; `pace` is told plan and policy."""

    def __init__(self, pace):
        self.pace = pace
        self.seen = []

    def __call__(self, plan, label, seconds, *, replications, threads):
        self.seen.append((plan, plan.policies[label], seconds, replications, threads))
        return self.pace(plan, plan.policies[label])


def steady(plan, policy):
    return 1.0


def of(lines="", measure=None, *, text=TEXT, **options):
    given = {"measure": measure or Measured(steady)}
    return measure_forecast(Spec.from_text(text + lines), **given | options)


def test_what_is_to_be_played_is_counted_once():
    found = of('[sweep]\n"policy.alpha" = [1.0, 2.0]\nseed = [1, 2, 3]')
    assert (found.points, found.runs, found.distinct) == (6, 12, 9)
    assert found.replications == 9 * 16
    assert found.rounds == 9 * 16 * 60
    assert found.seconds == pytest.approx(found.rounds, rel=1e-3)


def test_a_spec_without_a_sweep_is_one_point():
    found = of()
    assert (found.points, found.runs, found.distinct) == (1, 2, 2)


def test_each_kind_of_policy_has_a_pace_of_its_own():
    measure = Measured(lambda plan, policy: {"LSA": 3.0, "RoundRobin": 1.0}[type(policy).__name__])
    assert of(measure=measure).seconds == pytest.approx(16 * 60 * 4, rel=1e-3)


def test_of_many_runs_a_few_are_measured_for_the_whole_span():
    measure = Measured(steady)
    found = of(f"[sweep]\nseed = {list(range(50))}", measure, span=2.0, threads=3)
    assert found.samples == len(measure.seen) == 8
    assert {seconds for _, _, seconds, _, _ in measure.seen} == {0.25}
    assert {threads for *_, threads in measure.seen} == {3}


def test_longer_runs_are_measured_too_and_others_lie_between():
    measure = Measured(lambda plan, policy: float(plan.horizon))
    text = TEXT.replace("checkpoints = [20, 60]\n", "")
    horizons = [10 * 2**n for n in range(9)]
    found = of(f"[sweep]\nhorizon = {horizons}", measure, text=text)
    measured = {plan.horizon for plan, *_ in measure.seen}
    assert {10, 2560} < measured
    exact = sum(2 * 16 * horizon**2 for horizon in horizons)
    assert found.seconds == pytest.approx(exact, rel=0.15)


def test_a_policy_that_is_run_once_for_each_budget_is_measured_at_some_of_them():
    text = TEXT.replace('"LSA"', '"UCBE"\nb = 1.0').replace("[20, 60]", "[20, 40, 60]")
    measure = Measured(lambda plan, policy: float(plan.checkpoints[-1]))
    found = of(measure=measure, text=text)
    budgets = {plan.checkpoints for plan, policy, *_ in measure.seen if policy.needs}
    assert budgets <= {(20,), (40,), (60,), (20, 40, 60)}
    assert found.rounds == 16 * (20 + 40 + 60 + 60)
    assert found.seconds == pytest.approx(16 * (20**2 + 40**2 + 60**2 + 60**2), rel=0.05)


def test_what_is_compiled_is_said_apart(tmp_path, monkeypatch):
    def compile_one(plan, label):
        now[0] += 3.0
        (tmp_path / f"{len(type(plan.policies[label]).__name__):064x}.code").touch()

    now = [0.0]
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(keyhole.experiment.forecast, "make_simulators", compile_one)
    found = of(clock=lambda: now[0])
    assert (found.compiled, found.compiling) == (2, 6.0)
    assert found.seconds == pytest.approx(found.rounds, rel=1e-3)
    assert (again := of()).compiled == 0
    assert again.compiling == 0.0


def test_a_policy_of_which_no_round_ends_is_named():
    measure = Measured(lambda plan, policy: {"LSA": math.inf}.get(type(policy).__name__, 1.0))
    found = of("[sweep]\nseed = [1, 2]", measure)
    assert found.seconds == math.inf
    assert found.endless == ("LSA(alpha=1.35)",)
    assert [type(policy).__name__ for _, policy, *_ in measure.seen].count("LSA") == 1
