"""Lowering rules of primitives, and the parts of StableHLO that they are made of."""

from olympus_core.base.tree import sequences as _sequences
from olympus_core.extension.compiling.effect_types import lowerable_effects as lowerable_effects
from olympus_core.extension.compiling.modules import DEVICE_TO_DEVICE_TYPE as DEVICE_TO_DEVICE_TYPE
from olympus_core.extension.compiling.modules import RECV_FROM_HOST_TYPE as RECV_FROM_HOST_TYPE
from olympus_core.extension.compiling.modules import SEND_TO_HOST_TYPE as SEND_TO_HOST_TYPE
from olympus_core.extension.compiling.modules import AxisContext as AxisContext
from olympus_core.extension.compiling.modules import ConstantHandler as ConstantHandler
from olympus_core.extension.compiling.modules import LoweringRule as LoweringRule
from olympus_core.extension.compiling.modules import MeshAxisName as MeshAxisName
from olympus_core.extension.compiling.modules import core_call_lowering as core_call_lowering
from olympus_core.extension.compiling.modules import lower_jaxpr_to_fun as lower_jaxpr_to_fun
from olympus_core.extension.compiling.modules import merge_mlir_modules as merge_mlir_modules
from olympus_core.extension.lowering_context import LoweringRuleContext as _Context
from olympus_core.extension.lowering_context import ModuleContext as ModuleContext
from olympus_core.extension.lowering_context import ShardingContext as ShardingContext
from olympus_core.extension.lowering_context import SPMDAxisContext as SPMDAxisContext
from olympus_core.extension.lowering_rules import aval_to_ir_type as aval_to_ir_type
from olympus_core.extension.lowering_rules import aval_to_ir_types as aval_to_ir_types
from olympus_core.extension.lowering_rules import dense_int_array as dense_int_array
from olympus_core.extension.lowering_rules import dense_int_elements as dense_int_elements
from olympus_core.extension.lowering_rules import dtype_to_ir_type as dtype_to_ir_type
from olympus_core.extension.lowering_rules import flatten_ir_types as flatten_ir_types
from olympus_core.extension.lowering_rules import flatten_ir_values as flatten_ir_values
from olympus_core.extension.lowering_rules import ir_constant as ir_constant
from olympus_core.extension.lowering_rules import ir_constants as ir_constants
from olympus_core.extension.lowering_rules import ir_type_handlers as ir_type_handlers
from olympus_core.extension.lowering_rules import jaxpr_subcomp as jaxpr_subcomp
from olympus_core.extension.lowering_rules import lower_fun as lower_fun
from olympus_core.extension.lowering_rules import module_to_bytecode as module_to_bytecode
from olympus_core.extension.lowering_rules import module_to_string as module_to_string
from olympus_core.extension.lowering_rules import (
    register_constant_handler as register_constant_handler,
)
from olympus_core.extension.lowering_rules import register_lowering as register_lowering
from olympus_core.extension.lowering_rules import shape_tensor as shape_tensor
from olympus_core.extension.lowering_rules import (
    unflatten_ir_values_like_types as unflatten_ir_values_like_types,
)
from olympus_core.extension.token_sets import TokenSet as TokenSet
from olympus_core.extension.token_sets import token_type as token_type
from olympus_core.mlir.attributes import attribute as _attribute
from olympus_core.mlir.bindings import i32_attr as i32_attr
from olympus_core.mlir.bindings import i64_attr as i64_attr
from olympus_core.mlir.bindings import ir as ir
from olympus_core.mlir.bindings import new_context as _new_context
from olympus_core.placement.mesh import Mesh as _Mesh

LoweringRuleContext = _Context
Mesh = _Mesh
ir_attribute = _attribute
ir_tree_registry = _sequences
make_ir_context = _new_context
Token = ir.Value
Value = ir.Value
