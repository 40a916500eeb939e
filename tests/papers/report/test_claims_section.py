from keyhole.pages.templating import render
from keyhole.papers.report.claims_section import ClaimsSection, ClaimsSummary, origin_table
from keyhole.papers.report.shared_claims import repeated_verdicts
from keyhole.papers.verdicts import Verdict, one_per_statement
from tests.html import parse


def verdict(text, status="holds", **more):
    fields = {"source": "here.", "origin": "ours", "detail": "1", "id": f"mine/{len(text)}"} | more
    return Verdict(text=text, status=status, **fields)


def shown(block):
    return parse(render(block.template, block=block))


def test_the_summary_counts_all_claims_and_links_to_those_that_fail():
    found = [verdict("It is"), verdict("It is not", "does not hold"), verdict("It was")]
    page = shown(ClaimsSummary(found, "2 of 3 entries, "))
    assert page.words() == (
        "2 of 3 entries, 3 checks of Keyhole's own: 2 hold, 0 undecided, 1 do not hold. "
        "1 do not hold 9 It is not"
    )
    assert [one.attrs["href"] for one in page.all("a")] == ["#mine/9"]


def test_claims_of_several_entries_are_named_in_full():
    found = [verdict("It is", "undecided", id="a/1"), verdict("It is", "undecided", id="b/1")]
    assert [one.words() for one in shown(ClaimsSummary(found)).all("a")] == ["a/1", "b/1"]


def test_the_summary_links_to_every_claim_that_fails():
    found = [verdict("It is", "undecided", id=f"{e}/{i}") for e in "ab" for i in range(1, 21)]
    links = [one.attrs["href"] for one in shown(ClaimsSummary(found)).all("a")]
    assert links == [f"#{one.id}" for one in found]


def test_claims_are_counted_by_origin():
    found = [
        verdict("It is"),
        verdict("It is not", "does not hold"),
        verdict("It was", "undecided", origin="paper", setup="replica"),
    ]
    table = origin_table(found)
    assert table.head == ["claim", "set-up", "claims", "hold", "undecided", "do not hold"]
    assert table.rows == [
        ["paper", "replica", "1", "0", "1", "0"],
        ["ours", "ours", "2", "1", "0", "1"],
    ]


def test_the_claims_of_papers_are_listed_first():
    found = [
        verdict("It is ours", "does not hold", id="a/1"),
        verdict("On ours", "does not hold", origin="paper", setup="replica", id="a/2"),
        verdict("Theorem", "does not hold", origin="paper, as a bound", setup="any", id="a/3"),
        verdict("Figure", origin="paper", setup="paper", id="a/4"),
    ]
    page = shown(ClaimsSummary(found))
    assert [one.words() for one in page.all("p")] == [
        "2 claims of the papers: 1 hold, 0 undecided, 1 do not hold.",
        "1 claim of the papers on set-ups of ours: 0 hold, 0 undecided, 1 do not hold.",
        "1 check of Keyhole's own: 0 hold, 0 undecided, 1 do not hold.",
    ]
    assert [one.words() for one in page.all("li")] == ["3 Theorem", "2 On ours", "1 It is ours"]


def test_a_repeated_claim_counts_once_by_the_entry_with_more_replications():
    few = verdict("So", "holds", id="a/1", same_as=("b/1",), replications=5000)
    many = verdict("So", "does not hold", id="b/1", same_as=("a/1",), replications=100_000)
    for order in ([few, many], [many, few]):
        (line,) = shown(ClaimsSummary(order)).all("p")
        assert line.words() == ("1 check of Keyhole's own: 0 hold, 0 undecided, 1 do not hold.")
    assert len(one_per_statement([few])) == 1


def test_verdicts_on_a_repeated_claim_link_to_each_other_with_their_replications():
    few = verdict("So", "holds", id="a/1", same_as=("b/1",), replications=5000)
    many = verdict("So", "does not hold", id="b/1", same_as=("a/1",), replications=100_000)
    both = {"a/1": few, "b/1": many}
    page = shown(ClaimsSection([few, many], repeated_verdicts([few, many], "paper", both)))
    assert [one.attrs["href"] for one in page.all("a")] == ["#b/1", "#a/1"]
    text = page.words()
    assert "b/1 (100,000 replications, more than the 5,000 here; does not hold)" in text
    assert "a/1 (5,000 replications, fewer than the 100,000 here; holds)" in text


def test_a_repeated_claim_of_an_entry_that_is_not_run_has_its_replications():
    name = "tao2019-setup1-long"
    few = verdict("So", id="tao2019-setup1/1", same_as=(f"{name}/1",), replications=5000)
    page = shown(ClaimsSection([few], repeated_verdicts([few], "paper", {})))
    assert f"{name}/1 (400,000 replications, more than the 5,000 here)" in page.words()
    assert page.all("a") == []
    page = shown(ClaimsSection([few], repeated_verdicts([few], "paper", {}, "../")))
    assert [one.attrs["href"] for one in page.all("a")] == [f"../{name}/report.html#{name}/1"]


def test_an_undecided_claim_says_how_many_replications_would_decide_it():
    open_ = verdict("So", "undecided", id="a/1", replications=200, needed=1234)
    (text,) = [one.words() for one in shown(ClaimsSection([open_], largest={"a": 5000})).all("p")][
        -1:
    ]
    assert text == (
        "About 1,200 replications would decide it, if the numbers stay where they are; there were "
        "200, and there are 5,000 with --scale paper."
    )
    (text,) = [one.words() for one in shown(ClaimsSection([open_])).all("p")][-1:]
    assert text.endswith("there were 200.")


def test_a_claim_is_shown_with_its_verdict_and_explanation():
    page = shown(ClaimsSection([verdict("LSA <best>", "does not hold", detail="0.1 & more")]))
    (one,) = page.all("li")
    assert (
        one.words()
        == "LSA <best> ours; our set-up: here. does not hold (10, our set-up) 0.1 & more"
    )
    assert one.all("span")[0].attrs["class"] == "verdict does-not-hold"


def test_a_claim_about_several_problems_is_listed_once_with_a_verdict_for_each():
    statuses = ["holds", "undecided", "holds"]
    one = [
        verdict("So it is", status, about=f"P{i}", detail=f"found {i}", id=f"mine/{i}")
        for i, status in enumerate(statuses)
    ]
    page = shown(ClaimsSection([one[0], verdict("Or not", about="P9"), *one[1:]]))
    group, other = page.all("li")
    assert group.words().count("So it is") == 1
    marks = group.all("details")
    assert [mark.all("summary")[0].words() for mark in marks] == [
        f"{status} P{i} ({i}, our set-up)" for i, status in enumerate(statuses)
    ]
    assert [mark.all("p")[0].words() for mark in marks] == ["found 0", "found 1", "found 2"]
    assert ["open" in mark.attrs for mark in marks] == [False, True, False]
    assert other.words().endswith("holds P9 (6, our set-up) 1")
