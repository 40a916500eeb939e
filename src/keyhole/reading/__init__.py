"""What a file says, read: sources of problems, tables of named values, complaints.

A room, and a package that brings one, says here how a spec describes its problems.
"""

from keyhole.reading.complaints import complaint, unknown
from keyhole.reading.sources import Argument, Source
from keyhole.reading.values import Read, a_file, call_of, list_of, one_of, plain

__all__ = [
    "Argument",
    "Read",
    "Source",
    "a_file",
    "call_of",
    "complaint",
    "list_of",
    "one_of",
    "plain",
    "unknown",
]
