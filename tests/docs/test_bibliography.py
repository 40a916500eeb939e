"""The bibliography has every work that a docstring names, and each leads to its source."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from pybtex.database import parse_file

from keyhole.cli.cite import bibliography, cited_keys
from keyhole.experiment.setting_registry import all_settings

SOURCES = Path(__file__).parents[2] / "src" / "keyhole"
ENTRIES = parse_file(SOURCES / "references.bib").entries

_NAME = r"(?:[Dd]e |Van )?[A-Z][a-z][\w-]*"
_NAMES = rf"{_NAME}(?:(?:, | and ){_NAME}| et al\.)*"
_CITATION = re.compile(rf"({_NAMES}(?:'s)?,? \(?(?:19|20)\d\d[ab]?)\b")


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_a_doi_or_else_a_url(key):
    fields = ENTRIES[key].fields
    if "doi" in fields:
        assert re.fullmatch(r"10\.\d{4,9}/\S+", fields["doi"])
    elif ENTRIES[key].type == "book" and "url" not in fields:
        assert fields["publisher"]  # a printed book, which libraries have
    else:
        assert re.fullmatch(r"https://\S+", fields["url"])


def test_every_work_that_a_docstring_names_is_listed():
    missing = set()
    count = 0
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                citations = _CITATION.findall(text)
                count += len(citations)
                missing |= {(path.name, words) for words in citations if not cited_keys(words)}
    assert not missing
    assert count > 100


def test_the_bibliography_is_read_whole():
    assert list(bibliography()) == list(ENTRIES)


def test_every_policy_with_references_is_cited_by_them():
    policies = [p for setting in all_settings() for p in setting.policies.values()]
    texts = {policy.__name__: inspect.getdoc(policy) for policy in policies}
    with_references = {name: text for name, text in texts.items() if "\nReferences\n" in text}
    assert len(with_references) > 40
    assert [name for name, text in with_references.items() if not cited_keys(text)] == []
