"""What two experiments play alike is played once, and is what each would have played alone."""

import numpy as np
import pytest

import keyhole.play.simulation_job
from keyhole.experiment import Spec, load_run, run
from keyhole.experiment.result_cache import ResultCache

TABLE = {
    "name": "one",
    "seed": 3,
    "replications": 20,
    "horizon": 60,
    "problem": {"setting": "thresholding", "means": [0.2, 0.45, 0.7], "threshold": 0.5},
    "policy": [{"name": "LSA"}, {"name": "UCBE", "b": 1.0, "label": "told"}],
}


def spec(**changes):
    return Spec.from_table(TABLE | changes)


@pytest.fixture
def played(monkeypatch):
    """Return the labels, checkpoints and replications of all that is played."""
    seen, play = [], keyhole.play.simulation_job.simulate_replications

    def counted(self, label, part, **kwargs):
        seen.append((repr(self.policies[label]), self.checkpoints, len(part)))
        return play(self, label, part, **kwargs)

    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", counted)
    return seen


def assert_same(found, expected):
    found, expected = load_run(found), load_run(expected)
    assert found.labels == expected.labels
    assert found.metrics == expected.metrics
    for label in expected.labels:
        for metric in expected.metrics:
            assert np.array_equal(found.values(label, metric), expected.values(label, metric))


def test_runs_that_differ_in_when_they_look_are_played_once(tmp_path, played, small_blocks):
    specs = {
        "a": spec(checkpoints=[20, 60]),
        "b": spec(checkpoints=[30, 60], details=True, policy=[{"name": "LSA", "label": "it"}]),
    }
    for name, one in specs.items():
        run(one, tmp_path / f"{name}-alone")
    alone = len(played)
    played.clear()
    cache = ResultCache(tmp_path / "cache", specs.values())
    for name, one in specs.items():
        run(one, tmp_path / name, cache=cache)
        assert_same(tmp_path / name, tmp_path / f"{name}-alone")
    lsa = [(checkpoints, count) for policy, checkpoints, count in played if "LSA" in policy]
    assert lsa == [((20, 30, 60), 8), ((20, 30, 60), 8), ((20, 30, 60), 4)]
    assert len(played) == alone - 3


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 4},
        {"replications": 21},
        {"horizon": 61},
        {"problem": TABLE["problem"] | {"threshold": 0.4}},
        {"policy": [{"name": "LSA", "alpha": 2.0}]},
    ],
)
def test_what_differs_in_anything_else_is_played_for_itself(tmp_path, played, changes):
    only_lsa = {"policy": TABLE["policy"][:1]}
    specs = [spec(**only_lsa), spec(**only_lsa | changes)]
    cache = ResultCache(tmp_path / "cache", specs)
    for i, one in enumerate(specs):
        run(one, tmp_path / str(i), cache=cache)
    assert len(played) == 2


def test_a_cached_block_is_not_simulated_again(tmp_path, played):
    one, other = spec(checkpoints=[60]), spec(checkpoints=[20, 60])
    run(one, tmp_path / "one", cache=ResultCache(tmp_path / "cache", [one, other]))
    before = len(played)
    run(other, tmp_path / "other", cache=ResultCache(tmp_path / "cache", [one, other]))
    assert len(played) == before


def test_rounds_that_are_shared_are_counted_once(tmp_path):
    one, other = spec(checkpoints=[60]), spec(name="two", checkpoints=[20, 60])
    cache = ResultCache(tmp_path, [one, other])
    assert cache.rounds_to_simulate("one", "LSA(alpha=1.35)") == 20 * 60
    assert cache.rounds_to_simulate("two", "LSA(alpha=1.35)") == 0
    assert cache.rounds_to_simulate("one", "told") == 20 * (20 + 60)  # once for each budget of both


def test_what_takes_longer_is_played_for_itself(tmp_path):
    specs = [
        spec(
            policy=[{"name": "LSA"}],
            workers=2,
            duration={"distribution": "Exponential", "mean": mean},
        )
        for mean in (1.0, 2.0, 1.0)
    ]
    assert len(ResultCache(tmp_path, specs).all_jobs()) == 2
