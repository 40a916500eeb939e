"""What seconds cost, and what giving up costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyhole.reading import unknown
from keyhole.resource.functions import Power
from keyhole.validate import Range, choice, number, shown

_PRESETS: Final = {"PAR2": 2.0, "PAR10": 10.0}
_ENTRIES: Final = ("second", "giving_up")
_AT_LEAST_0: Final = Range(ge=0)


@dataclass(frozen=True)
class Worth:
    """What a run costs, in the unit of the reward.

    Attributes
    ----------
    second : float
        What a second costs, of every run.
    giving_up : float
        What a run costs that is given up, beyond its seconds.
    preset : str
        Its name, if it is a preset.
    """

    second: float
    giving_up: float = 0.0
    preset: str = ""

    @classmethod
    def of(cls, value: Any, cutoff: float, span: float) -> "Worth":
        r"""Return what the entry ``worth`` says: a preset, or a table.

        With ``"PAR10"`` a run at the full cut-off is worth, in cut-offs, :math:`9 - PAR_{10} / T`:
        its time, or ten times the cut-off if it is not done. So a success is worth nine cut-offs
        of time, and whoever gives up earlier has only spent less of it.
        """
        if isinstance(value, str):
            times = _PRESETS[choice("worth", value, _PRESETS)]
            return cls(span / ((times - 1.0) * cutoff), 0.0, value)
        if not isinstance(value, Mapping) or not value:
            presets = " or ".join(map(repr, _PRESETS))
            raise TypeError(
                f"worth must be {presets}, or a table such as {{ second = 0.01 }}, "
                f"got {shown(value)}"
            )
        for entry in value:
            if entry not in _ENTRIES:
                raise unknown(f"worth.{entry}", _ENTRIES)
        second = number("worth.second", value.get("second", 0.0), _AT_LEAST_0)
        if second * cutoff > span:
            raise ValueError(
                f"worth.second must be at most {span / cutoff:g}: the largest limit would cost "
                f"more than the best reward brings, got {second:g}"
            )
        giving_up = number("worth.giving_up", value.get("giving_up", 0.0), _AT_LEAST_0)
        return cls(second, giving_up)

    @property
    def cost(self) -> Power:
        """What the seconds of a run cost."""
        return Power(slope=self.second)

    def penalty(self, least: float) -> Power:
        """Return what it costs to exceed a limit: its seconds, giving up, and the least reward."""
        return Power(slope=self.second, constant=self.giving_up - least)

    def as_json(self) -> Any:
        """Return it as the spec says it."""
        return self.preset or {"second": self.second, "giving_up": self.giving_up}
