"""Cost model: what a second of run time costs, and what it costs to stop a run at its limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyhole.resource.cost_functions import Power
from keyhole.spec_values.error_messages import check_entries
from keyhole.validate import Range, check_choice, check_number, short_repr

_PRESETS: Final = {"PAR2": 2.0, "PAR10": 10.0}
_ENTRIES: Final = ("cost_per_second", "cost_of_giving_up")
_AT_LEAST_0: Final = Range(ge=0)


@dataclass(frozen=True)
class CostModel:
    """Costs of a run, in the unit of the reward.

    Attributes
    ----------
    cost_per_second : float
        Cost of each second of a run.
    cost_of_giving_up : float
        Additional cost of a run that reaches its limit.
    preset : str
        Name of the preset, or "".
    """

    cost_per_second: float
    cost_of_giving_up: float = 0.0
    preset: str = ""

    @classmethod
    def from_entry(cls, value: Any, cutoff: float, span: float) -> "CostModel":
        r"""Make a cost model of the entry ``objective``: a preset, or a table.

        With ``"PAR10"`` the gain of a run at the full cut-off T is :math:`9 - PAR_{10} / T`
        cut-offs, where PAR10 is its time, or 10 T without success. A success is worth nine
        cut-offs of time; a run that is given up earlier has cost less time.
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
        check_entries("objective", value, _ENTRIES)
        per_second = check_number(
            "objective.cost_per_second", value.get("cost_per_second", 0.0), _AT_LEAST_0
        )
        if per_second * cutoff > span:
            raise ValueError(
                f"objective.cost_per_second must be at most {span / cutoff:g}, or a run at the "
                f"largest limit costs more than the best reward, got {per_second:g}"
            )
        giving_up = check_number(
            "objective.cost_of_giving_up", value.get("cost_of_giving_up", 0.0), _AT_LEAST_0
        )
        return cls(per_second, giving_up)

    @property
    def cost(self) -> Power:
        """Cost of a run as a function of its seconds."""
        return Power(slope=self.cost_per_second)

    def penalty(self, least: float) -> Power:
        """Return the cost of exceeding a limit: its seconds, giving up, less the least reward."""
        return Power(slope=self.cost_per_second, constant=self.cost_of_giving_up - least)

    def as_json(self) -> Any:
        """Return the entry ``objective`` of a spec."""
        return self.preset or {
            "cost_per_second": self.cost_per_second,
            "cost_of_giving_up": self.cost_of_giving_up,
        }
