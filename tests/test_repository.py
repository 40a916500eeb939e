"""What the repository promises of itself."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.experiment.rooms import ROOMS, policies_of

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
POLICIES = [policy for room in ROOMS for policy in policies_of(room).values()]
NOTES = ("Setting:", "Feedback:", "Randomness:", "Cost per round:", "Departures from the paper:")


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_a_file_can_be_read_at_one_sitting(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_is_documented_in_the_agreed_order(policy):
    text = inspect.getdoc(policy)
    places = [text.index(word) for word in (".. math::", "Notes\n", *NOTES, "References\n", ">>> ")]
    assert places == sorted(places)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_is_where_a_reader_looks_for_it(policy):
    for page in ("README.md", f"docs/{policy.setting.name}.md", "CHANGELOG.md"):
        assert f"`{policy.__name__}" in (ROOT / page).read_text(), page
    benchmarks = "".join(p.read_text() for p in (ROOT / "benchmarks").glob("*.py"))
    assert re.search(rf"\b{policy.__name__}\(", benchmarks)
    references = (ROOT / "tests" / "reference" / f"{policy.setting.name}.py").read_text()
    assert re.search(rf"\b{policy.__name__}\b", references)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_a_folders_init_defines_nothing(path):
    if path.name == "__init__.py":
        for node in ast.parse(path.read_text()).body:
            assert not isinstance(node, ast.ClassDef)
            if isinstance(node, ast.FunctionDef):
                assert node.name == "__getattr__"  # names that are imported when asked for


def test_the_policy_in_contributing_runs_as_written(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    script = re.search(r"```python\n(import .*?)```", text, re.DOTALL).group(1)
    (tmp_path / "narrowest.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "narrowest.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    ours, theirs = done.stdout.splitlines()
    assert re.fullmatch(r"LSA\(alpha=1\.35\): 0\.\d+ wrong labels, \d+ ns a round", ours)
    assert re.fullmatch(r"Narrowest\(width=0\.7\): \d\.\d+ wrong labels, \d+ ns a round", theirs)


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", *ROOT.glob("docs/**/*.md")]
)
def test_links_between_pages_lead_somewhere(page):
    page = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\bmake ([a-z-]+)", (ROOT / page).read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
