"""The program in the JSON of trace and lower: its target, entry, statics and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_cli.program.leaves import Leaf, argument_leaves, result_leaves

if TYPE_CHECKING:
    import olympus
    from olympus_cli.frontends.python import Traceable


def program_document(source: Traceable, traced: olympus.stages.Traced) -> dict[str, Any]:
    """Return the document's common part."""
    spec = source.spec
    return {
        "target": spec.name,
        "entry": spec.entry,
        "static": {name: _json(value) for name, value in spec.static.items()},
        "arguments": _arrays(argument_leaves(traced)),
        "results": _arrays(result_leaves(traced)),
    }


def _json(value: object) -> object:
    """`value` as JSON has it; what JSON lacks (dates, nan) as text."""
    exact = isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if exact else str(value)


def _arrays(leaves: Sequence[Leaf]) -> list[dict[str, Any]]:
    return [{"name": leaf.name, "dtype": leaf.dtype, "shape": list(leaf.shape)} for leaf in leaves]
