"""StableHLO for symbolic dimensions: their values, and the dynamic forms of operations.

An operation whose shape or attributes are symbolic has another form in StableHLO, which takes them
as an operand: `dynamic_broadcast_in_dim` for `broadcast_in_dim`.  `bindings.op1` selects the form,
so that lowering rules are the same for static and symbolic shapes.

The values of the dimensions are emitted at the start of each function, once for each expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.context import state
from olympus_core.base.dimensions.expression import SymbolicDim
from olympus_core.base.dimensions.solving import SolvedVariable
from olympus_core.base.dimensions.terms import FLOORDIV, MAX, MIN, DimFactor, DimProduct
from olympus_core.base.errors import LoweringError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: The dtype of sizes in a program, as in the runtime.
SIZE = np.dtype("int32")
_SCALAR = shaped((), SIZE)
_BOOL = shaped((), np.dtype("bool"))


class Dimensions:
    """The values of the dimension variables in one function that is being emitted.

    `operations` are at the start of the function; `anchor` is the operation before which they are
    inserted.
    """

    def __init__(self, variables: Mapping[str, ir.Value]) -> None:
        self.variables = dict(variables)
        self._anchor = mlir.op("stablehlo.constant", (_type(_SCALAR),), (), _zero())
        self._values: dict[Any, ir.Value] = {}

    def close(self) -> None:
        """Remove the mark of the place at the start of the function."""
        self._anchor.erase()

    def value(self, size: SymbolicDim | int) -> ir.Value:
        """Return a size as a scalar of the dtype `SIZE`."""
        key: Any = size.key if isinstance(size, SymbolicDim) else size
        if key not in self._values:
            with mlir.ir.InsertionPoint(self._anchor):
                self._values[key] = self._emitted(size)
        return self._values[key]

    def vector(self, sizes: Sequence[SymbolicDim | int]) -> ir.Value:
        """Return sizes as a vector of the dtype `SIZE`."""
        key = tuple([n.key if isinstance(n, SymbolicDim) else n for n in sizes])
        if key not in self._values:
            scalars = [self.value(n) for n in sizes if isinstance(n, SymbolicDim)]
            with mlir.ir.InsertionPoint(self._anchor):
                self._values[key] = _vector(sizes, scalars)
        return self._values[key]

    def _emitted(self, size: SymbolicDim | int) -> ir.Value:
        if isinstance(size, int):
            return mlir.constant(np.asarray(size, SIZE))
        total: ir.Value | None = None
        for term, k in size.terms:
            value = self._term(term, k)
            total = value if total is None else _binary("add", total, value)
        return total

    def _term(self, term: DimProduct, k: int) -> ir.Value:
        value = None if term.factors and k == 1 else mlir.constant(np.asarray(k, SIZE))
        for factor, power in term.factors:
            one = self._factor(factor)
            for _ in range(power):
                value = one if value is None else _binary("multiply", value, one)
        return value

    def _factor(self, factor: DimFactor) -> ir.Value:
        if factor.is_variable:
            if factor.name not in self.variables:
                raise LoweringError(
                    f"the symbolic dimension '{factor.name}' has no value: it is in no shape of an "
                    "argument"
                )
            return self.variables[factor.name]
        x, y = (self.value(n) for n in factor.operands)
        if factor.name in (MAX, MIN):
            return _binary("maximum" if factor.name == MAX else "minimum", x, y)
        is_quotient = factor.name == FLOORDIV
        if all(_is_positive(n) for n in factor.operands):
            return _binary("divide" if is_quotient else "remainder", x, y)
        return _floored(x, y, is_quotient)


def _is_positive(size: SymbolicDim | int) -> bool:
    return (size.scope.bounds(size)[0] if isinstance(size, SymbolicDim) else size) >= 0


def _zero() -> dict[str, ir.Attribute]:
    return {"value": mlir.dense(np.asarray(0, SIZE))}


def _type(aval: ShapedArray) -> ir.Type:
    return mlir.tensor_type(aval)


def _binary(name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    return mlir.op1(f"stablehlo.{name}", _SCALAR, (x, y))


def _compared(direction: str, x: ir.Value, y: ir.Value) -> ir.Value:
    attribute = mlir.parsed_attr(f"#stablehlo<comparison_direction {direction}>")
    return mlir.op1("stablehlo.compare", _BOOL, (x, y), {"comparison_direction": attribute})


def _floored(x: ir.Value, y: ir.Value, is_quotient: bool) -> ir.Value:
    """Return the quotient rounded down, or the remainder with the sign of the divisor."""
    quotient, rest = _binary("divide", x, y), _binary("remainder", x, y)
    zero, one = (mlir.constant(np.asarray(n, SIZE)) for n in (0, 1))
    negative = _compared("LT", _binary("multiply", rest, y), zero)
    if is_quotient:
        operands = negative, _binary("subtract", quotient, one), quotient
    else:
        operands = negative, _binary("add", rest, y), rest
    return mlir.op1("stablehlo.select", _SCALAR, operands)


def _vector(sizes: Sequence[SymbolicDim | int], symbolic: Sequence[ir.Value]) -> ir.Value:
    """Return a vector: symbolic sizes are joined with runs of constants."""
    values, parts, run = iter(symbolic), [], list[int]()
    for n in [*sizes, None]:
        if isinstance(n, int):
            run.append(n)
            continue
        if run:
            parts.append(mlir.constant(np.array(run, SIZE)))
            run = []
        if n is not None:
            parts.append(mlir.op1("stablehlo.reshape", shaped((1,), SIZE), (next(values),)))
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return mlir.constant(np.zeros(0, SIZE))
    along = {"dimension": mlir.i64_attr(0)}
    return mlir.op1("stablehlo.concatenate", shaped((len(sizes),), SIZE), parts, along)


@contextmanager
def function_dimensions(variables: Mapping[str, ir.Value]) -> Iterator[None]:
    """A context in which sizes are values of the function at the insertion point.

    `variables` are the values of the dimension variables; without variables nothing is emitted.
    """
    old = state.dimensions
    state.dimensions = current = Dimensions(variables) if variables else None
    try:
        yield
        if current is not None:
            current.close()
    finally:
        state.dimensions = old


def solved_value(
    step: SolvedVariable, size: ir.Value, variables: Mapping[str, ir.Value]
) -> ir.Value:
    """Return the value of the variable of a step, from the length `size` of its axis.

    `variables` are the values of earlier steps.
    """
    value = size
    if step.rest != 0:
        rest = Dimensions(variables)
        value = _binary("subtract", value, rest.value(step.rest))
        rest.close()
    if step.factor != 1:
        value = _binary("divide", value, mlir.constant(np.asarray(step.factor, SIZE)))
    return value


def variables() -> tuple[ir.Value, ...]:
    """Return the values of the dimension variables, in their order."""
    return () if state.dimensions is None else tuple(state.dimensions.variables.values())


def names() -> tuple[str, ...]:
    """Return the names of the dimension variables, in their order."""
    return () if state.dimensions is None else tuple(state.dimensions.variables)


def _dimensions(what: object) -> Dimensions:
    dimensions: Dimensions | None = state.dimensions
    if dimensions is None:
        raise LoweringError(
            f"the symbolic dimension in {what} has no value: no argument has symbolic dimensions"
        )
    return dimensions


def size_value(size: SymbolicDim | int) -> ir.Value:
    """Return a size as a scalar of the dtype `SIZE`."""
    return _dimensions(size).value(size)


def size_vector(sizes: Sequence[SymbolicDim | int]) -> ir.Value:
    """Return sizes as a vector of the dtype `SIZE`."""
    return _dimensions(sizes).vector(sizes)


# ---- dynamic forms of operations

Attributes = dict[str, Any]
Form = Callable[[ShapedArray, Sequence[Any], Attributes], Any]


def _sizes_of(attribute: Any) -> tuple[Any, ...]:
    """Return the values of an array attribute, of ints or of symbolic sizes."""
    values = attribute.values if isinstance(attribute, mlir.SymbolicValues) else attribute
    return tuple(values)


def _with_shape(name: str, *unchanged: str) -> Form:
    """Return the form that takes the shape of the result as its last operand."""

    def form(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
        rest = {k: attributes[k] for k in unchanged}
        return mlir.created(f"stablehlo.{name}", aval, (*operands, size_vector(aval.shape)), rest)

    return form


def _sliced(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    names = ("start_indices", "limit_indices", "strides")
    bounds = [size_vector(_sizes_of(attributes[name])) for name in names]
    return mlir.created("stablehlo.real_dynamic_slice", aval, (*operands, *bounds), {})


def _padded(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    amounts = [size_vector(_sizes_of(attributes[name])) for name in names]
    return mlir.created("stablehlo.dynamic_pad", aval, (*operands, *amounts), {})


def _dynamically_sliced(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    """Return a slice from start indices that are clamped, by `real_dynamic_slice`."""
    x, *starts = operands
    sizes = _sizes_of(attributes["slice_sizes"])
    vector = shaped((len(sizes),), SIZE)
    along = {"dimension": mlir.i64_attr(0)}
    rows = [mlir.reshaped(_as_size(s), shaped((1,), SIZE)) for s in starts]
    first = rows[0] if len(rows) == 1 else mlir.op1("stablehlo.concatenate", vector, rows, along)
    lengths = [
        mlir.reshaped(mlir.dimension_size(x, i, _SCALAR), shaped((1,), SIZE))
        for i in range(len(sizes))
    ]
    whole = (
        lengths[0]
        if len(lengths) == 1
        else mlir.op1("stablehlo.concatenate", vector, lengths, along)
    )
    lengths_out = size_vector(sizes)
    last = mlir.op1("stablehlo.subtract", vector, (whole, lengths_out))
    zeros = mlir.constant(np.zeros(len(sizes), SIZE))
    first = mlir.op1("stablehlo.clamp", vector, (zeros, first, last))
    limit = mlir.op1("stablehlo.add", vector, (first, lengths_out))
    ones = mlir.constant(np.ones(len(sizes), SIZE))
    return mlir.created("stablehlo.real_dynamic_slice", aval, (x, first, limit, ones), {})


def _as_size(value: ir.Value) -> ir.Value:
    if value.type == _type(_SCALAR):
        return value
    return mlir.op1("stablehlo.convert", _SCALAR, (value,))


def _gathered(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    sizes = attributes["slice_sizes"]
    if not isinstance(sizes, mlir.SymbolicValues):
        return mlir.created("stablehlo.gather", aval, operands, attributes)
    rest = {k: v for k, v in attributes.items() if k != "slice_sizes"}
    with_sizes = (*operands, size_vector(_sizes_of(sizes)))
    return mlir.created("stablehlo.dynamic_gather", aval, with_sizes, rest)


def _convolved(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    padding = attributes["padding"]
    if not isinstance(padding, mlir.SymbolicValues):
        return mlir.created("stablehlo.convolution", aval, operands, attributes)
    pairs = padding.values
    flat = size_vector([n for pair in pairs for n in pair])
    amounts = mlir.reshaped(flat, shaped((len(pairs), 2), SIZE))
    rest = {k: v for k, v in attributes.items() if k != "padding"}
    return mlir.created("stablehlo.dynamic_conv", aval, (*operands, amounts), rest)


def reduce_window(
    aval: ShapedArray, operands: Sequence[ir.Value], attributes: Attributes, reducer: str
) -> ir.Value:
    """Emit the reduction of windows of symbolic sizes, by the function `reducer` of the module."""
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    sizes = [size_vector(_sizes_of(attributes[name])) for name in names]
    padding = attributes["padding"]
    pairs = padding.values if isinstance(padding, mlir.SymbolicValues) else np.array(padding)
    flat = size_vector([n if isinstance(n, SymbolicDim) else int(n) for p in pairs for n in p])
    amounts = mlir.reshaped(flat, shaped((len(pairs), 2), SIZE))
    callee = mlir.ir.FlatSymbolRefAttr.get(reducer, mlir.context())
    return mlir.created(
        "stablehlo.custom_call",
        aval,
        (*operands, *sizes, amounts),
        {
            "call_target_name": mlir.string_attr("stablehlo.dynamic_reduce_window"),
            "called_computations": mlir.ir.ArrayAttr.get([callee], mlir.context()),
        },
    )


def _filled(aval: ShapedArray, operands: Sequence[Any], attributes: Attributes) -> Any:
    """Return an array of type `aval` whose elements all are a symbolic size."""
    value, scalar = size_value(attributes["value"]), aval.update(shape=())
    if scalar.dtype != SIZE:
        value = mlir.op1("stablehlo.convert", scalar, (value,))
    return mlir.broadcast(value, aval) if aval.shape else value


mlir.dynamic_forms.update(
    {
        "stablehlo.constant": _filled,
        "stablehlo.broadcast_in_dim": _with_shape(
            "dynamic_broadcast_in_dim", "broadcast_dimensions"
        ),
        "stablehlo.reshape": _with_shape("dynamic_reshape"),
        "stablehlo.iota": _with_shape("dynamic_iota", "iota_dimension"),
        "stablehlo.slice": _sliced,
        "stablehlo.pad": _padded,
        "stablehlo.dynamic_slice": _dynamically_sliced,
        "stablehlo.gather": _gathered,
        "stablehlo.convolution": _convolved,
    }
)
