"""Factors of a product as matrices, the form that XLA's compiler for CPUs uses.

XLA rewrites any product as a product of two matrices (`DotDecomposer`): it brings the axes of each
factor in order, and joins the contracting axes and the free axes.  It copies a factor whose axes
are not in order, such as a factor of the gradient of weights, and recomputes the elementwise
operations that produce the factor.  XLA multiplies two matrices with axes in another order without
a copy.  So this module joins adjacent axes, which copies nothing.

Batched products are left to XLA: they take as long with such matrices as with copies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from olympus_core.base.avals import ShapedArray
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

Axes = tuple[int, ...]

#: products of numbers from which a few calls save the time that another form takes to emit
MANY_PRODUCTS = 2**20


#: elements from which the copy of a transpose takes less time than it saves
_LEAST_TRANSPOSED = 2**14


class Factor(NamedTuple):
    """A factor of a product, and its contracting, batch and free axes."""

    value: ir.Value
    aval: ShapedArray
    contract: Axes
    batch: Axes

    @property
    def free(self) -> Axes:
        """The axes of this factor alone that the result has."""
        others = self.contract + self.batch
        return tuple([i for i in range(self.aval.ndim) if i not in others])

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the sizes of `axes`."""
        return tuple([self.aval.shape[i] for i in axes])

    def runs(self, contract: bool) -> list[Axes]:
        """Return the groups of axes to join: free ones, and with `contract` contracting ones."""
        return [axes for axes in (self.free, self.contract if contract else ()) if _is_run(axes)]

    def joined(self, contract: bool) -> Factor:
        """Return the factor with its free axes joined, and with `contract` its contracting axes."""
        runs = self.runs(contract)
        begin = {axes[0]: axes for axes in runs}
        within = {i for axes in runs for i in axes[1:]}
        groups = [begin.get(i, (i,)) for i in range(self.aval.ndim) if i not in within]
        if len(groups) == self.aval.ndim:
            return self
        place = {i: n for n, axes in enumerate(groups) for i in axes}
        shape = tuple([math.prod(self.sizes(axes)) for axes in groups])
        aval = self.aval.update(shape=shape)
        value = mlir.op1("stablehlo.reshape", aval, (self.value,))
        numbers = [tuple({place[i]: None for i in x}) for x in (self.contract, self.batch)]
        return Factor(value, aval, *numbers)


def as_matrices(lhs: Factor, rhs: Factor) -> tuple[Factor, Factor]:
    """Return the factors of a product, with adjacent axes joined where XLA would copy.

    The caller splits the axes of the product again.
    """
    if _is_in_order(lhs, rhs) or lhs.batch:
        return lhs, rhs
    lhs, rhs, together = _paired(lhs, rhs)
    return lhs.joined(together), rhs.joined(together)


def with_copied_transpose(rhs: Factor) -> Factor:
    """Return the right factor of a product with its transpose copied, if it is one of a product.

    XLA computes the transpose of a product as the product of the transposed factors, whose kernel
    is slow: 2.3 ms for 256 x 512 by 512 x 512, and 1.4 ms with the copy of the result. It also
    joins a product by a transposed product to a reduction that follows, as in attention, where the
    kernel takes twice as long as both.
    """
    if rhs.aval.ndim != 2 or rhs.batch or rhs.aval.size < _LEAST_TRANSPOSED:
        return rhs
    value = rhs.value
    if rhs.contract == (0,):
        value = _operand_of(value, "stablehlo.transpose")
    if value is None or _operand_of(value, "stablehlo.dot_general") is None:
        return rhs
    aval = rhs.aval if rhs.contract == (0,) else rhs.aval.update(shape=rhs.aval.shape[::-1])
    product = mlir.op("stablehlo.optimization_barrier", [value.type], [value]).result
    order = {"permutation": mlir.i64_array((1, 0))}
    copy = mlir.op1("stablehlo.transpose", aval, (product,), order)
    copy = mlir.op("stablehlo.optimization_barrier", [copy.type], [copy]).result
    return Factor(copy, aval, (0,), ())


def _operand_of(value: ir.Value, name: str) -> ir.Value | None:
    """Return the first operand of the operation with this name that computes a value, or None."""
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or owner.name != name:
        return None
    operand: ir.Value = owner.operands[0]
    return operand


def has_axes_to_join(lhs: Factor, rhs: Factor) -> bool:
    """Return True if `as_matrices` changes the factors of a product."""
    if _is_in_order(lhs, rhs) or lhs.batch:
        return False
    lhs, rhs, together = _paired(lhs, rhs)
    return bool(lhs.runs(together) or rhs.runs(together))


def _is_in_order(lhs: Factor, rhs: Factor) -> bool:
    """Return True if XLA copies no factor: their axes are in the order of two matrices."""
    left, right = lhs.batch + lhs.free + lhs.contract, rhs.batch + rhs.contract + rhs.free
    return left == tuple(range(lhs.aval.ndim)) and right == tuple(range(rhs.aval.ndim))


def _paired(lhs: Factor, rhs: Factor) -> tuple[Factor, Factor, bool]:
    """Return the factors with their contracting axes in one order, and True if these are adjacent.

    They are adjacent in both factors.
    """
    pairs = sorted(zip(lhs.contract, rhs.contract, strict=True))
    lhs = lhs._replace(contract=tuple([axis for axis, _ in pairs]))
    rhs = rhs._replace(contract=tuple([axis for _, axis in pairs]))
    return lhs, rhs, _is_run(lhs.contract) and _is_run(rhs.contract)


def _is_run(axes: Axes) -> bool:
    """Return True if these are two or more adjacent axes in order."""
    return len(axes) > 1 and axes == tuple(range(axes[0], axes[-1] + 1))
