"""What the repository promises of itself."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import keyhole.data
from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from tools import draw_models, write_lists, write_reference

# A file, class or page more is the change that these tests are for: `make test` goes through all.
pytestmark = pytest.mark.few(1000)

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
POLICIES = [policy for setting in BUILT_IN for policy in find_setting(setting).policies.values()]


def test_a_file_can_be_read_at_one_sitting():
    assert [path for path in SOURCES if lines_of_code(path.read_text()) > 400] == []


def lines_of_code(text):
    """Count lines that are neither blank, comment nor docstring."""
    prose = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if i not in prose and line.strip()[:1] not in ("", "#"))


def test_prose_is_no_code():
    assert lines_of_code('"""What\nit is."""\n\n# why\nx = 1  # how\ny = """text"""\n') == 2


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_is_documented_in_the_agreed_order(policy):
    text = inspect.getdoc(policy)
    from_a_paper = "Source: Keyhole's own" not in text
    origin = "Departures from the paper:" if from_a_paper else "Source: Keyhole's own"
    places = [text.index(word) for word in (".. math::", "Notes\n", origin, "References\n", ">>> ")]
    assert places == sorted(places)
    assert len(text.splitlines()) <= 40, "move details to the page of the setting"


def told_to_users():
    """Return the changelog, with the fragments that are yet to go into it."""
    pages = [ROOT / "CHANGELOG.md", *(ROOT / "changelog.d").glob("+*.md")]
    return "\n".join(page.read_text() for page in pages)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_says_what_it_hears_draws_and_costs(policy):
    assert list(policy.traits()) == [
        "known quantities", "feedback", "randomness", "cost per round", "pending decisions",
        *(["verdicts"] if policy.verdicts else []),
    ]  # fmt: skip
    if policy.randomness != "none":
        kernels = [getattr(policy, name) for name in ("select", "update", *policy.helpers)]
        assert any("rng" in inspect.signature(kernel).parameters for kernel in kernels)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_is_where_a_reader_looks_for_it(policy):
    named = f"`{policy.__name__}" in told_to_users()
    assert named, f"a fragment in changelog.d must name `{policy.__name__}`"
    benchmark = importlib.import_module(f"benchmarks.{policy.setting.name}")
    assert policy.__name__ in benchmark.POLICIES
    references = (ROOT / "tests" / "reference" / f"{policy.setting.name}.py").read_text()
    assert re.search(rf"\b{policy.__name__}\b", references)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.__name__)
def test_a_policy_is_tested_in_its_setting(policy):
    tests = "".join(p.read_text() for p in (ROOT / "tests" / policy.setting.name).glob("*.py"))
    assert re.search(rf"\b{policy.__name__}\(", tests)


@pytest.mark.parametrize(
    "lists",
    [write_lists.import_lists, write_lists.tables, write_reference.pages, draw_models.pictures],
)
def test_lists_are_current(lists):
    stale = [p.name for p, text in lists().items() if not p.is_file() or p.read_text() != text]
    assert not stale, f"run make lists: {stale}"


def test_every_policy_and_no_former_class_has_a_page_of_the_reference():
    written = set(write_reference.pages())
    assert set(write_reference.REFERENCE.glob("*/*.md")) <= written
    for policy in POLICIES:
        page = write_reference.REFERENCE / policy.setting.name / f"{policy.__name__}.md"
        assert page in written
        assert f".. autoclass:: keyhole.{policy.setting.name}.{policy.__name__}" in page.read_text()


def test_no_class_is_documented_on_two_pages_of_the_reference():
    pages = write_reference.REFERENCE.rglob("*.md")
    names = [n for p in pages for n in re.findall(r"autoclass:: (.*)", p.read_text())]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize("setting_entry", BUILT_IN)
def test_every_policy_in_a_settings_folder_is_listed_by_the_setting(setting_entry):
    files = (ROOT / "src" / "keyhole" / setting_entry / "policies").glob("*.py")
    assert {p.stem for p in files} - {"__init__"} == {
        policy.__module__.rpartition(".")[2]
        for policy in find_setting(setting_entry).policies.values()
    }


@pytest.mark.parametrize("setting_entry", BUILT_IN)
def test_all_settings_have_the_same_files(setting_entry):
    folder = ROOT / "src" / "keyhole" / setting_entry
    for name in (
        "setting.py",
        "policy_base.py",
        "problem.py",
        "environment.py",
        "learner.py",
        "bounds.py",
        "policies/__init__.py",
        "stubs/name.py.tmpl",
        "stubs/test_name.py.tmpl",
        "starters/simulate.toml.tmpl",
        "starters/study.py.tmpl",
    ):
        assert (folder / name).is_file(), name


@pytest.mark.parametrize("setting_entry", BUILT_IN)
def test_a_setting_has_its_pages_tests_and_benchmark(setting_entry):
    for path in (
        f"docs/{setting_entry}.md",
        f"docs/reference/{setting_entry}.md",
        f"tests/reference/{setting_entry}.py",
        f"tests/{setting_entry}/contract_cases.py",
        f"benchmarks/{setting_entry}.py",
    ):
        assert (ROOT / path).is_file(), path
    assert list((ROOT / "tests" / setting_entry).glob("test_*.py"))
    assert f"\n{setting_entry}\n" in (ROOT / "docs/index.md").read_text()
    assert re.search(rf"\b{setting_entry}\b", (ROOT / "README.md").read_text())


@pytest.mark.parametrize("setting_entry", BUILT_IN)
def test_pages_of_settings_have_the_same_sections_in_the_same_order(setting_entry):
    text = (ROOT / "docs" / f"{setting_entry}.md").read_text()
    sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert sections[:7] == [
        "In one picture", "In formulas", "Policies", "Which one?", "What goes wrong", "Metrics",
        "Bounds",
    ]  # fmt: skip
    pictures = re.findall(rf"!\[(.*)\]\(images/model-{setting_entry}\.svg\)", text)
    assert len(pictures) == 1
    assert len(pictures[0]) > 80  # the alternative text says what is to be seen


def test_data_come_with_their_origin_and_licence():
    for folder in (ROOT / "src" / "keyhole" / "data").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert (folder / "README.md").is_file(), folder.name
            assert list(folder.glob("LICENSE-*")), folder.name


@pytest.mark.parametrize("name", [name for name in keyhole.data.__all__ if name.islower()])
def test_a_loader_is_described(name):
    what = re.sub(r"^(load|read|measure)_|_(csv|problem)$", "", name)
    assert re.search(
        rf"\b({name}|{what}(_problem)?)\b", (ROOT / "docs" / "real_data.md").read_text()
    )


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", headings[1])


def test_the_changelog_says_what_users_of_the_last_version_need_and_no_more():
    assert len((ROOT / "CHANGELOG.md").read_text().splitlines()) <= 150


def test_fragments_of_the_changelog_are_named_for_what_gathers_them():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
    assert settings["start_string"] in (ROOT / "CHANGELOG.md").read_text()
    kinds = "|".join(kind["directory"] for kind in settings["type"])
    for file in (ROOT / "changelog.d").iterdir():
        if file.name not in ("README.md", Path(settings["template"]).name):
            assert re.fullmatch(rf"\+[a-z0-9-]+\.({kinds})\.md", file.name), file.name
            assert file.read_text().strip(), file.name


def test_contributing_says_what_ci_runs():
    calls = re.findall(r"^(?:exec )?make (.*)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    words = [word for call in calls for word in call.split()]
    targets = [word for word in words if not word.startswith("-") and "=" not in word]
    said = (ROOT / "CONTRIBUTING.md").read_text().split("`make test-all`")[0]
    assert len(targets) > 4
    assert targets[-2:] == ["test", "test-slow"]  # what `make test-all` runs
    for target in targets:
        assert re.search(rf"^{target}: .*## ", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert f"`make {target}`" in said


def test_every_test_that_contributing_promises_exists():
    promised = re.findall(r"`(test_\w+)`", (ROOT / "CONTRIBUTING.md").read_text())
    assert len(promised) > 12
    tests = "".join(p.read_text() for p in (ROOT / "tests").rglob("test_*.py"))
    for name in promised:
        assert f"def {name}(" in tests, name


def test_tests_on_the_lowest_versions_exist():
    makefile = (ROOT / "Makefile").read_text()
    listed = re.search(r"LOWEST_TESTS := .*?tests/,(.*?)\)", makefile, re.DOTALL)[1]
    paths = listed.replace("\\", "").split()
    assert len(paths) > 4
    assert [path for path in paths if not (ROOT / "tests" / path).exists()] == []


def test_every_decision_is_numbered_and_listed():
    folder = ROOT / "docs" / "decisions"
    names = sorted(path.stem for path in folder.glob("[0-9]*.md"))
    assert [name[:3] for name in names] == [f"{n:03}" for n in range(1, len(names) + 1)]
    assert re.findall(r"^\d.*$", (folder / "index.md").read_text(), re.MULTILINE) == names
    for name in names:
        text = (folder / f"{name}.md").read_text()
        assert text.startswith(f"# {name[:3]}: ")
        assert "**Context.**" in text
        assert "**What would change our mind.**" in text


def test_a_folders_init_defines_nothing():
    for path in SOURCES:
        if path.name == "__init__.py":
            for node in ast.parse(path.read_text()).body:
                assert not isinstance(node, ast.ClassDef), path
                if isinstance(node, ast.FunctionDef):  # names imported when asked for
                    assert node.name in ("__getattr__", "__dir__"), path


def test_the_policy_in_contributing_runs_as_written(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text()
    script = re.search(r"```python\n(import .*?)```", text, re.DOTALL).group(1)
    (tmp_path / "narrowest.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "narrowest.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    ours, theirs = done.stdout.splitlines()
    assert re.fullmatch(r"LSA\(alpha=1\.35\): 0\.\d+ wrong labels, \d+ ns a round", ours)
    assert re.fullmatch(r"Narrowest\(width=0\.7\): \d\.\d+ wrong labels, \d+ ns a round", theirs)


def test_links_between_pages_lead_somewhere():
    own = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    for page in (*own, *ROOT.glob("docs/**/*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), (page, target)


def test_make_targets_named_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in ("README.md", "CONTRIBUTING.md", "docs/releasing.md"):
        for target in re.findall(r"\bmake ([a-z-]+)", (ROOT / page).read_text()):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
