"""The PJRT plugin for TPUs: the package libtpu and the variables that it reads.

The library compiles on a machine without a TPU. It queries servers of Google's cloud about the
machine, locks a file, writes log files and logs to stderr, unless variables of the environment
turn this off.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

from olympus_bundle.host import TPU_PACKAGE as PACKAGE
from olympus_core.base.errors import BackendError
from olympus_core.xla.bindings import _jax
from olympus_core.xla.runtime.plugins import Plugin, as_backend_error, installed, library_of
from olympus_core.xla.targets.targets import Target, device_model, full_topology
from olympus_core.xla.targets.topologies import Torus
from olympus_core.xla.targets.tpu_models import TpuModel

INSTALL = "pip install 'olympus[tpu]'"
_LICENSE = (
    "libtpu is not open source: its license is Google's terms for its cloud, and you accept it"
)
#: The variables that turn off its queries, its files and its messages.
VARIABLES: Mapping[str, str] = {
    "TPU_SKIP_MDS_QUERY": "1",  # no queries of the metadata server
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # no lock file, so that several workers can compile
    "TPU_ACCELERATOR_TYPE": "v6e-1",  # these three silence warnings; programs do not depend on them
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_LOG_DIR": "disabled",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
}
# The files of the drivers of TPUs, old and new.
_DEVICE_FILES = ("/dev/accel[0-9]*", "/dev/vfio/[0-9]*")


def tpu_library() -> str:
    """Return the path of the package's library.

    Raises:
      BackendError: the package is missing; the hint is the line that installs it.
    """
    if installed(PACKAGE) is None:
        raise BackendError(
            f"compiling for a TPU needs the package {PACKAGE}, which is not installed: {INSTALL} "
            f"({_LICENSE})",
            hint=INSTALL,
        )
    return library_of(PACKAGE, "libtpu.so", INSTALL)


def _topology(target: Target) -> tuple[str, dict[str, Any]]:
    model, torus = device_model(target), full_topology(target)
    assert isinstance(model, TpuModel) and isinstance(torus, Torus)
    wraps = [*torus.wraps, False, False][:3]
    return torus.of(model.generation), {"wrap": wraps, **dict(model.options)}


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """Set the variables of the library that the user has not set; restore them afterwards."""
    added = [name for name in VARIABLES if name not in os.environ]
    os.environ.update({name: VARIABLES[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


PLUGIN = Plugin(
    "tpu",
    "tpu",
    PACKAGE,
    INSTALL,
    "v6e",
    lambda: tpu_library(),
    _topology,
    _DEVICE_FILES,
    _environment,
)


@functools.cache
def tpu_client() -> Any:
    """Return the runtime of the TPUs of this machine.

    Raises:
      BackendError: this machine has no TPU, or the package is missing.
    """
    if not PLUGIN.is_attached():
        raise BackendError(
            "this machine has no TPU to run on",
            hint="a program is compiled for an absent TPU by "
            'jit(f).lower(olympus.target("tpu", "v6e")).compile()',
        )
    PLUGIN.ensure()
    with as_backend_error("this machine has no TPU to run on"):
        return _jax.get_c_api_client(PLUGIN.platform, {}, None)
