import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from types import ModuleType, SimpleNamespace

import pytest
import shellingham
from typer.main import get_command

from keyhole import load_run
from keyhole.cli.app import app
from keyhole.experiment import setting_registry
from keyhole.papers import ENTRY_FILES, Entry
from tests import toys
from tests.busy import wait_until_busy
from tests.cli.conftest import TEXT
from tests.papers.conftest import TINY
from tests.processes import Forked, python

pytestmark = pytest.mark.usefixtures("no_figures")


def test_run_leaves_a_report_and_prints_the_means(keyhole, spec, tmp_path):
    code, out, err = keyhole("run", spec, "--out", tmp_path / "out", "--threads", 1)
    assert code == 0
    assert re.search(r"aggregate_regret after 60 rounds\n  ours +0\.\d+ ± 0\.\d+\n", out)
    assert out.endswith(f"report: {tmp_path / 'out' / 'report.html'}\n")
    assert (tmp_path / "out" / "report.html").is_file()
    assert load_run(tmp_path / "out").labels == ("ours", "RoundRobin()")
    assert "ours: 100 %" in err
    assert err.splitlines()[-2:] == ["writing tables", "drawing the report"]
    assert "keyhole run spec.toml --out out --threads 1" in (tmp_path / "out/run.json").read_text()


