"""The replacement of the first arguments of a module's entry function by constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def with_entry_constants(module: ir.Module, arrays: Sequence[np.ndarray[Any, Any]]) -> ir.Module:
    """Return a copy of a module whose `main` has arrays in place of its first arguments.

    >>> with_entry_constants(module, [np.ones(2, np.float32)])
    """
    ir, module, count = mlir.ir, mlir.copied_module(module), len(arrays)
    main: Any = next(
        view
        for view in module.body.operations
        if view.operation.attributes["sym_name"].value == "main"
    ).operation
    block = main.regions[0].blocks[0]
    with mlir.context(), ir.Location.unknown():
        with ir.InsertionPoint.at_block_begin(block):
            for argument, array in zip(block.arguments, arrays, strict=False):
                argument.replace_all_uses_with(mlir.constant(array))
        for _ in arrays:
            block.erase_argument(0)
        kind = main.attributes["function_type"].value
        kind = ir.FunctionType.get([x.type for x in block.arguments], list(kind.results))
        main.attributes["function_type"] = ir.TypeAttr.get(kind)
        if "arg_attrs" in main.attributes:
            rest = list(main.attributes["arg_attrs"])[count:]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(rest)
    return module
