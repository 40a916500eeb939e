"""Studies from a shell: each command, and bad input on one line."""

import io
import json
import re
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keyhole.study import Study
from keyhole.thresholding import LSA
from tests.cli.test_bad_input import refused

pytestmark = pytest.mark.interpreted
ROOT = Path(__file__).parents[2]
_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
TEXT = """
setting = "thresholding"
name = "labels"
arms = ["cat", "dog", "owl"]
policy = "LSA"
timeout = 3600
on_timeout = "ask_again"
[facts]
threshold = 0.5
"""
RUNS = """
setting = "resource"
name = "runs"
arms = ["minisat", "kissat"]
time_unit = 1.0
[policy]
name = "RCUCB"
alpha = 0.1
[facts]
limits = [1, 10, 60]
cost = { function = "Power", slope = 0.01 }
penalty = { function = "Power", slope = 0.01 }
"""
SUMS = """
setting = "delayed"
name = "sums"
arms = ["old", "new"]
policy = { name = "ODAAF", expected_delay = 2 }
[facts]
horizon = 1000
feedback = "anonymous"
"""


@pytest.fixture
def done(keyhole):
    """Return a function that runs a command which must succeed; what it printed."""

    def call(*words):
        code, out, err = keyhole("study", *words)
        said = [line for line in err.splitlines() if not line.startswith("keyhole: compiling")]
        assert (code, said) == (0, [])
        return out

    return call


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return the database of a study in which nothing has happened; not to be changed."""
    path = tmp_path_factory.mktemp("begun") / "studies.db"
    rule = {"timeout": 3600, "on_timeout": "ask_again"}
    Study.create(path, "labels", LSA(), ["cat", "dog", "owl"], threshold=0.5, **rule).close()
    return path


@pytest.fixture
def labels(begun, path, tmp_path):
    """Begin a study; return how commands name it."""
    (tmp_path / "labels.toml").write_text(TEXT)
    shutil.copyfile(begun, path)
    return path, "labels"


def test_ask_and_tell(done, labels):
    id, words = done("ask", *labels).split()
    assert words == "arm=cat"
    assert done("tell", *labels, id, "reward=1") == ""
    assert done("tell", *labels, id, "reward=true") == ""
    said = json.loads(done("ask", *labels, "--json", "--key", "k"))
    assert json.loads(done("ask", *labels, "--json", "--key", "k")) == said
    assert list(said) == ["id", "arm", "round", "at", "until"]
    assert (said["arm"], said["round"]) == ("dog", 2)


def test_show(done, labels):
    id = done("ask", *labels).split()[0]
    lines = done("show", *labels).splitlines()
    for line in (
        "  policy: LSA(alpha=1.35)",
        "  arms: 3",
        "  pending decisions: 1",
        "  recommended: above: cat, dog, owl",
        "  no feedback yet: cat, dog, owl",
    ):
        assert line in lines
    assert lines[-1].startswith(f"{id} arm=cat since ")
    with Study.open(*labels) as study:
        assert study.recommend()
        assert str(study).splitlines() == lines[:-1]  # one text for the command and for Python
    said = json.loads(done("show", *labels, "--json"))
    assert said["arms"] == ["cat", "dog", "owl"]
    assert said["pending"][0]["id"] == id


def test_the_only_study_of_a_file_needs_no_name(keyhole, done, path, labels, tmp_path):
    assert done("show", path) == done("show", *labels)
    assert "arm=cat" in done("ask", path)
    assert done("history", path) == done("history", *labels)
    (tmp_path / "more.toml").write_text(TEXT.replace('"labels"', '"more"'))
    assert done("create", path, tmp_path / "more.toml") == "more: LSA, 3 arms\n"
    for command in ("show", "ask", "history", "tell", "import", "change"):
        refused(*keyhole("study", command, path), "NAME must be one of labels, more; got None")


def test_show_counts_rewards_of_0_that_are_assumed(done, path, tmp_path):
    text = TEXT.replace("ask_again", "no_reward").replace("3600", '"7d"')
    (tmp_path / "labels.toml").write_text(text)
    labels = path, "labels"
    done("create", path, tmp_path / "labels.toml")
    done("expire", *labels, done("ask", *labels).split()[0])
    head, row = done("show", *labels).splitlines()[-5:-3]
    assert re.split("  +", head) == ["arm", "decisions", "told", "of these assumed", "mean reward"]
    assert re.split("  +", row) == ["cat", "1", "1", "1", "0.00 [0.00, 0.98]"]
    said = json.loads(done("show", *labels, "--json"))["means"]["cat"]["reward"]
    assert (said["told"], said["assumed"], said["mean"]) == (1, 1, 0)
    done("ask", *labels)
    done("tell", *labels, done("ask", *labels).split()[0], "reward=1")
    assert "leave out the feedback of 1 decision until" in done("show", *labels)
    assert "reward=0" in done("history", *labels)


def test_a_policy_that_needs_a_fact_says_how_to_give_it(keyhole, done, path, tmp_path):
    text = TEXT.replace('"thresholding"', '"stochastic"').replace("LSA", "UCB1")
    (tmp_path / "s.toml").write_text(text.partition("[facts]")[0])
    done("create", path, tmp_path / "s.toml")
    said = "horizon (rounds in all) must be given, as horizon=..."
    refused(*keyhole("study", "change", path, "labels", "MOSS"), said)
    done("change", path, "labels", "MOSS", "horizon=1000")
    assert "  policy: MOSS(" in done("show", path)


def test_the_help_of_a_command_has_an_example_of_its_own(done):
    assert "Such as reward=1." in done("tell", "--help")
    assert "Such as epsilon=0.05." in done("change", "--help")
    assert "Such as threshold=3." in done("ask", "--help")


@pytest.mark.compiled
@pytest.mark.parametrize(("pending", "shown"), [(10, 10), (11, 10)])
def test_show_prints_the_ends_of_many_pending_decisions(done, labels, path, pending, shown):
    with Study.open(*labels) as study:
        ids = [study.ask().id for _ in range(pending)]
    lines = [line for line in done("show", *labels).splitlines() if "arm=" in line or "..." in line]
    assert [line.split()[0] for line in lines if "arm=" in line] == ids[:5] + ids[-5:]
    more = [f"... {pending - shown:,} more pending (all: --json)"] if pending > shown else []
    assert lines[5:-5] == more
    assert len(json.loads(done("show", *labels, "--json"))["pending"]) == pending


def test_show_marks_expired_decisions_that_wait_to_be_asked_again(done, labels):
    first = done("ask", *labels).split()[0]
    done("ask", *labels)
    assert json.loads(done("show", *labels, "--json"))["to_ask_again"] == []
    done("expire", *labels, first)
    lines = done("show", *labels).splitlines()
    assert "  pending decisions: 2 (1 to ask again)" in lines
    assert lines[-2].startswith(f"{first} arm=cat since ")
    assert [line.endswith(" UTC, expired: to ask again") for line in lines[-2:]] == [True, False]
    assert json.loads(done("show", *labels, "--json"))["to_ask_again"] == [first]
    assert done("ask", *labels).split()[0] == first
    assert json.loads(done("show", *labels, "--json"))["to_ask_again"] == []


def test_show_names_arms_without_feedback(done, labels):
    for expected in (["dog", "owl"], ["owl"], []):
        done("tell", *labels, done("ask", *labels).split()[0], "reward=1")
        said = json.loads(done("show", *labels, "--json"))
        assert said["arms_without_feedback"] == expected
        shown = done("show", *labels)
        assert f"  no feedback yet: {', '.join(expected)}\n" in shown or not expected
    assert "recommended: above: cat, dog, owl\n" in shown
    assert "no feedback yet" not in shown


def test_show_says_nothing_of_chances_and_means_before_the_first_feedback(done, path, tmp_path):
    table = 'name = "s"\npolicy = "ThompsonSampling"\nsetting = "stochastic"\narms = ["a", "b"]\n'
    (tmp_path / "s.toml").write_text(table)
    done("create", path, tmp_path / "s.toml")
    id = done("ask", path, "s").split()[0]
    content = json.loads(done("show", path, "s", "--json"))
    assert (content["best_chances"], content["intervals"]) == (None, None)
    assert "chance to be best" not in done("show", path, "s")
    done("tell", path, "s", id, "reward=1")
    content = json.loads(done("show", path, "s", "--json"))
    assert content["best_chances"]["a"] > 0.5
    assert content["intervals"].startswith("[low, high]")


def test_show_says_why_means_have_no_intervals(done, path, tmp_path):
    (tmp_path / "labels.toml").write_text(TEXT.replace("ask_again", "forget"))
    done("create", path, tmp_path / "labels.toml")
    labels = path, "labels"
    done("tell", *labels, done("ask", *labels).split()[0], "reward=1")
    assert "[low, high] holds the arm's mean at all times" in done("show", *labels)
    done("expire", *labels, done("ask", *labels).split()[0])
    why = "Means have no intervals: 1 decision expired without feedback, which may bias means."
    assert done("show", *labels).splitlines()[-1] == why
    assert json.loads(done("show", *labels, "--json"))["intervals"] == why


def test_show_leaves_out_what_would_take_long(done, labels, monkeypatch):
    monkeypatch.setattr("keyhole.study.study_summary.MOST_EVENTS", 0)
    id = done("ask", *labels).split()[0]
    lines = done("show", *labels).splitlines()
    assert lines[0].endswith("too many events to count here; means() counts them")
    assert lines[1] == "  recommended: above: cat, dog, owl"
    assert lines[2].startswith(id)
    said = json.loads(done("show", *labels, "--json"))
    names = ("means", "arms_without_feedback", "intervals")
    assert [said[name] for name in names] == [None, None, None]


def test_history(done, labels):
    id = done("ask", *labels).split()[0]
    done("tell", *labels, id, "reward=0.5")
    asked, told = done("history", *labels).splitlines()
    assert re.fullmatch(rf"1 {_TIME} asked {id} round=1 arm=cat", asked)
    assert re.fullmatch(rf"2 {_TIME} told {id} reward=0.5", told)
    events = [json.loads(line) for line in done("history", *labels, "--json").splitlines()]
    assert [event["event"] for event in events] == ["asked", "told"]


def test_a_change_of_policy_says_in_the_history_to_which(done, labels):
    done("change", *labels, "APT", "epsilon=0.1")
    assert done("history", *labels).endswith(" policy changed policy=APT\n")


def test_without_a_verb_it_says_which_there_are(done):
    assert "Add arms, all or none." in done()


def test_export_and_restore(done, labels, tmp_path):
    done("ask", *labels)
    done("export", *labels, tmp_path / "log.jsonl")
    done("restore", labels[0], tmp_path / "log.jsonl", "--name", "two")
    assert done("list", labels[0]) == "labels\ntwo\n"
    assert json.loads(done("list", labels[0], "--json")) == ["labels", "two"]
    assert done("history", labels[0], "two") == done("history", *labels)


def test_import(keyhole, done, labels, tmp_path):
    past = tmp_path / "past.csv"
    past.write_text("item,label\ncat,1\nowl,0\ncat,0\n")
    words = "import", *labels, past, "--arm", "item", "--reward", "label"
    assert done(*words) == "labels: 3 decisions imported\n"
    assert done(*words) == "labels: imported before, nothing is changed\n"
    assert json.loads(done(*words, "--json")) == {"imported": 0, "pending": 0}
    assert re.search(r"cat +2 +2 +0\.50 ", done("show", *labels))
    past.write_text("arm,reward\ncat,1\nemu,0\ncat,x\n")
    bad = "past.csv, line 3: arm must be one of cat", "; line 4: reward must be a number, got 'x'"
    refused(*keyhole("study", "import", *labels, past), *bad)
    past.write_text("arm,reward\ncat,1\n")
    said = "past results must be the beginning of a study, and this one has 3 decisions already"
    refused(*keyhole("study", "import", *labels, past), said)


def test_import_of_conversions(keyhole, done, tmp_path):
    shop = tmp_path / "shop.db", "shop"
    rule = {"timeout": "7d", "on_timeout": "no_reward"}
    Study.create(*shop, LSA(), ["cat", "owl"], threshold=0.5, **rule).close()
    past = tmp_path / "past.csv"
    old, young = (f"{datetime.now(UTC) - timedelta(days):%d.%m.%Y}" for days in (20, 2))
    past.write_text(f"id;arm;shown;bought\n1;cat;{old};\n2;owl;{young};\n")
    words = "import", *shop, past, "--shown-at", "shown", "--converted-at", "bought"
    words += "--key", "id", "--date-format", "%d.%m.%Y"
    refused(*keyhole("study", *words), "give delimiter=';' (in a shell --delimiter ';')")
    words += "--delimiter", ";"
    assert done(*words) == "shop: 2 decisions imported, 1 of them pending\n"
    unknown = keyhole("study", "tell", *shop, "1", "--by-key", "reward=1")
    refused(*unknown, "imported as pending, got '1'")
    done("tell", *shop, "2", "--by-key", "reward=1")
    assert re.search(r"owl +1 +1 +1\.00 ", done("show", *shop))


def test_replay(done, labels):
    for _ in range(3):
        done("tell", *labels, done("ask", *labels).split()[0], "reward=1")
    assert done("replay", *labels, "LSA") == "LSA(alpha=1.35) would have taken 3 of 3 decisions\n"
    assert "would have taken" in done("replay", *labels, "LSA", "alpha=2")


MINE = """
from keyhole.thresholding import LSA

