"""The context of a lowering rule under JAX's conventions, on the core's context."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import LoweringError
from olympus_core.extension.token_sets import TokenSet
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.mesh import AnyMesh

if TYPE_CHECKING:
    from olympus_core.ir.primitive import Primitive
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir


@dataclasses.dataclass(frozen=True)
class SPMDAxisContext:
    """The mesh of the `shard_map` around an operation, and the axes that it maps over."""

    mesh: AnyMesh
    manual_axes: frozenset[Any] = frozenset()


@dataclasses.dataclass(frozen=True)
class ShardingContext:
    """The number of the devices of a program outside of a `shard_map`."""

    num_devices: int
    device_assignment: tuple[Any, ...] | None = None
    abstract_mesh: AnyMesh | None = None


class ModuleContext:
    """The module that is being built: its MLIR context, its module and its platforms."""

    def __init__(self, own: LoweringContext) -> None:
        self._own = own
        self.platforms = (own.platform,)
        self.backend = None
        self.cached_primitive_lowerings: dict[Any, Any] = {}
        self.keepalives: list[Any] = []

    @property
    def context(self) -> ir.Context:
        """The MLIR context."""
        return mlir.context()

    @property
    def axis_context(self) -> SPMDAxisContext | ShardingContext:
        """The axes that are mapped over where operations are emitted."""
        manual = self._own.module.manual
        if manual is None:
            return ShardingContext(self._own.module.num_partitions)
        return SPMDAxisContext(manual.mesh, manual.names)

    @property
    def module(self) -> ir.Operation:
        """The operation of the module."""
        return self._own.module.body.owner

    @property
    def ip(self) -> ir.InsertionPoint:
        """The end of the module, where functions are added."""
        return mlir.ir.InsertionPoint(self._own.module.body)

    @property
    def symbol_table(self) -> ir.SymbolTable:
        """The functions of the module by name."""
        return mlir.ir.SymbolTable(self.module)


class LoweringRuleContext:
    """The interface of a lowering rule to the block that it emits into.

    `avals_in` and `avals_out` are the types of operands and results; `module_context` has the
    module. Operations are emitted at the current insertion point of MLIR.
    """

    tokens_in: Any = TokenSet()
    tokens_out: Any = None
    traceback: Any = None
    name_stack: str = ""
    axis_size_env: Any = None
    jaxpr_eqn_ctx: Any = None

    def __init__(self, own: LoweringContext, primitive: Primitive | None) -> None:
        self.own = own
        self.primitive = primitive
        self.avals_in: Sequence[ShapedArray] = own.avals_in
        self.avals_out: Sequence[ShapedArray] = own.avals_out
        self.module_context = ModuleContext(own)
        self.platforms: Sequence[str] | None = None
        self.const_lowering: dict[Any, Any] = {}
        self.dim_var_values: Sequence[ir.Value] = ()

    def replace(self, **changes: Any) -> Self:
        """Return a copy with other attributes."""
        changed = copy.copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed

    def set_tokens_out(self, tokens_out: Any) -> None:
        """Set the tokens of ordered effects after the operation."""
        self.tokens_out = tokens_out

    def is_forward_compat(self) -> bool:
        """Return True if the program must be readable by older versions of StableHLO."""
        return self.own.module.portable


def flat_values(values: Any) -> list[ir.Value]:
    """Return the values of an operation, of a value, or of nested sequences of these."""
    if isinstance(values, mlir.ir.Value):
        return [values]
    if hasattr(values, "results") and not isinstance(values, Sequence):
        return list(values.results)
    if isinstance(values, Iterable):
        return [x for group in values for x in flat_values(group)]
    raise LoweringError(f"a lowering rule must return values of MLIR, and returned {values!r:.80}")


def lower_by(
    rule: Callable[..., Any],
    primitive: Primitive,
    own: LoweringContext,
    operands: Sequence[ir.Value],
    params: dict[str, Any],
) -> list[ir.Value]:
    """Return the values that a rule of JAX emits; raise LoweringError for another number."""
    outs = own.avals_out
    values = flat_values(rule(LoweringRuleContext(own, primitive), *operands, **params))
    if len(values) != len(outs):
        raise LoweringError(
            f"the lowering rule of '{primitive}' must return {len(outs)} values, and returned "
            f"{len(values)}"
        )
    for value, aval in zip(values, outs, strict=True):
        if value.type != mlir.tensor_type(aval):
            raise LoweringError(
                f"the lowering rule of '{primitive}' returned a value {value.type}, and the result "
                f"is {aval.long_name()}"
            )
    return values
