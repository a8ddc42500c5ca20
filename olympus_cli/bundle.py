"""The `.olympus` bundle as the command line writes and loads it.

A finished compilation enters and a file leaves, or a file and a program that is ready to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import ml_dtypes  # noqa: F401  (makes numpy know bfloat16 and the 8-bit floats by name)
import numpy as np

import olympus
from olympus import artifact
from olympus_cli.build.compilation import Compilation
from olympus_cli.leaves import Leaf
from olympus_cli.runnable import Runnable
from olympus_cli.spec.backends import parse_backend

__all__ = ["SUFFIX", "load_bundle", "save_bundle"]

SUFFIX = ".olympus"


def save_bundle(compilation: Compilation, directory: Path) -> None:
    """Write the program, compiled for all its backends, to `<target>.olympus` in `directory`."""
    spec = compilation.spec
    artifact.save(
        directory / (spec.name + SUFFIX),
        [unit.compiled for unit in compilation.units],
        lowered=[unit.lowered for unit in compilation.units],
        olympuspr_text=str(compilation.traced.olympuspr),
        name=spec.name,
        entry=spec.entry,
        static=spec.static,
    )


def load_bundle(path: Path, backend: str | None, device: str | None, recompile: bool) -> Runnable:
    """The program in `path` for a backend, the CPU unless given; `device` alone means a GPU.

    Raises:
        ArtifactError: the file is damaged or foreign, or, without `recompile`, has no executable
            that fits this machine.
        UsageError: there is no such file, backend or device.
    """
    spec = parse_backend(backend or ("gpu" if device else "cpu"), device)
    bundle = artifact.load(path)
    compiled = bundle.compiled(olympus.target(spec.name, spec.device), recompile=recompile)
    signature = bundle.manifest.signature
    return Runnable(compiled, _leaves(signature.arguments), _leaves(signature.results))


def _leaves(arrays: Sequence[artifact.Argument | artifact.Result]) -> list[Leaf]:
    return [Leaf(each.name, np.dtype(each.dtype), each.shape) for each in arrays]