class Mine(LSA):
    '''One of the user's own.'''
"""


@pytest.fixture
def mine(tmp_path):
    """Write a file with a policy; return how it is named."""
    (tmp_path / "mine.py").write_text(MINE)
    return f"{tmp_path}/mine.py:Mine"


def test_a_study_of_a_policy_of_ones_own(keyhole, done, path, tmp_path, mine):
    text = TEXT.replace('"LSA"', '{ name = "mine.py:Mine", alpha = 2 }')
    (tmp_path / "s.toml").write_text(text)
    assert done("create", path, tmp_path / "s.toml") == "labels: Mine, 3 arms\n"
    refused(*keyhole("study", "ask", path, "labels"), "or --policy FILE.py:Mine")
    assert done("ask", path, "labels", "--policy", mine).endswith(" arm=cat\n")
    shown = done("show", path, "labels", "--policy", mine)
    assert "  policy: Mine(alpha=2)\n  arms: 3\n" in shown
    assert "  pending decisions: 1\n" in shown
    done("export", path, "labels", tmp_path / "log.jsonl", "--policy", mine)
    done("restore", path, tmp_path / "log.jsonl", "--name", "two", "--policy", mine)
    assert done("list", path) == "labels\ntwo\n"


def test_another_policy_may_be_ones_own(keyhole, done, labels, mine, monkeypatch):
    done("tell", *labels, done("ask", *labels).split()[0], "reward=1")
    said = "Mine(alpha=2) would have taken 1 of 1 decisions\n"
    assert done("replay", *labels, mine, "alpha=2") == said
    done("change", *labels, mine, "alpha=2")
    refused(*keyhole("study", "show", *labels), "or --policy FILE.py:Mine")
    monkeypatch.setenv("KEYHOLE_POLICY", mine)
    shown = done("show", *labels)
    assert "  policy: Mine(alpha=2)\n  arms: 3\n" in shown
    assert "  pending decisions: 0\n" in shown


def test_what_a_users_file_prints_is_no_part_of_the_result(keyhole, labels, tmp_path):
    (tmp_path / "noisy.py").write_text(f"print('loading')\n{MINE}")
    words = ("study", "ask", *labels, "--json", "--policy", f"{tmp_path}/noisy.py:Mine")
    code, out, err = keyhole(*words)
    assert (code, json.loads(out)["arm"]) == (0, "cat")
    assert "loading\n" in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("LSA", "--policy must be FILE.py:CLASS, got 'LSA'"),
        ("nowhere.py:Mine", "there is no file 'nowhere.py' in '.'"),
        ("{tmp}/mine.py:Yours", "has no policy 'Yours'"),
    ],
)
def test_a_policy_of_ones_own_that_is_not_there(keyhole, labels, tmp_path, mine, name, said):
    name = name.replace("{tmp}", str(tmp_path))
    refused(*keyhole("study", "ask", *labels, "--policy", name), said)


def test_a_setting_without_recommendations_is_shown(done, path, tmp_path, monkeypatch):
    (tmp_path / "sums.toml").write_text(SUMS)
    done("create", path, tmp_path / "sums.toml")
    assert "recommended" not in done("show", path, "sums")
    assert json.loads(done("show", path, "sums", "--json"))["recommended"] is None


def test_a_recommendation_that_fails_is_not_taken_for_none(keyhole, labels, monkeypatch):
    def fails(*_):
        raise TypeError("a fault")

    monkeypatch.setattr("keyhole.study.state.State.recommend", fails)
    refused(*keyhole("study", "show", *labels), "a fault")


def test_runs_under_limits(done, path, tmp_path):
    (tmp_path / "runs.toml").write_text(RUNS)
    done("create", path, tmp_path / "runs.toml")
    id, *words = done("ask", path, "runs").split()
    assert [word.partition("=")[0] for word in words] == ["arm", "limit"]
    done("tell", path, "runs", id, "exceeded=true")
    assert "recommended: " in done("show", path, "runs")
    with Study.open(path, "runs") as study:
        assert study.definition.time_unit == 1.0


def test_sums(done, path, tmp_path):
    (tmp_path / "sums.toml").write_text(SUMS)
    done("create", path, tmp_path / "sums.toml")
    done("ask", path, "sums")
    done("ask", path, "sums")
    assert done("tell-sum", path, "sums", "0.5", "--rounds", "2") == ""
    done("ask", path, "sums")
    done("tell-sum", path, "sums", "1")
    words = "Arms have no means, since only sums were told: 2 sums, 1.5 in all, for 3 rounds."
    assert words in done("show", path, "sums").splitlines()
    assert json.loads(done("show", path, "sums", "--json"))["intervals"] == words
    with Study.open(path, "sums") as study:
        assert words in str(study)
    arrived = done("history", path, "sums").splitlines()[2]
    assert re.fullmatch(rf"3 {_TIME} sum told total=0.5 rounds=2", arrived)


CHANGES = {
    "unknown entry": ("on_timeout =", "on_timeuot =", "(did you mean 'on_timeout'?)"),
    "a file with an unknown entry": ("on_timeout =", "x =", "labels.toml: an entry must be one of"),
    "no name": ('name = "labels"\n', "", "labels.toml: a study must have the entry 'name'"),
    "no arms": ('"cat", "dog", "owl"', "", "arms must have at least one entry"),
    "arms that are none": ('["cat", "dog", "owl"]', "3", "arms must"),
    "unknown setting": ('"thresholding"', '"tresholding"', "tresholding"),
    "unknown policy": ('"LSA"', '"LSB"', "(did you mean 'LSA'?)"),
    "unknown parameter": ('"LSA"', '{ name = "LSA", alhpa = 1 }', "(did you mean 'alpha'?)"),
    "a policy that is none": ('"LSA"', "3", "policy must be a table"),
    "facts that are none": ("[facts]\nthreshold = 0.5", "", "threshold"),
    "facts as a number": ("[facts]\nthreshold = 0.5", "facts = 1", "facts must be"),
    "unknown fact": ("threshold =", "treshold =", "(did you mean 'threshold'?)"),
    "a fact above the heading": (
        "[facts]\nthreshold = 0.5",
        "threshold = 0.5\n[facts]",
        "labels.toml: threshold must be an entry of facts (in a file, below the heading [facts])",
    ),
    "a fact that is an option": ("threshold = 0.5", "threshold = 0.5\nexist_ok = true", "exist_ok"),
    "a fact that is an entry": ("threshold = 0.5", "threshold = 0.5\nname = 1", "name"),
    "a threshold above 1": ("threshold = 0.5", "threshold = 1.5", "threshold must"),
    "timeout": ("3600", "-1", "timeout must"),
    "on_timeout": (
        '"ask_again"',
        '"hope"',
        "on_timeout must be one of forget, ask_again, no_reward",
    ),
    "malformed": ("timeout = 3600", "timeout = = 1", "TOML"),
    "nested": ("timeout = 3600", f"timeout = {'[' * 5000}", "not valid TOML: it is nested"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_bad_description_is_refused_on_one_line(keyhole, path, tmp_path, change):
    before, after, words = change
    assert before in TEXT
    (tmp_path / "labels.toml").write_text(TEXT.replace(before, after, 1))
    refused(*keyhole("study", "create", path, tmp_path / "labels.toml"), words)
    assert not path.exists()


def test_a_description_that_is_not_there_is_one_line(keyhole, path, tmp_path):
    refused(*keyhole("study", "create", path, tmp_path / "nowhere.toml"), "nowhere.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    refused(*keyhole("study", "create", path, tmp_path / "binary.toml"), "binary.toml")


def test_a_name_is_given_once(keyhole, labels, tmp_path):
    found = keyhole("study", "create", labels[0], tmp_path / "labels.toml")
    refused(*found, "name must be new, got 'labels'")


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tell", "nope", "reward=1"], "id must be that of a decision of this study, got 'nope'"),
        (["tell", "{id}", "reward=2"], "reward must lie in [0, 1], got 2"),
        (["tell", "{id}", "reward=yes"], "reward must be a number, got 'yes'"),
        (["tell", "{id}", "reward=nan"], "reward must lie in [0, 1], got nan"),
        (["tell", "{id}"], "tell takes reward in this study"),
        (["tell", "{id}", "rewrad=1"], "tell takes reward in this study"),
        (
            ["tell", "{id}", "reward"],
            "an argument must be FIELD=VALUE, such as reward=1, got 'reward'",
        ),
        (["tell", "{id}", "=1"], "an argument must be FIELD=VALUE"),
        (["tell", "{id}", "id=1"], "each field must be one of the study's"),
        (["tell", "{id}", "reward=1", "reward=0"], "given once"),
        (["tell", "{id}", f"reward={'[' * 5000}"], "reward must be a number"),
        (["tell", "{id}", "reward=1\nother=2"], "reward must be a number"),
        (["ask", "threshold=1"], "ask takes nothing in this study"),
        (["ask", "--key", ""], "key must not be empty"),
        (["ask", "key=k"], "each field must be one of the study's"),
        (["ask", "exclude=cat"], "each field must be one of the study's"),
        (["ask", "--exclude", "cow"], "an arm of exclude must be one of cat, dog, owl; got 'cow'"),
        (["ask", "--metadata", "{"], "--metadata must be JSON, got '{': "),
        (["ask", "--metadata", "3"], "metadata must be a JSON object, got 3"),
        (["correct", "{id}", "reward=1"], "is pending: tell it"),
        (["correct", "nope", "reward=1"], "id must be that of a decision of this study"),
        (["erase-metadata", "nope"], "an id must be that of a decision of this study, got 'nope'"),
        (["tell-sum", "1"], "tell_sum is for anonymous feedback"),
        (["replay", "LSB"], "(did you mean 'LSA'?)"),
        (["replay", "LSA", "treshold=1"], "a parameter or fact must be one of alpha, threshold"),
        (["change", "APT", "epsilom=1"], "got 'epsilom' (did you mean 'epsilon'?)"),
        (["change", "nofile.py:Mine"], "policy: there is no file 'nofile.py'"),
        (["show", "--policy", "nofile.py:Mine"], "--policy: there is no file 'nofile.py'"),
        (["tell-sum", "x"], "total must be a number, got 'x'"),
        (["export", "/nowhere/at/all"], "/nowhere/at/"),
    ],
)
def test_a_bad_argument_is_refused_on_one_line(keyhole, done, labels, words, said):
    id = done("ask", *labels).split()[0]
    operation, *rest = (word.replace("{id}", id) for word in words)
    refused(*keyhole("study", operation, *labels, *rest), said)
    assert len(done("history", *labels).splitlines()) == 1


def test_told_otherwise_is_one_line(keyhole, done, labels):
    id = done("ask", *labels).split()[0]
    done("tell", *labels, id, "reward=1")
    refused(*keyhole("study", "tell", *labels, id, "reward=0"), "other feedback; `correct`")
    done("correct", *labels, id, "reward=0")
    assert "  recommended: above: dog, owl\n" in done("show", *labels)
    events = [json.loads(line)["event"] for line in done("history", *labels, "--json").splitlines()]
    assert events == ["asked", "told", "corrected"]


def test_arms_are_excluded_and_metadata_kept_and_erased(done, labels):
    words = ("--exclude", "cat", "--exclude", "owl", "--metadata", '{"who": "ann"}')
    assert done("ask", *labels, *words).split()[1] == "arm=dog"
    (event,) = map(json.loads, done("history", *labels, "--json").splitlines())
    assert (event["excluded"], event["metadata"]) == (["cat", "owl"], {"who": "ann"})
    assert done("erase-metadata", *labels, "0" * 26) == "labels: metadata of 0 events erased\n"
    assert json.loads(done("erase-metadata", *labels, "--json")) == {"erased": 1}
    assert "ann" not in done("history", *labels)


def test_a_policy_that_waits_says_so_on_one_line(keyhole, done, path, tmp_path):
    (tmp_path / "s.toml").write_text(TEXT.replace("timeout = 3600", 'pending = "wait"'))
    done("create", path, tmp_path / "s.toml")
    done("ask", path, "labels")
    code, *rest = keyhole("study", "ask", path, "labels")
    assert code == 3  # for the same may be tried later
    refused(2, *rest, "waits for the feedback of")


@pytest.mark.parametrize("operation", ["ask", "show", "history", "list"])
def test_a_storage_that_is_not_there_is_not_made(keyhole, path, operation):
    name = [] if operation == "list" else ["labels"]
    refused(*keyhole("study", operation, path, *name), "storage must be an existing file")
    assert not path.exists()


def test_an_unknown_study_is_refused_with_the_nearest(keyhole, labels):
    refused(*keyhole("study", "ask", labels[0], "lable"), "did you mean 'labels'")


def test_a_damaged_export_is_one_line(keyhole, labels, tmp_path):
    (tmp_path / "bad.jsonl").write_text("{" * 9)
    found = keyhole("study", "restore", labels[0], tmp_path / "bad.jsonl")
    refused(*found, "is not an exported study, or damaged")
    refused(*keyhole("study", "restore", labels[0], tmp_path / "no.jsonl"), "no.jsonl")


def test_a_file_of_another_kind_is_refused(keyhole, tmp_path):
    (tmp_path / "s.db").write_text("a" * 200)
    refused(*keyhole("study", "list", tmp_path / "s.db"), "storage must be an SQLite database")


def test_expire_arms_and_change(done, labels):
    id = done("ask", *labels).split()[0]
    done("expire", *labels, id)
    done("add-arm", *labels, "emu", "fox")
    done("retire", *labels, "owl")
    done("change", *labels, "APT", "epsilon=0.05")
    shown = json.loads(done("show", *labels, "--json"))
    assert shown["policy"] == "APT(epsilon=0.05)"
    assert shown["arms"] == ["cat", "dog", "emu", "fox"]
    assert done("ask", *labels).split()[0] == id  # handed out again, as the rule says


def test_a_study_has_units_and_a_promise(done, path, tmp_path):
    text = TEXT.replace("timeout = 3600", 'scale = [1, 5]\ndurability = "process_crash"')
    (tmp_path / "s.toml").write_text(text.replace("threshold = 0.5", "threshold = 3.5"))
    done("create", path, tmp_path / "s.toml")
    id = done("ask", path, "labels").split()[0]
    done("tell", path, "labels", id, "reward=5")
    assert done("history", path, "labels").splitlines()[1].endswith("reward=5.0")


def test_a_backup_is_opened_like_any_other(done, keyhole, labels, tmp_path):
    done("ask", *labels)
    assert done("backup", labels[0], tmp_path / "copy.db") == f"{tmp_path / 'copy.db'}: 1 study\n"
    assert done("history", tmp_path / "copy.db", "labels") == done("history", *labels)
    refused(*keyhole("study", "backup", labels[0], tmp_path / "copy.db"), "path must be new, got")
    refused(*keyhole("study", "backup", tmp_path / "no.db", tmp_path / "b.db"), "storage must be")


def test_a_database_is_checked_and_what_is_whole_saved(keyhole, done, path, labels, tmp_path):
    id = done("ask", *labels).split()[0]
    done("tell", *labels, id, "reward=1")
    done("ask", *labels)
    assert done("check", path) == "labels: 3 events, all whole\n"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE event SET at = 0 WHERE seq = 3")
    code, out, _ = keyhole("study", "check", *labels)
    assert code == 1
    assert re.fullmatch(r"labels: damaged: event 3 of .*; 2 of 3 events are whole\n", out)
    new = tmp_path / "new.db"
    out = done("check", *labels, "--repair-to", "2", "--out", new)
    assert (
        out.splitlines()[1] == f"labels: goes on after event 2 in {new}, without the last 1 event"
    )
    assert done("check", new) == "labels: 2 events, all whole\n"
    out = done("check", new, "labels", "--repair-to", "2", "--out", tmp_path / "all.db")
    assert out.splitlines()[1] == f"labels: goes on after event 2 in {tmp_path / 'all.db'}"
    done("check", new, "labels", "--repair-to", "1", "--out", tmp_path / "one.db")
    assert done("check", tmp_path / "one.db") == "labels: 1 event, all whole\n"
    done("ask", new, "labels")
    assert keyhole("study", "check", path)[0] == 1


def test_a_check_that_cannot_be_is_one_line(keyhole, path, labels, tmp_path):
    for words, said in (
        (["labels", "--repair-to", "x"], "--repair-to must be a whole number, got 'x'"),
        (["labels", "--repair-to", "0"], "--repair-to and --out must be given together"),
        (["labels", "--out", tmp_path / "new.db"], "must be given together"),
        (["--repair-to", "0", "--out", tmp_path / "new.db"], "with the NAME of a study"),
        (["labels", "--repair-to", "1", "--out", tmp_path / "new.db"], "event must "),
        (["labels", "--repair-to", "-1", "--out", tmp_path / "new.db"], "event must "),
        (["others"], "name must be a study of"),
    ):
        refused(*keyhole("study", "check", path, *words), said)
    assert not (tmp_path / "new.db").exists()


def test_an_export_that_is_none_is_one_line(keyhole, path, tmp_path):
    (tmp_path / "none.jsonl").write_text("name = 3\n")
    for words, said in (
        ("nofile.jsonl", "nofile.jsonl must be an exported study; there is no such file"),
        (tmp_path, f"{tmp_path} must be an exported study, got a folder"),
        (
            tmp_path / "none.jsonl",
            "or damaged: line 1 is not JSON: Expecting value",
        ),
    ):
        refused(*keyhole("study", "restore", path, words), said)


STOPS = """
setting = "thresholding"
name = "labels"
arms = ["cat", "owl"]
policy = { name = "PerArmStopping", base = { name = "APT" } }
[facts]
threshold = 0.5
"""


def test_a_command_says_that_a_study_is_done(tmp_path, done, keyhole):
    storage, spec = tmp_path / "labels.db", tmp_path / "labels.toml"
    spec.write_text(STOPS)
    done("create", storage, spec)
    assert "settled: 0 of 2 arms (" in done("show", storage, "labels")
    with Study.open(storage, "labels") as study:
        while not study.is_done:
            decision = study.ask()
            study.tell(decision.id, decision.arm == "cat")
        asked = len(study.log()) // 2
    code, out, err = keyhole("study", "ask", storage, "labels")
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert err.endswith(f"is done: every arm is settled (after {asked} decisions)\n")
    shown = done("show", storage, "labels")
    assert "settled: 2 of 2 arms; done (" in shown
    assert "  settled above: cat\n  settled below: owl\n" in shown
    assert "at most 0.05" in shown
    content = json.loads(done("show", storage, "labels", "--json"))
    assert content["settled"] == {"cat": "above", "owl": "below"}
    assert content["is_done"] is True


BUTTONS = """
setting = "stochastic"
name = "buttons"
arms = ["red", "blue"]
policy = "OptimisticThompson"
"""


@pytest.fixture
def buttons(done, path, tmp_path):
    """Begin an A/B test; return how commands name it."""
    (tmp_path / "buttons.toml").write_text(BUTTONS)
    done("create", path, tmp_path / "buttons.toml")
    return path, "buttons"


SMALL = ("--replications", "9", "--quiet")


def test_plan_says_how_long_a_test_takes_and_how_many_are_not_done(done):
    text = done("plan", "--means", ".1,.9", *SMALL)
    assert text.startswith("means: 0.1, 0.9\nBestArmStopping(")
    assert "0 of 9 were not done after 200,000 decisions" in text
    named = done("plan", "--means", "A=.1, B=.9", *SMALL)
    assert named.splitlines() == ["means: A=0.1, B=0.9", *text.splitlines()[1:]]
    said = json.loads(done("plan", "--means", "A=.1,.9", "--json", *SMALL))
    assert (said["names"], said["means"]) == (["A", ""], [0.1, 0.9])
    text = done("plan", "--means", ".5,.51", "--decisions", "20", *SMALL)
    assert "9 of 9 were not done after 20 decisions" in text
    assert "To end sooner" in text


def test_plan_takes_policy_and_threshold_of_a_study(done, labels, path):
    options = ("--means", ".1,.9", "--json", *SMALL)
    from_study = json.loads(done("plan", *labels, *options))
    assert from_study == json.loads(done("plan", "--threshold", ".5", *options))
    assert from_study["policy"].startswith("PerArmStopping(")  # LSA, the study's, cannot stop
    done("change", *labels, "FamilywiseStopping")
    changed = json.loads(done("plan", *labels, "--delta", ".1", *options))
    assert changed["policy"].startswith("FamilywiseStopping(")
    assert "delta=0.1" in changed["policy"]


def test_plan_takes_the_means_so_far_and_says_that_they_are_optimistic(done, buttons, tmp_path):
    (tmp_path / "past.csv").write_text("arm,reward\nred,0\nblue,1\nred,0\n")
    done("import", *buttons, tmp_path / "past.csv")
    text = done("plan", *buttons, *SMALL)
    assert text.startswith(
        "means: red=0, blue=1 (the study's means so far; the highest is likely too high"
    )
    said = json.loads(done("plan", *buttons, "--json", *SMALL))
    assert (said["means"], said["means_so_far"], said["not_done"]) == ([0.0, 1.0], True, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--means must be given"),
        (["items.db"], "NAME"),
        (["--means", "4 %,5"], "--means must be numbers with commas between"),
        (["--means", "4,5"], "keyhole: each of --means must lie in [0, 1], got 4"),
        (["--means", "A=.1,A=.2"], "the names in --means must differ, got 'A' twice"),
        (["--means", ".1,.2", "--threshold", "5"], "keyhole: --threshold must lie in [0, 1]"),
        (["--means", ".1,.2", "--decisions", "0"], "--decisions"),
        (["--means", ".1,.2", "--tolerance", ".1"], "tolerance is not known"),
        (["--means", ".1,.2", "--rule", "UCB1"], "--rule must be one of BestArmStopping; got"),
        (["--means", ".1,.2", "--rule", "LSA"], "--rule must be one of BestArmStopping; got 'LSA'"),
        (
            ["--means", ".1,.2", "--threshold", ".15", "--rule", "LSA"],
            "--rule must be one of LUCBG, FalseDiscoveryStopping, FamilywiseStopping, HDoC",
        ),
        (["--means", ".1,.2", "--rule", "gone.py:Mine"], "--rule: there is no file 'gone.py'"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(keyhole, words, message):
    refused(*keyhole("study", "plan", *words), message)


def test_a_plan_needs_a_reward_of_each_arm(keyhole, buttons):
    message = "--means must be given: no reward of 'red' was told yet"
    refused(*keyhole("study", "plan", *buttons), message)


def test_show_prints_the_chance_to_be_best(done, buttons, tmp_path):
    (tmp_path / "past.csv").write_text("arm,reward\nblue,1\n")
    done("import", *buttons, tmp_path / "past.csv")
    assert "chance to be best: blue 66.7 %, red 33.3 % (by the policy's" in done("show", *buttons)
    chances = json.loads(done("show", *buttons, "--json"))["best_chances"]
    assert chances == {
        "red": pytest.approx(1 / 3, abs=1e-3),
        "blue": pytest.approx(2 / 3, abs=1e-3),
    }


def test_show_says_which_decisions_are_past_their_time(done, tmp_path):
    path = tmp_path / "x.db"
    facts = {"arms": ["a", "b"], "threshold": 0.5, "timeout": "7d"}
    with Study.create(path, "s", LSA(), clock=lambda: 1e9, **facts) as study:
        study.ask()
    with Study.open(path, "s") as study:
        assert "past their time: 1 pending, which expire at the next ask" in done("show", path)
        study.ask()
    assert "past their time" not in done("show", path)


def test_a_name_hides_no_characters_on_the_terminal(keyhole, tmp_path):
    path, arms = tmp_path / "x.db", ["a\u202eb", "\u0645\u06cc\u200c\u062e\u0648"]
    with Study.create(path, "s\u202et", LSA(), arms=arms, threshold=0.5) as study:
        study.tell(study.ask().id, 1)
    for words in (["list", path], ["show", path, "s\u202et"]):
        code, out, _ = keyhole("study", *words)
        assert code == 0
        assert r"s\u202et" in out
        assert "\u202e" not in out
    assert r"a\u202eb" in out
    assert arms[1] in out


def test_a_study_is_deleted_once_it_is_confirmed(keyhole, done, labels, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\ny\n"))
    code, output, error = keyhole("study", "delete", *labels)
    assert code == 130
    assert "Delete the study labels with all its decisions?" in output + error
    assert done("ask", *labels)
    assert keyhole("study", "delete", *labels)[0] == 0
    refused(*keyhole("study", "delete", *labels, "--yes"), "name must be a study of the database")
