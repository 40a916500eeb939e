"""Studies that begin from results that were recorded before."""

import os

import pytest

from keyhole.resource import RCUCB, Power
from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1, ImprovedUCB, ThompsonSampling, Uniform
from keyhole.study import Study, check_database
from keyhole.study.past_results import is_sorted_by_reward
from keyhole.study.writer import Transaction
from keyhole.thresholding import LSA, PerArmStopping
from tests.study.studies import check_rebuilt_states_agree, labels

pytestmark = pytest.mark.interpreted
PAST = "arm,reward\na,1\nb,0\na,0.5\nc,1\na,1\n"


@pytest.fixture
def past(tmp_path):
    path = tmp_path / "past.csv"
    path.write_text(PAST)
    return path


@pytest.fixture
def study(tmp_path):
    with labels(tmp_path / "s.db") as study:
        yield study


def test_past_results_are_decisions_that_were_told(study, past):
    assert study.import_csv(past) == 5
    told = {name: mean["reward"].told for name, mean in study.means().items()}
    assert told == {"a": 3, "b": 1, "c": 1}
    assert study.means()["a"]["reward"].mean == pytest.approx(2.5 / 3)
    assert study.recommend() == {"a": True, "b": False, "c": True}
    assert study.arms_without_feedback() == study.pending == []
    events = study.history().to_pylist()
    assert [event["event"] for event in events] == ["asked", "told"] * 5
    assert [event["arm"] for event in events[::2]] == ["a", "b", "a", "c", "a"]
    assert study.ask().round == 6


@pytest.mark.parametrize("pending", ["impute", "ignore", "wait"])
@pytest.mark.parametrize("policy", [UCB1(), ThompsonSampling(), Uniform()], ids=repr)
def test_the_policy_decides_as_one_that_reads_the_log(tmp_path, past, policy, pending):
    given = {"seed": 3, "pending": pending, "durability": "process_crash"}
    with Study.create(tmp_path / "s.db", "s", policy, ["a", "b", "c"], **given) as study:
        study.import_csv(past)
        check_rebuilt_states_agree(study)
        with Study.open(tmp_path / "s.db", "s") as other:
            other.tell(other.ask(), 1)
        study.tell(study.ask(), 0)
        check_rebuilt_states_agree(study)
    assert check_database(tmp_path / "s.db").is_whole


def test_a_policy_that_can_stop_takes_past_results(tmp_path):
    (tmp_path / "past.csv").write_text("arm,reward\n" + "a,1\nb,0\n" * 20)
    with labels(tmp_path / "s.db", policy=PerArmStopping(), arms=["a", "b"]) as study:
        assert study.import_csv(tmp_path / "past.csv") == 40
        assert study.settled == {"a": "above", "b": "below"}
        assert study.is_done
        check_rebuilt_states_agree(study)


def test_the_same_file_changes_nothing_a_second_time(study, past):
    study.import_csv(past)
    log = study.log()
    past.write_text(PAST.replace("arm,reward", "Arm, Reward").replace("a,1\n", " a,1.0\n\n"))
    assert study.import_csv(past) == 0
    study.tell(study.ask(), 1)
    assert study.import_csv(past) == 0
    assert study.log()[: len(log)] == log


def test_a_study_with_other_decisions_is_refused(study, past):
    study.import_csv(past)
    past.write_text(f"{PAST}b,1\n")
    words = "must be the beginning of a study, and this one has 5 decisions already: import all"
    with pytest.raises(ValueError, match=words):
        study.import_csv(past)
    assert len(study.log()) == 10


def test_results_are_in_the_units_of_the_study(tmp_path):
    (tmp_path / "past.csv").write_text("worker,film,stars\nann,x,5\nbob,x,4\n")
    with labels(tmp_path / "s.db", arms=["x", "y"], threshold=3, scale=(1, 5)) as study:
        assert study.import_csv(tmp_path / "past.csv", arm="film", reward="Stars") == 2
        assert study.means()["x"]["reward"].mean == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,reward\na,1\nb,2\n", r"past.csv, line 3: reward must lie in \[0, 1\], got 2"),
        ("arm,reward\na,1\nd,1\n", "line 3: arm must be one of a, b, c; got 'd'"),
        ("arm,reward\na,\n", "line 2: reward must be a number, got ''"),
        ("arm,reward\na,nan\n", "line 2: reward must be a number, got 'nan'"),
        ("arm,label\na,1\n", "line 1: the header must have one column reward"),
        ("arm,reward\na,1,0\n", "line 2: the row must have 2 fields, got 3"),
        ("arm,reward\n", "at least one row must follow the header"),
        ("arm,reward\ne,1\n", "line 2: arm must be one in use, got 'e', which was retired"),
    ],
)
def test_a_bad_row_is_named_by_its_line_and_nothing_is_written(study, past, text, words):
    study.add_arm("e")
    study.retire("e")
    past.write_text(text)
    if "got 'd'" in words:
        words = words.replace("a, b, c;", "a, b, c, e;")
    with pytest.raises(ValueError, match=words):
        study.import_csv(past)
    assert len(study.log()) == 2


