"""The files of `keyhole init`, run as a user would run them, and its questions."""

import ast
import io
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from keyhole.cli import init
from keyhole.cli.init import GOALS, SITUATIONS
from keyhole.experiment import load_run
from keyhole.experiment.setting_registry import BUILT_IN
from keyhole.study import Study
from keyhole.tune import Spec as TuneSpec

pytestmark = [
    pytest.mark.interpreted,
    pytest.mark.usefixtures("no_figures"),
    # Short runs are shorter than a phase of some policies, which then say so.
    pytest.mark.filterwarnings("ignore:.*horizon of 60"),
]

ROOT = Path(__file__).parent.parent.parent
SIMULATE = ("--goal", "simulate", "--setting", "stochastic", "--horizon", 60)
STUDY = ("--goal", "study", "--setting", "stochastic", "--arms", "red, blue")
TUNE = ("--goal", "tune", "--command", "true", "--limit", "10s")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Run in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def answers(monkeypatch):
    """Return a function that types lines on what is taken for a terminal."""

    def type_lines(*lines):
        monkeypatch.setattr(init, "can_ask", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


def test_each_setting_has_an_answer():
    assert set(SITUATIONS) == set(BUILT_IN)


# Some policies warn where their first search takes a large part of the rounds.
HORIZONS = {"delayed": 4_000, "semibandit": 4_000}


@pytest.mark.parametrize("setting", BUILT_IN)
def test_an_experiment_runs_as_it_stands(setting, keyhole, folder):
    horizon = HORIZONS.get(setting, 60)
    words = ("--setting", setting, "--horizon", horizon, "--out", "mine.toml")
    code, out, err = keyhole("init", "--goal", "simulate", *words)
    assert code == 0, err
    assert out == "mine.toml\nnext: keyhole run mine.toml --out results\n"
    text = (folder / "mine.toml").read_text()
    few = re.sub(r"replications = \d+", "replications = 2", text)
    (folder / "mine.toml").write_text(few)
    code, _, err = keyhole("run", "mine.toml", "--out", "results", "--threads", 1)
    assert code == 0, err
    assert load_run(folder / "results").checkpoints[-1] == horizon


# Where every sample is seen, and where there is one common threshold; in a starter neither is so.
NOT_IN_STARTERS = {"AnytimeDKWUCB", "CSBST"}


@pytest.mark.parametrize("setting", BUILT_IN)
def test_an_experiment_names_the_recommended_policies(setting, keyhole, folder):
    horizon = HORIZONS.get(setting, 60)
    words = ("--goal", "simulate", "--setting", setting, "--horizon", horizon)
    assert keyhole("init", *words)[0] == 0
    text = (folder / "experiment.toml").read_text()
    page = (ROOT / "docs" / "which_policy.md").read_text()
    section = page.partition(f"]({setting}.md)\n")[2].partition("\n## ")[0]
    recommended = re.findall(r"^\| [^|]+\(\d+ problems?\) \| `(\w+)", section, re.MULTILINE)
    assert recommended
    fitting = set(recommended) - NOT_IN_STARTERS
    assert all(f'"{policy}"' in text for policy in fitting)


@pytest.mark.parametrize("setting", BUILT_IN)
def test_a_study_takes_a_decision_each_time(setting, keyhole, folder, capsys):
    words = ("--setting", setting, "--arms", "red, blue,x")
    code, out, err = keyhole("init", "--goal", "study", *words)
    assert (code, out) == (0, "study.py\nnext: python study.py\n"), err
    for _ in range(2):
        runpy.run_path(str(folder / "study.py"), run_name="__main__")
    assert "decisions: " in capsys.readouterr().out
    with Study.open(folder / "study.db", "study") as study:
        assert study.arms == ("red", "blue", "x")
        assert len(study.log()) >= 4
        assert study.pending == []


@pytest.mark.parametrize("typed", ["1000", " 1,000 ", "1_000"])
def test_a_number_may_have_separators(typed, keyhole, folder):
    assert keyhole("init", *SIMULATE, "--horizon", typed)[0] == 0
    assert tomllib.loads((folder / "experiment.toml").read_text())["horizon"] == 1000


def test_a_file_whose_name_begins_with_a_dash_is_no_option(keyhole, folder):
    out = keyhole("init", *STUDY, "--out", "-mine.py")[1]
    assert out == "-mine.py\nnext: python ./-mine.py\n"
    assert "python ./-mine.py" in (folder / "-mine.py").read_text()
    out = keyhole("init", *TUNE, "--out", "-mine.toml")[1]
    assert keyhole(*out.splitlines()[1].removeprefix("next: keyhole ").split())[0] == 0


@pytest.mark.parametrize("name", [r"a\N.py", 'a"""b.py', "a\"'.py"])
def test_a_file_may_have_any_characters_of_a_line_in_its_name(name, keyhole, folder):
    code, out, err = keyhole("init", *STUDY, "--out", name)
    assert code == 0, err
    docstring = ast.get_docstring(ast.parse((folder / name).read_text()))
    assert out.splitlines()[1].removeprefix("next: ") in docstring


def test_a_database_beside_a_new_study_is_refused(keyhole, folder):
    (folder / "study.db").touch()
    for words in ((), ("--force",)):
        code, out, err = keyhole("init", *STUDY, *words)
        assert (code, out) == (2, "")
        assert err.startswith("keyhole: study.db exists already, and the program would go on with")
        assert len(err.splitlines()) == 1
    assert [path.name for path in folder.iterdir()] == ["study.db"]


@pytest.mark.parametrize("stream", ["stdin", "stderr"])
def test_a_closed_stream_is_no_terminal(stream, monkeypatch):
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert init.can_ask()
    monkeypatch.setattr(sys, stream, None)
    assert not init.can_ask()


def test_errors_do_not_go_to_standard_output(keyhole, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert keyhole("init", "--goal", "sing")[:2] == (2, "")


def test_a_limit_is_written_exactly(keyhole, folder):
    for typed, limit in (("1234567", 1234567), ("12345.678s", 12345.678)):
        assert keyhole("init", *TUNE, "--limit", typed, "--force")[0] == 0
        assert tomllib.loads((folder / "tune.toml").read_text())["limits"]["to"] == limit


def test_a_program_beside_the_file_is_found(keyhole, folder):
    (folder / "mine.sh").touch(mode=0o755)
    assert keyhole("init", *TUNE, "--command", "./mine.sh")[0] == 0
    assert TuneSpec.from_file(folder / "tune.toml").arms[1].command == ("./mine.sh",)


def test_operators_of_a_shell_may_be_quoted(keyhole, folder):
    command = r"""echo 'a|b' "<\"&" \;"""
    assert keyhole("init", *TUNE, "--command", command)[0] == 0
    assert TuneSpec.from_file(folder / "tune.toml").arms[1].command[1:] == ("a|b", '<"&', ";")


def test_a_tune_has_the_commands_and_the_limit(keyhole, folder):
    words = ("--command", "echo {seed}", "--command", "echo 'a \"b\"' {limit}", "--limit", "10m")
    code, out, err = keyhole("init", "--goal", "tune", *words)
    assert (code, out) == (0, "tune.toml\nnext: keyhole tune tune.toml --dry-run\n"), err
    spec = TuneSpec.from_file(folder / "tune.toml")
    assert [arm.name for arm in spec.arms] == ["echo", "echo-2"]
    assert spec.arms[1].command == ("echo", 'a "b"', "{limit}")
    assert (spec.limits[0], spec.limits[-1]) == pytest.approx((6, 600))
    code, out, _ = keyhole("tune", "tune.toml", "--dry-run")
    assert (code, len(out.splitlines())) == (0, 10)


def test_a_tune_may_have_instances(keyhole, folder):
    (folder / "a.cnf").touch()
    words = ("--command", "cat {instance}", "--limit", "1s", "--instances", "*.cnf")
    assert keyhole("init", "--goal", "tune", *words)[0] == 0
    assert tomllib.loads((folder / "tune.toml").read_text())["instances"] == "*.cnf"
    assert keyhole("tune", "tune.toml", "--dry-run")[1].startswith("cat a.cnf ")


def test_questions_take_numbers_words_and_defaults(keyhole, answers, folder):
    answers("1", "thresholdin", "thresholding", "")
    code, out, err = keyhole("init")
    assert (code, out.splitlines()[0]) == (0, "experiment.toml")
    for number, (word, goal) in enumerate(GOALS.items(), 1):
        assert re.search(rf"^  {number} {word} +{re.escape(goal['text'])}$", err, re.MULTILINE)
    assert "did you mean 'thresholding'?" in err
    assert tomllib.loads((folder / "experiment.toml").read_text())["horizon"] == 1000


def test_questions_take_commands_until_an_empty_line(keyhole, answers, folder):
    (folder / "a.cnf").touch()
    answers("tune", "echo 'x", "echo x", "cat {instance}", "", "soon", "30s", "*.cnf")
    code, _, err = keyhole("init")
    assert code == 0
    assert "--command must be quoted as in a shell" in err
    assert "--limit must be like 90s" in err
    spec = TuneSpec.from_file(folder / "tune.toml")
    assert [arm.name for arm in spec.arms] == ["echo", "cat"]


def test_an_unknown_field_of_a_command_is_asked_again_at_once(keyhole, answers, folder):
    answers("tune", "echo {sed}", "echo {seed}", "", "30s")
    code, _, err = keyhole("init")
    assert code == 0
    words = "known are {instance}, {seed}, {limit} (did you mean 'seed'?)"
    assert f"--command: unknown field {{sed}}; {words}" in err
    assert [arm.command for arm in TuneSpec.from_file(folder / "tune.toml").arms] == [
        ("echo", "{seed}")
    ]


def test_questions_ask_for_the_arms_of_a_study(keyhole, answers, folder):
    answers("2", "6", "red,red", "red, blue")
    code, _, err = keyhole("init", "--out", "runs.py")
    assert code == 0
    assert "--arms must differ, got 'red' twice" in err
    assert 'ARMS = ["red", "blue"]' in (folder / "runs.py").read_text()


def test_answers_that_do_not_suit_the_file_are_asked_again(keyhole, answers, folder):
    answers("1", "thresholding", "7", "60")
    code, _, err = keyhole("init")
    assert code == 0
    assert "--horizon 7 does not suit the setting" in err
    assert tomllib.loads((folder / "experiment.toml").read_text())["horizon"] == 60
    (folder / "a.cnf").touch()
    answers("tune", "is-not-there", "cat {instance}", "", "30s", "nosuch*", "*.cnf")
    code, _, err = keyhole("init")
    assert code == 0
    assert "the program 'is-not-there' was not found" in err
    assert "nosuch*" in err
    assert tomllib.loads((folder / "tune.toml").read_text())["instances"] == "*.cnf"


def test_input_that_ends_early_interrupts(keyhole, answers, folder):
    answers("1")
    code, out, err = keyhole("init")
    assert (code, out) == (130, "")
    said = "keyhole: the input ended before the last answer; nothing was written"
    assert err.splitlines()[-1] == said
    assert "resumes" not in err
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_a_terminal_is_asked(folder, keyhole, monkeypatch):
    ours, terminal = os.openpty()
    os.write(ours, b"simulate\nresource\n60\n")
    with open(terminal) as typed, open(os.dup(terminal), "w") as shown:
        monkeypatch.setattr(sys, "stdin", typed)
        monkeypatch.setattr(sys, "stderr", shown)
        code, out, _ = keyhole("init")
    os.close(ours)
    assert (code, out.splitlines()[0]) == (0, "experiment.toml")
    assert tomllib.loads((folder / "experiment.toml").read_text())["horizon"] == 60


@pytest.mark.parametrize("words", [SIMULATE, STUDY, TUNE])
def test_without_a_terminal_all_options_are_needed(words, keyhole, folder):
    for place in range(0, len(words), 2):
        code, out, err = keyhole("init", *words[:place], *words[place + 2 :])
        assert (code, out) == (2, "")
        wanted = f"keyhole: {words[place]} must be given, since there is no terminal to ask on\n"
        assert err == wanted
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [SIMULATE, STUDY, TUNE])
def test_a_file_is_overwritten_by_force_only(words, keyhole):
    path = Path(keyhole("init", *words)[1].splitlines()[0])
    path.write_text("mine")
    code, out, err = keyhole("init", *words)
    assert (code, out) == (2, "")
    advice = "choose another --out, or overwrite it with --force"
    assert err == f"keyhole: {path} exists already; {advice}\n"
    assert path.read_text() == "mine"
    assert keyhole("init", *words, "--force")[0] == 0
    assert path.read_text() != "mine"


def test_a_file_that_is_there_is_refused_before_any_question(keyhole, folder):
    (folder / "study.py").touch()
    assert "exists already" in keyhole("init", "--goal", "study")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--goal", "sing"], "--goal must be one of simulate, study, tune; got 'sing'"),
        ([*SIMULATE, "--setting", "zebra"], "--setting must be one of stochastic, "),
        (
            [*SIMULATE, "--horizon", "0"],
            "--horizon must be a whole number from 1 to 2**53, got '0'",
        ),
        ([*SIMULATE, "--horizon", "1.5"], "--horizon must be a whole number from 1 to 2**53"),
        ([*SIMULATE, "--horizon", "1,2,3"], "--horizon must be a whole number from 1 to 2**53"),
        ([*SIMULATE, "--horizon", "9" * 5000], "--horizon must be a whole number from 1 to 2**53"),
        (
            [*SIMULATE, "--setting", "thresholding", "--horizon", "7"],
            "--horizon 7 does not suit the setting: every budget (checkpoint) must be at least the",
        ),
        ([*STUDY, "--out", f"{__file__}/x.py"], "--out must lie in a folder, got "),
        ([*SIMULATE, "--limit", "3s"], "--limit must be left out with the goal 'simulate', got"),
        ([*SIMULATE, "--out", "x.py"], "--out must end with .toml with the goal 'simulate', got"),
        (
            [*STUDY, "--out", "x.toml"],
            "--out must end with .py with the goal 'study', got 'x.toml'",
        ),
        ([*STUDY, "--out", ".py"], "--out must have a name before .py, got '.py'"),
        ([*STUDY, "--out", "random.py"], "--out must not have the name of a module"),
        ([*STUDY, "--out", "keyhole.py"], "--out must not have the name of a module"),
        ([*STUDY, "--out", "numpy.py"], "--out must not have the name of a module"),
        ([*STUDY, "--out", "a\nb.py"], "--out must have no control characters"),
        ([*STUDY, "--horizon", "3"], "--horizon must be left out with the goal 'study', got '3'"),
        ([*STUDY, "--arms", "a,,b"], "each name of --arms must not be empty"),
        ([*TUNE, "--arms", "a"], "--arms must be left out with the goal 'tune', got 'a'"),
        ([*TUNE, "--limit", "0.01"], "--limit must lie in [0.1, 1e+09], got 0.01"),
        ([*TUNE, "--limit", f"{'9' * 20}d"], "--limit must lie in [0.1, 1e+09], got 8.64e+24"),
        ([*TUNE, "--command", ""], "keyhole: --command must not be empty, got ''"),
        ([*TUNE, "--command", "echo x | cat"], "--command is run without a shell, but '|' needs"),
        ([*TUNE, "--command", "echo x>a"], "--command is run without a shell, but '>' needs"),
        ([*TUNE, "--command", " "], "--command must begin with a program, got ' '"),
        ([*TUNE, "--command", "is-not-there"], "the program 'is-not-there' was not found"),
        ([*TUNE, "--command", "cat {instance}"], "--instances must be given, since there is no"),
        ([*TUNE, "--instances", "*.no"], "*.no"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(words, message, keyhole, folder):
    code, out, err = keyhole("init", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_the_programs_pass_the_linter(keyhole, folder):
    for setting in BUILT_IN:
        words = ("--setting", setting, "--arms", "red,blue", "--out", f"{setting}_study.py")
        assert keyhole("init", "--goal", "study", *words)[0] == 0
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    for words in (["check", *config, "--ignore", "T20"], ["format", "--check", *config]):
        command = [sys.executable, "-m", "ruff", *words, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