def test_run_leaves_a_report_although_nobody_reads_what_it_prints(spec, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as unread:
        done = python("-m", "keyhole", "run", spec, "--out", "out", cwd=tmp_path, out=unread)
    assert done.returncode == 0
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_disk_that_is_full_is_named_with_the_file(keyhole, spec, tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    code, _, err = keyhole("run", spec, "--out", tmp_path / "out", "--threads", 1)
    expected = f"keyhole: {tmp_path / 'out' / 'run.json'}: No space left on device"
    assert (code, err.splitlines()[-1]) == (2, expected)


def test_results_of_a_run_are_shown_where_no_report_can_be_written(
    keyhole, spec, tmp_path, monkeypatch
):
    command = ("run", spec, "--out", tmp_path / "out", "--threads", 1, "--quiet")
    (tmp_path / "out").mkdir()
    before = keyhole(*command)[1]

    def refuse(draft, *_):
        raise OSError(errno.EROFS, "Read-only file system", str(draft))

    monkeypatch.setattr(os, "replace", refuse)
    code, out, err = keyhole(*command)
    assert code == 0
    assert out == before[: before.index("report: ")]
    assert err.startswith("keyhole: warning: no report was written: ")
    assert err.endswith(": Read-only file system\n")
    assert not re.search(r"[0-9a-f]{32}", err)  # of a draft
    assert json.loads(keyhole(*command, "--json")[1])["report"] is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device is always full")
def test_standard_output_that_is_full_is_named(tmp_path):
    with open("/dev/full", "w") as full:
        done = python("-m", "keyhole", "catalog", cwd=tmp_path, out=full)
    expected = (2, "keyhole: standard output: No space left on device\n")
    assert (done.returncode, done.stderr) == expected


SWEEP = """[sweep]
"policy.alpha" = [1.0, 2.0]
"problem.threshold" = [0.4, 0.5]
"""


def test_a_grid_ends_with_a_line_for_each_point(keyhole, spec, tmp_path):
    spec.write_text(TEXT + SWEEP)
    code, out, err = keyhole("run", spec, "--out", tmp_path / "out", "--threads", 1)
    assert code == 0
    first, *lines, summary, report = out.splitlines()
    assert first == "aggregate_regret at the last checkpoint"
    assert len(lines) == 4
    assert re.match(
        r"  alpha = 1.0, threshold = 0.4: ours 0.\d+ ± 0.\d+, RoundRobin\(\) 0.\d+ ±", lines[0]
    )
    assert summary.startswith("Intervals overlap at all 4 points.")
    assert summary.endswith("and a 95 % interval that overlaps no other.")
    assert report == f"report: {tmp_path / 'out' / 'report.html'}"
    assert "6 runs: 100 %" in err
    assert keyhole("report", tmp_path / "out")[0] == 0


@pytest.mark.usefixtures("measured_shortly")
def test_a_dry_run_says_what_would_be_played_and_plays_nothing(keyhole, spec, tmp_path):
    spec.write_text(TEXT + SWEEP)
    code, out, _ = keyhole("run", spec, "--dry-run", "--threads", 1)
    assert code == 0
    lines = [line for line in out.splitlines() if not line.startswith("compiled just now")]
    assert lines[:2] == ["policy.alpha: 2 values", "problem.threshold: 2 values"]
    assert lines[2] == "  policy.alpha = 1.0, problem.threshold = 0.4"
    assert lines[6:10] == [
        "points: 4",
        "runs (one for each policy at each point): 8, 6 of which differ and are played",
        "replications: 240",
        "rounds: 14,400",
    ]
    assert re.fullmatch(
        r"time: about \d.* with 1 thread on this machine, of which \d.* to start; measured by "
        r"\d+ short runs; tables and report are not included",
        lines[10],
    )
    assert [path.name for path in tmp_path.iterdir()] == ["spec.toml"]


def test_a_dry_run_does_not_forecast_a_cluster(keyhole, spec):
    code, _, err = keyhole("run", spec, "--dry-run", "--on", "dask")
    assert code == 2
    assert err.startswith("keyhole: --on must be left out for a forecast, got 'dask': divide the")


@pytest.mark.usefixtures("measured_shortly")
def test_a_dry_run_of_a_plain_spec_has_no_points_to_list(keyhole, spec):
    code, out, _ = keyhole("run", spec, "--dry-run")
    assert code == 0
    assert out.startswith(
        "points: 1\nruns (one for each policy at each point): 2\nreplications: 80\n"
    )


def test_a_run_needs_a_folder(keyhole, spec):
    code, _, err = keyhole("run", spec)
    assert (code, err) == (2, "keyhole: --out must be given: a folder for the results\n")


def test_report_writes_the_report_anew(keyhole, spec, tmp_path):
    out = tmp_path / "out"
    keyhole("run", spec, "--out", out)
    (out / "report.html").unlink()
    code, printed, err = keyhole("report", out)
    assert (code, printed, err) == (0, f"report: {out / 'report.html'}\n", "")
    assert (out / "report.html").is_file()


@pytest.fixture
def tiny(monkeypatch):
    """Make an entry tiny."""
    real = Entry.load

    def small(name):
        entry = real(name)
        scale = entry.scales["quick"].model_copy(update={"replications": 12, "checkpoints": 5})
        return entry.model_copy(update={"scales": {"quick": scale, "paper": scale}})

    monkeypatch.setattr(Entry, "load", small)


def test_reproduce_prints_a_verdict_for_every_claim(keyhole, tiny, tmp_path):
    out = tmp_path / "out"
    words = ("reproduce", "tao2019-simple-regret", "--out", out, "--threads", 1)
    code, printed, err = keyhole(*words, "--verbose")
    verdicts = re.findall(r"^(holds|does not hold|undecided): (.*?):", printed, re.MULTILINE)
    assert [about for _, about in verdicts[:3]] == ["Set-up 1", "Set-up 2", "Set-up 3"]
    assert len(verdicts) == len(Entry.load("tao2019-simple-regret").claims)
    assert code == int(any(status == "does not hold" for status, _ in verdicts))
    assert "drawing the report" in err
    # The report of a reproduction is written anew by the same command as that of a run.
    assert keyhole("report", out, "--verbose")[:2] == (code, printed)
    # The answer comes first, and what does not hold: at most 12 lines.
    short = keyhole("report", out)[1].splitlines()
    assert len(short) <= 12
    assert re.search(r"[Tt]he paper's \d+ claims", short[1])
    assert short[-1] == printed.splitlines()[-1]


def test_a_claim_that_does_not_hold_ends_with_1(keyhole, tmp_path):
    entry = tmp_path / "mine.toml"
    entry.write_text(TINY)  # "No label is ever wrong."
    words = ("reproduce", entry, "--out", tmp_path / "out", "--threads", 1)
    code, printed, _ = keyhole(*words)
    assert code == 1
    assert "our check does not hold: Hard: No" in printed
    assert len(printed.splitlines()) == 5


def test_reproduce_all_ends_with_what_became_of_claims_and_a_page(
    keyhole, tiny, tmp_path, monkeypatch
):
    from keyhole.papers import ENTRY_FILES, reproduction

    few = {name: ENTRY_FILES[name] for name in ("tao2019-simple-regret", "bengs2022-examples")}
    monkeypatch.setattr(reproduction, "ENTRY_FILES", few)
    out = tmp_path / "out"
    words = ("reproduce", "--paper", "tao2019", "--out", out, "--threads", 1)
    code, printed, _ = keyhole(*words)
    papers, replicas, size, page = printed.splitlines()
    assert size == "1 entry, 5 claims in all"
    counts = r"\d (holds?|is open|are open|does not hold|do not hold)"
    assert re.fullmatch(rf"2 claims of the papers: {counts}(, {counts})*", papers)
    ours = rf"3 claims of the papers on set-ups of ours: {counts}(, {counts})*"
    assert re.fullmatch(ours, replicas)
    assert page == f"index: {out / 'index.html'}"
    assert code == int("not hold" in printed)
    assert keyhole(*words)[:2] == (code, printed)
    code_of_tables, tables, _ = keyhole(*words, "--latex")
    assert code_of_tables == code
    assert tables.count(r"\begin{tabular}") == 5  # of four problems, and of the claims
    assert len(re.findall(r"& (?:holds|does not hold|undecided) \\\\$", tables, re.M)) == 5


@pytest.mark.parametrize("refuted", [1, 30])
def test_reproduce_all_names_the_claims_that_do_not_hold(keyhole, tmp_path, monkeypatch, refuted):
    from keyhole import papers
    from keyhole.papers.verdicts import Verdict

    def verdict(number, origin, status="does not hold"):
        identifier = f"tao2019-setup1/{number}"
        options = {"origin": origin, "status": status, "id": identifier, "about": "Set-up 1"}
        return Verdict(text=f"LSA wins {number}", source="Figure 1", detail="", **options)

    verdicts = [
        verdict(1, "ours"),
        verdict(2, "paper", "holds"),
        verdict(3, "paper", "undecided"),
        *(verdict(4 + i, "paper") for i in range(refuted)),
    ]
    result = papers.ReproducedEntries(
        index=tmp_path / "index.html",
        claims=tmp_path / "claims.json",
        parts=(SimpleNamespace(verdicts=tuple(verdicts)),),
    )
    monkeypatch.setattr(papers, "reproduce_all", lambda **_: result)
    code, printed, _ = keyhole("reproduce", "--all", "--out", tmp_path / "out")
    lines = printed.splitlines()
    assert code == 1
    assert len(lines) <= 12
    # The papers' claims come before our checks; open claims are only counted.
    assert lines[3] == "    claim does not hold: Set-up 1: LSA wins 4 (tao2019-setup1/4)"
    if refuted == 1:
        assert lines[4] == "    our check does not hold: Set-up 1: LSA wins 1 (tao2019-setup1/1)"
    else:
        assert lines[-2] == "    and 24 more"
    assert "is open: Set-up" not in printed
    assert lines[-1] == f"index: {tmp_path / 'index.html'}"


@pytest.mark.parametrize(
    ("function", "words", "passed"),
    [
        ("cli.run.run", "run {spec} --threads 3", {"threads": 3, "on": "threads"}),
        (
            "papers.reproduce",
            "reproduce tao2019-setup1 --scale paper --threads 3",
            {"scale": "paper", "threads": 3, "on": "threads"},
        ),
        (
            "papers.reproduce_all",
            "reproduce --paper tao2019 --scale paper --threads 3",
            {"paper": "tao2019", "scale": "paper", "threads": 3, "on": "threads"},
        ),
        ("papers.reproduce_all", "reproduce --all", {"paper": None, "scale": "quick"}),
    ],
)
def test_options_are_passed_on(keyhole, spec, tmp_path, monkeypatch, function, words, passed):
    asked = {}

    def ask(*_, **given):
        asked.update(given)
        raise ValueError("asked")

    monkeypatch.setattr(f"keyhole.{function}", ask)
    code, _, err = keyhole(*words.format(spec=spec).split(), "--out", tmp_path / "out")
    assert (code, err) == (2, "keyhole: asked\n")
    assert asked.items() >= passed.items()


def test_reproduce_lists_what_there_is(keyhole):
    code, out, err = keyhole("reproduce", "--list")
    assert (code, err) == (0, "")
    for name in ENTRY_FILES:
        assert f"{name}\n" in out
    for entry in map(Entry.load, ("tao2019-setup1", "verma2019-figure1")):
        assert f"problems: {', '.join(entry.problems)}; claims: {len(entry.claims)}; " in out


def test_lists_wait_for_no_compiler():
    code = "import sys, keyhole.cli.app, keyhole.cli.verdict_output; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "keyhole.papers.entry_files" in loaded
    assert not {"numba", "matplotlib", "pydantic", "pyarrow", "jinja2"}.intersection(loaded)


def test_the_catalog_names_policies_parameters_and_sources(keyhole):
    code, out, err = keyhole("catalog")
    assert (code, err) == (0, "")
    for name in (policy for entry in setting_registry.all_settings() for policy in entry.policies):
        assert f"\n  {name}\n" in out
    assert "alpha = 1.35: weight of the gap against the number of pulls; must be above 0" in out
    assert "threshold (float): In (0, 1)." in out
    assert "crowd: " in out
    policies = sum(len(entry.policies) for entry in setting_registry.all_settings())
    headings = "known quantities", "feedback", "randomness", "cost per round", "pending decisions"
    for heading in (*headings, "source"):
        assert out.count(f"\n    {heading}: ") == policies
    assert out == "".join(keyhole("catalog", name)[1] for name in setting_registry.setting_names())


def test_the_catalog_as_json_has_what_it_prints(keyhole):
    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    found = json.loads(keyhole("catalog", "--json")[1], parse_constant=refuse)
    assert [one["setting"] for one in found] == list(setting_registry.setting_names())
    [setting] = json.loads(keyhole("catalog", "thresholding", "--json")[1])
    assert setting["policies"]["LSA"]["parameters"]["alpha"] == {
        "default": 1.35,
        "doc": "weight of the gap against the number of pulls",
        "allowed": "be above 0",
    }
    assert setting["problems"]["means"]["entries"]["threshold"]["required"]


def test_the_help_names_each_command_in_a_whole_sentence(keyhole):
    out = keyhole("--help")[1]
    assert "--install-completion" in out
    commands = out.partition("Commands:\n")[2].splitlines()
    assert len(commands) == len({line.split()[0] for line in commands}) > 10
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


def walk_commands(command, path=()):
    """Yield the words and the command of each command, also of groups."""
    if path:
        yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk_commands(inner, (*path, name))


COMMANDS = dict(walk_commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_help_are_commands(name):
    lines = COMMANDS[name].epilog.splitlines()[2:]
    assert lines
    for line in lines:
        assert line.startswith(f"  keyhole {name}")
        _, *words = shlex.split(line)
        command = get_command(app)
        while hasattr(command, "commands"):
            # The name of a file stands for `keyhole tune run`; a group may be a command itself.
            if words[0] not in command.commands and "run" not in command.commands:
                break
            called = words.pop(0) if words[0] in command.commands else "run"
            command = command.commands[called]
        assert command.make_context(called, words).params  # parsed, and not run


# What an option of this name is in every command that has it; in these, it is something else.
OTHER_OPTIONS = {
    "init --out": "a file",
    "new --out": "a folder of sources",
    "study check --out": "a database",
    "study report --out": "a page",
}


@pytest.mark.parametrize("option", ["--out", "--json", "--quiet", "--threads", "--on", "--policy"])
def test_an_option_means_the_same_in_every_command(option):
    found = {
        name: parameter
        for name, command in COMMANDS.items()
        for parameter in command.params
        if option in parameter.opts and f"{name} {option}" not in OTHER_OPTIONS
    }
    assert len(found) > 1
    assert len({(one.help, one.metavar, one.is_flag) for one in found.values()}) == 1


def test_no_command_spells_these_options_in_another_way():
    spelt = {opt for command in COMMANDS.values() for one in command.params for opt in one.opts}
    assert not spelt & {"--output", "--out-dir", "-o", "--as-json", "--format", "--silent", "-q"}
    assert not spelt & {"--jobs", "--num-threads", "--overwrite", "--random-seed"}


@pytest.mark.parametrize("name", ["run", "reproduce", "demo", "bench", "compile", "tune run"])
def test_every_long_command_can_be_quiet(name):
    assert any("--quiet" in parameter.opts for parameter in COMMANDS[name].params)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_that_ends_as_a_sentence(name):
    for parameter in COMMANDS[name].params:
        if any(opt.startswith("-") for opt in parameter.opts) and parameter.name != "help":
            assert parameter.help, parameter.opts
            assert parameter.help[-1] in ".)", parameter.help


def test_the_package_says_its_version(keyhole):
    import keyhole as package

    assert keyhole("--version")[1] == f"keyhole {package.__version__}\n"
    assert "__version__" in dir(package)


@pytest.mark.parametrize("setting", setting_registry.BUILT_IN)
def test_the_catalog_names_sources_with_their_entries_and_metrics(keyhole, setting):
    code, out, _ = keyhole("catalog", setting)
    assert code == 0
    for source, how in setting_registry.find_setting(setting).problem_factories.items():
        assert f"\n    {source}: {how.doc}\n" in out
        for entry, what in how.entries.items():
            assert f"\n        {entry} ({what.kind}): {what.doc}\n" in out
    for name, metric in setting_registry.find_setting(setting).metrics.items():
        assert f"\n    {name}: {metric.title}" in out


def test_the_catalog_shows_metrics_of_a_users_environment(keyhole, monkeypatch):
    module = ModuleType(toys.__name__, "Toys.")
    module.__all__, module.PROBLEM_FACTORIES = [], {}
    monkeypatch.setattr(
        setting_registry,
        "find_setting",
        lambda name: setting_registry.RegisteredSetting(name, module),
    )
    code, out, _ = keyhole("catalog", "toys")
    assert code == 0
    assert "\n    gain: reward less what it took (hours); higher is better\n" in out


def test_version(keyhole):
    assert keyhole("--version") == (0, f"keyhole {version('keyhole')}\n", "")


@pytest.mark.parametrize("command", ["catalog", "run", "report", "reproduce", "demo"])
def test_every_command_has_a_help_text(keyhole, command):
    code, out, _ = keyhole("--help")
    assert code == 0
    assert re.search(rf"^  {command} +\w.*\.$", out, re.MULTILINE)
    code, out, err = keyhole(command, "--help")
    assert (code, err) == (0, "")
    assert f"keyhole {command}" in out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("keyhole re", {"report", "reproduce"}),
        ("keyhole run --d", {"--dry-run"}),
        ("keyhole study c", {"create", "change", "check", "correct"}),
    ],
)
def test_bash_completes_names(keyhole, monkeypatch, words, completed):
    monkeypatch.setenv("_KEYHOLE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    code, out, _ = keyhole()
    assert (code, set(out.split())) == (0, completed)


def test_completion_is_installed_for_bash_under_the_name_of_the_command(
    keyhole, monkeypatch, tmp_path
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(shellingham, "detect_shell", lambda: ("bash", "/bin/bash"))
    assert keyhole("--install-completion")[0] == 0
    (script,) = (tmp_path / ".bash_completions").iterdir()
    assert script.name == "keyhole.sh"
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert script.read_text().endswith("complete -o default -F _keyhole_completion keyhole")
    subprocess.run(["bash", "-n", script], check=True)


def test_without_a_command_help_is_shown(keyhole):
    assert keyhole()[:2] == keyhole("--help")[:2]


@pytest.mark.parametrize("command", ["catalog", "reproduce --list", "run spec.toml --out out"])
def test_what_is_piped_is_plain(tmp_path, spec, command):
    env = os.environ | {"TERM": "xterm-256color"}
    done = python("-m", "keyhole", *command.split(), cwd=tmp_path, env=env)
    assert done.returncode == 0
    for text in (done.stdout, done.stderr):
        assert "\x1b" not in text
        assert "\r" not in text


def test_interrupted_it_ends_with_130_and_goes_on_later(spec, tmp_path, keyhole):
    spec.write_text(TEXT.replace("replications = 40", "replications = 50_000_000"))
    out = tmp_path / "out"
    with Forked("-m", "keyhole", "run", spec, "--out", out, cwd=tmp_path) as process:
        for _ in range(2000):
            if any(out.glob("blocks/*.block")):
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        done = process.finish()  # the run itself would take hours
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("keyhole: interrupted")
    assert any(out.glob("blocks/*.block"))


STUCK = """
from keyhole.thresholding import IndexPolicy
class Stuck(IndexPolicy):
    def index(p, pulls, total):
        n = 0.0
        while n < 1.0 or pulls > 300.0:
            n += 1.0
        return n
"""


HURRIED = """
from keyhole.cli import main
from keyhole.play import threaded_simulation

threaded_simulation._GRACE_SECONDS = 0.3
main()
"""


@pytest.mark.parametrize(
    ("words", "function", "said"),
    [
        ("run spec.toml --out out", "run.run_spec", "; the same command resumes from here"),
        ("doctor", "doctor.show_doctor", ""),
    ],
)
def test_only_commands_that_resume_say_so_when_interrupted(
    keyhole, monkeypatch, spec, words, function, said
):
    monkeypatch.chdir(spec.parent)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"keyhole.cli.{function}", interrupt)
    code, out, err = keyhole(*words.split())
    assert (code, out, err.strip()) == (130, "", f"keyhole: interrupted{said}")


def test_interrupted_it_ends_with_130_although_a_kernel_never_returns(spec, tmp_path, keyhole):
    (tmp_path / "stuck.py").write_text(STUCK)
    text = TEXT.partition("[[policy]]")[0] + '[[policy]]\nname = "stuck.py:Stuck"\n'
    # It returns in few rounds, and so in the trial before a run; here it is compiled.
    spec.write_text(text)
    assert keyhole("run", spec, "--out", tmp_path / "short")[0] == 0
    spec.write_text(text.replace("60", "600"))
    out = tmp_path / "out"
    words = ("run", spec, "--out", out, "--threads", 1)
    with Forked("-c", HURRIED, *words, cwd=tmp_path) as process:
        for _ in range(2000):
            if (out / "blocks").is_dir():
                break
            time.sleep(0.1)
        wait_until_busy(process, 0.6)
        process.send_signal(signal.SIGINT)
        done = process.finish()
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1].startswith("keyhole: interrupted")
    assert "keyhole: warning: a kernel of" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_comes_fast():
    code = (
        "import sys; sys.argv = ['keyhole', '--help']\n"
        "from keyhole.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "slow = {'pyarrow', 'matplotlib', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(', '.join(slow) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_catalog_shows_a_policy(keyhole):
    code, out, _ = keyhole("catalog", "LSA")
    assert (code, out.splitlines()[:2]) == (0, ["thresholding", "  LSA"])
    assert json.loads(keyhole("catalog", "LSA", "--json")[1])[0]["policies"].keys() == {"LSA"}
    assert keyhole("catalog", "lsa")[1] == out


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["tune", "shw", "folder"], "show"),
        (["reproduce", "tao2019-setup9"], "tao2019-setup3"),
        (["bench", "thresholding", "--problems", "judging/*", "--out", "x"], "judging"),
    ],
)
def test_a_wrong_name_is_answered_shortly_and_with_the_nearest(keyhole, words, meant):
    code, _, error = keyhole(*words)
    assert code == 2
    assert error.endswith(f" (did you mean {meant!r}?)\n")
    assert len(error) < 300


def test_latex_has_a_table_for_each_point_and_no_json_beside(keyhole, spec, tmp_path):
    spec.write_text(TEXT + SWEEP)
    command = ("run", spec, "--out", tmp_path / "out", "--threads", 1, "--quiet", "--latex")
    code, out, _ = keyhole(*command)
    assert code == 0
    assert out.count(r"\begin{tabular}") == 4
    assert "alpha = 1.0, " in out
    assert out.count(r"\textbf") >= 4
    for words in (command, ("bench", "--out", "x", "--latex"), ("reproduce", "a", "--latex")):
        code, out, err = keyhole(*words, "--json")
        assert (code, out) == (2, "")
        assert err == "keyhole: --latex must be left out with --json\n"
