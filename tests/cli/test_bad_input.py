"""Each bad input ends with 2 and one line that says what is wrong; nothing is left behind."""

import json
import os
import resource
import shutil
import subprocess
import sys

import pytest

from keyhole.experiment import Spec
from keyhole.experiment import run as run_spec
from keyhole.files import json_checksum
from tests.cli.conftest import TEXT
from tests.processes import python

pytestmark = pytest.mark.usefixtures("no_figures")

CHANGES = {
    "a mean above 1": ("0.45", "1.45", "means[1] must lie in [0, 1], got 1.45"),
    "a mean that is no number": ("0.45", "nan", "means[1] must"),
    "no arms": ("[0.2, 0.45, 0.7]", "[]", "means must have at least one entry, got none"),
    "threshold": ("threshold = 0.5", "threshold = 1.0", "threshold must lie in (0, 1), got 1"),
    "alpha": ('name = "LSA"', 'name = "LSA"\nalpha = 0.0', "alpha must be above 0, got 0"),
    "epsilon": ('name = "LSA"', 'name = "APT"\nepsilon = -0.1', "epsilon must be at least 0"),
    "budget below K": ("horizon = 60\ncheckpoints = [20, 60]", "horizon = 2", "3"),
    "no replications": ("replications = 40", "replications = 0", "replications must"),
    "unsorted checkpoints": ("[20, 60]", "[60, 20]", "checkpoints must rise, got 20 after 60"),
    "checkpoints too late": ("[20, 60]", "[20, 61]", "must lie in [1, 60], got 61"),
    "unknown policy": ('"LSA"', '"LSB"', "(did you mean 'LSA'?)"),
    "unknown parameter": ('name = "LSA"', 'name = "LSA"\nalhpa = 1', "(did you mean 'alpha'?)"),
    "a parameter where there is none": (
        'name = "RoundRobin"',
        'name = "RoundRobin"\nx = 1',
        "policy[1].x must be left out: RoundRobin has no parameters",
    ),
    "one bracket": (
        '[[policy]]\nname = "LSA"\nlabel = "ours"\n[[policy]]\nname = "RoundRobin"',
        '[policy]\nname = "LSA"',
        "policy must be a list of tables, each headed [[policy]] with two brackets, got {'name'",
    ),
    "unknown entry": ("seed = 4", "sede = 4", "(did you mean 'seed'?)"),
    "no source": (
        "means = ",
        "mean = ",
        "problem must have exactly one of means, watched, samples, crowd, labels",
    ),
    "two sources": ("means = ", 'crowd = "ducks"\nmeans = ', "got means and crowd"),
    "unknown source": ("means = [0.2, 0.45, 0.7]", 'crowd = "duks"', "problem.crowd must be one"),
    "axis": ("[problem]", '[figure]\nx = "ln"\n[problem]', "figure.x must be 'linear' or 'log'"),
    "malformed TOML": ("seed = 4", "seed = = 4", "not valid TOML"),
    "nested TOML": ("seed = 4", f"seed = {'[' * 5000}", "nested too deeply"),
    "a number beyond all floats": ("threshold = 0.5", f"threshold = 1{'0' * 400}", "of 401 digits"),
    "too many checkpoints": ("[20, 60]", "{count = 10000000000}", "checkpoints.count must be less"),
    "a title that rings": ("[problem]", 'title = "a\\u0007"\n[problem]', "got 'a\\x07'"),
    "a label that is none": (
        'label = "ours"',
        "label = 1",
        "policy[0].label must be a text, got 1",
    ),
}

