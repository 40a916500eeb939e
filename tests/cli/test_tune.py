import errno
import json
import sys

import pytest

from keyhole.cli.error_handling import _show_warning

pytestmark = pytest.mark.usefixtures("no_figures")

SPEC = """
limits = [0.05, 0.5]
instances = ["0", "9"]
[[arm]]
name = "sometimes"
command = "sh -c 'sleep {instance}'"
[[arm]]
name = "always"
command = "true {instance}"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return a spec file whose commands exit at once or never."""
    path = tmp_path_factory.mktemp("tune") / "mine.toml"
    path.write_text(SPEC)
    return path


def test_all_commands_on_a_tune(keyhole, file):
    out = file.parent / "out"
    code, text, error = keyhole("tune", "--runs", 30, file, "--out", out)
    assert code == 0, error
    assert "mine: 30 runs in 0:00:" in text
    assert f"report: {out / 'report.html'}\n" in text
    assert keyhole("tune", "show", out)[1].startswith("mine: 30 runs in")
    code, text, _ = keyhole("tune", "best", out)
    assert text.startswith("true {instance}    # for at most ")
    said = json.loads(keyhole("tune", "best", out, "--json")[1])
    assert (said["arm"], said["command"]) == ("always", ["true", "{instance}"])
    code, text, _ = keyhole("tune", "export", out, "--aslib", out / "aslib")
    assert (code, (out / "aslib" / "algorithm_runs.arff").exists()) == (0, True)
    file.write_text(SPEC.replace("0.05", "0.06"))
    code, text, error = keyhole("tune", file, "--out", out, "--runs", 40)
    assert (code, text) == (2, "")
    assert "belongs to a tune with another spec: limits[0] was 0.05, is now 0.06" in error
    file.write_text(SPEC)


def test_a_tune_without_success_says_so_first(keyhole, tmp_path):
    spec = tmp_path / "none.toml"
    spec.write_text('limits = 0.01\n[[arm]]\nname = "slow"\ncommand = "sleep 9"\n')
    said = "no run has succeeded: there is no evidence for any command"
    assert said in keyhole("tune", spec, "--runs", 1, "--out", tmp_path / "out")[1]
    assert said in keyhole("tune", "show", tmp_path / "out")[1]
    for also in ((), ("--json",)):
        code, text, error = keyhole("tune", "best", tmp_path / "out", *also)
        assert (code, error) == (0, f"{said}\n")
        assert also or said not in text
    assert (json.loads(text)["successes"], json.loads(text)["warnings"]) == (0, [said])
    assert said[1:] in (tmp_path / "out" / "report.html").read_text()


def test_a_dry_run_shows_ten_command_lines_and_leaves_nothing(keyhole, file):
    before = sorted(file.parent.iterdir())
    code, text, error = keyhole("tune", file, "--dry-run")
    assert (code, len(text.splitlines())) == (0, 10)
    assert error.startswith(
        "keyhole: 2 arms, 2 limits, 2 instances; each arm is run once within about 4 runs, and an "
        "answer takes more; the first runs could be\n"
    )
    assert "true 0    # always, at most 0.5 s\n" in text
    assert sorted(file.parent.iterdir()) == before


def test_a_tune_of_a_grid_shows_what_each_parameter_did(keyhole, tmp_path):
    file = tmp_path / "grid.toml"
    arm = '[[arm]]\nname = "t"\ncommand = "true {a} {b}"\ngrid = { a = [1, 2], b = [1, 2] }\n'
    file.write_text(f"limits = [1]\n{arm}")
    assert keyhole("tune", file, "--out", tmp_path / "out", "--runs", 8, "--quiet")[0] == 0
    code, text, _ = keyhole("tune", "show", tmp_path / "out")
    assert (code, "parameter  value  arms run  run time, times the mean\n" in text) == (0, True)


BAD = {
    "no folder": ((), "--out must be given"),
    "no end": (("--out", "x"), "--budget or --runs must be given"),
    "a budget": (("--out", "x", "--budget", "long"), "--budget must be like 90s, 30m, 2h or 1d12h"),
    "no workers": (("--out", "x", "--runs", 1, "--workers", 0), "workers must lie in [1, 1024]"),
    "no workers to rehearse": (("--dry-run", "--workers", 0), "workers must lie in [1, 1024]"),
    "no cluster": (("--dry-run", "--on", "slurm"), "on must be threads, dask[=ADDRESS] or ray"),
}


@pytest.mark.parametrize(("words", "said"), BAD.values(), ids=BAD)
def test_a_bad_call_is_refused_on_one_line(keyhole, file, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, text, error = keyhole("tune", file, *words)
    assert (code, text, error.count("\n")) == (2, "", 1)
    assert said in error
    assert not list(tmp_path.iterdir())


def test_a_missing_spec_and_a_folder_without_a_tune_are_refused(keyhole, tmp_path):
    missing = tmp_path / "x.toml"
    assert keyhole("tune", missing, "--dry-run")[2] == f"keyhole: there is no file {missing}\n"
    assert "must be a tune folder" in keyhole("tune", "show", tmp_path)[2]
    assert "Is a directory; keyhole tune show" in keyhole("tune", tmp_path)[2]


def test_without_words_help_is_shown(keyhole):
    assert keyhole("tune") == keyhole("tune", "--help")


def test_the_report_is_written_before_anything_is_printed(keyhole, file, tmp_path, monkeypatch):
    def unheard(tune):
        raise RuntimeError("nobody reads on")

    monkeypatch.setattr("keyhole.cli.tune._print_tune", unheard)
    code, _, error = keyhole("tune", file, "--out", tmp_path / "out", "--runs", 2, "--quiet")
    assert (code, error) == (2, "keyhole: nobody reads on\n")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_budget_without_a_run_is_no_error(keyhole, file, tmp_path):
    code, text, error = keyhole("tune", file, "--out", tmp_path / "out", "--budget", "0.0000001")
    assert (code, text, error) == (0, "mine: 0 runs in 0:00:00\n", "")


def test_a_dry_run_escapes_control_characters(keyhole, tmp_path):
    (tmp_path / "rows.csv").write_text("instance,x\na,\x1b[2J\n")
    text = SPEC.replace('["0", "9"]', '{ csv = "rows.csv" }').replace("true {i", "true {x} {i")
    (tmp_path / "mine.toml").write_text(text)
    assert "true '\\x1b[2J' a" in keyhole("tune", tmp_path / "mine.toml", "--dry-run")[1]


def test_a_warning_that_cannot_be_written_ends_no_tune(monkeypatch):
    class Full:
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stderr", Full())
    _show_warning("busy")


def test_an_interrupt_during_imports_is_handled(monkeypatch, keyhole):
    class Interrupting:
        def find_spec(self, name, *_):
            if name == "keyhole.cli.error_handling":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "keyhole.cli.error_handling")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    assert keyhole("doctor")[0] == 130


def test_a_scenario_is_not_written_to_a_tune_folder(keyhole, file, tmp_path):
    keyhole("tune", file, "--out", tmp_path / "out", "--runs", 1)
    code, _, error = keyhole("tune", "export", tmp_path / "out", "--aslib", tmp_path / "out")
    assert code == 2
    assert "the scenario must be written to a folder of its own, got the tune folder" in error
