"""A module of JAX, raised and lowered again by OLYMPUS, as a function of JAX's module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import xla
from olympus_core.base.context import enable_x64
from olympus_core.execution import compilation
from olympus_core.execution.compilation import Repeats
from olympus_core.interop.jax_modules import mlir, sharding_impls
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.mlir import bindings
from olympus_core.raising.raising import raise_module
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.xla.runtime.hlo_conversion import module_bytes


def raised(content: bytes, name: str = "main") -> Olympuspr:
    """Return the program of a function of a module of JAX, in MLIR bytecode.

    The shardings of its arguments and results are not part of the program.

    Raises UnraisableError for a module with effects or dynamic shapes.
    """
    with bindings.converting:
        return raise_module(bindings.parsed(content, "JAX's module"), name)


def lowered(program: Olympuspr, name: str, repeats: Repeats, *, portable: bool = False) -> bytes:
    """Return the module of a program for the CPU, in MLIR bytecode.

    If it is `portable`, the module is the same for every platform.

    Raises LoweringError for a program that the platform has no form for.
    """
    entry = EntryAttributes(name, portable=portable)
    with bindings.converting, enable_x64():  # the dtypes are those of the program
        module, _ = compilation.lower(program, entry, xla.Target("cpu"), repeats)
        main = module.body.operations[0]
        del main.attributes["res_attrs"]  # of a dialect that JAX's context does not have
        content = module_bytes(module)
    xla.ensure_lapack_for(content)  # JAX registers the routines for its own operations only
    return content


def is_for_one_cpu(ctx: Any) -> bool:
    """Return True if a rule lowers for one CPU of this process, and not for an export."""
    module = ctx.module_context
    axes = module.axis_context
    return (
        tuple(module.platforms) == ("cpu",)
        and ctx.platforms is None
        and isinstance(axes, sharding_impls.ShardingContext)
        and axes.num_devices == 1
        and not module.lowering_parameters.for_export
        and not ctx.dim_var_values
    )


def jaxpr_module(ctx: Any, jaxpr: Any, name: str, operands: Sequence[Any]) -> Any:
    """Return a module in JAX's context whose public `main` is the function of a jaxpr.

    JAX's rule of a call emits the function, into a module of its own.

    Raises UnraisableError if the module calls Python.
    """
    outer = ctx.module_context
    ir = mlir.ir
    module = ir.Module.create(loc=ir.Location.unknown(outer.context))
    symbol_name = ir.StringAttr.get(mlir.sanitize_name(name), outer.context)
    module.operation.attributes["sym_name"] = symbol_name  # names in it are without a root
    inner = outer.replace(
        module=module,
        ip=ir.InsertionPoint(module.body),
        symbol_table=ir.SymbolTable(module.operation),
        lowering_cache={},
        cached_primitive_lowerings={},
        keepalives=[],
        host_callbacks=[],
    )
    flat, tree = mlir.ir_tree_registry.flatten(list(operands))
    types = [x.type for x in flat]
    with ir.Location.unknown(outer.context):
        with inner.ip:
            caller = bindings.func.FuncOp("caller", ir.FunctionType.get(types, []))
        block = caller.add_entry_block()
        with ir.InsertionPoint(block):
            own = ctx.replace(module_context=inner, const_lowering={}, tokens_out=None)
            arguments = tree.unflatten(list(block.arguments))
            mlir.core_call_lowering(own, *arguments, name=name, call_jaxpr=jaxpr)
            callee = [x.operation for x in block.operations if x.operation.name == "func.call"][-1]
    if inner.keepalives or inner.host_callbacks:
        raise UnraisableError("the program calls Python")
    symbol = ir.FlatSymbolRefAttr(callee.attributes["callee"]).value
    caller.operation.erase()
    for view in module.body.operations:
        if view.operation.attributes["sym_name"].value == symbol:
            view.operation.attributes["sym_name"] = ir.StringAttr.get("main", outer.context)
            view.operation.attributes["sym_visibility"] = ir.StringAttr.get("public", outer.context)
    return module


def call_module(ctx: Any, module: Any, name: str, operands: Sequence[Any]) -> list[Any]:
    """Move the functions of a module to the one that JAX lowers, and emit the call of its `main`.

    The module has JAX's context, or is MLIR bytecode.
    """
    outer = ctx.module_context
    ir = mlir.ir
    if isinstance(module, bytes):
        module = ir.Module.parse(module, outer.context)
    symbol = mlir.merge_mlir_modules(
        outer.module, mlir.sanitize_name(name), module, outer.symbol_table
    )
    types, tree = mlir.ir_tree_registry.flatten(
        [mlir.aval_to_ir_types(outer, aval) for aval in ctx.avals_out]
    )
    flat, _ = mlir.ir_tree_registry.flatten(list(operands))
    callee = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
    call = ir.Operation.create("func.call", types, flat, callee)
    results: list[Any] = tree.unflatten(list(call.results))
    return results
