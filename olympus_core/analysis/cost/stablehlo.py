"""The view of operations of StableHLO, for the table of costs."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.analysis.operations.table import cost_of, name_of
from olympus_core.analysis.operations.view import NOTHING, Counts, OperationView, Tensor, WindowAxis
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_TENSOR = re.compile(r"tensor<((?:[\d?]+x)*)(.+?)(?:, [#{].*)?>$")
_ELEMENT = re.compile(r"(bf|f|ui|si|i)(\d+)(\w*)$")
_FAMILY = {"bf": "bfloat", "f": "float", "ui": "uint", "si": "int", "i": "int"}


class Costed(NamedTuple):
    """The cost of one execution of an operation; `unknown` is "", or why it is not known."""

    name: str  # without its dialect; of a custom call with the target
    dtype: str
    counts: Counts
    unknown: str = ""


@functools.lru_cache(maxsize=4096)
def tensor_of(kind: ir.Type) -> Tensor:
    """Return the type of a value; a value that is not an array (a token, a tuple) has no elements.

    Raises ValueError if a size is not known.
    """
    text = str(kind)
    match = _TENSOR.match(text)
    if match is None:
        return Tensor(text, (0,))
    sizes = match.group(1).split("x")[:-1]
    return Tensor(_dtype(match.group(2)), tuple([int(n) for n in sizes]))


_costs: dict[Any, Costed] = {}


def _dtype(element: str) -> str:
    """Return NumPy's long name of an element type of MLIR."""
    if element == "i1":
        return "bool"
    if element.startswith("complex<"):
        return "complex128" if "64" in element else "complex64"
    if element.startswith("!quant"):
        return _dtype(element.partition("<")[2].partition(":")[0].partition("<")[0])
    match = _ELEMENT.match(element)
    if match is None:
        return element
    family, bits, rest = match.groups()
    return f"{_FAMILY[family]}{bits}" + (f"_{rest.lower()}" if rest else "")


_MAX = 20_000  # operations whose costs are cached


class Reader:
    """The costs of operations; equal ones are counted once, and cached for the next module."""

    def __init__(self) -> None:
        self._costs: dict[Any, Costed] = _costs
        if len(_costs) > _MAX:
            _costs.clear()
        self.tensor = tensor_of

    def cost(self, op: Any, name: str) -> Costed:
        """Return the cost of one execution of an operation called `name`, with its dialect."""
        types = [x.type for x in op.operands]
        attribute_reader = ATTRIBUTES.get(name)
        attributes = None
        if attribute_reader is not None:
            present = op.attributes
            attributes = tuple([present.get(k, None) for k in attribute_reader.names])
        if len(op.regions):  # its functions are part of its cost
            return self._counted(op, name, types, attribute_reader, attributes)
        key = (name, *types, None, *op.results.types, attributes)
        costed = self._costs.get(key)
        if costed is None:
            costed = self._costs[key] = self._counted(op, name, types, attribute_reader, attributes)
        return costed

    def _counted(
        self,
        op: Any,
        name: str,
        types: Sequence[Any],
        reader: _AttributeReader | None,
        attributes: Any,
    ) -> Costed:
        short = name.partition(".")[2]
        if name.startswith("chlo.broadcast_"):  # it stretches its operands, and then does the rest
            short = short.removeprefix("broadcast_")
        try:
            operands = tuple([self.tensor(t) for t in types])
            results = tuple([self.tensor(t) for t in op.results.types])
        except ValueError:
            return Costed(short, "", NOTHING, "it has a shape that is not known")
        read: dict[str, Any] = {}
        if reader is not None:
            read = reader.read(dict(zip(reader.names, attributes, strict=True)), operands)
        bodies = [self._body(region) for region in op.regions]
        dtype = _named_dtype(operands, results)
        known = tuple([body for body in bodies if body is not None])
        if len(known) < len(bodies):
            return Costed(short, dtype, NOTHING, "no rule gives the cost of its function")
        view = OperationView(short, operands, results, read, known)
        counts = cost_of(view)
        if counts is None:
            moved = Counts(bytes=view.moved)
            return Costed(name_of(view), dtype, moved, "no rule gives its cost")
        if counts.matmul:
            (dtype,) = counts.matmul
        return Costed(name_of(view), dtype, counts)

    def _body(self, region: Any) -> Counts | None:
        """Return the flops and transcendentals of one application of a function of scalars."""
        flops = transcendentals = 0
        for block in region.blocks:
            for view in block.operations:
                op = view.operation
                name = op.name
                if name.startswith("func."):
                    return None
                costed = self.cost(op, name)
                if costed.unknown:
                    return None
                flops += costed.counts.flops
                transcendentals += costed.counts.transcendentals
        return Counts(flops, transcendentals)


