"""`--json` of the commands: one line, which says what the text says."""

import json
import math
import shlex
import shutil

import pytest
from typer.main import get_command

from keyhole.cli.app import app
from keyhole.cli.output import print_json
from keyhole.papers import Reproduction
from tests.cli.conftest import TEXT

pytestmark = pytest.mark.usefixtures("no_figures")

STUDY = """
setting = "thresholding"
name = "s"
arms = ["a", "b"]
policy = "LSA"
facts.threshold = 0.5
"""
TUNE = """
limits = 0.5
[[arm]]
name = "always"
command = "true"
"""
SPACE = """
limits = 0.5
instances = ["a"]
parameters = { aim = { categories = ["sat", "unsat"], default = "sat" } }
[[arm]]
name = "always"
command = "true {aim} {instance}"
"""
CREATE, ASK = "study create items.db study.toml", "study ask items.db s --json"
ADD_KEY = "serve key add ann --storage items.db --json"
RUN, TRY = "run spec.toml --out out --threads 1", "tune run tune.toml --out tune --runs 1"

# The command that prints, after those that prepare it.
PRINTING = {
    "bench": ["bench thresholding --problems tao-1 --policies LSA --threads 1 --out out"],
    "cache": ["cache info"],
    "catalog": ["catalog thresholding"],
    "cite": ["cite LSA"],
    "compile": ["compile spec.toml"],
    "demo": ["demo --out out"],
    "doctor": ["doctor"],
    "init": ["init --goal study --setting thresholding --arms a,b"],
    "new": ["new policy Mine"],
    "report": [RUN, "report out"],
    "reproduce": ["reproduce tao2019-setup1 --out out"],
    "run": [RUN],
    "serve key add": ["serve key add ann --storage items.db"],
    "serve key list": ["serve key add ann --storage items.db", "serve key list --storage items.db"],
    "study ask": [CREATE, "study ask items.db s"],
    "study backup": [CREATE, "study backup items.db monday.db"],
    "study check": [CREATE, "study check items.db"],
    "study create": [CREATE],
    "study history": [CREATE, ASK, "study history items.db s"],
    "study import": [CREATE, "study import items.db s past.csv"],
    "study list": [CREATE, "study list items.db"],
    "study plan": ["study plan --means .1,.9 --replications 3 --quiet"],
    "study erase-metadata": [CREATE, "study erase-metadata items.db s"],
    "study replay": [CREATE, ASK, "study replay items.db s LSA"],
    "study report": [CREATE, "study report items.db s --out page.html"],
    "study show": [CREATE, "study show items.db s"],
    "tune best": [TRY, "tune best tune"],
    "tune export": [TRY, "tune export tune --aslib scenario"],
    "tune report": [TRY, "tune report tune"],
    "tune run": [TRY],
    "tune validate": [
        "tune run space.toml --out space --runs 1",
        "tune validate space --instances held.txt",
    ],
    "tune show": [TRY, "tune show tune"],
}
SILENT = {
    "serve key revoke": [ADD_KEY, "serve key revoke {id} --storage items.db"],
    "study add-arm": [CREATE, "study add-arm items.db s c"],
    "study correct": [
        CREATE,
        ASK,
        "study tell items.db s {id} reward=1",
        "study correct items.db s {id} reward=0",
    ],
    "study delete": [CREATE, "study delete items.db s --yes"],
    "study change": [CREATE, "study change items.db s APT"],
    "study expire": [CREATE, ASK, "study expire items.db s {id}"],
    "study export": [CREATE, "study export items.db s s.jsonl"],
    "study restore": [CREATE, "study export items.db s s.jsonl", "study restore b.db s.jsonl"],
    "study retire": [CREATE, "study retire items.db s a"],
    "study tell": [CREATE, ASK, "study tell items.db s {id} reward=1"],
    "study tell-sum": [
        "study create items.db sums.toml",
        "study ask items.db s --json",
        "study tell-sum items.db s 1",
    ],
}
SUMS = """
setting = "delayed"
name = "s"
arms = ["a", "b"]
policy = { name = "ODAAF", expected_delay = 2 }
facts = { horizon = 1000, feedback = "anonymous" }
"""
FILES = {"spec.toml": TEXT, "study.toml": STUDY, "sums.toml": SUMS, "tune.toml": TUNE} | {
    "space.toml": SPACE,
    "held.txt": "b\n",
    "past.csv": "arm,reward\na,1\nb,0\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run in a folder with a file of each kind; reproduce papers without any claim."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("demo", "reproduce"):
        made_up = Reproduction("made up", tmp_path / "report.html", ())
        monkeypatch.setattr(f"keyhole.papers.{name}", lambda *_, found=made_up, **__: found)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def prepared():
    """Return what commands left that prepare others: a folder, and the words of a decision."""
    return {}


@pytest.fixture
def last_output(keyhole, folder, prepared, tmp_path_factory):
    """Return a function that runs commands in turn, and returns what the last one printed."""

    def prepare(lines):
        words = {"id": ""}
        for line in lines:
            code, out, err = keyhole(*line.format(**words).split())
            assert code == 0, err
            words = json.loads(out) if line in (ASK, ADD_KEY) else words
        copy = shutil.copytree(folder, tmp_path_factory.mktemp("prepared") / "it")
        prepared[lines] = (copy, words)

    def call(lines, *more):
        *before, last = lines
        if tuple(before) not in prepared:
            prepare(tuple(before))
        copy, words = prepared[tuple(before)]
        shutil.copytree(copy, folder, dirs_exist_ok=True)
        code, out, err = keyhole(*shlex.split(last.format(**words)), *more)
        assert code == 0, err
        return out

    return call


def command_names(command, above=""):
    """Return the names of all commands, without groups of commands."""
    if not hasattr(command, "commands"):
        return {above.strip()}
    return set().union(
        *(command_names(inner, f"{above} {name}") for name, inner in command.commands.items())
    )


def test_each_command_prints_something_or_nothing():
    assert not PRINTING.keys() & SILENT.keys()
    assert command_names(get_command(app)) == PRINTING.keys() | SILENT.keys()


@pytest.mark.interpreted
@pytest.mark.parametrize("lines", PRINTING.values(), ids=PRINTING)
def test_each_command_that_prints_can_print_one_json_document(last_output, lines):
    out = last_output(lines, "--json")
    assert out.count("\n") == 1
    assert json.loads(out)


@pytest.mark.interpreted
@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT)
def test_the_other_commands_print_nothing(last_output, lines):
    assert last_output(lines) == ""


