"""The PJRT plugins that fit executables of each version of jaxlib.

Neither a plugin nor an executable has the version of XLA. A plugin has the version of PJRT's API
that it was built with, which later versions of XLA increase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

#: The minor version of PJRT's API by version of jaxlib, as its GPU compiler reports it.
_APIS = {(0, 10, 2): 112, (0, 11, 2): 115, (0, 12, 0): 116}
#: The newest plugin for CPUs that was tested with executables of each older jaxlib: that of
#: lammps-jax-pjrt-cpu 0.11.2.
_NEWEST_CPU_PLUGIN = 115


class Plugins(NamedTuple):
    """The versions of PJRT's API that fit, none if the first is after the last; the compiler."""

    first_api: int
    last_api: int
    compiler: str


def fitting_plugins(backend: str, versions: Mapping[str, str]) -> Plugins:
    """Return the plugins that fit an executable that packages of `versions` compiled.

    A plugin for CPUs fits if it is not older than the compiler, and was tested. One for GPUs fits
    if it has the compiler's version of the API.

    >>> fitting_plugins("cpu", {"jaxlib": "0.10.2"})
    Plugins(first_api=112, last_api=115, compiler='jaxlib 0.10.2')
    """
    package = "jax-cuda13-pjrt" if backend == "gpu" else "jaxlib"
    text = versions.get(package, "of an unknown version")
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    own = tuple(map(int, numbers.groups())) if numbers else None
    compiler = f"{package} {text}"
    if backend == "gpu":
        api = _APIS.get(own) if own is not None and len(own) == 3 else None
        return Plugins(api or 1, api or 0, compiler)
    later = [api for version, api in _APIS.items() if own is not None and version >= own]
    return Plugins(min(later, default=1), _NEWEST_CPU_PLUGIN if later else 0, compiler)
