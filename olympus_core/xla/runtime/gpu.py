"""The PJRT plugin for GPUs: its wheel and its client.

The wheel contains the compiler; NVIDIA's libraries are not needed to compile.
"""

from __future__ import annotations

import functools
from typing import Any

from olympus_bundle.host import GPU_WHEEL as WHEEL
from olympus_core.base.errors import BackendError
from olympus_core.xla.bindings import JAXLIB_VERSION, _jax
from olympus_core.xla.runtime.plugins import Plugin, as_backend_error, installed, library_of
from olympus_core.xla.targets.gpu_targets import DEFAULT_GPU
from olympus_core.xla.targets.targets import Target, device_config, full_topology
from olympus_core.xla.targets.topologies import Topology

INSTALL = f'pip install "{WHEEL}=={JAXLIB_VERSION}"'


def gpu_library() -> str:
    """Return the path of the wheel's library; its package is not imported, because it imports jax.

    Raises:
      BackendError: the wheel is missing or does not match jaxlib's version; the hint is the line
        that installs it.
    """
    version = installed(WHEEL)
    if version is None:
        raise BackendError(
            f"compiling for a GPU needs the wheel {WHEEL}, which is not installed: {INSTALL}",
            hint=INSTALL,
        )
    if version != JAXLIB_VERSION:
        raise BackendError(
            f"{WHEEL} {version} does not match jaxlib {JAXLIB_VERSION}: {INSTALL}", hint=INSTALL
        )
    return library_of(WHEEL, "xla_cuda_plugin.so", INSTALL)


def _topology(target: Target) -> tuple[str, dict[str, Any]]:
    topology = full_topology(target)
    assert isinstance(topology, Topology)
    hosts, per_host = topology
    return "", {"target_config": device_config(target), "topology": f"1x{hosts}x{per_host}"}


# The files of NVIDIA's driver, on Linux and under WSL.
_DEVICE_FILES = ("/dev/nvidia[0-9]*", "/dev/dxg")
PLUGIN = Plugin(
    "gpu", "cuda", WHEEL, INSTALL, DEFAULT_GPU, lambda: gpu_library(), _topology, _DEVICE_FILES
)


@functools.cache
def gpu_client() -> Any:
    """Return the runtime of the GPUs of this machine.

    Raises:
      BackendError: this machine has no GPU, or the wheel is missing.
    """
    PLUGIN.ensure()
    with as_backend_error("this machine has no GPU to run on"):
        return _jax.get_c_api_client(PLUGIN.platform, {"platform_name": PLUGIN.platform}, None)
