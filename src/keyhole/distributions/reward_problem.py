"""Base class of problems whose options (arms) pay random rewards in [0, 1], of given means."""

from collections.abc import Sequence
from typing import Any

from keyhole.contract.problem import Problem
from keyhole.distributions.distribution import Distribution
from keyhole.distributions.sampler_dispatch import combine_distributions
from keyhole.policy import FloatArray
from keyhole.validate import short_repr


class RewardProblem(Problem):
    """Base class of problems whose arms have means, or distributions of rewards."""

    def __init__(
        self,
        means: FloatArray,
        distributions: Sequence[Distribution],
        names: tuple[Any, ...] | None = None,
    ) -> None:
        self.means, self.distributions, self.arm_names = means, list(distributions), names
        self._drawn = combine_distributions(self.distributions)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.distributions)

    def truth(self) -> dict[str, Any]:
        """Return the fields of the environment, which no policy reads."""
        return {"arms": self.arms, **self._drawn.truth()}


def list_values(values: Any, names: Sequence[Any] | None = None) -> str:
    """Return the first six numbers of a list as text, for a `repr`: with names as a mapping."""
    shown = [f"{v:g}" for v in values[:6]] + ["..."] * (len(values) > 6)
    if names is None:
        return f"[{', '.join(shown)}]"
    named = [f"{short_repr(name)}: {v}" for name, v in zip(names, shown[:6], strict=False)]
    return f"{{{', '.join(named + shown[6:])}}}"
