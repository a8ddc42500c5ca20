"""The functions of a module: copies of those of another module, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base.avals import ShapedArray
from olympus_core.lowering.module_state import ModuleState
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_SHARDING = "sdy.sharding"


class CopiedFunction(NamedTuple):
    """The symbol of a function, and the shardings of its arguments and results in its module."""

    symbol: str
    arguments: Sequence[ir.Attribute | None] = ()
    results: Sequence[ir.Attribute | None] = ()

    def called(
        self, operands: Sequence[ir.Value], results: Sequence[ShapedArray]
    ) -> list[ir.Value]:
        """Emit a call of the function; its results have the types `results`."""
        types = [mlir.tensor_type(a) for a in results]
        callee = {"callee": mlir.ir.FlatSymbolRefAttr.get(self.symbol, mlir.context())}
        sharded = _sharded(operands, self.arguments)
        return _sharded(list(mlir.op("func.call", types, sharded, callee).results), self.results)


def _sharded(
    values: Sequence[ir.Value], shardings: Sequence[ir.Attribute | None]
) -> list[ir.Value]:
    if not shardings:
        return [*values]
    return [
        x
        if s is None
        else mlir.op("sdy.sharding_constraint", [x.type], (x,), {"sharding": s}).results[0]
        for x, s in zip(values, shardings, strict=True)
    ]


def functions_copied(module: ModuleState, other: ir.Module, name: str) -> CopiedFunction:
    """Copy the functions of another module into this one; return the copy of its `main`.

    A mesh of the other module becomes one of this module.
    """
    table, symbols = mlir.ir.SymbolTable, {}
    functions = [view for view in other.body.operations if view.operation.name != "sdy.mesh"]
    for view in other.body.operations:
        old = _symbol_of(view)
        if view.operation.name == "sdy.mesh":
            symbols[old] = module.meshes.symbol_of_text(str(view.operation.attributes["mesh"]))
        else:
            symbols[old] = module.unique(name if old == "main" else old)
    for old, new in symbols.items():
        table.replace_all_symbol_uses(old, f".{new}", other.operation)
    for new in symbols.values():  # in two steps, so that no new name is an old one
        table.replace_all_symbol_uses(f".{new}", new, other.operation)
    shardings: dict[str, list[ir.Attribute | None]] = {"arg_attrs": [], "res_attrs": []}
    for view in functions:
        old = _symbol_of(view)
        view.operation.attributes["sym_name"] = mlir.string_attr(symbols[old])
        view.operation.attributes["sym_visibility"] = mlir.string_attr("private")
        for extra in ("arg_attrs", "res_attrs"):
            if extra in view.operation.attributes:
                if old == "main":
                    shardings[extra] = _shardings(view.operation.attributes[extra])
                del view.operation.attributes[extra]
        view.operation.clone(mlir.ir.InsertionPoint(module.body))
    return CopiedFunction(symbols["main"], shardings["arg_attrs"], shardings["res_attrs"])


def _symbol_of(view: Any) -> str:
    return str(mlir.ir.StringAttr(view.operation.attributes["sym_name"]).value)


def _shardings(attributes: Any) -> list[ir.Attribute | None]:
    """Return the sharding in each dictionary of attributes of a function's values."""
    rows = [mlir.ir.DictAttr(each) for each in mlir.ir.ArrayAttr(attributes)]
    if not any(_SHARDING in row for row in rows):
        return []
    return [row[_SHARDING] if _SHARDING in row else None for row in rows]  # noqa: SIM401  # no dict


def put_first(module: ir.Module, function: Any) -> None:
    first = module.body.operations[0]
    if first != function.operation:
        function.operation.move_before(first.operation)
