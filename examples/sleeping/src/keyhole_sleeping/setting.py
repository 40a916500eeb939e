"""Setting: facts, context, decision, feedback and report, and base of policies."""

from typing import Final

from keyhole.policy import Field, IntArray, Setting, SettingLearner, fact
from keyhole.policy import Policy as AnyPolicy
from keyhole_sleeping.study_adapter import StudyVocabulary


class Facts:
    """Facts: quantities that policies know in advance."""

    arms = fact(int, ge=1, lt=2**23, doc="number of arms")


def _is_awake(p: "Policy", awake: IntArray, arm: int) -> bool:
    return 0 <= arm < p.arms and awake[arm] == 1


SETTING: Final = Setting(
    name="sleeping",
    declarations=Facts,
    context={"awake": Field("int64", ("arms",))},
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    report={"best": Field("int64")},
    allowed=_is_awake,
)
"""In each round observe which arms are awake (1 or 0), pull one of them, observe its reward."""


class Policy(Facts, AnyPolicy, abstract=True):
    """Base of policies; `update` may name ``arm`` and ``reward``, `recommend` fills ``best[0]``."""

    setting = SETTING
    # Valid if `select` only reads the state; a policy whose `select` writes it declares ("wait",).
    pending = ("ignore",)
    feedback = "the reward of the arm pulled, in [0, 1]"
    learner_class = SettingLearner
    vocabulary_class = StudyVocabulary
