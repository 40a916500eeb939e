import pytest

from keyhole.stochastic import Problem

pytestmark = pytest.mark.interpreted


def test_means_gaps_and_the_best_arm():
    problem = Problem([0.25, 0.75, 0.75])
    assert problem.gaps.tolist() == [0.5, 0.0, 0.0]
    assert problem.best == 1
    assert repr(problem) == "Problem(3 bernoulli arms, means=[0.25, 0.75, 0.75])"


def test_a_replayed_problem_knows_its_means():
    problem = Problem.replay([[0, 1, 0.5], [0.25]])
    assert problem.means.tolist() == [0.5, 0.25]
    assert problem.resized(3).means.tolist() == [0.5, 0.25, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem([]), "means must have at least one entry, got none"),
        (lambda: Problem([0.5, -0.1]), r"means\[1\] must lie in \[0, 1\], got -0\.1"),
        (
            lambda: Problem([0.5], distribution="beat"),
            "distribution must be one of .*did you mean 'beta'",
        ),
        (lambda: Problem.replay([[]]), r"samples\[0\] must have at least one entry"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
