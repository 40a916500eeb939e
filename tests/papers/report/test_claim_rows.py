from dataclasses import replace

import pytest

from keyhole.pages.page import render_template
from keyhole.papers.report.claim_rows import claim_rows, claim_rows_block
from keyhole.papers.report.judged_entry import RunsToDecide, runs_to_decide
from keyhole.papers.verdicts import Number, Verdict
from tests.html import parse


def verdict(text, status="holds", **more):
    fields = {
        "source": "here.", "origin": "paper", "detail": "found & so", "id": f"tiny/{text}",
        "metric": "aggregate_regret", "replications": 40,
    } | more  # fmt: skip
    return Verdict(text=text, status=status, **fields)


@pytest.fixture
def part(reproduced):
    return reproduced.parts[0]


def shown(part, *verdicts, known=(), most=7, on_page=("tiny",)):
    by_id = {one.id: one for one in (*verdicts, *known)}
    block = claim_rows_block("The paper says", claim_rows(part, verdicts, by_id, on_page), most)
    return parse(render_template(block.template, block=block))


def rows(page):
    return [one for one in page.all("li") if one.all("summary")]


def test_a_row_has_a_mark_few_words_and_the_deciding_number(part):
    number = Number("mean", 1.0, 0.5, 1.5, 0.2, at_least=0.75)
    page = shown(part, verdict("A long text", short="It <is>", numbers=(number,)))
    (row,) = rows(page)
    assert row.all("summary")[0].words().startswith("holds It <is>")
    assert [small.words() for small in row.all("small")[:2]] == ["1.00", "at least 0.75"]
    (strip,) = [one for one in row.all("span") if one.attrs.get("role") == "img"]
    assert strip.attrs["aria-label"] == "mean: 1.00 [0.50, 1.50] (claimed: at least 0.75; p = 0.2)"
    assert "A long text" in row.words()
    assert "found & so" in row.words()
    assert row.all("details")[0].attrs["id"] == "tiny/A long text"


def test_all_numbers_are_shown_on_demand(part):
    numbers = tuple(Number(f"n{i}", i, i - 0.5, i + 0.5, None, at_least=0.0) for i in range(1, 4))
    page = shown(part, verdict("So", numbers=numbers))
    assert "Drawn: of 3 numbers, the one nearest to an end of its claimed range" in page.words()
    (row,) = rows(page)
    assert [one.words()[:3] for one in row.all("li")] == ["n1:", "n2:", "n3:"]


def test_a_statement_about_several_problems_is_one_row(part):
    statuses = ["holds", "undecided", "holds"]
    same = [verdict("So", one, about=f"P{i}", id=f"tiny/{i}") for i, one in enumerate(statuses)]
    page = shown(part, *same, verdict("Other"))
    first, other = rows(page)
    assert first.all("summary")[0].words() == "undecided So 2 hold, 1 is open"
    assert [one.attrs["id"] for one in first.all("div")] == ["tiny/0", "tiny/1", "tiny/2"]
    assert other.all("summary")[0].words() == "holds Other"


def test_of_many_rows_those_that_hold_are_folded(part):
    statuses = ["holds"] * 4 + ["undecided", "does not hold"]
    page = shown(part, *(verdict(f"C{i}", one) for i, one in enumerate(statuses)), most=3)
    words = [row.all("summary")[0].words() for row in rows(page)]
    assert words == [
        "does not hold C5", "undecided C4", "holds C0", "holds C1", "holds C2", "holds C3",
    ]  # fmt: skip
    (folded,) = [one for one in page.all("details") if one.attrs.get("class") == "more-claims"]
    assert folded.all("summary")[0].words() == "3 more: 3 hold"
    few = shown(part, *(verdict(f"C{i}", one) for i, one in enumerate(statuses)))
    assert [row.all("summary")[0].words() for row in rows(few)][:2] == ["holds C0", "holds C1"]


def test_a_verdict_of_more_runs_on_another_page_is_linked_beside_the_mark(part):
    few = verdict("So", same_as=("tao2019-setup1/1",))
    many = replace(few, id="tao2019-setup1/1", status="does not hold", replications=40_000)
    page = shown(part, few, known=[many])
    assert {one.attrs["href"] for one in page.all("a")} == {
        "../tao2019-setup1/report.html#tao2019-setup1/1"
    }
    (beside,) = [one for one in page.all("p") if one.attrs.get("class") == "beside-claim"]
    assert beside.words() == "in 40,000 runs it does not hold"
    page = shown(part, few, known=[many], on_page=("tiny", "tao2019-setup1"))
    assert {one.attrs["href"] for one in page.all("a")} == {"#tao2019-setup1/1"}
    page = shown(part, replace(many, same_as=(few.id,)), known=[few])
    assert not [one for one in page.all("p") if one.attrs.get("class") == "beside-claim"]
    assert "tiny/So judges the same statement: in 40 runs it holds." in page.words()


def test_an_entry_that_has_not_been_run_is_named_with_its_command(part):
    page = shown(part, verdict("So", same_as=("tao2019-setup1-long/1",)))
    # Among the details: beside a claim that holds it would read as a doubt.
    assert not [one for one in page.all("p") if one.attrs.get("class") == "beside-claim"]
    assert (
        "tao2019-setup1-long/1 judges the same statement: not run yet; in 40,000 runs, by keyhole "
        "reproduce tao2019-setup1-long --scale quick" in page.words()
    )


def test_an_open_claim_says_how_many_runs_would_decide_it_and_their_command(part):
    page = shown(part, verdict("So", "undecided", needed=78))
    (beside,) = [one for one in page.all("p") if one.attrs.get("class") == "beside-claim"]
    assert beside.words() == "78 runs needed, 40 played: --scale paper"
    assert "78 runs needed, 40 played: keyhole reproduce tiny.toml --scale paper" in page.words()


def test_the_option_for_more_runs_is_said_once(part):
    page = shown(part, *(verdict(f"C{i}", "undecided", needed=78) for i in range(3)))
    beside = [one.words() for one in page.all("p") if one.attrs.get("class") == "beside-claim"]
    assert [": --scale paper" in words for words in beside] == [True, False, False]


def test_claims_of_the_same_few_words_share_a_row(part):
    page = shown(part, verdict("Read so", short="S"), verdict("Or so", "undecided", short="S"))
    (row,) = rows(page)
    assert row.all("summary")[0].words() == "undecided S 1 holds, 1 is open"
    assert "Read so" in row.words()
    assert "Or so" in row.words()


def test_more_runs_are_played_by_a_command(part):
    command = "keyhole reproduce tiny.toml --scale paper"
    found = runs_to_decide(part, verdict("So", "undecided", needed=78))
    assert found == RunsToDecide("78 runs needed, 40 played", command)
    found = runs_to_decide(part, verdict("So", "undecided", needed=1234))
    assert found == RunsToDecide("1,200 runs needed, 40 played, 80 with", command)
    assert runs_to_decide(part, verdict("So", "undecided")) is None


def test_where_no_scale_has_as_many_runs_it_says_what_to_do(part):
    found = runs_to_decide(
        replace(part, scale="paper"), verdict("So", "undecided", needed=500, replications=80)
    )
    assert found == RunsToDecide(
        "500 runs needed, 80 played; raise the replications in a copy of the entry's file"
    )
