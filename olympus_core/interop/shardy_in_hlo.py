"""Restore Shardy operations from their form in HLO.

In HLO, XLA writes Shardy shardings as frontend attributes. It writes sharding constraints and
manual computations as custom calls. The StableHLO of such a file has the same attributes and calls,
and so has the StableHLO of older versions of `jax.export`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_FRONTEND, _GSPMD = "mhlo.frontend_attributes", "mhlo.sharding"
_MESHES, _SHARDING = "xla.sdy.meshes", "xla.sdy.sharding"
_BODY = "xla.sdy.manual_computation_body"
_INTO, _OUT = "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"
_RESULT = "xla.sdy.FuncResultSharding"


def restore_shardy(module: ir.Module, name: str) -> ir.Module:
    """Replace the frontend attributes and custom calls of a module by Shardy operations.

    The module is changed in place and returned. It is unchanged if no attribute has meshes. `name`
    is its name in messages.

    Raises ArtifactError for an attribute that cannot be parsed, and for a manual computation
    without its custom calls.
    """
    meshes = _frontend_text(module.operation, _MESHES)
    return (
        module if meshes is None else mlir.verified(lambda: _restore_module(module, meshes), name)
    )


def _restore_module(module: ir.Module, meshes: str) -> ir.Module:
    """Restore all operations of a module; `meshes` is the text of its attribute of meshes."""
    with mlir.context(), mlir.ir.Location.unknown():
        _declare_meshes(module, mlir.ir.DictAttr(mlir.parsed_attr(meshes)))
        functions = {
            mlir.ir.StringAttr(view.operation.attributes["sym_name"]).value: view.operation
            for view in module.body.operations
            if view.operation.name == "func.func"
        }
        for function in functions.values():
            _restore_arguments(function)
            for operation in list(_nested_operations(function)):
                _restore_sharding(operation, function)
        while call := next(_inner_calls(functions), None):
            _restore_manual_computation(call, functions)
        for name, function in functions.items():
            if _BODY in name:
                function.erase()
    _delete(module.operation, _MESHES)
    return module


def _frontend_text(operation: ir.Operation, name: str) -> str | None:
    """Return the text of the frontend attribute `name` of an operation, or None."""
    return _text_in(operation.attributes, name)


def _text_in(attributes: Any, name: str) -> str | None:
    """Return the text of the frontend attribute `name` in a dictionary of attributes, or None."""
    if _FRONTEND not in attributes or name not in attributes[_FRONTEND]:
        return None
    return str(mlir.ir.StringAttr(attributes[_FRONTEND][name]).value)


def _delete(operation: ir.Operation, name: str) -> None:
    """Delete the frontend attribute `name` of an operation."""
    rest = {x.name: x.attr for x in operation.attributes[_FRONTEND] if x.name != name}
    if rest:
        operation.attributes[_FRONTEND] = mlir.ir.DictAttr.get(rest, mlir.context())
    else:
        del operation.attributes[_FRONTEND]


def _declare_meshes(module: ir.Module, meshes: Any) -> None:
    """Add an `sdy.mesh` operation for each mesh that the module does not declare."""
    operations = [view.operation for view in module.body.operations]
    names = {str(x.attributes["sym_name"]) for x in operations if x.name == "sdy.mesh"}
    with mlir.ir.InsertionPoint.at_block_begin(module.body):
        for mesh in meshes:
            symbol = mlir.string_attr(mesh.name)
            if str(symbol) not in names:  # newer versions of XLA declare it
                mlir.op("sdy.mesh", (), (), {"sym_name": symbol, "mesh": mesh.attr})


def _restore_arguments(function: ir.Operation) -> None:
    """Set the Shardy shardings of arguments and results, and delete their GSPMD shardings."""
    for name in ("arg_attrs", "res_attrs"):
        rows = []
        for row in function.attributes.get(name) or []:
            sharding = _text_in(row, _SHARDING)
            others = {x.name: x.attr for x in row if x.name not in (_FRONTEND, _GSPMD)}
            if sharding is not None:
                others["sdy.sharding"] = mlir.parsed_attr(sharding)
            rows.append(mlir.ir.DictAttr.get(others))
        if rows:
            function.attributes[name] = mlir.ir.ArrayAttr.get(rows)


def _nested_operations(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations in the regions of an operation, also in nested regions."""
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                yield from _nested_operations(view.operation)


