"""Calls of compiled functions of other libraries, and their registration."""

from olympus_core.extension.ffi import build_ffi_lowering_function as build_ffi_lowering_function
from olympus_core.extension.ffi import ffi_call as ffi_call
from olympus_core.extension.ffi import ffi_lowering as ffi_lowering
from olympus_core.extension.ffi import include_dir as include_dir
from olympus_core.extension.ffi import pycapsule as pycapsule
from olympus_core.extension.ffi import register_ffi_target as register_ffi_target
from olympus_core.extension.ffi import (
    register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
)
from olympus_core.extension.ffi import register_ffi_type as register_ffi_type
from olympus_core.extension.ffi import register_ffi_type_id as register_ffi_type_id
from olympus_core.extension.tokens import abstract_token as abstract_token
