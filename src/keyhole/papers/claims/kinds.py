"""Table of all kinds of claims (statements of a paper), by their `kind` in an entry file."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, get_args

from keyhole.papers.claims.base import Claim

# Importing a module defines its classes, which `_subclasses` then finds.
for _module in iter_modules([str(Path(__file__).parent)]):
    if _module.name != "kinds":
        import_module(f"{__package__}.{_module.name}")


def _subclasses(cls: Any) -> list[type[Claim]]:
    return [one for child in cls.__subclasses__() for one in (child, *_subclasses(child))]


KINDS: Final[dict[str, type[Claim]]] = {
    get_args(cls.model_fields["kind"].annotation)[0]: cls
    for cls in _subclasses(Claim)
    if "kind" in cls.model_fields
}
"""Every kind of claim: each is a class in a module of this folder, with a `kind` of its own."""
