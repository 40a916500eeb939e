"""Claim (statement of a paper) that a function judges, of Keyhole or of a user."""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import create_model
from pydantic.errors import PydanticSchemaGenerationError

from keyhole.experiment.spec_factories import import_user_file
from keyhole.interrupts import replaced_errors
from keyhole.papers.claims.base import Claim, Finding, Result
from keyhole.papers.claims.cells import CellsClaim, has_cells
from keyhole.papers.claims.negative_control import ControlledClaim
from keyhole.papers.entry_references import PolicyName
from keyhole.play.plan import Plan
from keyhole.validate import check_choice

Judge = Callable[..., Finding]


class ComputedClaim(Claim):
    """A function judges the results: `by` names it, and its parameters are further fields.

    `by` is ``"module:function"``, or ``"file.py:function"`` with a file beside the entry's. The
    function gets the results by problem (`Result`), the parameter `metric` if it has one, and its
    other parameters from fields of the same names, whose annotations are checked when the file is
    read; it returns a `Finding`. Names are found by the annotations `ProblemName`, `PolicyName`,
    `MetricName`, `Checkpoint` and `Cells`. If it has a parameter `policy`, the claim may have a
    negative control. A function ``check_NAME(claim, plan)`` of the same module, if there is one,
    refuses by a ValueError what NAME could not judge.
    """

    kind: Literal["computed"]
    by: str
    function: ClassVar[Judge]
    refuse: ClassVar[Callable[[Any, Plan], None] | None] = None

    @property
    def judged_by(self) -> str:
        """The kind, and the function's name."""
        return f"{self.kind}: {self.function.__name__}"

    def check(self, plan: Plan) -> None:
        """Refuse what the function could not judge."""
        if self.refuse is not None:
            type(self).refuse(self, plan)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Return what the function finds."""
        return self._call(results)

    def _call(self, results: Mapping[str, Result], **changed: str) -> Finding:
        names = inspect.signature(self.function).parameters.keys() - {"results"}
        arguments = {name: getattr(self, name) for name in names}

        def replace(error: BaseException) -> ValueError:
            text = " ".join(str(error).split())
            return ValueError(f"{self.id}: {self.by} failed: {type(error).__name__}: {text}")

        with replaced_errors(replace):  # a user's function may raise anything
            finding = type(self).function(results, **(arguments | changed))
        if not isinstance(finding, Finding):
            raise ValueError(f"{self.id}: {self.by} must return a Finding, got {finding!r}")
        return finding


class ComputedPolicyClaim(ControlledClaim, ComputedClaim):
    """A computed claim about one policy, which may have a negative control."""

    policy: PolicyName

    def judge_policy(self, results: Mapping[str, Result], policy: str) -> Finding:
        """Return what the function finds of this policy."""
        return self._call(results, policy=policy)


def computed_claim(where: str, by: object, folder: Path | None) -> type[ComputedClaim]:
    """Return the class of the claims that the function `by` judges; `where` begins messages.

    Files are relative to the folder; None where there can be none.
    """
    place, colon, name = by.rpartition(":") if isinstance(by, str) else ("", "", "")
    if not (place and name.isidentifier()):
        raise ValueError(f'{where} must be "module:function" or "file.py:function", got {by!r}')
    if place.endswith(".py"):
        if folder is None:
            raise ValueError(f"{where} must name a module, got the file {place!r}")
        module = import_user_file(place, folder, field=where)
    else:
        text = f"{where}: {place!r} cannot be imported"
        with replaced_errors(lambda error: ValueError(f"{text}: {error}")):
            module = import_module(place)
    own = [key for key, value in vars(module).items() if inspect.isfunction(value)]
    function = getattr(module, check_choice(f"{where}: the function", name, own))
    try:
        return _claim_class(function, getattr(module, f"check_{name}", None))
    except (NameError, TypeError, ValueError, PydanticSchemaGenerationError) as error:
        text = str(error).partition("\n")[0]
        raise ValueError(f"{where}: {by!r} cannot judge a claim: {text}") from error


@lru_cache(maxsize=256)
def _claim_class(function: Judge, refuse: Any) -> type[ComputedClaim]:
    """Return a class of claims, whose fields are the parameters of the function."""
    parameters = inspect.signature(function, eval_str=True).parameters
    if "results" not in parameters:
        raise ValueError("it must have the parameter 'results'")
    fields = dict[str, Any]()
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ValueError(f"its parameter {name!r} must be one that can be given by its name")
        if name in ("results", "metric"):
            continue
        if hasattr(ComputedClaim, name) or name in ComputedClaim.model_fields:
            raise ValueError(f"its parameter {name!r} must have another name: claims have that")
        hint = Any if parameter.annotation is parameter.empty else parameter.annotation
        fields[name] = hint, ... if parameter.default is parameter.empty else parameter.default
    base = ComputedPolicyClaim if "policy" in fields else ComputedClaim
    bases = (CellsClaim, base) if any(has_cells(hint) for hint, _ in fields.values()) else (base,)
    cls: type[ComputedClaim] = create_model(
        function.__name__, __base__=bases, __doc__=function.__doc__, **fields
    )
    cls.function, cls.refuse = staticmethod(function), refuse and staticmethod(refuse)
    return cls
