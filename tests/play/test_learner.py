import copy
import json
import math
import os
import pickle
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import keyhole
from keyhole import Learner
from keyhole.delayed import QPMD
from keyhole.thresholding import LSA, IndexPolicy
from tests.toys import Greedy


@pytest.fixture
def learner():
    learner = LSA().learner(arms=3, threshold=0.4, seed=2)
    for reward in (1.0, 0.0, 0.5, 1.0):
        learner.ask()
        learner.tell(reward)
    return learner


def test_asking_twice_gives_the_same_arm(learner):
    assert learner.ask() == learner.ask()
    assert learner.rounds == 5


def test_tell_must_follow_ask(learner):
    before = repr(learner)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(1.0)
    learner.ask()
    learner.tell(1.0)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(1.0)
    assert before != repr(learner)


@pytest.mark.parametrize("reward", [-0.1, 1.5, math.nan, math.inf, "1", None, 10**400])
def test_a_reward_that_is_not_allowed_changes_nothing(learner, reward):
    arm, before = learner.ask(), repr(learner)
    with pytest.raises((TypeError, ValueError), match="reward must"):
        learner.tell(reward)
    assert repr(learner) == before
    assert learner.ask() == arm
    learner.tell(1)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"arms": 0, "threshold": 0.5}, "arms must lie in"),
        ({"arms": 2.5, "threshold": 0.5}, "arms must be a whole number, got 2.5"),
        ({"arms": 2, "threshold": 1.4}, r"threshold must lie in \(0, 1\), got 1.4"),
        ({"arms": 2, "threshold": 0.5, "seed": -1}, "seed must"),
    ],
)
def test_facts_are_checked(facts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LSA().learner(**facts)


def test_repr_shows_what_has_been_learnt(learner):
    assert repr(learner) == (
        "LSA(alpha=1.35) after 4 rounds, 3 arms, threshold 0.4\n"
        "  arm 0: above, 1 pull, mean 1.00 [0.02, 1.00] at any time\n"
        "  arm 1: below, 1 pull, mean 0.00 [0.00, 0.98] at any time\n"
        "  arm 2: above, 2 pulls, mean 0.75 [0.04, 1.00] at any time"
    )


@pytest.mark.parametrize("asked", [False, True])
def test_a_loaded_learner_goes_on_as_the_saved_one(learner, tmp_path, asked):
    if asked:
        learner.ask()
    learner.save(tmp_path / "it.json")
    again = Learner.load(tmp_path / "it.json")
    assert repr(again) == repr(learner)
    for reward in (0.3, 0.9, 0.1, 0.7, 0.7):
        assert again.ask() == learner.ask()
        learner.tell(reward)
        again.tell(reward)
    assert again.recommend().tolist() == learner.recommend().tolist()


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_goes_on_as_the_original_and_alone(learner, copied, asked):
    saved = learner._make_saved_learner()
    straight = Learner._restore(Learner.__new__(type(learner)), learner.policy, saved)
    if asked:
        learner.ask()
        straight.ask()
    again = copied(learner)
    assert type(again) is type(learner)
    for _ in range(30):  # the original's further life is its own
        learner.ask()
        learner.tell(1.0)
    for reward in (0.3, 0.9, 0.1, 0.7, 0.7):
        assert again.ask() == straight.ask()
        straight.tell(reward)
        again.tell(reward)
    assert again.rounds == straight.rounds
    assert repr(again) == repr(straight)


@pytest.mark.interpreted
def test_a_copy_knows_the_base_of_its_policy_and_is_not_cautioned_again():
    learner = QPMD().learner(arms=2, feedback="named")
    learner.ask()
    again = pickle.loads(pickle.dumps(learner))
    assert again.policy == learner.policy
    learner.tell([])
    again.tell([])
    assert again.ask() == learner.ask()


def elsewhere(call):
    """Return what a call in another thread returns or raises."""
    with ThreadPoolExecutor(1) as other:
        done = other.submit(call)
        return done.exception() or done.result()


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.ask(),
        lambda learner: learner.tell(1.0),
        lambda learner: learner.tell(True),
        lambda learner: copy.copy(learner),
    ],
)
def test_a_decision_belongs_to_the_thread_that_asked_for_it(learner, call):
    arm, before = learner.ask(), repr(learner)
    with pytest.raises(RuntimeError, match="a learner is not shared between threads"):
        raise elsewhere(lambda: call(learner))
    assert repr(learner) == before
    assert learner.ask() == arm
    learner.tell(1.0)


