"""The IR: an Olympuspr is a typed, first-order program, a list of equations in SSA form.

The structs are immutable and have no fields of a particular pass; a pass stores its facts on a
variable in a dict of its own.
"""

from __future__ import annotations

import contextlib
import functools
import struct
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import switched
from olympus_core.base.errors import ArgumentError
from olympus_core.base.source import Source
from olympus_core.ir.primitive import Kind, Primitive

_R = TypeVar("_R")


class Var:
    """A value of the program, bound once: an input, a constant, or an equation's result."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var({self.aval.short_name()})"


class Literal:
    """A scalar in the program: a Python or NumPy scalar, and its aval."""

    __slots__ = ("aval", "value")

    def __init__(self, value: Any, aval: ShapedArray) -> None:
        self.value = value
        self.aval = aval

    @property
    def val(self) -> Any:
        """The value."""
        return self.value

    def __repr__(self) -> str:
        return f"Literal({self.value})"


Atom = Var | Literal


def float_bits(value: float) -> bytes:
    """Return the bits of a float, which distinguish 0.0 from -0.0, and NaNs by sign.

    >>> float_bits(1.0).hex()
    '3ff0000000000000'
    """
    return struct.pack(">d", value)


class ExactFloat(float):
    """A float as a parameter, compared by its bits: 0.0 and -0.0 differ."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float_bits(self) == float_bits(other)

    def __hash__(self) -> int:
        return hash(float_bits(self))


def exact(value: Any) -> Any:
    """Return a key that is equal for two static values only if a program treats them as the same.

    1, 1.0 and True are equal, and so are 0.0 and -0.0, alone or in a tuple; their keys differ.
    Raises TypeError for a value that is not hashable.
    """
    kind = type(value)
    if isinstance(value, tuple):
        return kind, tuple([exact(x) for x in value])
    if kind is frozenset:
        return kind, frozenset([exact(x) for x in value])
    if kind is float:
        return kind, float_bits(value)
    if kind is complex:
        return kind, float_bits(value.real), float_bits(value.imag)
    hash(value)
    return kind, value.tobytes() if isinstance(value, np.generic) else value


#: the annotations that `compute_on` adds, and not `set_xla_metadata`
_PLACES = ("_xla_compute_type", "_xla_stream_annotation", "inlineable")
_COMPUTE_TYPES = {"host": "device_host", "dense": "device", "sparseoffload": "tpu_sparsecore"}


class EqnContext:
    """The context that an equation was bound in, as programs for JAX read it."""

    threefry_partitionable = True

    def __init__(self, annotations: tuple[tuple[str, str], ...] = ()) -> None:
        self._annotations = annotations

    @property
    def compute_type(self) -> str | None:
        """The place that `compute_on` has set; None outside of one."""
        known = dict(self._annotations)
        if "_xla_stream_annotation" in known:
            return f"gpu_stream:{known['_xla_stream_annotation']}"
        return _COMPUTE_TYPES.get(known.get("_xla_compute_type", ""))

    @property
    def xla_metadata(self) -> dict[str, str] | None:
        """The attributes for the compiler that `set_xla_metadata` has set, as texts, or None."""
        return {k: v for k, v in self._annotations if k not in _PLACES} or None

    @property
    def manager(self) -> contextlib.AbstractContextManager[None]:
        """A context that restores it."""
        return switched("annotations", self._annotations)


class Eqn:
    """`outputs = primitive[params] inputs`, and its source line in the user's program.

    `kind` is the primitive's cached kind of such operands and parameters, if it was looked up;
    `kind_of` looks it up otherwise.
    """

    __slots__ = ("inputs", "kind", "outputs", "params", "primitive", "source")

    def __init__(
        self,
        primitive: Primitive,
        inputs: tuple[Atom, ...],
        outputs: tuple[Var, ...],
        params: dict[str, Any],
        source: Source,
        kind: Kind | None = None,
    ) -> None:
        self.kind = kind
        self.primitive = primitive
        self.inputs = inputs
        self.outputs = outputs
        self.params = params
        self.source = source

    @property
    def invars(self) -> list[Atom]:
        """A list of the inputs, under the name that JAX gives them."""
        return list(self.inputs)

    @property
    def outvars(self) -> list[Var]:
        """A list of the outputs, under the name that JAX gives them."""
        return list(self.outputs)

    @property
    def source_info(self) -> Source:
        """The source line in the user's program; its `name_stack` is the name scope."""
        return self.source

    @property
    def ctx(self) -> EqnContext:
        """The context that the equation was bound in, under JAX's name."""
        return EqnContext(self.source.annotations)

    @property
    def effects(self) -> frozenset[Primitive]:
        """The primitives in the equation that have an effect besides their results."""
        primitive = self.primitive
        if primitive.is_effect:
            return frozenset([primitive])
        if not primitive.has_programs:
            return _NOTHING
        return _NOTHING.union(*[program.effects for program in sub_programs(self)])

    def reading(self, inputs: tuple[Atom, ...]) -> Eqn:
        """Return the same equation with other operands, which have the same types."""
        return Eqn(self.primitive, inputs, self.outputs, self.params, self.source, self.kind)

    def with_params(self, params: dict[str, Any]) -> Eqn:
        """Return the same equation with other parameters."""
        return Eqn(self.primitive, self.inputs, self.outputs, params, self.source)

    def replace(self, **changes: Any) -> Eqn:
        """Return the same equation with some fields replaced, also `invars` and `outvars`."""
        fields = {_ALSO.get(name, name): value for name, value in changes.items()}
        eqn = Eqn(*(fields.get(name, getattr(self, name)) for name in _EQN_FIELDS))
        eqn.inputs, eqn.outputs = tuple(eqn.inputs), tuple(eqn.outputs)
        return eqn


