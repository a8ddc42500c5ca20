"""The memory available to this process, by the machine, its control group and its limits."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_KIB = 1024
_NO_LIMIT = 1 << 60  # bytes; version 1 of control groups has a large number for no limit


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still allocate, by the lowest limit; None if unknown.

    `root` is the folder of `proc` and `sys/fs/cgroup`.
    """
    return min((limit for limit in _available(root) if limit is not None), default=None)


def _available(root: Path) -> Iterator[int | None]:
    yield _of_machine(root)
    for folder in _group_folders(root):
        yield _of_group(folder)
    yield _of_addresses(root)


def _of_machine(root: Path) -> int | None:
    """Return the memory available without more swapping, plus the free swap space, in bytes."""
    fields = _fields(root / "proc/meminfo")
    if "MemAvailable:" not in fields:
        return None
    return _KIB * (fields["MemAvailable:"] + fields.get("SwapFree:", 0))


def _group_folders(root: Path) -> Iterator[Path]:
    """Yield the folders of the control groups of this process, up to the outermost."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            top = root / "sys/fs/cgroup" / controllers
            inner = top / path.lstrip("/")
            yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(top))


def _of_group(folder: Path) -> int | None:
    """Return the limit of a control group minus its usage, without file caches, in bytes."""
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        with suppress(OSError, ValueError):  # the outermost has none; "max" is no limit
            most = int((folder / limit).read_text())
            if most >= _NO_LIMIT:
                continue
            stat = _fields(folder / "memory.stat")
            files = stat.get("inactive_file", 0) + stat.get("active_file", 0)
            return max(0, most - int((folder / usage).read_text()) + files)
    return None


def _of_addresses(root: Path) -> int | None:
    """Return the bytes left of the limit of `ulimit -v`; None if it is not set."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    used = _fields(root / "proc/self/status").get("VmSize:", 0)
    return max(0, limit - _KIB * used)


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file that has a name and a number in each line."""
    fields = {}
    with suppress(OSError):
        for line in path.read_text().splitlines():
            parts = line.split()
            if len(parts) > 1 and parts[1].isdigit():
                fields[parts[0]] = int(parts[1])
    return fields


def peak_memory() -> int | None:
    """Return the largest resident set of this process so far, in bytes; None if unknown."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    import resource  # not Linux: a child may count memory inherited from its parent

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (peak if sys.platform == "darwin" else 1024 * peak) or None
