"""The writer of the content of a .safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus_bundle.weights import DTYPES
from olympus_core.artifact import container

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
#: The beginning of the names of the arrays that only align others.
PADDING = "padding."


def safetensors(arrays: Mapping[str, np.ndarray[Any, Any]], *, all_aligned: bool = False) -> bytes:
    """Return the content of a .safetensors file, in which the largest arrays are first.

    The first array begins at a multiple of 64 bytes. With `all_aligned` every array does: arrays of
    bytes are between them, because the format permits no gaps.

    >>> safetensors({"x": np.ones(2, np.float32)})[-8:] == np.ones(2, np.float32).tobytes()
    True
    """
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].nbytes, item[0]))
    header, parts, at = dict[str, Any](), list[bytes](), 0
    for name, array in ordered:
        gap = -at % container.ALIGNMENT if all_aligned else 0
        if gap:
            entry = {"dtype": "U8", "shape": [gap], "data_offsets": [at, at + gap]}
            header[f"{PADDING}{len(header)}"] = entry
            parts.append(bytes(gap))
            at += gap
        kind, end = _NAMES[array.dtype.name], at + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, end]}
        parts.append(np.ascontiguousarray(array).tobytes())
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % container.ALIGNMENT)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