def kind_of(eqn: Eqn) -> Hashable:
    """Return a key that is equal for equations of one primitive, operand types and parameters.

    A pass may have set parameters in place, as passes written for JAX do.
    """
    if eqn.kind is not None and eqn.kind.params == eqn.params:
        return eqn.kind
    avals = tuple([x.aval for x in eqn.inputs])
    if not eqn.primitive.higher_order and (kind := eqn.primitive.known_kind(avals, eqn.params)):
        return kind
    return eqn.primitive, avals, tuple(eqn.params.items())


_NOTHING: frozenset[Primitive] = frozenset()
_FIELDS = ("invars", "eqns", "outvars", "constvars", "consts")
_EQN_FIELDS = ("primitive", "inputs", "outputs", "params", "source")
_ALSO = {"invars": "inputs", "outvars": "outputs", "source_info": "source"}


class ProgramParams(dict[str, Any]):
    """The parameters of an equation with programs, which also have the names of JAX.

    Under a name of JAX, a program is the `JaxProgram` of it.  `requested` are options of a call
    that have no effect within a program, for its text: `donated` operands, `keep_unused`, and the
    mesh of the context.

    >>> eqn.params["jaxpr"] is eqn.params["olympuspr"].jaxpr
    True
    """

    requested: Mapping[str, Any] = MappingProxyType({})

    @classmethod
    def of(cls, params: dict[str, Any]) -> ProgramParams:
        """Return a copy of parameters, with the options that were requested."""
        copied = cls(params)
        if params.__class__ is cls and params.requested:
            copied.requested = params.requested
        return copied

    def __missing__(self, name: str) -> Any:
        own = _own_name(name)
        if own != name:
            value = self[own]
            return unconstrained(value).jaxpr if isinstance(value, Olympuspr) else value
        if name in _OF_CALLS and self.keys() <= _CALL_KEYS:
            return _OF_CALLS[name](self)
        if name == "newly_manual_axes":
            return frozenset(self["manual_axes"])
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(_own_name(str(name))):
            return True
        return name in _OF_CALLS and self.keys() <= _CALL_KEYS

    def __or__(self, other: dict[str, Any]) -> ProgramParams:  # type: ignore[override]
        return ProgramParams({**self, **other})

    def get(self, name: str, default: Any = None) -> Any:
        """Return the parameter, or `default`."""
        try:
            return self[name]
        except KeyError:
            return default


