"""A hit of the search in the index leads to the heading, and not to the line below it."""

import pytest

from tests.docs.loaded_extension import load_extension

nodes = pytest.importorskip("docutils.nodes")
sphinx_nodes = pytest.importorskip("sphinx.addnodes")
utils = pytest.importorskip("docutils.utils")


@pytest.fixture(scope="module")
def extension():
    return load_extension("index_anchors")


def index(name, anchor):
    """Return the nodes of an ``index`` directive."""
    entries = [("single", name, anchor, "main", None)]
    return sphinx_nodes.index(entries=entries), nodes.target(ids=[anchor])


def test_entries_below_a_heading_lead_to_it_and_others_stay(extension):
    document = utils.new_document("page")
    document += nodes.section(
        "",
        nodes.title(text="Stopping"),
        *index("sample size", "index-0"),
        *index("when to stop", "index-1"),
        nodes.paragraph(text="A paragraph."),
        *index("budget", "index-2"),
        ids=["stopping"],
    )
    extension.LeadToHeadings(document).apply()
    entries = [one["entries"][0] for one in document.findall(sphinx_nodes.index)]
    assert entries == [
        ("single", "sample size", "stopping", "main", None),
        ("single", "when to stop", "stopping", "main", None),
        ("single", "budget", "index-2", "main", None),
    ]
    assert [one["ids"] for one in document.findall(nodes.target)] == [["index-2"]]
