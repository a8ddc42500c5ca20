"""The raising of a module: each operation becomes an equation of the primitive that recognizes it.

An operation that no primitive recognizes becomes an `opaque` one, which is lowered to it unchanged.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.analysis.sources.places import name_of_module, read_name
from olympus_core.base import dtypes, gc_pause
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.context import enable_x64
from olympus_core.base.errors import OlympusError
from olympus_core.base.source import Position, Source
from olympus_core.control.shard_map import manual_naming
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Olympuspr, Var
from olympus_core.ir.primitive import Primitive, op
from olympus_core.ir.trace import using_trace
from olympus_core.lowering.module_state import Manual
from olympus_core.lowering.ordering import ORDER
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import outer_values
from olympus_core.placement.mesh import AnyMesh
from olympus_core.primitives.opaque import opaque
from olympus_core.raising.meshes import Meshes
from olympus_core.raising.stablehlo_operation import StableHloOperation
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.transforms.staging import StagedTracer, StagingTrace

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir
    from olympus_core.primitives.host_function import FlatFunction

_RETURNS = frozenset(["func.return", "sdy.return", "stablehlo.return"])
#: operations with an effect, or a result of no array type: a program with one is not raised
_EFFECTS = frozenset(
    f"stablehlo.{name}" for name in ("infeed", "outfeed", "recv", "rng", "send", "partition_id")
)
#: the number of a device, which is defined if all axes are manual
_NUMBER = "stablehlo.partition_id"
#: a reference to a function or to a mesh, in the text of an attribute
_SYMBOL = re.compile(r"\[?@|#sdy\.[^@]*@")
_DIALECTS = frozenset(["chlo", "func", "stablehlo"])


class Splat(NamedTuple):
    """A constant array whose elements all are `value`; it becomes an equation where it is used."""

    value: Any
    aval: ShapedArray


class _Tuple(NamedTuple):
    """The values of a tuple, which only calls and selections of an element take."""

    values: Sequence[Any]


class _RaisingTrace(StagingTrace):
    """A trace whose equations have the location of the operation that is being raised."""

    def __init__(self) -> None:
        super().__init__("a StableHLO module")
        self.source = Source(None, 0, "")

    def mark(self) -> Source:
        return self.source


class _Scope:
    """The values of a region or a function, and the outer ones that it captures."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.trace = _RaisingTrace()
        self.values: dict[ir.Value, Any] = {}
        self.captured: dict[int, tuple[Any, Var]] = {}
        self._full: dict[int, tuple[Splat, Any]] = {}

    def full(self, x: Any) -> Any:
        """Return an operand as an array: a Splat becomes an equation, once."""
        if isinstance(x, _Tuple):
            raise UnraisableError("a tuple is used as an array")
        if not isinstance(x, Splat):
            return x
        if id(x) not in self._full:
            array = op.broadcast_in_dim(x.value, shape=x.aval.shape, broadcast_dimensions=())
            self._full[id(x)] = x, array
        return self._full[id(x)][1]

    def read(self, value: ir.Value) -> Any:
        """Return the value of an operand: a tracer, a scalar or a Splat."""
        operand = self.values.get(value)
        if operand is not None:
            return operand
        if self.outer is None:
            raise UnraisableError("an operand is not defined before its use")
        outside = self.outer.read(value)
        if isinstance(outside, StagedTracer):
            inside = self.trace.new_input(outside.aval)
            self.captured[id(outside)] = outside, inside.variable
            self.values[value] = inside
            return inside
        self.values[value] = outside
        return outside


