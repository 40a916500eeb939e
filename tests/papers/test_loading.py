"""Refusals of invalid entry files, and their messages."""

import re
import tomllib
from pathlib import Path

import pytest

from keyhole import Metric
from keyhole.papers import Entry
from keyhole.papers.claims import BOUNDS, KINDS
from keyhole.papers.entry import ParameterFigure, PublishedValues
from keyhole.papers.field_types import MetricKey
from tests.papers.conftest import TINY
from tests.papers.made_up import make_claim


def load(folder, text):
    (folder / "bad.toml").write_text(text)
    return Entry.from_file(folder, "bad.toml", "bad")


CLAIM = """
[[claims]]
text = "It is so."
origin = "ours"
source = "tests."
"""
IN = r"claims\[2\] \(estimate: "
OF = 'kind = "estimate"\nof = '
CELLS = '{ problem = "easy", policy = "LSA" }'


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('kind = "orderin"', r"claims\[2\]\.kind must be one of .*; got 'orderin' \(did you mean"),
        ('kind = ["ordering"]', r"claims\[2\]\.kind must be one of .*; got \['ordering'\]"),
        (
            OF + '"value"\nproblem = "easy"\nvalue = 0.0\nvaleu = 1.0',
            IN + r"value\): each field must be one of .*got 'valeu'",
        ),
        (
            OF + '"value"\nproblem = "easy"\nvalue = 0.0\nid = "mine"',
            IN + r"value\): each field must be one of .*got 'id'",
        ),
        (
            OF + '"value"\nvalue = 0.0',
            IN + r"value\): problem must be given",
        ),
        (
            OF + '"value"\nproblem = "easy"\nvalue = "none"',
            IN + r"value\): value must be a valid number.*, got 'none'",
        ),
        (
            OF + '"value"\nproblem = "esay"\nvalue = 0.0',
            IN + r"value\)\.problem must be one of easy, hard; got 'esay'",
        ),
        (
            OF + '"value"\nproblems = "easy"\nvalue = 0.0',
            IN + r"value\)\.problems must be a list of keys, got 'easy'",
        ),
        (
            OF + '"value"\nproblem = "easy"\nproblems = ["easy"]\nvalue = 0.0',
            r"problem must be left out where problems is given",
        ),
        (
            OF + '"value"\nproblem = "easy"\nvalue = 0.0\nmetric = "regert"',
            IN + r"value\)\.metric must be one of aggregate_regret, simple_regret; got",
        ),
        (
            'kind = "equivalence"\ncells = []',
            r"claims\[2\]: 'equivalence' is now written kind = \"computed\", "
            r"by = \"keyhole\.papers\.claims\.judgements:equivalence\"$",
        ),
        (
            'kind = "reversal"\nproblem = "easy"',
            r"'reversal' is now written kind = \"computed\", by = .*different_best\"$",
        ),
        ('kind = "worst-power"\nx = {}', r"'worst-power' is now written kind = \"power\"$"),
        (
            OF + '"slope"\nproblem = "easy"',
            r"'slope' is now written of = \"gain\", with ends that ",
        ),
        (
            'kind = "ordering"\nproblems = ["easy", "hard"]\npolicy = "LSA"\nothers = ["Unifrom"]',
            r"claims\[2\] \(ordering\)\.others\[0\] must be one of LSA, Uniform; got 'Unifrom'",
        ),
        (
            OF + '"mean"\nproblem = "easy"\npolicy = "LSA"\nlow = 0\nrounds = [60, 61]',
            IN + r"mean\)\.rounds\[1\] must be one of the checkpoints of 'easy' at scale "
            r"'quick', 30, 60; got 61",
        ),
        (
            OF + '"growth"\nproblem = "easy"\npolicy = "LSA"\nearly = 1\nlate = 60\nhigh = 2',
            IN + r"growth\)\.early must be one of the checkpoints",
        ),
        (
            f'kind = "trend"\ncells = [{CELLS}, {{ problem = "easy" }}]',
            r"claims\[2\] \(trend\): cells\[1\]\.policy must be given",
        ),
        (
            f'kind = "trend"\ncells = [{CELLS}, {{ problem = "x", policy = "LSA" }}]',
            r"claims\[2\] \(trend\)\.cells\[1\]\.problem must be one of easy, hard; got 'x'",
        ),
        (
            OF + f'"ratio"\nlow = 1\ncell = {CELLS}\nover = {{ problem = "hard", policy = "APT" }}',
            IN + r"ratio\)\.over\.policy must be one of LSA, Uniform; got 'APT'",
        ),
        (
            OF + f'"ratio"\nlow = [1, 2]\ncell = {CELLS}\nover = {CELLS}',
            IN + r"ratio\): low must have one number for each round, 1",
        ),
        (
            'kind = "computed"\nby = "keyhole.papers.claims.fits:linear_fit"\n'
            'policy = "LSA"\nr_squared = 0.9\n'
            "x = { easy = 1, hard = 2, soft = 3 }",
            r"claims\[2\] \(computed: linear_fit\)\.x must be one of easy, hard; got 'soft'",
        ),
        (
            'kind = "below-bound"\nproblem = "easy"\npolicy = "LSA"\n'
            'bound = "thresholding.theorem_1"\nrounds = [60]',
            r"claims\[2\] \(below-bound\): bound 'thresholding\.theorem_1' at T = 60: budget must",
        ),
        (
            OF + '"proportion"\nproblem = "easy"\npolicy = "LSA"\nmetric_high = 1\nlow = 0.9',
            IN + r"proportion\): negative_control must be given, a bad policy that breaks",
        ),
        (
            OF + '"mean"\nproblem = "easy"\npolicy = "LSA"\nhigh = 1',
            IN + r"mean\): negative_control must be given, a bad policy that breaks",
        ),
        (
            OF + '"proportion"\nproblem = "easy"\npolicy = "LSA"\nmetric_high = 1\nlow = 0.9\n'
            'negative_control = "Unfiorm"',
            IN + r"proportion\)\.negative_control must be one of LSA, Uniform; got 'Unfiorm'",
        ),
        (
            'kind = "above-bound"\nproblem = "easy"\npolicy = "LSA"\nbound = "theorem 1"',
            r"claims\[2\] \(above-bound\): bound must be one of .*; got 'theorem 1'",
        ),
    ],
)
def test_a_claim_with_an_unknown_name_is_refused(tmp_path, lines, message):
    with pytest.raises(ValueError, match=rf"^bad\.toml: .*{message}"):
        load(tmp_path, TINY + CLAIM + lines)


