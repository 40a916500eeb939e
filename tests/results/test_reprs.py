"""What a notebook shows of what lies on disk: short, and what a user wants to know first."""

import json

import pytest

from keyhole.experiment import Spec, run
from keyhole.study import Study
from keyhole.thresholding import LSA
from keyhole.tune import Spec as TuneSpec
from keyhole.tune import Tune, Tuner
from keyhole.tune.value_estimates import Interval

TEXT = """
name = "small"
replications = 10
horizon = 60
[problem]
setting = "thresholding"
means = [0.2, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
"""


def test_a_run_shows_its_results(tmp_path):
    found = run(Spec.from_text(TEXT), tmp_path / "one")
    assert repr(found).endswith("one': small, 1 policies, 10 replications of 60 rounds)")
    assert "After 60 rounds" in found._repr_html_()
    swept = run(Spec.from_text(f"{TEXT}[sweep]\nseed = [1, 2]\n"), tmp_path / "two")
    assert ": small, 2 points of 1 policies, " in repr(swept)
    assert '<th scope="row">1</th><td>2</td>' in swept._repr_html_()


def test_a_study_shows_its_state_as_long_as_it_can(tmp_path):
    study = Study.create(tmp_path / "s.db", "<labels>", LSA(), ["cat", "dog"], threshold=0.5)
    study.ask()
    shown = study._repr_html_()
    for word in ("LSA(alpha=1.35)", "pending decisions</th><td>1", "cat", "&lt;labels&gt;"):
        assert word in shown
    study.close()
    assert study._repr_html_().startswith("Study(&#x27;")
    assert "<labels>" not in study._repr_html_()


@pytest.mark.interpreted
def test_a_tune_shows_what_it_recommends(tmp_path):
    spec = TuneSpec.from_table(
        {"arm": [{"name": "fast", "command": "true"}], "limits": [1, 10], "instances": ["a"]}
    )
    assert "fast" in Tune(tmp_path, spec, [])._repr_html_()
    tune = Tuner(spec, tmp_path / "out").run(runs=3)
    shown = tune._repr_html_()
    assert "best: fast with" in shown
    assert "3 runs" in shown
    assert "Interval(0." in repr(tune.best())
    assert len(repr(tune.best())) < 500
    assert repr(Interval(0.8185877496691383, 0.7, 0.9)) == "Interval(0.82 [0.70, 0.90])"


@pytest.mark.parametrize("wrong", [{"limits": [1]}, json.dumps({}), None])
def test_a_tuner_wants_a_spec(wrong, tmp_path):
    with pytest.raises(TypeError, match=r"^spec must be what Spec.from_file or Spec.from_table re"):
        Tuner(wrong, tmp_path / "out")
    assert not (tmp_path / "out").exists()
