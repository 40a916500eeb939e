"""Run commands under time and memory limits that hold for all processes that they start."""

from keyhole.runner.command_runner import MECHANISMS, MEMORY_RANGE, OUTCOMES, CommandResult, Runner
from keyhole.runner.function_process import FunctionProcess, JobError

__all__ = [
    "MECHANISMS",
    "MEMORY_RANGE",
    "OUTCOMES",
    "CommandResult",
    "FunctionProcess",
    "JobError",
    "Runner",
]
