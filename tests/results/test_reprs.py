"""What a notebook shows of what lies on disk: short, and what a user wants to know first."""

import json

import numpy as np
import pytest

from keyhole.experiment import Spec, run
from keyhole.study import Study
from keyhole.thresholding import LSA
from keyhole.tune import SavedTune, Tuner
from keyhole.tune import Spec as TuneSpec
from keyhole.tune.pair_estimates import Interval
from keyhole.validation import escape_html

pytestmark = [pytest.mark.interpreted, pytest.mark.usefixtures("no_figures")]

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
    assert repr(found).endswith("one': small, 1 policy, 10 replications of 60 rounds)")
    for text in (str(found), found._repr_html_()):
        assert " has the lowest mean number of wrong labels after 60 rounds: " in text
        assert "After 60 rounds" in text
    swept = run(Spec.from_text(f"{TEXT}[sweep]\nseed = [1, 2]\n"), tmp_path / "two")
    assert ": small, 2 points of 1 policy, " in repr(swept)
    assert '<th scope="row">1</th><td>2</td><td>LSA(alpha=1.35): ' in swept._repr_html_()
    assert "1      2     LSA(alpha=1.35): " in str(swept)
    (tmp_path / "two" / "curves.parquet").unlink()
    assert swept._repr_html_().startswith("Run(&#x27;")
    assert "two cannot be read: " in swept._repr_html_()


def test_a_study_shows_its_state_as_long_as_it_can(tmp_path):
    study = Study.create(tmp_path / "s.db", "<labels>", LSA(), ["cat", "dog"], threshold=0.5)
    study.ask()
    shown = study._repr_html_()
    for word in ("LSA(alpha=1.35)", "pending decisions: 1", "cat", "&lt;labels&gt;"):
        assert word in shown
    assert shown == f"<pre>{escape_html(str(study))}</pre>"
    assert "cat  1          0" in str(study)
    study.close()
    assert study._repr_html_().startswith("<pre>Study(&#x27;")
    assert study._repr_html_().endswith(": the study was closed: open it again</pre>")
    assert "<labels>" not in study._repr_html_()
    assert str(study).endswith("'<labels>'): the study was closed: open it again")


def test_a_tune_shows_what_it_recommends(tmp_path):
    spec = TuneSpec.from_table(
        {"arm": [{"name": "fast", "command": "true"}], "limits": [1, 10], "instances": ["a"]}
    )
    assert "fast" in SavedTune(tmp_path, spec, [])._repr_html_()
    tune = Tuner(spec, tmp_path / "out").run(runs=3)
    shown = tune._repr_html_()
    assert "best: fast with" in shown
    assert "3 runs" in shown
    assert "Interval(0." in repr(tune.best().gain)
    assert f"gain: {tune.best().gain} a run" in repr(tune.best())
    assert len(repr(tune.best())) < 500
    assert repr(Interval(0.8185877496691383, 0.7, 0.9)) == "Interval(0.82 [0.70, 0.90])"


@pytest.mark.parametrize("wrong", [{"limits": [1]}, json.dumps({}), None])
def test_a_tuner_wants_a_spec(wrong, tmp_path):
    with pytest.raises(TypeError, match=r"^spec must be what Spec.from_file or Spec.from_table re"):
        Tuner(wrong, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_learner_shows_what_it_has_learnt_and_stays_as_it_is():
    learner = LSA().learner(arms=2, threshold=0.5)
    assert "waiting" not in repr(learner)
    learner.tell(learner.ask() == 0)
    learner.ask()
    before = learner._memory.copy()
    shown = repr(learner)
    np.testing.assert_array_equal(learner._memory, before)
    for word in ("arm 0: above, 1", "waiting for feedback"):
        assert word in shown, word


class Mute(LSA):
    def describe(self, learner):
        raise KeyError("no <such> array")


def test_an_error_of_a_policy_is_shown_in_the_place_of_its_state():
    learner = Mute().learner(arms=2, threshold=0.5)
    assert "(Mute.describe failed: KeyError: 'no <such> array')" in repr(learner)
