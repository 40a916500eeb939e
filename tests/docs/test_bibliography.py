"""Every entry of the bibliography leads to its source."""

import re
from pathlib import Path

import pytest
from pybtex.database import parse_file

ENTRIES = parse_file(Path(__file__).parents[2] / "docs" / "references.bib").entries


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_a_doi_or_else_a_url(key):
    fields = ENTRIES[key].fields
    if "doi" in fields:
        assert re.fullmatch(r"10\.\d{4,9}/\S+", fields["doi"])
    else:
        assert re.fullmatch(r"https://\S+", fields["url"])