def _target(operation: ir.Operation) -> str:
    """Return the target of a custom call without the prefix of older versions, otherwise ""."""
    if operation.name != "stablehlo.custom_call":
        return ""
    return str(operation.attributes["call_target_name"].value).removeprefix("local_")


def _restore_sharding(operation: ir.Operation, function: ir.Operation) -> None:
    """Replace a custom call with the sharding of a constraint or of a function's result.

    The GSPMD sharding of other operations is deleted.
    """
    target = _target(operation)
    text = _frontend_text(operation, _SHARDING) if target in ("Sharding", _RESULT) else None
    if text is not None:
        sharding = (
            mlir.sdy_attributes().TensorShardingPerValueAttr(mlir.parsed_attr(text)).shardings[0]
        )
        value = operation.operands[0]
        if target == "Sharding":
            with mlir.ir.InsertionPoint(operation), operation.location:
                types, attributes = [operation.results[0].type], {"sharding": sharding}
                value = mlir.op("sdy.sharding_constraint", types, (value,), attributes).results[0]
        else:
            _set_result_sharding(function, operation.results[0], sharding)
        operation.results[0].replace_all_uses_with(value)
        operation.erase()
    elif _GSPMD in operation.attributes:
        del operation.attributes[_GSPMD]


def _set_result_sharding(function: ir.Operation, value: ir.Value, sharding: Any) -> None:
    """Set the sharding of each result of `function` that is `value`."""
    block = function.regions[0].blocks[0]
    returned = block.operations[len(block.operations) - 1].operation
    rows = list(
        function.attributes.get("res_attrs") or [mlir.ir.DictAttr.get({})] * len(returned.operands)
    )
    for i, x in enumerate(returned.operands):
        if x == value:
            present = {row.name: row.attr for row in rows[i]}
            rows[i] = mlir.ir.DictAttr.get({**present, "sdy.sharding": sharding})
    function.attributes["res_attrs"] = mlir.ir.ArrayAttr.get(rows)


def _callee(operation: ir.Operation) -> str:
    """Return the name of the function if a manual computation is called, otherwise ""."""
    name = str(operation.attributes["callee"].value) if operation.name == "func.call" else ""
    return name if _BODY in name else ""


def _inner_calls(functions: dict[str, ir.Operation]) -> Iterator[ir.Operation]:
    """Yield the calls of manual computations without nested manual computations."""
    for function in functions.values():
        for operation in _nested_operations(function):
            callee = _callee(operation)
            if callee and not any(map(_callee, _nested_operations(functions[callee]))):
                yield operation


def _restore_manual_computation(call: ir.Operation, functions: dict[str, ir.Operation]) -> None:
    """Replace a call of a manual computation by an `sdy.manual_computation` operation.

    The custom calls that split its operands and join its results are erased.
    """
    body = functions[_callee(call)].regions[0].blocks[0]
    into = _split_call(call)
    out = _join_call(call)
    results = _tuple_elements(out)
    operands = [] if into is None else list(into.operands)
    empty = "#sdy.sharding_per_value<[]>"
    shardings = empty if into is None else _frontend_text(into, "xla.sdy.in_shardings")
    attributes = {
        "in_shardings": mlir.parsed_attr(str(shardings)),
        "out_shardings": mlir.parsed_attr(str(_frontend_text(out, "xla.sdy.out_shardings"))),
        "manual_axes": mlir.parsed_attr(str(_frontend_text(out, "xla.sdy.manual_axes"))),
    }
    types = [x.type for x in results]
    with mlir.ir.InsertionPoint(out), call.location:
        computation = mlir.op("sdy.manual_computation", types, operands, attributes, regions=1)
    inputs = [x.type for x in body.arguments]
    block = computation.regions[0].blocks.append(*inputs, arg_locs=[call.location] * len(inputs))
    _copy_body(body, block)
    for old, new in zip(results, computation.results, strict=True):
        old.replace_all_uses_with(new)
    dead = [x.owner for x in results if x.owner != out] + [out, call]
    if into is not None:
        dead += [x for x in {*_users(into)} if x.name == "stablehlo.get_tuple_element"] + [into]
    for operation in dead:
        operation.erase()


