import pytest
from pydantic import ValidationError

from keyhole.papers import ENTRY_FILES, Entry
from keyhole.papers.entry import PublishedValues
from tests.papers.conftest import entry_of
from tests.papers.made_up import result

METRIC = "aggregate_regret"


def test_published_values_are_shown_beside_ours():
    curves = result({"us": [1, 2], "them": [3, 4]}).curves
    printed = PublishedValues(source="Table 1.", values={"p": {"us": 2.1, "them": 4.25}})
    table = printed.table({"p": "Easy"}, {"p": curves}, METRIC)
    assert table.caption == "aggregate regret: Table 1."
    assert table.rows == [
        ["Easy: us", "20", "2.10", str(curves.estimates("us", METRIC)[-1])],
        ["Easy: them", "20", "4.25", str(curves.estimates("them", METRIC)[-1])],
    ]


def test_values_may_be_published_for_several_rounds():
    curves = result({"us": [1, 2]}).curves
    printed = PublishedValues(
        source="Table 1.", rounds=[10, 20], values={"p": {"us": [100.0, 200.0]}}
    )
    rows = printed.table({"p": "Easy"}, {"p": curves}, METRIC).rows
    assert [row[1:3] for row in rows] == [["10", "100"], ["20", "200"]]


def test_there_is_one_number_for_each_round():
    with pytest.raises(ValidationError, match=r"values\.p\.us must have one number for each round"):
        PublishedValues(source="Table 1.", rounds=[10, 20], values={"p": {"us": 1.0}})


def test_published_values_are_kept_only_if_all_their_problems_are():
    entry = Entry.load("verma2019-figure1")
    assert len(entry.published) == 1
    assert entry.with_problems("as-plotted-q3").published == []


@pytest.mark.parametrize("name", ENTRY_FILES)
def test_published_values_name_existing_problems_and_policies(name):
    entry = entry_of(name)
    for printed in entry.published:
        labels = {policy["label"] for policy in entry.policies}
        assert printed.source.endswith(".")
        for problem, means in printed.values.items():
            assert means.keys() <= set(entry.problems[problem].policies or labels)
