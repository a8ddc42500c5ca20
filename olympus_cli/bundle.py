"""The `.olympus` bundle as the command line writes and loads it.

A finished compilation enters and a file leaves, or a file and a compiled program.
"""

from __future__ import annotations

from pathlib import Path

import olympus
from olympus import artifact
from olympus_cli.build.compilation import Compilation

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


def load_bundle(
    path: Path, backend: str | None, device: str | None, recompile: bool
) -> olympus.stages.Compiled:
    """The program in `path` for a backend, the CPU unless given.

    Raises:
        ArtifactError: the file is damaged or foreign, or, without `recompile`, has no executable
            that fits this machine.
    """
    target = olympus.target(backend or "cpu", device)
    return artifact.load(path).compiled(target, recompile=recompile)
