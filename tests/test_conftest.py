"""How tests run: which of them are interpreted, and with which examples."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import settings

from conftest import SLOW_TESTS
from keyhole.kernels.interpreted_mode import find_interpretation_request
from tests.processes import python

ROOT = Path(__file__).parents[1]

MARKED = '''
import pytest
from keyhole.kernels.interpreted_mode import find_interpretation_request

pytestmark = pytest.mark.interpreted

@pytest.fixture
def found():
    return find_interpretation_request()

def test_marked(found):
    assert found is find_interpretation_request() is {marked}

@pytest.mark.compiled
def test_an_exception(found):
    assert found is find_interpretation_request() is False

def test_with_a_check(only_interpreted):
    from keyhole.testing import policy_checks, interpreter_agreement
    compares = interpreter_agreement.interpreted_and_compiled_agree
    assert (compares in policy_checks.CHECKS) is not {marked}

def example():
    """Tell who runs it.

    >>> find_interpretation_request()
    {marked}
    """
'''


@pytest.mark.parametrize(("options", "marked"), [([], True), (["--compiled"], False)])
def test_what_is_marked_is_interpreted_unless_all_is_to_be_compiled(options, marked, tmp_path):
    path = tmp_path / "test_marks.py"
    path.write_text(MARKED.format(marked=marked))
    ini = f"--config-file={ROOT / 'pyproject.toml'}"
    plugins = ["-p", "conftest", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    env = os.environ | {"KEYHOLE_INTERPRET": "0"}
    done = python("-m", "pytest", "-q", ini, *plugins, *options, path, cwd=ROOT, env=env)
    assert done.stdout.splitlines()[-1].startswith("4 passed"), done.stdout


LISTS = """
import pytest

@pytest.mark.parametrize("number", range(9))
def test_many(number):
    assert number in ({many})

@pytest.mark.few(2)
@pytest.mark.parametrize("number", [*range(8), pytest.param(8, marks=pytest.mark.slow)])
def test_as_many_as_it_says(number):
    assert number in ({few})

@pytest.mark.parametrize("number", range(4))
def test_not_many(number):
    pass
"""


@pytest.mark.parametrize(
    ("name", "options", "passed", "many", "few"),
    [
        ("", [], 9, "0, 4, 8", "0, 7"),
        ("", ["-m", "slow"], 13, "1, 2, 3, 5, 6, 7", "1, 2, 3, 4, 5, 6, 8"),
        ("test_lists.py", [], 21, "*range(9),", "*range(8),"),  # a file that is named has all
    ],
)
def test_of_a_long_list_of_parameters_some_are_slow(name, options, passed, many, few, tmp_path):
    (tmp_path / "test_lists.py").write_text(LISTS.format(many=many, few=few))
    ini = f"--config-file={ROOT / 'pyproject.toml'}"
    plugins = ["-p", "conftest", "-p", "no:cacheprovider"]
    done = python("-m", "pytest", "-q", ini, *plugins, *options, tmp_path / name, cwd=ROOT)
    assert done.stdout.splitlines()[-1].startswith(f"{passed} passed"), done.stdout


def test_there_are_no_examples_in_docstrings_of_tests_which_nobody_would_run():
    others = (path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    assert not [path for path in others if re.search(r"^\s*>>> ", path.read_text(), re.M)]


@pytest.mark.interpreted
def test_this_one_is_interpreted(request):
    assert find_interpretation_request() is not request.config.getoption("--compiled")


def test_what_is_not_marked_is_compiled_unless_the_environment_says_otherwise():
    assert find_interpretation_request() is (os.environ["KEYHOLE_INTERPRET"] == "1")


def test_every_run_has_the_same_examples(request):
    if request.config.getoption("--hypothesis-profile", None) in (None, "keyhole"):
        assert settings.default.derandomize


def test_what_is_said_to_be_slow_is_there():
    for prefix in SLOW_TESTS:
        path, _, name = prefix.partition("::")
        assert (ROOT / path).exists(), prefix
        assert not name or f"def {name}" in (ROOT / path).read_text(), prefix
