"""Names that older programs for JAX import from `experimental`; now they are in `olympus`."""

import typing as _typing

from olympus_core.base.context import disable_x64 as disable_x64
from olympus_core.base.context import enable_x64 as enable_x64
from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.library.callbacks import io_callback as io_callback

if _typing.TYPE_CHECKING:
    from olympus.experimental import buffer_callback as buffer_callback
    from olympus.experimental import checkify as checkify
    from olympus.experimental import compilation_cache as compilation_cache
    from olympus.experimental import compute_on as compute_on
    from olympus.experimental import control_deps as control_deps
    from olympus.experimental import custom_partitioning as custom_partitioning
    from olympus.experimental import fused as fused
    from olympus.experimental import hijax as hijax
    from olympus.experimental import jet as jet
    from olympus.experimental import layout as layout
    from olympus.experimental import mesh_utils as mesh_utils
    from olympus.experimental import multihost_utils as multihost_utils
    from olympus.experimental import ode as ode
    from olympus.experimental import overlap as overlap
    from olympus.experimental import pjit as pjit
    from olympus.experimental import random as random
    from olympus.experimental import rnn as rnn
    from olympus.experimental import roofline as roofline
    from olympus.experimental import scheduling_groups as scheduling_groups
    from olympus.experimental import serialize_executable as serialize_executable
    from olympus.experimental import shard_alike as shard_alike
    from olympus.experimental import shard_map as shard_map
    from olympus.experimental import sparse as sparse
    from olympus.experimental import topologies as topologies
    from olympus.experimental import xla_metadata as xla_metadata
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        "buffer_callback",
        "checkify",
        "compilation_cache",
        "compute_on",
        "control_deps",
        "custom_partitioning",
        "fused",
        "roofline",
        "scheduling_groups",
        "serialize_executable",
        "shard_alike",
        "xla_metadata",
        "hijax",
        "jet",
        "layout",
        "mesh_utils",
        "multihost_utils",
        "ode",
        "overlap",
        "pjit",
        "random",
        "rnn",
        "shard_map",
        "sparse",
        "topologies",
    )
