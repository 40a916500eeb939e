"""The file of a saved learner: versioned JSON with a checksum, replaced in one step.

The file is one JSON object: ``format`` ("keyhole-learner"), ``version`` (of the format),
``keyhole`` (the version that wrote it), ``checksum`` (SHA-256 of the content, as JSON with sorted
keys and no spaces), and ``content``: the policy's class, module and parameters, the facts it
knows, rounds begun, whether feedback is awaited, its stream (two unsigned words), and all arrays
with dtype, shape and values. Floats are written so that they read back exactly.
"""

import hashlib
import importlib
import json
import math
import os
import sys
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.core.policy import Policy

_FORMAT: Final = "keyhole-learner"
_VERSION: Final = 1

Arrays = Mapping[str, Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class SavedState:
    """The content of a saved learner; see the module's docstring."""

    policy: str
    module: str
    parameters: dict[str, Any]
    facts: dict[str, Any]
    rounds: int
    pending: bool
    stream: NDArray[np.uint64]
    arrays: Arrays

    def find_policy(self, candidates: Iterable[type[Policy]]) -> type[Policy]:
        """Return the policy's class: from the candidates, Keyhole, or a module in use."""
        for candidate in candidates:
            if candidate.__name__ == self.policy:
                return candidate
        if self.module.split(".")[0] == "keyhole":
            importlib.import_module(self.module)
        # Never imported on a file's word: only what the caller has imported already is looked at.
        found = getattr(sys.modules.get(self.module), self.policy, None)
        if isinstance(found, type) and issubclass(found, Policy):
            return found
        raise ValueError(
            f"the saved policy {self.policy} of {self.module} is not known here; give its class: "
            f"Learner.load(path, policies=[{self.policy}])"
        )

    def restore(self, path: Path, arrays: Arrays) -> None:
        """Copy the saved arrays into those of a learner, which must have the same form."""
        for group, views in arrays.items():
            saved = self.arrays.get(group, {})
            form = {name: (a.dtype, a.shape) for name, a in views.items()}
            if {name: (a.dtype, a.shape) for name, a in saved.items()} != form:
                raise ValueError(
                    f"{path}: the saved {group} does not fit {self.policy} as it is now"
                )
            for name, view in views.items():
                view[...] = saved[name]


def write_state(path: Path, saved: SavedState) -> None:
    """Write a saved learner; the file appears complete or not at all.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    content = {
        "policy": saved.policy,
        "module": saved.module,
        "parameters": saved.parameters,
        "facts": {
            n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in saved.facts.items()
        },
        "rounds": saved.rounds,
        "pending": saved.pending,
        "stream": [int(word) for word in saved.stream],
        "arrays": {
            group: {name: _to_json(array) for name, array in arrays.items()}
            for group, arrays in saved.arrays.items()
        },
    }
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "keyhole": version("keyhole"),
        "checksum": _checksum(content),
        "content": content,
    }
    write_atomically(path, json.dumps(document, allow_nan=False).encode())


def read_state(path: Path) -> SavedState:
    """Read a saved learner.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no saved learner, damaged, or newer than this version can read.
    """
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a saved learner, or was cut short") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ValueError(f"{path} is not a saved learner")
    if document.get("version") != _VERSION:
        raise ValueError(
            f"{path} has version {document.get('version')} of the format (written by keyhole "
            f"{document.get('keyhole')}); this is keyhole {version('keyhole')}, which reads "
            f"version {_VERSION}"
        )
    content = document.get("content")
    if not isinstance(content, dict) or document.get("checksum") != _checksum(content):
        raise ValueError(f"{path} is damaged: its checksum does not match")
    return SavedState(
        policy=content["policy"],
        module=content["module"],
        parameters=content["parameters"],
        facts=content["facts"],
        rounds=content["rounds"],
        pending=content["pending"],
        stream=np.array(content["stream"], np.uint64),
        arrays={
            group: {name: _from_json(array) for name, array in arrays.items()}
            for group, arrays in content["arrays"].items()
        },
    )


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is complete or absent, whatever happens on the way.

    Parameters
    ----------
    path : Path
        Where to; its folder must exist.
    data : bytes
        What.

    Raises
    ------
    OSError
        If it cannot be written; a file that was there before is still there.
    """
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _to_json(array: NDArray[Any]) -> dict[str, Any]:
    values = [v if math.isfinite(v) else str(v) for v in array.ravel().tolist()]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}


def _from_json(saved: Mapping[str, Any]) -> NDArray[Any]:
    kind = float if saved["dtype"] == "float64" else int
    values = [kind(v) for v in saved["values"]]  # float("-inf") reads what str(-inf) wrote
    return np.array(values, saved["dtype"]).reshape(saved["shape"])
