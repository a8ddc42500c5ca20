"""A rewrite of loops over small arrays, so that XLA compiles each one to one function.

XLA for CPUs runs the kernels of a loop one by one, which takes 0.1 to 0.3 µs for each kernel and
iteration: much more than a kernel on a few numbers.  It compiles a call with the attribute
`xla_cpu_small_call` to one function, with the loops in it, and makes such calls of some loops
itself.  This pass makes them of others.  The operations are the same, and so are the results, but
for rounding in products.

A loop is rewritten only if XLA has code for each of its operations in such a function: it has none
for the libraries of products, reductions, sorts and decompositions.  Calls of LAPACK on small
matrices become functions before.  The call of the loop takes one tuple, since XLA fails on a
constant array as an operand of such a call.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.execution.loop_invariants import has_invariant_decomposition
from olympus_core.execution.small_decompositions import ROWS, Decomposition, decomposition_of
from olympus_core.ir.olympuspr import Olympuspr, once_per_program, sub_programs
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import functions_of, outer_values
from olympus_core.xla.bindings import JAXLIB_RELEASE

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

# The attributes of a call that XLA compiles to one function, and does not inline before.
_FRONTEND = "mhlo.frontend_attributes"
_ATTRIBUTES = '{inlineable = "false", xla_cpu_small_call = "true"}'

#: elements of an array in a loop: on larger ones, separate kernels may be up to five times faster
_ELEMENTS = 256
#: the same in a loop with gathers, scatters or inner loops
_MIXED = 64
#: the same in a loop with decompositions of small matrices
_DECOMPOSED = 128
#: the elements that the operations of a loop without products of matrices compute, at least: XLA
#: compiles smaller loops to one function itself, and from 0.12 on larger ones too
_COMPUTED = 128 if JAXLIB_RELEASE < (0, 12) else math.inf
#: the length of an axis of a product of matrices, from which on it is a library's
_LIBRARY = 8
#: elements of a matrix that is multiplied by a vector
_MATRIX = 16_384
#: the libraries in the names of XLA's flags
_LIBRARIES = ("ynn", "onednn")
#: operations of a loop, with those of the functions that it calls
_OPERATIONS = 400
#: the milliseconds to compile the decompositions of a loop. XLA makes a kernel of each operation
#: and compiles equal ones once, so loops with more of them take longer as one function
_DECOMPOSITIONS = 106

_ELEMENTWISE = """
abs add and atan2 bitcast_convert cbrt ceil clamp compare complex convert cosine count_leading_zeros
divide exponential exponential_minus_one floor imag is_finite log log_plus_one logistic maximum
minimum multiply negate not or popcnt power real reduce_precision remainder round_nearest_afz
round_nearest_even rsqrt select sign sine sqrt subtract tan tanh xor
"""
_MOVING = "broadcast_in_dim concatenate constant iota pad reshape reverse slice transpose"
#: functions of numbers that XLA replaces by others before it generates code
_FUNCTIONS = """
acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf
is_pos_inf lgamma next_after polygamma sinh square tan zeta
"""
_SIMPLE = frozenset(
    [f"stablehlo.{name}" for name in (_ELEMENTWISE + _MOVING).split()]
    + [f"chlo.{name}" for name in _FUNCTIONS.split()]
)
#: operations that read or write a part of an array of any size, which is the operand with a number
#: or the result
_PARTS = {
    "stablehlo.dynamic_slice": None,
    "stablehlo.dynamic_update_slice": 1,
    "stablehlo.gather": None,
    "stablehlo.scatter": 2,
}
_AT_INDICES = frozenset(["stablehlo.gather", "stablehlo.scatter"])
#: elements of a constant that is emitted again in the function
_CONSTANT = 1024
_TYPES = ("BF16Type", "F16Type", "F32Type", "F64Type")
_INTEGERS = frozenset([1, 8, 16, 32, 64])


def compile_loops(module: ir.Module) -> int:
    """Make each outermost loop over small arrays a call of a function; return their number.

    The module may have any context. None is made if `XLA_FLAGS` has options of the libraries, which
    may then compute operations that have code in functions now.

    >>> compile_loops(module)
    1
    """
    if any(name in os.environ.get("XLA_FLAGS", "") for name in _LIBRARIES):
        return 0
    search = _Search(module)
    loops = [*search.loops("main", set())]
    for loop in loops:
        search.make_call(loop)
    if search.copies:
        mlir.remove_unused_functions(module)
    return len(loops)


@once_per_program
def may_have_loops(program: Olympuspr) -> bool:
    """Return True if a program has loops, also in nested programs.

    It is cheaper than the search of the module, which loads the classes of all operations.
    """
    nested = [p for e in program.eqns if e.primitive.has_programs for p in sub_programs(e)]
    return any(e.primitive.is_loop for e in program.eqns) or any(map(may_have_loops, nested))


class _Size(NamedTuple):
    """The size of a loop or of a part of it.

    `operations` are counted with those of called functions. `elements` is the number of elements
    that they compute, and `largest` the most of one operation. `products` are those of two
    matrices, and `mixed` the gathers, scatters and loops. Decompositions of matrices take
    `milliseconds` to compile: `solutions` of triangular systems and factorizations, of which
    `long_factorizations` are slower without a solution.
    """

    operations: int = 0
    elements: int = 0
    largest: int = 0
    products: int = 0
    mixed: int = 0
    milliseconds: float = 0
    solutions: int = 0
    long_factorizations: int = 0

    def plus(self, other: _Size) -> _Size:
        """Return the size of both."""
        sums: list[Any] = [x + y for x, y in zip(self, other, strict=True)]
        total = _Size(*sums)
        return total._replace(largest=max(self.largest, other.largest))

    @property
    def is_faster(self) -> bool:
        """True if XLA does not make a function of a loop of this size, and that is faster."""
        mixed = _DECOMPOSED if self.milliseconds else _MIXED
        is_small = self.largest <= (mixed if self.mixed else _ELEMENTS)
        if self.milliseconds > _DECOMPOSITIONS or self.long_factorizations > self.solutions:
            return False
        is_changed = self.products > 0 or self.milliseconds > 0 or self.elements >= _COMPUTED
        return is_small and is_changed


def _of(elements: int, **more: Any) -> _Size:
    """Return the size of one operation."""
    return _Size(1, elements, elements, **more)


def _size_of_decomposition(decomposition: Decomposition) -> _Size:
    return _of(
        max(a.size for a in decomposition.results),
        mixed=1,
        milliseconds=decomposition.milliseconds,
        solutions=int(decomposition.is_solution),
        long_factorizations=int(decomposition.is_long_factorization),
    )


class _Search:
    """The search for loops over small arrays in the functions of a module."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        self.functions = functions_of(module)
        #: the sizes of functions, None for one that a loop may not call
        self.known: dict[str, _Size | None] = {}
        #: the functions of decompositions, and the copies of functions that call those
        self.decompositions: dict[Decomposition, str] = {}
        self.copies: dict[str, str] = {}

    def loops(self, name: str, seen: set[str]) -> Iterator[ir.Operation]:
        """Yield the outermost loops over small arrays of a function and of those it calls."""
        if name in seen or name not in self.functions:
            return
        seen.add(name)
        yield from self._loops_in(self.functions[name], seen)

    def _loops_in(self, parent: ir.Operation, seen: set[str]) -> Iterator[ir.Operation]:
        for operation in _operations(parent):
            if operation.name == "stablehlo.while":
                size = self._size(operation)
                if size is not None and size.is_faster and self._varies(operation, size):
                    yield operation
            elif operation.name == "func.call" and _FRONTEND not in operation.attributes:
                yield from self.loops(operation.attributes["callee"].value, seen)
            elif len(operation.regions):
                yield from self._loops_in(operation, seen)

    def _varies(self, loop: ir.Operation, size: _Size) -> bool:
        """Return False for a loop with a decomposition that XLA computes once, before the loop."""
        return not size.milliseconds or not has_invariant_decomposition(loop, self.functions)

    def _size(self, parent: ir.Operation) -> _Size | None:
        """Return the size of the regions of an operation; None if a loop may not have one."""
        size = _Size()
        for operation in _operations(parent):
            more = self._size_of(operation)
            if more is None:
                return None
            size = size.plus(more)
            if size.operations > _OPERATIONS:
                return None
        return size

    def _size_of(self, operation: ir.Operation) -> _Size | None:
        """Return the size of an operation, with those inside; None if a loop may not have it."""
        name = operation.name
        if name in ("stablehlo.return", "func.return"):
            return _Size()
        if name == "func.call":
            return self._function(operation)
        if not all(map(_has_code, [*operation.operands, *operation.results])):
            return None
        if name in ("stablehlo.case", "stablehlo.if"):
            return self._size(operation)
        if name == "stablehlo.while":
            inside = self._size(operation)
            return inside and inside.plus(_Size(1, mixed=1))
        if name == "stablehlo.constant":
            return _Size(1)
        if name == "stablehlo.custom_call":
            decomposition = decomposition_of(operation)
            return decomposition and _size_of_decomposition(decomposition)
        if name in _PARTS:
            position = _PARTS[name]
            part = operation.result if position is None else operation.operands[position]
            is_part = _elements(part) <= _ELEMENTS and _is_at_one_place(operation)
            return _of(_elements(part), mixed=int(name in _AT_INDICES)) if is_part else None
        if name == "stablehlo.dot_general":
            return _size_of_product(operation)
        if max(map(_elements, [*operation.operands, *operation.results]), default=0) > _ELEMENTS:
            return None
        if name == "stablehlo.reduce":  # a joint one of several arrays may be slower there
            inside = self._size(operation) if len(operation.results) == 1 else None
            return inside and inside.plus(_of(_elements(operation.operands[0])))
        return _of(_elements(operation.result)) if name in _SIMPLE else None

    def _function(self, call: ir.Operation) -> _Size | None:
        """Return the size of a function that the compiler inlines; None for another."""
        name = call.attributes["callee"].value
        if _FRONTEND in call.attributes:
            return None
        if name not in self.known:
            self.known[name] = None  # a function that calls itself
            function = self.functions.get(name)
            if function is not None and _FRONTEND not in function.attributes:
                self.known[name] = self._size(function)
        return self.known[name]

    def make_call(self, loop: ir.Operation) -> None:
        """Move a loop to a function of its own, and call that in its place."""
        ir = mlir.ir
        captured = _captured(loop)
        constants = [x for x in captured if _is_short_constant(x)]
        operands = [x for x in captured if x not in constants]
        results = [x for x in loop.results if len([*x.uses])]
        symbol = self._unique()
        with loop.context, loop.location:
            # XLA fails on an empty tuple
            whole = [ir.TupleType.get_tuple([x.type for x in operands])] if operands else []
            types = ir.FunctionType.get(whole, [x.type for x in results])
            attributes = {
                "sym_name": ir.StringAttr.get(symbol),
                "function_type": ir.TypeAttr.get(types),
                "sym_visibility": ir.StringAttr.get("private"),
            }
            with ir.InsertionPoint(self.module.body):
                function = mlir.op("func.func", [], (), attributes, regions=1)
            self.functions[symbol] = function
            block = function.regions[0].blocks.append(*whole, arg_locs=[loop.location] * len(whole))
            with ir.InsertionPoint(loop):
                values = mlir.op("stablehlo.tuple", whole, operands).results if operands else ()
                called = {
                    "callee": ir.FlatSymbolRefAttr.get(symbol),
                    _FRONTEND: ir.Attribute.parse(_ATTRIBUTES),
                }
                call = mlir.op("func.call", types.results, values, called)
            for old, new in zip(results, call.results, strict=True):
                old.replace_all_uses_with(new)
            with ir.InsertionPoint(block):
                end = mlir.op("func.return", (), results)
            loop.move_before(end)
            with ir.InsertionPoint(loop):
                inner = {x: x.owner.clone().result for x in constants}
                for i, x in enumerate(operands):
                    index = {"index": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)}
                    element = "stablehlo.get_tuple_element"
                    inner[x] = mlir.op(element, [x.type], block.arguments, index).result
        _replace(loop, inner)
        for x in constants:
            if not len([*x.uses]):
                x.owner.erase()
        with loop.context:
            self._write_out(loop)

    def _write_out(self, parent: ir.Operation) -> None:
        """Replace the decompositions in the regions of an operation by calls of functions."""
        ir = mlir.ir
        for operation in _operations(parent):
            decomposition = decomposition_of(operation)
            if decomposition is not None:
                callee = ir.FlatSymbolRefAttr.get(self._decomposition(decomposition))
                types = [x.type for x in operation.results]
                with operation.location, ir.InsertionPoint(operation):
                    call = mlir.op("func.call", types, operation.operands, {"callee": callee})
                for old, new in zip(operation.results, call.results, strict=True):
                    old.replace_all_uses_with(new)
                operation.erase()
            elif operation.name == "func.call":
                name = operation.attributes["callee"].value
                size = self.known.get(name)  # None for a loop that is a function now
                if size is not None and size.milliseconds:
                    operation.attributes["callee"] = ir.FlatSymbolRefAttr.get(self._copy(name))
            else:
                self._write_out(operation)

    def _decomposition(self, decomposition: Decomposition) -> str:
        """Return the symbol of the function of a decomposition."""
        if decomposition not in self.decompositions:
            module = decomposition.module(self.module.context)
            symbol = self._add(module.body.operations[0].operation, decomposition.routine)
            self.decompositions[decomposition] = symbol
        return self.decompositions[decomposition]

    def _copy(self, name: str) -> str:
        """Return the symbol of a copy of a function, without decompositions."""
        if name not in self.copies:
            self.copies[name] = self._add(self.functions[name], name)
            self._write_out(self.functions[self.copies[name]])
        return self.copies[name]

    def _add(self, function: ir.Operation, name: str) -> str:
        """Add a copy of a function to the module; return its symbol, which begins with `name`."""
        symbol = self._unique(name)
        copy = function.clone(mlir.ir.InsertionPoint(self.module.body)).operation
        copy.attributes["sym_name"] = mlir.ir.StringAttr.get(symbol)
        self.functions[symbol] = copy
        return symbol

    def _unique(self, base: str = "loop") -> str:
        names = (f"{base}_{i}" if i else base for i in range(len(self.functions) + 1))
        return next(name for name in names if name not in self.functions)


