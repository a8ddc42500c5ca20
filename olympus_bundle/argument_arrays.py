"""The arguments of a call as arrays of the types of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_bundle.errors import SignatureError
from olympus_bundle.manifest import ArrayInfo, type_text

Array = np.ndarray[Any, Any]
#: The dtypes of Python's numbers; without a dtype of their own they also take the wider one.
_PYTHON = {
    bool: "bool",
    int: "int32 int64",
    float: "float32 float64",
    complex: "complex64 complex128",
}
#: 64-bit values are narrowed, as by OLYMPUS.
_NARROWED = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


def typed_arrays(leaves: Sequence[Any], arguments: Sequence[ArrayInfo]) -> list[Array]:
    """Return the arguments of a call, in flattened order, as arrays of the program's types.

    Python's numbers and arrays of 64 bits take the dtype of the program.

    Raises SignatureError for arguments of another type; it lists all of them.
    """
    arrays, wrong = [], []
    for x, argument in zip(leaves, arguments, strict=True):
        array = _as_array(x, argument)
        if (array.dtype, array.shape) != (argument.dtype, argument.shape):
            wrong.append(
                f"Argument '{argument.name}' compiled with "
                f"{type_text(argument.dtype, argument.shape)} "
                f"and called with {type_text(array.dtype, array.shape)}"
            )
        arrays.append(array)
    if wrong:
        raise SignatureError(
            "Argument types differ from the types for which this computation was compiled. "
            "Perhaps you are calling the compiled executable with a different enable_x64 mode than "
            "when it was AOT compiled? The mismatches are:\n" + "\n".join(wrong)
        )
    return arrays


def _as_array(x: Any, argument: ArrayInfo) -> Array:
    """Return an argument as an array; of the program's dtype if it is narrowed, or a number."""
    wanted = argument.dtype.name
    try:
        if wanted in _PYTHON.get(type(x), "").split():
            return np.asarray(x, argument.dtype)
        array = np.asarray(x)
    except (ValueError, TypeError, OverflowError) as exc:
        raise SignatureError(f"the argument {argument.name!r} is not an array: {exc}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    narrowed = _NARROWED.get(array.dtype.name)
    if narrowed is not None and array.dtype != argument.dtype:
        return array.astype(narrowed)
    return array
