"""The page of several entries names each part once."""

from dataclasses import replace

import pytest

from keyhole.papers.report.reproduction_page import write_reproduction_page
from tests.html import parse


@pytest.fixture
def two(reproduced):
    (part,) = reproduced.parts
    names = {"name": "other", "title": "Another entry"}
    return [part, replace(part, entry=part.entry.model_copy(update=names))]


def headings(folder, parts):
    page = parse(write_reproduction_page(folder, parts, {}).read_text())
    return [heading.words() for heading in page.all("h2")]


def test_headings_name_the_entry_where_several_would_be_the_same(tmp_path, two):
    found = headings(tmp_path, two)
    names = [part.entry.name for part in two]
    assert [one for one in found if one.startswith("Tables")] == [f"Tables: {n}" for n in names]
    assert len(set(found)) == len(found)


def test_headings_of_one_entry_stay_short(tmp_path, two):
    assert "Tables" in headings(tmp_path, two[:1])
