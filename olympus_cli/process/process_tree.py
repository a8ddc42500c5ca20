"""The processes that a process started, and the memory that they use, from `/proc`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_KIB = 1024


def has_process_files() -> bool:
    """Return True if this system has the files in `/proc` that this module reads."""
    return os.path.exists("/proc/self/statm")


def children(process: int) -> list[int]:
    """Return the ids of the children of a process; none on a system without `/proc`."""
    return [child for child, parent in _parents().items() if parent == process]


def descendants(process: int) -> list[int]:
    """Return the ids of all processes below a process, parents first.

    >>> descendants(os.getpid())
    []
    """
    below: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        below.setdefault(parent, []).append(child)
    found = list(below.get(process, ()))
    for one in found:  # the list grows while it is read
        found += below.get(one, ())
    return found


def resident_memory(processes: Iterable[int]) -> int:
    """Return the resident memory of processes in bytes; pages that several share count for each."""
    total = 0
    for process in processes:
        with suppress(OSError, ValueError), open(f"/proc/{process}/statm", "rb") as file:
            total += _PAGE * int(file.read().split()[1])
    return total


def proportional_memory(processes: Iterable[int]) -> int | None:
    """Return the resident memory of processes in bytes; shared pages count once in all.

    None if the system does not report it.
    """
    total = 0
    for process in processes:
        try:
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
                shares = [int(line.split()[1]) for line in file if line.startswith("Pss:")]
                total += _KIB * sum(shares)
        except ProcessLookupError:  # it has ended
            continue
        except (OSError, ValueError):
            return None
    return total


def _parents() -> dict[int, int]:
    """Return the parent of each process."""
    parents = {}
    with suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as file:
                # the name of the program, in parentheses, may contain any character
                _state, parent = file.read().rpartition(b")")[2].split()[:2]
                parents[int(name)] = int(parent)
    return parents