def _users(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operation of each use of the results of an operation."""
    for result in operation.results:
        for use in result.uses:
            yield use.owner.operation if hasattr(use.owner, "operation") else use.owner


def _split_call(call: ir.Operation) -> ir.Operation | None:
    """Return the custom call that splits the operands of `call`, or None without operands."""
    if not len(call.operands):
        return None
    owner = call.operands[0].owner
    if not isinstance(owner, mlir.ir.Block) and owner.name == "stablehlo.get_tuple_element":
        owner = owner.operands[0].owner
    if isinstance(owner, mlir.ir.Block) or _target(owner) != _INTO:
        raise _missing_custom_calls(call)
    return owner


def _join_call(call: ir.Operation) -> ir.Operation:
    """Return the custom call that joins the results of `call`."""
    users = {*_users(call)}
    if len(users) != 1 or _target(out := users.pop()) != _OUT:
        raise _missing_custom_calls(call)
    if list(out.operands) != list(call.results):
        raise _missing_custom_calls(call)
    return out


def _missing_custom_calls(call: ir.Operation) -> ArtifactError:
    """Return the error of a manual computation without its custom calls."""
    return ArtifactError(
        f"the program calls {_callee(call)}, a manual computation of Shardy, without the custom "
        f"calls {_INTO} and {_OUT}"
    )


def _tuple_elements(operation: ir.Operation) -> list[ir.Value]:
    """Return the results of a custom call, or the elements of its tuple, in order.

    Operations are added for elements that the program does not use.
    """
    users = [x for x in _users(operation) if x.name == "stablehlo.get_tuple_element"]
    if not users:
        return list(operation.results)
    by_index = {int(x.attributes["index"].value): x.results[0] for x in users}
    kind = mlir.ir.TupleType(operation.results[0].type)
    for i in range(kind.num_types):
        if i not in by_index:
            with mlir.ir.InsertionPoint(operation), operation.location:
                element = mlir.op(
                    "stablehlo.get_tuple_element",
                    [kind.get_type(i)],
                    (operation.results[0],),
                    {"index": mlir.i32_attr(i)},
                )
            by_index[i] = element.results[0]
    return [by_index[i] for i in range(kind.num_types)]


def _copy_body(source: ir.Block, target: ir.Block) -> None:
    """Copy the operations of a function's block to the block of a manual computation."""
    values = dict(zip(source.arguments, target.arguments, strict=True))
    with mlir.ir.InsertionPoint(target):
        for view in source.operations:
            operation = view.operation
            if operation.name == "func.return":
                with operation.location:
                    mlir.op("sdy.return", (), [values[x] for x in operation.operands])
                return
            copy = operation.clone()
            _replace_operands(copy, values)
            values.update(zip(operation.results, copy.results, strict=True))


def _replace_operands(operation: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Replace the operands of an operation, also inside its regions; `values` is old to new."""
    for i, x in enumerate(operation.operands):
        if x in values:
            operation.operands[i] = values[x]
    for inner in _nested_operations(operation):
        for i, x in enumerate(inner.operands):
            if x in values:
                inner.operands[i] = values[x]