RECORDS = {
    "no digest": lambda record: record.pop("digest"),
    "no versions": lambda record: record.pop("versions"),
    "no seed": lambda record: record.pop("seed"),
    "a list for a command": lambda record: record.update(command=[]),
    "not finished": lambda record: record.update(finished=None),
    "finished as a number": lambda record: record.update(finished=1),
    "no checksums": lambda record: record.pop("checksums"),
    "another version": lambda record: record.update(version=[9]),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return the folder of a finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    run_spec(Spec.from_text(TEXT), folder)
    return folder


def refused(code, out, err, *words):
    """Check that there is one line of complaint that says these words."""
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("keyhole: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_bad_spec_is_refused_on_one_line(keyhole, spec, tmp_path, change):
    before, after, words = change
    assert before in TEXT
    spec.write_text(TEXT.replace(before, after, 1))
    refused(*keyhole("run", spec, "--out", tmp_path / "out"), "spec.toml", words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("code", ["class Mine(:\n", "import nowhere_to_be_found\n"])
def test_a_users_file_that_cannot_be_imported_is_refused_on_one_line(keyhole, spec, tmp_path, code):
    (tmp_path / "mine.py").write_text(code)
    spec.write_text(TEXT.replace('"LSA"', '"mine.py:Mine"'))
    found = keyhole("run", spec, "--out", tmp_path / "out")
    refused(*found, "spec.toml: policy[0].name: 'mine.py' cannot be imported:", "(line 1)")
    assert not (tmp_path / "out").exists()


def test_a_warning_is_one_line_too(spec, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import warnings\nfrom keyhole.thresholding import RoundRobin\n"
        "warnings.warn('few\\nrounds', stacklevel=1)\n"
    )
    spec.write_text(TEXT.replace('"LSA"', '"mine.py:RoundRobin"'))
    done = python("-m", "keyhole", "run", spec, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == "keyhole: warning: few rounds"


@pytest.mark.parametrize("name", ["values.parquet", "curves.parquet"])
def test_altered_results_are_refused_by_every_command(keyhole, spec, tmp_path, finished, name):
    out = shutil.copytree(finished, tmp_path / "out")
    path = out / name
    path.write_bytes(path.read_bytes()[:-1])
    refused(*keyhole("report", out), f"{name} was altered after the run")
    refused(*keyhole("run", spec, "--out", out), f"{name} was altered after the run")


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("change", RECORDS.values(), ids=RECORDS)
def test_a_broken_record_is_one_line(keyhole, finished, tmp_path, change, right):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    record = json.loads((out / "run.json").read_text())
    sum_found = record.pop("checksum")
    change(record)
    record["checksum"] = json_checksum(record) if right else sum_found
    (out / "run.json").write_text(json.dumps(record))
    refused(*keyhole("report", out), str(out))


@pytest.mark.parametrize("name", ["run.json", "spec.json"])
@pytest.mark.parametrize("text", ["", "{}", "[]", "{", "[" * 100_000, "\x00"])
def test_a_broken_file_is_one_line(keyhole, finished, tmp_path, name, text):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    (out / name).write_text(text)
    refused(*keyhole("report", out), str(out))


def test_a_name_that_a_terminal_would_obey_is_written_out(keyhole, tmp_path):
    refused(*keyhole("report", tmp_path / "a\x1b[2Jb"), "a\\x1b[2Jb")


@pytest.mark.parametrize("command", ["catalog stochastic", "reproduce --list", "report", "--help"])
def test_a_closed_pipe_is_no_error_and_no_verdict(command, finished):
    words = [*command.split(), *([finished] if command == "report" else [])]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = python("-m", "keyhole", *words, cwd=finished, out=out)
    assert (done.returncode, done.stderr) == (0, "")


NO_PLACES = """
import sys
from keyhole.cli import main

for command in ["run", "x.toml"], ["reproduce", "x"], ["tune", "x.toml"]:
    sys.argv = ["keyhole", *command, "--out", "x", "--on", "foo"]
    try:
        main()
    except SystemExit as end:
        print(end.code, {"numba", "pyarrow", "scipy"} & {*sys.modules})
"""


def test_what_is_no_place_is_refused_before_a_compiler_is_loaded():
    done = subprocess.run([sys.executable, "-c", NO_PLACES], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2 set()\n" * 3)
    complaint = "on must be threads, dask[=ADDRESS] or ray[=ADDRESS], got 'foo'"
    assert done.stderr == f"keyhole: {complaint}\n" * 3


def test_a_paper_for_an_entry_is_told_how_to_play_all(keyhole, tmp_path):
    words = (
        "entry must name an entry of the paper tao2019 (see",
        "run all of its entries with --paper tao2019",
    )
    refused(*keyhole("reproduce", "tao2019", "--out", tmp_path / "out"), *words)


def test_threads_below_1_are_refused(keyhole, spec, tmp_path):
    out = tmp_path / "out"
    refused(*keyhole("run", spec, "--out", out, "--threads", 0), "threads must lie in [1, 1024]")
    assert not out.exists()


def test_a_missing_spec_is_refused(keyhole, tmp_path):
    refused(*keyhole("run", tmp_path / "no.toml", "--out", tmp_path / "out"), "there is no file")


def test_a_folder_of_something_else_is_refused(keyhole, spec, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("chapter 1")
    refused(*keyhole("run", spec, "--out", out), "not a run folder")
    refused(*keyhole("report", out), "not a run folder")
    refused(
        *keyhole("reproduce", "tao2019-setup1", "--out", out), "something other than a reproduction"
    )
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_a_run_of_another_spec_is_refused(keyhole, spec, finished):
    spec.write_text(TEXT.replace("seed = 4", "seed = 5"))
    refused(*keyhole("run", spec, "--out", finished), "another spec")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run"], "SPEC.toml"),
        (["run", "x.toml"], "there is no file x.toml"),
        (["run", "x.toml", "--out", "x", "--threads", "two"], "--threads"),
        (["rnu"], "rnu"),
        (["report"], "DIR"),
        (["report", "nowhere"], "there is no folder nowhere"),
        (["catalog", "thresholdin"], "did you mean 'thresholding'"),
        (["reproduce"], "NAME, --all or --paper must be given"),
        (["reproduce", "tao2019-setup1", "--all", "--out", "x"], "NAME must be left out"),
        (["reproduce", "--all"], "--out must be given"),
        (["reproduce", "--paper", "tao2018", "--out", "x"], "did you mean 'tao2019'"),
        (["reproduce", "mine.toml", "--out", "x"], "there is no file mine.toml"),
        (["reproduce", "tao2019-setup1"], "--out must be given"),
        (["reproduce", "tao2019-setup9", "--out", "x"], "did you mean"),
        (["reproduce", "tao2019-setup1", "--scale", "papre", "--out", "x"], "did you mean 'paper'"),
        (["demo", "--speed", "9"], "--speed"),
    ],
    ids=" ".join,
)
def test_a_slip_of_the_fingers_is_refused_on_one_line(
    keyhole, monkeypatch, tmp_path, words, complaint
):
    monkeypatch.chdir(tmp_path)
    refused(*keyhole(*words), complaint)
    assert list(tmp_path.iterdir()) == []


def test_in_a_process_of_its_own_there_is_no_traceback_either(tmp_path):
    done = python("-m", "keyhole", "run", "no.toml", "--out", "x", cwd=tmp_path)
    refused(done.returncode, done.stdout, done.stderr, "there is no file no.toml")


def test_a_full_disk_is_one_line_and_the_run_goes_on_later(keyhole, spec, tmp_path):
    out = tmp_path / "out"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (1500, {limit[1]}))\n"
        f"sys.argv = ['keyhole', 'run', {str(spec)!r}, '--out', {str(out)!r}]\n"
        "from keyhole.cli import main\n"
        "main()\n"
    )
    done = python("-c", code, cwd=tmp_path)
    complaint = done.stderr.splitlines()[-1]
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint.startswith("keyhole: ")
    assert "File too large" in complaint
    assert "Traceback" not in done.stderr
    assert keyhole("run", spec, "--out", out)[0] == 0


def test_the_report_of_a_file_is_refused(keyhole, tmp_path):
    (tmp_path / "items.db").touch()
    words = "got the file", "items.db; a study is shown by keyhole study show"
    refused(*keyhole("report", tmp_path / "items.db"), *words)


@pytest.mark.parametrize(
    "command",
    [
        "run {path} --out x",
        "compile {path}",
        "tune {path} --out x --runs 1",
        "study create x.db {path}",
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(keyhole, tmp_path, command):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    (tmp_path / "windows.toml").write_bytes("name = 'a'".encode("utf-16"))
    for name, reason in [
        ("folder", " cannot be read: Is a directory"),
        ("bytes", ", line 1: the text must be UTF-8, got byte 0xff"),
        ("windows", " is UTF-16: save it as UTF-8"),
    ]:
        path = tmp_path / f"{name}.toml"
        words = command.replace("{path}", str(path)).split()
        refused(*keyhole(*words), f"{path}{reason}")


def test_an_error_of_the_system_is_said_in_words(keyhole, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied", "/data/items.db")

    monkeypatch.setattr("keyhole.study.list_studies", fail)
    code, out, err = keyhole("study", "list", "items.db")
    assert (code, out) == (2, "")
    assert err == "keyhole: /data/items.db: Permission denied\n"
