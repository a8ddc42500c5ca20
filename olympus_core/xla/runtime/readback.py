"""The values of device arrays, as NumPy arrays.

They are read-only, and share the runtime's memory if possible.

jaxlib's own method for this imports jax if it is installed, so it is the last resort. The buffer
protocol works for every dtype of NumPy itself. For the others jaxlib 0.12 has a method that does
not import jax. In older versions DLPack carries the bytes, with the dtype's kind changed to
"unsigned", because NumPy does not read DLPack's bfloat16 and float8.
"""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np

from olympus_core.xla.bindings import Buffer, _jax

Array = np.ndarray[Any, np.dtype[Any]]

# DLPack's dtype codes, from the enumeration DLDataTypeCode of dlpack.h.
_UNSIGNED = 1
_DTYPES = {
    4: ml_dtypes.bfloat16,
    7: ml_dtypes.float8_e3m4,
    8: ml_dtypes.float8_e4m3,
    9: ml_dtypes.float8_e4m3b11fnuz,
    10: ml_dtypes.float8_e4m3fn,
    11: ml_dtypes.float8_e4m3fnuz,
    12: ml_dtypes.float8_e5m2,
    13: ml_dtypes.float8_e5m2fnuz,
    14: ml_dtypes.float8_e8m0fnu,
}
# Where a DLTensor has its dtype code: after a pointer, a device (two int32) and the rank (int32).
_CODE_OFFSET = 20


def read_buffer(buf: Buffer) -> Array:
    """Return the value of a Buffer; wait until it is computed. Raises jaxlib's errors."""
    buf.block_until_ready()  # the buffer protocol ends the process if the memory is missing
    try:
        return np.asarray(memoryview(buf))
    except BufferError:
        return _read_extended(buf)


def _read_extended(buf: Buffer) -> Array:
    value: Array
    if hasattr(buf, "_to_np_array_did_copy"):
        value = buf._to_np_array_did_copy()[0]
        return value
    if buf.is_deleted() or (capsule := _capsule(buf)) is None:
        value = buf._single_device_array_to_np_array_did_copy()[0]
        return value
    value = np.from_dlpack(capsule).view(capsule.dtype)
    value.flags.writeable = False
    return value


class _Capsule:
    """A DLPack capsule whose elements are declared unsigned, and their actual dtype."""

    def __init__(self, capsule: Any) -> None:
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        code = ctypes.c_uint8.from_address(pointer(capsule, b"dltensor") + _CODE_OFFSET)
        self.capsule = capsule
        self.dtype = np.dtype(_DTYPES[code.value])
        code.value = _UNSIGNED

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU


def _capsule(buf: Buffer) -> _Capsule | None:
    """Return the capsule of a host Buffer; None for a device's, and for dtypes below a byte."""
    if buf.platform() != "cpu":
        return None
    try:
        return _Capsule(_jax.buffer_to_dlpack_managed_tensor(buf))
    except (_jax.JaxRuntimeError, KeyError):
        return None
