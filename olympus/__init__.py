"""OLYMPUS: ahead-of-time builds of array programs.

The public API: explicit re-exports, no logic.  See the README for a first program.
"""

import types as _types
import typing as _typing

from olympus import ad_checkpoint as ad_checkpoint
from olympus import custom_derivatives as custom_derivatives
from olympus import dtypes as dtypes
from olympus import errors as errors
from olympus import lax as lax
from olympus import nn as nn
from olympus import numpy as numpy
from olympus import random as random
from olympus import sharding as sharding
from olympus import stages as stages
from olympus import tree as tree
from olympus import tree_util as tree_util
from olympus_core.api.config import config as config
from olympus_core.api.jit import eval_shape as eval_shape
from olympus_core.api.jit import jit as jit
from olympus_core.api.jit import make_jaxpr as make_jaxpr
from olympus_core.api.jit import make_olympuspr as make_olympuspr
from olympus_core.api.pmap import pmap as pmap
from olympus_core.api.xla_computation import xla_computation as xla_computation
from olympus_core.arrays.device_array import Shard as Shard
from olympus_core.arrays.mesh_context import set_mesh as set_mesh
from olympus_core.arrays.sharded_array import make_array_from_callback as make_array_from_callback
from olympus_core.arrays.sharded_array import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from olympus_core.base.avals import typeof as typeof
from olympus_core.base.context import check_tracer_leaks as check_tracer_leaks
from olympus_core.base.context import checking_leaks as checking_leaks
from olympus_core.base.context import debug_infs as debug_infs
from olympus_core.base.context import debug_nans as debug_nans
from olympus_core.base.context import disable_jit as disable_jit
from olympus_core.base.context import enable_checks as enable_checks
from olympus_core.base.context import enable_x64 as enable_x64
from olympus_core.base.context import explain_cache_misses as explain_cache_misses
from olympus_core.base.context import (
    include_full_tracebacks_in_locations as include_full_tracebacks_in_locations,
)
from olympus_core.base.context import log_compiles as log_compiles
from olympus_core.base.context import numpy_dtype_promotion as numpy_dtype_promotion
from olympus_core.base.context import numpy_rank_promotion as numpy_rank_promotion
from olympus_core.base.context import source_root as source_root
from olympus_core.base.descriptions import ShapeDtypeStruct as ShapeDtypeStruct
from olympus_core.base.dtypes import float0 as float0
from olympus_core.base.key_options import default_prng_impl as default_prng_impl
from olympus_core.base.key_options import enable_custom_prng as enable_custom_prng
from olympus_core.base.key_options import legacy_prng_key as legacy_prng_key
from olympus_core.base.key_options import make_user_context as make_user_context
from olympus_core.base.lazy_modules import on_demand as _on_demand
from olympus_core.base.permissions import allow_f16_reductions as allow_f16_reductions
from olympus_core.base.permissions import auto_pcast as auto_pcast
from olympus_core.base.permissions import no_execution as no_execution
from olympus_core.base.permissions import no_tracing as no_tracing
from olympus_core.base.permissions import (
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
)
from olympus_core.base.permissions import softmax_custom_jvp as softmax_custom_jvp
from olympus_core.base.permissions import threefry_partitionable as threefry_partitionable
from olympus_core.base.source import name_scope as _name_scope
from olympus_core.base.transfer_guards import transfer_guard as transfer_guard
from olympus_core.base.transfer_guards import (
    transfer_guard_device_to_device as transfer_guard_device_to_device,
)
from olympus_core.base.transfer_guards import (
    transfer_guard_device_to_host as transfer_guard_device_to_host,
)
from olympus_core.base.transfer_guards import (
    transfer_guard_host_to_device as transfer_guard_host_to_device,
)
from olympus_core.control.checkpoint import CheckpointPolicies as _CheckpointPolicies
from olympus_core.control.checkpoint import checkpoint as checkpoint
from olympus_core.control.custom_jvp import custom_jvp as custom_jvp
from olympus_core.control.custom_vjp import custom_vjp as custom_vjp
from olympus_core.execution.eager import ensure_compile_time_eval as ensure_compile_time_eval
from olympus_core.jit.inlining import Inline as Inline
from olympus_core.library import methods as _methods
from olympus_core.library.callbacks import effects_barrier as effects_barrier
from olympus_core.library.callbacks import pure_callback as pure_callback
from olympus_core.library.device import block_until_ready as block_until_ready
from olympus_core.library.device import clear_caches as clear_caches
from olympus_core.library.device import copy_to_host_async as copy_to_host_async
from olympus_core.library.device import default_backend as default_backend
from olympus_core.library.device import default_device as default_device
from olympus_core.library.device import device_count as device_count
from olympus_core.library.device import device_get as device_get
from olympus_core.library.device import device_put as device_put
from olympus_core.library.device import devices as devices
from olympus_core.library.device import host_count as host_count
from olympus_core.library.device import host_id as host_id
from olympus_core.library.device import host_ids as host_ids
from olympus_core.library.device import live_arrays as live_arrays
from olympus_core.library.device import local_device_count as local_device_count
from olympus_core.library.device import local_devices as local_devices
from olympus_core.library.device import print_environment_info as print_environment_info
from olympus_core.library.device import process_count as process_count
from olympus_core.library.device import process_index as process_index
from olympus_core.library.device import process_indices as process_indices
from olympus_core.library.explicit import reshard as reshard
from olympus_core.library.public_array import AnyArray as _AnyArray
from olympus_core.library.shard_map import shard_map as shard_map
from olympus_core.library.shard_map import smap as smap
from olympus_core.placement.partition_spec import P as P
from olympus_core.placement.sharding import MemorySpace as _MemorySpace
from olympus_core.placement.sharding import NamedSharding as NamedSharding
from olympus_core.primitives.precision import default_matmul_precision as default_matmul_precision
from olympus_core.transforms.autodiff import grad as grad
from olympus_core.transforms.autodiff import jvp as jvp
from olympus_core.transforms.autodiff import linear_transpose as linear_transpose
from olympus_core.transforms.autodiff import linearize as linearize
from olympus_core.transforms.autodiff import value_and_grad as value_and_grad
from olympus_core.transforms.autodiff import vjp as vjp
from olympus_core.transforms.closure import closure_convert as closure_convert
from olympus_core.transforms.jacobians import hessian as hessian
from olympus_core.transforms.jacobians import jacfwd as jacfwd
from olympus_core.transforms.jacobians import jacrev as jacrev
from olympus_core.transforms.vmapping import vmap as vmap
from olympus_core.xla import BackendStatus as BackendStatus
from olympus_core.xla import Device as Device
from olympus_core.xla import DeviceModel as DeviceModel
from olympus_core.xla import Target as Target
from olympus_core.xla import Topology as Topology
from olympus_core.xla import Torus as Torus
from olympus_core.xla import TpuModel as TpuModel
from olympus_core.xla import backend_of as backend_of
from olympus_core.xla import backends as backends
from olympus_core.xla import device_models as device_models
from olympus_core.xla import is_tpu_table as is_tpu_table
from olympus_core.xla import known_devices as known_devices
from olympus_core.xla import make_mesh as make_mesh
from olympus_core.xla import target as target
from olympus_core.xla import tpu_models as tpu_models
from olympus_core.xla.runtime.collection_guard import (
    array_garbage_collection_guard as array_garbage_collection_guard,
)
from olympus_core.xla.targets.effort import CompilerEffortLevel as CompilerEffortLevel
from olympus_runtime.version import __version__ as __version__
from olympus_runtime.version import __version_info__ as __version_info__

