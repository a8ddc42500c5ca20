"""The `.olympus` bundle as the command line uses it: the only caller of `olympus.artifact`.

A finished compilation enters and a file leaves, or a file and a compiled program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        name=spec.name,
        entry=spec.entry,
    )


def load_bundle(path: Path) -> Any:
    """The program in `path`, compiled for the machine that this is.

    Raises:
        ArtifactError: the file is damaged, foreign or does not fit.
    """
    return artifact.load(path).compiled()
