"""The types and batching that primitives of matrices share, and calls of LAPACK.

A matrix is the last two axes of an array; the axes before are batch axes, and every operand of a
primitive has the same ones.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shaped
from olympus_core.base.errors import DTypeError, ShapeError, UnsupportedError
from olympus_core.ir import sharding_rules
from olympus_core.ir.primitive import Batched, Primitive
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir import dynamic
from olympus_core.primitives.elementwise.base import BOOL, at_front, rejected_dtype
from olympus_core.primitives.elementwise.logic import emit_compare, eq_p, ge_p, le_p

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

INT32 = np.dtype("int32")
#: the dtypes that LAPACK computes in, and the letter of its routines for each
LAPACK_DTYPES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


class MatrixPrimitive(Primitive):
    """A primitive of matrices: operand i has rank `ranks[i]` after its batch axes."""

    ranks: ClassVar[tuple[int, ...]] = (2,)

    def batch_shape(self, avals: Sequence[ShapedArray]) -> Shape:
        """Return the operands' batch axes; raise ShapeError or DTypeError unless they match."""
        batches = set()
        for i, (aval, rank) in enumerate(zip(avals, self.ranks, strict=True)):
            if aval.ndim < rank:
                raise ShapeError(
                    f"Input {i} to {self.name} must have rank at least {rank}, but got "
                    f"shape={aval.shape}"
                )
            batches.add(aval.shape[: aval.ndim - rank])
        if len(batches) > 1:
            text = ", ".join(a.long_name() for a in avals)
            raise ShapeError(f"{self.name} needs operands of one batch shape, and got {text}")
        return batches.pop()

    def check_dtypes(self, *avals: ShapedArray) -> None:
        """Raise an error unless the operands have one dtype, and LAPACK supports it.

        It is UnsupportedError for narrow floats, and DTypeError for other operands.
        """
        names = {dtypes.long_name(a.dtype) for a in avals}
        if len(names) > 1 or not names <= LAPACK_DTYPES.keys():
            text = ", ".join(a.long_name() for a in avals)
            needs = f"{self.name} needs arrays of one dtype of {', '.join(LAPACK_DTYPES)}, "
            others = names - LAPACK_DTYPES.keys()
            if narrow := [x for x in others if dtypes.kind(dtypes.dtype(x)) == "f"]:
                raise UnsupportedError(
                    f"Unsupported dtype {min(narrow)}: {needs}and got {text}",
                    hint="convert the operands to float32 first",
                )
            refused = next(
                (i for i, a in enumerate(avals) if dtypes.kind(a.dtype) not in "fc"), None
            )
            term = "" if refused is None else f"{rejected_dtype(self.name, 'fc', avals, refused)}: "
            raise DTypeError(f"{term}{needs}and got {text}")

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return sharding_rules.batch_dimensions(self.name, avals, self.ranks, outs)

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        out = self.bind(
            *[at_front(x, d, batched.size) for x, d in zip(args, dims, strict=True)], **params
        )
        return out, [0] * len(out) if self.multiple_results else 0


def check_square(name: str, aval: ShapedArray) -> None:
    """Raise ShapeError unless the matrices are square."""
    if aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"The input to {name} must be a square matrix. Got shape {aval.shape}.")


@functools.cache
def char(letter: str) -> ir.Attribute:
    """Return a letter in the form of LAPACK's options: its code as `ui8`."""
    return mlir.parsed_attr(f"{ord(letter)} : ui8")


@functools.cache
def _layouts(avals: tuple[ShapedArray, ...], batch: int) -> ir.Attribute:
    """Return the memory order of operands or results: LAPACK's matrices are column-major."""
    orders = []
    for aval in avals:
        order = list(range(aval.ndim))[::-1]
        if aval.ndim == batch + 2:
            order[:2] = order[1::-1]
        orders.append(f"dense<{order if order else ''}> : tensor<{len(order)}xindex>")
    return mlir.parsed_attr(f"[{', '.join(orders)}]")


@functools.cache
def _aliases(pairs: tuple[tuple[int, int], ...], results: int) -> ir.Attribute:
    """Return the attribute that pairs each overwritten operand with the result in its memory."""
    texts = [
        f"#stablehlo.output_operand_alias<output_tuple_indices = {[j] if results > 1 else []}, "
        f"operand_index = {i}, operand_tuple_indices = []>"
        for i, j in pairs
    ]
    return mlir.parsed_attr(f"[{', '.join(texts)}]")


