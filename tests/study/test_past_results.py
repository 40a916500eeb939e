"""Studies that begin from results that were recorded before."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from keyhole.resource import RCUCB, Power
from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1, ImprovedUCB, RoundRobin, ThompsonSampling
from keyhole.study import Study, check_database
from keyhole.study.group_commit import Transaction
from keyhole.study.past_results import is_sorted_by_reward
from keyhole.thresholding import LSA, PerArmStopping
from tests.study.studies import Clock, check_rebuilt_states_agree, labels

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
@pytest.mark.parametrize("policy", [UCB1(), ThompsonSampling(), RoundRobin()], ids=repr)
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
        (ImprovedUCB(), {"horizon": 100}, r"ImprovedUCB\(.*\) learns from its own decisions alone"),
        (RCUCB(alpha=0.1), {"limits": [1, 10], **COSTS}, "'resource' a decision or its"),
        (CSBDT(), {"resource": 1.0}, "'semibandit' a decision or its"),
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
    write, calls = Transaction.write_past_event, []

    def fail(transaction, *event):
        calls.append(event)
        if len(calls) == 4:
            raise RuntimeError("in the middle")
        write(transaction, *event)

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "write_past_event", fail)
        with pytest.raises(RuntimeError, match="in the middle"):
            study.import_csv(past)
    assert study.log() == []
    assert study.import_csv(past) == 5
    check_rebuilt_states_agree(study)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("after", [1, 10])
def test_a_process_that_is_killed_within_the_import_leaves_nothing(tmp_path, past, after):
    labels(tmp_path / "s.db").close()
    if (child := os.fork()) == 0:
        write, calls = Transaction.write_past_event, []

        def die(transaction, *event):
            write(transaction, *event)
            calls.append(event)
            if len(calls) == after:
                os._exit(9)

        Transaction.write_past_event = die
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


DAY = 86400.0
NOW = datetime(2026, 1, 21, tzinfo=UTC).timestamp()
EXPORT = """visitor;arm;shown;bought
6;b;15.01.2026;16.01.2026
1;a;01.01.2026;
2;a;02.01.2026;05.01.2026
3;b;03.01.2026;19.01.2026
4;b;13.01.2026;
5;a;14.01.2026;
7;a;20.01.2026;
"""
COLUMNS = {"shown_at": "shown", "converted_at": "bought"}
FORM = {"delimiter": ";", "date_format": "%d.%m.%Y"}


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text(EXPORT)
    return path


@pytest.fixture
def make_shop(tmp_path):
    """Return a function that makes a shop's study, with its own clock."""
    made = []

    def make(timeout=7 * DAY, on_timeout="no_reward", **given):
        clock, name = Clock(NOW), f"{len(made)}"
        rule = {"timeout": timeout, "on_timeout": on_timeout}
        policy = given.pop("policy", UCB1())
        arms = ["a", "b"]
        study = Study.create(tmp_path / "s.db", name, policy, arms, clock=clock, **rule, **given)
        made.append(study)
        return study, clock

    yield make
    for study in made:
        study.close()


def told(study):
    """Return the rewards of the decisions in the order in which they were taken."""
    events = study.history().to_pylist()
    rewards = {event["decision"]: event["reward"] for event in events if event["event"] == "told"}
    asked = [event for event in events if event["event"] == "asked"]
    return [(event["arm"], rewards.get(event["decision"])) for event in asked]


def test_rows_whose_window_is_not_over_are_left_out_and_counted(make_shop, export):
    study, _ = make_shop()
    words = "3 of 7 rows are left out: their window was not over at the last time in the file"
    with pytest.warns(UserWarning, match=words):
        assert study.import_csv(export, **COLUMNS, **FORM) == 4
    # Those of the 1st, 2nd and 3rd, of which the last came too late, and of the 13th.
    assert told(study) == [("a", 0), ("a", 1), ("b", 0), ("b", 0)]
    assert study.import_csv(export, **COLUMNS, **FORM) == 0  # without a warning


def test_with_keys_young_rows_are_pending_since_they_were_shown(make_shop, export, tmp_path):
    study, clock = make_shop()
    assert study.import_csv(export, key="visitor", **COLUMNS, **FORM) == 7
    assert study.import_csv(export, key="visitor", **COLUMNS, **FORM) == 0
    assert told(study)[4:] == [("a", None), ("b", 1), ("a", None)]
    first, last = study.pending
    assert first == study.find_decision("5")
    assert first.at == datetime(2026, 1, 14, tzinfo=UTC)
    assert last.at == datetime(2026, 1, 20, tzinfo=UTC)
    check_rebuilt_states_agree(study)
    clock.now += DAY  # on the 22nd the window of the 14th is over
    study.tell(study.ask().id, 0)
    assert study.pending == [last]
    study.tell(study.find_decision("7"), 1)
    assert study.pending == []
    check_rebuilt_states_agree(study)
    for key in ("1", "6", "8"):  # their feedback is known, or they are in no file
        with pytest.raises(ValueError, match=f"key must be that of a decision .* got '{key}'"):
            study.find_decision(key)
    assert len(told(study)) == 8
    assert check_database(tmp_path / "s.db").is_whole


def test_a_policy_that_waits_gets_no_pending_decisions(make_shop, export):
    study, _ = make_shop(pending="wait")
    with pytest.warns(UserWarning, match="3 of 7 rows are left out"):
        assert study.import_csv(export, key="visitor", **COLUMNS, **FORM) == 4
    assert study.pending == []


