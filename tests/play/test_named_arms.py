"""Learners whose arms have names: they decide as others do, and speak in names."""

import copy
import enum
import json
import pickle

import pytest

from keyhole import Learner, delayed, resource, semibandit, stochastic, threshold, thresholding
from keyhole.files import json_checksum
from keyhole.policy import SettingLearner
from tests.study.test_vocabulary import Champion

pytestmark = pytest.mark.interpreted


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


NAMES = ["red", ("dark", "blue"), 7]
COST = {"cost": resource.Power(slope=0.1), "penalty": resource.Power(slope=0.2)}


def pull(learner, n):
    arm = learner.ask()
    learner.tell(float(n % 3 == 0))
    return arm


def pull_at_a_threshold(learner, n):
    arm = learner.ask(threshold=1 + n % 3)
    learner.tell(n % 4)
    return arm


def pull_with_late_rewards(learner, n):
    arm = learner.ask()
    learner.tell([(arm, float(n % 3 == 0))])
    return arm


def run(learner, n):
    arm, _ = learner.ask()
    learner.tell(0.25 * (n % 4), 0.1)
    return arm


CASES = {
    "stochastic": (stochastic.KLUCB(), {}, pull),
    "thresholding": (thresholding.LSA(), {"threshold": 0.5}, pull),
    "threshold": (
        threshold.SurvivalThompson(),
        {"levels": 3, "feedback": "uncensored"},
        pull_at_a_threshold,
    ),
    "delayed": (delayed.QPMD(), {"feedback": "named"}, pull_with_late_rewards),
    "resource": (resource.RCUCB(), {"limits": [0.5, 1.0], **COST}, run),
}


@pytest.fixture(params=CASES, name="case")
def fixture_case(request):
    return CASES[request.param]


def test_decisions_are_those_of_numbered_arms(case):
    policy, facts, play = case
    named, numbered = policy.learner(arms=NAMES, **facts), policy.learner(arms=3, **facts)
    assert named.arm_names == tuple(NAMES)
    assert numbered.arm_names is None
    assert [play(named, n) for n in range(30)] == [NAMES[play(numbered, n)] for n in range(30)]
    assert (named._memory == numbered._memory).all()


def test_a_printed_learner_has_the_names(case):
    policy, facts, play = case
    named, numbered = policy.learner(arms=NAMES, **facts), policy.learner(arms=3, **facts)
    for learner in (named, numbered):
        for n in range(5):
            play(learner, n)
    expected = repr(numbered)
    for number, text in enumerate(["red", "('dark', 'blue')", "7"]):
        expected = expected.replace(f"arm {number}", f"arm {text}")
    assert repr(named) == expected


def test_copies_and_files_keep_the_names(case, tmp_path):
    policy, facts, play = case
    learner = policy.learner(arms=["red", 7, None], **facts)
    for n in range(6):
        play(learner, n)
    learner.save(tmp_path / "learner.json")
    loaded = Learner.load(tmp_path / "learner.json")
    for again in (copy.copy(learner), pickle.loads(pickle.dumps(learner)), loaded):
        assert again.arm_names == ("red", 7, None)
        assert repr(again) == repr(learner)
    assert [play(loaded, n) for n in range(9)] == [play(learner, n) for n in range(9)]


def test_recommendations_are_in_names():
    for name, expected in {
        "stochastic": "red",
        "thresholding": {"red": True, "blue": True},
        "threshold": {1: "red", 2: "red", 3: "red"},
        "resource": ("red", 0.5),
    }.items():
        policy, facts, _ = CASES[name]
        assert policy.learner(arms=["red", "blue"], **facts).recommend() == expected


def test_settled_and_remaining_arms_are_in_names():
    learner = thresholding.PerArmStopping().learner(arms=["good", "bad", "rest"], threshold=0.5)
    for arm in ["good", "bad"] * 40:
        learner.replay([arm], [arm == "good"])
    assert learner.settled == {"good": "above", "bad": "below"}
    assert learner.remaining == ["rest"]


def test_semibandits_ask_and_tell_by_name():
    policy = semibandit.CSBDT(gamma=0.01)
    named = policy.learner(arms=["north", "south", "east"], resource=1.5)
    numbered = policy.learner(arms=3, resource=1.5)
    for losses in ({"north": 1, "south": 0, "east": 1}, ["north"], (), {"east"}):
        given = named.ask()
        assert list(given.values()) == numbered.ask().tolist()
        named.tell(losses)
        known = losses if isinstance(losses, dict) else dict.fromkeys(losses, 1)
        numbered.tell([known.get(name, 0) for name in given])
    assert (named._memory == numbered._memory).all()
    assert list(named.recommend().values()) == numbered.recommend().tolist()


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ("north", "losses must be names of arms, or 0 or 1 by name; got 'north'"),
        (["west"], "an arm of losses must be one of north, south; got 'west'"),
        ({"north": 1}, "losses by name must have all arms; 'south' is missing"),
        ({"north": 1, "south": 0.5}, r"losses\[1\] must be 0 or 1, got 0.5"),
    ],
)
def test_semibandits_refuse_other_losses(losses, message):
    learner = semibandit.CSBDT(gamma=0.01).learner(arms=["north", "south"], resource=1.5)
    learner.ask()
    with pytest.raises((TypeError, ValueError), match=message):
        learner.tell(losses)


