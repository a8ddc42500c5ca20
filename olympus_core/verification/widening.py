"""Operations without a rule of the reference, in float64, as XLA computes them.

Their lowering is that of the program, so that this shows what rounding does to them, and nothing of
whether they are lowered right.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.array import put, to_numpy
from olympus_core.avals import ShapedArray
from olympus_core.context import switched
from olympus_core.olympuspr import Literal, Olympuspr, Var
from olympus_core.primitive import Primitive

__all__ = ["evaluate_wide", "wide_aval", "wide_program"]

Array = np.ndarray[Any, Any]


def _wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    kind = dtypes.kind(dtype)
    return np.dtype({"f": "float64", "c": "complex128"}.get(kind, dtype))


def wide_aval(aval: ShapedArray) -> ShapedArray:
    """The type with a float64 or complex128 in the place of its float or complex dtype."""
    return aval.update(dtype=_wide_dtype(aval.dtype))


def _wide_param(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return _wide_dtype(value)
    if isinstance(value, Olympuspr):
        return wide_program(value)
    return value


def _wide_atom(atom: Any, made: dict[Any, Any]) -> Any:
    if isinstance(atom, Literal):
        aval = wide_aval(atom.aval)
        return Literal(np.asarray(atom.value).astype(aval.dtype)[()], aval)
    return made.setdefault(atom, Var(wide_aval(atom.aval)))


@functools.lru_cache(maxsize=256)
def wide_program(program: Olympuspr) -> Olympuspr:
    """The program with all its floats in float64, and its complex numbers in complex128."""
    made: dict[Any, Any] = {}
    atom = functools.partial(_wide_atom, made=made)
    invars = tuple(map(atom, program.invars))
    eqns = [
        eqn.replace(
            inputs=tuple(map(atom, eqn.inputs)),
            outputs=tuple(map(atom, eqn.outputs)),
            params={name: _wide_param(value) for name, value in eqn.params.items()},
        )
        for eqn in program.eqns
    ]
    constvars = tuple(map(atom, program.constvars))
    consts = tuple(
        np.asarray(to_numpy(c), v.aval.dtype)
        for c, v in zip(program.consts, constvars, strict=True)
    )
    return Olympuspr(invars, tuple(eqns), tuple(map(atom, program.outvars)), constvars, consts)


def evaluate_wide(
    primitive: Primitive,
    params: dict[str, Any],
    avals: Sequence[ShapedArray],
    args: Sequence[Array],
) -> list[Array]:
    """The results of an operation on float64 operands, compiled as a program of it alone."""
    wide = {name: _wide_param(value) for name, value in params.items()}
    with switched("enable_x64", True):
        given = [put(x, wide_aval(a)) for x, a in zip(args, avals, strict=True)]
        outs = primitive.bind(*given, **wide)
    return [to_numpy(x) for x in (outs if primitive.multiple_results else [outs])]
