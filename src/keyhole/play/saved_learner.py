"""The file of a saved learner: versioned JSON with a checksum, replaced in one step.

The file is one JSON object: ``format`` ("keyhole-learner"), ``version`` (of the format),
``keyhole`` (the version that wrote it), ``checksum`` (SHA-256 of the content, as JSON with sorted
keys and no spaces), and ``content``: the policy's class, module and parameters, the known
quantities, rounds begun, whether feedback is awaited, the random stream (two unsigned words), and
all arrays with dtype, shape and values. Floats read back exactly. Version 2 also has ``scale``, the
least and the largest reward; version 3 has ``arm_names``, and ``scale`` if it is not [0, 1]. These
entries raise the version, since a program that ignored them would misread rewards or arms.
"""

import importlib
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole import validation
from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.state_arrays import Layout
from keyhole.files import json_checksum, read_file, write_atomically
from keyhole.former_names import find_new_name

_FORMAT: Final = "keyhole-learner"
_VERSION: Final = 1
_SCALE_VERSION: Final = 2
_NAMES_VERSION: Final = 3
_ROUNDS: Final = validation.Range(ge=0, le=2**53)  # floats represent all integers in this range
_NAME_TYPES: Final = (str, int, float, bool, type(None))
_NONFINITE_TEXTS: Final = ("inf", "-inf", "nan")  # as `_array_to_json` writes them
_POLICY_MODULE: Final = re.compile(r"keyhole\.[a-z]+\.policies(\.[a-z][a-z0-9_]*)?")
_EMPTY_MODULE: Final = ModuleType("empty")

