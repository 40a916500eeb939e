"""What seconds cost, and what giving up costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyhole.resource.cost_functions import Power
from keyhole.spec_values import unknown_name_error
from keyhole.validate import Range, check_choice, check_number, short_repr

_PRESETS: Final = {"PAR2": 2.0, "PAR10": 10.0}
_ENTRIES: Final = ("cost_per_second", "cost_of_giving_up")
_AT_LEAST_0: Final = Range(ge=0)


@dataclass(frozen=True)
class CostModel:
    """What a run costs, in the unit of the reward.

    Attributes
    ----------
    cost_per_second : float
        What a second costs, of every run.
    cost_of_giving_up : float
        What a run costs that is given up, beyond its seconds.
    preset : str
        Its name, if it is a preset.
    """

    cost_per_second: float
    cost_of_giving_up: float = 0.0
    preset: str = ""

    @classmethod
    def of(cls, value: Any, cutoff: float, span: float) -> "CostModel":
        r"""Return what the entry ``objective`` says: a preset, or a table.

        With ``"PAR10"`` a run at the full cut-off is worth, in cut-offs, :math:`9 - PAR_{10} / T`:
        its time, or ten times the cut-off if it is not done. So a success is worth nine cut-offs
        of time, and whoever gives up earlier has only spent less of it.
        """
        if isinstance(value, str):
            times = _PRESETS[check_choice("objective", value, _PRESETS)]
            return cls(span / ((times - 1.0) * cutoff), 0.0, value)
        if not isinstance(value, Mapping) or not value:
            presets = " or ".join(map(repr, _PRESETS))
            raise TypeError(
                f"objective must be {presets}, or a table such as {{ cost_per_second = 0.01 }}, "
                f"got {short_repr(value)}"
            )
        for entry in value:
            if entry not in _ENTRIES:
                raise unknown_name_error(f"objective.{entry}", _ENTRIES)
        second = check_number(
            "objective.cost_per_second", value.get("cost_per_second", 0.0), _AT_LEAST_0
        )
        if second * cutoff > span:
            raise ValueError(
                f"objective.cost_per_second must be at most {span / cutoff:g}: the largest limit "
                f"would cost more than the best reward brings, got {second:g}"
            )
        giving_up = check_number(
            "objective.cost_of_giving_up", value.get("cost_of_giving_up", 0.0), _AT_LEAST_0
        )
        return cls(second, giving_up)

    @property
    def cost(self) -> Power:
        """What the seconds of a run cost."""
        return Power(slope=self.cost_per_second)

    def penalty(self, least: float) -> Power:
        """Return what it costs to exceed a limit: its seconds, giving up, and the least reward."""
        return Power(slope=self.cost_per_second, constant=self.cost_of_giving_up - least)

    def as_json(self) -> Any:
        """Return it as the spec says it."""
        return self.preset or {
            "cost_per_second": self.cost_per_second,
            "cost_of_giving_up": self.cost_of_giving_up,
        }
