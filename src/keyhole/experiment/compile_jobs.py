"""Compile jobs: the kernels of a setting or a spec that are compiled before their use."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from keyhole.contract.kernel_compilation import CompiledClass, compiled_environment, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Environment
from keyhole.contract.setting import Setting
from keyhole.contract.wrapper_policy import WrapperPolicy, subclass_for_default_base
from keyhole.drivers.engine import compiled_engine
from keyhole.drivers.learner_step import compiled_step
from keyhole.drivers.worker_simulation import compiled_asynchronous_loop
from keyhole.experiment.setting_registry import RegisteredSetting
from keyhole.experiment.spec import Spec
from keyhole.kernels.compile_cache import find_code_file
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.play.simulation_plan import Plan

CompileJob = tuple[str, Callable[[], object]]
"""The name of a kernel, and the function that compiles it unless it is in the cache."""


def setting_jobs(registered: RegisteredSetting) -> list[CompileJob]:
    """Return the jobs of all policies of a setting."""
    return [job for cls in registered.policies.values() for job in policy_jobs(cls, registered)]


def policy_jobs(policy_class: type[Policy], registered: RegisteredSetting) -> list[CompileJob]:
    """Return the jobs of a policy: as a learner and in each environment of its setting."""
    # Base classes of environments lack kernels, which their subclasses define.
    environments = list(filter(_is_complete, registered.environments))
    # A wrapper policy is compiled for its default base.
    if issubclass(policy_class, WrapperPolicy):
        policy_class = subclass_for_default_base(policy_class)
    return _make_jobs(policy_class, environments, with_learners=True)


def spec_jobs(spec: Spec) -> list[CompileJob]:
    """Return the jobs of the policies at all points of a spec, each job once."""
    jobs: dict[str, CompileJob] = {}
    for plan in (point.spec.plan for point in spec.points):
        for label in plan.policies:
            for job in list_plan_jobs(plan, label, with_learners=True):
                jobs.setdefault(job[0], job)
    return list(jobs.values())


def find_cache_file(job: CompileJob) -> Path | None:
    """Return the path of the cache file of a job's kernel; None if the kernel is never cached.

    The file need not exist yet.
    """
    # A kernel that cannot be built has no file. Its job raises the error.
    with suppress(TypeError, ValueError):
        if file := find_code_file(job[1]):
            return file.path
    return None


def list_plan_jobs(plan: Plan, label: str, *, with_learners: bool = False) -> list[CompileJob]:
    """Return the jobs of one policy of a plan: for simulations, and if wanted for its learners.

    A plan with simulated workers has no jobs for learners.
    """
    policy_class = type(plan.policies[label])
    environment = plan.problem.environment
    if not plan.workers:
        return _make_jobs(policy_class, [environment], with_learners=with_learners)
    # Simulated workers have their own loop, into which the distribution of durations is compiled.
    classes = compiled_policy(policy_class), compiled_environment(environment)
    draw = plan.workers[label].duration.draw
    loop = partial(compiled_asynchronous_loop, policy_class.setting, *classes, draw)
    return [(f"{policy_class.__name__} with workers in {environment.__name__}", loop)]


def _make_jobs(
    policy_class: type[Policy], environments: list[type[Environment]], *, with_learners: bool
) -> list[CompileJob]:
    policy = compiled_policy(policy_class)
    setting = policy_class.setting
    name = policy_class.__name__
    jobs: list[CompileJob] = []
    if with_learners:
        jobs.append((name, partial(compiled_step, policy, setting)))
        jobs.append((f"{name} loaded from a file", partial(_compile_checked_step, policy, setting)))
    for environment in environments:
        job = partial(compiled_engine, setting, policy, compiled_environment(environment))
        jobs.append((f"{name} in {environment.__name__}", job))
    return jobs


def _compile_checked_step(policy: CompiledClass, setting: Setting) -> object:
    """Compile the step of a learner that is loaded from a file, with checks of every index."""
    with bounds_checked():
        return compiled_step(policy, setting)


def _is_complete(environment: type[Environment]) -> bool:
    """Return whether a class has all kernels of an environment."""
    return all(hasattr(environment, name) for name in ("respond", "score", *environment.helpers))
