"""How studies speak of late feedback: by decision where it has a name, else as it arrives."""

from collections.abc import Mapping
from typing import Final

from keyhole.contract.memory import Field
from keyhole.play.terms import Terms as CoreTerms
from keyhole.play.terms import Values

_REWARD: Final = {"reward": Field("float64")}


class Terms(CoreTerms):
    """``ask()`` gives an ``arm``; with named feedback ``tell(id, reward)``, else ``arrived(sum)``.

    What arrives is learnt with the next `ask`, at the end of the round of the last decision.
    """

    @property
    def told(self) -> Mapping[str, Field]:
        """The reward of a decision."""
        return _REWARD

    def heard(self, context: Values, decision: Values, reward: float) -> Values:
        """Return what was told as values."""
        if not self.facts["named"]:
            raise TypeError("tell is for named feedback; anonymous feedback is told by arrived")
        return super().heard(context, decision, reward)
