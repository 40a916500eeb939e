"""Studies whose policy can stop: they say when they are done, everywhere, and ask for no more."""

import multiprocessing
import os
import signal

import pytest

from keyhole.study import Study, StudyDoneError
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.thresholding import LSA, FamilywiseStopping, PerArmStopping
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of

pytestmark = pytest.mark.interpreted
FORK = multiprocessing.get_context("fork")
DONE = r"is done: every arm is settled \(after \d+ decisions\)"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


def label(study, decision):
    """Tell a label: arm a is always 1, all others 0."""
    study.tell(decision.id, decision.arm == "a")


def work(study):
    while not study.is_done:
        label(study, study.ask())


def settle(study, *arms):
    """Label the arms that are asked for, but tell those of `arms` alone; return the others."""
    kept = []
    while set(study.settled) < set(arms):
        decision = study.ask()
        if decision.arm in arms:
            label(study, decision)
        else:
            kept.append(decision)
    return kept


def test_the_summary_shows_what_is_settled(path):
    with labels(path, policy=PerArmStopping()) as study:
        label(study, study.ask())
        assert "  settled: 0 of 3 arms (" in str(study)
        work(study)
        assert "  settled: 3 of 3 arms; done (" in str(study)
        assert "0.05" in str(study).partition("settled: ")[2]
    with labels(path, name="other", policy=LSA()) as study:
        label(study, study.ask())
        assert "settled" not in str(study)


def test_a_study_says_when_it_is_done_and_in_each_process_that_opens_it(path):
    with labels(path, policy=PerArmStopping()) as study:
        assert (study.is_done, study.settled, study.remaining) == (False, {}, ["a", "b", "c"])
        first = study.ask(key="one")
        label(study, first)
        work(study)
        expected = {"a": "above", "b": "below", "c": "below"}
        assert (study.settled, study.remaining) == (expected, [])
        before = study.log()
        with pytest.raises(StudyDoneError, match=DONE):
            study.ask()
        assert study.ask(key="one").id == first.id  # its answer may have been lost
        assert study.log() == before
        assert study.recommend() == {"a": True, "b": False, "c": False}
        check_rebuilt_states_agree(study)
    with Study.open(path, "labels") as study:
        assert study.is_done
        with pytest.raises(StudyDoneError):
            study.ask()

    def look(queue):
        with Study.open(path, "labels") as study:
            queue.put((study.is_done, study.settled, len(study.log())))

    queue = FORK.Queue()
    child = FORK.Process(target=look, args=(queue,))
    child.start()
    assert queue.get(timeout=600) == (True, expected, len(before))
    child.join()


def test_a_policy_that_cannot_stop_is_never_done(path):
    with labels(path) as study:
        for _ in range(50):
            label(study, study.ask())
        assert (study.is_done, study.settled, study.remaining) == (False, {}, ["a", "b", "c"])


def test_a_settled_arm_is_not_handed_out_and_late_labels_change_no_verdict(path):
    with labels(path, policy=PerArmStopping()) as study:
        waiting = settle(study, "a", "b")
        late = [decision for decision in waiting if decision.arm == "c"]
        assert study.remaining == ["c"]
        assert {study.ask().arm for _ in range(30)} == {"c"}
        assert not study.is_done  # imputed labels settle nothing
        for decision in late:
            label(study, decision)
        for decision in study.pending:
            label(study, decision)
        assert study.is_done
        assert study.pending == []
        check_rebuilt_states_agree(study)


def test_labels_that_come_after_the_end_are_learnt_and_change_no_verdict(path):
    with labels(path, policy=PerArmStopping()) as study:
        extra = [study.ask() for _ in range(9)]
        work(study)
        for decision in extra:
            study.tell(decision.id, decision.arm != "a")
        assert study.is_done
        assert study.settled["a"] == "above"
        check_rebuilt_states_agree(study)


