"""The peaks of this machine's CPU as they were measured, kept in the user's cache directory.

`olympus_core/calibration.py` measures them.  The file is `olympus/cpu-<digest>.json` in
`XDG_CACHE_HOME`, or in `~/.cache` where that is not set; the digest is of the CPU's model and of
the number of its threads that this process may use.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

from olympus_core.errors import ArtifactError, UsageError
from olympus_core.regular_files import read_regular

__all__ = [
    "GENERIC",
    "Calibrated",
    "Cpu",
    "CpuPeaks",
    "Kept",
    "cache_file",
    "keep_peaks",
    "kept_peaks",
    "known_peaks",
    "peaks_assumption",
    "this_cpu",
]

_MOST_BYTES = 2**20  # of a file
_VERSION = 2  # raised with every change of the file; of version 1 all but its origin is known
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


class Cpu(NamedTuple):
    """What peaks are of: the model's name, and the threads that this process may use."""

    model: str
    threads: int


@dataclass(frozen=True)
class CpuPeaks:
    """Measured peaks: rates are operations or bytes a second, times are seconds.

    `products` are rates of large matrix products, a multiply-add is two, in float32 and in float64;
    `vector` of elementwise arithmetic in float32, `transcendentals` of functions such as tanh.
    `read` is the bandwidth of reading large arrays, `copy` of reading one and writing one in its
    place, and `fresh` of writing memory that was not used before.  A call takes `call`
    seconds, and each kernel in a program `launch`.
    """

    product_float32: float
    product_float64: float
    vector: float
    transcendentals: float
    read: float
    copy: float
    fresh: float
    call: float
    launch: float

    def of_each(self, count: int) -> CpuPeaks:
        """The peaks of each of `count` devices that this CPU is taken for, all at work at once.

        They share its processors and its memory, so that a rate is an n-th; times are the same.

        Example:
          >>> GENERIC.of_each(4).read == GENERIC.read / 4
          True
        """
        times = ("call", "launch")
        rates = {key: rate for key, rate in asdict(self).items() if key not in times}
        return replace(self, **{key: rate / count for key, rate in rates.items()})


#: What is taken where nothing was measured: a server's core of about 2020, two threads of it.
GENERIC = CpuPeaks(
    product_float32=100e9,
    product_float64=50e9,
    vector=30e9,
    transcendentals=1.5e9,
    read=15e9,
    copy=15e9,
    fresh=2e9,
    call=8e-6,
    launch=1e-6,
)


class Calibrated(NamedTuple):
    """When peaks were measured, such as "2026-11-23 19:10 UTC", and the load before it.

    `load` is the mean number of processes in the last minute that ran or wanted to run; None where
    the system does not report it.
    """

    time: str
    load: float | None

    def __str__(self) -> str:
        load = "an unknown load" if self.load is None else f"a load of {self.load:.3g}"
        return f"{self.time} at {load}"

    @staticmethod
    def now() -> Calibrated:
        """This moment and the load of the machine."""
        load = None
        with suppress(OSError, AttributeError):
            load = os.getloadavg()[0]
        return Calibrated(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), load)


class Kept(NamedTuple):
    """The peaks that are kept for this CPU, or None, and then perhaps why they cannot be used.

    `calibrated` is when and at which load they were measured; None for a file of an earlier
    version, which does not have it.
    """

    peaks: CpuPeaks | None
    trouble: str | None = None
    calibrated: Calibrated | None = None

    @property
    def origin(self) -> str | None:
        """When and at which load the peaks were measured, in words; None without peaks."""
        if self.peaks is None:
            return None
        return str(self.calibrated or "an unknown time and load, by an earlier version of olympus")

    @property
    def assumption(self) -> str:
        """The sentence on these peaks among the assumptions of an estimate for this CPU."""
        return peaks_assumption(self.origin)


def peaks_assumption(origin: str | None) -> str:
    """The sentence on the peaks of this CPU, which were measured at `origin` or not at all."""
    if origin is None:
        return (
            "The peaks of this CPU were not measured, and usual ones are taken: olympus devices "
            "--calibrate measures them."
        )
    return f"The peaks of this CPU are those that olympus devices --calibrate measured: {origin}."


