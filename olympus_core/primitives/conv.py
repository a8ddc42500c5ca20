"""Convolutions over any number of space axes.

The derivatives and batches of a convolution are convolutions too.  With lhs index l, kernel index
k and output index o of one space axis, a product contributes where l * lhs_dilation + low =
o * stride + k * rhs_dilation.  Each pull-back solves this for one of them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir import indexed_sharding_rules, sharding_rules
from olympus_core.ir.axis_orders import (
    Order,
    Reordered,
    in_order,
    inverse,
    moves_elements,
    unless_identity,
)
from olympus_core.ir.primitive import Avals, Batched, Linear, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.conv_forms import (
    convolution_as_product,
    fold,
    form_for,
    grouped_products,
    moved,
    narrow_convolution,
    of_one_image_first,
)
from olympus_core.primitives.conv_patches import gpu_form
from olympus_core.primitives.dot import product_dtype
from olympus_core.primitives.elementwise.base import check_one_dtype, move_axis, reshape, to_dtype
from olympus_core.primitives.matrices import MANY_PRODUCTS
from olympus_core.primitives.precision import precision_config, raised_precision
from olympus_core.primitives.window_parameters import dilated, pairs_attr, windows

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Params = dict[str, Any]

#: least number of input features of a group at which XLA's fast kernels gain: 8 are five times as
#: fast, 4 are slower
_WIDE_GROUP = 8


#: the kinds that the dtype of a sum of products may have, by the kind of its operands
_SUMS = {"b": "buifc", "u": "uf", "i": "if", "f": "f", "c": "c"}


class ConvDimensionNumbers(NamedTuple):
    """The axes of each array: (batch, feature, space...) of lhs and of the result, and (output
    feature, input feature, space...) of the kernel."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


