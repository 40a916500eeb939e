"""The functions of a setting (kind of decision problem) or a spec, compiled before their use."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from keyhole.contract.compiled_class import compiled_environment, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Environment
from keyhole.contract.wrapper_policy import WrapperPolicy, with_default_base
from keyhole.drivers.asynchronous_engine import compiled_asynchronous_loop
from keyhole.drivers.engine import compiled_engine
from keyhole.drivers.learner_step import compiled_step
from keyhole.experiment.setting_registry import RegisteredSetting
from keyhole.experiment.spec import Spec
from keyhole.kernels.compile_cache import find_code_file
from keyhole.kernels.kernel_declaration import bounds_checked
from keyhole.play.simulation_plan import Plan, SimulatedWorkers

CompileJob = tuple[str, Callable[[], object]]
"""The name of a kernel, and the function that compiles it unless it is in the cache."""


def setting_jobs(registered: RegisteredSetting) -> list[CompileJob]:
    """Return the kernels of a setting: each policy as a learner and in each environment."""
    return [job for kind in registered.policies.values() for job in policy_jobs(kind, registered)]


def policy_jobs(kind: type[Policy], registered: RegisteredSetting) -> list[CompileJob]:
    """Return the kernels of a policy: as a learner and in each environment of its setting."""
    # Base classes of environments lack kernels, which their subclasses define.
    environments = [one for one in registered.environments if _is_complete(one)]
    # A wrapper policy is compiled for its default base.
    kind = with_default_base(kind) if issubclass(kind, WrapperPolicy) else kind
    return _jobs(kind, environments)


def spec_jobs(spec: Spec, *, learners: bool = True) -> list[CompileJob]:
    """Return the kernels of a spec: its policies in its environments, and as learners."""
    found: dict[str, CompileJob] = {}
    for point in spec.points:
        for job in _jobs_of_plan(point.spec.plan, learners=learners):
            found.setdefault(job[0], job)
    return list(found.values())


def find_file(job: CompileJob) -> Path | None:
    """Return the file of a kernel in the cache, which need not exist; None if it is not kept."""
    # A kernel that is refused has no file; compiling it says why.
    with suppress(TypeError, ValueError):
        if file := find_code_file(job[1]):
            return file.path
    return None


def plan_jobs(plan: Plan, label: str) -> list[CompileJob]:
    """Return the kernels that simulate one policy of a plan."""
    policies = {label: plan.policies[label]}
    workers = {label: plan.workers[label]} if plan.workers else {}
    return _jobs_of_plan(replace(plan, policies=policies, workers=workers), learners=False)


def _jobs_of_plan(plan: Plan, *, learners: bool) -> list[CompileJob]:
    environment, jobs = plan.problem.environment, list[CompileJob]()
    for label, policy in plan.policies.items():
        # Simulated workers have a loop of their own, into which their durations are compiled.
        if plan.workers:
            jobs.append(_job_with_workers(type(policy), environment, plan.workers[label]))
        else:
            jobs += _jobs(type(policy), [environment], learners=learners)
    return jobs


def _jobs(
    kind: type[Policy], environments: list[type[Environment]], *, learners: bool = True
) -> list[CompileJob]:
    side, setting = compiled_policy(kind), kind.setting

    def loaded() -> object:  # from a file: such learners check every index
        with bounds_checked():
            return compiled_step(side, setting)

    jobs: list[CompileJob] = []
    if learners:
        jobs += [
            (kind.__name__, lambda: compiled_step(side, setting)),
            (f"{kind.__name__} loaded from a file", loaded),
        ]
    for environment in environments:
        other = compiled_environment(environment)
        jobs.append(
            (
                f"{kind.__name__} in {environment.__name__}",
                # A default binds this round's environment: a free variable would be the last one's
                # by then.
                lambda other=other: compiled_engine(setting, side, other),  # type: ignore[misc]
            )
        )
    return jobs


def _job_with_workers(
    kind: type[Policy], environment: type[Environment], workers: SimulatedWorkers
) -> CompileJob:
    side, other = compiled_policy(kind), compiled_environment(environment)
    return (
        f"{kind.__name__} with workers in {environment.__name__}",
        lambda: compiled_asynchronous_loop(kind.setting, side, other, workers.duration.draw),
    )


def _is_complete(environment: type[Environment]) -> bool:
    return all(hasattr(environment, name) for name in ("respond", "score", *environment.helpers))
