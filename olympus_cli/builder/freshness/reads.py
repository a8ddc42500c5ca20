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
HASH_SEED = "the hash seed of its process"
SYSTEM = "the state of the system"


@dataclass(frozen=True)
class Reads:
    """The reads of a program, as plain data; paths are absolute.

    `started` is the time at which the recording began, in nanoseconds. `files` were opened, and
    `missing` files were looked for. The other states are those at the time of the read: `folders`
    that were searched for modules, each with its importable names, one in a line; `kinds` of paths
    that were only looked for; `statuses`, the "size time" of paths whose status was read; the texts
    of `links`. An empty text is that of a missing path.

    `working_directory` is True if a path was relative, or the folder was read. `always` has the
    sources without a state, each with the "file:line" of its first read, empty if it is not known.
    """

    started: int
    files: tuple[str, ...]
    missing: tuple[str, ...]
    folders: Mapping[str, str]
    kinds: Mapping[str, str]
    statuses: Mapping[str, str]
    links: Mapping[str, str]
    variables: tuple[str, ...]
    whole_environment: bool
    working_directory: bool
    always: Mapping[str, str]
