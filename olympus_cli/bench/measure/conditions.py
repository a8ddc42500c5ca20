"""Where and under which load something was measured: the machine, its clock, what else runs there.

What is asked of the kernel is of Linux; elsewhere, and where the system does not tell, it is None.
`root` is the folder that /proc and /sys are in.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import olympus
from olympus.analysis import this_cpu

__all__ = ["Conditions", "Others", "conditions", "free_memory", "host", "machine", "trouble"]

#: What was found, by name: see `conditions`.
Conditions = Mapping[str, float | str | None]

_BUSY = 0.25  # of the processors that others take
_WAITING = 10.0  # percent of the last ten seconds in which something waited for a processor
_SLOWED = 0.9  # of the clock at the beginning

_ROOT = Path("/")
_HAS_AFFINITY = hasattr(os, "sched_getaffinity")


def host() -> dict[str, str]:
    """What is known of the machine before a device is asked for: all of `machine` but "device"."""
    cpu = this_cpu()
    return {
        "cpu": cpu.model,
        "threads": str(cpu.threads),
        "os": f"{platform.system()} {platform.machine()}".lower(),
    }


def machine(backend: olympus.Target) -> dict[str, str]:
    """What figures can be compared with: those of another such machine cannot.

    The keys are "cpu", "threads" (that this process may use), "os" and "device".
    """
    device = olympus.devices(backend.backend)[0]
    return {**host(), "device": backend.device or str(device.device_kind)}


def conditions(root: Path = _ROOT) -> dict[str, float | str | None]:
    """The load and the clock now.

    - "load": the processes that ran or wanted to, as a mean of the last minute;
    - "waiting": percent of the last ten seconds in which something waited for a processor;
    - "clock_hz": of the fastest processor now; "governor": what chooses it;
    - "processors": of the machine; "threads": that this process may use; "cpu_limit": processors
      that its control group may use;
    - "memory_free" and "memory_limit", in bytes: of the machine, and of the control group.
    """
    return {
        "load": _first_number(root / "proc/loadavg"),
        "waiting": _waiting(root),
        "clock_hz": _clock(root),
        "governor": _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "processors": float(os.cpu_count() or 1),
        "threads": float(this_cpu().threads),
        "cpu_limit": _cpu_limit(root),
        "memory_free": _available(root),
        "memory_limit": _group_memory(root)[0],
    }


def trouble(before: Conditions, after: Conditions) -> list[str]:
    """Sentences about what makes the times doubtful: the machine is busy, or its clock has fallen.

    `before` is from the time before anything was measured, for what is measured is a load too.
    """
    found = []
    load, waiting = before.get("load"), before.get("waiting")
    threads = before.get("threads")
    assert isinstance(threads, float)
    if isinstance(load, float) and load > _BUSY * threads + 1:
        found.append(
            f"the machine is busy: a load of {load:g} with {threads:g} processors, so the times "
            "are too long and scattered"
        )
    elif isinstance(waiting, float) and waiting > _WAITING:
        found.append(
            f"the machine is busy: processes waited for a processor {waiting:g}% of the time, so "
            "the times are too long and scattered"
        )
    first, last = before.get("clock_hz"), after.get("clock_hz")
    if isinstance(first, float) and isinstance(last, float) and last < _SLOWED * first:
        found.append(
            f"the clock fell from {first / 1e9:.2f} to {last / 1e9:.2f} GHz while it was measured"
        )
    return found


class Others:
    """What others take of the processors that this process may use, from now on.

    Others are all processes but this one, and other virtual machines, as far as the system tells
    what these take.
    """

    def __init__(self, root: Path = _ROOT, clock: Callable[[], float] = time.perf_counter) -> None:
        self._root, self._clock = root, clock
        self._start = self._now()

    def mean(self) -> float | None:
        """Processors that they took, as a mean since the start; None if the system does not tell.

        >>> Others(Path("/nowhere")).mean() is None
        True
        """
        (start, before, own), (end, after, own_after) = self._start, self._now()
        if before is None or after is None or end <= start:
            return None
        return max(0.0, (after - before - (own_after - own)) / (end - start))

    def _now(self) -> tuple[float, float | None, float]:
        return self._clock(), _busy_seconds(self._root), time.process_time()


def free_memory(root: Path = _ROOT) -> int | None:
    """The bytes that this process may still take; None where the system does not tell."""
    limit, used = _group_memory(root)
    left = None if limit is None else limit - (used or 0)
    known = [value for value in (_available(root), left) if value is not None]
    return int(min(known)) if known else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(text: str | None) -> float | None:
    """The number that a text is; None for none, and for those below 0, which mean no limit."""
    with suppress(ValueError):
        value = float(text or "")
        return value if math.isfinite(value) and value >= 0 else None
    return None


def _first_number(path: Path) -> float | None:
    words = (_text(path) or "").split()
    return _number(words[0]) if words else None


def _waiting(root: Path) -> float | None:
    """The kernel's own figure: Documentation/accounting/psi.rst."""
    for word in (_text(root / "proc/pressure/cpu") or "").split():
        if word.startswith("avg10="):
            return _number(word.removeprefix("avg10="))
    return None


