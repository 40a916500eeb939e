import json

import pytest

from keyhole.tune import SavedTune, Spec, Tuner
from keyhole.tune.arms import find_shell_syntax
from keyhole.tune.tuner import make_dry_run
from tests.tune.conftest import TABLE, Simulated

SHELL_SYNTAX = {
    "true | tee log": "|",
    "echo hi > log.txt": ">",
    "echo hi && true": "&&",
    "sleep 1 &": "&",
    "ls $HOME": "$HOME",
    "ls ${HOME}/a": "${HOME}",
    "echo $(date)": "$(",
    "ls ~/data": "~",
    "cat < {instance}": "<",
    "mkdir one\ntouch two": "\n",
    "true one\r\ntrue two": "\n",
    "# solve it\ntrue": "#",
    "true {instance} # solve it": "#",
    "cat cnf/*.cnf": "*",
}
ARGUMENTS = (
    "sh -c 'echo $HOME | tee log'",
    'sh -c "echo $HOME; true"',
    r"echo a\|b",
    "printf {limit:>5} {limit:.2f}",
    "grep foo$ a~b",
    "env FOO=1 true",
    "true 'one\ntwo'",
    "\n  true one\n",
    "true one \\\n  two",
    "true 'cnf/*.cnf' a#b '#' \\* x[1] http://localhost/?q=1",
)


@pytest.mark.parametrize(("text", "piece"), SHELL_SYNTAX.items(), ids=SHELL_SYNTAX)
def test_shell_syntax_is_found(text, piece):
    assert find_shell_syntax(text) == piece


@pytest.mark.parametrize("text", ARGUMENTS)
def test_what_is_quoted_or_an_argument_is_no_shell_syntax(text):
    assert find_shell_syntax(text) == ""


def table_of(command):
    return TABLE | {"arm": [{"name": "one", "command": command}]}


def test_a_new_tune_with_shell_syntax_is_refused(tmp_path):
    spec = Spec.from_table(table_of("true 1 {instance} {seed} | tee log"))
    message = r"^arm\[0\].command is run without a shell, but '\|' needs one: write sh -c '...'"
    with pytest.raises(ValueError, match=message):
        Tuner(spec, tmp_path / "out", executors=Simulated).run(runs=1)
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match=message):
        make_dry_run(spec, 1)


def test_words_of_a_list_are_arguments(tmp_path):
    spec = Spec.from_table(table_of(["true", "1", "{instance}", "|"]))
    assert len(Tuner(spec, tmp_path / "out", executors=Simulated).run(runs=1).runs) == 1


def test_a_saved_tune_with_shell_syntax_is_resumed(tmp_path):
    saved = Spec.from_table(table_of(["true", "1", "{instance}", "{seed}", ">", "log"]))
    Tuner(saved, tmp_path, executors=Simulated).run(runs=2)
    spec = Spec.from_table(table_of("true 1 {instance} {seed} > log"))
    assert len(Tuner(spec, tmp_path, executors=Simulated).run(runs=4).runs) == 4
    saved_spec = SavedTune.load(tmp_path).spec
    assert saved_spec.arms == spec.arms
    assert json.loads((tmp_path / "tune.json").read_text())["arms"][0]["command"][-1] == "log"
    assert len(Tuner(saved_spec, tmp_path, executors=Simulated).run(runs=5).runs) == 5


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("cd /tmp\n./x", r"arm\[0\].command is run without a shell, but '\\n' needs"),
        ("cd /tmp && ./x", r"arm\[0\].command is run without a shell, but '&&' needs"),
        ("cd /tmp", "the program 'cd' was not found, .*; commands of a shell need sh -c '...'"),
        ("FOO=1 true", "'FOO=1' was not found, .* variables need the entry environment of"),
    ],
)
def test_a_missing_program_that_is_a_word_of_the_shell_is_explained(tmp_path, command, message):
    # Some systems have a program `cd`.
    path = {"environment": {"PATH": str(tmp_path)}}
    with pytest.raises(ValueError, match=message):
        Spec.from_table(table_of(command) | path)


def test_a_new_command_of_several_lines_is_refused_and_a_saved_one_goes_on(tmp_path):
    text = "true 1 {instance} {seed}\ntouch two  # make it"
    spec = Spec.from_table(table_of(text))
    with pytest.raises(ValueError, match=r"^arm\[0\].command is run .*, but '\\n' needs"):
        make_dry_run(spec, 1)
    words = ["true", "1", "{instance}", "{seed}", "touch", "two", "#", "make", "it"]
    Tuner(Spec.from_table(table_of(words)), tmp_path, executors=Simulated).run(runs=1)
    assert len(Tuner(spec, tmp_path, executors=Simulated).run(runs=2).runs) == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_backslash_at_the_end_of_a_line_continues_the_command(end):
    spec = Spec.from_table(table_of(f"true \\{end}  1 {{instance}} \\{end}  'a b'{end}"))
    assert spec.arms[0].command == ("true", "1", "{instance}", "a b")
    assert len(make_dry_run(spec, 1)) == 1