def test_an_expired_decision_on_a_settled_arm_is_not_asked_again(path):
    clock = Clock()
    given = {"timeout": 100, "on_timeout": "ask_again", "clock": clock}
    with labels(path, policy=PerArmStopping(), **given) as study:
        first = [study.ask() for _ in range(3)]  # one of each arm
        clock.now += 90
        while "a" not in study.settled:
            decision = study.ask()
            study.tell(decision.id, decision.arm == "a" or decision.round % 2)
        clock.now += 50
        again = [study.ask().id]
        again += (waiting := study.to_ask_again)
        assert waiting == [study.ask().id]
        assert study.to_ask_again == []
        assert set(again) == {decision.id for decision in first if decision.arm != "a"}
        assert study.ask().arm != "a"
        label(study, next(decision for decision in first if decision.arm == "a"))
        check_rebuilt_states_agree(study)


def test_an_expired_decision_that_counts_as_0_may_be_the_last(path):
    clock = Clock()
    given = {"timeout": 100, "on_timeout": "no_reward", "clock": clock}
    with labels(path, policy=PerArmStopping(), arms=["b"], **given) as study:
        for _ in range(40):
            study.ask()
        assert not study.is_done
        clock.now += 200
        with pytest.raises(StudyDoneError, match="after 40 decisions"):
            study.ask()
        assert (study.is_done, study.pending) == (True, [])  # the expiries are kept
        check_rebuilt_states_agree(study)


def test_a_new_arm_goes_on_where_each_arm_has_a_guarantee_of_its_own(path):
    with labels(path, policy=PerArmStopping()) as study:
        work(study)
        study.add_arm("d")
        assert (study.is_done, study.remaining) == (False, ["d"])
        assert study.ask().arm == "d"
        study.retire("b")
        assert study.settled == {"a": "above", "c": "below"}
        study.retire("d")
        assert study.is_done
        check_rebuilt_states_agree(study)


def test_the_number_of_arms_is_fixed_where_the_guarantee_is_about_all(path):
    with labels(path, policy=FamilywiseStopping()) as study:
        for change in (lambda: study.add_arm("d"), lambda: study.retire("a")):
            with pytest.raises(TypeError, match="FamilywiseStopping"):
                change()
        work(study)
        taken = len(study.log())
    with labels(path, "each", policy=PerArmStopping()) as study:
        work(study)
        assert len(study.log()) < taken  # less evidence for each arm alone


def test_a_study_in_use_is_given_an_end(path):
    with labels(path) as study:
        for _ in range(60):
            label(study, study.ask())
        study.change_policy(PerArmStopping())
        assert study.settled["a"] == "above"
        work(study)
    with Study.open(path, "labels") as study:
        assert study.is_done
        study.change_policy(LSA())
        assert (study.is_done, study.settled) == (False, {})
        study.ask()


def test_a_verdict_that_the_policy_does_not_have_makes_a_snapshot_unusable(path):
    with labels(path, policy=PerArmStopping()) as study:
        label(study, study.ask())
        state, last = state_of(study), study.log()[-1]
        assert read_snapshot(make_snapshot(state), last, ()) is not None
        state.policy_state.state["settled"][1] = 3
        assert read_snapshot(make_snapshot(state), last, ()) is None
        study._writer._state = None


def _label_until_a_verdict(path, journal):
    """Write all verdicts as soon as there is a new one, and die at once."""
    study = Study.open(path, "labels")
    before = len(study.settled)
    while len(study.settled) == before:
        label(study, study.ask())
    journal.write_text("".join(f"{name} {verdict}\n" for name, verdict in study.settled.items()))
    os.kill(os.getpid(), signal.SIGKILL)


def test_verdicts_outlive_processes_that_are_killed(path, tmp_path):
    labels(path, policy=PerArmStopping(delta=1e-6), arms=[*"abcd"]).close()
    for number in (1, 2):
        journal = tmp_path / f"journal-{number}"
        child = FORK.Process(target=_label_until_a_verdict, args=(path, journal))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        said = dict(line.split() for line in journal.read_text().splitlines())
        assert len(said) == number
        with Study.open(path, "labels") as study:
            assert study.settled == said
    with Study.open(path, "labels") as study:
        work(study)
        assert study.settled == {name: "above" if name == "a" else "below" for name in "abcd"}
        check_rebuilt_states_agree(study)
