"""Words that were given up do not come back: each has a standard word that stands for it."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORDS = tomllib.loads((ROOT / "tests" / "given_up_words.toml").read_text())["word"]
PLACES = ("src", "docs", "tests", "benchmarks", "examples", "tools", ".ci")
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "pyproject.toml")
KINDS = {".py", ".md", ".toml", ".j2", ".tmpl", ".css", ".js"}


@cache
def texts():
    """Return the text of each file and that in small letters, by its path from the root."""
    found = read_all()
    return {path: (it, it.lower()) for path, it in found if path != "tests/given_up_words.toml"}


def read_all():
    inside = (path for place in PLACES for path in (ROOT / place).rglob("*"))
    for path in [*inside, *(ROOT / page for page in PAGES)]:
        built = {"_build", "__pycache__", "saved"} & set(path.parts)
        if path.is_file() and not built and (path.suffix in KINDS or path.parent == ROOT):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def found(word, text):
    """Return the lines with a word, alone or within a name, that no phrase allows."""
    forms = word["forms"]
    alone, within = (
        rf"(?<![A-Za-z])(?i:{forms})(?![a-z])",
        rf"(?<=[a-z])(?:{forms.title()})(?![a-z])",
    )
    pattern = re.compile(f"{alone}|{within}")
    phrases = re.compile("|".join(word.get("phrases", ["(?!)"])))
    return [
        f"{number}: {line.strip()}"
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(phrases.sub("", line))
    ]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word["say"])
def test_no_file_says_it(word):
    lines = [
        f"{path}:{line}"
        for path, (text, small) in texts().items()
        if path not in word.get("files", {}) and re.search(word["forms"], small)
        for line in found(word, text)
    ]
    assert not lines, f"say {word['say']!r}:\n" + "\n".join(lines)
