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


def routine_of(operation: ir.Operation) -> str:
    """Return the routine of LAPACK that an operation calls, such as "potrf"; else ""."""
    if operation.name != "stablehlo.custom_call":
        return ""
    target = _TARGET.fullmatch(operation.attributes["call_target_name"].value)
    return target[1] if target else ""


def call_options(operation: ir.Operation) -> dict[str, str]:
    """Return the options of a call of LAPACK, which are codes of letters."""
    attributes = operation.attributes
    configs = [attributes[name] for name in _CONFIGS if name in attributes]
    dicts = [config for config in configs if isinstance(config, mlir.ir.DictAttr)]
    return {entry.name: chr(entry.attr.value) for config in dicts for entry in config}
