"""Sharding rules by factors as attributes of operations, for the compiler's partitioner."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ArgumentError
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.factor_rules import (
    CompoundFactor,
    SdyShardingRule,
    batching_group,
    factors_of,
)

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: the dimensions of one operand or result, without an ellipsis
_Dimensions = Sequence[str | CompoundFactor]
#: the beginning of the names of the factors of an ellipsis, which no name of a user has
_LEADING = "?"


def rule_attribute(
    rule: SdyShardingRule, operands: Sequence[ShapedArray], results: Sequence[ShapedArray]
) -> ir.Attribute:
    """Return `#sdy.op_sharding_rule<...>` for an operation with such operands and results.

    Raises ArgumentError (a ValueError) if they do not fit the rule.

    >>> rule_attribute(parsed_rule("i j -> i"), [aval], [row])
    OpShardingRuleAttr(#sdy.op_sharding_rule<([i, j])->([i]) {i=4, j=8}, custom>)
    """
    for what, mappings, avals in (
        ("operands", rule.operand_mappings, operands),
        ("results", rule.result_mappings, results),
    ):
        if len(mappings) != len(avals):
            raise ArgumentError(
                f"Sharding rule has {len(mappings)} {what}, but the operation has {len(avals)} "
                f"{what}"
            )
    names = [f"{i}th operand" for i in range(len(operands))]
    names += [f"{i}th result" for i in range(len(results))]
    arrays = [*zip(names, (*operands, *results), strict=True)]
    every = _without_ellipses((*rule.operand_mappings, *rule.result_mappings), arrays)
    sizes = _sizes(rule, every, arrays)
    numbers = {factor: i for i, factor in enumerate(sizes)}
    sdy = mlir.sdy
    tensors = []
    for mapping, (name, aval) in zip(every, arrays, strict=True):
        _check_products(mapping, sizes, name, aval)
        dims = [
            sdy.DimMappingAttr.get([numbers[f] for f in factors_of(d)], mlir.context())
            for d in mapping
        ]
        tensors.append(sdy.TensorMappingAttr.get(dims, mlir.context()))
    attribute: ir.Attribute = sdy.OpShardingRuleAttr.get(
        factor_sizes=[*sizes.values()],
        operand_mappings=tensors[: len(operands)],
        result_mappings=tensors[len(operands) :],
        is_custom=True,
        reduction_factors=[numbers[f] for f in rule.reduction_factors],
        need_replication_factors=[numbers[f] for f in rule.need_replication_factors],
        permutation_factors=[numbers[f] for f in rule.permutation_factors],
        context=mlir.context(),
    )
    return attribute


_Arrays = Sequence[tuple[str, ShapedArray]]


def _without_ellipses(mappings: Sequence[_Dimensions], arrays: _Arrays) -> list[_Dimensions]:
    """Return the mappings with a factor for each leading dimension that an ellipsis is for.

    Raises ArgumentError unless each has a dimension of the rule for each of its array.
    """
    ranks: dict[str, int] = {}  # the number of leading dimensions of each group
    full: list[_Dimensions] = []
    for mapping, (name, aval) in zip(mappings, arrays, strict=True):
        first = mapping[0] if len(mapping) else None
        group = batching_group(first) if isinstance(first, str) else None
        own = [*mapping] if group is None else [*mapping[1:]]
        leading: list[str] = []
        if group is not None:
            rank = max(aval.ndim - len(own), 0)
            if ranks.setdefault(group, rank) != rank:
                raise ArgumentError(
                    "Ellipsis represents different number of leading dimensions "
                    f"{ranks[group]} and {rank}"
                )
            leading = [f"{_LEADING}{group}_{i}" for i in range(rank)]
        if len(leading) + len(own) != aval.ndim:
            raise ArgumentError(
                f"Sharding rule {name} has rank {len(leading) + len(own)}, but the operation "
                f"{name} has rank {aval.ndim}"
            )
        full.append([*leading, *own])
    return full


def _sizes(
    rule: SdyShardingRule, mappings: Sequence[_Dimensions], arrays: _Arrays
) -> dict[str, int]:
    """Return the size of each factor, in their order: of several sizes the smallest.

    Raises ArgumentError for leading dimensions of several sizes.
    """
    sizes: dict[str, int] = {}
    for mapping, (_, aval) in zip(mappings, arrays, strict=True):
        for dimension, size in zip(mapping, aval.shape, strict=True):
            if not isinstance(dimension, str):
                for factor in dimension:  # the size may follow, from a whole dimension
                    sizes.setdefault(factor, rule.factor_sizes.get(factor, 0))
                continue
            known = sizes.get(dimension) or size
            if known != size and dimension.startswith(_LEADING):
                raise ArgumentError(
                    f"Batching dimension {dimension[len(_LEADING) :]} corresponds to two sizes: "
                    f"{known} and {size}"
                )
            sizes[dimension] = min(known, size)
    return sizes


def _check_products(
    mapping: _Dimensions, sizes: dict[str, int], name: str, aval: ShapedArray
) -> None:
    """Raise ArgumentError for a dimension that is not the product of its factors."""
    for dimension, size in zip(mapping, aval.shape, strict=True):
        product = math.prod(sizes[f] for f in factors_of(dimension))
        if not isinstance(dimension, str) and product != size:
            raise ArgumentError(
                f"{name} actual size {size} doesn't match the size {product} derived from the "
                f"compound factors {tuple(dimension)}"
            )
