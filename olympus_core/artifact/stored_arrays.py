"""The places of the arrays in a bundle: constants of its programs, and weights of arguments."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from olympus_bundle.bundle_file import (
    BundleFile,
    first_program,
    program_manifest,
    read_bundle,
    without_weights,
)
from olympus_bundle.manifest import CONSTANTS, Member
from olympus_bundle.weight_bundles import PROGRAM, WEIGHTS, WeightManifest
from olympus_bundle.weights import Array, dotted, weights_in
from olympus_core.artifact.safetensors import PADDING


@dataclass(frozen=True)
class StoredArray:
    """An array in a bundle, and its place.

    `name` is the SHA-256 of a constant, or the name of the argument whose weights it is. It is
    `offset` bytes after the start of the member `file`, which has the `record`. `part` is the
    bundle within the bundle that has the member, or None.

    >>> stored_arrays("f.olympus")[0].file
    'constants.safetensors'
    """

    name: str
    offset: int
    file: str
    record: Member
    part: str | None


def stored_arrays(path: str | os.PathLike[str]) -> tuple[StoredArray, ...]:
    """Return the places of the constants and weights in a bundle.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, or is no bundle.

    >>> stored_arrays("f.olympus")[0].offset
    192
    """
    file = read_bundle(Path(path))
    program = without_weights(file)
    part = PROGRAM if isinstance(file.manifest, WeightManifest) else None
    found = []
    for name, _, offset in _places(program, CONSTANTS):
        if not name.startswith(PADDING):
            record = program.manifest.members[CONSTANTS]
            found.append(StoredArray(name, offset, CONSTANTS, record, part))
    arguments = program_manifest(first_program(program)).signature.arguments
    names = {dotted(argument.name): argument.name for argument in arguments}
    for name, _, offset in _places(file, WEIGHTS) if part is not None else ():
        record = file.manifest.members[WEIGHTS]
        found.append(StoredArray(names[name], offset, WEIGHTS, record, None))
    return tuple(found)


def _places(file: BundleFile, member: str) -> Iterator[tuple[str, Array, int]]:
    """Yield the name, the array and the offset of each array in a member, if there is one."""
    if member in file.members:
        view = file.members.views[member]
        start = np.frombuffer(view, np.uint8).ctypes.data
        for name, array in weights_in(view, file.path).items():
            yield name, array, array.ctypes.data - start
