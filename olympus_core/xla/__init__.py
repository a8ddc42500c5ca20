"""The interface to jaxlib's compilers and runtimes, which no other package imports.

This package hides every difference between the supported versions of jaxlib.
"""

from __future__ import annotations

from olympus_core.xla.bindings import Buffer, Device, JaxRuntimeError
from olympus_core.xla.messages import (
    callback_error,
    deleted_error,
    donated_twice,
    execution_error,
    is_donated_twice,
)
from olympus_core.xla.runtime.arrays import (
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
from olympus_core.xla.runtime.compiler import (
    NOINLINE_ATTRIBUTE,
    compile,
    keeps_calls,
    load_executable,
)
from olympus_core.xla.runtime.cpu import (
    default_device,
    expect_devices,
    more_devices,
)
from olympus_core.xla.runtime.devices import (
    BackendStatus,
    absent_target,
    backends,
    check_attached,
    devices,
    is_attached,
    mesh_devices,
    mesh_positions,
    positions_of,
    runs_here,
    topology_devices,
    versions,
)
from olympus_core.xla.runtime.driver_digest import driver_digest
from olympus_core.xla.runtime.executable import (
    CompileOnlyExecutable,
    Executable,
    MemoryAnalysis,
    saved_executable,
)
from olympus_core.xla.runtime.hlo_conversion import (
    computation,
    hlo_cost_analysis,
    hlo_dot,
    hlo_proto,
    hlo_text,
)
from olympus_core.xla.runtime.host_calls import HostCalls, effects_barrier
from olympus_core.xla.runtime.invocation import Watch
from olympus_core.xla.runtime.partitioned import (
    assembled,
    make_mesh,
    put_shards,
    run_partitioned,
    shard_buffers,
    sharded_result_handler,
    sharding_like,
    tiling_of,
)
from olympus_core.xla.runtime.plugins import loaded as loaded_plugins
from olympus_core.xla.runtime.targets import (
    include_dir,
    register_as_batch_partitionable,
    register_target,
    register_type,
)
from olympus_core.xla.targets.device_models import (
    DeviceModel,
    Rates,
    device_models,
    shipped_devices,
)
from olympus_core.xla.targets.options import (
    Optimize,
    Options,
    checked_options,
    named_options,
    optimize_options,
)
from olympus_core.xla.targets.targets import (
    BACKENDS,
    AnyModel,
    Target,
    backend_of,
    device_config,
    device_model,
    full_topology,
    is_device_name,
    known_devices,
    parse_topology,
    platform_of,
    target,
    target_on,
    topology_of,
)
from olympus_core.xla.targets.topologies import MOST_DEVICES, AnyTopology, Topology, Torus
from olympus_core.xla.targets.tpu_models import (
    TpuModel,
    is_tpu_table,
    shipped_tpus,
    tpu_models,
)
from olympus_core.xla.targets.tpu_topologies import topologies
from olympus_runtime.cpu import ensure_lapack

__all__ = [
    "BACKENDS",
    "MOST_DEVICES",
    "NOINLINE_ATTRIBUTE",
    "AnyModel",
    "AnyTopology",
    "BackendStatus",
    "Buffer",
    "CompileOnlyExecutable",
    "Device",
    "DeviceModel",
    "Executable",
    "HostCalls",
    "JaxRuntimeError",
    "MemoryAnalysis",
    "Optimize",
    "Options",
    "Rates",
    "Target",
    "Topology",
    "Torus",
    "TpuModel",
    "Watch",
    "absent_target",
    "assembled",
    "backend_of",
    "backends",
    "block_until_ready",
    "callback_error",
    "check_attached",
    "checked_options",
    "compile",
    "computation",
    "default_device",
    "delete",
    "deleted_error",
    "device_config",
    "device_model",
    "device_models",
    "device_of",
    "devices",
    "donated_twice",
    "driver_digest",
    "effects_barrier",
    "ensure_lapack",
    "execution_error",
    "expect_devices",
    "from_dlpack",
    "full_topology",
    "hlo_cost_analysis",
    "hlo_dot",
    "hlo_proto",
    "hlo_text",
    "host_value",
    "include_dir",
    "is_attached",
    "is_deleted",
    "is_device_name",
    "is_donated_twice",
    "is_tpu_table",
    "keeps_calls",
    "known_devices",
    "load_executable",
    "loaded_plugins",
    "make_mesh",
    "mesh_devices",
    "mesh_positions",
    "more_devices",
    "named_options",
    "optimize_options",
    "parse_topology",
    "platform_of",
    "positions_of",
    "put",
    "put_scalar",
    "put_shards",
    "register_as_batch_partitionable",
    "register_target",
    "register_type",
    "run_partitioned",
    "runs_here",
    "saved_executable",
    "shard_buffers",
    "sharded_result_handler",
    "sharding_like",
    "shipped_devices",
    "shipped_tpus",
    "target",
    "target_on",
    "tiling_of",
    "to_dlpack",
    "to_numpy",
    "topologies",
    "topology_devices",
    "topology_of",
    "tpu_models",
    "versions",
]