def test_columns_must_differ(study, past):
    with pytest.raises(ValueError, match="arm and reward must differ, got 'arm' twice"):
        study.import_csv(past, reward="Arm ")


COSTS = {"cost": Power(slope=0.01), "penalty": Power(slope=0.01)}


@pytest.mark.parametrize(
    ("policy", "facts", "words"),
    [
        (ImprovedUCB(), {"horizon": 100}, r"ImprovedUCB\(.*\) learns from its own alone"),
        (RCUCB(alpha=0.1), {"limits": [1, 10], **COSTS}, "in the setting 'resource' more belongs"),
        (CSBDT(), {"resource": 1.0}, "in the setting 'semibandit' more belongs"),
    ],
)
def test_what_results_of_others_cannot_teach_is_refused(tmp_path, past, policy, facts, words):
    with (
        Study.create(tmp_path / "s.db", "s", policy, ["a", "b", "c"], **facts) as study,
        pytest.raises(ValueError, match=words),
    ):
        study.import_csv(past)


def test_a_study_without_decisions_may_have_changed_before(study, past):
    study.add_arm("d")
    study.change_policy(LSA(alpha=2.0))
    past.write_text(f"{PAST}d,1\n")
    assert study.import_csv(past) == 6
    check_rebuilt_states_agree(study)


def test_an_error_within_the_import_leaves_nothing(study, past, monkeypatch):
    write, calls = Transaction.write_unasked, []

    def fail(transaction, *event):
        calls.append(event)
        if len(calls) == 4:
            raise RuntimeError("in the middle")
        write(transaction, *event)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "write_unasked", fail)
        with pytest.raises(RuntimeError, match="in the middle"):
            study.import_csv(past)
    assert study.log() == []
    assert study.import_csv(past) == 5
    check_rebuilt_states_agree(study)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("after", [1, 6, 10])
def test_a_process_that_is_killed_within_the_import_leaves_nothing(tmp_path, past, after):
    labels(tmp_path / "s.db").close()
    if (child := os.fork()) == 0:
        write, calls = Transaction.write_unasked, []

        def die(transaction, *event):
            write(transaction, *event)
            calls.append(event)
            if len(calls) == after:
                os._exit(9)

        Transaction.write_unasked = die
        try:
            Study.open(tmp_path / "s.db", "labels").import_csv(past)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with Study.open(tmp_path / "s.db", "labels") as study:
        assert study.log() == []
        assert study.import_csv(past) == 5
        check_rebuilt_states_agree(study)


def test_rows_that_are_sorted_by_reward_mislead_a_policy_that_can_stop(tmp_path):
    rows = [f"{arm},{reward}" for arm in "abc" for reward in (0, 0, 0, 1, 1, 1, 1)]
    (tmp_path / "past.csv").write_text("\n".join(["arm,reward", *rows]))
    with (
        labels(tmp_path / "s.db", policy=PerArmStopping()) as study,
        pytest.warns(UserWarning, match="sorted by reward"),
    ):
        assert study.import_csv(tmp_path / "past.csv") == 21
    with labels(tmp_path / "t.db", policy=LSA()) as study:  # which only counts
        assert study.import_csv(tmp_path / "past.csv") == 21


def sorted_results(*arms):
    return is_sorted_by_reward([(str(arm), x) for arm, rewards in enumerate(arms) for x in rewards])


def test_only_an_order_that_is_hardly_by_chance_is_a_sorted_one():
    falling = [1.0] * 9 + [0.0] * 9  # one order of 48,620
    assert sorted_results(falling)
    assert sorted_results([0.0, 0.0], falling)  # an arm without a choice of orders
    assert not sorted_results(falling, falling[::-1])
    assert not sorted_results([1.0] * 5 + [0.0] * 5)  # one of 252
    assert not sorted_results([0.5] * 100)
    assert not sorted_results()


def test_names_that_a_file_cannot_have_are_refused(tmp_path, past):
    with (
        Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "a ", "b", "c"]) as study,
        pytest.raises(ValueError, match="'a ' begins or ends with a space"),
    ):
        study.import_csv(past)
