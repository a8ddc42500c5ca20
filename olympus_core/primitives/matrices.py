"""The factors of a product as XLA's compiler for CPUs takes them: as matrices.

It makes a product of two matrices of any other (`DotDecomposer`): it brings the axes of each factor
in order and joins those that are summed over, and those that are not.  A factor whose axes are not
in order, such as one of the gradient of weights, is copied for that, and all elementwise operations
that it is made of are computed once more.  Two matrices whose axes are in another order it
multiplies as they are.  So axes that stand side by side are joined here: nothing is copied.

Batches are left to it: its product of batches takes as long with such matrices as with copies.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from olympus_core import mlir
from olympus_core.avals import ShapedArray

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["Axes", "Factor", "as_matrices"]

Axes = tuple[int, ...]


class Factor(NamedTuple):
    """A factor of a product, and its axes: summed over, of the batch, and free."""

    value: ir.Value
    aval: ShapedArray
    contract: Axes
    batch: Axes

    @property
    def free(self) -> Axes:
        """The axes that the result has of this factor alone."""
        others = self.contract + self.batch
        return tuple([i for i in range(self.aval.ndim) if i not in others])

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """The sizes of some axes."""
        return tuple([self.aval.shape[i] for i in axes])

    def joined(self, contract: bool) -> Factor:
        """The factor with its free axes as one, and with `contract` those that are summed over."""
        runs = [axes for axes in (self.free, self.contract if contract else ()) if _is_run(axes)]
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
    """The factors of a product, with axes that stand side by side joined where XLA would copy.

    The axes of their product are to be parted again.
    """
    in_order = (
        lhs.batch + lhs.free + lhs.contract == tuple(range(lhs.aval.ndim)),
        rhs.batch + rhs.contract + rhs.free == tuple(range(rhs.aval.ndim)),
    )
    if all(in_order) or lhs.batch:
        return lhs, rhs
    pairs = sorted(zip(lhs.contract, rhs.contract, strict=True))
    lhs = lhs._replace(contract=tuple([axis for axis, _ in pairs]))
    rhs = rhs._replace(contract=tuple([axis for _, axis in pairs]))
    together = _is_run(lhs.contract) and _is_run(rhs.contract)
    return lhs.joined(together), rhs.joined(together)


def _is_run(axes: Axes) -> bool:
    """Whether these are several axes that stand side by side, in order."""
    return len(axes) > 1 and axes == tuple(range(axes[0], axes[-1] + 1))
