"""The base class of elementwise primitives, and helpers for the rules of all primitives.

Operands have the same dtype, and the same shape or rank 0.  A rank-0 operand is implicitly
broadcast to the shape of the others, so that `2.0 * x` needs no broadcast in the IR.  Most
primitives are one call of `Elementwise`, with the name, the StableHLO operation, the kinds of dtype
that the primitive takes (see `dtypes.kind`), and a derivative for each operand.  The type of a
value, its `aval`, has a shape and a dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import DTypeError, NoDerivativeError, ShapeError
from olympus_core.ir import sharding_rules, unreduced_rules
from olympus_core.ir.olympuspr import Literal
from olympus_core.ir.primitive import Batched, Linear, SingleResult, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.precision import read_accuracy

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.primitives.precision import Accuracy
    from olympus_core.raising.stablehlo_operation import StableHloOperation

BOOL = np.dtype("bool")
_KINDS = {
    "b": "bool",
    "u": "unsigned integer",
    "i": "integer",
    "f": "float",
    "c": "complex",
    "k": "key",
}
#: the abstract dtypes of NumPy and JAX, for messages
_ABSTRACT = {
    "b": "bool",
    "u": "unsignedinteger",
    "i": "signedinteger",
    "f": "floating",
    "c": "complexfloating",
    "k": "prng_key",
}


def kinds_text(kinds: str) -> str:
    """Return the names of kinds of dtype, for documentation."""
    return ", ".join(_KINDS[k] for k in kinds)


def rejected_dtype(name: str, kinds: str, avals: Sequence[ShapedArray], position: int) -> str:
    """Return the message for the operand at `position`, whose dtype is not of `kinds`."""
    both = "ui" if "u" in kinds and "i" in kinds else ""
    accepted = ["integer"] if both else []
    accepted += [_ABSTRACT[k] for k in dict.fromkeys(kinds) if k not in both]
    aval = avals[position]
    at = f" at position {position}" if len(avals) > 1 else ""
    return (
        f"{name} does not accept dtype {dtypes.long_name(aval.dtype)}{at}. Accepted dtypes{at} are "
        f"subtypes of {', '.join(accepted)}; got {aval.long_name()}"
    )


def shapes_text(avals: Sequence[ShapedArray]) -> str:
    """Return the shapes of `avals` for messages: `(3,), (2,)`."""
    return ", ".join(str(tuple(a.shape)) for a in avals)


def join_shapes(name: str, avals: tuple[ShapedArray, ...]) -> Shape:
    """Return the shape of the operands of rank above 0; raise ShapeError if their shapes differ."""
    shapes = {a.shape for a in avals if a.shape}
    if len(shapes) > 1:
        text = shapes_text([a for a in avals if a.shape])
        raise ShapeError(f"{name} got incompatible shapes for broadcasting: {text}")
    return next(iter(shapes), ())


def check_kinds(name: str, kinds: str, *avals: ShapedArray) -> None:
    """Raise DTypeError unless the kind of the dtype of each of `avals` is in `kinds`."""
    for i, aval in enumerate(avals):
        if dtypes.kind(aval.dtype) not in kinds:
            raise DTypeError(rejected_dtype(name, kinds, avals, i))


#: the functions of `jax.numpy` that promote, by the name of the operation of `lax`
_PROMOTING = {
    "add": "add",
    "atan2": "arctan2",
    "concatenate": "concatenate",
    "div": "divide",
    "eq": "equal",
    "max": "maximum",
    "min": "minimum",
    "mul": "multiply",
    "ne": "not_equal",
    "nextafter": "nextafter",
    "pow": "float_power",
    "select": "where",
    "shift_left": "left_shift",
    "shift_right_arithmetic": "right_shift",
    "shift_right_logical": "right_shift",
    "sub": "subtract",
}


def check_one_dtype(name: str, avals: tuple[ShapedArray, ...]) -> None:
    """Raise DTypeError unless all `avals` have the same dtype."""
    if len({a.dtype for a in avals}) > 1:
        names = ", ".join(dtypes.long_name(a.dtype) for a in avals)
        text = ", ".join(a.short_name() for a in avals)
        tip = ""
        if function := _PROMOTING.get(name):
            tip = (
                f" (Tip: jnp.{function} is a similar function that does automatic type promotion "
                "on inputs)."
            )
        raise DTypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {names}.{tip} "
            f"The operands are {text}"
        )


#: a tangent's contribution: (tangent, result, *operands, **params) -> tangent of the result
Tangent = Callable[..., Any]
#: a transpose rule: (cotangent, *operands, **params) -> cotangent of the operand
Cotangent = Callable[..., Any]


class Elementwise(SingleResult):
    """An elementwise primitive that lowers to one operation of StableHLO or CHLO.

    `tangents` has a rule for each operand, or None for one without a derivative. It is empty if
    the derivative is zero. `linear` has a transpose rule for each operand that the primitive is
    linear in, and None for the others. `is_cheap` is documented in `Primitive`. The primitive is
    also raised from the operation `synonym`, which XLA replaces by `op`.
    """

    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.elementwise)
    is_elementwise: ClassVar[bool] = True
    takes_literals: ClassVar[bool] = True
    #: True if the lowering is `op` alone, so that `op` can be raised to the primitive
    is_one_operation: ClassVar[bool] = True
    #: False if the lowering adds operations that correct special values of complex results, such
    #: as inf beside NaN. The parameter `is_corrected=False` of a raised operation omits them.
    complex_is_one_operation: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        op: str,
        kinds: str,
        *tangents: Tangent | None,
        result: Callable[[DType], DType] | None = None,
        linear: Sequence[Cotangent | None] = (),
        is_cheap: bool = False,
        synonym: str = "",
    ) -> None:
        super().__init__(name)
        self.is_cheap = is_cheap
        self.op = op
        self.raised_from = tuple(filter(None, (op, synonym))) if self.is_one_operation else ()
        self.kinds = kinds
        self.result = result
        self.tangents = tangents
        self.linear = linear

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        check_kinds(self.name, self.kinds, *avals)
        check_one_dtype(self.name, avals)
        dtype = self.result(avals[0].dtype) if self.result else avals[0].dtype
        weak = all(a.weak_type for a in avals)
        return shaped(join_shapes(self.name, avals), dtype, weak)

    def attributes(self, aval: ShapedArray) -> dict[str, Any] | None:
        """Return the attributes of the operation `op` for operands of type `aval`."""
        return None

    def sharding_rule(
        self, avals: sharding_rules.Avals, outs: sharding_rules.Avals, params: dict[str, Any]
    ) -> sharding_rules.Specs:
        return [sharding_rules.broadcast_spec(self.name, avals)]

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        out = ctx.aval_out
        full = [
            x if x.__class__ is not Literal and a.shape == out.shape else ctx.full(x, a, out.shape)
            for x, a in zip(operands, ctx.avals_in, strict=True)
        ]
        attributes = self.attributes(ctx.avals_in[0]) or accuracy_attributes(params)
        return mlir.op1(self.op, out, full, attributes)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        params: dict[str, Any] = {}
        accuracy = read_accuracy(operation)
        if accuracy is not None:
            params["accuracy"] = accuracy
        is_complex = dtypes.kind(operation.avals_in[0].dtype) == "c"
        if is_complex and not self.complex_is_one_operation:
            params["is_corrected"] = False
        return self.bind(*operands, **params)

    def lower_uncorrected(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        """Emit `op` alone, without the corrections of special values of complex results."""
        return Elementwise.lower(self, ctx, *operands, **params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        out, total = self.bind(*primals, **params), None
        for name in ("is_corrected", "accuracy"):  # the rules are the same
            params.pop(name, None)
        for rule, t in zip(self.tangents, tangents, strict=bool(self.tangents)):
            if t is None:
                continue
            if rule is None:
                raise NoDerivativeError(
                    f"Differentiation rule for '{self.name}' not implemented, with respect to "
                    f"operand {self.tangents.index(None)}",
                    hint="apply olympus.lax.stop_gradient to the operand for a derivative of zero",
                )
            part = rule(spread(t, shape_of(out)), out, *primals, **params)
            total = part if total is None else op.add_any(total, part)
        return out, total

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        if not self.linear:
            raise NoDerivativeError(
                f"Transpose rule (for reverse-mode differentiation) for '{self.name}' not "
                "implemented: it is not linear, and cannot be transposed"
            )
        return [
            unbroadcast(rule(cotangent, *operands, **params), x.aval)
            if rule and isinstance(x, Linear)
            else None
            for rule, x in zip(self.linear, operands, strict=True)
        ]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        args, dim = align(batched.size, args, dims)
        return self.bind(*args, **params), dim


def accuracy_attributes(params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the attributes that state the parameter `accuracy`, if there is one."""
    accuracy: Accuracy | None = params.get("accuracy")
    return None if accuracy is None else {"result_accuracy": accuracy.attribute()}


