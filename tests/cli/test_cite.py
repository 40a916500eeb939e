import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from keyhole.cli.cite import RELEASED, bibliography
from keyhole.papers.entry_files import PAPERS
from tests.papers.test_paper_coverage import plain

CITATION = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text())

# Of the schema of the Citation File Format 1.2.0 what concerns the fields that the file has.
TEXT = {"type": "string", "minLength": 1}
PERSON = {
    "type": "object",
    "properties": {"family-names": TEXT, "given-names": TEXT},
    "additionalProperties": False,
}
ENTITY = {
    "type": "object",
    "properties": {"name": TEXT},
    "required": ["name"],
    "additionalProperties": False,
}
AUTHORS = {"type": "array", "items": {"anyOf": [PERSON, ENTITY]}, "minItems": 1}
REFERENCE = {
    "type": "object",
    "properties": {
        "type": {"enum": ["article", "conference-paper"]},
        "title": TEXT,
        "authors": AUTHORS,
        "collection-title": TEXT,
        "journal": TEXT,
        "volume": {"type": ["integer", "string"]},
        "year": {"type": ["integer", "string"]},
        "doi": {"type": "string", "pattern": r"^10\.\d{4,9}/[A-Za-z0-9:/_;\-.()]+$"},
        "url": {"type": "string", "pattern": "^(https|http|ftp|sftp)://.+"},
    },
    "required": ["authors", "title", "type"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": TEXT,
        "title": TEXT,
        "abstract": TEXT,
        "type": {"enum": ["software", "dataset"]},
        "authors": AUTHORS,
        "version": {"type": ["string", "number"]},
        "date-released": {"type": "string", "pattern": r"^\d{4}-(0[1-9]|1[0-2])-[0-3]\d$"},
        "license": {"const": "BSD-3-Clause"},
        "keywords": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
        "references": {"type": "array", "items": REFERENCE, "minItems": 1, "uniqueItems": True},
    },
    "required": ["authors", "cff-version", "message", "title"],
    "additionalProperties": False,
}


def test_the_citation_file_is_valid_and_has_the_five_papers():
    jsonschema.validate(CITATION, SCHEMA)
    licence = (Path(__file__).parents[2] / "LICENSE").read_text()
    assert CITATION["authors"][0]["name"] in licence
    entries = [plain(bibliography()[paper]) for paper in PAPERS]
    for reference, entry in zip(CITATION["references"], entries, strict=True):
        names = [f"{x['family-names']}, {x['given-names']}" for x in reference["authors"]]
        assert f"author = {plain(' and '.join(names))}" in entry
        assert plain(reference["title"]) in entry
        assert str(reference["year"]) in entry
        assert reference.get("doi", reference.get("url")) in entry


def test_keyhole_is_cited_as_its_file_says(keyhole):
    code, out, _ = keyhole("cite")
    assert code == 0
    assert out.startswith("@misc{keyhole,")
    assert f"note = {{Version {CITATION['version']}}}" in out
    assert CITATION["date-released"] == RELEASED
    assert f"## {CITATION['version']} ({RELEASED})" in Path("CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("LSA", ["tao2019"]),
        ("TopTwoThompson", ["russo2020", "jourdan2022"]),
        ("tao2019-setup1", ["tao2019"]),
        ("pikeburke2018", ["pikeburke2018"]),
        ("bluebirds", ["welinder2010"]),
        ("crime", ["ashby2019"]),
        ("nycflights13", ["keyhole"]),
    ],
)
def test_the_works_that_a_name_rests_on_are_printed(keyhole, name, keys):
    code, out, _ = keyhole("cite", name)
    assert code == 0
    assert sorted(re.findall(r"^@\w+{(\w+),", out, re.MULTILINE)) == sorted(keys)
    assert list(json.loads(keyhole("cite", name, "--json")[1])) == re.findall(r"@\w+{(\w+),", out)


def test_an_unknown_name_is_refused_with_the_nearest(keyhole):
    code, out, err = keyhole("cite", "tao2019-setup-1")
    assert (code, out) == (2, "")
    assert "NAME must be one of" in err
    assert "did you mean 'tao2019-setup1'?" in err
    assert len(err.splitlines()) == 1