def test_a_claim_that_judges_the_same_as_an_unknown_entry_is_refused(tmp_path):
    lines = OF + '"value"\nproblem = "easy"\nvalue = 0.0\nsame_as = ["tao2019-setup/1"]'
    with pytest.raises(ValueError, match=IN + r"value\)\.same_as\[0\] must be one of"):
        load(tmp_path, TINY + CLAIM + lines)


def test_claims_are_judged_on_the_set_up_of_their_entry_unless_they_say_so(tmp_path):
    lines = OF + '"value"\nproblem = "easy"\nvalue = 0.0\nsetup = "any"'
    text = TINY.replace("metrics =", 'setup = "replica"\nmetrics =', 1) + CLAIM + lines
    assert [claim.setup for claim in load(tmp_path, text).claims] == ["replica"] * 3 + ["any"]
    with pytest.raises(ValueError, match=r"setup must be 'paper', 'any', 'replica' or 'ours'"):
        load(tmp_path, text.replace('"any"', '"theirs"'))


@pytest.mark.parametrize("origin", ["ours", "paper, as a bound"])
def test_a_growth_that_is_read_from_a_bound_needs_a_negative_control(tmp_path, origin):
    lines = OF + '"growth"\nproblem = "easy"\npolicy = "LSA"\nearly = 30\nlate = 60\nhigh = 2'
    text = TINY + CLAIM.replace("ours", origin) + lines
    if origin == "ours":
        load(tmp_path, text)
        return
    with pytest.raises(ValueError, match=IN + r"growth\): negative_control must be given"):
        load(tmp_path, text)
    load(tmp_path, text + '\nno_negative_control = "none."')