class Raising:
    """The state of the raising of one module."""

    def __init__(self, module: ir.Module, host_functions: Sequence[FlatFunction] = ()) -> None:
        self.module = module  # which owns the operations
        self.module_name = name_of_module(module)
        self.host_functions = host_functions
        self.functions: dict[str, Any] = {}
        self.meshes = Meshes(module)
        #: the axes of a mesh that are manual in the block that is being raised
        self.manual: Manual | None = None
        for view in module.body.operations:
            operation = view.operation
            if operation.name == "sdy.mesh":
                continue
            if operation.name != "func.func":
                raise UnraisableError(f"{operation.name} is not a function")
            self.functions[mlir.ir.StringAttr(operation.attributes["sym_name"]).value] = operation
        self.programs: dict[tuple[str, Manual | None], Olympuspr | None] = {}
        #: the functions of a tuple, which are inlined, each once: calls of calls would grow
        self.inlined: set[tuple[str, Manual | None]] = set()
        self.scope = _Scope(None)
        self.locations: dict[Any, Source] = {}
        self.avals: dict[Any, ShapedArray] = {}

    def aval(self, value: ir.Value) -> ShapedArray:
        """Return the type of a value."""
        aval = self.avals.get(value.type)
        if aval is None:
            is_order = bool(self.host_functions) and mlir.is_token(value.type)
            aval = self.avals[value.type] = ORDER if is_order else aval_of(value.type)
        return aval

    def entry(self, name: str) -> Olympuspr:
        """Return the program of a function; without tokens, which its caller does not have."""
        program = self.function(name)
        block = self.functions[name].regions[0].blocks[0]
        last = block.operations[len(block.operations) - 1]
        arguments = zip(program.invars, block.arguments, strict=True)
        tokens = [v for v, x in arguments if mlir.is_token(x.type)]
        results = zip(program.outvars, last.operands, strict=True)
        program = program.replace(
            invars=[v for v in program.invars if v not in tokens],
            constvars=(*tokens, *program.constvars),
            consts=(*[np.uint8(0)] * len(tokens), *program.consts),
            outvars=[v for v, x in results if not mlir.is_token(x.type)],
        )
        return simplify(program) if tokens else program

    def function(self, name: str) -> Olympuspr:
        """Return the program of a function; all calls with the same manual axes share it."""
        key = name, self.manual
        if key not in self.programs:
            self.programs[key] = None
            operation = self.functions.get(name)
            if operation is None or len(operation.regions[0].blocks) != 1:
                raise UnraisableError(f"the function {name} has no body of one block")
            program, _ = self._block(operation.regions[0].blocks[0], None)
            self.programs[key] = program
        raised = self.programs[key]
        if raised is None:
            raise UnraisableError(f"the function {name} calls itself")
        return raised

    def region(self, region: ir.Region) -> tuple[list[Any], Olympuspr]:
        """Return the program of a region, and the outer values that are its leading operands."""
        if len(region.blocks) != 1:
            raise UnraisableError("a region has several blocks")
        program, captured = self._block(region.blocks[0], self.scope)
        return captured, program

    def manual_region(self, region: ir.Region, mesh: AnyMesh, names: Sequence[str]) -> Olympuspr:
        """Return the program of a region in which more axes of a mesh are manual."""
        before = self.manual
        outer = frozenset[Any]() if before is None else before.names
        if before is not None and before.mesh != mesh:
            raise UnraisableError("a manual computation is inside one over another mesh")
        self.manual = Manual(mesh, outer | frozenset(names))
        try:
            with manual_naming(mesh, names, checked=False):
                captured, program = self.region(region)
        finally:
            self.manual = before
        if captured:
            raise UnraisableError("a manual computation uses values from outside")
        return simplify(program)  # without the numbers of devices that became indices

    def branches(self, regions: Sequence[ir.Region]) -> tuple[list[Any], tuple[Olympuspr, ...]]:
        """Return the programs of regions without arguments, with the same leading operands."""
        rows = [self.region(region) for region in regions]
        every = {id(x): x for captured, _ in rows for x in captured}
        programs = []
        for captured, program in rows:
            own = {id(x): v for x, v in zip(captured, program.invars, strict=True)}
            invars = tuple([own.get(key) or Var(x.aval) for key, x in every.items()])
            programs.append(program.replace(invars=invars))
        return list(every.values()), tuple(programs)

    def _block(self, block: ir.Block, outer: _Scope | None) -> tuple[Olympuspr, list[Any]]:
        before, scope = self.scope, _Scope(outer)
        self.scope, trace = scope, scope.trace
        arguments = [trace.new_input(self.aval(x)) for x in block.arguments]
        scope.values.update(zip(block.arguments, arguments, strict=True))
        variables = tuple(trace.invars)
        try:
            with using_trace(trace):
                results = self._operations(block)
                program = trace.program(results)
        finally:
            self.scope, trace.alive = before, False
        captured, inner = zip(*scope.captured.values(), strict=True) if scope.captured else ((), ())
        return program.replace(invars=(*inner, *variables)), list(captured)

    def _operations(self, block: ir.Block) -> list[Any]:
        scope = self.scope
        for view in block.operations:
            operation = view.operation
            name = operation.name
            if name in _RETURNS:
                return [scope.full(scope.read(x)) for x in operation.operands]
            scope.trace.source = self._source(operation.location)
            results = self._raised(operation)
            scope.values.update(zip(operation.results, results, strict=True))
        raise UnraisableError("a block has no return")

    def _raised(self, operation: ir.Operation) -> Sequence[Any]:
        """Return the results of an operation."""
        name = str(operation.name)
        is_known = name.partition(".")[0] in _DIALECTS or name in _recognizers()
        if not is_known or (name in _EFFECTS and not self._is_numbered(name)):
            raise UnraisableError(f"{name} is not an operation without effects on arrays")
        if name == "stablehlo.create_token" and self.host_functions:
            return [self.scope.full(Splat(np.uint8(0), ORDER))]
        if name == "stablehlo.tuple":
            return [_Tuple([self.scope.read(x) for x in operation.operands])]
        if len(operation.operands) == 1 and _is_tuple(operation.operands[0]):
            return self._of_tuple(operation)
        view = StableHloOperation(operation, self)
        if name == "stablehlo.constant":
            constant = _scalar_of(view)
            if constant is not None:
                return [constant]
        operands = [self.scope.read(x) for x in operation.operands]
        is_splat = name == "stablehlo.broadcast_in_dim" and len(operation.attributes) == 1
        if is_splat and isinstance(operands[0], np.generic):
            return [Splat(operands[0], view.aval_out) if view.aval_out.shape else operands[0]]
        for primitive in _recognizers().get(name, ()):
            for inputs in self._forms(primitive, operands):
                results = self._try(primitive, view, inputs)
                if results is not None:
                    return results
        _check_opaque(operation)
        inner = self._captured(operation)
        full = [self.scope.full(x) for x in (*operands, *inner.values())]
        return opaque(operation, full, list(inner), view.avals_out)

    def _of_tuple(self, operation: ir.Operation) -> Sequence[Any]:
        """Return an element of a tuple, or the results of a function of one, which is inlined."""
        operand = self.scope.values.get(operation.operands[0])
        if not isinstance(operand, _Tuple):
            raise UnraisableError("a region uses a tuple from outside")
        if operation.name == "stablehlo.get_tuple_element":
            return [operand.values[operation.attributes["index"].value]]
        if operation.name != "func.call":
            raise UnraisableError(f"{operation.name} takes a tuple")
        name = operation.attributes["callee"].value
        function, key = self.functions[name], (name, self.manual)
        if len(function.regions[0].blocks) != 1 or key in self.inlined:
            raise UnraisableError(f"the function {name} of a tuple has several calls or blocks")
        self.inlined.add(key)
        block = function.regions[0].blocks[0]
        self.scope.values[block.arguments[0]] = operand
        return self._operations(block)

    def _is_numbered(self, name: str) -> bool:
        """Return True for the number of a device in a block where all axes are manual."""
        manual = self.manual
        return name == _NUMBER and manual is not None and manual.is_whole

    def _forms(self, primitive: Primitive, operands: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the operands as a primitive may take them: a Splat as a scalar first, if it can."""
        splats = sum(isinstance(x, Splat) for x in operands)
        takes = primitive.is_elementwise and primitive.takes_literals
        if takes and 0 < splats < len(operands):
            yield [x.value if isinstance(x, Splat) else x for x in operands]
        yield [self.scope.full(x) for x in operands]

    def _try(
        self, primitive: Primitive, view: StableHloOperation, inputs: Sequence[Any]
    ) -> Sequence[Any] | None:
        """Return the results of the primitive; None if the operation is not one of its own."""
        trace = self.scope.trace
        count = len(trace.eqns)
        view.forget_reads()
        try:
            results = primitive.raised(view, *inputs)
        except OlympusError:  # its type rule refuses what StableHLO allows
            results = None
        if results is not None:
            rows = results if isinstance(results, (list, tuple)) else [results]
            if not view.unread() and view.fits(rows):
                return rows
        del trace.eqns[count:]
        return None

    def _captured(self, operation: ir.Operation) -> dict[ir.Value, Any]:
        """Return the values from outside that the regions of an operation use."""
        outside: dict[ir.Value, Any] = {}
        for region in operation.regions:
            for value in outer_values(region):
                outside[value] = self.scope.read(value)
        return outside

    def _source(self, location: ir.Location) -> Source:
        key = location.attr
        source = self.locations.get(key)
        if source is None:
            source = self.locations[key] = _source_of(location, self.module_name)
        return source


@functools.cache
def _recognizers() -> dict[str, list[Primitive]]:
    """Return the primitives that may recognize each operation, the general ones last."""
    table: dict[str, list[Primitive]] = {}
    for primitive in sorted(op.every(), key=lambda p: (p.is_general, p.name)):
        for name in primitive.raised_from:
            table.setdefault(name, []).append(primitive)
    return table


@functools.cache
def _dtypes() -> dict[str, dtypes.DType]:
    """Return the dtypes by the text of their MLIR type."""
    return {str(mlir.element_type(dt)): dt for dt in dtypes.array_dtypes()}


def aval_of(kind: ir.Type) -> ShapedArray:
    """Return the aval of a tensor type; raise UnraisableError if no aval is like it."""
    ir = mlir.ir
    if not isinstance(kind, ir.RankedTensorType):
        raise UnraisableError(f"{kind} is not a tensor of known rank")
    if not kind.has_static_shape:
        raise UnraisableError(f"{kind} has a dynamic shape")
    dtype = _dtypes().get(str(kind.element_type))
    if dtype is None or kind.encoding is not None:
        raise UnraisableError(f"{kind} has no dtype of its own")
    return shaped(tuple(kind.shape), dtype)


def _is_tuple(value: ir.Value) -> bool:
    return isinstance(value.type, mlir.ir.TupleType)


def _scalar_of(view: StableHloOperation) -> Any:
    """Return a constant with equal elements as a scalar or a Splat, otherwise None."""
    value, aval = view.elements(), view.aval_out
    if value is None or view.unread() or not value.size or (value.size > 1 and any(value.strides)):
        return None
    scalar = value[(0,) * value.ndim]
    return Splat(scalar, aval) if aval.shape else scalar


def _check_opaque(operation: ir.Operation) -> None:
    """Raise UnraisableError for an operation with an effect or a reference to another symbol."""
    name, attributes = str(operation.name), operation.attributes
    if any(mlir.is_token(x.type) for x in (*operation.operands, *operation.results)):
        raise UnraisableError(f"{name} takes or returns a token")
    if "has_side_effect" in attributes and attributes["has_side_effect"].value:
        raise UnraisableError(f"{name} has a side effect")
    for attribute in attributes if name != "stablehlo.constant" else ():
        text = str(attributes[attribute])
        if _SYMBOL.match(text):
            raise UnraisableError(f"{name} refers to {text}")
    for region in operation.regions:
        for block in region.blocks:
            for view in block.operations:
                inner = view.operation
                if inner.name == "func.call" or inner.name in _EFFECTS:
                    raise UnraisableError(f"{name} contains {inner.name}")
                _check_opaque(inner)


def _source_of(location: Any, module: str) -> Source:
    """Return the line, the scope and the direction of a location in the module of that name."""
    ir = mlir.ir
    name, position = "", None

    def read(at: Any, label: str) -> Position | None:
        if isinstance(at, ir.FileLineColLoc):
            return Position(at.filename, at.start_line, at.start_col, label)
        if isinstance(at, ir.NameLoc):
            return read(at.child_loc, at.name_str)
        if isinstance(at, ir.CallSiteLoc):
            return read(at.callee, "") or read(at.caller, "")
        if isinstance(at, ir.FusedLoc):
            return next(filter(None, (read(x, label) for x in at.locations)), None)
        return None

    try:
        if isinstance(location, ir.NameLoc):
            name = location.name_str
            position = read(location.child_loc, "")
        else:
            position = read(location, "")
    except UnicodeDecodeError:  # in a module of another tool
        position = None
    scope, _, backward = read_name(name, module=module) if name else ("", "", False)
    return Source(position, 0, scope, backward)


def raise_module(
    module: ir.Module, name: str = "main", host_functions: Sequence[FlatFunction] = ()
) -> Olympuspr:
    """Return the Olympuspr of a function of a StableHLO module.

    `host_functions` are the Python functions that the module calls, in the order of their indices.
    Calls whose effects are ordered by tokens are ordered in the program, which has no tokens.

    Raises:
      UnraisableError: the module has dynamic shapes, effects, or types that no array has.

    >>> program = raise_module(mlir.parsed(open("step.mlir").read()))
    """
    with gc_pause.paused(), mlir.context(), enable_x64():  # dtypes are those of the module
        try:
            return Raising(module, host_functions).entry(name)
        except RecursionError:
            raise UnraisableError("its regions are nested too deeply") from None
