"""Contexts of lowering rules and of MLIR."""

from olympus_core.extension.compiling.dialects import JaxIrContext as JaxIrContext
from olympus_core.extension.compiling.dialects import upstream_dialects as upstream_dialects
from olympus_core.extension.lowering_context import LoweringRuleContext as LoweringRuleContext
