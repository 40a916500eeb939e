"""The index of all entries, with verdicts that are made up."""

import json
import re
from itertools import cycle
from types import SimpleNamespace

import pytest

from keyhole import Metric
from keyhole.papers import ENTRY_FILES, Entry
from keyhole.papers.report.index_page import write_index
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import Number, Verdict
from tests.html import check_page

MOST_WORDS = 3000
# As many fail as in the runs of the quick scale.
STATUSES = "does not hold", "undecided", *["holds"] * 10


class MadeUpCurves:
    """Curves of which only names and the number of replications are looked at."""

    replications = 10

    def __init__(self, metrics):
        self.metrics = metrics

    def metric(self, name):
        return Metric(name, better="lower", drawn="from 0")


def make_part(entry, statuses=None):
    """Return an entry as if it had been run; of twelve claims ten hold."""
    statuses = statuses or cycle(STATUSES)
    run = SimpleNamespace(curves=MadeUpCurves(entry.metrics), provenance={"seed": 1})
    runs = dict.fromkeys(entry.problems, run)
    number = Number("TS / RCUCB from Independent to Negative", 0.7, 0.6, 0.8, 0.1, at_least=1.0)
    verdicts = tuple(
        Verdict(
            text=claim.text, short=claim.short, source=claim.source, origin=claim.origin,
            setup=claim.setup, status=next(statuses), detail="found", metric="m",
            numbers=(number,), about=entry.problems[claim.problem_keys[0]].title, id=claim.id,
            same_as=claim.same_as, replications=entry.scales["quick"].replications, needed=20,
        )
        for claim in entry.claims
    )  # fmt: skip
    return JudgedEntry(entry, "quick", runs, verdicts)


@pytest.fixture(scope="module")
def entries():
    return [Entry.load(name) for name in ENTRY_FILES]


@pytest.fixture(scope="module")
def made(entries, tmp_path_factory):
    """Return the text of the index of all entries, and their verdicts."""
    statuses = cycle(STATUSES)
    parts = [make_part(entry, statuses) for entry in entries]
    index, _ = write_index(tmp_path_factory.mktemp("index"), "quick", entries, parts)
    return index, [verdict for part in parts for verdict in part.verdicts]


@pytest.fixture(scope="module")
def page(made):
    return check_page(made[0].read_text())


def square_links(page):
    return [one for one in page.all("a") if "square" in one.attrs.get("class", "")]


def test_the_page_of_all_entries_is_short(made, page):
    assert len(ENTRY_FILES) > 50
    (main,) = page.all("main")
    assert len(re.findall(r"\S*\w\S*", main.text)) < MOST_WORDS
    assert made[0].stat().st_size < 500_000


def test_each_statement_is_one_square_that_links_to_its_claim(made, page):
    ids = {verdict.id for verdict in made[1]}
    same = {verdict.id: {verdict.id, *verdict.same_as} & ids for verdict in made[1]}
    links = [one.attrs["href"] for one in square_links(page)]
    linked = [link.partition("#")[2] for link in links]
    assert all(link.startswith(f"entries/{id.partition('/')[0]}/report.html#") for link, id in zip(
        links, linked, strict=True
    ))  # fmt: skip
    assert len(linked) == len(set(linked))
    assert all(len(same[id] & set(linked)) == 1 for id in ids)


def test_the_answer_counts_the_papers_claims_on_their_set_ups_alone(page):
    bars, *_ = [one for one in page.all("figure") if "claim-bars" in one.attrs["class"]]
    marks = [one.attrs["class"] for one in square_links(bars)]
    hold, unmet = (marks.count(f"square {status}") for status in ("holds", "does-not-hold"))
    answer = next(one for one in page.all("p") if one.attrs.get("class") == "answer").words()
    assert answer == (
        f"The papers' {len(marks)} claims on their set-ups: {hold} hold, "
        f"{len(marks) - hold - unmet} are open, {unmet} do not hold."
    )


def test_a_square_is_named_by_verdict_problem_and_claim(page):
    (one,) = [one for one in square_links(page) if one.attrs["href"].endswith("#tao2019-setup1/3")]
    assert one.attrs["aria-label"] == one.attrs["title"]
    short = Entry.load("tao2019-setup1").claims[2].short
    assert (
        one.attrs["title"]
        == f"Holds. Set-up 1: {short or Entry.load('tao2019-setup1').claims[2].text}"
    )


def test_what_does_not_hold_is_listed_in_the_papers_words_with_numbers(made, page):
    lists = [one for one in page.all("ul") if one.attrs.get("class") == "unmet"]
    text = " ".join(one.words() for one in lists)
    strips = [one for one in lists[0].all("span") if one.attrs.get("role") == "img"]
    assert len(lists) == 2
    assert len(strips) == len([one for one in lists[0].all("li")])
    first = next(
        one for one in made[1]
        if one.status == "does not hold" and one.origin == "paper" == one.setup and not one.same_as
    )  # fmt: skip
    assert first.text in text
    assert "TS / RCUCB from Independent to Negative: 0.70\N{NO-BREAK SPACE}[0.60" in lists[0].text
    assert "not at least 1" in text
    assert "with --scale paper" in text


def test_figures_are_framed_by_the_answer_and_link_to_their_entry(page, entries):
    (gallery,) = [one for one in page.all("ul") if one.attrs.get("class") == "gallery"]
    tiles = [one for one in gallery.inner if one.tag == "li"]
    assert [one.all("a")[0].attrs["href"] for one in tiles] == [
        f"entries/{name}/report.html" for name in ENTRY_FILES
    ]
    assert {one.attrs["class"] for one in tiles} >= {"holds-frame", "no-claim-frame"}
    for tile, entry in zip(tiles, entries, strict=True):
        assert entry.heading in tile.words()
        assert all(image.attrs["loading"] == "lazy" for image in tile.all("img"))


def test_what_is_not_covered_is_there_with_the_reason(page):
    assert "It is an order in the budget, with a constant that is not given." in page.text


def test_one_paper_is_shown_alone(entries, tmp_path):
    parts = [make_part(entry) for entry in entries if entry.paper == "tao2019"]
    index, claims = write_index(tmp_path, "quick", entries, parts[1:])
    page = check_page(index.read_text())
    assert f"Quick scale, {len(parts) - 1} of {len(entries)} entries run." in page.text
    assert page.all("h1")[0].words() == "What Tao et al. (2019) claim, and what was found"
    assert {one["paper"] for one in json.loads(claims.read_text())["claims"]} == {"tao2019"}
    names = [one.words() for one in page.all("dt")]
    assert names
    assert all(any(name.startswith(part.entry.heading) for part in parts) for name in names)


def test_without_failures_nothing_is_said_of_them(entries, tmp_path):
    (entry,) = [entry for entry in entries if entry.name == "crowd-labels"]
    part = make_part(entry)
    index, _ = write_index(tmp_path, "paper", [entry], [part])
    page = check_page(index.read_text())
    assert "What does not hold" not in page.text
    assert "--scale paper" not in page.text
