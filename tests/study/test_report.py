"""The page of a study: what it shows of each kind of study."""

import re
from html import unescape

import pytest

from keyhole.semibandit import CSBST
from keyhole.stochastic import UCB1, BestArmStopping, OptimisticThompson
from keyhole.study import Study
from keyhole.thresholding import LSA, PerArmStopping
from tests.study.studies import Clock


def page_of(study, folder):
    """Return the text of a study's page, without tags."""
    html = study.write_report(folder / "page.html").read_text()
    text = re.sub(r"<(style|script)[^>]*>.*?</\1>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(unescape(text).replace("\N{NO-BREAK SPACE}", " ").split())


def test_it_says_what_is_recommended_and_how_sure(tmp_path):
    policy = OptimisticThompson()
    with Study.create(tmp_path / "s.db", "shop", policy, ["red", "blue"]) as study:
        assert "0 decisions so far" in page_of(study, tmp_path)
        for _ in range(30):
            decision = study.ask()
            study.tell(decision, decision.arm == "red")
        text = page_of(study, tmp_path)
        mean = study.means()["red"]["reward"]
    assert "Recommended: red" in text
    assert "Chance to be best: red" in text
    assert f"{mean}" in text
    assert "at all times at once, with 95 % confidence" in text


def test_it_says_what_is_settled(tmp_path):
    policy = PerArmStopping(LSA(), tolerance=0.3)
    with Study.create(tmp_path / "s.db", "s", policy, ["cat", "dog"], threshold=0.5) as study:
        while not study.is_done:
            study.tell(study.ask(), True)
        assert "Settled: 2 of 2 arms; done" in page_of(study, tmp_path)


def test_it_answers_with_verdicts_rather_than_with_a_chance_without_a_guarantee(tmp_path):
    with Study.create(tmp_path / "s.db", "s", BestArmStopping(), ["a", "b"]) as study:
        study.tell(study.ask(), True)
        assert study.best_chances()
        text = page_of(study, tmp_path)
    assert "Settled: 0 of 2 arms" in text
    assert "Chance to be best:" not in text


def test_it_says_how_long_feedback_takes_and_what_is_waited_for(tmp_path):
    clock = Clock()
    options = {"timeout": "2h", "pending": "wait", "clock": clock}
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b"], **options) as study:
        for minutes in range(1, 11):
            decision = study.ask()
            clock.now += 60 * minutes
            study.tell(decision, 1)
        study.ask()
        text = page_of(study, tmp_path)
    assert "The policy waits: it decides again once all feedback was told." in text
    assert "A decision expires after 2.0 h (on_timeout='forget')." in text
    assert "half within 5.5 min" in text
    assert "all within 10.0 min" in text


def test_what_is_to_be_asked_again_is_pending(tmp_path):
    options = {"timeout": "2h", "on_timeout": "ask_again"}
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b"], **options) as study:
        study.expire(study.ask())
        study.tell(study.ask(), 1)
        assert study.pending_count == 0
        counts = study._replica.query_counts(lambda counts: counts)
        assert list(counts.pending_by_event) == [1, 1, 1, 0]
        assert study.event_count == 4


def test_it_has_the_last_events_first(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b"]) as study:
        for reward in (0, 1) * 8:
            study.tell(study.ask(metadata={"who": "ann"}), reward)
        study.correct(study.log()[-1].decision, 0)
        text = page_of(study, tmp_path)
    assert re.search(r"33 \S+ \S+ corrected .*reward 0.* 32 \S+ \S+ told reward 1", text)
    assert " 13 " not in text.split("Last events")[1].split("The study")[0]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a" * 400, "\u202egnirts", "&amp;"])
def test_names_cannot_change_the_page(tmp_path, name):
    with Study.create(tmp_path / "s.db", name, UCB1(), [f"{name}1"[:200], "b"]) as study:
        study.tell(study.ask(), 1)
        html = study.write_report(tmp_path / "page.html").read_text()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "<title>&amp;amp;</title>" in html or name != "&amp;"


def test_decisions_about_all_arms_have_a_page_too(tmp_path):
    policy = CSBST()
    with Study.create(tmp_path / "s.db", "s", policy, ["north", "south"], resource=1.0) as study:
        study.tell(study.ask(), losses=[])
        text = page_of(study, tmp_path)
    assert "1 decision so far" in text
    assert "The last 20 events" in text
