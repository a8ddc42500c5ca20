"""The IR: an Olympuspr is a typed, first-order program, a list of equations in SSA form.

The structs are immutable and have no fields of a particular pass; a pass stores its facts on a
variable in a dict of its own.
"""

from __future__ import annotations

import contextlib
import functools
import struct
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import switched
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
        return f"{self.value}:{self.aval.short_name()}"


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
    def invars(self) -> tuple[Atom, ...]:
        """The inputs, under the name that JAX gives them."""
        return self.inputs

    @property
    def outvars(self) -> tuple[Var, ...]:
        """The outputs, under the name that JAX gives them."""
        return self.outputs

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
_EQN_FIELDS = ("primitive", "inputs", "outputs", "params", "source")
_ALSO = {"invars": "inputs", "outvars": "outputs", "source_info": "source"}


class ProgramParams(dict[str, Any]):
    """The parameters of an equation with programs, which also have the names of JAX.

    >>> eqn.params["jaxpr"] is eqn.params["olympuspr"]
    True
    """

    def __missing__(self, name: str) -> Any:
        own = _own_name(name)
        if own == name:
            raise KeyError(name)
        return self[own]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(_own_name(str(name)))

    def __or__(self, other: dict[str, Any]) -> ProgramParams:  # type: ignore[override]
        return ProgramParams({**self, **other})

    def get(self, name: str, default: Any = None) -> Any:
        """Return the parameter, or `default`."""
        return super().get(_own_name(name), default)


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
        fields = ("invars", "eqns", "outvars", "constvars", "consts")
        return Olympuspr(*(tuple(changes.get(name, getattr(self, name))) for name in fields))

    @property
    def jaxpr(self) -> Olympuspr:
        """The program itself: one class has the equations and the arrays that they close over."""
        return self

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


@once_per_program
def _effects(program: Olympuspr) -> frozenset[Primitive]:
    eqns = [e for e in program.eqns if e.primitive.is_effect or e.primitive.has_programs]
    return _NOTHING.union(*[e.effects for e in eqns])


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
