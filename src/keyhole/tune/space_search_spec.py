"""Spec of the search of a parameter space: the entries of a tune's spec that describe it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

from keyhole.spec_values.error_messages import check_entries
from keyhole.tune.arms import Arm
from keyhole.tune.configspace_json import read_config_space
from keyhole.tune.parameter_space import ParameterSpace
from keyhole.tune.success_rule import SuccessRule
from keyhole.validate import check_choice, check_line, short_repr

SPACE_ENTRIES: Final = ("parameters", "forbidden", "space")
SearchRule = Literal["model", "racing"]
_RULES: Final[tuple[SearchRule, ...]] = ("model", "racing")
_SUCCESS: Final = {"number": "", "scale": (0.0, 1.0), "at_limit": False}


@dataclass(frozen=True)
class SpaceSearchSpec:
    """Spec of the search of a parameter space: the space, and the rule that decides.

    Attributes
    ----------
    space : ParameterSpace
        The parameters of the only command.
    rule : {"model", "racing"}
        Whether a model of run times decides, or racing with adaptive capping.
    is_deterministic : bool
        Whether the command takes no ``{seed}``. A configuration is then run on an instance once.
    """

    space: ParameterSpace
    rule: SearchRule
    is_deterministic: bool

    @classmethod
    def from_table(cls, table: Mapping[str, Any], arms: Sequence[Arm], folder: Path) -> Self:
        """Read the entries of a spec; `arms` are its commands, and `folder` is its folder."""
        space = _parse_space(table, folder)
        if len(arms) > 1:
            raise ValueError(
                f"arm must be a single command with parameters, got {len(arms)}; to choose among "
                "programs, make the program a parameter"
            )
        rule = table.get("policy", "model")
        if isinstance(rule, Mapping):
            check_entries("policy", rule, ("name",))
            rule = rule.get("name")
        fields = [*arms[0].open_fields(), *arms[0].arguments]
        if "**" in fields:
            fields += space.names
        for name in space.names:
            # A parameter of the arm itself has its value there, and fills its field.
            if name in arms[0].parameters or name not in fields:
                raise ValueError(
                    f"parameters.{name} must be a field of the command, got none of this name: add "
                    f"{{{name}}}, or leave the parameter out"
                )
        return cls(space, check_choice("policy", rule, _RULES), "seed" not in fields)

    def check_success(self, success: SuccessRule) -> None:
        """Refuse a success rule with other rewards than 0 and 1, or with `at_limit`."""
        for entry, usual in _SUCCESS.items():
            if (value := getattr(success, entry)) != usual:
                raise ValueError(
                    f"success.{entry} must be left out with parameters, since configurations are "
                    f"compared by the success and the time of runs alone, got {short_repr(value)}"
                )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the search from its entry in a saved spec."""
        space = data["space"]
        return cls(**{**data, "space": ParameterSpace(space["parameters"], space["forbidden"])})


def _parse_space(table: Mapping[str, Any], folder: Path) -> ParameterSpace:
    if "space" not in table:
        return ParameterSpace(table.get("parameters", {}), table.get("forbidden", ()))
    for entry in ("parameters", "forbidden"):
        if entry in table:
            raise ValueError(f"{entry} must be left out with space, a file of ConfigSpace")
    return ParameterSpace(*read_config_space(folder / check_line("space", table["space"])))
