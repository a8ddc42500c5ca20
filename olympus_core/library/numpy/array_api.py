"""The functions that the array API standard requires for inspection of the namespace.

The version of the standard is December 2025, https://data-apis.org/array-api/2025.12/.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Final

from olympus_core import xla
from olympus_core.base import dtypes as types
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.library.device import check_device, placed
from olympus_core.library.numpy.dtypes.queries import isdtype
from olympus_core.xla import Device

__array_api_version__: Final = "2025.12"

#: a later version includes all functions of an earlier one
_VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", __array_api_version__)

#: the dtypes of the standard
_NAMES: Final = (
    "bool",
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


class Info:
    """The inspection of `olympus.numpy`, with the methods of the array API standard."""

    def capabilities(self) -> dict[str, bool | int]:
        """Return the capabilities: no shapes of traced arrays depend on their values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> xla.Device:
        """Return the device of arrays that are created without a `device`."""
        return xla.devices()[0]

    def devices(self) -> tuple[xla.Device, ...]:
        """Return the devices that the keyword `device` accepts."""
        return tuple(xla.devices())

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default dtype of each kind; it is the same on all devices.

        Raises ArgumentError for a value that is not a device.
        """
        check_device(device)
        integer = types.default_dtype("i")
        return {
            "real floating": types.default_dtype("f"),
            "complex floating": types.default_dtype("c"),
            "integral": integer,
            "indexing": integer,
        }

    def dtypes(
        self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the supported dtypes of the standard by name: all, or those of a kind.

        They include 64-bit dtypes if x64 is enabled.  `kind` is a kind that `isdtype` accepts.
        Raises ArgumentError for another kind, and for a value that is not a device.

        >>> list(Info().dtypes(kind="real floating"))
        ['float32']
        """
        check_device(device)
        kinds = ("bool", "numeric") if kind is None else kind
        for kind_name in (kinds,) if isinstance(kinds, str) else kinds:
            if not isinstance(kind_name, str):
                raise ArgumentError(f"dtypes needs the names of kinds, and got {kind_name!r:.80}")
        every = {name: types.dtype(name) for name in _NAMES}
        return {
            name: dt
            for name, dt in every.items()
            if types.canonicalize(dt) == dt and isdtype(dt, kinds)
        }


def __array_namespace_info__() -> Info:
    """Return the inspection object of the namespace, as in the array API standard.

    >>> __array_namespace_info__().default_dtypes()["integral"]
    dtype('int32')
    """
    return Info()


def array_namespace(self: Array, /, *, api_version: str | None = None) -> ModuleType:
    """Return the namespace with the functions of the array API standard: `olympus.numpy`.

    Raises ArgumentError for an unsupported version of the standard.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ArgumentError(
            f"version {api_version!r} of the array API is not supported; the versions are "
            f"{', '.join(_VERSIONS)}"
        )
    return importlib.import_module("olympus.numpy")


def to_device(self: Array, device: Device | None, /, *, stream: None = None) -> Array:
    """Return the array on `device`; a traced array is unchanged.

    Raises ArgumentError for a value that is not a device, and UnsupportedError for a stream, which
    CPUs lack.
    """
    if stream is not None:
        raise UnsupportedError(
            f"stream argument of array.to_device(): it must be None, and is {stream!r:.80}"
        )
    return placed(self, device)
