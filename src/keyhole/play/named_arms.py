"""Names of options (arms) in learners, which are told and asked by name where kernels use numbers.

A learner is a policy (a rule that chooses among options) at work.
"""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.arm_names import ArmNames
from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import Scale
from keyhole.play.replay_column_checks import int_column
from keyhole.play.study_vocabulary import StudyVocabulary
from keyhole.validate import Range, check_integer, short_repr

_NUMBERED_ARM: Final = re.compile(r"\barm (\d{1,9})\b")


class NamedArms:
    """Base class of learners: conversion between names and numbers of arms."""

    names_arms: ClassVar[bool] = False
    """Whether its methods take and return the names of arms, if they have any."""

    policy: Policy
    facts: dict[str, Any]
    state: Mapping[str, Any]
    scale: Scale
    _names: ArmNames | None = None
    """The names of the arms, if they have any."""

    def _recommend(self) -> dict[str, NDArray[Any]]:
        """Return the values that the kernel `recommend` wrote."""
        raise NotImplementedError

    @property
    def arm_names(self) -> tuple[Any, ...] | None:
        """The names of the arms; None if they are numbers from 0."""
        return None if self._names is None else self._names.names

    def _check_names(self, names: Any, facts: Mapping[str, Any]) -> ArmNames | None:
        """Return the names of the arms; refuse them if there are not as many as arms."""
        if names is None:
            return None
        found = names if isinstance(names, ArmNames) else ArmNames("arm_names", names)
        if not self.names_arms:
            kind = type(self).__name__
            raise TypeError(f"arm_names must be None: a {kind} takes arms by their numbers")
        if len(found) != facts["arms"]:
            raise ValueError(f"arm_names must have {facts['arms']} entries, got {len(found)}")
        return found

    def _arm(self, number: int) -> Any:
        """Return the name of an arm; its number if arms have no names."""
        return number if self._names is None else self._names[number]

    def _arm_number(self, field: str, arm: Any) -> int:
        """Return the number of an arm by its name, or checked; errors call it `field`."""
        if self._names is not None:
            return self._names.number(field, arm)
        return check_integer(field, arm, Range(ge=0, lt=self.facts["arms"]))

    def _arm_column(self, field: str, arms: Any, like: Any = None) -> NDArray[np.int64]:
        """Return a column of a log with the numbers of the arms, given by number or name.

        It must be as long as the column `like`, if that is given.
        """
        if self._names is not None:
            arms = self._names.column(field, arms)
        return int_column(field, arms, Range(ge=0, lt=self.facts["arms"]), like)

    def _decision_text(self, decision: Mapping[str, Any]) -> str:
        """Return a decision, given by arrays, as text for messages."""
        return self._name_arms(
            ", ".join(f"{name} {short_repr(v.tolist())}" for name, v in decision.items())
        )

    def _name_arms(self, text: str) -> str:
        """Return a text, in which arms are numbers ("arm 3"), with the names of the arms."""
        names = self._names
        if names is None:
            return text

        def name(found: re.Match[str]) -> str:
            number = int(found[1])
            return f"arm {names.text(number)}" if number < len(names) else found[0]

        return _NUMBERED_ARM.sub(name, text)

    def _without_names(self) -> Self:
        """Return a view of this learner whose arms are numbers, with the same memory."""
        if self._names is None:
            return self
        view = type(self).__new__(type(self))
        vars(view).update(vars(self), _names=None)
        return view

    def _recommend_in_words(self) -> Any:
        """Return the recommendation with names of arms, in the words of studies."""
        kind = self.policy.vocabulary_class or StudyVocabulary
        words = kind(self.policy.setting, self.facts, cast(Any, self._names), self.scale)
        return words.format_report(self._recommend(), range(self.facts["arms"]))
