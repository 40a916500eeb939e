"""Run commands under time and memory limits that hold for all processes that they start."""

from keyhole.runner.function_process import FunctionProcess, JobError
from keyhole.runner.runner import MECHANISMS, MEMORY_RANGE, OUTCOMES, CommandResult, Runner

__all__ = [
    "MECHANISMS",
    "MEMORY_RANGE",
    "OUTCOMES",
    "CommandResult",
    "FunctionProcess",
    "JobError",
    "Runner",
]
