"""Print which tests speak of a source file: `python -m tools.tests_of src/keyhole/tune/tuner.py`.

First come the tests that `tools/mutations.toml` says guard the file, then the test file of the same
name, then those that import its module or name its classes and functions: names that few tests have
count most. Tests that reach a source through other code alone are not found.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
_SOURCES: Final = ROOT / "src" / "keyhole"
_SHOWN: Final = 10
_MOST_NAMES: Final = 5
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def defined_names(path: Path) -> set[str]:
    """Return the public classes, functions and methods of a file."""
    nodes = ast.walk(ast.parse(path.read_text()))
    names = {node.name for node in nodes if isinstance(node, _DEFINITIONS)}
    return {name for name in names if not name.startswith("_")}


def module_name(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    return ".".join(path.relative_to(_SOURCES.parent).with_suffix("").parts)


def guarding_tests(path: Path) -> list[Path]:
    """Return the tests that catch the mutations of a file."""
    mutations = tomllib.loads((ROOT / "tools" / "mutations.toml").read_text())["mutation"]
    source = str(path.relative_to(ROOT))
    names = [test for one in mutations if one["file"] == source for test in one["tests"]]
    return [ROOT / name.partition("::")[0] for name in dict.fromkeys(names)]


def find_tests(path: Path) -> dict[Path, list[str]]:
    """Return the test files that speak of a source file, the best first, with what they name."""
    texts = {test: test.read_text() for test in (ROOT / "tests").rglob("test_*.py")}
    words = {test: set(re.findall(r"\w+", text)) for test, text in texts.items()}
    names = defined_names(path)
    users = {name: sum(name in found for found in words.values()) for name in names}
    module = module_name(path)
    package, _, stem = module.rpartition(".")
    guards = guarding_tests(path)
    scores = {}
    for test, text in texts.items():
        score = sum(1 / users[name] for name in names & words[test])
        score += module in text or f"from {package} import {stem}" in text
        score += 10 * (test.stem == f"test_{stem}") + 100 * (test in guards)
        scores[test] = score
    best = sorted(scores, key=lambda test: (-scores[test], test))
    return {
        test: sorted(names & words[test], key=lambda name: (users[name], name))
        for test in best
        if scores[test] > 0
    }


def main() -> None:
    """Print the test files that speak of the files that are given."""
    for argument in sys.argv[1:]:
        path = Path(argument).resolve()
        if not path.is_relative_to(_SOURCES) or not path.is_file():
            sys.exit(f"{argument} must be a file below src/keyhole")
        tests = find_tests(path)
        if not tests:
            sys.stdout.write("no test names what it defines; see the tests of its package\n")
        for test, names in list(tests.items())[:_SHOWN]:
            shown = ", ".join(names[:_MOST_NAMES])
            sys.stdout.write(f"{test.relative_to(ROOT)}{': ' if shown else ''}{shown}\n")


if __name__ == "__main__":
    main()
