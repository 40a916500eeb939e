"""Long names have places at which they may be broken, and nothing else on a page changes."""

import re

import pytest

from tests.docs.loaded_extension import load_extension

pytest.importorskip("sphinx")


@pytest.fixture(scope="module")
def add_breaks():
    return load_extension("name_breaks").add_breaks


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("AnytimeKaplanMeierUCB", ["Anytime", "Kaplan", "Meier", "UCB"]),
        ("KLUCBPlusOptimistic", ["KLUCB", "Plus", "Optimistic"]),
        ("keyhole.tune.Spec", ["keyhole.", "tune.", "Spec"]),
        ("beta_mixture_interval", ["beta_", "mixture_", "interval"]),
        ("src/keyhole/tune", ["src/", "keyhole/", "tune"]),
        ("parse_duration(text)", ["parse_", "duration(", "text)"]),
        ("durability=&quot;crash&quot;", ["durability=", "&quot;crash&quot;"]),
    ],
)
def test_a_name_may_be_broken_between_its_words(add_breaks, name, parts):
    assert add_breaks(f"<code>{name}</code>").split("<wbr>") == [
        f"<code>{parts[0]}", *parts[1:-1], f"{parts[-1]}</code>",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "html",
    [
        "<p>APT or RegretUCB</p>",  # short ones
        "<p>recommendations, 1,000,000,000.25</p>",
        '<a href="reference/AnytimeKaplanMeierUCB.html">there</a>',
        "<pre>AnytimeKaplanMeierUCB</pre>",
        '<script src="a.js">let AnytimeKaplanMeierUCB = 1 < 2;</script>',
        "<math><mi>AnytimeKaplanMeierUCB</mi></math>",
    ],
)
def test_other_text_stays_as_it_is(add_breaks, html):
    assert add_breaks(html) == html


def test_a_signature_may_be_broken_between_its_parts(add_breaks):
    html = (
        '<span class="sig-prename"><span class="pre">keyhole.</span></span>'
        '<span class="sig-name"><span class="pre">run</span></span>'
        '<span class="sig-paren">(</span>x<span class="sig-paren">)</span>'
    )
    broken = add_breaks(html)
    assert re.sub("<[^>]*>", "", broken.replace("<wbr>", "|")) == "keyhole.|run(|x)"
    assert broken.replace("<wbr>", "") == html
