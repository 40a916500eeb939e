"""A setting (kind of decision problem) to check, with sample decisions and known quantities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.play.study_vocabulary import StudyVocabulary, example_decisions, is_allowed


@dataclass(frozen=True)
class SettingCase:
    """A setting to check, with sample values.

    Parameters
    ----------
    setting : Setting
        The setting to check.
    facts : mapping of str to value
        The quantities that every policy knows, in some problem.
    context : mapping of str to value
        A context of some round, if the setting has one.
    failing : mapping of str to str
        Checks that are known to fail, by name, each with the reason.
    vocabulary : type of StudyVocabulary, optional
        The vocabulary that studies use.
    decision : mapping of str to value, optional
        A decision that the setting allows. By default the decision of zeros and that with the last
        arm, as far as they are allowed.
    """

    setting: Setting
    facts: Mapping[str, Any]
    context: Mapping[str, Any] = field(default_factory=dict)
    failing: Mapping[str, str] = field(default_factory=dict)
    vocabulary: type[StudyVocabulary] | None = None
    decision: Mapping[str, Any] | None = None

    @property
    def checked_facts(self) -> dict[str, Any]:
        """The facts, as kernels read them."""
        return self.setting.check((), self.facts)

    @property
    def sizes(self) -> dict[str, int]:
        """The lengths of array dimensions."""
        return {name: value for name, value in self.checked_facts.items() if isinstance(value, int)}

    def vocabulary_for(self, arms: Sequence[Any]) -> StudyVocabulary:
        """Return the vocabulary with these arms: names in a study, a range in a learner."""
        assert self.vocabulary is not None
        return self.vocabulary(self.setting, self.checked_facts, arms)

    @property
    def decisions(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The context, as values, with each decision to try.

        Raises
        ------
        ValueError
            If the setting allows none of them.
        """
        facts = self.checked_facts
        found = example_decisions(self.setting, facts, self.context)
        if self.decision is not None:
            taken = _values(self.decision)
            found = [taken] if is_allowed(self.setting, facts, self.context, taken) else []
        if not found:
            raise ValueError(
                f"decision must be one that {self.setting.name} allows, on which its vocabulary is "
                f"tested; got {'one of zeros' if self.decision is None else self.decision}"
            )
        return [(_values(self.context), taken) for taken in found]

    def __repr__(self) -> str:
        """Return the name of the setting."""
        return self.setting.name


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in given.items()}
