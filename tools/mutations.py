"""Mutations in ``mutations.toml``, read and applied for ``mutate.py``."""

import ast
import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = Path(__file__).with_name("mutations.toml")
_CONTRACT: Final = "tests/test_policy_contract.py"  # for the policies of all settings


@dataclass(frozen=True)
class Mutation:
    """Mutation: in `file`, the text `old`, which occurs once, is replaced by `new`."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()  # the few that should fail; by default those of `wide`
    keyword: str = ""  # for pytest's option -k, with `tests`
    wide: tuple[str, ...] = ()  # by default the package's tests, and the doctests of the file

    @property
    def package(self) -> str:
        """The package of the file, or the module."""
        return Path(self.file).parts[2].removesuffix(".py")

    @property
    def digest(self) -> str:
        """A digest of all but the name."""
        what = [self.file, self.old, self.new, self.tests, self.keyword, self.wide]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]

    def selection(self, kind: str) -> tuple[str, ...]:
        """Return the paths of tests, of the kind "narrow" or "wide"."""
        if kind == "narrow" and self.tests:
            return self.tests
        wide = self.wide or (f"tests/{self.package}", self.file)
        if any((ROOT / path / "contract_cases.py").is_file() for path in wide):
            return (*wide, _CONTRACT)
        return wide


def read_table(path: Path = TABLE) -> list[Mutation]:
    """Return the mutations, in the order of the file."""
    found = []
    for table in tomllib.loads(path.read_text(encoding="utf-8"))["mutation"]:
        lists = {name: tuple(table.pop(name, ())) for name in ("tests", "wide")}
        found.append(Mutation(**table, **lists))
    return found


def find_file(mutation: Mutation, tree: Path) -> str:
    """Return the file of a tree in which the text occurs once, or "" if there is no single one.

    It is the file that the mutation names, or else, if the code has moved, another source file.
    """
    named = tree / mutation.file
    if named.is_file() and named.read_text(encoding="utf-8").count(mutation.old) == 1:
        return mutation.file
    texts = {path: path.read_text(encoding="utf-8") for path in (tree / "src").rglob("*.py")}
    found = [path for path, text in texts.items() if mutation.old in text]
    if len(found) != 1 or texts[found[0]].count(mutation.old) != 1:
        return ""
    return found[0].relative_to(tree).as_posix()


def apply(mutation: Mutation, text: str) -> str:
    """Return the text of a file with the mutation; it must still be valid Python."""
    broken = text.replace(mutation.old, mutation.new)
    ast.parse(broken)
    return broken
