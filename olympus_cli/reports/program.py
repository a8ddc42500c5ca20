"""The program in the JSON of trace and lower: its target, entry, statics and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus.stages import ArgInfo

if TYPE_CHECKING:
    import olympus
    from olympus_cli.frontends.program_source import ProgramSource


def program_document(source: ProgramSource, traced: olympus.stages.Traced) -> dict[str, Any]:
    """Return the document's common part."""
    spec = source.spec
    return {
        "target": spec.name,
        "entry": spec.entry,
        "static": {name: _json(value) for name, value in spec.static.items()},
        "arguments": _arrays(traced.arguments),
        "results": _arrays(traced.results),
    }


def _json(value: object) -> object:
    """`value` as JSON has it; what JSON lacks (dates, nan) as text."""
    exact = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if exact else str(value)


def _arrays(arrays: Sequence[ArgInfo]) -> list[dict[str, Any]]:
    return [
        {"name": array.name, "dtype": array.dtype_name, "shape": _sizes(array.shape)}
        for array in arrays
    ]


def _sizes(shape: Sequence[object]) -> list[int | str]:
    """Return the sizes of a shape, with the text of each symbolic one."""
    return [size if isinstance(size, int) else str(size) for size in shape]
