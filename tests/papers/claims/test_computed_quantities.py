"""Claims about numbers of a problem, and figures of problems."""

import re
from functools import cache

import pytest

from keyhole.papers import Entry, reproduce
from keyhole.papers.bengs2022.computed_quantities import NUMBERS
from keyhole.papers.claims import Result
from keyhole.papers.entry import DRAWING_NAMES, ProblemFigure
from keyhole.papers.report.problem_figure_drawing import DRAWINGS, draw_problem_figure
from tests.html import check_page
from tests.papers.conftest import make_once
from tests.papers.made_up import WORDS, kind_fields, make_claim

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("problems_made_once")]
THREE = """
title = "Three models"
source = "tests, section 1"
metrics = ["regret"]

[scales.quick]
replications = 2

[scales.paper]
replications = 2

[problems.strict]
title = "Strict"
horizon = 5
problem = { setting = "resource", three_models = "strict" }

[problems.soft]
title = "Soft"
horizon = 5
problem = { setting = "resource", three_models = "soft" }

[problems.other]
title = "Other"
horizon = 5
problem = { setting = "thresholding", means = [0.2, 0.7], threshold = 0.5 }
policies = ["LSA"]

[[policies]]
name = "FixedLimit"
label = "Fixed"
limit = 0.3

[[policies]]
name = "LSA"
label = "LSA"

[[problem_figures]]
title = "Gains & limits"
draw = "resource.gains"
problems = ["strict", "soft"]
names = ["complex", "medium", "simple"]
note = "Drawn, not played."
"""
THREE = re.sub(r"(three_models.*)", r'\1\npolicies = ["Fixed"]', THREE)
IN_RANGE = kind_fields("computed: numbers_in_range")
LEAD = IN_RANGE | {"problem": "strict", "number": "resource.lead_share"}
ORDER = kind_fields("computed: falling_numbers") | {
    "problem": "soft",
    "number": "resource.largest_gain",
}


@cache
def results():
    found = {}
    for key in ("strict", "soft"):
        problem = make_once({"setting": "resource", "three_models": key})
        found[key] = Result(key.upper(), problem, 3, None)
    return found


def judged(table):
    return make_claim(WORDS | table).judge(results())


def load(folder, text):
    (folder / "three.toml").write_text(text)
    return Entry.from_file(folder, "three.toml", "three")


def claim_of(**fields):
    lines = "\n".join(f"{name} = {value!r}" for name, value in fields.items())
    return f'\n[[claims]]\ntext = "So."\nsource = "x."\norigin = "ours"\n{lines}\n'


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"arms": [2], "low": 0.5, "unlike": "soft"}, "holds"),
        ({"arms": [2], "low": 0.4, "unlike": "soft"}, "undecided"),  # so it is there too
        ({"arms": [1], "low": 0.5, "unlike": "soft"}, "does not hold"),
        ({"arms": [1], "low": 0.0, "high": 0.1}, "holds"),
        ({"arms": [0], "high": 0.0, "no_negative_control": "why not"}, "holds"),
        ({"low": 0.01, "high": 1.0}, "does not hold"),  # of all arms: one never leads
    ],
)
def test_a_number_lies_in_a_range_and_elsewhere_does_not(fields, status):
    assert judged(LEAD | fields)[0] == status


def test_the_numbers_are_shown_arm_by_arm():
    _, detail, _ = judged(LEAD | {"arms": [2], "low": 0.5, "unlike": "soft"})
    assert detail == (
        "resource.lead_share of arm 2: 0.968333 (claimed: at least 0.5). SOFT breaks it: "
        "resource.lead_share of arm 2: 0.438333"
    )


@pytest.mark.parametrize(
    ("arms", "status"), [([0, 1, 2], "holds"), ([0, 2, 1], "does not hold"), ([1, 2], "holds")]
)
def test_a_number_falls_from_arm_to_arm(arms, status):
    assert judged(ORDER | {"arms": arms})[0] == status