@functools.cache
def this_cpu() -> Cpu:
    """The CPU that this process runs on."""
    return Cpu(_model(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


def _model() -> str:
    """The name of the model, with what tells those apart that have one name."""
    found: dict[str, str] = {}
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if not line.strip():  # the next processor
                break
            found[key.strip()] = value.strip()
    name = found.get("model name") or platform.processor() or platform.machine() or "unknown"
    numbers = [found[k] for k in ("cpu family", "model", "stepping") if k in found]
    return f"{name} ({'.'.join(numbers)})" if numbers else name


def cache_file(cpu: Cpu | None = None) -> Path | None:
    """Where the peaks of a CPU are kept, of this one unless given; None for a user without a home.

    >>> cache_file(Cpu("a", 2)).name
    'cpu-29c58cb14a610e5f.json'
    """
    cpu = cpu or this_cpu()
    folder = os.environ.get("XDG_CACHE_HOME", "")
    base = folder if os.path.isabs(folder) else os.path.expanduser("~/.cache")
    digest = hashlib.sha256(f"{cpu.model}\n{cpu.threads}".encode()).hexdigest()[:16]
    return Path(base, "olympus", f"cpu-{digest}.json") if os.path.isabs(base) else None


def kept_peaks() -> Kept:
    """The peaks of this CPU that were measured before, if there are any that can be used."""
    path = cache_file()
    if path is None:
        return Kept(None)
    try:
        text = read_regular(path, _MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Kept(None)
    except OSError as error:
        return Kept(None, f"{path} cannot be read: {error.strerror}")
    try:
        return _parsed(json.loads(text))
    except (ArtifactError, ValueError, RecursionError) as error:
        return Kept(None, f"{path} is damaged: {str(error) or 'it is nested too deeply'}")


def known_peaks() -> CpuPeaks:
    """The peaks that are kept for this CPU, or `GENERIC`: what an estimate takes."""
    return kept_peaks().peaks or GENERIC


def _parsed(data: object) -> Kept:
    """The peaks of a document; ArtifactError for any other."""
    if not isinstance(data, dict) or data.get("schema_version") not in (1, _VERSION):
        raise ArtifactError(f"it is not of version {_VERSION} or 1")
    cpu, peaks = data.get("cpu"), data.get("peaks")
    if cpu != this_cpu()._asdict():
        raise ArtifactError("it is of another CPU")
    names = {field.name for field in fields(CpuPeaks)}
    if not isinstance(peaks, dict) or peaks.keys() != names:
        raise ArtifactError("its figures are not those of this version")
    for name, value in peaks.items():
        if not isinstance(value, float) or not math.isfinite(value) or value <= 0:
            raise ArtifactError(f"{name} must be a number above 0, and is {value!r:.80}")
    calibrated = None if data["schema_version"] == 1 else _calibrated(data.get("calibrated"))
    return Kept(CpuPeaks(**peaks), None, calibrated)


def _calibrated(data: object) -> Calibrated:
    if not isinstance(data, dict) or data.keys() != {"time", "load"}:
        raise ArtifactError("it does not have the time and the load of the calibration")
    moment, load = data["time"], data["load"]
    if not isinstance(moment, str) or not _TIME.fullmatch(moment):
        raise ArtifactError(f"the time of the calibration is {moment!r:.80}")
    is_load = isinstance(load, float) and math.isfinite(load) and load >= 0
    if load is not None and not is_load:
        raise ArtifactError(f"the load must be a number of at least 0, and is {load!r:.80}")
    return Calibrated(moment, load)


def keep_peaks(peaks: CpuPeaks, calibrated: Calibrated | None = None) -> Path:
    """Keep the peaks of this CPU in the place of those that are kept; the path of the file.

    `calibrated` is when and at which load they were measured: now, unless given.

    Raises:
      UsageError: when there is no place for it, or the file cannot be written.
    """
    path = cache_file()
    if path is None:
        raise UsageError(
            "the peaks of the CPU cannot be kept: there is no home directory",
            hint="XDG_CACHE_HOME names a folder for them",
        )
    import tempfile  # whose own imports are many, and peaks are kept seldom

    data = {
        "schema_version": _VERSION,
        "cpu": this_cpu()._asdict(),
        "calibrated": (calibrated or Calibrated.now())._asdict(),
        "peaks": asdict(peaks),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=".cpu-", delete=False
        ) as file:
            try:
                json.dump(data, file, indent=1)
                file.close()
                os.replace(file.name, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    return path