def lapack(
    routine: str,
    operands: Sequence[ir.Value],
    avals: tuple[tuple[ShapedArray, ...], tuple[ShapedArray, ...]],
    options: Mapping[str, ir.Attribute] | None = None,
    overwritten: tuple[tuple[int, int], ...] = ((0, 0),),
) -> list[ir.Value]:
    """Emit a call of a LAPACK routine, such as "getrf"; `avals` are those of operands and results.

    `overwritten` are pairs of an operand and the result that takes its memory.  Only the CPU has
    LAPACK; without `ctx.has_lapack` there is `portable`.
    """
    ins, outs = avals
    batch = max(a.ndim for a in ins) - 2
    letter = LAPACK_DTYPES[dtypes.long_name(ins[0].dtype)]
    attributes = {
        "call_target_name": mlir.string_attr(f"lapack_{letter}{routine}_ffi"),
        "has_side_effect": mlir.bool_attr(False),
        # The options are in this attribute, because the oldest version of portable StableHLO that
        # is read has no other place for structured options.
        "mhlo.backend_config": mlir.ir.DictAttr.get(dict(options or {})),
        "operand_layouts": _layouts(ins, batch),
        "result_layouts": _layouts(outs, batch),
    }
    if overwritten:
        attributes["output_operand_aliases"] = _aliases(overwritten, len(outs))
    return call_with_shapes(attributes, operands, outs)


def call_with_shapes(
    attributes: dict[str, ir.Attribute], operands: Sequence[ir.Value], outs: Sequence[ShapedArray]
) -> list[ir.Value]:
    """Emit a custom call; symbolic shapes of results are operands of it."""
    if any(a.is_symbolic for a in outs):
        shapes = [dynamic.size_vector(a.shape) for a in outs]
        places = np.arange(len(operands), len(operands) + len(shapes), dtype=np.int64)
        operands = (*operands, *shapes)
        attributes = attributes | {"indices_of_shape_operands": mlir.dense(places)}
        if "operand_layouts" in attributes:
            vectors = ["dense<0> : tensor<1xindex>"] * len(shapes)
            layouts = [str(x) for x in attributes["operand_layouts"]]
            text = f"[{', '.join([*layouts, *vectors])}]"
            attributes["operand_layouts"] = mlir.parsed_attr(text)
    types = [mlir.tensor_type(a) for a in outs]
    return list(mlir.op("stablehlo.custom_call", types, operands, attributes).results)


def status(batch: Shape) -> ShapedArray:
    """Return the aval of the status that LAPACK returns for each matrix; 0 is success."""
    return shaped(batch, INT32)


def succeeded(info: ir.Value, batch: Shape, *, or_singular: bool = False) -> ir.Value:
    """Emit True for each matrix that succeeded; a positive status is the index of a zero pivot."""
    aval = status(batch)
    return emit_compare(ge_p if or_singular else eq_p, aval, info, mlir.full(aval, 0))


def emit_or_nan(done: ir.Value, batch: Shape, value: ir.Value, aval: ShapedArray) -> ir.Value:
    """Emit NaN in place of the results of the matrices that are not `done`."""
    mask = mlir.broadcast(done, shaped(aval.shape, BOOL), tuple(range(len(batch))))
    return mlir.op1("stablehlo.select", aval, (mask, value, mlir.full(aval, np.nan)))


def emit_all_or_nan(
    info: ir.Value, batch: Shape, values: Sequence[ir.Value], avals: Sequence[ShapedArray]
) -> list[ir.Value]:
    """Emit the results of types `avals`, with NaN for the matrices on which a routine failed."""
    done = succeeded(info, batch)
    return [emit_or_nan(done, batch, x, a) for x, a in zip(values, avals, strict=True)]


def _iotas(aval: ShapedArray) -> tuple[ShapedArray, list[ir.Value]]:
    """Return the row and the column index of each element of matrices."""
    index = shaped(aval.shape, INT32)
    return index, [
        mlir.op1("stablehlo.iota", index, (), {"iota_dimension": mlir.i64_attr(aval.ndim - i)})
        for i in (2, 1)
    ]


def emit_triangle(value: ir.Value, aval: ShapedArray, *, lower: bool) -> ir.Value:
    """Emit a triangle of matrices, with their diagonal, and zeros elsewhere."""
    index, (row, column) = _iotas(aval)
    inside = emit_compare(ge_p if lower else le_p, index, row, column)
    return mlir.op1("stablehlo.select", aval, (inside, value, emit_zeros(aval)))


def swapped(aval: ShapedArray) -> ShapedArray:
    """Return the aval of transposed matrices."""
    return aval.update(shape=(*aval.shape[:-2], aval.shape[-1], aval.shape[-2]))


def emit_swap(value: ir.Value, out: ShapedArray) -> ir.Value:
    """Emit the transposed matrices, of type `out`.

    Around a LAPACK routine it is free: a row-major matrix is its transpose in column-major order.
    """
    order = (*range(out.ndim - 2), out.ndim - 1, out.ndim - 2)
    return mlir.op1("stablehlo.transpose", out, (value,), {"permutation": mlir.i64_array(order)})


def emit_zeros(aval: ShapedArray) -> ir.Value:
    """Emit zeros."""
    return mlir.full(aval, 0)


def emit_eye(aval: ShapedArray) -> ir.Value:
    """Emit matrices with ones on the diagonal, and zeros elsewhere."""
    index, (row, column) = _iotas(aval)
    equal = emit_compare(eq_p, index, row, column)
    return mlir.op1("stablehlo.convert", aval, (equal,))
