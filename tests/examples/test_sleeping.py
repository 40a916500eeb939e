"""A room in a package of its own, as installed: the package, and what pip writes beside it."""

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.nested_pytest import INTERPRETED_OR_COMPILED, run_pytest
from tests.processes import python

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "sleeping"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a folder in which the example looks installed."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE / "src", folder, dirs_exist_ok=True)
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    groups = project["entry-points"].items()
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
        for group, points in groups
    )
    (info / "entry_points.txt").write_text(text)
    return folder


def installed(site):
    """Return an environment in which the example is installed."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(site), str(ROOT / "src")])}


def run(site, *words, cwd=EXAMPLE, **more):
    """Run a module of Python's, in a process to which the example is installed."""
    return python("-m", *words, cwd=cwd, env=installed(site) | more)


def test_the_catalog_shows_it_like_our_own(site):
    done = run(site, "keyhole", "catalog", "sleeping")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sleeping\n  Sleeping bandit: in each round some arms are awake")
    for words in (
        "means: means of all arms, in [0, 1]",
        "awake (sequence of float, shape (arms,)): The probability of each",
        "best_share: share of rounds with the best awake; higher is better",
        "AUER",
        "alpha = 8: weight of the logarithm",
        "source: Kleinberg, Niculescu-Mizil and Sharma (2010)",
    ):
        assert f"  {words}" in done.stdout
    listed = run(site, "keyhole", "catalog").stdout
    assert "\nsleeping\n" in listed
    assert "\nthresholding\n" in listed


@pytest.mark.slow
def test_a_spec_runs_and_changed_code_is_noticed(site, tmp_path):
    text = (EXAMPLE / "sleeping.toml").read_text()
    text = text.replace("= 2000", "= 100").replace("= 400", "= 40")
    (tmp_path / "spec.toml").write_text(text)
    words = ("keyhole", "run", "spec.toml", "--out", "out")
    done = run(site, *words, cwd=tmp_path, KEYHOLE_INTERPRET="1")
    assert done.returncode == 0, done.stderr
    assert "best_share after 100 rounds\n  AUER(alpha=8)  0." in done.stdout
    report = (tmp_path / "out" / "report.html").read_text()
    assert "share of rounds with the best awake" in report
    assert "keyhole-sleeping 0.1.0" in report
    for file, old, new in (
        # Of another length: bytecode is told apart by the second and the length of its source.
        ("policies.py", "s.pulls[arm] += 1.0", "s.pulls[arm] += 20.0"),
        ("environment.py", "s.pulls[arm] += 1", "s.pulls[arm] += 20"),
    ):
        path = site / "keyhole_sleeping" / file
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new))
        again = run(site, *words, cwd=tmp_path, KEYHOLE_INTERPRET="1")
        path.write_text(content)
        assert again.returncode == 2, file
        assert again.stderr.endswith(
            "out holds a run of other data, or of another version of the code; choose another "
            "folder\n"
        )


def test_a_broken_setting_is_one_warning_beside_all_others(site, tmp_path):
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "keyhole_sleeping" / "problem.py").open("a") as file:
        file.write("PROBLEM_FACTORIES = {}\n")
    text = (
        "the setting 'sleeping' of keyhole-sleeping cannot be used: "
        "keyhole_sleeping.PROBLEM_FACTORIES must be a dict of keyhole.spec_values.ProblemFactory\n"
    )
    done = run(tmp_path, "keyhole", "catalog")
    assert (done.returncode, done.stderr) == (0, f"keyhole: warning: {text}")
    assert "\nthresholding\n" in done.stdout
    done = run(tmp_path, "keyhole", "catalog", "sleeping")
    assert (done.returncode, done.stderr) == (2, f"keyhole: {text}")


@pytest.mark.slow
@pytest.mark.parametrize("compiled", INTERPRETED_OR_COMPILED)
def test_a_stub_of_a_policy_keeps_the_contract_of_its_setting(site, tmp_path, compiled):
    words = ("new", "policy", "Wanderer", "--setting", "sleeping", "--out", "new")
    done = run(site, "keyhole", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["new/test_wanderer.py", "new/wanderer.py"]
    done = run_pytest(compiled, "-W", "error", cwd=tmp_path, env=installed(site))
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_stubs_one_is_told_how_to_begin(site, tmp_path):
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "keyhole_sleeping" / "stubs")
    done = run(tmp_path, "keyhole", "new", "policy", "Wanderer", "--setting", "sleeping")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "keyhole: --setting: keyhole-sleeping has no stubs of a policy for its setting "
        f"'sleeping'; begin with a copy of {tmp_path}/keyhole_sleeping/policies.py, and test "
        "your policy with keyhole.testing.check_policy\n"
    )


@pytest.mark.slow
def test_its_own_tests_pass(site):  # which play so much that it is compiled
    done = run_pytest(True, "tests", cwd=EXAMPLE, env=installed(site))
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_small_enough_to_be_read_at_one_sitting():
    files = [path for path in EXAMPLE.rglob("*.*") if path.suffix in (".py", ".md", ".toml")]
    lines = [line for path in files for line in path.read_text().splitlines()]
    assert len(files) <= 12
    assert len(lines) <= 350


STUDY = """
setting = "sleeping"
name = "shops"
arms = ["north", "south", "west"]
policy = "AUER"
"""


@pytest.mark.slow
def test_its_studies_are_kept_and_shown_like_our_own(site, tmp_path):
    def study(*words):
        done = run(site, "keyhole", "study", *words, cwd=tmp_path, KEYHOLE_INTERPRET="1")
        said = [line for line in done.stderr.splitlines() if "compiling AUER" not in line]
        assert (done.returncode, said) == (0, [])
        return done.stdout

    (tmp_path / "shops.toml").write_text(STUDY)
    assert study("create", "a.db", "shops.toml") == "shops: AUER, 3 arms\n"
    question = ("ask", "a.db", "shops", 'awake=["south", "west"]')
    id, words = study(*question, "--key", "first").split(" ", 1)
    assert words == 'awake=["south", "west"] arm=south\n'
    assert study(*question, "--key", "first").split()[0] == id
    study("tell", "a.db", "shops", id, "reward=1")
    other = study("ask", "a.db", "shops", 'awake=["south", "west"]').split()[0]
    shown = study("show", "a.db", "shops").splitlines()
    assert "  policy: AUER(alpha=8)" in shown
    assert "  recommended: south" in shown
    assert shown[-6:-2] == [
        "arm    decisions  told  mean reward",
        "north  0          0",
        "south  1          1     1",
        "west   1          0",
    ]
    assert shown[-2].startswith("Means have no intervals: in the setting 'sleeping'")
    assert shown[-1].startswith(f'{other} awake=["south", "west"] arm=west since ')
    study("export", "a.db", "shops", "shops.jsonl")
    study("restore", "b.db", "shops.jsonl")
    study("export", "b.db", "shops", "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "shops.jsonl").read_bytes()
    study("tell", "b.db", "shops", other, "reward=0")
    assert "  recommended: south" in study("show", "b.db", "shops").splitlines()
    done = run(site, "keyhole", "study", *question[:-1], "awake=['moon']", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    # Before it there may be a line on compiling, where that takes long.
    refusal = "keyhole: an arm of awake must be one of north, south, west; got 'moon'"
    assert done.stderr.splitlines()[-1] == refusal
