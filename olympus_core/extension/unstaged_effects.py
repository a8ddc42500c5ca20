"""`rng_uniform` and `dce_sink` of `olympus.lax`: operations with an effect."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.base.tree import flatten
from olympus_core.extension.applied import apply_primitive
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.primitives.elementwise.base import check_kinds

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class RngUniform(UserPrimitive):
    """Numbers drawn by the device between two scalars; each execution draws others."""

    def __init__(self) -> None:
        super().__init__("rng_uniform")
        self.is_effect = True
        self.def_impl(functools.partial(apply_primitive, self))

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        low, high = avals
        if low.dtype != high.dtype:
            raise ArgumentError(
                "Arguments to rng_uniform must have identical dtypes, got "
                f"{dtypes.long_name(low.dtype)} and {dtypes.long_name(high.dtype)}."
            )
        if low.shape or high.shape:
            raise ShapeError(
                "Arguments to rng_uniform must be scalars; got shapes "
                f"{low.shape} and {high.shape}."
            )
        check_kinds("rng_uniform", "iuf", low)
        return shaped(params["shape"], low.dtype, low.weak_type and high.weak_type), frozenset()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        (aval,) = ctx.avals_out
        sizes = dynamic.size_vector(aval.shape) if aval.is_symbolic else _constant(aval.shape)
        distribution = mlir.ir.Attribute.parse("#stablehlo<rng_distribution UNIFORM>")
        operation = mlir.op(
            "stablehlo.rng",
            [mlir.tensor_type(ctx.avals_out[0])],
            [*operands, sizes],
            {"rng_distribution": distribution},
        )
        return operation.results[0]


def _constant(shape: Sequence[int]) -> Any:
    return mlir.constant(np.asarray(shape, np.int64))


class DceSink(UserPrimitive):
    """A use of its operands, without a result, that is never removed from a program."""

    def __init__(self) -> None:
        super().__init__("dce_sink")
        self.is_effect = self.multiple_results = True

    def impl(self, *args: Any, **params: Any) -> list[Any]:
        return []

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        return [], frozenset()

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if params.get("prevent_mlir_dce"):
            raise UnsupportedError(
                "dce_sink with prevent_mlir_dce=True is not lowered: XLA has no operation for it",
                hint="use the value in a result of the program",
            )
        return []


rng_uniform_p = RngUniform()
dce_sink_p = DceSink()


def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Return an array of `shape` of numbers that the device draws from [a, b).

    a, b: scalars of one dtype.  The generator belongs to the device: each execution draws other
    numbers, so prefer `olympus.random`.  Raises ShapeError for arrays, ArgumentError for two
    dtypes and DTypeError for bool and complex values.

    >>> rng_uniform(0.0, 1.0, (2,)).shape
    (2,)
    """
    check_arrays("rng_uniform", a, b)
    out: Array = rng_uniform_p.bind(a, b, shape=tuple(shape))
    return out


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Use the arrays of a tree, so that the equations of their values are not removed.

    With `prevent_mlir_dce`, which JAX has for a pass of its own, lowering raises UnsupportedError.

    >>> dce_sink({"loss": 1.0})
    """
    leaves, _ = flatten(val)
    dce_sink_p.bind(*leaves, prevent_mlir_dce=prevent_mlir_dce)
