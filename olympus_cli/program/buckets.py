"""Bundles for several sizes, and for all sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from olympus import artifact
from olympus.errors import UsageError
from olympus.stages import ArgInfo
from olympus_cli.program.bundle_options import BundleOptions
from olympus_cli.program.runnable import Runnable


def is_for_several_sizes(path: Path) -> bool:
    """Return True if a file names itself a bundle for several sizes; it is not verified."""
    return artifact.schema_version(path) == artifact.BUCKETS_VERSION


def is_joined(path: Path) -> bool:
    """Return True if a file names itself a bundle for several sizes, or one with weights."""
    return artifact.schema_version(path) in (artifact.BUCKETS_VERSION, artifact.WEIGHTS_VERSION)


def is_symbolic(path: Path) -> bool:
    """Return True if a file names itself a bundle for all sizes; it is not verified."""
    return artifact.schema_version(path) == artifact.SYMBOLIC_VERSION


def sizes_of(path: Path, variables: Sequence[str], options: BundleOptions) -> dict[str, int]:
    """Return the sizes in the options of a bundle with symbolic sizes.

    Raises:
        UsageError: the bundle has no such size, or --size does not name one of several.
    """
    shown = f"{path} has the sizes {', '.join(variables)}"
    if options.size is not None and len(variables) > 1:
        raise UsageError(shown, hint=f"give {' '.join(f'--at {name}=N' for name in variables)}")
    only = {} if options.size is None else {variables[0]: options.size}
    if unknown := sorted(options.sizes.keys() - set(variables)):
        raise UsageError(f"{shown}, and got {unknown[0]}")
    return {**only, **options.sizes}


@dataclass(frozen=True)
class RunnableJoined(Runnable):
    """A bundle for several or all sizes, called with one of them, or a bundle with weights.

    Masks and weights are not among its arguments.
    """

    def __call__(self, arrays: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """Run the program, and return one NumPy array for each of `results`."""
        results: list[np.ndarray[Any, Any]] = self.compiled.flat(arrays)
        return results


def load_joined(
    path: Path, backend: str, options: BundleOptions, keys: Sequence[Path | bytes]
) -> Runnable:
    """Return the program of a bundle for several sizes, for all sizes, or with weights.

    A program for several sizes is called with the number of rows in `options`.

    Raises:
        ArtifactError: the file is damaged, lacks a required signature, or has no program that fits.
        UsageError: there are more rows than the bundle takes, or it has one size.
    """
    program = artifact.load_program(
        path,
        backend if backend != "cpu" else None,
        native=options.native,
        recompile=options.recompile,
        trust=keys or None,
    )
    inner = program.program if isinstance(program, artifact.BoundProgram) else program
    if options.sizes and not isinstance(inner, artifact.SymbolicProgram):
        name = next(iter(options.sizes))
        raise UsageError(f"{path} has no symbolic size {name!r}", hint="--size N gives the rows")
    if isinstance(inner, artifact.SymbolicProgram):
        sizes = sizes_of(path, inner.variables, options)
        inner = inner.part({**inner.manifest.sizes[0], **sizes})
        options = replace(options, size=None)
    signature = inner.signature
    arguments, results = list(signature.arguments), list(signature.results)
    if isinstance(inner, artifact.BucketProgram):
        rows = _rows(path, inner.manifest, options.size)
        pairs = zip(arguments, inner.manifest.arguments, strict=True)
        arguments = [_with_rows(x, info.axes, rows) for x, info in pairs if info.fill != "mask"]
        pairs = zip(results, inner.manifest.results, strict=True)
        results = [_with_rows(x, info.axes, rows) for x, info in pairs]
    elif options.size is not None:
        raise UsageError(f"--size is for a bundle of several sizes, and {path} has one program")
    if isinstance(program, artifact.BoundProgram):
        free = {x.name for x in program.arguments}
        arguments = [x for x in arguments if x.name in free]
    return RunnableJoined(program, list(map(_info, arguments)), list(map(_info, results)))


def _rows(path: Path, manifest: artifact.BucketManifest, size: int | None) -> int:
    """Return the number of rows of a call; raise UsageError if the bundle takes fewer."""
    most = manifest.sizes[-1]
    if size is not None and size > most and manifest.oversize == "refuse":
        raise UsageError(
            f"{path} takes up to {most} rows ({manifest.symbol}), and --size is {size}"
        )
    return most if size is None else size


def _with_rows(array: Any, axes: Any, rows: int) -> Any:
    """Return an array of the signature, with `rows` rows along its axes."""
    shape = [axes[i] * rows if i in axes else n for i, n in enumerate(array.shape)]
    return replace(array, shape=tuple(shape))


def _info(array: Any) -> ArgInfo:
    return ArgInfo(array.shape, array.dtype, array.donated, array.name, array.weak_type)