class Unspecified:
    """The value of an argument that a call omits, such as a sharding, where None is a value."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = Unspecified()


def _shardings(requested: str, is_ins: bool, params: ProgramParams) -> tuple[Any, ...]:
    program = params["olympuspr"]
    own = call_shardings.get(program)
    called = () if own is None else own.ins if is_ins else own.outs
    none = (None,) * len(program.invars if is_ins else program.outvars)
    shardings = dict.get(params, requested, ()) or called or none
    return tuple(UNSPECIFIED if s is None else s for s in shardings)


#: the parameters of the call of a `jit`
_CALL_KEYS = frozenset(
    [
        *("name", "olympuspr", "donated", "keep_unused"),
        *("compiler_options", "in_shardings", "out_shardings"),
    ]
)
#: the parameters that only JAX's calls of a `jit` have, from those of a call
_OF_CALLS: dict[str, Callable[[ProgramParams], Any]] = {
    "ctx_mesh": lambda p: p.requested.get("ctx_mesh"),
    "compiler_options_kvs": lambda p: tuple(dict.get(p, "compiler_options", ())),
    "donated_invars": lambda p: tuple(
        i in p.requested.get("donated", ()) for i in range(len(p["olympuspr"].invars))
    ),
    "in_layouts": lambda p: (None,) * len(p["olympuspr"].invars),
    "in_shardings": lambda p: _shardings("in_shardings", True, p),
    "inline": lambda p: False,
    "keep_unused": lambda p: bool(p.requested.get("keep_unused")),
    "out_layouts": lambda p: (None,) * len(p["olympuspr"].outvars),
    "out_shardings": lambda p: _shardings("out_shardings", False, p),
}


def _own_name(name: str) -> str:
    return "olympuspr" if name == "call_jaxpr" else name.replace("jaxpr", "olympuspr")


class Olympuspr:
    """A program: `invars` in, `eqns` in order, `outvars` out.

    `constvars` are bound to the arrays `consts` that the traced function closed over.  A program
    in an equation's parameters has none: its equation passes them as operands.
    """

    __slots__ = ("__weakref__", "consts", "constvars", "eqns", "invars", "outvars")

    def __init__(
        self,
        invars: tuple[Var, ...],
        eqns: tuple[Eqn, ...],
        outvars: tuple[Atom, ...],
        constvars: tuple[Var, ...] = (),
        consts: tuple[Any, ...] = (),
    ) -> None:
        self.invars = invars
        self.eqns = eqns
        self.outvars = outvars
        self.constvars = constvars
        self.consts = consts

    def replace(self, **changes: Any) -> Olympuspr:
        """Return the same program with some fields, sequences, replaced.

        >>> program.replace(eqns=[eqn for eqn in program.eqns if eqn.primitive.name != "copy"])
        """
        return Olympuspr(*self.changed(changes))

    def changed(self, changes: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Return the fields of the program, those in `changes` replaced."""
        return [tuple(changes.get(name, getattr(self, name))) for name in _FIELDS]

    @property
    def jaxpr(self) -> JaxProgram:
        """The program under JAX's names, which is printed as JAX prints it."""
        return _jaxpr(self)

    @property
    def literals(self) -> tuple[Any, ...]:
        """The arrays `consts`."""
        return self.consts

    @property
    def effects(self) -> frozenset[Primitive]:
        """The primitives in the program that have an effect besides their results."""
        return _effects(self)

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the inputs."""
        return tuple(v.aval for v in self.invars)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return tuple(v.aval for v in self.outvars)


def once_per_program(function: Callable[[Olympuspr], _R]) -> Callable[[Olympuspr], _R]:
    """Cache a function of programs; a result is cached as long as its program lives.

    The result must not refer to the program, which would then live forever.

    >>> count = once_per_program(lambda program: len(program.eqns))
    """
    known: weakref.WeakKeyDictionary[Olympuspr, _R] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def of(program: Olympuspr) -> _R:
        try:
            return known[program]
        except KeyError:
            pass
        result = known[program] = function(program)
        return result

    return of


class DebugInfo(NamedTuple):
    """The name of a transformation, of its function, and of the function's arguments."""

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: tuple[str, ...] | None = None

    @property
    def func_name(self) -> str:
        """The name of the function."""
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file of the function, if it is known."""
        _, _, place = self.func_src_info.partition(" at ")
        return place.rpartition(":")[0] or None


class CallShardings(NamedTuple):
    """The shardings of the inputs and results of a call, and its program without them."""

    program: Olympuspr
    ins: tuple[Any, ...]
    outs: tuple[Any, ...]


#: the shardings of calls, by their programs, in which these are constraints
call_shardings: weakref.WeakKeyDictionary[Olympuspr, CallShardings] = weakref.WeakKeyDictionary()


def unconstrained(program: Olympuspr) -> Olympuspr:
    """Return the program of a call without constraints for its shardings."""
    own = call_shardings.get(program)
    return program if own is None else own.program


class JaxProgram(Olympuspr):
    """A program as libraries for JAX read it: its fields are lists, and its text is JAX's.

    It is both of JAX's kinds of program: a `Jaxpr`, and a `ClosedJaxpr`, which contains the arrays
    that it closes over.
    """

    __slots__ = ("_debug_info",)
    is_high = False

    def __init__(self, *fields: Any, debug_info: DebugInfo | None = None) -> None:
        super().__init__(*fields)
        self._debug_info = debug_info

    @property
    def jaxpr(self) -> JaxProgram:
        """The program itself: one class has the equations and the arrays that they close over."""
        return self

    @property
    def debug_info(self) -> DebugInfo:
        """The names of the function, its arguments and its results, as far as they are known."""
        return self._debug_info or DebugInfo("core.Jaxpr", "unknown", None)

    @property
    def in_avals(self) -> list[ShapedArray]:  # type: ignore[override]
        """The types of the inputs."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:  # type: ignore[override]
        """The types of the results."""
        return [v.aval for v in self.outvars]

    def replace(self, **changes: Any) -> JaxProgram:
        """Return the same program with some fields, sequences, or its `jaxpr` replaced."""
        if unknown := changes.keys() - {*_FIELDS, "jaxpr", "effects", "debug_info", "is_high"}:
            raise ArgumentError(f"Unknown keyword arguments: {', '.join(sorted(unknown))}")
        changed = (changes.get("jaxpr") or self).changed(changes)
        return JaxProgram(*changed, debug_info=changes.get("debug_info", self._debug_info))

    def map_jaxpr(self, f: Callable[[JaxProgram], Olympuspr]) -> JaxProgram:
        """Return the program that `f` returns for this one, with the same arrays `consts`.

        >>> program = make_jaxpr(lambda x: 2 * x)(1.0)
        >>> program.map_jaxpr(lambda jaxpr: jaxpr.replace(eqns=jaxpr.eqns[:])).in_avals
        [ShapedArray(float32[], weak_type=True)]
        """
        return f(self).jaxpr.replace(consts=self.consts)


