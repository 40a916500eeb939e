"""Type checkers accept what users read and write, and refuse what would fail."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.experiment import setting_registry

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
GUIDE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Keyhole itself is allowed decorators without types, of other packages: programs are not.
STRICT = "\n# mypy: disallow-untyped-decorators\n"
# Seconds for mypy, and for the test that waits for it first, on a machine with much else to do.
LIMIT = 1200
pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT + 60)]


def blocks_of(text):
    """Yield the programs in a file: each block, and all lines at the prompt together."""
    yield "".join(example.source for example in doctest.DocTestParser().get_examples(text))
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if not block.startswith(">>>"):
            yield block


def refused_in(output, name):
    """Return the lines of a file that mypy refuses, with what it says."""
    found = re.findall(rf"^{re.escape(name)}:(\d+): error: (.*)$", output, re.MULTILINE)
    return {int(line): words for line, words in found}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """Return what mypy says of all programs."""
    folder = tmp_path_factory.mktemp("programs")
    for path in GUIDE:
        for i, block in enumerate(blocks_of(path.read_text())):
            (folder / f"{path.stem.lower()}_{i}.py").write_text(block + STRICT)
    for name in ("right.py", "wrong.py"):
        (folder / name).write_text((HERE / name).read_text() + STRICT)
    # With the settings of `make lint`, so that mypy takes from its cache what it found out there.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *sorted(folder.glob("*.py"))],
        cwd=ROOT,
        env={"PATH": ""},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1, done.stderr  # of `wrong.py`
    return re.sub(rf"^.*/{re.escape(folder.name)}/", "", done.stdout, flags=re.MULTILINE)


def test_programs_of_the_readme_and_the_guide_are_accepted(complaints):
    lines = complaints.splitlines()
    assert "\n".join(line for line in lines if not line.startswith(("wrong.py", "Found"))) == ""


def test_programs_that_would_fail_are_refused(complaints):
    source = (HERE / "wrong.py").read_text().splitlines()
    expected = {n for n, line in enumerate(source, start=1) if line.endswith("# refused")}
    assert refused_in(complaints, "wrong.py").keys() == expected


def written_learner(module):
    """Return the arguments, with their defaults, that type checkers see of `Policy.learner`.

    The second overload, for names of arms, and the implementation are left out.
    """
    tree = ast.parse(inspect.getsource(module))
    taken, *_ = [
        function.args
        for kind in tree.body
        if isinstance(kind, ast.ClassDef) and kind.name == "Policy"
        for branch in kind.body
        if isinstance(branch, ast.If)
        for function in branch.body
        if isinstance(function, ast.FunctionDef) and function.name == "learner"
    ]
    defaults = [
        eval(ast.unparse(default), vars(module)) if default else inspect.Parameter.empty
        for default in taken.kw_defaults
    ]
    return dict(zip((a.arg for a in taken.kwonlyargs), defaults, strict=True))


@pytest.mark.parametrize("name", setting_registry.BUILT_IN)
def test_type_checkers_see_the_arguments_that_a_learner_takes(name):
    policy = next(iter(setting_registry.find_setting(name).policies.values()))
    made = inspect.signature(policy.learner).parameters.values()
    home = next(kind for kind in policy.__mro__ if "learner_class" in vars(kind))
    assert written_learner(inspect.getmodule(home)) == {
        one.name: one.default for one in made if one.name != "self"
    }
