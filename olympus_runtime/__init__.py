"""The small loader of `.olympus` bundles: NumPy arrays in, NumPy arrays out.

>>> forward = olympus_runtime.load("mlp.olympus")
>>> forward(params, np.zeros((1, 784), "float32")).shape
(1, 10)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_bundle.errors import (
    ArtifactError,
    BackendError,
    CompileError,
    OlympusError,
    SignatureError,
    UsageError,
)

if TYPE_CHECKING:
    from olympus_runtime.loading.bucket_program import BucketProgram
    from olympus_runtime.loading.load import load
    from olympus_runtime.loading.program import Program
    from olympus_runtime.loading.symbolic_program import SymbolicProgram

__all__ = [
    "ArtifactError",
    "BackendError",
    "BucketProgram",
    "CompileError",
    "OlympusError",
    "Program",
    "SignatureError",
    "SymbolicProgram",
    "UsageError",
    "load",
]


def __getattr__(name: str) -> Any:
    """Return `load` or a class of programs: jaxlib is imported when one of them is used."""
    if name not in ("BucketProgram", "Program", "SymbolicProgram", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from olympus_runtime.loading import load

    return getattr(load, name)