def test_nothing_is_lost_with_a_thread_that_ends_before_it_tells(learner):
    arm = elsewhere(learner.ask)
    assert copy.copy(learner).rounds == 5
    assert learner.ask() == arm
    learner.tell(1.0)
    elsewhere(learner.ask)
    learner.tell(1.0)
    assert learner.rounds_told == 6


def test_any_thread_may_go_on_between_decisions(learner):
    def play(_):
        learner.ask()
        learner.tell(1.0)

    with ThreadPoolExecutor(1) as one:
        list(one.map(play, range(3)))
    play(0)
    assert learner.rounds_told == 8


def test_a_copy_may_be_told_in_any_thread(learner):
    learner.ask()
    again = copy.copy(learner)
    assert elsewhere(lambda: again.tell(1.0) or again.rounds_told) == 5


@pytest.mark.parametrize("interpreted", [False, True])
def test_threads_that_share_a_learner_are_told_so_and_spoil_nothing(interpreted):
    learner = LSA().learner(arms=3, threshold=0.5, interpreted=interpreted)
    told, refused = [0] * 4, [0] * 4

    def work(i):
        for _ in range(2500):
            try:
                learner.ask()
            except RuntimeError:  # a decision of another thread is waiting
                refused[i] += 1
                continue
            learner.tell(1.0)
            told[i] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(told))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(told) + sum(refused) == 10_000
    assert learner.rounds_told == learner.rounds == sum(told) == learner.state["pulls"].sum()


@pytest.mark.parametrize("yes", [True, np.True_])
def test_whether_something_happened_is_a_reward(learner, yes):
    other = copy.copy(learner)
    learner.ask()
    learner.tell(yes)
    other.ask()
    other.tell(1.0)
    assert repr(learner) == repr(other)


def test_a_file_cut_short_anywhere_is_refused(learner, tmp_path):
    path = tmp_path / "it.json"
    learner.save(path)
    data = path.read_bytes()
    for length in (0, 1, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match="is not a saved learner, or was cut short"):
            Learner.load(path)


def edited(path, change):
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["content"].update(rounds=99), "is damaged: its checksum does not match"),
        (lambda d: d.update(format="other"), "is not a saved learner"),
        (lambda d: d.update(version=4, keyhole="9.0"), r"version 4 .*written by keyhole 9.0"),
        (lambda d: d.pop("content"), "is damaged"),
    ],
)
def test_altered_foreign_and_newer_files_are_refused(learner, tmp_path, change, message):
    learner.save(tmp_path / "it.json")
    edited(tmp_path / "it.json", change)
    with pytest.raises(ValueError, match=message):
        Learner.load(tmp_path / "it.json")