@pytest.fixture
def read(keyhole):
    """Return a function that runs a command with `--json`, and reads its only line."""

    def call(*words):
        code, out, err = keyhole(*words, "--json")
        assert (code, out.count("\n")) == (0, 1), err
        return json.loads(out)

    return call


def test_numbers_that_are_not_finite_are_null(capsys, tmp_path):
    print_json({"a": [1.5, math.inf, (math.nan, 2)], "path": tmp_path})
    content = json.loads(capsys.readouterr().out)
    assert content == {"a": [1.5, None, [None, 2]], "path": str(tmp_path)}


def test_a_run_prints_its_metrics(read, spec, tmp_path):
    found = read("run", spec, "--out", tmp_path / "out", "--quiet")
    (point,) = found["points"]
    assert (point["point"], point["rounds"], point["replications"]) == ({}, 60, 40)
    values = point["metrics"]["simple_regret"]["ours"]
    assert 0.0 <= values["low"] <= values["mean"] <= values["high"] <= 3.0
    assert found["report"] == str(tmp_path / "out" / "report.html")
    assert read("report", tmp_path / "out") == {"report": found["report"]}


def test_a_sweep_prints_each_point(read, spec, tmp_path):
    spec.write_text(spec.read_text() + '[sweep]\n"problem.threshold" = [0.4, 0.5]\n')
    found = read("run", spec, "--out", tmp_path / "out", "--quiet")
    assert [len(point["point"]) for point in found["points"]] == [1, 1]
    assert found["points"][0]["metrics"].keys() == found["points"][1]["metrics"].keys()


@pytest.mark.usefixtures("measured_shortly")
def test_a_forecast(read, spec):
    found = read("run", spec, "--dry-run")
    assert (found["points"], found["runs"], found["on"]) == (1, 2, "threads")
    assert found["seconds"] > 0.0


def test_cache_and_doctor(read, monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    assert read("cache", "info")["pieces"] == 0
    assert read("cache", "clear") == {"folder": str(tmp_path), "removed": 0}
    assert {"keyhole", "cores", "slow"} <= read("doctor").keys()


def test_the_list_of_reproductions(read):
    found = {entry["name"]: entry for entry in read("reproduce", "--list")}
    assert found["tao2019-setup1"]["claims"] > 0
    assert found["tao2019-setup1"]["replications"].keys() == {"quick", "paper"}


@pytest.mark.interpreted
def test_a_study_is_checked_and_replayed(read, keyhole, tmp_path):
    spec, storage = tmp_path / "study.toml", str(tmp_path / "items.db")
    spec.write_text(
        'setting = "thresholding"\nname = "s"\narms = ["a", "b"]\npolicy = "LSA"\n'
        "facts.threshold = 0.5\n"
    )
    assert keyhole("study", "create", storage, spec)[0] == 0
    decision = read("study", "ask", storage, "s")
    assert keyhole("study", "tell", storage, "s", decision["id"], "reward=1")[0] == 0
    assert read("study", "check", storage) == {
        "is_whole": True,
        "damage": "",
        "studies": [{"name": "s", "events": 2, "whole": 2, "damage": ""}],
    }
    found = read("study", "replay", storage, "s", "RoundRobin")
    assert (found["policy"], found["asked"], len(found["decisions"])) == ("RoundRobin()", 1, 1)


@pytest.mark.interpreted
def test_a_study_is_created_and_copied(read, folder):
    assert read(*CREATE.split()) == {"name": "s", "policy": "LSA(alpha=1.35)", "arms": ["a", "b"]}
    found = read("study", "backup", "items.db", "monday.db")
    assert found == {"backup": "monday.db", "studies": ["s"]}


def test_a_tune_prints_what_show_prints_and_the_files(read, folder):
    dry = read("tune", "run", "tune.toml", "--dry-run")
    assert dry[0] == {"arm": "always", "limit": 0.5, "command": ["true"]}
    found = read(*TRY.split(), "--quiet")
    assert found == read("tune", "show", "tune") | {"report": "tune/report.html"}
    assert read("tune", "report", "tune") == {"report": "tune/report.html"}
    found = read("tune", "export", "tune", "--aslib", "scenario")
    assert found == {"scenario": "scenario"}


def test_a_tune_without_what_its_report_needs_has_none(read, folder, monkeypatch):
    monkeypatch.setattr("keyhole.cli.tune.has_extra", lambda extra: False)
    assert read(*TRY.split())["report"] is None


def test_files_to_start_from(read, folder):
    found = read("new", "policy", "Mine", "--out", "mine")
    assert found == {"files": ["mine/mine.py", "mine/test_mine.py"]}
    found = read("init", "--goal", "study", "--setting", "thresholding", "--arms", "a,b")
    assert found == {"files": ["study.py"], "next": "python study.py"}
