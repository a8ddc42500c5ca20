"""The door to jaxlib's compilers and runtimes, and the only one.

Every difference between the supported versions of jaxlib ends in this package.
"""

from __future__ import annotations

from olympus_core.xla.arrays import (
    block_until_ready,
    delete,
    device_of,
    from_dlpack,
    host_value,
    is_deleted,
    put,
    put_scalar,
    to_dlpack,
    to_numpy,
)
from olympus_core.xla.client import (
    absent_target,
    default_device,
    devices,
    ensure_lapack,
    expect_devices,
    more_devices,
    topology_devices,
)
from olympus_core.xla.compiler import compile, load
from olympus_core.xla.device_models import DeviceModel, Rates, device_models, shipped_devices
from olympus_core.xla.door import Buffer, Device, JaxRuntimeError
from olympus_core.xla.executable import CompileOnlyExecutable, Executable, MemoryAnalysis
from olympus_core.xla.hlo import computation, hlo_cost_analysis, hlo_dot, hlo_proto, hlo_text
from olympus_core.xla.inlining import KEPT, keeps_calls
from olympus_core.xla.messages import donated_twice, execution_error
from olympus_core.xla.options import (
    Optimize,
    Options,
    checked_options,
    named_options,
    optimize_options,
)
from olympus_core.xla.saved import saved_executable
from olympus_core.xla.sharding import (
    assembled,
    handler,
    make_mesh,
    parts,
    put_parts,
    run_partitioned,
    sharding_like,
    tiling_of,
)
from olympus_core.xla.status import BackendStatus, backends, versions
from olympus_core.xla.targets import (
    MOST_DEVICES,
    Target,
    Topology,
    device_config,
    device_model,
    is_gpu_name,
    known_devices,
    parse_topology,
    platform_of,
    target,
    target_on,
)
from olympus_core.xla.watch import Watch

__all__ = [
    "KEPT",
    "MOST_DEVICES",
    "BackendStatus",
    "Buffer",
    "CompileOnlyExecutable",
    "Device",
    "DeviceModel",
    "Executable",
    "JaxRuntimeError",
    "MemoryAnalysis",
    "Optimize",
    "Options",
    "Rates",
    "Target",
    "Topology",
    "Watch",
    "absent_target",
    "assembled",
    "backends",
    "block_until_ready",
    "checked_options",
    "compile",
    "computation",
    "default_device",
    "delete",
    "device_config",
    "device_model",
    "device_models",
    "device_of",
    "devices",
    "donated_twice",
    "ensure_lapack",
    "execution_error",
    "expect_devices",
    "from_dlpack",
    "handler",
    "hlo_cost_analysis",
    "hlo_dot",
    "hlo_proto",
    "hlo_text",
    "host_value",
    "is_deleted",
    "is_gpu_name",
    "keeps_calls",
    "known_devices",
    "load",
    "make_mesh",
    "more_devices",
    "named_options",
    "optimize_options",
    "parse_topology",
    "parts",
    "platform_of",
    "put",
    "put_parts",
    "put_scalar",
    "run_partitioned",
    "saved_executable",
    "sharding_like",
    "shipped_devices",
    "target",
    "target_on",
    "tiling_of",
    "to_dlpack",
    "to_numpy",
    "topology_devices",
    "versions",
]
