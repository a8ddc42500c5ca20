"""jaxlib's runtime modules, `_jax` and `_hlo`, and the types of their objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_runtime.bindings import JAXLIB_VERSION, JaxRuntimeError, _hlo, _jax

__all__ = [
    "JAXLIB_RELEASE",
    "JAXLIB_VERSION",
    "Buffer",
    "Device",
    "FfiBuffer",
    "FfiContext",
    "FfiStage",
    "JaxRuntimeError",
    "_hlo",
    "_jax",
]

#: the first two numbers of jaxlib's version
JAXLIB_RELEASE: tuple[int, ...] = tuple(map(int, JAXLIB_VERSION.split(".")[:2]))

# Opaque to everybody outside this package: the runtime's own classes carry no types.
Buffer = Any
if TYPE_CHECKING:
    Device = Any
    FfiBuffer = Any
    FfiContext = Any
    FfiStage = Any
else:
    Device = _jax.Device
    FfiBuffer = _jax.ffi.Buffer
    FfiContext = _jax.ffi.ExecutionContext
    FfiStage = _jax.ffi.ExecutionStage
