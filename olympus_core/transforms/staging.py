"""Staging: the Olympuspr of a Python function, for arguments of given avals.

The function runs once on tracers.  Every primitive it binds becomes an equation; a value that it
closes over becomes a literal (scalars) or a constant (arrays, and tracers of outer traces).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any, Protocol, TypeVar

import numpy as np

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base import dtypes, gc_pause, source
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state, surroundings
from olympus_core.base.dimensions.expression import SymbolicDim, missing_constraint
from olympus_core.base.errors import (
    OlympusError,
    ShapeError,
    ShardingError,
    TraceError,
    escaped_tracer,
)
from olympus_core.base.source import Source
from olympus_core.ir import jaxpr_text as _jaxpr_text  # noqa: F401  (makes programs printable)
from olympus_core.ir import pretty as _printer  # noqa: F401  (makes programs printable)
from olympus_core.ir.check import check
from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Literal,
    Olympuspr,
    ProgramParams,
    Var,
    unrecorded_axes_in,
)
from olympus_core.ir.primitive import Primitive, op
from olympus_core.ir.trace import record_varying_axes, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.collective import implicit_casts
from olympus_core.primitives.dimension import dimension_params, dimension_value_p
from olympus_core.transforms.flat import check_leaks

#: the number of arguments that a message names
_SHOWN_NAMES = 8


class ValueReader(Protocol):
    """The values of a program that is staged for known arguments, from the program of each."""

    def same(self, program: Olympuspr) -> np.ndarray[Any, Any] | None:
        """Return the result of the program if it is one value; None otherwise."""

    def text(self, program: Olympuspr) -> str | None:
        """Return the result of the program as text; None if it cannot be read."""


class StagedTracer(Tracer):
    """A value of the program that is being staged."""

    __slots__ = ("variable",)
    owner: StagingTrace
    variable: Var

    def __init__(self, trace: StagingTrace, var: Var) -> None:
        self.owner = trace
        self.variable = var
        self.aval = var.aval

    def origin(self) -> str:
        """Return the argument or the operation of the value."""
        return self.owner.origin(self.variable)

    def argument(self) -> str | None:
        """Return the name of the argument, if the value is an argument; None for a part of one."""
        return self.owner.argument(self.variable)

    def dependence(self) -> str:
        return self.owner.dependence(self.variable)

    def known_value(self) -> np.ndarray[Any, Any] | None:
        reader = self.owner.reader
        return None if reader is None else reader.same(self.owner.program([self]))

    def __repr__(self) -> str:
        reader = self.owner.reader
        text = None if reader is None else reader.text(self.owner.program([self]))
        return super().__repr__() if text is None else text


def is_literal(x: Any) -> bool:
    """Return True if a value is a literal in a program: a scalar that is known."""
    scalar = isinstance(x, (DeviceArray, np.ndarray, np.generic)) and not x.shape
    return scalar or dtypes.is_python_scalar(x)


def _literal(x: Any) -> Literal:
    """Return the literal of a scalar that has a dtype."""
    aval = get_aval(x)
    value = np.asarray(x).astype(aval.dtype)[()]
    return Literal(value.item() if aval.weak_type else value, aval)


class StagingTrace:
    """Records bound primitives as equations."""

    #: the ids of scalar arrays that are constants of the program, not literals
    constant_scalars: frozenset[int] = frozenset()

    def __init__(self, what: str = "a function", reader: ValueReader | None = None) -> None:
        self.what = what
        #: computes values of the program while it is staged, if they may be read
        self.reader = reader
        self.alive = True
        self.eqns: list[Eqn] = []
        self.invars: list[Var] = []
        self.names: list[str] = []
        self.consts: dict[int, tuple[Var, Any]] = {}
        self.literals: dict[Any, Literal] = {}  # NumPy scalars, by type and bits

    def new_input(self, aval: ShapedArray, name: str = "") -> StagedTracer:
        """Return a tracer for one more input of the program."""
        var = Var(aval)
        self.invars.append(var)
        self.names.append(name)
        return StagedTracer(self, var)

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Type the operation, record it, and return tracers for its results."""
        inputs = tuple(
            [
                x.variable if x.__class__ is StagedTracer and x.owner is self else self.lift(x)
                for x in args
            ]
        )
        if state.axes and not (primitive.has_programs or primitive.types_varying_axes):
            inputs = self._joined(primitive, inputs)
        avals = tuple([a.aval for a in inputs])
        try:
            if primitive.higher_order:
                kind, outs = None, primitive.out_avals(avals, params)
            else:
                kind = primitive.kind(avals, params)
                outs = kind.outs
        except TraceError as e:
            e.location = e.location or _place()
            raise
        outputs = tuple([Var(a) for a in outs])
        if primitive.has_programs:
            params = ProgramParams.of(params)
        eqn = Eqn(primitive, inputs, outputs, params, self.mark(), kind)
        self.eqns.append(eqn)
        if state.axes and primitive.has_programs:
            record_varying_axes(unrecorded_axes_in(eqn))
        if primitive.multiple_results:
            return [StagedTracer(self, v) for v in outputs]
        return StagedTracer(self, outputs[0])

    def mark(self) -> Source:
        """Return the mark of the line that binds the operation in `process`."""
        return source.current_location(3)

    def _joined(self, primitive: Primitive, inputs: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Return the operands typed to vary along the same axes of a `shard_map`, except literals.

        So the derivative by an operand that does not vary is summed over the axes of the others.
        """
        every = frozenset[Any]().union(*[a.aval.vma for a in inputs])
        if not every:
            return inputs
        joined = []
        for atom in inputs:
            missing = every - atom.aval.vma
            if missing and atom.__class__ is Var:
                if not state.auto_pcast:
                    raise _differing(primitive, inputs)
                for name, names in implicit_casts(atom.aval, missing):
                    atom = self._cast(name, atom, names)
            joined.append(atom)
        return tuple(joined)

    def _cast(self, name: str, atom: Atom, names: tuple[Any, ...]) -> Var:
        """Record a cast along axes, and return its result."""
        primitive, params = op.find(name), {"axes": names}
        assert primitive is not None
        (aval,) = primitive.out_avals((atom.aval,), params)
        varying = Var(aval)
        place = source.current_location(4)
        self.eqns.append(Eqn(primitive, (atom,), (varying,), params, place))
        return varying

    def lift(self, x: Any) -> Atom:
        """Return `x` as its own variable, a literal, or a constant of this program."""
        cls = x.__class__
        if cls is StagedTracer:
            if x.owner is self:
                own: Var = x.variable
                return own
            if not x.owner.alive:
                raise _leaked(x)
            return self._const(x, id(x.variable))
        if dtypes.is_python_scalar(x):
            aval = get_aval(x)
            if cls is int and x.bit_length() > 31:
                dtypes.check_python_int(x, aval.dtype)
            return Literal(x, aval)
        if cls is SymbolicDim:
            value: StagedTracer = self.process(dimension_value_p, (), dimension_params(x))
            return value.variable
        if isinstance(x, np.generic):
            key = cls, get_aval(x), x.tobytes()
            if (literal := self.literals.get(key)) is None:
                literal = self.literals[key] = _literal(x)
            return literal
        is_constant = not is_literal(x) or id(x) in self.constant_scalars
        return self._const(x, id(x)) if is_constant else _literal(x)

    def _const(self, x: Any, key: int) -> Var:
        entry = self.consts.get(key)
        if entry is None:
            entry = self.consts[key] = (Var(get_aval(x)), x)
        return entry[0]

    def argument(self, var: Var) -> str | None:
        """Return the name of the argument that a variable is; None for other variables."""
        name = self.names[self.invars.index(var)] if var in self.invars else None
        return name if name and name.isidentifier() else None

    def origin(self, var: Var) -> str:
        """Return a text with the origin of a variable of this program."""
        if var in self.invars:
            name = self.names[self.invars.index(var)]
            return f"the argument {name!r} of {self.what}" if name else f"an input of {self.what}"
        for eqn in self.eqns:
            if var in eqn.outputs:
                return f"the result of '{eqn.primitive}' in {self.what}{eqn.source.place()}"
        return f"a value that {self.what} closes over"

    def dependence(self, var: Var) -> str:
        """Return the text with the arguments, or else the lines, that a value depends on."""
        needed: set[Atom] = {var}
        places = []
        for eqn in reversed(self.eqns):
            if not needed.isdisjoint(eqn.outputs):
                needed.update(eqn.inputs)
                places.append(eqn.source.place("\n    "))
        named = zip(self.invars, self.names, strict=True)
        names = [name for v, name in named if name and v in needed]
        if not names:
            lines = "".join(dict.fromkeys(reversed(places)))
            is_known = needed.isdisjoint(self.invars) and lines
            return f": it is the result of operations on these lines:{lines}" if is_known else ""
        if len(names) == 1:
            return f": it depends on the value of the argument {names[0]}"
        shown, others = names[:_SHOWN_NAMES], len(names) - _SHOWN_NAMES
        last = f"{others} others" if others > 0 else shown.pop()
        return f": it depends on the values of the arguments {', '.join(shown)} and {last}"

    def program(self, outputs: Sequence[Any]) -> Olympuspr:
        """Return the recorded program, with `outputs` as results."""
        outvars = tuple([self.lift(x) for x in outputs])
        constvars, consts = zip(*self.consts.values(), strict=True) if self.consts else ((), ())
        return Olympuspr(tuple(self.invars), tuple(self.eqns), outvars, constvars, consts)


_snapshots: dict[int, tuple[weakref.ref[Any], Any]] = {}


def freeze(program: Olympuspr) -> Olympuspr:
    """Return the program with copies of its constants, unaffected by writes to user arrays."""
    consts = tuple(map(_snapshot, program.consts))
    return Olympuspr(program.invars, program.eqns, program.outvars, program.constvars, consts)


def _snapshot(x: Any) -> Any:
    """Return a copy of a writable array, shared by all programs until the array changes."""
    if not isinstance(x, np.ndarray) or not x.flags.writeable:
        return x
    key = id(x)
    reference, copy = _snapshots.get(key, (None, None))
    if reference is None or reference() is not x or not _same_bits(x, copy):
        copy = x.copy()
        forget = functools.partial(_forget, _snapshots, key)
        _snapshots[key] = weakref.ref(x, forget), copy
    return copy


def _forget(snapshots: dict[int, Any], key: int, _: object) -> None:
    snapshots.pop(key, None)  # at exit, the names of the module may be gone


def _same_bits(x: Any, y: Any) -> bool:
    return (x.shape, x.dtype) == (y.shape, y.dtype) and x.tobytes() == y.tobytes()


class _Staged(Protocol):
    @property
    def consts(self) -> tuple[Any, ...]: ...


_S = TypeVar("_S", bound=_Staged)
_IDENTITY: Any = object.__eq__
_staged: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


#: the identities of the mutable references of the process: adding and removing are atomic
live: set[int] = set()


def stage_once(fun: Callable[..., Any], key: Any, make: Callable[[], _S]) -> _S:
    """Return the result of `make`, which stages `fun`; it is cached while `fun` is alive.

    `make` is called again for another `key`, or in another context.  A function is assumed to be
    pure, as by `jit`; a result whose constants are tracers is not cached.
    """
    if type(fun).__eq__ is not _IDENTITY and not isinstance(fun, BuiltinFunctionType):
        return make()  # a custom __eq__ may make it equal to another
    key = key, surroundings()
    try:
        programs = _staged.setdefault(fun, {})
        staged: _S | None = programs.get(key)
    except TypeError:  # it has no weak references, or the key is not hashable
        return make()
    if staged is None:
        reads = state.reference_reads
        staged = make()
        is_constant = state.reference_reads == reads  # the value of a reference changes
        if is_constant and not any(isinstance(c, Tracer) for c in staged.consts):
            programs[key] = staged
    return staged


def clear_staged() -> None:
    """Discard the programs that were staged from all functions."""
    _staged.clear()


def stage(
    fun: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    *,
    names: Sequence[str] = (),
    what: str = "a function",
    reader: ValueReader | None = None,
) -> Olympuspr:
    """Run `fun` on tracers of the given avals; its flat results are the program's.

    `names` and `what` name the inputs and the function in messages.  Exceptions of `fun` propagate.
    `reader` computes values that `fun` reads.
    """
    trace = StagingTrace(what, reader)
    filled = list(names) + [""] * (len(avals) - len(names))
    tracers = [trace.new_input(a, n) for a, n in zip(avals, filled, strict=True)]
    try:
        with gc_pause.paused(), using_trace(trace):
            program = trace.program(source.run_staged(fun, tracers))
    except ShapeError as error:
        error.hint = error.hint or missing_constraint(str(error))
        raise
    finally:
        trace.alive = False
    del tracers
    check_leaks(trace, what)
    if state.enable_checks:
        check(program)
    return program


def hoist_consts(program: Olympuspr) -> tuple[Olympuspr, tuple[Any, ...]]:
    """Return the program with its constants as leading inputs, and those constants."""
    invars = (*program.constvars, *program.invars)
    return Olympuspr(invars, program.eqns, program.outvars), program.consts


def _differing(primitive: Primitive, inputs: Sequence[Atom]) -> ShardingError:
    """Return the error for operands that vary along different axes, without `auto_pcast`."""
    axes = ", ".join(f"{{{', '.join(sorted(map(str, a.aval.vma)))}}}" for a in inputs)
    return ShardingError(
        f"Primitive {primitive} requires varying manual axes to match, but got [{axes}]",
        hint="convert an operand with lax.pcast, or leave auto_pcast on",
    )


def _place() -> str | None:
    position = source.current_location(3).position()
    return str(position) if position else None


def _leaked(x: StagedTracer) -> OlympusError:
    return escaped_tracer("a traced function", x.aval.long_name(), x.origin())
