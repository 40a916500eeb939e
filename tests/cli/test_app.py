"""The command line, as a user types it."""

import os
import signal
import subprocess
import sys
import time

import pytest

SPEC = """
name = "small"
seed = 4
replications = 40
horizon = 60
checkpoints = [20, 60]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "Uniform"
"""


def keyhole(*words, **environment):
    """Run the command; return its exit code, standard output and standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "keyhole", *map(str, words)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a spec, and its finished run."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "spec.toml").write_text(SPEC)
    code, out, err = keyhole("run", folder / "spec.toml", "--out", folder / "run", "--threads", 1)
    assert code == 0
    assert out.splitlines()[0] == "aggregate_regret after 60 rounds"
    assert out.splitlines()[-1] == f"report: {folder / 'run' / 'report.html'}"
    assert [line.split(":")[0] for line in err.splitlines()] == ["LSA(alpha=1.35)", "Uniform()"]
    return folder


def test_a_run_leaves_results_figures_and_a_report(folder):
    names = {p.name for p in (folder / "run").iterdir()}
    assert names == {
        "run.json", "spec.json", "values.parquet", "curves.parquet", "report.html",
        "figure.svg", "figure.png",
    }  # fmt: skip
    assert str(folder) not in (folder / "run" / "run.json").read_text()


def test_a_report_can_be_made_anew(folder):
    report = folder / "run" / "report.html"
    before = report.read_text()
    report.unlink()
    assert keyhole("report", folder / "run")[0] == 0
    assert report.read_text() == before


def test_help_and_version():
    code, out, err = keyhole()
    assert (code, err) == (0, "")
    for command in ("catalog", "run", "report", "reproduce", "demo"):
        assert command in out
        assert keyhole(command, "--help")[0] == 0
    assert keyhole("--version") == (0, "keyhole 0.1.0\n", "")


def test_the_catalog_names_policies_parameters_and_sources():
    code, out, err = keyhole("catalog", "thresholding")
    assert (code, err) == (0, "")
    for word in ("LSA", "alpha", "1.35", "OptKG", "UCBE", "nobody knows", "NeurIPS", "bluebirds"):
        assert word in out
    assert "\x1b" not in out  # plain when piped


def test_the_list_names_every_reproduction():
    from keyhole.papers import FILES

    code, out, _ = keyhole("reproduce", "--list")
    assert code == 0
    for name in FILES:
        assert name in out


BAD = [
    (["nothing"], "No such command 'nothing'"),
    (["run"], "Missing argument 'SPEC.toml'"),
    (["run", "{folder}/spec.toml"], "Missing option '--out'"),
    (["run", "{folder}/nowhere.toml", "--out", "{folder}/x"], "there is no file"),
    (["run", "{folder}/spec.toml", "--out", "{folder}"], "is not a run folder"),
    (
        ["run", "{folder}/spec.toml", "--out", "{folder}/x", "--threads", "0"],
        "threads must be at least 1, got 0",
    ),
    (
        ["run", "{folder}/spec.toml", "--out", "{folder}/x", "--threads", "two"],
        "Invalid value for '--threads'",
    ),
    (["run", "{folder}/bad.toml", "--out", "{folder}/x"], "policy[0].name must be one of"),
    (["catalog", "tresholding"], "did you mean 'thresholding'?"),
    (["report", "{folder}/nowhere"], "there is no folder"),
    (["report", "{folder}"], "is not a run folder"),
    (["reproduce"], "NAME must be given"),
    (["reproduce", "tao2019-setup1"], "--out must be given"),
    (["reproduce", "tao2019-setup9", "--out", "{folder}/x"], "did you mean 'tao2019-setup"),
    (
        ["reproduce", "tao2019-setup1", "--scale", "big", "--out", "{folder}/x"],
        "scale must be one of quick, paper",
    ),
    (
        ["reproduce", "tao2019-setup1", "--out", "{folder}"],
        "holds something else than a reproduction",
    ),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_code_2(folder, words, message):
    (folder / "bad.toml").write_text(SPEC.replace('"LSA"', '"LSB"'))
    code, out, err = keyhole(*(word.format(folder=folder) for word in words))
    assert code == 2
    assert out == ""
    assert message in err
    assert err.startswith("keyhole: ")
    assert err.count("\n") == 1
    assert not (folder / "x").exists()


def test_ctrl_c_ends_with_130_and_the_run_can_go_on(tmp_path):
    long = SPEC.replace("replications = 40", "replications = 400000").replace("60", "20000")
    (tmp_path / "spec.toml").write_text(long)
    words = ["run", str(tmp_path / "spec.toml"), "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        [sys.executable, "-m", "keyhole", *words], stderr=subprocess.PIPE, text=True
    ) as process:
        blocks = tmp_path / "run" / "blocks"
        deadline = time.monotonic() + 60
        while not (blocks.is_dir() and any(blocks.iterdir())) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "keyhole: interrupted; the same command goes on from here"
    assert any(blocks.iterdir())
