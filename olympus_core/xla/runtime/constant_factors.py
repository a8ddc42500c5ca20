"""Products by constants, on x86 processors that have AVX2 and lack AVX-512.

Eigen's kernel copies the right factor of a product into blocks first, in each call. If a row has a
multiple of 2 KB, the rows that a block reads are in the same sets of the caches, and replace each
other there. In blocks of 192 columns, each an array of its own, the rows of a constant are not:
64 x 1024 by 1024 x 1024 elements take 2.3 ms instead of 3.9 ms on one processor. Only a constant
can be divided without a copy in each call.

The times are those of an AMD EPYC of the third generation. With AVX-512 none were measured.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from olympus_bundle.host import Host
from olympus_core.base.avals import ShapedArray
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import CONSTANT_ARGUMENT, functions_of, operations_of

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: operations whose result is a constant that XLA computes when it compiles, if the operand is
_FOLDED = frozenset(f"stablehlo.{name}" for name in ("reshape", "transpose", "slice"))
_EMBEDDED, _STORED = "embedded", "stored"
#: columns of a block; a divisor of the columns of the right factors that are divided
_BLOCK, _DIVISOR = 192, 512
#: least elements of a constant that is considered: a smaller one takes less than 0.1 ms
LEAST_ELEMENTS = 2**18
#: the rows of the left factor for which blocks take less time on one processor; on several, and
#: then the least columns of it: others take up to 1.4 times as long, because Eigen divides a
#: product between threads
_ROWS, _ROWS_OF_SEVERAL, _LEAST_DEPTH = range(8, 1025), range(32, 129), 512
#: nanoseconds for a multiplication that Eigen's kernel takes less, with more than `_FEW_ROWS` rows
#: and, on one processor, at least `_WIDE` columns; others take as long by both
_SAVED, _FEW_ROWS, _WIDE = 0.008, 3, 96
#: the same on several processors, from `_SEVERAL_ROWS` rows on
_SAVED_OF_SEVERAL, _SEVERAL_ROWS = 0.003, 49
#: nanoseconds that it takes more on one processor for a factor that blocks would divide, but do
#: not, by at least `_MANY_ROWS` rows
_LOST, _MANY_ROWS = 0.015, 64


class Product(NamedTuple):
    """A product of matrices by a constant: its operation and its sizes.

    A constant that is stored apart from the program, `is_stored`, is an argument of it.
    """

    operation: ir.Operation
    rows: int
    depth: int
    columns: int
    is_stored: bool = False

    def has_blocks(self, processors: int) -> bool:
        """Return True if it takes less time in blocks of columns."""
        if self.is_stored or self.columns % _DIVISOR or self.depth * self.columns < LEAST_ELEMENTS:
            return False
        if processors == 1:
            return self.rows in _ROWS
        return self.rows in _ROWS_OF_SEVERAL and self.depth >= _LEAST_DEPTH

    def saved(self, processors: int) -> float:
        """Return the nanoseconds that it takes less by Eigen's kernel than by YNNPACK's."""
        products = self.rows * self.depth * self.columns
        if self.columns % _DIVISOR == 0 and self.rows >= _MANY_ROWS:
            if not self.has_blocks(processors):
                return -_LOST * products if processors == 1 else 0.0
        elif self.rows <= _FEW_ROWS or (processors == 1 and self.columns < _WIDE):
            return 0.0
        is_small = processors > 1 and self.rows >= _SEVERAL_ROWS
        return (_SAVED_OF_SEVERAL if is_small else _SAVED) * products


@functools.cache
def is_measured() -> bool:
    """Return True if this machine has a processor of the kind that was measured."""
    features = Host.here().cpu_features or ()
    return "avx2" in features and not any(x.startswith("avx512") for x in features)


def constant_products(module: ir.Module) -> Iterator[Product]:
    """Yield the products of float32 whose right factor is a constant matrix.

    The last axis of the left factor is contracted with the rows of the constant. An argument of a
    function is a constant if it is in each of its calls, and the compiler inlines these.

    >>> [(p.rows, p.depth, p.columns) for p in constant_products(module)]
    [(64, 1024, 1024)]
    """
    functions = functions_of(module)
    known = _Constants(functions)
    for name, function in functions.items():
        for operation in operations_of(function):
            if operation.name == "stablehlo.dot_general":
                product = _product(operation)
                kind = product and known.kind(name, operation.operands[1])
                if product and kind:
                    yield product._replace(is_stored=kind == _STORED)


def with_column_blocks(module: ir.Module, processors: int) -> ir.Module:
    """Return the module with its products by wide constants in blocks of columns.

    It is the module itself if it has none that take less time so.

    >>> with_column_blocks(module, 1) is module
    False
    """
    if not any(p.has_blocks(processors) for p in constant_products(module)):
        return module
    copy = mlir.copied_module(module)
    for product in [p for p in constant_products(copy) if p.has_blocks(processors)]:
        _divide(product)
    return copy


class _Constants:
    """The values of functions that are constants."""

    def __init__(self, functions: dict[str, ir.Operation]) -> None:
        self.functions = functions
        #: the calls of each function, with the names of the functions that have them
        self.calls: dict[str, list[tuple[str, ir.Operation]]] = {}
        for name, function in functions.items():
            for operation in operations_of(function):
                if operation.name == "func.call":
                    callee = operation.attributes["callee"].value
                    self.calls.setdefault(callee, []).append((name, operation))
        self.known: dict[tuple[str, int], str] = {}

    def kind(self, function: str, value: ir.Value) -> str:
        """Return `_EMBEDDED` or `_STORED` for a value of a function that is a constant, or ""."""
        while not isinstance(value.owner, mlir.ir.Block):
            owner = value.owner.operation
            if owner.name == "stablehlo.constant":
                return _EMBEDDED
            if owner.name not in _FOLDED:
                return ""
            value = owner.operands[0]
        if value.owner.owner.operation != self.functions[function]:
            return ""  # of a region, such as the body of a loop
        key = function, value.arg_number
        if key not in self.known:
            self.known[key] = ""  # a function that calls itself
            self.known[key] = self._argument_kind(*key)
        return self.known[key]

    def _argument_kind(self, function: str, position: int) -> str:
        attributes = self.functions[function].attributes
        if "arg_attrs" in attributes and CONSTANT_ARGUMENT in attributes["arg_attrs"][position]:
            return _STORED
        kinds = {
            self.kind(caller, call.operands[position]) if _is_inlined(call) else ""
            for caller, call in self.calls.get(function, [])
        }
        return kinds.pop() if len(kinds) == 1 else ""


def _is_inlined(call: ir.Operation) -> bool:
    """Return True for a call without attributes, of which one keeps it as a call."""
    return "mhlo.frontend_attributes" not in call.attributes


def _product(operation: ir.Operation) -> Product | None:
    """Return the sizes of a product of float32 by a matrix; None for another form."""
    lhs, rhs = [x.type for x in operation.operands]
    numbers = mlir.hlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    is_matrix = rhs.rank == 2 and [*numbers.rhs_contracting_dimensions] == [0]
    is_last = [*numbers.lhs_contracting_dimensions] == [lhs.rank - 1]
    is_float32 = all(isinstance(x.element_type, mlir.ir.F32Type) for x in (lhs, rhs))
    if not (is_matrix and is_last and is_float32 and lhs.has_static_shape):
        return None
    depth, columns = rhs.shape
    return Product(operation, math.prod(lhs.shape[:-1]), depth, columns)


def _divide(product: Product) -> None:
    """Replace a product by the products by blocks of columns, one after the other."""
    operation, ir = product.operation, mlir.ir
    lhs, rhs = operation.operands
    attributes = dict(operation.attributes.items())
    kind = operation.result.type
    axis = kind.rank - 1
    with operation.context, ir.InsertionPoint(operation), operation.location:
        parts = []
        for block in _column_blocks(rhs):
            shape = [*kind.shape[:axis], block.type.shape[1]]
            part = ir.RankedTensorType.get(shape, kind.element_type)
            parts.append(mlir.op("stablehlo.dot_general", [part], [lhs, block], attributes).result)
        joined = {"dimension": mlir.i64_attr(axis)}
        new = mlir.op("stablehlo.concatenate", [kind], parts, joined).result
    operation.result.replace_all_uses_with(new)
    operation.erase()
    constant = _constant(rhs)
    if constant and not [*rhs.uses]:
        constant.erase()


def _constant(value: ir.Value) -> ir.Operation | None:
    """Return the operation whose result a constant is; None for another value."""
    owner = value.owner
    is_constant = not isinstance(owner, mlir.ir.Block) and owner.name == "stablehlo.constant"
    return owner.operation if is_constant else None


def _column_blocks(matrix: ir.Value) -> Iterator[ir.Value]:
    """Yield the blocks of columns of a matrix, as constants if it is one.

    The compiler takes 0.1 us for an element of a slice, so that it only gets those of other values.
    """
    depth, columns = matrix.type.shape
    constant, aval = _constant(matrix), ShapedArray((depth, columns), np.dtype("float32"))
    elements = mlir.constant_elements(constant, aval) if constant else None
    for start in range(0, columns, _BLOCK):
        end = min(start + _BLOCK, columns)
        if elements is not None:
            yield mlir.constant(elements[:, start:end])
            continue
        ends = {"start_indices": (0, start), "limit_indices": (depth, end), "strides": (1, 1)}
        cut = {name: mlir.i64_array(values) for name, values in ends.items()}
        kind = mlir.ir.RankedTensorType.get([depth, end - start], matrix.type.element_type)
        yield mlir.op("stablehlo.slice", [kind], [matrix], cut).result
