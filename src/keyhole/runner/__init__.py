"""Run commands under time and memory limits that hold for all processes that they start."""

from keyhole.runner.command_result import OUTCOMES, CommandResult
from keyhole.runner.function_process import FunctionProcess, JobError
from keyhole.runner.runner import LEAST_MEMORY, MECHANISMS, Runner

__all__ = [
    "LEAST_MEMORY",
    "MECHANISMS",
    "OUTCOMES",
    "CommandResult",
    "FunctionProcess",
    "JobError",
    "Runner",
]