def test_an_entry_records_what_it_names(tiny, monkeypatch):
    details = {name: Metric(name, detail=True) for name in ("pulls", "reward")}
    monkeypatch.setattr("keyhole.experiment.setting_registry.RegisteredSetting.metrics", details)
    assert tiny.metric_names == ("aggregate_regret", "gold_agreement")
    assert not tiny.spec("easy", "quick").details
    for name in ("reward", "pulls[1]"):
        assert tiny.model_copy(update={"metrics": [MetricKey(name)]}).spec("easy", "quick").details


def test_the_metrics_of_claims_and_parameter_figures_are_named(tmp_path):
    more = CLAIM + OF + '"value"\nproblem = "easy"\nvalue = 0.0\nmetric = "simple_regret"'
    assert "simple_regret" in load(tmp_path, TINY + more).metric_names


def test_a_problem_is_run_alike_without_the_others(tmp_path, monkeypatch):
    more = CLAIM + OF + '"value"\nproblem = "easy"\nvalue = 0.0\nmetric = "simple_regret"'
    entry = load(tmp_path, TINY + more)
    details = {"simple_regret": Metric("simple_regret", detail=True)}
    monkeypatch.setattr("keyhole.experiment.setting_registry.RegisteredSetting.metrics", details)
    assert "simple_regret" not in entry.with_problems("hard").metric_names
    for part in (entry, entry.with_problems("hard")):
        assert part.spec("hard", "quick").details


def test_a_bound_of_another_setting_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(BOUNDS, "elsewhere.theorem_1", lambda problem, policy, round, horizon: 1.0)
    lines = 'kind = "below-bound"\nproblem = "easy"\npolicy = "LSA"\nbound = "elsewhere.theorem_1"'
    with pytest.raises(ValueError, match="bound must be a bound of 'thresholding', the setting of"):
        load(tmp_path, TINY + CLAIM + lines)


def test_a_claim_at_a_round_of_one_scale_alone_is_refused(tmp_path):
    other = TINY.replace("replications = 80\ncheckpoints = 2", "replications = 80\ncheckpoints = 3")
    lines = OF + '"mean"\nproblem = "easy"\npolicy = "LSA"\nlow = 0\nrounds = [30]'
    with pytest.raises(ValueError, match=r"at scale 'paper', 20, 40, 60; got 30"):
        load(tmp_path, other + CLAIM + lines)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "hard = 3.0",
            "hrad = 3.0",
            r"parameter_figures\[0\]\.x must be one of easy, hard; got 'hrad'",
        ),
        ('x_label = "arms"', "", r"parameter_figures\[0\]\.x_label must be given"),
        (
            'x_label = "arms"',
            'x_label = "arms"\nround = 7',
            r"parameter_figures\[0\]\.round is not known and must be left out",
        ),
        (
            'x_label = "arms"',
            'x_label = "arms"\npolicies = ["LSB"]',
            r"parameter_figures\[0\]\.policies\[0\] must be one of LSA, Uniform; got 'LSB'",
        ),
        (
            'x_label = "arms"',
            'x_label = "arms"\nmetric = "regret"',
            r"parameter_figures\[0\]\.metric must be one of aggregate_regret, simple_regret; got",
        ),
        (
            "easy = { Uniform = 0.5 }",
            "easy = { Uniforn = 0.5 }",
            r"published\[0\]\.values\.easy must be one of LSA, Uniform; got 'Uniforn'",
        ),
        (
            "easy = { Uniform = 0.5 }",
            "esay = { Uniform = 0.5 }",
            r"published\[0\]\.values must be one of easy, hard; got 'esay'",
        ),
        ('ratio_to = "Uniform"', 'ratio_to = "APT"', r"ratio_to must be one of LSA, Uniform; got"),
        ("metrics = ", "tests = true\nmetrics = ", r"tests is not known and must be left out"),
        ("horizon = 60", "horizon = 0", r"problems\.(easy|hard): horizon must be greater than"),
        ('label = "LSA"', "", r"policies\[0\]\.label must be a text, got None"),
        ('label = "LSA"', "label = -inf", r"policies\[0\]\.label must be a text, got -inf"),
        ('label = "LSA"', 'label = ["LSA"]', r"policies\[0\]\.label must be a text, got \['LSA'\]"),
    ],
)
def test_an_entry_with_an_unknown_name_is_refused(tmp_path, old, new, message):
    assert old in TINY
    with pytest.raises(ValueError, match=rf"^bad\.toml: {message}"):
        load(tmp_path, TINY.replace(old, new))