def spread(x: Any, shape: Shape) -> Any:
    """Return a rank-0 value broadcast to `shape`, and any other value unchanged."""
    if shape_of(x) == shape:
        return x
    return op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=())


def unbroadcast(cotangent: Any, aval: ShapedArray) -> Any:
    """Return the cotangent of an operand of type `aval`: the sum if it is a broadcast scalar."""
    shape = shape_of(cotangent)
    if shape == aval.shape:
        return cotangent
    return op.reduce_sum(cotangent, axes=tuple(range(len(shape))))


def align(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[list[Any], int]:
    """Give the operands of a batched primitive the same shape; return them and their mapped axis.

    `dims[i]` is the mapped axis, of length `size`, of `args[i]`, or None. Rank-0 operands without
    a mapped axis are unchanged.
    """
    ranks = [len(shape_of(x)) - (d is not None) for x, d in zip(args, dims, strict=True)]
    rank = max(ranks)
    full = [d for d, r in zip(dims, ranks, strict=True) if d is not None and r == rank]
    dim = full[0] if full else 0
    shape = _mapped_shape(size, args, dims, dim, rank)
    aligned = []
    for x, d, r in zip(args, dims, ranks, strict=True):
        if d is None and r == 0:
            aligned.append(x)
        elif r < rank:  # a scalar for each mapped index
            aligned.append(op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=(dim,)))
        elif d is None:
            unmapped_axes = tuple(i for i in range(rank + 1) if i != dim)
            aligned.append(op.broadcast_in_dim(x, shape=shape, broadcast_dimensions=unmapped_axes))
        else:
            aligned.append(move_axis(x, d, dim))
    return aligned, dim


