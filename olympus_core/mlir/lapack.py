"""Operations of StableHLO that call LAPACK: their routines and options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_TARGET = re.compile(r"lapack_[sdcz]([a-z0-9]+)_ffi")
#: The places of a structured option in an operation, of newer and of older versions of StableHLO.
_CONFIGS = ("mhlo.backend_config", "backend_config")
#: the letters that an option may have
_LETTERS = {
    "compute_left": frozenset("NV"),
    "compute_right": frozenset("NV"),
    "diag": frozenset("NU"),
    "mode": frozenset("ANOSV"),
    "side": frozenset("LR"),
    "trans_x": frozenset("CNT"),
    "uplo": frozenset("LU"),
}


def routine_of(operation: ir.Operation) -> str:
    """Return the routine of LAPACK that an operation calls, such as "potrf"; else ""."""
    if operation.name != "stablehlo.custom_call":
        return ""
    target = _TARGET.fullmatch(operation.attributes["call_target_name"].value)
    return target[1] if target else ""


def call_options(operation: ir.Operation) -> dict[str, str] | None:
    """Return the options of a call of LAPACK as letters; None if LAPACK does not have them."""
    attributes = operation.attributes
    configs = [attributes[name] for name in _CONFIGS if name in attributes]
    dicts = [config for config in configs if isinstance(config, mlir.ir.DictAttr)]
    options = {entry.name: _letter(entry.attr) for config in dicts for entry in config}
    is_known = all(letter in _LETTERS.get(name, ()) for name, letter in options.items())
    return options if is_known else None


def _letter(code: ir.Attribute) -> str:
    """Return the letter of a code; "" for another attribute."""
    is_letter = isinstance(code, mlir.ir.IntegerAttr) and 0 <= code.value < 128
    return chr(code.value) if is_letter else ""
