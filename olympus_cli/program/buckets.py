"""Bundles for several sizes: one is called with any number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from olympus import artifact
from olympus.errors import OlympusError, UsageError
from olympus.stages import ArgInfo
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.runnable import Runnable


def is_for_several_sizes(path: Path) -> bool:
    """Return True if a file is a bundle for several sizes; False also if it cannot be read."""
    try:
        artifact.buckets_of(path)
    except OlympusError:
        return False
    return True


@dataclass(frozen=True)
class RunnableBuckets(Runnable):
    """A bundle for several sizes that is called with one number of rows.

    Masks are not among its arguments.
    """

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program, and return one NumPy array for each of `results`."""
        results: list[np.ndarray[Any, Any]] = self.compiled.flat(arrays)
        return results


def load_buckets(
    path: Path, backend: str, options: BundleOptions, keys: Sequence[Path | bytes]
) -> Runnable:
    """Return the program of a bundle for several sizes, for the number of rows in `options`.

    Raises:
        ArtifactError: the file is damaged, lacks a required signature, or has no program that fits.
        UsageError: there are more rows than the bundle takes.
    """
    program = artifact.load_program(
        path,
        backend if backend != "cpu" else None,
        native=options.native,
        recompile=options.recompile,
        trust=keys or None,
    )
    assert isinstance(program, artifact.BucketProgram)
    manifest = program.manifest
    rows = manifest.sizes[-1] if options.size is None else options.size
    if rows > manifest.sizes[-1] and manifest.oversize == "refuse":
        raise UsageError(
            f"{path} takes up to {manifest.sizes[-1]} rows ({manifest.symbol}), and --size is "
            f"{rows}"
        )
    signature = program.part(manifest.sizes[0]).signature
    arguments = zip(signature.arguments, manifest.arguments, strict=True)
    results = zip(signature.results, manifest.results, strict=True)
    return RunnableBuckets(
        program,
        [_with_rows(x, info.axes, rows) for x, info in arguments if info.fill != "mask"],
        [_with_rows(x, info.axes, rows) for x, info in results],
    )


def _with_rows(array: Any, axes: Any, rows: int) -> ArgInfo:
    """Return an array of the signature, with `rows` rows along its axes."""
    shape = [axes[i] * rows if i in axes else n for i, n in enumerate(array.shape)]
    info = ArgInfo(array.shape, array.dtype, array.donated, array.name, array.weak_type)
    return replace(info, shape=tuple(shape))