def _mapped_shape(
    size: int, args: Sequence[Any], dims: Sequence[int | None], dim: int, rank: int
) -> Shape:
    for x, d in zip(args, dims, strict=True):
        shape = list(shape_of(x))
        if d is not None:
            del shape[d]
        if len(shape) == rank:
            return (*shape[:dim], size, *shape[dim:])
    raise AssertionError("some operand has the highest rank")


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Return the elements of `x`, in order, in another shape."""
    return op.reshape(x, dimensions=None, new_sizes=tuple(shape))


def move_axis(x: Any, source: int, destination: int) -> Any:
    """Return `x` with the axis `source` moved to the position `destination`."""
    if source == destination:
        return x
    order = [i for i in range(len(shape_of(x))) if i != source]
    order.insert(destination, source)
    return op.transpose(x, permutation=tuple(order))


def to_dtype(x: Any, dtype: DType) -> Any:
    """Return `x` converted to `dtype`."""
    if get_aval(x).dtype == dtype:
        return x
    return op.convert_element_type(x, new_dtype=dtype, weak_type=False)


def shift_all(axes: Sequence[int], dim: int) -> tuple[int, ...]:
    """Return `axes` renumbered after a mapped axis is inserted at `dim`."""
    return tuple([i + (i >= dim) for i in axes])


def at_front(x: Any, dim: int | None, size: int) -> Any:
    """Move the mapped axis `dim` of `x` to the front; broadcast `x` along it if `dim` is None."""
    if dim is not None:
        return move_axis(x, dim, 0)
    shape = shape_of(x)
    unmapped_axes = tuple(range(1, len(shape) + 1))
    return op.broadcast_in_dim(x, shape=(size, *shape), broadcast_dimensions=unmapped_axes)


def elementwise_constant(x: Any, value: float) -> Any:
    """Return `value` as a scalar of x's dtype."""
    return np.asarray(value).astype(get_aval(x).dtype)[()]


def scalar_zero(x: Any) -> Any:
    """Return zero as a scalar of x's dtype."""
    return np.zeros((), get_aval(x).dtype)[()]


def zeros_like(x: Any) -> Any:
    """Return zeros of x's shape and dtype."""
    return spread(scalar_zero(x), shape_of(x))


def times(t: Any, value: float, *factors: Any) -> Any:
    """Return t * (value * factors[0] * factors[1] ...); `t` is multiplied last."""
    product = elementwise_constant(t, value)
    for factor in factors:
        product = op.mul(product, factor)
    return op.mul(t, product)


def one_minus(x: Any) -> Any:
    return op.sub(elementwise_constant(x, 1), x)


def one_plus(x: Any) -> Any:
    return op.add(elementwise_constant(x, 1), x)