Array = _AnyArray
checkpoint_policies = _CheckpointPolicies
jacobian = jacrev
memory = _types.SimpleNamespace(Space=_MemorySpace)
named_scope = _name_scope
remat = checkpoint

if _typing.TYPE_CHECKING:
    from olympus import analysis as analysis
    from olympus import api_util as api_util
    from olympus import artifact as artifact
    from olympus import core as core
    from olympus import custom_batching as custom_batching
    from olympus import debug as debug
    from olympus import distributed as distributed
    from olympus import dlpack as dlpack
    from olympus import example_libraries as example_libraries
    from olympus import experimental as experimental
    from olympus import extend as extend
    from olympus import ffi as ffi
    from olympus import files as files
    from olympus import flatten_util as flatten_util
    from olympus import image as image
    from olympus import interpreters as interpreters
    from olympus import monitoring as monitoring
    from olympus import ops as ops
    from olympus import profiler as profiler
    from olympus import ref as ref
    from olympus import scipy as scipy
    from olympus import test_util as test_util
    from olympus import typing as typing
    from olympus import verification as verification
    from olympus import version as version
    from olympus.sharding import get_abstract_mesh as get_abstract_mesh
    from olympus.sharding import get_mesh as get_mesh
    from olympus.sharding import use_abstract_mesh as use_abstract_mesh
    from olympus_core.api.forward_backward import fwd_and_bwd as fwd_and_bwd
    from olympus_core.api.forward_backward import named_call as named_call
    from olympus_core.control.custom_gradient import custom_gradient as custom_gradient
    from olympus_core.library.host_arrays import (
        make_array_from_process_local_data as make_array_from_process_local_data,
    )
    from olympus_core.library.refs import Ref as Ref
    from olympus_core.library.refs import ds as ds
    from olympus_core.library.refs import empty_ref as empty_ref
    from olympus_core.library.refs import free_ref as free_ref
    from olympus_core.library.refs import freeze as freeze
    from olympus_core.library.refs import new_ref as new_ref
    from olympus_core.transforms.pull_back import ad as ad
else:
    __getattr__, __dir__ = _on_demand(
        __name__,
        "analysis",
        "api_util",
        "artifact",
        "core",
        "custom_batching",
        "debug",
        "distributed",
        "dlpack",
        "example_libraries",
        "experimental",
        "export",
        "extend",
        "ffi",
        "files",
        "flatten_util",
        "image",
        "interpreters",
        "monitoring",
        "ops",
        "profiler",
        "ref",
        "scipy",
        "test_util",
        "typing",
        "verification",
        "version",
        elsewhere={
            "olympus.sharding": ("get_abstract_mesh", "get_mesh", "use_abstract_mesh"),
            "olympus_core.api.forward_backward": ("fwd_and_bwd", "named_call"),
            "olympus_core.control.custom_gradient": ("custom_gradient",),
            "olympus_core.library.host_arrays": ("make_array_from_process_local_data",),
            "olympus_core.transforms.pull_back": ("ad",),
            "olympus_core.library.refs": (
                "Ref",
                "ds",
                "empty_ref",
                "free_ref",
                "freeze",
                "new_ref",
            ),
        },
    )