def _busy_seconds(root: Path) -> float | None:
    """Seconds that the processors which this process may use have worked since the system started.

    Documentation/filesystems/proc.rst, 1.7: user, nice, system, idle, iowait, irq, softirq, steal,
    in ticks.  Steal is what other virtual machines took.
    """
    names = {f"cpu{number}" for number in os.sched_getaffinity(0)} if _HAS_AFFINITY else set()
    lines = [line.split() for line in (_text(root / "proc/stat") or "").splitlines()]
    told = [[_number(word) for word in each[1:9]] for each in lines if names.intersection(each[:1])]
    ticks = [[value for value in each if value is not None] for each in told]
    if len(ticks) < max(len(names), 1) or not all(len(each) == 8 and any(each) for each in ticks):
        return None  # such as in a sandbox, where all are 0
    return sum(sum(each) - each[3] - each[4] for each in ticks) / os.sysconf("SC_CLK_TCK")


def _clock(root: Path) -> float | None:
    """Hertz: as the driver tells, or else as /proc/cpuinfo does.

    It is that of the fastest processor, which is one that works: those that do not are slowed down.
    """
    folder = root / "sys/devices/system/cpu"
    told = [_number(_text(path)) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")]
    clocks = [1e3 * each for each in told if each is not None]
    if not clocks:
        lines = (_text(root / "proc/cpuinfo") or "").splitlines()
        mhz = [_number(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
        clocks = [1e6 * each for each in mhz if each is not None]
    return max(clocks, default=None)


def _available(root: Path) -> float | None:
    for line in (_text(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            kib = _number(line.split()[1])
            return None if kib is None else 1024 * kib
    return None


def _group(root: Path) -> Path:
    """The folder of this process's control group, as version 2 has it."""
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return root / "sys/fs/cgroup" / line[3:].lstrip("/")
    return root / "sys/fs/cgroup"


def _cpu_limit(root: Path) -> float | None:
    quota, _, period = (_text(_group(root) / "cpu.max") or "").partition(" ")
    most, each = _number(quota), _number(period)
    if most is None:  # version 1
        most = _number(_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us"))
        each = _number(_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us"))
    return most / each if most is not None and most > 0 and each else None


def _group_memory(root: Path) -> tuple[float | None, float | None]:
    """The limit of the control group and what it uses, in bytes; None where there is no limit."""
    limit, used = (_number(_text(_group(root) / name)) for name in ("memory.max", "memory.current"))
    if limit is None:  # version 1, whose files say 2^63 less a page where there is none
        folder = root / "sys/fs/cgroup/memory"
        limit = _number(_text(folder / "memory.limit_in_bytes"))
        used = _number(_text(folder / "memory.usage_in_bytes"))
    return (limit, used) if limit is not None and limit < 2**60 else (None, None)
