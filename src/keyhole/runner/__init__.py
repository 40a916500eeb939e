"""Real commands: limits that hold for all that a command starts, and what it has used."""

from keyhole.runner.command_result import OUTCOMES, CommandResult
from keyhole.runner.runner import LEAST_MEMORY, MECHANISMS, Runner

__all__ = ["LEAST_MEMORY", "MECHANISMS", "OUTCOMES", "CommandResult", "Runner"]
