"""The functions of a module: copies of those of another module, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core.lowering.module_state import ModuleState
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def functions_copied(module: ModuleState, other: ir.Module, name: str) -> str:
    """Copy the functions of another module into this one; return the new symbol of its `main`."""
    table, functions = mlir.ir.SymbolTable, list(other.body.operations)
    symbols = {}
    for view in functions:
        old = str(mlir.ir.StringAttr(view.operation.attributes["sym_name"]).value)
        symbols[old] = module.unique(name if old == "main" else old)
    for old, new in symbols.items():
        table.replace_all_symbol_uses(old, f".{new}", other.operation)
    for new in symbols.values():  # in two steps, so that no new name is an old one
        table.replace_all_symbol_uses(f".{new}", new, other.operation)
    for view in functions:
        old = str(mlir.ir.StringAttr(view.operation.attributes["sym_name"]).value)
        view.operation.attributes["sym_name"] = mlir.string_attr(symbols[old])
        view.operation.attributes["sym_visibility"] = mlir.string_attr("private")
        for extra in ("arg_attrs", "res_attrs"):
            if extra in view.operation.attributes:
                del view.operation.attributes[extra]
        view.operation.clone(mlir.ir.InsertionPoint(module.body))
    return symbols["main"]


def put_first(module: ir.Module, function: Any) -> None:
    first = module.body.operations[0]
    if first != function.operation:
        function.operation.move_before(first.operation)