def test_equal_numbers_are_in_no_order():
    assert judged(ORDER | {"arms": [1, 1]})[0] == "does not hold"


def test_a_number_may_be_of_the_whole_problem():
    table = LEAD | {"problem": "soft", "number": "resource.joint_extensions", "low": 1.0}
    status, detail, _ = judged(table | {"high": 1000.0})
    assert status == "holds"
    assert not detail.startswith("arm")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"low": 0.5},
            "unlike must be given, a problem that breaks the claim, or no_negative_control",
        ),
        ({"low": 0.5, "unlike": "strict"}, "unlike must be another problem than 'strict'"),
        (
            {"low": 0.5, "unlike": "soft", "no_negative_control": "x"},
            "unlike must be left out where",
        ),
        ({}, "low or high must be given"),
        ({"low": 0.5, "unlike": "sfot"}, r"unlike must be one of strict, soft, other"),
        ({"low": 0.5, "unlike": "other"}, "number must be a number of 'thresholding'"),
        ({"low": 0.0, "high": 1.0, "arms": [3]}, "arms must be below 3, got 3"),
        ({"low": 0.0, "high": 1.0, "number": "resource.lead_shar"}, "number must be one of"),
    ],
)
def test_claims_of_numbers_without_content_are_refused(tmp_path, fields, message):
    with pytest.raises(ValueError, match=message):
        load(tmp_path, THREE + claim_of(**(LEAD | fields)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"resource.gains"', '"resource.gain"', "draw must be one of .*did you mean"),
        (
            '["strict", "soft"]',
            '["strict", "sotf"]',
            r"problem_figures\[0\]\.problems\[1\] must be one",
        ),
        (
            '["strict", "soft"]',
            '["other"]',
            r"problem_figures\[0\]\.draw must be a drawing of 'thresholding'",
        ),
        (
            '"medium", ',
            "",
            r"problem_figures\[0\]\.names must have 3 entries, one for each arm of 'stri",
        ),
    ],
)
def test_figures_of_unknown_problems_are_refused(tmp_path, old, new, message):
    assert old in THREE
    with pytest.raises(ValueError, match=message):
        load(tmp_path, THREE.replace(old, new))


@pytest.mark.parametrize("name", DRAWING_NAMES)
def test_a_problem_figure_has_a_panel_for_each_problem_and_names_the_arms(name):
    problems = {one.title: one.problem for one in results().values()}
    names = ["complex", "medium", "simple"]
    declared = ProblemFigure(title="D", draw=name, problems=["strict", "soft"], names=names)
    figure = draw_problem_figure(declared, problems)
    figure.draw_without_rendering()
    words = [text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))]
    assert {"STRICT", "SOFT", *names} <= set(words)


def test_problem_figures_are_kept_only_if_all_their_problems_are(tmp_path):
    entry = load(tmp_path, THREE)
    assert entry.with_problems("strict").problem_figures == []
    assert entry.with_problems("soft", "strict").problem_figures == entry.problem_figures


def test_the_report_shows_problem_figures_and_keeps_them_as_files(tmp_path, monkeypatch, only_svg):
    entry = load(tmp_path, THREE).with_problems("strict", "soft")
    monkeypatch.setattr(Entry, "load", lambda name: entry)
    done = reproduce("three", out=tmp_path / "out", threads=1)
    text = done.report.read_text()
    assert ">Gains &amp; limits</h3>" in text
    captions = [one.words() for one in check_page(text).all("figcaption")]
    assert any(caption.startswith("Drawn, not played.") for caption in captions)
    files = {path.name for path in done.report.parent.glob("drawing*")}
    assert files == {f"drawing-1.{kind}" for kind in ("svg", "png", "pdf")}


def test_each_drawing_has_a_name_and_each_name_a_drawing():
    assert tuple(DRAWINGS) == DRAWING_NAMES


def test_numbers_and_drawings_are_named_by_their_setting():
    for name in (*NUMBERS, *DRAWING_NAMES):
        assert name.startswith("resource.")