def _list_of(field: str) -> property:
    stored = getattr(Olympuspr, field)
    return property(
        lambda self: list(stored.__get__(self)),
        lambda self, value: stored.__set__(self, tuple(value)),
        doc=f"A list of the `{field}` of an Olympuspr.",
    )


for _field in _FIELDS:
    setattr(JaxProgram, _field, _list_of(_field))


@once_per_program
def _effects(program: Olympuspr) -> frozenset[Primitive]:
    eqns = [e for e in program.eqns if e.primitive.is_effect or e.primitive.has_programs]
    return _NOTHING.union(*[e.effects for e in eqns])


@once_per_program
def _jaxpr(program: Olympuspr) -> JaxProgram:
    if not any(e.inputs and e.outputs and e.outputs[0].aval.vma for e in program.eqns):
        return JaxProgram(*program.changed({}))
    # imported here because few programs need it
    from olympus_core.ir.varying_literals import with_varying_literals

    return JaxProgram(*program.changed({"eqns": tuple(with_varying_literals(program.eqns))}))


def places_of_inputs(program: Olympuspr) -> list[int | None]:
    """Return, for each result, the index of the input that it is, or None for other results."""
    places: dict[Atom, int] = {v: i for i, v in enumerate(program.invars)}
    return [places.get(x) for x in program.outvars]


def sub_programs(eqn: Eqn) -> Iterator[Olympuspr]:
    """Yield the programs in an equation's parameters."""
    yield from _programs(eqn.params)


def _programs(params: dict[str, Any]) -> Iterator[Olympuspr]:
    for value in params.values():
        if isinstance(value, Olympuspr):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Olympuspr))


def with_programs(eqn: Eqn, change: Callable[[Olympuspr], Olympuspr]) -> Eqn:
    """Return the equation with `change` applied to its programs; itself if none changes."""

    def of(value: Any) -> Any:
        if isinstance(value, Olympuspr):
            return change(value)
        if isinstance(value, tuple) and any(isinstance(x, Olympuspr) for x in value):
            mapped = tuple([of(x) for x in value])
            return value if all(a is b for a, b in zip(mapped, value, strict=True)) else mapped
        return value

    params = {name: of(value) for name, value in eqn.params.items()}
    if all(params[name] is value for name, value in eqn.params.items()):
        return eqn
    return eqn.with_params(ProgramParams(params))


def named_axes(primitive: Primitive, params: dict[str, Any]) -> frozenset[Any]:
    """Return the names of the mapped axes that an operation, or a program of it, operates along."""
    if primitive.axis_param is not None:
        names = params[primitive.axis_param]
        return frozenset(names if isinstance(names, tuple) else (names,))
    if not primitive.has_programs:
        return frozenset()
    return frozenset().union(*map(_program_axes, _programs(params)))


@functools.lru_cache(maxsize=2048)
def _program_axes(program: Olympuspr) -> frozenset[Any]:
    return frozenset().union(*(named_axes(e.primitive, e.params) for e in program.eqns))


def unrecorded_axes_in(eqn: Eqn) -> frozenset[Any]:
    """Return the axes of a `shard_map` along which values vary without a record in their type.

    Such values are the results of a conditional or loop whose predicate varies.
    """
    if not eqn.primitive.has_programs:
        return frozenset()
    return eqn.primitive.unrecorded_axes(eqn).union(
        *map(unrecorded_axes_in_program, sub_programs(eqn))
    )


@functools.lru_cache(maxsize=1024)
def unrecorded_axes_in_program(program: Olympuspr) -> frozenset[Any]:
    """Apply `unrecorded_axes_in` to all equations of a program."""
    return frozenset[Any]().union(*map(unrecorded_axes_in, program.eqns))
