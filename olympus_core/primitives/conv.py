"""conv_general_dilated: an array and a kernel in, their convolution out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from olympus_core import dtypes, mlir
from olympus_core.avals import Shape, ShapedArray, shaped
from olympus_core.errors import ShapeError
from olympus_core.primitive import Batched, Linear, Primitive, op
from olympus_core.primitives.conv_rules import batched_conv, pull_back_lhs, pull_back_rhs
from olympus_core.primitives.dot import product_dtype
from olympus_core.primitives.elementwise.base import check_one_dtype
from olympus_core.primitives.precision import precision_config
from olympus_core.primitives.window import dilated, pairs_attr, windows

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext
    from olympus_core.mlir import ir

__all__ = ["ConvDimensionNumbers", "conv_general_dilated_p"]


class ConvDimensionNumbers(NamedTuple):
    """Where each array has its axes: (batch, feature, space...) of lhs and of the result, and
    (output feature, input feature, space...) of the kernel."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


class Convolution(Primitive):
    """The convolution (not flipped) of lhs with a kernel, over any number of space axes.

    `window_strides`, `padding`, `lhs_dilation` and `rhs_dilation` are per space axis.  With
    `feature_group_count` groups of input features, or `batch_group_count` of the batch, each has
    output features of its own.
    """

    is_product: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        lhs, rhs = avals
        check_one_dtype(self.name, avals)
        _check(lhs, rhs, params)
        numbers: ConvDimensionNumbers = params["dimension_numbers"]
        batch = lhs.shape[numbers.lhs_spec[0]] // params["batch_group_count"]
        sizes = (batch, rhs.shape[numbers.rhs_spec[0]], *_space(lhs, rhs, params))
        shape = [0] * lhs.ndim
        for axis, n in zip(numbers.out_spec, sizes, strict=True):
            shape[axis] = n
        dtype = product_dtype(lhs.dtype, rhs.dtype, params["preferred_element_type"])
        return shaped(tuple(shape), dtype, lhs.weak_type and rhs.weak_type and dtype == lhs.dtype)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if dtypes.kind(ctx.avals_in[0].dtype) == "c":
            return self._complex(ctx, operands, params)
        return mlir.op1("stablehlo.convolution", ctx.aval_out, operands, _attributes(params))

    def _complex(self, ctx: LoweringContext, operands: Any, params: dict[str, Any]) -> Any:
        """By three real convolutions, since XLA has no complex ones.

        (a + ib)(c + id) = (ac - bd) + i((a + b)(c + d) - ac - bd).
        """
        parts = []
        for x, aval in zip(operands, ctx.avals_in, strict=True):
            part = shaped(aval.shape, dtypes.to_real(aval.dtype))
            re, im = (mlir.op1(f"stablehlo.{name}", part, (x,)) for name in ("real", "imag"))
            parts.append((re, im, mlir.op1("stablehlo.add", part, (re, im))))
        out = shaped(ctx.aval_out.shape, dtypes.to_real(ctx.aval_out.dtype))
        attributes = _attributes(params)
        real, imag, both = (
            mlir.op1("stablehlo.convolution", out, pair, attributes)
            for pair in zip(*parts, strict=True)
        )
        difference = mlir.op1("stablehlo.subtract", out, (real, imag))
        total = mlir.op1("stablehlo.add", out, (real, imag))
        cross = mlir.op1("stablehlo.subtract", out, (both, total))
        return mlir.op1("stablehlo.complex", ctx.aval_out, (difference, cross))

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        (x, k), (dx, dk) = primals, tangents
        total = None if dx is None else self.bind(dx, k, **params)
        if dk is not None:
            part = self.bind(x, dk, **params)
            total = part if total is None else op.add(total, part)
        return self.bind(x, k, **params), total

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, k = operands
        if isinstance(x, Linear):
            return [pull_back_lhs(cotangent, k, x.aval, params), None]
        return [None, pull_back_rhs(cotangent, x, k.aval, params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return batched_conv(batched.size, args, dims, params)


def _space(lhs: ShapedArray, rhs: ShapedArray, params: dict[str, Any]) -> Shape:
    """The sizes of the result's space axes."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    return tuple(
        [
            windows(dilated(lhs.shape[i], grow), pad, dilated(rhs.shape[j], spread), stride)
            for i, j, stride, pad, grow, spread in zip(
                numbers.lhs_spec[2:],
                numbers.rhs_spec[2:],
                params["window_strides"],
                params["padding"],
                params["lhs_dilation"],
                params["rhs_dilation"],
                strict=True,
            )
        ]
    )


def _check(lhs: ShapedArray, rhs: ShapedArray, params: dict[str, Any]) -> None:
    """Raise ShapeError unless ranks, features and groups fit."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    space = lhs.ndim - 2
    if lhs.ndim != rhs.ndim or space < 0 or any(len(s) != lhs.ndim for s in numbers):
        raise ShapeError(
            "conv_general_dilated needs an array and a kernel of one rank of at least 2, with as "
            f"many dimension numbers, and got {lhs.long_name()}, {rhs.long_name()} and {numbers}"
        )
    for name in ("window_strides", "padding", "lhs_dilation", "rhs_dilation"):
        if len(params[name]) != space:
            raise ShapeError(
                f"conv_general_dilated over {space} space axes needs {name} of that length, "
                f"and got {params[name]}"
            )
        if name != "padding" and any(n < 1 for n in params[name]):
            raise ShapeError(f"conv_general_dilated needs positive {name}, and got {params[name]}")
    batch, features = (lhs.shape[i] for i in numbers.lhs_spec[:2])
    outputs, inputs = (rhs.shape[i] for i in numbers.rhs_spec[:2])
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise ShapeError(
            "conv_general_dilated needs positive group counts, one of them 1, "
            f"and got {groups} groups of features and {batch_groups} of the batch"
        )
    if inputs * groups != features:
        raise ShapeError(
            f"a kernel {rhs.long_name()} of {inputs} input features in {groups} groups does not "
            f"fit {lhs.long_name()}, which has {features} features"
        )
    if outputs % groups or outputs % batch_groups or batch % batch_groups:
        raise ShapeError(
            f"{groups} groups of features and {batch_groups} of the batch do not divide "
            f"{outputs} output features and a batch of {batch}"
        )


def _attributes(params: dict[str, Any]) -> dict[str, ir.Attribute]:
    return {
        "window_strides": mlir.i64_array(params["window_strides"]),
        "padding": pairs_attr(params["padding"]),
        "lhs_dilation": mlir.i64_array(params["lhs_dilation"]),
        "rhs_dilation": mlir.i64_array(params["rhs_dilation"]),
        "dimension_numbers": _dimensions(params["dimension_numbers"]),
        "feature_group_count": mlir.i64_attr(params["feature_group_count"]),
        "batch_group_count": mlir.i64_attr(params["batch_group_count"]),
        "precision_config": precision_config(params["precision"]),
    }


@functools.cache
def _dimensions(numbers: ConvDimensionNumbers) -> ir.Attribute:
    """`#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>`."""
    texts = []
    for spec, names in zip(numbers, ("bf", "oi", "bf"), strict=True):
        labels = [""] * len(spec)
        for name, axis in zip((*names, *map(str, range(len(spec) - 2))), spec, strict=True):
            labels[axis] = name
        texts.append(f"[{', '.join(labels)}]")
    lhs, rhs, out = texts
    return mlir.parsed_attr(f"#stablehlo.conv<{lhs}x{rhs}->{out}>")


conv_general_dilated_p = Convolution("conv_general_dilated")
