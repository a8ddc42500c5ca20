"""A bundle with new source lines: its program, its executables and their types stay as they are."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from olympus_core.analysis.sources.sources import SourceMap
from olympus_core.artifact import container
from olympus_core.artifact.bundle import load
from olympus_core.artifact.manifest import MANIFEST, Member
from olympus_core.artifact.saving import sources_member
from olympus_core.base.errors import ArtifactError


def update_sources(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    sources: Mapping[str, SourceMap],
    executables: Mapping[str, bytes],
) -> None:
    """Write the bundle at `path` to `output` with new source lines.

    `sources` has the maps of the programs, and `executables` the executables in
    which the lines were replaced, both by backend.  A signature is dropped: sign the file again.

    Raises:
      UsageError: a file cannot be read or written.
      ArtifactError: the bundle is damaged, or a map describes another program.

    Example:
      >>> update_sources("old.olympus", "new.olympus", {"cpu": sources}, {})
    """
    bundle = load(path, native=False)
    members = dict(bundle.members)
    for backend, program in bundle.manifest.programs.items():
        found, name = sources.get(backend), sources_member(program)
        if found is None or name not in members:
            continue
        if found.program != SourceMap.parse(members[name]).program:
            raise ArtifactError(f"the new source lines are not of the program in {path}")
        members[name] = replace(found, texts={}).to_bytes()
    for stored in bundle.executables:
        if (made := executables.get(stored.backend)) is not None:
            members[stored.member] = made
    listed = {n: Member(hashlib.sha256(x).hexdigest(), len(x)) for n, x in members.items()}
    manifest = replace(bundle.manifest, members=listed)
    container.write(Path(output), {**members, MANIFEST: manifest.to_bytes()})
