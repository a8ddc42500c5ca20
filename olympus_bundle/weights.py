"""Weights in .safetensors files: mapped into memory, and bound to the arguments of a program."""

from __future__ import annotations

import ast
import difflib
import math
import mmap
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from olympus_bundle.arguments import arguments_of
from olympus_bundle.errors import DataError, UsageError
from olympus_bundle.json_value import parse_json
from olympus_bundle.manifest import ArrayInfo, Signature, type_text
from olympus_bundle.regular_file import open_regular

Array = np.ndarray[Any, Any]

_MAX_BYTES = 2**40  # of a file
_MAX_HEADER = 10**8  # bytes, as the format limits it
_ALIGNMENT = 64  # bytes, of an array that the runtime uses without a copy
_PART = re.compile(r"""\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\]]*)\]|\.?([^\[.]+)""")
#: The dtypes of the format by its names; NumPy has no packed ones.
DTYPES = {
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "BOOL": "bool",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "BF16": "bfloat16",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}


def dotted(name: str) -> str:
    """Return an array's name in such a file: the parts of its path, joined by dots.

    >>> dotted("params[0]['w'].scale")
    'params.0.w.scale'
    """
    parts = (_key(m[1]) if m[2] is None else m[2] for m in _PART.finditer(name))
    return ".".join(parts)


def _key(text: str) -> str:
    """Return the key in brackets: the text of a quoted string, or the text itself."""
    return str(ast.literal_eval(text)) if text[:1] in ("'", '"') else text


def read_weights(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the arrays of a .safetensors file by name; they share the memory of the mapped file.

    Raises UsageError if the file cannot be read, or is not such a file.

    >>> read_weights("mlp.safetensors")["params.0.w"].shape
    (784, 512)
    """
    try:
        with open_regular(path, _MAX_BYTES) as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise DataError("it is too short")
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}") from exc
    except DataError as exc:
        raise UsageError(f"{path} is not a .safetensors file: {exc}") from None
    return weights_in(content, path)


def weights_in(content: memoryview, path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the arrays of the content of a .safetensors file; `path` names it in messages.

    Raises UsageError if it is not such a file.
    """
    try:
        return dict(_tensors(content))
    except (DataError, RecursionError) as exc:
        raise UsageError(f"{path} is not a .safetensors file: {exc}") from None


def _tensors(content: memoryview) -> Iterator[tuple[str, Array]]:
    length = int.from_bytes(content[:8], "little")
    if length > min(_MAX_HEADER, len(content) - 8):
        raise DataError(f"its header has {length} bytes")
    header = parse_json(bytes(content[8 : 8 + length]))
    if not isinstance(header, dict):
        raise DataError("its header is not an object")
    data = content[8 + length :]
    for name, entry in header.items():
        if name != "__metadata__":
            yield name, _tensor(name, entry, data)


def _tensor(name: str, entry: Any, data: memoryview) -> Array:
    """Return the array of an entry of the header."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise DataError(f"{name!r:.80} has no dtype, shape and offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise DataError(f"{name!r:.80} has the dtype {dtype!r:.40}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2 or len(shape) > 64:
        raise DataError(f"{name!r:.80} has an invalid shape or offsets")
    if DTYPES[dtype].startswith(("bfloat", "float8")):
        import ml_dtypes  # noqa: F401  (makes NumPy know these dtypes by name)
    kind, (begin, end) = np.dtype(DTYPES[dtype]), offsets
    if not begin <= end <= len(data) or end - begin != math.prod(shape) * kind.itemsize:
        raise DataError(f"{name!r:.80} has offsets that do not fit its shape")
    array = np.frombuffer(data[begin:end], kind).reshape(shape)
    if dtype == "BOOL" and np.any(array.view(np.uint8) > 1):
        raise DataError(f"{name!r:.80} has a byte that is no bool")
    return array


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 2**48 for n in value)


#: The position of an argument, None for a keyword, with its name, its arrays and its value.
_Value = tuple[int | None, str, Sequence[Array], Any]


def bound_values(
    signature: Signature, weights: Mapping[str, Array], path: Path
) -> Iterator[_Value]:
    """Yield the position, name, arrays and value of each argument whose arrays are in `weights`.

    Weights of one argument may leave its name out: `0.w` for `params[0]['w']`. `path` names the
    weights in messages.

    Raises UsageError if an array is not one of an argument, or an argument lacks one.
    """
    if not weights:
        raise UsageError(f"{path} has no arrays")
    arguments = list(arguments_of(signature))
    known = {dotted(leaf.name): leaf for *_, leaves in arguments for leaf in leaves}
    if not any(name in known for name in weights):
        tops = [top for _, top, _, _ in arguments]
        found = {top: sum(f"{top}.{name}" in known for name in weights) for top in tops}
        best = max(tops, key=lambda top: found[top], default="")
        if found.get(best):
            weights = {f"{best}.{name}": array for name, array in weights.items()}
    for name in weights:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"arguments have {_listed(known)}"
            raise UsageError(f"{path} has {name!r}, which no argument has", hint=hint)
    for position, top, node, leaves in arguments:
        names = [dotted(leaf.name) for leaf in leaves]
        missing = [name for name in names if name not in weights]
        if len(missing) == len(names):
            continue
        if missing:
            raise UsageError(f"{path} lacks {_listed(missing)} of the argument {top!r}")
        values = [_checked(weights[dotted(leaf.name)], leaf, path) for leaf in leaves]
        yield position, top, values, node.build(iter(values))


def _checked(array: Array, leaf: ArrayInfo, path: Path) -> Array:
    """Return an array of the type of an argument; raise UsageError for another type."""
    if (array.dtype, array.shape) != (leaf.dtype, leaf.shape):
        raise UsageError(
            f"{path} has {dotted(leaf.name)!r} as {type_text(array.dtype, array.shape)}, and the "
            f"program takes {type_text(leaf.dtype, leaf.shape)}"
        )
    return aligned(array)


def aligned(array: Array) -> Array:
    """Return an array as it is if the runtime uses it without a copy, otherwise an aligned copy.

    >>> aligned(np.ones(3)).ctypes.data % 64
    0
    """
    if array.ctypes.data % _ALIGNMENT == 0:
        return array
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def _listed(names: Any) -> str:
    shown = list(names)
    return ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
