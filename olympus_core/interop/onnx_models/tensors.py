"""Tensors of an ONNX file as NumPy arrays, whose sizes are checked before memory is allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from olympus_bundle.regular_file import open_regular
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.interop.onnx_models.package import onnx_package

#: The numbers of `TensorProto.DataType`, by the dtypes that arrays of a program have.
_DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8_e4m3fn",
    18: "float8_e4m3fnuz",
    19: "float8_e5m2",
    20: "float8_e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4_e2m1fn",
    24: "float8_e8m0fnu",
}
_EXTERNAL = 1  # `TensorProto.EXTERNAL`
_MAX_TENSOR = 2**40  # bytes


def element_dtype(number: int) -> np.dtype[Any]:
    """Return the dtype of an element type of ONNX.

    Raises UsageError for strings and for types that arrays of a program do not have.
    """
    if number not in _DTYPES:
        names = onnx_package().TensorProto.DataType
        name = names.Name(number) if number in names.values() else str(number)
        raise UsageError(f"tensors of type {name} are not supported")
    return np.dtype(_DTYPES[number])


def tensor_array(tensor: Any, folder: Path | None) -> np.ndarray[Any, Any]:
    """Return the array of a `TensorProto`, whose external data is in `folder`.

    Raises:
        ArtifactError: the data does not match the shape, or external data is outside the folder.
        UsageError: the type is not supported, or the file of external data is missing.
    """
    dtype = element_dtype(tensor.data_type)
    shape = tuple(tensor.dims)
    if min(shape, default=0) < 0 or len(shape) > 64 or math.prod(shape) > _MAX_TENSOR:
        raise ArtifactError(f"tensor {tensor.name!r:.80} has the invalid shape {shape!r:.80}")
    if tensor.data_location == _EXTERNAL:
        content = _external_bytes(tensor, folder)
        tensor = _inline(tensor, content)
    try:
        array = onnx_package("onnx.numpy_helper").to_array(tensor)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(f"tensor {tensor.name!r:.80} is damaged: {error}") from error
    if array.shape != shape:
        raise ArtifactError(f"tensor {tensor.name!r:.80} does not have the shape {shape}")
    array = np.asarray(array)
    return array if array.dtype == dtype else array.astype(dtype)


def _inline(tensor: Any, content: bytes) -> Any:
    copy = onnx_package().TensorProto()
    copy.name, copy.data_type, copy.raw_data = tensor.name, tensor.data_type, content
    copy.dims.extend(tensor.dims)
    return copy


def _external_bytes(tensor: Any, folder: Path | None) -> bytes:
    """Return the bytes of a tensor in another file, which is inside the folder of the model."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    where = f"external data {entries.get('location', '')!r:.80} of tensor {tensor.name!r:.80}"
    if folder is None:
        raise ArtifactError(f"{where} has no folder: the model was not read from a file")
    try:
        path = os.path.realpath(folder / entries["location"], strict=True)
        root = os.path.realpath(folder, strict=True)
        if os.path.isabs(entries["location"]) or os.path.commonpath([path, root]) != root:
            raise ArtifactError(f"{where} is outside the folder of the model")
        with open_regular(path, follow_links=False) as file:
            size = os.fstat(file.fileno()).st_size
            offset = int(entries.get("offset", 0))
            length = int(entries.get("length", size - offset))
            if offset < 0 or length < 0 or offset + length > size:
                raise ArtifactError(f"{where} is past the end of the file, which has {size} bytes")
            file.seek(offset)
            return file.read(length)
    except FileNotFoundError as error:
        missing = os.path.join(folder, entries["location"])
        raise UsageError(
            f"{where} is missing", hint=f"the model needs the file {missing:.300}"
        ) from error
    except OSError as error:
        raise ArtifactError(f"{where} cannot be read: {error.strerror or error}") from error
    except (KeyError, ValueError) as error:
        raise ArtifactError(f"{where} is invalid: {error}") from error
