import pytest

from keyhole.threshold import DKWUCB, OPTIM, KaplanMeierUCB

pytestmark = pytest.mark.interpreted


def censored():
    learner = KaplanMeierUCB().learner(arms=2, levels=5, feedback="censored", horizon=100)
    learner.ask(threshold=3)
    return learner


def test_asking_again_gives_the_same_arm_but_not_at_another_threshold():
    learner = censored()
    assert learner.ask(threshold=3) == 0
    with pytest.raises(RuntimeError, match="tell must come first: the decision at threshold 3"):
        learner.ask(threshold=4)
    learner.tell(2)
    assert learner.ask(threshold=4) == 0  # nothing is known of arm 0 at level 4


@pytest.mark.parametrize("threshold", [0, 6, 2.5, "3", None, True])
def test_a_threshold_out_of_range_changes_nothing(threshold):
    learner = censored()
    learner.tell(censored=True)
    with pytest.raises((TypeError, ValueError), match="threshold must"):
        learner.ask(threshold=threshold)
    assert learner.rounds == 1
    assert learner.ask(threshold=5) == 0


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"value": 3}, "value must be below the threshold 3, since .* censored; got 3"),
        ({"value": 5}, r"value must be below the threshold 3, .*got 5 \(tell censored=True\)"),
        ({"value": 6}, r"value must lie in \[0, 5\], got 6"),
        ({"value": -1}, r"value must lie in \[0, 5\], got -1"),
        ({"value": 1.5}, "value must be"),
        ({}, "exactly one of value and censored=True must be told"),
        ({"value": 1, "censored": True}, "exactly one of value and censored=True"),
        ({"censored": 1}, "censored must be True or False, got 1"),
    ],
)
def test_impossible_feedback_is_refused(told, message):
    learner = censored()
    with pytest.raises((TypeError, ValueError), match=message):
        learner.tell(**told)
    assert learner.state["tried"].sum() == 0
    learner.tell(2)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(2)


def test_uncensored_feedback_shows_every_sample():
    learner = DKWUCB().learner(arms=2, levels=5, feedback="uncensored", horizon=100)
    learner.ask(threshold=2)
    with pytest.raises(ValueError, match="censored must be False where feedback is uncensored"):
        learner.tell(censored=True)
    learner.tell(5)
    assert learner.state["reached"][0].tolist() == [1.0] * 5


def test_a_threshold_that_rises_is_refused_naming_the_round():
    learner = OPTIM().learner(arms=2, levels=5, feedback="censored", horizon=100)
    for threshold in (4, 4, 2):
        learner.ask(threshold=threshold)
        learner.tell(0)
    message = r"^OPTIM\(\) needs thresholds that never rise: not so in round 4$"
    with pytest.raises(ValueError, match=message):
        learner.ask(threshold=3)
    assert learner.ask(threshold=2) in (0, 1)


def test_the_recommendation_is_an_arm_for_each_level():
    learner = DKWUCB().learner(arms=2, levels=3, feedback="uncensored", horizon=100)
    for value in (1, 3):
        learner.ask(threshold=2)
        learner.tell(value)
    assert learner.recommend().tolist() == [0, 1, 1]


def test_the_text_of_a_learner():
    learner = censored()
    learner.tell(censored=True)
    assert repr(learner).splitlines() == [
        "KaplanMeierUCB() after 1 round, 2 arms, levels 5, censored feedback, horizon 100",
        "  arm 0: 1 of 1 reached level 1, 1 of 1 reached level 2, 1 of 1 reached level 3, "
        "0 of 0 reached level 4, 0 of 0 reached level 5",
        "  arm 1: " + ", ".join(f"0 of 0 reached level {level}" for level in range(1, 6)),
    ]


def test_the_feedback_is_checked():
    with pytest.raises(ValueError, match="feedback must be one of uncensored, censored; got 'no'"):
        KaplanMeierUCB().learner(arms=2, levels=5, feedback="no", horizon=10)
    with pytest.raises(TypeError, match="horizon"):
        KaplanMeierUCB().learner(arms=2, levels=5, feedback="censored")
