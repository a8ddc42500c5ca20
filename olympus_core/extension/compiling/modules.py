"""Types of lowering rules, contexts of modules, and functions in modules, under JAX's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from olympus_core.base.errors import ArgumentError
from olympus_core.extension.lowering_context import (
    ModuleContext,
    ShardingContext,
    SPMDAxisContext,
    flat_values,
)
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.bindings import ir
from olympus_core.transforms.staging import hoist_consts

#: a rule (context, *values, **parameters) -> values
LoweringRule = Callable[..., Sequence[Any]]
#: the name of an axis of a mesh
MeshAxisName = Any

#: the kinds of channels between devices, and between a device and its host
DEVICE_TO_DEVICE_TYPE = 1
SEND_TO_HOST_TYPE = 2
RECV_FROM_HOST_TYPE = 3


class ConstantHandler(Protocol):
    """A function that emits a constant of a type of users: (value, type or None) -> values."""

    def __call__(self, val: Any, aval: Any) -> Any:
        """Emit the constant, and return its value of MLIR."""


AxisContext = SPMDAxisContext | ShardingContext


def core_call_lowering(
    ctx: Any, *args: Any, name: str, backend: Any = None, call_jaxpr: Olympuspr, **params: Any
) -> list[Any]:
    """Emit a call of the function of a program in the module: a lowering rule of a call.

    `name` is the function's, and `call_jaxpr` the program; other parameters have no effect.

    >>> rule = functools.partial(core_call_lowering, name="double")
    """
    closed, consts = hoist_consts(call_jaxpr)
    values = [ctx.own.numpy_constant(np.asarray(c)) for c in consts]
    return list(ctx.own.call(closed, name, [*values, *flat_values(args)]))


def lower_jaxpr_to_fun(
    ctx: ModuleContext, name: str, jaxpr: Olympuspr, effects: Sequence[Any] = (), **_: Any
) -> ir.Operation:
    """Emit the function of a program in the module of a context, once, and return it.

    Its arguments are the arrays that the program closes over, and the program's inputs.

    >>> operation = lower_jaxpr_to_fun(ctx.module_context, "double", jaxpr)
    """
    closed, _consts = hoist_consts(jaxpr)
    symbol = ctx._own.function_symbol(closed, name)
    return ctx.symbol_table[symbol]


def _functions(module: ir.Module) -> Iterator[tuple[str, Any]]:
    for operation in module.body.operations:
        yield ir_text(operation.attributes["sym_name"]), operation


def ir_text(attribute: Any) -> str:
    """Return the text of an attribute that is a string."""
    text: str = mlir.ir.StringAttr(attribute).value
    return text


def merge_mlir_modules(
    dst_module: ir.Module, sym_name: str, src_module: ir.Module, dst_symtab: Any = None
) -> str:
    """Move the functions of a module into another one; return the name of its function `main`.

    `sym_name` is the new name of that function; a name that the other module has gets a number.
    The moved functions are private, and `src_module` is empty afterwards. Raises ArgumentError
    for modules of different contexts, or without a function `main`.

    >>> name = merge_mlir_modules(module, "inner", other)
    """
    if dst_module.context != src_module.context:
        raise ArgumentError("merge_mlir_modules needs modules of one MLIR context")
    source = dict(_functions(src_module))
    if "main" not in source:
        raise ArgumentError("merge_mlir_modules: the module has no function main")
    table = dst_symtab or mlir.ir.SymbolTable(dst_module.operation)
    own = mlir.ir.SymbolTable(src_module.operation)
    used = {*source, *dict(_functions(dst_module))}
    renamed: dict[str, str] = {}
    for name in source:
        if name != "main" and name not in table:
            continue
        base = new = sym_name if name == "main" else name
        number = 0
        while new in used:
            new, number = f"{base}_{number}", number + 1
        used.add(new)
        renamed[name] = new
    for name, operation in source.items():
        if name in renamed:
            own.set_symbol_name(operation, renamed[name])
        operation.attributes["sym_visibility"] = mlir.ir.StringAttr.get(
            "private", src_module.context
        )
    for old, new in renamed.items():
        for operation in source.values():
            mlir.ir.SymbolTable.replace_all_symbol_uses(old, new, operation)
    for operation in source.values():
        dst_module.body.append(operation)
        table.insert(operation)
    return renamed["main"]