def test_a_study_without_a_timeout_needs_a_window_and_leaves_young_rows_out(make_shop, export):
    study, _ = make_shop(timeout=None, on_timeout="forget")
    with pytest.raises(ValueError, match="within must be given, since the study has no timeout"):
        study.import_csv(export, **COLUMNS, **FORM)
    within = timedelta(days=7)
    # Nobody would ever learn of those that do not convert.
    with pytest.raises(ValueError, match=r"key needs a study with a timeout .* buyers alone"):
        study.import_csv(export, key="visitor", within=within, **COLUMNS, **FORM)
    with pytest.warns(UserWarning, match="3 of 7 rows are left out"):
        assert study.import_csv(export, within=within, **COLUMNS, **FORM) == 4
    assert study.pending == []


@pytest.mark.parametrize(
    ("rule", "options", "words"),
    [
        ({"on_timeout": "forget"}, {}, "'forget' it learns nothing from later visitors"),
        ({"on_timeout": "ask_again"}, {}, "conversions need a study with on_timeout='no_reward'"),
        ({}, {"within": 8 * DAY}, "within must be the study's timeout, 604800 seconds, .* 691200"),
        ({"timeout": 20 * DAY}, {}, "window of 20 days is over: the times in the file are from"),
        ({}, {"key": "arm"}, "arm, converted_at, shown_at and key must differ, got 'arm' twice"),
        ({}, {"date_format": None}, "line 2: shown must be a date .*'15.01.2026'; give the form"),
        ({}, {"converted_at": None}, "shown_at needs converted_at"),
        ({}, {"shown_at": None}, "within, key and date_format need shown_at"),
        ({}, {"shown_at": "bought", "converted_at": "shown"}, "bought must be a date"),
        ({}, {"date_format": "%d.%m.%y"}, "must be a date as '%d.%m.%y' says"),
    ],
)
def test_times_and_windows_are_checked(make_shop, export, rule, options, words):
    study, _ = make_shop(**rule)
    with pytest.raises(ValueError, match=words):
        study.import_csv(export, **({"key": "visitor"} | COLUMNS | FORM | options))
    assert study.log() == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("20.01.2026;", "22.01.2026;", "between 1970 and now, 2026-01-21 00:00 UTC, and are UTC"),
        ("01.01.2026;", "01.01.1969;", "times must lie between 1970 and now"),
        ("1;a;", "2;a;", "visitor must differ by row, got '2' as in line "),
        ("14.01.2026;", "14.01.2026;01.01.1970", "bought must not be a default date, got '01.01.1"),
        ("14.01.2026;", "14.01.2026;NULL", "got 'NULL': leave the field empty where there is"),
        ("7;a;", "5;a;", "line 8: visitor must differ by row, got '5' as in line 7"),
        ("16.01.2026", "14.01.2026", "line 2: bought must not be before shown, 15.01.2026; got"),
    ],
)
def test_rows_with_times_are_checked(make_shop, export, before, after, words):
    study, _ = make_shop()
    export.write_text(EXPORT.replace(before, after))
    with pytest.raises(ValueError, match=words):
        study.import_csv(export, key="visitor", **COLUMNS, **FORM)
    assert study.log() == []


def test_rows_that_repeat_a_time_to_the_second_are_counted(make_shop, tmp_path):
    path = tmp_path / "past.csv"
    text = "arm,shown,bought\n" + "".join(f"a,2026-01-01T09:00:0{n % 3},\n" for n in range(4))
    path.write_text(f"{text}b,2026-01-19T09:00:00,\n")
    study, _ = make_shop()
    words = "rows with the times and the arm of an earlier one: 1, the first in line 5; each counts"
    with (
        pytest.warns(UserWarning, match="1 of 5 rows are left out"),
        pytest.warns(UserWarning, match=words),
    ):
        assert study.import_csv(path, **COLUMNS) == 4


def test_times_since_1970_are_read_as_one_says(make_shop, tmp_path):
    start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    path = tmp_path / "past.csv"
    rows = [f"a,{start},{start + 60}", f"b,{start + 1},", f"a,{start + 18 * DAY},"]
    path.write_text("\n".join(["arm,shown,bought", *rows]))
    study, _ = make_shop()
    words = "got '1767225600': it looks like seconds since 1970; give date_format='unix'"
    with pytest.raises(ValueError, match=words):
        study.import_csv(path, **COLUMNS)
    with pytest.warns(UserWarning, match="1 of 3 rows are left out"):
        assert study.import_csv(path, date_format="unix", **COLUMNS) == 2
    assert told(study) == [("a", 1), ("b", 0)]


def test_without_times_nobody_knows_which_rows_are_too_young(make_shop, export):
    study, _ = make_shop()
    with pytest.warns(UserWarning, match="may yet convert must not be in the file, .* shown_at"):
        assert study.import_csv(export, converted_at="bought", delimiter=";") == 7
    assert [reward for _, reward in told(study)] == [1, 0, 1, 1, 0, 0, 0]


def test_decimal_commas_and_tabs_are_read_if_one_says_so(study, past):
    past.write_text(PAST.replace(",", "\t").replace(".", ","))
    assert study.import_csv(past, delimiter=r"\t", decimal=",") == 5
    assert study.means()["a"]["reward"].mean == pytest.approx(2.5 / 3)


def test_names_that_a_file_cannot_have_are_refused(tmp_path, past):
    with (
        Study.create(tmp_path / "s.db", "s", UCB1(), ["a ", "b", "c"]) as study,
        pytest.raises(ValueError, match="'a ' begins or ends with a space"),
    ):
        study.import_csv(past)