def _named_dtype(operands: Sequence[Tensor], results: Sequence[Tensor]) -> str:
    """Return the dtype of an operation's row: its result's; of a comparison its operands'."""
    first = results[0].dtype if results else ""
    return operands[0].dtype if operands and first in ("", "bool") else first


# The attributes that costs depend on


_Attributes = Mapping[str, Any]  # attributes by name; None for one that is left out
_Read = Callable[[_Attributes, Sequence[Tensor]], dict[str, Any]]


class _AttributeReader(NamedTuple):
    names: tuple[str, ...]
    read: _Read


def _ints(attribute: Any) -> tuple[int, ...] | None:
    return None if attribute is None else tuple(attribute)


def _pairs(attribute: Any, rank: int) -> list[tuple[int, int]]:
    if attribute is None:
        return [(0, 0)] * rank
    return [(int(low), int(high)) for low, high in np.array(attribute).reshape(rank, 2)]


def _window(
    sizes: Sequence[int], strides: Any, padding: Any, base: Any, window: Any
) -> tuple[WindowAxis, ...]:
    rank = len(sizes)
    ones = (1,) * rank
    rows = [sizes, _ints(strides) or ones, _pairs(padding, rank)]
    rows += [_ints(base) or ones, _ints(window) or ones]
    return tuple([WindowAxis(*row) for row in zip(*rows, strict=True)])


def _dot(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    numbers = mlir.hlo.DotDimensionNumbers(attributes["dot_dimension_numbers"])
    return {"lhs_contracting": tuple(numbers.lhs_contracting_dimensions)}


def _ragged_dot(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    numbers = mlir.chlo.RaggedDotDimensionNumbers(attributes["ragged_dot_dimension_numbers"])
    contracting = tuple(numbers.lhs_contracting_dimensions)
    ragged = set(numbers.lhs_ragged_dimensions)
    return {
        "lhs_contracting": contracting,
        "ragged_is_contracting": not ragged.isdisjoint(contracting),
    }


def _convolution(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    numbers = mlir.hlo.ConvDimensionNumbers(attributes["dimension_numbers"])
    sizes = [operands[1].sizes[i] for i in numbers.kernel_spatial_dimensions]
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation")
    return {
        "window": _window(sizes, *[attributes[name] for name in names]),
        "input_spatial": tuple(numbers.input_spatial_dimensions),
        "output_spatial": tuple(numbers.output_spatial_dimensions),
        "kernel_features": numbers.kernel_input_feature_dimension,
    }


def _windows(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    names = ("window_strides", "padding", "base_dilations", "window_dilations")
    settings = [attributes.get(name) for name in names]
    return {"window": _window(_ints(attributes["window_dimensions"]) or (), *settings)}


def _fft(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    kind = mlir.hlo.FftTypeAttr(attributes["fft_type"]).value
    return {"fft_type": kind, "fft_length": _ints(attributes["fft_length"])}


def _custom_call(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    ir = mlir.ir
    options: dict[str, int] = {}
    for name in ("backend_config", "mhlo.backend_config"):
        if isinstance(attributes[name], ir.DictAttr):
            for option in attributes[name]:
                if isinstance(option.attr, ir.IntegerAttr | ir.BoolAttr):
                    options[option.name] = int(option.attr.value)
    return {"target": attributes["call_target_name"].value, "options": options}


def _einsum(attributes: _Attributes, operands: Sequence[Tensor]) -> dict[str, Any]:
    return {"equation": attributes["einsum_config"].value}


def _attribute_reader(read: _Read, names: str) -> _AttributeReader:
    return _AttributeReader(tuple(names.split()), read)


_IN_SPACE = "dimension_numbers window_strides padding lhs_dilation rhs_dilation"
_WINDOW = "window_dimensions window_strides padding base_dilations window_dilations"
ATTRIBUTES: Mapping[str, _AttributeReader] = {
    "stablehlo.dot_general": _attribute_reader(_dot, "dot_dimension_numbers"),
    "chlo.ragged_dot": _attribute_reader(_ragged_dot, "ragged_dot_dimension_numbers"),
    "stablehlo.convolution": _attribute_reader(_convolution, _IN_SPACE),
    "stablehlo.dynamic_conv": _attribute_reader(_convolution, _IN_SPACE),
    "stablehlo.reduce_window": _attribute_reader(_windows, _WINDOW),
    "stablehlo.select_and_scatter": _attribute_reader(_windows, _WINDOW),
    "stablehlo.fft": _attribute_reader(_fft, "fft_type fft_length"),
    "stablehlo.einsum": _attribute_reader(_einsum, "einsum_config"),
    "stablehlo.unary_einsum": _attribute_reader(_einsum, "einsum_config"),
    "stablehlo.custom_call": _attribute_reader(
        _custom_call, "call_target_name backend_config mhlo.backend_config"
    ),
}
