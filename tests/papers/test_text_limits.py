"""Questions of entries, and claims in few words."""

import re
from collections import defaultdict

import pytest

from keyhole.papers import ENTRY_FILES, Entry
from keyhole.papers.field_types import SHORT_WORDS
from tests.papers.conftest import TINY, entry_of
from tests.papers.made_up import COMMON, make_claim, result

CLAIM = 'text = "No label is ever wrong."'


def load(folder, **fields):
    """Return the small entry with a question of its own, or short words of its first claim."""
    text = TINY
    if "question" in fields:
        text = f"question = {fields['question']}\n{text}"
    if "short" in fields:
        text = text.replace(CLAIM, f"{CLAIM}\nshort = {fields['short']}")
    (folder / "bad.toml").write_text(text)
    return Entry.from_file(folder, "bad.toml", "bad")


def test_a_question_heads_an_entry_in_place_of_its_title(tmp_path, tiny):
    assert tiny.heading == "A tiny entry"
    assert load(tmp_path, question='"Is it so?"').heading == "Is it so?"


def test_a_claim_of_several_problems_has_the_same_short_words_on_each(tmp_path):
    short = [claim.short for claim in load(tmp_path, short='"No wrong label"').claims]
    assert short == ["No wrong label", "No wrong label", ""]


@pytest.mark.parametrize(("short", "headline"), [("", "so it is"), ("it is", "it is")])
def test_the_headline_of_a_verdict_is_short_where_the_claim_is(short, headline):
    table = COMMON | {
        "kind": "ordering",
        "short": short,
        "policy": "us",
        "others": ["them"],
        "rounds": [20],
    }
    claim = make_claim(table)
    found = {"made-up": result({"us": [0.1, 0.1], "them": [0.2, 0.2]})}
    assert claim.verdict(found).headline == headline


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"question": '"It is so"'}, "question must end with a question mark, got 'It is so'"),
        (
            {"question": '"a b c d e f g h i j k l m n o?"'},
            "question must have at most 14 words, got 15: 'a b c d e",
        ),
        ({"question": r'"Is\nit?"'}, "question must have no control characters or line ends"),
        ({"question": "3"}, "question must be a text, got 3"),
        (
            {"short": '"a b c d e f g h i j k l m"'},
            r"claims\[0\] \(estimate: value\): short must have at most 12 words, got 13: 'a b",
        ),
        (
            {"short": r'"It\nis"'},
            r"claims\[0\] .*: short must have no control characters or line ends, got 'It",
        ),
        ({"short": '" "'}, r"claims\[0\] .*: short must not begin or end with a space, got ' '"),
    ],
)
def test_long_or_broken_short_texts_are_refused(tmp_path, fields, message):
    with pytest.raises(ValueError, match=rf"^bad\.toml: {message}"):
        load(tmp_path, **fields)


def headline(claim):
    return claim.short or claim.text


def shipped_claims():
    return [claim for name in ENTRY_FILES for claim in entry_of(name).claims]


def numbers(text):
    """Return the numbers in a text."""
    found = re.findall(r"\d[\d,]*(?:\.\d+)?|\.\d+", text)
    return {float(number.replace(",", "")) for number in found}


def test_every_page_asks_a_question_and_every_claim_has_few_words():
    questions = [entry_of(name).question for name in ENTRY_FILES]
    assert all(questions)
    assert len(set(questions)) == len(questions)
    # Pages answer with yes, mostly, or no.
    assert [one for one in questions if one.startswith(("Wh", "How"))] == []
    long = {one.id: headline(one) for one in shipped_claims()}
    assert {key: text for key, text in long.items() if len(text.split()) > SHORT_WORDS} == {}


def test_the_same_statement_has_the_same_short_words():
    claims = {claim.id: claim for claim in shipped_claims()}
    by_text = defaultdict(set)
    for claim in claims.values():
        by_text[claim.text].add(headline(claim))
        for other in claim.same_as:
            assert headline(claim) == headline(claims[other])
    assert {text: short for text, short in by_text.items() if len(short) > 1} == {}


def test_short_words_tell_statements_of_the_same_problem_apart():
    by_short = defaultdict(set)
    for claim in shipped_claims():
        entry = claim.id.partition("/")[0]
        by_short[entry, claim.problem_keys, headline(claim)].add(claim.text)
    assert {where: texts for where, texts in by_short.items() if len(texts) > 1} == {}


def test_numbers_in_short_words_are_those_of_the_claim():
    for name in ENTRY_FILES:
        entry = entry_of(name)
        for claim in entry.claims:
            fields = claim.model_dump(exclude_defaults=True, exclude={"short", "id", "same_as"})
            assert numbers(claim.short) <= numbers(f"{entry.title} {fields}"), claim.id
