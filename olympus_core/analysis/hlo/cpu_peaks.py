"""The measured peaks of this machine's CPU, saved in the user's cache directory.

`olympus_core/api/calibration.py` measures them. The file is `olympus/cpu-<digest>.json` in
`XDG_CACHE_HOME`, or in `~/.cache` if that is not set. The digest covers the CPU's model and the
number of threads that this process may use.
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

from olympus_bundle.json_value import parse_json
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.base.regular_files import read_regular
from olympus_core.base.user_folders import user_cache_folder

_MAX_BYTES = 2**20  # of a file
_VERSION = 2  # increased with each change of the file; a file of version 1 has all but its origin
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


class Cpu(NamedTuple):
    """A CPU: the model's name, and the number of threads that this process may use."""

    model: str
    threads: int


@dataclass(frozen=True)
class CpuPeaks:
    """Measured peaks: rates are operations or bytes a second, times are seconds.

    `product_float32` and `product_float64` are rates of large matrix products; a multiply-add is
    two operations. `vector` is the rate of elementwise arithmetic in float32, and `transcendentals`
    that of functions such as tanh. `read` is the bandwidth of reading large arrays, `copy` of
    reading an array and writing it in place, and `fresh` of writing memory that was not used
    before. A call takes `call` seconds, and each kernel in a program `launch`.
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
        """Return the peaks of each of `count` devices on this CPU while all of them work.

        They share its processors and its memory, so a rate is divided by `count`; times are the
        same.

        Example:
          >>> GENERIC.of_each(4).read == GENERIC.read / 4
          True
        """
        times = ("call", "launch")
        rates = {key: rate for key, rate in asdict(self).items() if key not in times}
        return replace(self, **{key: rate / count for key, rate in rates.items()})


#: The peaks if nothing was measured: a server's core of about 2020 with its two threads.
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
    """The time of a calibration, such as "2026-11-23 19:10 UTC", and the load before it.

    `load` is the mean number of runnable processes in the last minute; None if the system does not
    report it.
    """

    time: str
    load: float | None

    def __str__(self) -> str:
        load = "an unknown load" if self.load is None else f"a load of {self.load:.3g}"
        return f"{self.time} at {load}"

    @staticmethod
    def now() -> Calibrated:
        """Return the current time and the load of the machine."""
        load = None
        with suppress(OSError, AttributeError):
            load = os.getloadavg()[0]
        return Calibrated(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), load)


class Kept(NamedTuple):
    """The saved peaks of this CPU, or None; then `trouble` may give the reason.

    `calibrated` is the time and load of the calibration; None for a file of an earlier version,
    which does not have it.
    """

    peaks: CpuPeaks | None
    trouble: str | None = None
    calibrated: Calibrated | None = None

    @property
    def origin(self) -> str | None:
        """The time and load of the calibration, in words; None without peaks."""
        if self.peaks is None:
            return None
        return str(self.calibrated or "an unknown time and load, by an earlier version of olympus")

    @property
    def assumption(self) -> str:
        """The sentence on these peaks among the assumptions of an estimate for this CPU."""
        return peaks_assumption(self.origin)


def peaks_assumption(origin: str | None) -> str:
    """Return the sentence on the peaks of this CPU; `origin` is None if they were not measured."""
    if origin is None:
        return (
            "The peaks of this CPU were not measured, and usual ones are taken: olympus devices "
            "--calibrate measures them."
        )
    return f"The peaks of this CPU were measured by olympus devices --calibrate: {origin}."


@functools.cache
def this_cpu() -> Cpu:
    """Return the CPU that this process runs on.

    >>> this_cpu().threads > 0
    True
    """
    return Cpu(_model(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)


@functools.cache  # a process stays on its machine
def _model() -> str:
    """Return the name of the model, with the numbers that distinguish models of one name."""
    properties: dict[str, str] = {}
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            key, _, value = line.partition(":")
            if not line.strip():  # the next processor
                break
            properties[key.strip()] = value.strip()
    name = properties.get("model name") or platform.processor() or platform.machine() or "unknown"
    numbers = [properties[k] for k in ("cpu family", "model", "stepping") if k in properties]
    return f"{name} ({'.'.join(numbers)})" if numbers else name


def cache_file(cpu: Cpu | None = None) -> Path | None:
    """Return the path of the file of a CPU's peaks, by default this CPU's; None without a home.

    >>> cache_file(Cpu("a", 2)).name
    'cpu-29c58cb14a610e5f.json'
    """
    cpu = cpu or this_cpu()
    folder = user_cache_folder()
    digest = hashlib.sha256(f"{cpu.model}\n{cpu.threads}".encode()).hexdigest()[:16]
    return None if folder is None else folder / f"cpu-{digest}.json"


def kept_peaks() -> Kept:
    """Return the saved peaks of this CPU, if they can be used.

    >>> kept_peaks().peaks in (None, known_peaks())
    True
    """
    path = cache_file()
    if path is None:
        return Kept(None)
    try:
        text = read_regular(path, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Kept(None)
    except OSError as error:
        return Kept(None, f"{path} cannot be read: {error.strerror}")
    try:
        return _parsed(parse_json(text))
    except (ArtifactError, ValueError) as error:
        return Kept(None, f"{path} is damaged: {error}")


def known_peaks() -> CpuPeaks:
    """Return the saved peaks of this CPU, or `GENERIC`: the peaks that an estimate uses.

    >>> known_peaks() == (kept_peaks().peaks or GENERIC)
    True
    """
    return kept_peaks().peaks or GENERIC


def _parsed(data: object) -> Kept:
    """Parse the peaks of a document; raise ArtifactError for any other document."""
    if not isinstance(data, dict) or data.get("schema_version") not in (1, _VERSION):
        raise ArtifactError(f"it is not of version {_VERSION} or 1")
    cpu, peaks = data.get("cpu"), data.get("peaks")
    if cpu != this_cpu()._asdict():
        raise ArtifactError("it is for another CPU")
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
    """Save the peaks of this CPU, replacing earlier ones, and return the path of the file.

    `calibrated` is the time and load of the measurement; by default the current ones.

    Raises:
      UsageError: no place for the file, or the file cannot be written.

    >>> keep_peaks(GENERIC) == cache_file()
    True
    """
    path = cache_file()
    if path is None:
        raise UsageError(
            "the peaks of the CPU cannot be saved: this user has no home directory",
            hint="XDG_CACHE_HOME names a folder for them",
        )
    import tempfile  # its imports are many, and peaks are saved seldom

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
