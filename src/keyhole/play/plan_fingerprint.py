"""The digest of all that determines the results of a simulation: code, parameters, seed.

Results that were saved under the same digest need not be simulated again.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from keyhole.contract.compiled_class import compiled_environment, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.kernels.fingerprint import fingerprint
from keyhole.kernels.math_library_digest import math_library_digest
from keyhole.kernels.package_digest import code_digest
from keyhole.play.plan import Plan
from keyhole.play.simulated_workers import SimulatedWorkers


def plan_parts(plan: Plan) -> list[Any]:
    """Return all that determines the results of a plan, except seed and replications.

    These are the problem's values; each policy's class, parameters, the numbers that its kernels
    read and its known quantities; the code of policies, environment, setting and core; the
    simulated workers; the versions of the compiler; and the digest of the math library.
    """
    setting, environment = plan.problem.setting, compiled_environment(plan.problem.environment)
    workers = [
        [label, *_worker_parts(workers, plan.policies[label])]
        for label, workers in plan.workers.items()
    ]
    kinds = {type(policy) for policy in plan.policies.values()}
    codes = {kind: compiled_policy(kind).digest for kind in kinds}
    return [
        workers,
        plan.checkpoints,
        fingerprint_texts(plan.problem.truth()),
        [
            [label, *_policy_parts(plan, policy), codes[type(policy)]]
            for label, policy in plan.policies.items()
        ],
        [setting.name, setting.budgeted, fingerprint(setting.allowed)],
        [environment.digest, plan.metrics],
        code_digest(),
        compiler_versions(),
        math_library_digest(),
    ]


@cache
def compiler_versions() -> list[str]:
    """Return the versions of the compiler's packages; cached, since they are read from files."""
    return [version(package) for package in ("numba", "llvmlite", "numpy")]


def json_digest(parts: Any) -> str:
    """Return the SHA-256 of nested lists and tables, as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _policy_parts(plan: Plan, policy: Policy) -> list[Any]:
    facts = [fingerprint_texts(plan.facts(policy, horizon)) for horizon, _ in plan.runs(policy)]
    return [
        type(policy).__name__,
        fingerprint_texts(policy.parameters()),
        fingerprint_texts(policy.numbers()),
        facts,
        *([fingerprint_texts({"wrong": plan.wrong_verdicts(policy)})] if policy.verdicts else ()),
    ]


def _worker_parts(workers: SimulatedWorkers, policy: Policy) -> list[Any]:
    duration = workers.duration
    return [
        workers.number,
        workers.pending_mode(policy),
        fingerprint(duration.draw),
        fingerprint_texts({"numbers": duration.numbers}),
        getattr(duration, "aged", False),  # declared by the class, so no part of its kernel
    ]


def fingerprint_texts(values: Mapping[str, Any]) -> list[list[str]]:
    """Return named values as texts; arrays by the SHA-256 of their content."""
    rows = []
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray | list | tuple):
            array = np.ascontiguousarray(value)
            form = f"{array.dtype.str} {array.shape}"
            rows.append([name, form, hashlib.sha256(array.tobytes()).hexdigest()])
        else:
            # The repr of a float has all of its bits.
            rows.append([name, type(value).__name__, repr(value)])
    return rows