def test_a_list_is_no_saved_learner(tmp_path):
    (tmp_path / "it.json").write_text("[1, 2]")
    with pytest.raises(ValueError, match="is not a saved learner"):
        Learner.load(tmp_path / "it.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        Learner.load(tmp_path / "nowhere.json")


def test_a_failed_save_leaves_the_old_file(learner, tmp_path, monkeypatch):
    path = tmp_path / "it.json"
    learner.save(path)
    before = path.read_bytes()

    def full_disk(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    learner.ask()
    with pytest.raises(OSError, match="No space left"):
        learner.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["it.json"]


@pytest.mark.interpreted
def test_a_users_policy_is_loaded_through_its_class(tmp_path):
    class Mine(IndexPolicy):
        def index(p, pulls, total):
            return -pulls

    learner = Mine().learner(arms=2, threshold=0.5)
    learner.ask()
    learner.save(tmp_path / "it.json")
    with pytest.raises(ValueError, match=r"is not known here; give its class: policies=\[Mine\]"):
        Learner.load(tmp_path / "it.json")
    assert Learner.load(tmp_path / "it.json", policies=[Mine]).ask() == 0


def test_a_state_of_another_form_is_refused(tmp_path):
    class Mine(IndexPolicy):
        def index(p, pulls, total):
            return -pulls

    Mine().learner(arms=2, threshold=0.5).save(tmp_path / "it.json")

    class Other(Mine):
        class State(Mine.State):
            extra = keyhole.contract.state_arrays.float_array("arms")

    Other.__name__ = "Mine"
    with pytest.raises(ValueError, match="does not fit Mine as it is now: its state lacks extra"):
        Learner.load(tmp_path / "it.json", policies=[Other])


def test_saved_files_are_plain_json(learner, tmp_path):
    learner.save(tmp_path / "it.json")
    content = json.loads((tmp_path / "it.json").read_text())["content"]
    assert content["policy"] == "LSA"
    assert content["arrays"]["state"]["pulls"]["values"] == [1.0, 1.0, 2.0]
    fresh = LSA().learner(arms=2, threshold=0.4)
    fresh.save(tmp_path / "new.json")  # its keys are -inf
    assert np.isneginf(Learner.load(tmp_path / "new.json").state["index"]).all()
    assert stat.S_ISREG((tmp_path / "it.json").stat().st_mode)


def test_a_setting_loads_no_learner_of_another(tmp_path):
    from keyhole.stochastic.learner import Learner as Other

    LSA().learner(arms=2, threshold=0.5).save(tmp_path / "it.json")
    with pytest.raises(ValueError, match="it is of the setting 'thresholding'"):
        Other.load(tmp_path / "it.json")


def test_a_setting_without_a_learner_says_so():
    with pytest.raises(TypeError, match="have no learner: their base class must name"):
        Greedy().learner(arms=2)


@pytest.mark.interpreted
def test_of_many_arms_printing_shows_ten_and_describe_all():
    names = [f"item {number}" for number in range(30)]
    learner = LSA().learner(arms=names, threshold=0.5)
    head, *lines = learner.describe().splitlines()
    assert len(lines) == 30
    assert lines[29].startswith("  arm item 29: ")
    assert repr(learner).splitlines() == [head, *lines[:10], "  ... and 20 more"]


@pytest.mark.interpreted
def test_a_policy_says_what_has_been_learnt_in_its_own_words():
    class Wordy(LSA):
        def describe(self, learner):
            return [
                f"{learner.rounds_told} of {learner.rounds} rounds, {learner.facts['arms']} arms"
            ]

    learner = Wordy().learner(arms=2, threshold=0.5)
    learner.ask()
    assert repr(learner).splitlines()[1] == "  0 of 1 rounds, 2 arms"


def test_a_file_of_a_learner_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no.json must be a saved learner; there is no"):
        Learner.load(tmp_path / "no.json")
    with pytest.raises(IsADirectoryError, match=r"must be a saved learner, got a folder$"):
        Learner.load(tmp_path)


def test_a_data_frame_is_no_column_and_refused_in_a_line():
    frame = pa.table({"a": [0, 1], "b": [1.0, 0.0]})
    learner = LSA().learner(arms=2, threshold=0.5)
    said = "got a data frame with the columns a, b$"
    with pytest.raises(TypeError, match=f"^arms must be a list of whole numbers, {said}"):
        learner.replay(arms=frame, rewards=[1])
    with pytest.raises(TypeError, match=f"^rewards must be a list of numbers, {said}"):
        learner.replay(arms=[0, 1], rewards=frame)
    learner.ask()
    with pytest.raises(TypeError, match=f"^reward must be a number, {said}"):
        learner.tell(frame)
