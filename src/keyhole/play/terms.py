"""How a study speaks of a room: decisions and feedback in names and words, not in numbers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from keyhole.contract.memory import Field
from keyhole.contract.scale import UNIT, Scale
from keyhole.contract.setting import Setting

Read = Callable[[str, Any, Path], Any]
Values = dict[str, Any]
Words = dict[str, Any]


class Terms:
    """The words of a room, for one study.

    A room has its own, in which it says what `ask` and `tell` of a study take (the keywords of
    `context` and `heard`), and what decisions and reports are called.

    Parameters
    ----------
    setting : Setting
        The room.
    facts : mapping of str to value
        What the policy was told beforehand.
    arms : sequence of str
        The names of the arms, those that were retired too; values speak of them by position.
    scale : Scale
        The units of rewards.

    Attributes
    ----------
    reads : mapping of str to callable
        How files say those facts that are no plain values.
    """

    reads: ClassVar[Mapping[str, Read]] = MappingProxyType({})

    def __init__(
        self, setting: Setting, facts: Mapping[str, Any], arms: Sequence[str], scale: Scale = UNIT
    ) -> None:
        self.setting, self.facts, self.arms, self.scale = setting, facts, arms, scale

    @property
    def told(self) -> Mapping[str, Field]:
        """What is told of one decision: by default the setting's feedback."""
        return self.setting.feedback

    @property
    def noted(self) -> Mapping[str, Field]:
        """What the log keeps of a telling that no policy learns: by default there is nothing.

        Where `heard` says nothing of it, it is 0.
        """
        return {}

    def context(self) -> Values:
        """Return the context of an `ask` as values: by default there is none."""
        return {}

    def decided(self, context: Values, decision: Values) -> Words:
        """Return a decision in words: by default the name of the arm."""
        return {"arm": self.arms[decision["arm"]]}

    def chosen(self, words: Words) -> tuple[Values, Values]:
        """Return context and decision as values: what `decided` says, read back."""
        return {}, {"arm": self.arms.index(words["arm"])}

    def heard(self, context: Values, decision: Values, reward: float) -> Values:
        """Return what was told of a decision as values; refuse what cannot be.

        By default that is a reward.
        """
        return {"reward": self.scale.told("reward", reward)}

    def said(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return in words what was told: by default the reward."""
        return {"reward": self.scale.outward(feedback["reward"])}

    def nothing(self) -> Words:
        """Return what is told of a decision when nothing came: by default the least reward."""
        return {"reward": self.scale.low}

    @classmethod
    def recommends(cls) -> bool:
        """Return whether there are words for what a policy recommends."""
        return cls.reported is not Terms.reported

    def reported(self, report: Mapping[str, Any], live: Sequence[int]) -> Any:
        """Return what the policy recommends, of the arms that are in use (`live`)."""
        raise TypeError(f"policies of {self.setting.name!r} recommend nothing")