class Convolution(SingleResult):
    """The convolution (not flipped) of lhs with a kernel, over any number of space axes.

    `window_strides`, `padding`, `lhs_dilation` and `rhs_dilation` are per space axis.
    `feature_group_count` splits the input features into groups, and `batch_group_count` the batch;
    each group has separate output features.
    """

    is_product: ClassVar[bool] = True
    is_convolution: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("stablehlo.convolution",)

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
        _check_preferred(lhs.dtype, dtype)
        return shaped(tuple(shape), dtype, lhs.weak_type and rhs.weak_type and dtype == lhs.dtype)

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        feature = params["dimension_numbers"].lhs_spec[1]
        return [indexed_sharding_rules.convolved(avals, outs[0].shape, feature)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not all(a.size for a in ctx.avals_in):  # StableHLO has no kernel without elements
            return mlir.full(ctx.aval_out, 0)
        form = None
        if ctx.is_for_gpu_alone:
            form = gpu_form(ctx.avals_in, ctx.aval_out, params)
        elif ctx.is_for_unsplit_cpu:
            form = form_for(ctx.avals_in, ctx.aval_out, params)
        if form is None and dtypes.kind(ctx.avals_in[0].dtype) == "c":
            return self._complex(ctx, operands, params)
        if form is not None:
            shape = ctx.aval_out.shape
            return ctx.form(form, operands, self.name, shape=shape, **params)[0]
        return _convolution(ctx, operands, ctx.avals_in, ctx.aval_out, params)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if dtypes.kind(operation.avals_in[0].dtype) == "c":
            return None  # its lowering has three convolutions
        params = _read_params(operation)
        x, kernel = operands
        flips = operation.attribute("window_reversal") or ()
        spaces = params["dimension_numbers"].rhs_spec[2:]
        flipped = tuple([axis for axis, flip in zip(spaces, flips, strict=False) if flip])
        kernel = op.rev(kernel, dimensions=flipped) if flipped else kernel
        return self.bind(x, kernel, **params)

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        avals, out = operation.avals_in, operation.aval_out
        params = _read_params(operation)
        inputs = avals[1].size // max(avals[1].shape[params["dimension_numbers"].rhs_spec[0]], 1)
        if out.size * inputs < MANY_PRODUCTS:
            return False
        is_moved = is_inner and _fast_layout(avals, out, params) != params["dimension_numbers"]
        return is_moved or form_for(avals, out, params) is not None

    def _complex(self, ctx: LoweringContext, operands: Any, params: Params) -> Any:
        """Emit a complex convolution as three real ones, since XLA has no complex convolution.

        (a + ib)(c + id) = (ac - bd) + i((a + b)(c + d) - ac - bd).
        """
        parts = []
        avals = [shaped(a.shape, dtypes.to_real(a.dtype)) for a in ctx.avals_in]
        for x, part in zip(operands, avals, strict=True):
            re, im = (mlir.op1(f"stablehlo.{name}", part, (x,)) for name in ("real", "imag"))
            parts.append((re, im, mlir.op1("stablehlo.add", part, (re, im))))
        out = shaped(ctx.aval_out.shape, dtypes.to_real(ctx.aval_out.dtype))
        real, imag, both = (
            _convolution(ctx, pair, avals, out, params) for pair in zip(*parts, strict=True)
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
            total = part if total is None else op.add_any(total, part)
        return self.bind(x, k, **params), total

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        x, k = operands
        if isinstance(x, Linear):
            return [_pull_back_lhs(cotangent, k, x.aval, params), None]
        return [None, _pull_back_rhs(cotangent, x, k.aval, params)]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return _batched(batched.size, args, dims, params)

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        """Take an array and return a result with features last, and a kernel as XLA takes it.

        Grouped products read a kernel with the output features first. The convolutions of
        gradients of kernels, whose batch is the features of the array, take their operands in any
        order.
        """
        numbers: ConvDimensionNumbers = params["dimension_numbers"]
        if not is_spatial(avals, params):
            if not any(orders):
                return None
            of_lhs, of_rhs, of_out = orders[0], orders[1], None
        else:
            of_lhs, of_out = (unless_identity((s[0], *s[2:], s[1])) for s in numbers[::2])
            outputs, inputs, *space = numbers.rhs_spec
            form = form_for(avals, self.abstract(*avals, **params), params)
            is_grouped = form is grouped_products
            of_rhs = unless_identity(
                (outputs, inputs, *space) if is_grouped else (*space, inputs, outputs)
            )
        specs = zip(numbers, (of_lhs, of_rhs, of_out), strict=True)
        moved = ConvDimensionNumbers(*(_renumbered(spec, order) for spec, order in specs))
        return Reordered(params | {"dimension_numbers": moved}, (of_lhs, of_rhs), (of_out,))


def is_spatial(avals: Sequence[ShapedArray], params: Params) -> bool:
    """Return True if a convolution of floats keeps the batch, as in the forward pass of a network.

    The convolutions of gradients of kernels exchange batch and features, whose axis comes first.
    """
    batch, feature = params["dimension_numbers"].lhs_spec[:2]
    return bool(dtypes.kind(avals[0].dtype) == "f" and batch < feature and avals[0].ndim > 2)


def copied_elements(
    avals: Sequence[ShapedArray],
    out: ShapedArray,
    params: Params,
    is_constant: bool = False,
) -> list[int]:
    """Return the elements of array, kernel and result that XLA copies to and from its layout.

    They are 0 for the convolutions whose form takes the layout that they have, and for a constant
    kernel, which XLA copies once. A sum over such a kernel counts as if it was copied: with
    features first it takes two to four times as long.
    """
    is_layer = is_spatial(avals, params)
    form = form_for(avals, out, params) if is_layer else narrow_convolution
    is_first = of_one_image_first(avals[0].shape, params["dimension_numbers"].lhs_spec)
    is_sum = form is narrow_convolution and not (is_constant and is_layer)
    if is_sum or (is_first and form in (convolution_as_product, grouped_products)):
        return [0, 0, 0]
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    orders = (
        (of_lhs[0], *of_lhs[2:], of_lhs[1]),
        (*of_rhs[2:], of_rhs[1], of_rhs[0]),
        (of_out[0], *of_out[2:], of_out[1]),
    )
    moves = [moves_elements(x.shape, o) for x, o in zip((*avals, out), orders, strict=True)]
    copied = [x.size * move for x, move in zip((*avals, out), moves, strict=True)]
    return [copied[0], 0, copied[2]] if is_constant else copied


def elements_copied_for(operation: StableHloOperation) -> int:
    """Return the elements of array and result that XLA copies for a convolution in StableHLO."""
    copied = copied_elements(operation.avals_in, operation.aval_out, _read_params(operation))
    return copied[0] + copied[2]


def _renumbered(spec: tuple[int, ...], order: Order | None) -> tuple[int, ...]:
    """Return dimension numbers of an array whose axes are in another order."""
    return spec if order is None else in_order(inverse(order), spec)


def _space(lhs: ShapedArray, rhs: ShapedArray, params: Params) -> Shape:
    """Return the sizes of the result's space axes."""
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


def _check_preferred(operand: DType, preferred: DType) -> None:
    """Raise DTypeError for a dtype that sums of products of `operand` may not have."""
    kinds = dtypes.kind(operand), dtypes.kind(preferred)
    term = None
    if kinds in (("i", "u"), ("u", "i")):
        term = "`preferred_element_type` must have the same signedness as the original type"
    elif kinds[1] not in _SUMS[kinds[0]]:
        term = (
            "Input type is incompatible with `preferred_element_type`. The compatible combinations "
            "of (input_type, preferred_element_type) are (integral, integral), (integral, "
            "floating), (floating, floating), (complex, complex)"
        )
    elif kinds == ("f", "f") and dtypes.finfo(preferred).bits < dtypes.finfo(operand).bits:
        term = "`preferred_element_type` must not be narrower than the original type"
    if term is not None:
        raise DTypeError(
            f"{term}: it is {dtypes.long_name(preferred)} for operands of "
            f"{dtypes.long_name(operand)}"
        )


def _check(lhs: ShapedArray, rhs: ShapedArray, params: Params) -> None:
    """Raise ShapeError unless ranks, features and groups match."""
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
            what = "strides" if name == "window_strides" else "dilations"
            raise ShapeError(
                f"All {what} must be positive, got {params[name]} as {name} of conv_general_dilated"
            )
    batch, features = (lhs.shape[i] for i in numbers.lhs_spec[:2])
    outputs, inputs = (rhs.shape[i] for i in numbers.rhs_spec[:2])
    _check_groups(params, (lhs, rhs), (batch, features, outputs, inputs))


def _check_groups(
    params: dict[str, Any], avals: tuple[ShapedArray, ShapedArray], sizes: Shape
) -> None:
    """Check the groups of a convolution: `sizes` are batch, features, kernel outputs and inputs."""
    batch, features, outputs, inputs = sizes
    counts = {n: params[n] for n in ("feature_group_count", "batch_group_count")}
    groups, batch_groups = counts.values()
    term = "conv_general_dilated"
    of = f" (of {avals[0].long_name()} and {avals[1].long_name()})"
    for name, count in counts.items():
        if count < 1:
            raise ShapeError(f"{term} {name} must be a positive integer, got {count}.")
    if features % groups:
        raise ShapeError(
            f"{term} feature_group_count must divide lhs feature dimension size, but {groups} does "
            f"not divide {features}{of}."
        )
    if features // groups != inputs:
        raise ShapeError(
            f"{term} lhs feature dimension size divided by feature_group_count must equal the rhs "
            f"input feature dimension size, but {features} // {groups} != {inputs}{of}."
        )
    for name, count in counts.items():
        if outputs % count:
            raise ShapeError(
                f"{term} rhs output feature dimension size must be a multiple of {name}, but "
                f"{outputs} is not a multiple of {count}{of}."
            )
    if batch % batch_groups:
        raise ShapeError(
            f"{term} batch_group_count must divide lhs batch dimension size, but {batch_groups} "
            f"does not divide {batch}{of}."
        )
    if groups > 1 and batch_groups > 1:
        raise ShapeError(
            "At most one of batch_group_count and feature_group_count may be > 1, got "
            f"batch_group_count={batch_groups} and feature_group_count={groups}"
        )


def _convolution(
    ctx: LoweringContext,
    operands: Sequence[ir.Value],
    avals: Sequence[ShapedArray],
    out: ShapedArray,
    params: Params,
) -> ir.Value:
    """Emit a convolution of real numbers or integers.

    XLA's fast kernels for the CPU take floats as (batch, space..., feature), and kernels as
    (space..., input feature, output feature).  XLA transposes other layouts, but only in the entry
    function: in a loop, a branch or a function, a convolution would run ten times slower or worse.
    So this function transposes there, except for groups of few features, for which these kernels
    are slow.
    """
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    is_inner = ctx.is_for_cpu_alone and ctx.inner
    fast = _fast_layout(avals, out, params) if is_inner else numbers
    if numbers == fast:
        return mlir.op1("stablehlo.convolution", out, operands, _attributes(params))
    specs = zip(operands, avals, numbers[:2], fast[:2], strict=True)
    lhs, rhs = (_transposed(x, aval, spec, to) for x, aval, spec, to in specs)
    shape = [0] * out.ndim
    for here, there in zip(fast.out_spec, numbers.out_spec, strict=True):
        shape[here] = out.shape[there]
    fast_aval = shaped(tuple(shape), out.dtype)
    attributes = _attributes(params | {"dimension_numbers": fast})
    result = mlir.op1("stablehlo.convolution", fast_aval, (lhs, rhs), attributes)
    return _transposed(result, fast_aval, fast.out_spec, numbers.out_spec)


def _fast_layout(
    avals: Sequence[ShapedArray], out: ShapedArray, params: Params
) -> ConvDimensionNumbers:
    """Return the layout that XLA's fast kernels for the CPU take; its own if there is none."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    narrow = params["feature_group_count"] > 1 and avals[1].shape[numbers.rhs_spec[1]] < _WIDE_GROUP
    if dtypes.kind(avals[0].dtype) != "f" or narrow:
        return numbers
    last = out.ndim - 1
    return ConvDimensionNumbers(
        (0, last, *range(1, last)), (last, last - 1, *range(last - 1)), (0, last, *range(1, last))
    )


def _read_params(operation: StableHloOperation) -> Params:
    """Return the parameters of a convolution, without the reversal of its kernel."""
    dims = mlir.hlo.ConvDimensionNumbers(operation.attribute("dimension_numbers"))
    numbers = _read_dimensions(dims)
    count = len(numbers.lhs_spec) - 2
    ones = (1,) * count
    lhs, out = operation.avals_in[0].dtype, operation.aval_out.dtype
    return {
        "window_strides": operation.ints("window_strides", ones),
        "padding": operation.pairs("padding", count),
        "lhs_dilation": operation.ints("lhs_dilation", ones),
        "rhs_dilation": operation.ints("rhs_dilation", ones),
        "dimension_numbers": numbers,
        "feature_group_count": operation.integer("feature_group_count", 1),
        "batch_group_count": operation.integer("batch_group_count", 1),
        "precision": raised_precision(operation, lhs, out),
        "preferred_element_type": None if out == lhs else out,
    }


def _transposed(x: ir.Value, aval: ShapedArray, spec: Sequence[int], to: Sequence[int]) -> ir.Value:
    """Return an array with axes in the order `spec`, transposed to the order `to`."""
    axes = [0] * aval.ndim
    for here, there in zip(spec, to, strict=True):
        axes[there] = here
    if axes == [*range(aval.ndim)]:
        return x
    out = shaped(tuple([aval.shape[i] for i in axes]), aval.dtype)
    permutation = {"permutation": mlir.i64_array(tuple(axes))}
    return mlir.op1("stablehlo.transpose", out, (x,), permutation)


def _attributes(params: Params) -> dict[str, ir.Attribute]:
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


def _read_dimensions(dims: Any) -> ConvDimensionNumbers:
    """Return dimension numbers from the attribute of StableHLO."""
    return ConvDimensionNumbers(
        (
            dims.input_batch_dimension,
            dims.input_feature_dimension,
            *dims.input_spatial_dimensions,
        ),
        (
            dims.kernel_output_feature_dimension,
            dims.kernel_input_feature_dimension,
            *dims.kernel_spatial_dimensions,
        ),
        (
            dims.output_batch_dimension,
            dims.output_feature_dimension,
            *dims.output_spatial_dimensions,
        ),
    )


def _pull_back_lhs(cotangent: Any, rhs: Any, lhs: ShapedArray, params: Params) -> Any:
    """Return the cotangent of the array: the result's, convolved with the flipped kernel."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    of_lhs, of_rhs, of_out = numbers
    batch_groups = params["batch_group_count"]
    groups = max(params["feature_group_count"], batch_groups)
    flipped = op.rev(rhs, dimensions=of_rhs[2:]) if of_rhs[2:] else rhs
    if groups > 1:  # a group's input features are now its output features
        flipped = moved(flipped, of_rhs[0], of_rhs[1], groups)
    out = _convolved(
        cotangent,
        flipped,
        lhs,
        params
        | {
            "dimension_numbers": ConvDimensionNumbers(of_out, _swapped(of_rhs), of_lhs),
            "window_strides": params["lhs_dilation"],
            "lhs_dilation": params["window_strides"],
            "padding": tuple(
                [
                    (kernel - low - 1, array + low - result)
                    for array, kernel, result, (low, _) in _extents(lhs, rhs, cotangent, params)
                ]
            ),
            "feature_group_count": groups,
            "batch_group_count": 1,
        },
    )
    return out if batch_groups == 1 else moved(out, of_lhs[1], of_lhs[0], batch_groups)


def _pull_back_rhs(cotangent: Any, lhs: Any, rhs: ShapedArray, params: Params) -> Any:
    """Return the kernel's cotangent: the array convolved with the result's, summed over batch."""
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    of_lhs, of_rhs, of_out = map(_swapped, numbers)
    return _convolved(
        lhs,
        cotangent,
        rhs,
        params
        | {
            "dimension_numbers": ConvDimensionNumbers(of_lhs, of_out, of_rhs),
            "window_strides": params["rhs_dilation"],
            "rhs_dilation": params["window_strides"],
            "padding": tuple(
                [
                    (low, result + kernel - 1 - array - low)
                    for array, kernel, result, (low, _) in _extents(lhs, rhs, cotangent, params)
                ]
            ),
            "feature_group_count": params["batch_group_count"],
            "batch_group_count": params["feature_group_count"],
        },
    )


def _extents(
    lhs: Any, rhs: Any, out: Any, params: Params
) -> list[tuple[int, int, int, tuple[int, int]]]:
    """Return each space axis's dilated extents of array, kernel and result, and its padding."""
    spaces = []
    for x, spec, name in zip(
        (lhs, rhs, out),
        params["dimension_numbers"],
        ("lhs_dilation", "rhs_dilation", "window_strides"),
        strict=True,
    ):
        shape = x.shape if isinstance(x, ShapedArray) else shape_of(x)
        spaces.append([dilated(shape[i], d) for i, d in zip(spec[2:], params[name], strict=True)])
    return list(zip(*spaces, params["padding"], strict=True))


def _swapped(spec: tuple[int, ...]) -> tuple[int, ...]:
    """Return axes with batch and feature, or output and input features, exchanged."""
    return (spec[1], spec[0], *spec[2:])


def _convolved(x: Any, kernel: Any, like: ShapedArray, params: Params) -> Any:
    """Return a convolution of operands that may differ in width, in the dtype of `like`."""
    dtype = max(get_aval(x).dtype, get_aval(kernel).dtype, key=lambda d: d.itemsize)
    out = op.conv_general_dilated(to_dtype(x, dtype), to_dtype(kernel, dtype), **params)
    return to_dtype(out, like.dtype)


def _batched(
    size: int, args: Sequence[Any], dims: Sequence[int | None], params: Params
) -> tuple[Any, int]:
    """Return the convolution of each array, or with each kernel, as one with a larger batch or with
    more features, or if both are mapped, with one group for each."""
    (lhs, rhs), (dx, dk) = args, dims
    of_lhs, of_rhs, of_out = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    if dx is None:
        assert dk is not None
        chunks = max(groups, batch_groups)
        rhs = fold(rhs, dk, of_rhs[0], chunks)
        return _unfold(op.conv_general_dilated(lhs, rhs, **params), of_out[1], chunks, size)
    if dk is None:
        lhs = fold(lhs, dx, of_lhs[0], batch_groups)
        return _unfold(op.conv_general_dilated(lhs, rhs, **params), of_out[0], 1, size)
    count = "batch_group_count" if batch_groups > 1 else "feature_group_count"
    lhs = fold(lhs, dx, of_lhs[0 if batch_groups > 1 else 1], 1)
    rhs = fold(rhs, dk, of_rhs[0], 1)
    out = op.conv_general_dilated(lhs, rhs, **(params | {count: params[count] * size}))
    return _unfold(out, of_out[1], 1, size)


def _unfold(x: Any, axis: int, groups: int, size: int) -> tuple[Any, int]:
    """Split the axis that `fold` merged into two again; the mapped axis is the first of them."""
    shape = shape_of(x)
    before, after = shape[:axis], shape[axis + 1 :]
    rest = shape[axis] // (groups * size)
    if groups > 1:
        x = move_axis(reshape(x, (*before, groups, size, rest, *after)), axis + 1, axis)
    return reshape(x, (*before, size, groups * rest, *after)), axis


conv_general_dilated_p = Convolution("conv_general_dilated")
