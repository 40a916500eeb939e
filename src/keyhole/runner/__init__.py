"""Run commands under time and memory limits that hold for all processes that they start."""

from keyhole.former_names import add_former_names
from keyhole.runner.command_runner import (
    KILL_MECHANISMS,
    MEMORY_RANGE,
    RUN_OUTCOMES,
    CommandResult,
    CommandRunner,
)
from keyhole.runner.function_process import FunctionProcess, JobError

__all__ = [
    "KILL_MECHANISMS",
    "MEMORY_RANGE",
    "RUN_OUTCOMES",
    "CommandResult",
    "CommandRunner",
    "FunctionProcess",
    "JobError",
]

add_former_names(__name__)