def test_logs_have_names():
    names = ["red", "blue"]
    learner = stochastic.KLUCB().learner(arms=names)
    again = stochastic.KLUCB().learner(arms=names)
    arms, rewards = [], [1, 0, 1, 1, 0]
    for reward in rewards:
        arms.append(learner.ask())
        learner.tell(reward)
    assert again.replay(arms, rewards) == again.rounds == 5
    assert repr(again) == repr(learner)
    with pytest.raises(ValueError, match=r"arms\[1\] must be one of red, blue; got 'green'"):
        again.replay(["red", "green"], [1, 1])


def test_messages_have_names():
    learner = delayed.QPMD().learner(arms=["red", "blue"], feedback="named")
    learner.ask()
    with pytest.raises(ValueError, match="at most 0 rewards of arm blue"):
        learner.tell([("blue", 1.0)])
    with pytest.raises(ValueError, match=r"arrived\[0\]\[0\] must be one of red, blue; got 0"):
        learner.tell([(0, 1.0)])
    runs = resource.ReductionUCB().learner(arms=["red", "blue"], limits=[1.0], **COST)
    with pytest.raises(ValueError, match=r"\(arm red, limit 1.0\), got arm blue, limit 1.0"):
        runs.replay(["blue"], [1.0], [1.0], [0.5], [False])


def test_numbers_of_too_many_digits_are_not_saved(tmp_path):
    learner = stochastic.KLUCB().learner(arms=[-(10**5000), 1])
    with pytest.raises(ValueError, match="digits"):
        learner.save(tmp_path / "learner.json")
    assert list(tmp_path.iterdir()) == []


def test_a_long_number_is_saved(tmp_path):
    names = [10**600 - 1, 1]
    stochastic.KLUCB().learner(arms=names).save(tmp_path / "learner.json")
    assert Learner.load(tmp_path / "learner.json").arm_names == tuple(names)


@pytest.mark.parametrize("name", [Colour.RED, ("red", 1), float("inf"), frozenset()])
def test_names_that_json_cannot_hold_are_not_saved(name, tmp_path):
    learner = stochastic.KLUCB().learner(arms=[name, "other"])
    with pytest.raises(
        TypeError, match=r"must be a text, .* to be saved \(pickle keeps every name"
    ):
        learner.save(tmp_path / "learner.json")
    assert list(tmp_path.iterdir()) == []
    assert pickle.loads(pickle.dumps(learner)).arm_names == (name, "other")


def forge(path, names):
    document = json.loads(path.read_text())
    document["content"]["arm_names"] = names
    document["checksum"] = json_checksum(document["content"])
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("ab", "arm_names must be a sequence of names, got 'ab'"),
        ([["a"], "b"], "the name of an arm must be a text"),
        (["a", "a"], "arm_names must differ, got 'a' twice"),
        (["a"], "arm_names must have 2 entries, got 1"),
    ],
)
def test_impossible_names_in_a_file_are_refused(names, message, tmp_path):
    path = tmp_path / "learner.json"
    stochastic.KLUCB().learner(arms=["a", "b"]).save(path)
    assert json.loads(path.read_text())["version"] == 3
    forge(path, names)
    with pytest.raises(ValueError, match=message):
        Learner.load(path)


def test_files_without_names_have_the_version_of_before(tmp_path):
    for version, scale in ((1, (0, 1)), (2, (1, 5))):
        stochastic.KLUCB().learner(arms=2, scale=scale).save(tmp_path / "learner.json")
        assert json.loads((tmp_path / "learner.json").read_text())["version"] == version


def test_learners_of_any_setting_take_names():
    learner = Champion().learner(arms=["ann", "bob", "cid"])
    assert learner.ask() == {"arm": "ann", "rival": "cid"}
    learner.tell(winner="cid")
    assert "wins" in repr(learner)


class OwnCalls(SettingLearner):
    def ask(self):
        return self.decide()["arm"]


class OwnWords(OwnCalls):
    names_arms = True


def test_learners_with_calls_of_their_own_declare_that_they_take_names():
    assert not OwnCalls.names_arms
    assert OwnWords.names_arms
    with pytest.raises(TypeError, match="arms must be a number: a OwnCalls has no names of arms"):
        OwnCalls(stochastic.KLUCB(), {"arms": 2}, arm_names=["a", "b"])
    with pytest.raises(ValueError, match="arm_names must have 2 entries, got 3"):
        OwnWords(stochastic.KLUCB(), {"arms": 2}, arm_names=["a", "b", "c"])


def test_a_printed_learner_shows_an_arm_of_thousands_of_digits():
    from keyhole.thresholding import LSA

    learner = LSA().learner(arms=[10**5000, 3], threshold=0.5)
    assert "a whole number of 5001 digits" in repr(learner)


@pytest.mark.interpreted
def test_names_that_look_alike_are_told_once_where_they_come_in(tmp_path):
    names = ["dark red", "dark\xa0red"]
    told = r"^'dark red' and 'dark\\xa0red' look alike, but are two names"
    with pytest.warns(UserWarning, match=told) as caught:
        learner = stochastic.UCB1().learner(arms=names)
    assert len(caught) == 1
    learner.save(tmp_path / "a.json")
    assert Learner.load(tmp_path / "a.json").arm_names == tuple(names)  # without a warning
    with pytest.warns(UserWarning, match=told):
        assert stochastic.Problem(dict.fromkeys(names, 0.5)).arm_names == tuple(names)
