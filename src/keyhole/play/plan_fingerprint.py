"""What decides the results of an experiment, as a digest."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from keyhole.contract.compiled_class import environment_component, policy_component
from keyhole.contract.policy import Policy
from keyhole.kernels.fingerprint import fingerprint
from keyhole.kernels.math_library import math_library_digest
from keyhole.kernels.source_digest import code_digest
from keyhole.play.plan import Plan
from keyhole.play.simulated_workers import SimulatedWorkers


def plan_parts(plan: Plan) -> list[Any]:
    """Return all that decides the results of a plan, but for seed and replications.

    The problem's values; of every policy the class, all parameters, what its kernels read of them
    and what it is told; the code of policies, world, setting and core; the workers; the versions of
    the compiler; and how this machine computes logarithms.
    """
    setting, environment = plan.problem.setting, environment_component(plan.problem.environment)
    work = [[label, *_work_print(work, plan.policies[label])] for label, work in plan.work.items()]
    kinds = {type(policy) for policy in plan.policies.values()}
    codes = {kind: policy_component(kind).digest for kind in kinds}
    return [
        work,
        plan.checkpoints,
        fingerprint_texts(plan.problem.truth()),
        [
            [label, *_policy_print(plan, policy), codes[type(policy)]]
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
    """Return the versions of what compiles: they are read from files, and a grid asks often."""
    return [version(package) for package in ("numba", "llvmlite", "numpy")]


def json_digest(parts: Any) -> str:
    """Return a digest of nested lists and tables."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _policy_print(plan: Plan, policy: Policy) -> list[Any]:
    told = [fingerprint_texts(plan.facts(policy, horizon)) for horizon, _ in plan.runs(policy)]
    return [
        type(policy).__name__,
        fingerprint_texts(policy.parameters()),
        fingerprint_texts(policy.numbers()),
        told,
    ]


def _work_print(work: SimulatedWorkers, policy: Policy) -> list[Any]:
    distribution, way = (
        work.duration,
        work.pending_mode(policy),
    )  # what a class declares is no part of its kernels
    numbers = fingerprint_texts({"numbers": distribution.numbers})
    return [
        work.number,
        way,
        fingerprint(distribution.draw),
        numbers,
        getattr(distribution, "aged", False),
    ]


def fingerprint_texts(values: Mapping[str, Any]) -> list[list[str]]:
    """Return named values as texts; arrays by the digest of their content."""
    rows = []
    for name, value in sorted(values.items()):
        if isinstance(value, np.ndarray | list | tuple):
            array = np.ascontiguousarray(value)
            form = f"{array.dtype.str} {array.shape}"
            rows.append([name, form, hashlib.sha256(array.tobytes()).hexdigest()])
        else:
            rows.append([name, type(value).__name__, repr(value)])
    return rows
