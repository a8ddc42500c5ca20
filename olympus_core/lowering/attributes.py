"""Attributes of operations that XLA passes on to its own operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.mlir import bindings as mlir
from olympus_core.xla.hlo.reached_collectives import DIFFERS, Spread, differs_text

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"
#: the operations that run one of their programs, or theirs any number of times
_DECIDING = frozenset(["stablehlo.case", "stablehlo.if", "stablehlo.while"])


def mark(result: ir.Value, axes: Mapping[str, Spread]) -> None:
    """Mark a branch or a loop with the axes along which its predicate may differ, if any.

    XLA copies the mark to an operation that replaces its operands, unless that has one. An
    operation that is lowered in place, such as the body of a `checkpoint`, already has its own.
    """
    owner = result.owner
    if isinstance(owner, mlir.ir.Block) or owner.name not in _DECIDING:
        return
    if FRONTEND_ATTRIBUTES not in owner.attributes:
        attributes = mlir.ir.DictAttr.get({DIFFERS: mlir.string_attr(differs_text(axes))})
        owner.attributes[FRONTEND_ATTRIBUTES] = attributes


def is_marked_only(operation: ir.Operation) -> bool:
    """Return True if the only frontend attribute of a branch or a loop is the mark of `mark`."""
    attributes = operation.attributes[FRONTEND_ATTRIBUTES]
    return operation.name in _DECIDING and [x.name for x in attributes] == [DIFFERS]


def annotate_results(results: Any, annotations: Sequence[tuple[str, str]]) -> None:
    """Add attributes for the compiler to the operations of one result, or of several.

    Arguments of a block have no operation. The attributes that an operation has are unchanged.
    """
    for value in results if isinstance(results, Sequence) else [results]:
        owner = value.owner
        if not isinstance(owner, mlir.ir.Block):
            add_frontend_attributes(owner, {k: mlir.string_attr(v) for k, v in annotations})


def add_frontend_attributes(operation: ir.Operation, added: Mapping[str, ir.Attribute]) -> None:
    """Add attributes to those of an operation that XLA passes on to its own operations."""
    attributes = dict(added)
    if FRONTEND_ATTRIBUTES in operation.attributes:
        attributes.update({x.name: x.attr for x in operation.attributes[FRONTEND_ATTRIBUTES]})
    operation.attributes[FRONTEND_ATTRIBUTES] = mlir.ir.DictAttr.get(attributes, mlir.context())
