"""Operations without a reference rule, in float64, as XLA computes them.

Their lowering is that of the program, so this shows the effect of rounding, but not an error in the
lowering.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy, put_array
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import switched
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var
from olympus_core.ir.primitive import Primitive
from olympus_core.primitives.elementwise.conversion import convert_element_type_p

Array = np.ndarray[Any, Any]


def _wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    kind = dtypes.kind(dtype)
    return np.dtype({"f": "float64", "c": "complex128"}.get(kind, dtype))


def wide_aval(aval: ShapedArray) -> ShapedArray:
    """Return the type with float64 or complex128 instead of its float or complex dtype."""
    return aval.update(dtype=_wide_dtype(aval.dtype))


def _wide_param(value: Any) -> Any:
    if isinstance(value, np.dtype):
        return _wide_dtype(value)
    if isinstance(value, Olympuspr):
        return wide_program(value)
    return value


def _wide_atom(atom: Any, wide_vars: dict[Any, Any]) -> Any:
    if isinstance(atom, Literal):
        aval = wide_aval(atom.aval)
        return Literal(np.asarray(atom.value).astype(aval.dtype)[()], aval)
    return wide_vars.setdefault(atom, Var(wide_aval(atom.aval)))


@functools.lru_cache(maxsize=256)
def wide_program(program: Olympuspr) -> Olympuspr:
    """Return the program with all its floats in float64, and its complex numbers in complex128."""
    wide_vars: dict[Any, Any] = {}
    atom = functools.partial(_wide_atom, wide_vars=wide_vars)
    invars = tuple(map(atom, program.invars))
    eqns: list[Eqn] = []
    for eqn in program.eqns:
        wide = eqn.replace(
            inputs=tuple(map(atom, eqn.inputs)),
            outputs=tuple(map(atom, eqn.outputs)),
            params={name: _wide_param(value) for name, value in eqn.params.items()},
        )
        eqns += _with_conversions(eqn, wide) if eqn.primitive.has_fixed_dtypes else [wide]
    constvars = tuple(map(atom, program.constvars))
    consts = tuple(
        np.asarray(array_to_numpy(c), v.aval.dtype)
        for c, v in zip(program.consts, constvars, strict=True)
    )
    return Olympuspr(invars, tuple(eqns), tuple(map(atom, program.outvars)), constvars, consts)


def _with_conversions(eqn: Eqn, wide: Eqn) -> list[Eqn]:
    """Return an equation in its own dtypes, between conversions from and to the wide ones."""

    def converted(x: Any, y: Any) -> Eqn:
        params = {"new_dtype": y.aval.dtype, "weak_type": y.aval.weak_type}
        return Eqn(convert_element_type_p, (x,), (y,), params, eqn.source)

    inputs = tuple(x if isinstance(x, Literal) else Var(x.aval) for x in eqn.inputs)
    outputs = tuple(Var(x.aval) for x in eqn.outputs)
    before = [
        converted(x, y)
        for x, y in zip(wide.inputs, inputs, strict=True)
        if not isinstance(y, Literal)
    ]
    after = [converted(x, y) for x, y in zip(outputs, wide.outputs, strict=True)]
    return [*before, eqn.replace(inputs=inputs, outputs=outputs), *after]


def evaluate_wide(
    primitive: Primitive,
    params: dict[str, Any],
    avals: Sequence[ShapedArray],
    args: Sequence[Array],
) -> list[Array]:
    """Return the results of an operation on float64 operands, compiled as a program of its own."""
    wide = {name: _wide_param(value) for name, value in params.items()}
    with switched("enable_x64", True):
        wide_args = [put_array(x, wide_aval(a)) for x, a in zip(args, avals, strict=True)]
        outs = primitive.bind(*wide_args, **wide)
    return [array_to_numpy(x) for x in (outs if primitive.multiple_results else [outs])]


#: decompositions that are unique only up to the phases of vectors, or to the basis of a space
_AMBIGUOUS = ("eigh", "eig", "svd")
_SAME = 1e-2  # relative difference of vectors that are the same but for rounding


def same_factors(name: str, wide: Sequence[Array], own: Sequence[Array]) -> list[Array]:
    """Return the float64 results of a decomposition, matched to the program's own results.

    Signs and phases of its vectors are those of the program, which are equally correct. If the
    program chose other pivots, or another basis of a space, its results are returned.
    """
    is_exact = [dtypes.kind(x.dtype) in "biu" for x in own]
    same = all(np.array_equal(x, y) for x, y, w in zip(wide, own, is_exact, strict=True) if w)
    if not same:
        return [x.astype(_wide_dtype(x.dtype)) for x in own]
    if name not in _AMBIGUOUS:
        return list(wide)
    return [x if w else _phase_matched(x, y) for x, y, w in zip(wide, own, is_exact, strict=True)]


def _phase_matched(wide: Array, own: Array) -> Array:
    """Return the vectors, in columns or rows, with the phases of the program's vectors."""
    target = own.astype(wide.dtype)
    if wide.ndim < 2 or not wide.size:
        return wide
    candidates = [wide]
    for axis in (-2, -1):
        product = np.sum(np.conj(wide) * target, axis, keepdims=True)
        size = np.abs(product)
        phase = np.where(size > 0, product / np.where(size > 0, size, 1), 1)
        candidates.append(wide * phase)
    best = min(candidates, key=lambda x: float(np.max(np.abs(x - target))))
    near = np.max(np.abs(best - target)) <= _SAME * max(1e-300, float(np.max(np.abs(target))))
    return best if near else target