def _operations(parent: ir.Operation) -> list[ir.Operation]:
    """Return the operations in the regions of one."""
    return [x.operation for region in parent.regions for block in region.blocks for x in block]


def _has_code(value: ir.Value) -> bool:
    """Return True for an array of known shape whose numbers have a code on the CPU."""
    kind: Any = value.type
    if not isinstance(kind, mlir.ir.RankedTensorType) or not kind.has_static_shape:
        return False
    element = kind.element_type
    if isinstance(element, mlir.ir.ComplexType):
        return True
    if isinstance(element, mlir.ir.IntegerType):
        return element.width in _INTEGERS
    return type(element).__name__ in _TYPES


def _elements(value: ir.Value) -> int:
    return math.prod(value.type.shape)


def _size_of_product(product: ir.Operation) -> _Size | None:
    """Return the size of a product by a vector, or of matrices with short axes."""
    lhs, rhs = [[*x.type.shape] for x in product.operands]
    numbers = mlir.hlo.DotDimensionNumbers(product.attributes["dot_dimension_numbers"])
    depth = math.prod(lhs[i] for i in numbers.lhs_contracting_dimensions)
    batch = math.prod(lhs[i] for i in numbers.lhs_batching_dimensions)
    elements = _elements(product.result)
    if not math.prod(lhs) * math.prod(rhs) or elements > _ELEMENTS:
        return None
    rows, columns = (math.prod(shape) // (depth * batch) for shape in (lhs, rhs))
    if 1 in (rows, columns):
        return _of(elements) if max(math.prod(lhs), math.prod(rhs)) <= _MATRIX else None
    # the compiler may turn a sum over the batch into one over longer rows
    return _of(elements, products=1) if max(rows, columns, depth * batch) < _LIBRARY else None


def _is_at_one_place(operation: ir.Operation) -> bool:
    """Return False for a gather or scatter at several places, which XLA does not make a slice.

    A gather of as many rows as a small matrix has is one of a solution, by the permutation.
    """
    if operation.name not in _AT_INDICES:
        return True
    sizes, vector = operation.operands[1].type.shape, _index_axis(operation)
    places: int = math.prod(n for i, n in enumerate(sizes) if i != vector)
    return places <= (ROWS if operation.name == "stablehlo.gather" else 1)


def _index_axis(operation: ir.Operation) -> int:
    """Return the axis of the indices of a gather or scatter that is one index."""
    if operation.name == "stablehlo.gather":
        numbers = mlir.hlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    else:
        numbers = mlir.hlo.ScatterDimensionNumbers(
            operation.attributes["scatter_dimension_numbers"]
        )
    axis: int = numbers.index_vector_dim
    return axis


def _is_short_constant(value: ir.Value) -> bool:
    owner = value.owner
    is_constant = not isinstance(owner, mlir.ir.Block) and owner.name == "stablehlo.constant"
    return is_constant and _elements(value) <= _CONSTANT


def _captured(loop: ir.Operation) -> list[ir.Value]:
    """Return the values that a loop reads, each once: its operands first."""
    values = dict.fromkeys(loop.operands)
    for region in loop.regions:
        values.update(dict.fromkeys(outer_values(region)))
    return [*values]


def _replace(operation: ir.Operation, replacements: dict[Any, Any]) -> None:
    """Replace operands of an operation and of those in it."""
    for i, x in enumerate(operation.operands):
        if x in replacements:
            operation.operands[i] = replacements[x]
    for inner in _operations(operation):
        _replace(inner, replacements)