DAMAGE_ERRORS: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
)  # fmt: skip
"""The errors that a damaged file can raise when it is read."""

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class SavedLearner:
    """The content of a saved learner; see the module's docstring."""

    policy: str
    module: str
    parameters: dict[str, Any]
    facts: dict[str, Any]
    rounds: int
    pending: bool
    stream: NDArray[np.uint64]
    arrays: dict[str, dict[str, NDArray[Any]]]
    scale: Scale = UNIT
    arm_names: tuple[Any, ...] | None = None

    def check_arrays(self, group: str, layout: Layout, sizes: Mapping[str, int]) -> None:
        """Refuse arrays whose dtypes or shapes differ from a layout's.

        An array whose field is declared as `added` may be missing, and becomes zero then.
        """
        new_names = {n for n, f in layout.fields.items() if f.added} - self.arrays[group].keys()
        saved_fields = {n: f for n, f in layout.fields.items() if f.kept and n not in new_names}
        forms = {n: (f.dtype, f.extent(sizes)) for n, f in saved_fields.items()}
        self._check_forms(group, forms)
        for name in new_names:
            self.arrays[group][name] = np.zeros(layout.fields[name].extent(sizes))

    def copy_arrays_into(self, arrays: Arrays) -> None:
        """Copy the saved arrays into a learner's arrays, which have equal dtypes and shapes."""
        for group, views in arrays.items():
            self._check_forms(group, {n: (str(a.dtype), a.shape) for n, a in views.items()})
            for name, view in views.items():
                view[...] = self.arrays[group][name]

    def _check_forms(self, group: str, forms: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """Refuse the arrays of a group unless their dtypes and shapes, by name, equal `forms`."""
        saved_forms = {n: (str(a.dtype), a.shape) for n, a in self.arrays.get(group, {}).items()}
        if missing := ", ".join(forms.keys() - saved_forms.keys()):
            raise ValueError(f"its {group} lacks {missing}")
        if saved_forms != forms:
            raise ValueError(f"its {group} has other arrays")


def find_policy(name: str, module: str, candidates: Iterable[type[Policy]] = ()) -> type[Policy]:
    """Return the class of a saved policy: a candidate, Keyhole's own, or one already imported.

    A file is not trusted, and importing a module runs its code. So only Keyhole's modules of
    policies are imported. Other modules are searched if they have been imported already.
    """
    for candidate in candidates:
        if not (isinstance(candidate, type) and issubclass(candidate, Policy)):
            raise TypeError(
                f"policies must be classes of policies, got {validation.short_repr(candidate)}"
            )
        if candidate.__name__ == name:
            return candidate
    module, name = find_new_name(module, name)
    if _POLICY_MODULE.fullmatch(module):
        with suppress(ImportError):
            importlib.import_module(module)
    policy_class = vars(sys.modules.get(module, _EMPTY_MODULE)).get(name)
    if isinstance(policy_class, type) and issubclass(policy_class, Policy):
        return policy_class
    raise ValueError(
        f"the saved policy {name} of {module} is not known here; give its class: "
        f"policies=[{name}], or --policy FILE.py:{name} on the command line"
    )


def write_learner(path: Path, saved: SavedLearner) -> None:
    """Write a saved learner atomically."""
    content: dict[str, Any] = vars(saved) | {
        "facts": {
            n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in saved.facts.items()
        },
        "stream": [int(word) for word in saved.stream],
        "arrays": {
            group: {name: _array_to_json(array) for name, array in arrays.items()}
            for group, arrays in saved.arrays.items()
        },
    }
    del content["scale"], content["arm_names"]
    lowest_version = _VERSION  # the lowest version of the format that can hold the learner
    if saved.scale != UNIT:
        lowest_version = _SCALE_VERSION
        content["scale"] = list(saved.scale)
    if saved.arm_names is not None:
        lowest_version = _NAMES_VERSION
        content["arm_names"] = [_check_arm_name(name) for name in saved.arm_names]
    document = {
        "format": _FORMAT,
        "version": lowest_version,
        "keyhole": version("keyhole"),
        "checksum": json_checksum(content),
        "content": content,
    }
    # JSON has no infinity and no NaN, so `_array_to_json` has written them as texts.
    write_atomically(path, json.dumps(document, allow_nan=False).encode())


def _check_arm_name(name: Any) -> Any:
    """Return the name of an arm; refuse a name that would read back as another value."""
    if type(name) not in _NAME_TYPES or (type(name) is float and not math.isfinite(name)):
        raise TypeError(
            "the name of an arm must be a text, a finite number, True, False or None to be saved "
            f"(pickle keeps every name), got {validation.short_repr(name)}"
        )
    return name


def read_learner(path: Path) -> SavedLearner:
    """Read a saved learner."""
    try:
        document = json.loads(read_file(path, "a saved learner"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a saved learner, or was cut short") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ValueError(f"{path} is not a saved learner")
    if document.get("version") not in (_VERSION, _SCALE_VERSION, _NAMES_VERSION):
        number = validation.short_repr(document.get("version"))
        raise ValueError(
            f"{path} has version {number} of the format (written by "
            f"keyhole {document.get('keyhole')}); this is keyhole {version('keyhole')}, which "
            f"reads versions {_VERSION} to {_NAMES_VERSION}"
        )
    try:
        content = document["content"]
        if document["checksum"] != json_checksum(content):
            raise ValueError("its checksum does not match")
        return _parse_content(content)
    except DAMAGE_ERRORS as error:
        prefix = "KeyError: " if isinstance(error, KeyError) else ""
        raise ValueError(f"{path} is damaged: {prefix}{error}") from error


def _parse_content(content: Mapping[str, Any]) -> SavedLearner:
    """Return the saved learner of a file's content; refuse invalid content."""
    stream = list(content["stream"])
    if len(stream) != 2 or any(type(word) is not int or not 0 <= word < 2**64 for word in stream):
        raise ValueError(
            f"stream must be two whole numbers below 2**64, got {validation.short_repr(stream)}"
        )
    arm_names = content.get("arm_names")
    if arm_names is not None:
        arm_names = tuple(map(_check_arm_name, validation.check_sequence("arm_names", arm_names)))
    return SavedLearner(
        policy=validation.check_line("policy", content["policy"]),
        module=validation.check_line("module", content["module"]),
        parameters=dict(content["parameters"]),
        facts=dict(content["facts"]),
        rounds=validation.check_integer("rounds", content["rounds"], _ROUNDS),
        pending=validation.check_flag("pending", content["pending"]),
        stream=np.array(stream, np.uint64),
        arrays={
            group: {name: _array_from_json(array) for name, array in arrays.items()}
            for group, arrays in content["arrays"].items()
        },
        scale=Scale.of(content.get("scale", UNIT)),
        arm_names=arm_names,
    )


def _array_to_json(array: NDArray[Any]) -> dict[str, Any]:
    values = [v if math.isfinite(v) else str(v) for v in array.ravel().tolist()]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}


def _array_from_json(saved: Mapping[str, Any]) -> NDArray[Any]:
    values = saved["values"]
    shape = tuple(saved["shape"])
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError(
            f"a shape must be whole numbers from 0, got {validation.short_repr(shape)}"
        )
    if math.prod(shape) != len(values):
        raise ValueError(
            f"an array of shape {validation.short_repr(shape)} cannot have {len(values)} values"
        )
    if validation.check_choice("dtype", saved["dtype"], ("float64", "int64")) == "int64":
        counts = [validation.check_integer("a count", v) for v in values]
        return np.array(counts, np.int64).reshape(shape)
    numbers = [
        float(v) if v in _NONFINITE_TEXTS else validation.check_number("a value", v) for v in values
    ]
    return np.array(numbers, np.float64).reshape(shape)
