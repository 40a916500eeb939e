from keyhole.papers.sections import Claims, Summary, by_origin
from keyhole.papers.verdicts import Verdict
from keyhole.results.html import render
from tests.html import parse


def verdict(text, status="holds", **more):
    fields = {"source": "here.", "origin": "ours", "detail": "1", "id": f"mine/{len(text)}"} | more
    return Verdict(text=text, status=status, **fields)


def shown(block):
    return parse(render(block.template, block=block))


def test_the_summary_says_what_became_of_all_claims_and_leads_to_those_that_fail():
    found = [verdict("It is"), verdict("It is not", "does not hold"), verdict("It was")]
    page = shown(Summary(found, "2 of 3 entries, "))
    assert page.words() == (
        "2 of 3 entries, 3 claims: 2 hold, 0 undecided, 1 do not hold. 1 do not hold 9"
    )
    assert [one.attrs["href"] for one in page.all("a")] == ["#mine/9"]


def test_claims_of_several_entries_are_named_in_full():
    found = [verdict("It is", "undecided", id="a/1"), verdict("It is", "undecided", id="b/1")]
    assert [one.words() for one in shown(Summary(found)).all("a")] == ["a/1", "b/1"]


def test_the_summary_leads_to_every_claim_that_fails_however_many():
    found = [verdict("It is", "undecided", id=f"{e}/{i}") for e in "ab" for i in range(1, 21)]
    links = [one.attrs["href"] for one in shown(Summary(found)).all("a")]
    assert links == [f"#{one.id}" for one in found]


def test_claims_are_counted_by_who_makes_them():
    found = [
        verdict("It is"),
        verdict("It is not", "does not hold"),
        verdict("It was", "undecided", origin="paper"),
    ]
    table = by_origin(found)
    assert table.head == ["origin", "claims", "hold", "undecided", "do not hold"]
    assert table.rows == [["paper", "1", "0", "1", "0"], ["ours", "2", "1", "0", "1"]]


def test_a_claim_stands_with_its_verdict_and_what_was_found():
    page = shown(Claims([verdict("LSA <best>", "does not hold", detail="0.1 & more")]))
    (one,) = page.all("li")
    assert one.words() == "LSA <best> ours: here. does not hold (10) 0.1 & more"
    assert one.all("span")[0].attrs["class"] == "verdict does-not-hold"


def test_one_claim_about_several_problems_stands_once_with_a_mark_for_each():
    statuses = ["holds", "undecided", "holds"]
    one = [
        verdict("So it is", status, about=f"P{i}", detail=f"found {i}", id=f"mine/{i}")
        for i, status in enumerate(statuses)
    ]
    page = shown(Claims([one[0], verdict("Or not", about="P9"), *one[1:]]))
    group, other = page.all("li")
    assert group.words().count("So it is") == 1
    marks = group.all("details")
    assert [mark.all("summary")[0].words() for mark in marks] == [
        f"{status} P{i} ({i})" for i, status in enumerate(statuses)
    ]
    assert [mark.all("p")[0].words() for mark in marks] == ["found 0", "found 1", "found 2"]
    assert ["open" in mark.attrs for mark in marks] == [False, True, False]
    assert other.words().endswith("holds P9 (6) 1")
