"""Operations of StableHLO that call LAPACK: their routines, options and types."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, ShapedArray, shaped
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_TARGET = re.compile(r"lapack_([sdcz])([a-z0-9]+)_ffi")
#: The places of a structured option in an operation, of newer and of older versions of StableHLO.
_CONFIGS = ("mhlo.backend_config", "backend_config")
_INT32 = np.dtype("int32")
_DTYPES: dict[str, np.dtype[Any]] = {
    "s": np.dtype("float32"),
    "d": np.dtype("float64"),
    "c": np.dtype("complex64"),
    "z": np.dtype("complex128"),
}
_ELEMENTS: dict[str, np.dtype[Any]] = {
    "f32": _DTYPES["s"],
    "f64": _DTYPES["d"],
    "complex<f32>": _DTYPES["c"],
    "complex<f64>": _DTYPES["z"],
    "i32": _INT32,
}

_OTHER: np.dtype[Any] = np.dtype("V1")  # no routine takes or returns it


class LapackCall(NamedTuple):
    """A call of a routine of LAPACK, such as "potrf", with the letters of its options by name."""

    routine: str
    options: tuple[tuple[str, str], ...]
    operands: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]


def call_of(operation: ir.Operation) -> LapackCall | None:
    """Return the call of LAPACK that an operation is; None for another, or for an invalid one.

    The operation may have any context.  The routines are those of `_ROUTINES`.  A call is valid if
    LAPACK has its options, and if its operands and results have the types of the routine.

    >>> call_of(operation).options
    (('uplo', 'L'),)
    """
    if operation.name != "stablehlo.custom_call":
        return None
    attributes = operation.attributes
    target = _TARGET.fullmatch(attributes["call_target_name"].value)
    routine = _ROUTINES.get(target[2]) if target else None
    if target is None or routine is None or not operation.operands:
        return None
    if "has_side_effect" in attributes and attributes["has_side_effect"].value:
        return None  # it has to run, also if nothing uses its results
    options = _options(operation)
    names = options.keys()
    if not (routine.required <= names <= routine.required | routine.further):
        return None
    if not all(letter in _LETTERS[name] for name, letter in options.items()):
        return None
    operands, results = (
        tuple([_aval(x.type) for x in values]) for values in (operation.operands, operation.results)
    )
    a = operands[0]
    if a.dtype != _DTYPES[target[1]] or len(a.shape) < 2:
        return None
    is_valid = results in routine.results(operands, options)
    letters = tuple(sorted(options.items()))
    return LapackCall(target[2], letters, operands, results) if is_valid else None


def _options(operation: ir.Operation) -> dict[str, str]:
    """Return the options of a call as letters."""
    attributes = operation.attributes
    configs = [attributes[name] for name in _CONFIGS if name in attributes]
    dicts = [config for config in configs if isinstance(config, mlir.ir.DictAttr)]
    return {entry.name: _letter(entry.attr) for config in dicts for entry in config}


def _letter(code: ir.Attribute) -> str:
    """Return the letter of a code; "" for another attribute."""
    is_letter = isinstance(code, mlir.ir.IntegerAttr) and 0 <= code.value < 128
    return chr(code.value) if is_letter else ""


def _aval(kind: Any) -> ShapedArray:
    if not isinstance(kind, mlir.ir.RankedTensorType):
        return shaped((), _OTHER)
    return shaped(tuple(kind.shape), _ELEMENTS.get(str(kind.element_type), _OTHER))


_Avals = tuple[ShapedArray, ...]


def _status(a: ShapedArray) -> ShapedArray:
    """Return the type of `info`: a number for each matrix."""
    return shaped(a.shape[:-2], _INT32)


def _real(a: ShapedArray, shape: Shape) -> ShapedArray:
    return shaped(shape, dtypes.to_real(a.dtype))


def _is_square(a: ShapedArray) -> bool:
    return a.shape[-2] == a.shape[-1]


def _smaller(a: ShapedArray) -> Shape:
    """Return the shape of a row for each matrix, of the length of the smaller side."""
    return (*a.shape[:-2], min(a.shape[-2:]))


# The types that the results of each routine may have; none for operands that it does not take.


def _of_lu(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    a, *others = operands
    return [] if others else [(a, shaped(_smaller(a), _INT32), _status(a))]


def _of_cholesky(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    a, *others = operands
    return [(a, _status(a))] if _is_square(a) and not others else []


def _of_qr(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    a, *others = operands
    return [] if others else [(a, shaped(_smaller(a), a.dtype))]


def _of_reflectors(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    if len(operands) != 2:
        return []
    a, scales = operands
    rows, columns = a.shape[-2:]
    count = scales.shape[-1] if scales.shape else -1
    fits = scales.dtype == a.dtype and 0 <= count <= columns <= rows
    return [(a,)] if fits and scales.shape[:-1] == a.shape[:-2] else []


def _of_symmetric(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    a, *others = operands
    values = _real(a, a.shape[:-1])
    return [(a, values, _status(a))] if _is_square(a) and not others else []


def _of_singular(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    """Without vectors, in the mode N, their shapes are those of the mode A or S."""
    a, *others = operands
    *batch, rows, columns = a.shape
    found = []
    for mode, left, right in (("A", rows, columns), ("S", *[min(rows, columns)] * 2)):
        if options["mode"] in (mode, "N") and not others:
            u, vh = (shaped((*batch, *x), a.dtype) for x in ((rows, left), (right, columns)))
            found.append((a, _real(a, _smaller(a)), u, vh, _status(a)))
    return found


def _of_general(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    a, *others = operands
    is_complex = dtypes.kind(a.dtype) == "c"
    values = shaped(a.shape[:-1], a.dtype)
    vectors = shaped(a.shape, dtypes.to_complex(a.dtype))
    parts = (values,) if is_complex else (values, values)
    fits = _is_square(a) and not others
    return [(*parts, vectors, vectors, _status(a))] if fits else []


def _of_triangular(operands: _Avals, options: dict[str, str]) -> Sequence[_Avals]:
    if len(operands) != 2:
        return []
    a, b = operands
    side = -2 if options["side"] == "L" else -1
    fits = _is_square(a) and b.dtype == a.dtype and len(b.shape) == len(a.shape)
    fits = fits and b.shape[:-2] == a.shape[:-2] and b.shape[side] == a.shape[-1]
    return [(b,)] if fits else []


class _Routine(NamedTuple):
    """The types of results, and the names of the options that a call has or may have."""

    results: Callable[[_Avals, dict[str, str]], Sequence[_Avals]]
    required: frozenset[str] = frozenset()
    further: frozenset[str] = frozenset()


_SYMMETRIC = _Routine(_of_symmetric, frozenset(["uplo"]), frozenset(["mode"]))
_ROUTINES = {
    "getrf": _Routine(_of_lu),
    "potrf": _Routine(_of_cholesky, frozenset(["uplo"])),
    "geqrf": _Routine(_of_qr),
    "orgqr": _Routine(_of_reflectors),
    "ungqr": _Routine(_of_reflectors),
    "syevd": _SYMMETRIC,
    "heevd": _SYMMETRIC,
    "gesdd": _Routine(_of_singular, frozenset(["mode"])),
    "geev": _Routine(_of_general, further=frozenset(["compute_left", "compute_right"])),
    "trsm": _Routine(_of_triangular, frozenset(["diag", "side", "trans_x", "uplo"])),
}
#: the letters that an option may have
_LETTERS = {
    "compute_left": frozenset("NV"),
    "compute_right": frozenset("NV"),
    "diag": frozenset("NU"),
    "mode": frozenset("ANSV"),
    "side": frozenset("LR"),
    "trans_x": frozenset("CNT"),
    "uplo": frozenset("LU"),
}
