"""A fingerprint of a program: equal for two programs of one structure, in any process.

It is a hash of the operations, their parameters, the types, the literals and the dataflow. Names of
variables and the user's lines are not part of it.
"""

from __future__ import annotations

import enum
import hashlib
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.ir.olympuspr import Atom, Literal, Olympuspr, Var

_known: weakref.WeakKeyDictionary[Olympuspr, str] = weakref.WeakKeyDictionary()

#: Types whose `repr` is unambiguous. A subclass may write anything.
_ATOMS = frozenset([type(None), bool, int, str, bytes, float, complex])


def fingerprint(program: Olympuspr) -> str:
    """Return 64 hexadecimal digits that are equal for programs with equal operations and dataflow.

    They do not depend on the process or its hash seed. Functions among the parameters count by
    their names: they are rules for derivatives, which do not change the result.

    >>> fingerprint(make_olympuspr(sin)(1.0)) == fingerprint(make_olympuspr(lambda x: sin(x))(2.0))
    True
    """
    digest = _known.get(program)
    if digest is None:
        text = repr(_of_program(program)).encode("utf-8", "surrogatepass")
        digest = _known[program] = hashlib.sha256(text).hexdigest()
    return digest


def _of_program(program: Olympuspr) -> tuple[Any, ...]:
    places: dict[Var, int] = {}

    def bound(variables: Sequence[Var]) -> list[Any]:
        for v in variables:
            places[v] = len(places)
        return [_of_aval(v.aval) for v in variables]

    def read(atom: Atom) -> Any:
        if isinstance(atom, Literal):
            return structural_value(atom.value), _of_aval(atom.aval)
        return places[atom]

    inputs = bound(program.constvars), bound(program.invars)
    eqns = [
        (
            e.primitive.lowering_key(e.params),
            _of_dict(e.params),
            [*map(read, e.inputs)],
            bound(e.outputs),
            *([e.source.annotations] if e.source.annotations else []),
        )
        for e in program.eqns
    ]
    return inputs, [*map(structural_value, program.consts)], eqns, [*map(read, program.outvars)]


def _of_aval(aval: ShapedArray) -> Any:
    name = dtypes.long_name(aval.dtype)
    if aval.explicit is None:
        return name, aval.shape, aval.weak_type
    return name, aval.shape, aval.weak_type, repr(aval.explicit)


def _of_dict(items: dict[str, Any]) -> list[Any]:
    return sorted(
        [(repr(structural_value(key)), structural_value(value)) for key, value in items.items()]
    )


def structural_value(value: Any) -> Any:
    """Return the value as atoms and tagged tuples of these, different for different values."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is tuple or kind is list:
        return (kind.__name__, *map(structural_value, value))
    return (f"{kind.__module__}.{kind.__qualname__}", *_parts(value, kind))


def _parts(value: Any, kind: type) -> Sequence[Any]:
    """Return the parts of an object, without its class."""
    if isinstance(value, Olympuspr):
        return (fingerprint(value),)
    if isinstance(value, ShapedArray):
        return (_of_aval(value),)
    if isinstance(value, np.dtype):
        return (dtypes.long_name(value),)
    if isinstance(value, np.ndarray | np.generic | DeviceArray):
        array = value.numpy() if isinstance(value, DeviceArray) else np.asarray(value)
        return dtypes.long_name(array.dtype), array.shape, array.tobytes()
    if isinstance(value, enum.Enum):
        return (value.name,)
    if isinstance(value, float):  # a subclass
        return (float(value).hex(),)
    if isinstance(value, tuple | list):
        return [structural_value(x) for x in value]
    if isinstance(value, set | frozenset):
        return sorted([repr(structural_value(x)) for x in value])
    if isinstance(value, dict):
        return _of_dict(value)
    if callable(value):
        named = value if hasattr(value, "__qualname__") else kind
        return named.__module__, named.__qualname__
    plain: Any = object.__repr__  # it has an address
    return (repr(value) if kind.__repr__ is not plain else _of_dict(_fields(value, kind)),)


def _fields(value: Any, kind: type) -> dict[str, Any]:
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    return {n: getattr(value, n, None) for n in (*slots, *getattr(value, "__dict__", ()))}
