"""Writing of a bundle with weights, from a bundle and .safetensors files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from olympus_bundle.bundle_file import (
    first_program,
    program_manifest,
    read_bundle,
    without_weights,
)
from olympus_bundle.manifest import MANIFEST, Member
from olympus_bundle.signatures import PublicKey, public_keys
from olympus_bundle.weight_bundles import PROGRAM, WEIGHTS, WeightManifest
from olympus_bundle.weights import bound_values, read_weights, weights_in
from olympus_core.artifact import container
from olympus_core.artifact.jsontext import indented
from olympus_core.artifact.safetensors import safetensors
from olympus_core.base.errors import ArtifactError


def join_weights(
    path: str | os.PathLike[str],
    program: str | os.PathLike[str],
    weights: Mapping[str, str | os.PathLike[str]],
) -> WeightManifest:
    """Write one bundle from the bundle `program` and the weights of some of its arguments.

    `weights` has a .safetensors file for each argument, by name; a file may have several arguments.
    A loaded program takes the other arguments. The program may be for several sizes.

    Raises:
      UsageError: a file cannot be read, has an array that is not one of an argument, or lacks one;
        or the bundle cannot be written.
      ArtifactError: the bundle `program` is damaged.

    >>> join_weights("served.olympus", "mlp.olympus", {"params": "mlp.safetensors"})
    """
    arrays: dict[str, Any] = {}
    for argument, tensor_file in weights.items():
        tensors = read_weights(tensor_file)
        is_short = not any(name.split(".")[0] == argument for name in tensors)
        arrays |= {f"{argument}.{n}" if is_short else n: x for n, x in tensors.items()}
    file = read_bundle(Path(program))
    manifest = file.manifest
    if isinstance(manifest, WeightManifest):
        raise ArtifactError(f"{program} has weights already")
    source = Path(next(iter(weights.values())))
    signature = program_manifest(first_program(file)).signature
    list(bound_values(signature, arrays, source))  # it compares them
    members = {PROGRAM: Path(program).read_bytes(), WEIGHTS: safetensors(arrays)}
    records = {n: Member(hashlib.sha256(x).hexdigest(), len(x)) for n, x in members.items()}
    joined = WeightManifest(
        manifest.name, manifest.entry, digest_of_files(list(weights.values())), records
    )
    content = f"{indented(joined.to_data(), sort_keys=True)}\n".encode("ascii")
    container.write(Path(path), {**members, MANIFEST: content})
    return joined


def weights_of(
    path: str | os.PathLike[str], *, trust: PublicKey | Sequence[PublicKey] | None = None
) -> WeightManifest:
    """Return the manifest of a bundle with weights, which is read and verified.

    With `trust`, a public key or several, the bundle must be signed with one of them.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, is no such bundle, or lacks the signature.
      BackendError: `trust` is given and the package `cryptography` is not installed.

    >>> weights_of("served.olympus").name
    'mlp'
    """
    keys = None if trust is None else public_keys(trust)
    manifest = read_bundle(Path(path), keys).manifest
    if not isinstance(manifest, WeightManifest):
        raise ArtifactError(f"{path} has no weights")
    return manifest


def extract_program(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write the bundle of the program in a bundle with weights to a folder; return its path.

    The path of a bundle without weights is returned unchanged.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, or is no bundle.
      OSError: the folder cannot be written.

    >>> extract_program("served.olympus", "parts")
    PosixPath('parts/program.olympus')
    """
    file = read_bundle(Path(path))
    if not isinstance(file.manifest, WeightManifest):
        return Path(path)
    part = Path(folder) / PROGRAM
    part.write_bytes(file.members[PROGRAM])
    return part


def arguments_with_weights(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the arguments whose weights are in a bundle; empty without weights.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, or is no bundle.

    >>> arguments_with_weights("served.olympus")
    ('params',)
    """
    file = read_bundle(Path(path))
    if not isinstance(file.manifest, WeightManifest):
        return ()
    signature = program_manifest(first_program(without_weights(file))).signature
    arrays = weights_in(file.members.views[WEIGHTS], path)
    return tuple(name for _, name, *_ in bound_values(signature, arrays, Path(path)))


def digest_of_files(files: Sequence[str | os.PathLike[str]]) -> str:
    """Return the SHA-256 of the contents of files, one after the other.

    Raises OSError if a file cannot be read.

    >>> digest_of_files(["mlp.safetensors"])[:4]
    '5f0a'
    """
    total = hashlib.sha256()
    for file in files:
        with open(file, "rb") as content:
            total.update(hashlib.file_digest(content, "sha256").digest())
    return total.hexdigest()
