"""The reads of a program while it was imported, traced and lowered, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# The sources that have no state to compare, as messages name them.
CLOCK = "the clock"
NETWORK = "the network"
RANDOM = "a random source"
LISTING = "a directory listing"
PROGRAM = "the output of another program"
NATIVE = "files through native code"


@dataclass(frozen=True)
class Reads:
    """The reads of a program, as plain data; paths are absolute.

    `started` is the time at which the recording began, in nanoseconds. `folders` were searched for
    modules. `statuses` are paths whose size or time was read, and `kinds` paths that were only
    looked for. `working_directory` is True if a path was relative, or the folder was read. `always`
    has the sources without a state, each with the "file:line" of its first read, empty if it is not
    known.
    """

    started: int
    files: tuple[str, ...]
    folders: tuple[str, ...]
    kinds: tuple[str, ...]
    statuses: tuple[str, ...]
    variables: tuple[str, ...]
    whole_environment: bool
    working_directory: bool
    always: Mapping[str, str]
