"""Run commands under time and memory limits that hold for all processes that they start."""

from keyhole.runner.command_result import OUTCOMES, CommandResult
from keyhole.runner.limited_process import JobError, LimitedProcess
from keyhole.runner.runner import LEAST_MEMORY, MECHANISMS, Runner

__all__ = [
    "LEAST_MEMORY",
    "MECHANISMS",
    "OUTCOMES",
    "CommandResult",
    "JobError",
    "LimitedProcess",
    "Runner",
]
