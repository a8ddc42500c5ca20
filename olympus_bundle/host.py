"""The machine of an executable, and the check that an executable can run on another machine."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_FEATURES = re.compile(r"^(?:flags|Features)\s*:(.*)$", re.MULTILINE)
# x86's list also has features of the kernel and the hypervisor; only these are instruction sets
# that a compiler uses. The other processors' lists have only instruction sets.
_X86 = re.compile(
    r"(?:3dnow|abm|adx|aes|amx|avx|bmi|clflush|clwb|cldemote|cmov|cx\d|f16c|fma|fxsr|gfni|lahf|"
    r"lzcnt|mmx|mov|pclmul|pni|popcnt|rd|sha|sse|ssse|tbm|vaes|vpclmul|xop|xsave).*"
)
GPU_WHEEL, TPU_PACKAGE = "jax-cuda13-pjrt", "libtpu"
#: The packages that compile for each backend: their versions must be the same.
COMPILERS = {"cpu": ("jaxlib",), "gpu": ("jaxlib", GPU_WHEEL), "tpu": ("jaxlib", TPU_PACKAGE)}


@dataclass(frozen=True)
class Host:
    """A machine that builds or runs programs; `cpu_features` is None if it is unknown."""

    system: str
    machine: str
    cpu_features: tuple[str, ...] | None

    @staticmethod
    def here() -> Host:
        """Return the machine that this process runs on."""
        return Host(platform.system(), platform.machine(), _saved_features(_CPUINFO))

    def misfits(
        self,
        backend: str,
        build_versions: Mapping[str, str],
        host: Host,
        versions: Mapping[str, str],
    ) -> Iterator[str]:
        """Yield the reasons why an executable that was built on this machine cannot run on `host`.

        It was built for `backend` with the packages of `build_versions`, versions by name. The
        packages installed on `host` have `versions`.

        >>> here = Host.here()
        >>> list(here.misfits("cpu", {"jaxlib": "0.10.2"}, here, {"jaxlib": "0.11.0"}))
        ['it was built with jaxlib 0.10.2, and here jaxlib is 0.11.0']
        """
        for package in COMPILERS[backend]:
            was, now = (v.get(package, "not installed") for v in (build_versions, versions))
            if was != now:
                yield f"it was built with {package} {was}, and here {package} is {now}"
        if backend == "cpu":
            yield from _processor_misfits(self, host)


def cpu_features(cpuinfo: Path) -> tuple[str, ...] | None:
    """Return the instruction sets of the first processor in Linux's list; None without a list.

    >>> cpu_features(Path("/proc/cpuinfo"))
    ('adx', 'aes', 'avx', 'avx2', ...)
    """
    try:
        line = _FEATURES.search(cpuinfo.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    if line is None:
        return None
    names = line[1].split()
    if line[0].startswith("flags"):
        names = [name for name in names if _X86.fullmatch(name)]
    return tuple(sorted(set(names)))


@cache  # a process stays on its machine
def _saved_features(cpuinfo: Path) -> tuple[str, ...] | None:
    return cpu_features(cpuinfo)


def _processor_misfits(build_host: Host, host: Host) -> Iterator[str]:
    was, now = f"{build_host.system} {build_host.machine}", f"{host.system} {host.machine}"
    if was != now:
        yield f"it was built on {was}, and this is {now}"
        return
    if build_host.cpu_features is None or host.cpu_features is None:
        where = "was built on" if build_host.cpu_features is None else "is to run on"
        yield f"what the processor that it {where} can do is not known"
        return
    missing = sorted(set(build_host.cpu_features) - set(host.cpu_features))
    if missing:
        yield f"it was built on a processor with {', '.join(missing)}, which this one lacks"