def test_claims_are_about_the_first_metric_unless_they_say_another(tmp_path):
    text = TINY.replace('["aggregate_regret", ', '["simple_regret", "aggregate_regret", ')
    assert {claim.metric for claim in load(tmp_path, text).claims} == {"simple_regret"}
    more = CLAIM + OF + '"value"\nproblem = "easy"\nvalue = 0.0\nmetric = "aggregate_regret"'
    assert load(tmp_path, text + more).claims[-1].metric == "aggregate_regret"


def test_claims_and_figures_are_kept_only_if_all_their_problems_are(tiny):
    assert [claim.problem_keys for claim in tiny.claims] == [("easy",), ("hard",), ("easy", "hard")]
    alone = tiny.with_problems("easy")
    assert [claim.problem_keys for claim in alone.claims] == [("easy",)]
    assert alone.parameter_figures == []
    both = tiny.with_problems("hard", "easy")
    assert (both.claims, both.parameter_figures) == (tiny.claims, tiny.parameter_figures)


def test_every_kind_of_claim_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|", page, re.MULTILINE)
    assert {kind.removeprefix("estimate: ") for kind in KINDS} <= {
        kind for row in rows for kind in re.findall("`([^`]+)`", row)
    }


def test_the_entries_of_the_documentation_are_read():
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    blocks = [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    claims = [claim for block in blocks for claim in block.get("claims", [])]
    figures = [figure for block in blocks for figure in block.get("parameter_figures", [])]
    assert [claim["kind"] for claim in claims] == ["trend", "estimate", "computed"]
    for claim in claims[:2]:
        problem = {"problem": claim.pop("problems")[0]} if "problems" in claim else {}
        assert make_claim(claim | problem).problem_keys
    assert [ParameterFigure.model_validate(figure).metric for figure in figures] == ["regret"]
    printed = [one for block in blocks for one in block.get("published", [])]
    assert [PublishedValues.model_validate(one).rounds for one in printed] == [[500, 1000]]


def test_a_problem_may_leave_policies_out(tmp_path):
    text = TINY.replace('title = "Easy"', 'title = "Easy"\npolicies = ["Uniform"]')
    entry = load(tmp_path, text)
    assert list(entry.spec("easy", "quick").plan.policies) == ["Uniform"]
    assert list(entry.spec("hard", "quick").plan.policies) == ["LSA", "Uniform"]
    cells = '{ problem = "easy", policy = "Uniform" }, { problem = "hard", policy = "LSA" }'
    assert load(tmp_path, f'{text}{CLAIM}kind = "trend"\ncells = [{cells}]\n')
    with pytest.raises(ValueError, match=r"cells\[1\]\.policy must be one of Uniform; got 'LSA'"):
        load(
            tmp_path,
            text
            + CLAIM
            + f'kind = "trend"\ncells = [{CELLS}, {CELLS}]\n'.replace(
                "cells = [{", 'cells = [{ problem = "hard", policy = "LSA" }, {', 1
            ),
        )
    with pytest.raises(ValueError, match=r"problems\.easy\.policies\[0\] must be one of LSA, Unif"):
        load(tmp_path, TINY.replace('title = "Easy"', 'title = "Easy"\npolicies = ["LAS"]'))


def test_a_problem_may_give_policies_parameters_of_its_own(tmp_path):
    text = TINY.replace('title = "Easy"', 'title = "Easy"\nparameters.LSA.alpha = 2.0')
    entry = load(tmp_path, text)
    assert repr(entry.spec("easy", "quick").plan.policies["LSA"]) == "LSA(alpha=2)"
    assert repr(entry.spec("hard", "quick").plan.policies["LSA"]) == "LSA(alpha=1.35)"
    with pytest.raises(ValueError, match=r"problems\.easy\.parameters must be one of LSA, Uniform"):
        load(tmp_path, text.replace("parameters.LSA.alpha", "parameters.LAS.alpha"))
