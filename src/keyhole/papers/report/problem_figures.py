"""Declaration of a figure of the problems of a reproduced experiment, which needs no simulation."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from keyhole.validate import check_choice

DRAWING_NAMES: Final = ("resource.runs", "resource.gains", "resource.refinement")
"""Every drawing that an entry may name, by its setting and its own name."""


def _check_drawing_name(name: str) -> str:
    return check_choice("draw", name, DRAWING_NAMES)


class ProblemFigure(BaseModel):
    """Declaration of a figure of problems."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    draw: Annotated[str, AfterValidator(_check_drawing_name)]
    problems: Annotated[list[str], Field(min_length=1)]  # keys; each has a panel of its own
    # of the arms; by default their indices
    names: Annotated[list[str], Field(default_factory=list)]
    note: str = ""  # a sentence on what it shows

    def check(self, where: str, problems: Mapping[str, Any]) -> None:
        """Refuse problems of another setting, and names that are not one for each arm."""
        setting = self.draw.partition(".")[0]
        for key, problem in problems.items():
            if problem.setting.name != setting:
                raise ValueError(
                    f"{where}.draw must be a drawing of the setting {problem.setting.name!r}, as "
                    f"{key!r} is, got {self.draw!r}"
                )
            if self.names and len(self.names) != problem.arms:
                raise ValueError(
                    f"{where}.names must have {problem.arms} entries, one for each arm of "
                    f"{key!r}, got {len(self.names)}"
                )
