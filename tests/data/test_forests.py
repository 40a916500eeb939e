import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import Forests, forests, load_forests
from keyhole.data.forests import CONFIGURATIONS, train
from keyhole.resource import RCUCB, Power


def test_training_is_real_and_repeatable():
    few, many = CONFIGURATIONS[0], CONFIGURATIONS[-1]
    found = [train((few, 1)), train((few, 1)), train((few, 2)), train((many, 1))]
    assert found[0] == found[1] != found[2]
    assert all(0.4 < reward < 0.9 for reward in found)


def test_runs_are_ended_at_their_limit_and_learnt_from():
    learner = RCUCB().learner(
        arms=len(CONFIGURATIONS),
        limits=[1e-4, 60.0],
        cost=Power(slope=0.01),
        penalty=Power(slope=0.02),
    )
    with Forests(seed=4) as runs:
        arm, limit = learner.ask()
        done = runs.run(arm, limit)
        assert done is not None
        assert 0.4 < done[0] < 0.9
        assert 0 < done[1] < 60
        learner.tell(*done)
        assert runs.run(arm, 1e-4) is None
        assert runs.run(arm, 60.0) is not None


def test_the_measured_table_is_replayed():
    runs = load_forests()
    assert runs.arms == tuple(map(str, CONFIGURATIONS))
    assert {len(rewards) for rewards in runs.rewards} == {25}
    low, high = runs.quartiles()
    problem = forests(limits=5)
    assert problem.limits[-1] == 1
    assert problem.limits[0] == pytest.approx(low / high, abs=1e-9)
    assert np.diff(problem.limits) == pytest.approx(np.diff(problem.limits)[0])
    means = np.array([r.mean() for r in runs.rewards])
    assert (means > 0.4).all()
    curves = simulate(problem, {"it": RCUCB()}, horizon=500, replications=4)
    again = simulate(forests(limits=5), {"it": RCUCB()}, horizon=500, replications=4)
    assert np.array_equal(curves.values("it", "regret"), again.values("it", "regret"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: forests(limits=1), "limits must be at least 2, got 1"),
        (lambda: Forests(seed=-1), "seed must be at least 0, got -1"),
        (lambda: Forests().run(36, 1.0), r"arm must lie in \[0, 36\), got 36"),
        (lambda: Forests().run(0, 0), "limit must be above 0, got 0"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
