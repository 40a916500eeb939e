from dataclasses import replace

import pytest

from keyhole.pages.page import render_template
from keyhole.papers.report.judged_entry import (
    answer_mark,
    count_sentence,
    entry_answer,
    line_below_answer,
)
from keyhole.papers.verdicts import Verdict
from tests.html import parse

STATUS = {"h": "holds", "o": "undecided", "n": "does not hold"}


def verdicts(letters, origin="paper", setup="paper"):
    return [
        Verdict(text="So", source=".", origin=origin, setup=setup, status=STATUS[letter], detail="",
                id=f"tiny/{origin}-{setup}-{i}", replications=10)
        for i, letter in enumerate(letters)
    ]  # fmt: skip


@pytest.fixture
def part(reproduced):
    return reproduced.parts[0]


def answered(part, *groups, known=(), front="", question="Does it?"):
    entry = part.entry.model_copy(update={"question": question})
    part = replace(part, entry=entry, verdicts=tuple(v for group in groups for v in group))
    known = {v.id: v for v in (*part.verdicts, *known)}
    answer = entry_answer(part, known)
    line = line_below_answer(part, known, front)
    return answer, parse(render_template(line.template, block=line))


@pytest.mark.parametrize(
    ("letters", "mark", "status"),
    [
        ("h", "Yes.", "holds"),
        ("hhhhoo", "Mostly.", "holds"),
        ("hhn", "Mostly.", "holds"),
        ("ho", "Not decided.", "undecided"),
        ("oon", "Not decided.", "undecided"),
        ("hn", "In part.", "undecided"),
        ("hnn", "No.", "does not hold"),
    ],
)
def test_the_first_word_says_no_more_than_the_counts(letters, mark, status):
    assert answer_mark(verdicts(letters)) == (status, mark)


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ("h", "The paper's 1 claim: 1 holds."),
        ("nn", "The paper's 2 claims: 2 do not hold."),
        ("hhhhoon", "The paper's 7 claims: 4 hold, 2 are open, 1 does not hold."),
    ],
)
def test_the_claims_are_counted_in_one_sentence(letters, text):
    assert count_sentence(verdicts(letters), "The paper's", "claim") == text


def test_keyholes_own_checks_are_counted_apart(part):
    answer, line = answered(part, verdicts("hhho"), verdicts("nnh", origin="ours"), front="up.html")
    assert (answer.mark, answer.text) == ("Mostly.", "The paper's 4 claims: 3 hold, 1 is open.")
    assert line.words() == (
        "A tiny entry. 40 runs. Keyhole's checks: 1 holds, 2 do not hold. All entries"
    )
    assert [one.attrs["href"] for one in line.all("a")] == ["#tiny-checks", "up.html"]


def test_an_answer_waits_for_an_entry_with_more_runs(part):
    shared = [replace(one, same_as=("tao2019-setup1-long/1",)) for one in verdicts("h")]
    assert answered(part, shared)[0].mark == "Yes, so far."
    # An entry with fewer runs changes nothing.
    longest = [replace(one, replications=10**9) for one in shared]
    assert answered(part, longest)[0].mark == "Yes."
    run = replace(shared[0], id="tao2019-setup1-long/1", status="does not hold", replications=99)
    assert answered(part, shared, known=[run])[0].mark == "No."


def test_claims_judged_on_set_ups_of_ours_do_not_count_as_the_papers(part):
    answer, _ = answered(part, verdicts("hh"), verdicts("nnn", setup="replica"))
    # They weaken the first word: it says no more than all claims together.
    assert (answer.mark, answer.text) == (
        "No.", "The paper's 5 claims: 2 hold, 3 do not hold. On our replica of its set-up, of "
        "these: 3 do not hold."
    )  # fmt: skip
    answer, _ = answered(part, verdicts("oo"), verdicts("hhh", setup="replica"))
    assert (answer.mark, answer.text) == (
        "In part.", "The paper's 5 claims: 3 hold, 2 are open. On our replica of its set-up, of "
        "these: 3 hold."
    )  # fmt: skip
    assert answered(part, verdicts("hhn"), verdicts("hhh", setup="ours"))[0].mark == "Mostly."
    answer, _ = answered(part, verdicts("hn", setup="ours"))
    assert answer.text == "The paper's 2 claims on set-ups of ours: 1 holds, 1 does not hold."


def test_an_entry_without_claims_of_a_paper_says_so_and_gives_no_first_word(part):
    answer, line = answered(part, verdicts("hho", origin="ours"), question="")
    assert (answer.mark, answer.status) == ("", "")
    assert answer.text == "No paper claims this. Keyhole's own 3 checks: 2 hold, 1 is open."
    assert line.words() == "40 runs."
    assert answered(part)[0].text == "Figures alone: nothing is claimed."


def test_the_verdict_with_more_runs_elsewhere_is_the_one_that_is_counted(part):
    (one,) = verdicts("h")
    longer = replace(one, id="long/1", status="does not hold", replications=1000)
    answer, line = answered(part, [replace(one, same_as=("long/1",))], known=[longer])
    assert (answer.mark, answer.text) == ("No.", "The paper's 1 claim: 1 does not hold.")
    assert "1 verdict from another entry." in line.words()
