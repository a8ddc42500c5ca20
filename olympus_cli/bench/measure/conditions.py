"""The conditions of a measurement: the machine, its clock, and its load.

Figures of the kernel are from Linux; on other systems, and if the system does not provide them,
they are None. `root` is the folder with /proc and /sys.
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

#: The conditions by name: see `conditions`.
Conditions = Mapping[str, float | str | None]

_BUSY = 0.25  # of the processors, taken by others
_WAITING = 10.0  # percent of the last ten seconds in which a process waited for a processor
_SLOWED = 0.9  # of the clock at the beginning

_ROOT = Path("/")
_HAS_AFFINITY = hasattr(os, "sched_getaffinity")


def host() -> dict[str, str]:
    """Return the known facts of the machine before a device is used: `machine` without "device"."""
    cpu = this_cpu()
    return {
        "cpu": cpu.model,
        "threads": str(cpu.threads),
        "os": f"{platform.system()} {platform.machine()}".lower(),
    }


def machine(backend: olympus.Target) -> dict[str, str]:
    """Return the identity of the machine: figures of different machines cannot be compared.

    The keys are "cpu", "threads" (available to this process), "os" and "device".
    """
    device = backend.device or str(olympus.devices(backend.backend)[0].device_kind)
    return {**host(), "device": device}


def conditions(root: Path = _ROOT) -> dict[str, float | str | None]:
    """Return the current load and clock.

    - "load": the mean number of processes that ran or waited to run in the last minute;
    - "waiting": percent of the last ten seconds in which a process waited for a processor;
    - "clock_hz": of the fastest processor now; "governor": the policy that sets it;
    - "processors": of the machine; "threads": available to this process; "cpu_limit": processors
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


def recorded(before: Conditions, others: float | None, after: Conditions) -> Conditions:
    """Return the conditions of a measurement as its record has them.

    `others` are the processors that other programs took while it was measured.
    """
    loads = {"load_after": after["load"], "clock_hz_after": after["clock_hz"]}
    return {**before, "others": others, **loads}


def trouble(before: Conditions, after: Conditions) -> list[str]:
    """Return sentences on conditions that make the times doubtful: a busy machine, a fallen clock.

    `before` is from the time before the measurement, which is a load too.
    """
    sentences = []
    load, waiting = before.get("load"), before.get("waiting")
    threads = before.get("threads")
    assert isinstance(threads, float)
    if isinstance(load, float) and load > _BUSY * threads + 1:
        sentences.append(
            f"the machine is busy: a load of {load:g} with {threads:g} processors, so the times "
            "are too long and scattered"
        )
    elif isinstance(waiting, float) and waiting > _WAITING:
        sentences.append(
            f"the machine is busy: processes waited for a processor {waiting:g}% of the time, so "
            "the times are too long and scattered"
        )
    first, last = before.get("clock_hz"), after.get("clock_hz")
    if isinstance(first, float) and isinstance(last, float) and last < _SLOWED * first:
        sentences.append(
            f"the clock fell from {first / 1e9:.2f} to {last / 1e9:.2f} GHz while it was measured"
        )
    return sentences


class Others:
    """A meter of the processor time that others take, from now on.

    It counts the processors that this process may use. Others are all other processes, and other
    virtual machines as far as the system reports them.
    """

    def __init__(self, root: Path = _ROOT, clock: Callable[[], float] = time.perf_counter) -> None:
        self._root, self._clock = root, clock
        self._start = self._now()

    def mean(self) -> float | None:
        """Return the mean number of processors that others took since the start; None if unknown.

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
    """Return the bytes of memory that are available to this process; None if unknown."""
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
    """Return the number in a text; None if there is none, or one below 0, which means no limit."""
    with suppress(ValueError):
        value = float(text or "")
        return value if math.isfinite(value) and value >= 0 else None
    return None


def _first_number(path: Path) -> float | None:
    words = (_text(path) or "").split()
    return _number(words[0]) if words else None


def _waiting(root: Path) -> float | None:
    """Return the kernel's pressure figure: see Documentation/accounting/psi.rst."""
    for word in (_text(root / "proc/pressure/cpu") or "").split():
        if word.startswith("avg10="):
            return _number(word.removeprefix("avg10="))
    return None


def _busy_seconds(root: Path) -> float | None:
    """Return the busy seconds, since the system's start, of the processors this process may use.

    Documentation/filesystems/proc.rst, 1.7: user, nice, system, idle, iowait, irq, softirq, steal,
    in ticks. Steal is the time that other virtual machines took.
    """
    names = {f"cpu{number}" for number in os.sched_getaffinity(0)} if _HAS_AFFINITY else set()
    lines = [line.split() for line in (_text(root / "proc/stat") or "").splitlines()]
    rows = [[_number(word) for word in row[1:9]] for row in lines if names.intersection(row[:1])]
    ticks = [[value for value in row if value is not None] for row in rows]
    if len(ticks) < max(len(names), 1) or not all(
        len(times) == 8 and any(times) for times in ticks
    ):
        return None  # for example in a sandbox, where all are 0
    return sum(sum(times) - times[3] - times[4] for times in ticks) / os.sysconf("SC_CLK_TCK")


def _clock(root: Path) -> float | None:
    """Return the clock in hertz, from the driver, or else from /proc/cpuinfo.

    It is the clock of the fastest processor, which is a busy one: idle processors have a lower
    clock.
    """
    folder = root / "sys/devices/system/cpu"
    kilohertz = [_number(_text(path)) for path in folder.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")]
    clocks = [1e3 * number for number in kilohertz if number is not None]
    if not clocks:
        lines = (_text(root / "proc/cpuinfo") or "").splitlines()
        mhz = [_number(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
        clocks = [1e6 * frequency for frequency in mhz if frequency is not None]
    return max(clocks, default=None)


def _available(root: Path) -> float | None:
    for line in (_text(root / "proc/meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            kib = _number(line.split()[1])
            return None if kib is None else 1024 * kib
    return None


def _group(root: Path) -> Path:
    """Return the folder of this process's control group, in version 2."""
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        if line.startswith("0::"):
            return root / "sys/fs/cgroup" / line[3:].lstrip("/")
    return root / "sys/fs/cgroup"


def _cpu_limit(root: Path) -> float | None:
    quota, _, period = (_text(_group(root) / "cpu.max") or "").partition(" ")
    most, period_length = _number(quota), _number(period)
    if most is None:  # version 1
        most = _number(_text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us"))
        period_length = _number(_text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us"))
    return most / period_length if most is not None and most > 0 and period_length else None


def _group_memory(root: Path) -> tuple[float | None, float | None]:
    """Return the limit of the control group and its use, in bytes; None if there is no limit."""
    limit, used = (_number(_text(_group(root) / name)) for name in ("memory.max", "memory.current"))
    if limit is None:  # version 1: without a limit, its files contain 2^63 less a page
        folder = root / "sys/fs/cgroup/memory"
        limit = _number(_text(folder / "memory.limit_in_bytes"))
        used = _number(_text(folder / "memory.usage_in_bytes"))
    return (limit, used) if limit is not None and limit < 2**60 else (None, None)
