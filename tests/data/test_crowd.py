import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from keyhole import simulate
from keyhole.data import Labels, crowd_problem, load_labels, read_labels_csv
from keyhole.data.crowd_labels import BUNDLED
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.thresholding import LSA, OptKG, RoundRobin


@pytest.fixture
def pets():
    return Labels(
        "pets",
        items=("cat", "dog", "emu"),
        ones=np.array([4, 1, 1]),
        counts=np.array([4, 4, 2]),
        gold=np.array([1, -1, 0]),
    )


@pytest.mark.parametrize("name", BUNDLED)
def test_an_arms_mean_is_the_share_of_its_labels_that_are_1_and_only_even_splits_are_free(name):
    labels, problem = load_labels(name), crowd_problem(name)
    assert problem.arms == labels.arms
    assert np.allclose(problem.means, labels.means, rtol=0, atol=1e-15)
    names = {metric.name for metric in problem.environment.metrics}
    assert ("gold_agreement" in names) == labels.has_gold
    assert (problem.free == (2 * labels.ones == labels.counts)).all()
    assert np.isfinite(problem.hardness)


@pytest.mark.interpreted
def test_a_pull_draws_one_of_the_items_labels(pets):
    problem = crowd_problem(pets)
    curves = simulate(problem, [RoundRobin()], horizon=600, replications=5, seed=3)
    # 200 labels an item settle the two that are not split; the third is right either way.
    assert (curves.values("RoundRobin()", "aggregate_regret") == 0).all()


@pytest.mark.interpreted
def test_without_replacement_a_label_is_bought_once(pets):
    problem = crowd_problem(pets, replacement=False)
    assert problem.rounds == 10
    environment = InteractiveEnvironment(problem, seed=3)
    bought = []
    for _ in range(5):
        environment.observe()
        bought.append(float(environment.respond({"arm": 1})["reward"][()]))
    assert sorted(bought[:4]) == [0.0, 0.0, 0.0, 1.0]
    assert bought[4] == 0.25  # all that is known of the dog


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["bluebirds", "sentiment_polarity_amt"])
def test_once_every_label_is_bought_no_item_is_wrong(name):
    problem = crowd_problem(name, replacement=False)
    curves = simulate(problem, [RoundRobin()], horizon=problem.rounds, replications=1, threads=1)
    assert not curves.values("RoundRobin()", "aggregate_regret").any()


@pytest.mark.interpreted
def test_gold_agreement_counts_the_items_with_gold(pets):
    # Seven labels an item, an odd number, so that the emu has no ties.
    curves = simulate(crowd_problem(pets), [RoundRobin()], horizon=21, replications=400, seed=3)
    agreement = curves.values("RoundRobin()", "gold_agreement")[0]
    assert set(agreement) == {0.5, 1.0}  # the cat is right; the emu is a coin toss
    assert abs(agreement.mean() - 0.75) < 0.06


def test_another_threshold_moves_the_sides(pets):
    assert crowd_problem(pets, threshold=0.2).labels.tolist() == [True, True, True]
    assert crowd_problem(pets, threshold=0.8).labels.tolist() == [True, False, False]
    with pytest.raises(ValueError, match="threshold must lie in"):
        crowd_problem(pets, threshold=1.4)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'bluebirds'"):
        crowd_problem("bluebird")
    for wrong in (5, True, ["bluebirds"], {"name": "bluebirds"}):
        with pytest.raises(ValueError, match="labels must be one of bluebirds"):
            crowd_problem(wrong)


def test_labels_of_ones_own_make_a_problem(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("item,label\na,1\na,1\nb,0\nb,1\nb,0\n")
    problem = crowd_problem(read_labels_csv(path))
    assert problem.means.round(3).tolist() == [1.0, 0.333]
    assert "gold_agreement" not in {metric.name for metric in problem.environment.metrics}


@pytest.mark.interpreted
def test_without_noise_one_label_an_item_is_enough():
    labels = load_labels("hitspam_crowdflower")
    some = slice(0, 500)
    problem = crowd_problem(
        replace(labels, items=labels.items[some], ones=labels.ones[some],
                counts=labels.counts[some], gold=labels.gold[some])
    )  # fmt: skip
    curves = simulate(problem, [LSA(), OptKG()], horizon=problem.arms, replications=1, threads=1)
    for label in curves.labels:
        assert (curves.values(label, "aggregate_regret") == 0).all()


def test_importing_keyhole_does_not_import_the_data():
    code = "import sys, keyhole; sys.exit('keyhole.data' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
