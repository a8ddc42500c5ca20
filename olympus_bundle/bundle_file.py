"""A bundle as a file: its members and its manifest, verified before any runtime is called."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olympus_bundle.buckets import BucketManifest
from olympus_bundle.container import Members, members_in, read_members, unverified_member
from olympus_bundle.errors import ArtifactError, DataError
from olympus_bundle.json_value import parse_json
from olympus_bundle.manifest import CONSTANTS, MANIFEST, Manifest, Member
from olympus_bundle.reading import AnyManifest, ManifestReader
from olympus_bundle.signatures import SIGNATURE, verify_signature
from olympus_bundle.symbolic.manifest import SymbolicManifest, part_name
from olympus_bundle.weight_bundles import PROGRAM, WeightManifest

OLYMPUSPR = "program.olympuspr"


@dataclass(frozen=True)
class BundleFile:
    """A verified file: its manifest, and its other members except the signature.

    `constants` is the member with the constants of its programs: its own, or that of the bundle
    that contains it; None without one.
    """

    path: Path
    manifest: AnyManifest
    members: Members = field(repr=False)
    manifest_bytes: bytes = field(repr=False)
    signature: bytes | None = field(repr=False)
    constants: memoryview | None = field(default=None, repr=False)


def read_bundle(
    path: Path, keys: Sequence[bytes] | None = None, reader: ManifestReader | None = None
) -> BundleFile:
    """Read and verify a bundle, which must be signed with one of `keys`, the public keys, if given.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, is not a bundle, has another schema version, or is not
        signed with one of `keys`.
      BackendError: `keys` are given and the package `cryptography` is not installed.
    """
    return _verified(path, read_members(path), keys, reader)


def schema_version(path: Path) -> int | None:
    """Return the schema version that a bundle names; None if it cannot be read.

    Nothing else is read, and nothing is verified: `read_bundle` does that.

    >>> schema_version(Path("f.olympus"))
    1
    """
    content = unverified_member(path, MANIFEST)
    try:
        document = None if content is None else parse_json(content)
    except DataError:
        return None
    version = document.get("schema_version") if isinstance(document, dict) else None
    return version if type(version) is int else None


def read_member(file: BundleFile, name: str, reader: ManifestReader | None = None) -> BundleFile:
    """Return the verified bundle that is a member of another one.

    Raises:
      ArtifactError: it is damaged, or is not a bundle.
    """
    path = file.path / name
    views = members_in(path, file.members.views[name])
    return _verified(path, views, None, reader, file.constants)


def first_program(file: BundleFile, reader: ManifestReader | None = None) -> BundleFile:
    """Return the verified bundle of the first size in a bundle of several sizes; others unchanged.

    Raises:
      ArtifactError: it is damaged, or is not a bundle.
    """
    if isinstance(file.manifest, BucketManifest):
        return read_member(file, file.manifest.part(file.manifest.sizes[0]), reader)
    if isinstance(file.manifest, SymbolicManifest):
        return read_member(file, part_name(file.manifest.sizes[0]), reader)
    return file


def without_weights(file: BundleFile, reader: ManifestReader | None = None) -> BundleFile:
    """Return the verified bundle of the program in a bundle with weights; others unchanged.

    Raises:
      ArtifactError: it is damaged, or is not a bundle.
    """
    is_bound = isinstance(file.manifest, WeightManifest)
    return read_member(file, PROGRAM, reader) if is_bound else file


def program_manifest(file: BundleFile) -> Manifest:
    """Return the manifest of a bundle of one program; raise ArtifactError if it has several."""
    if isinstance(file.manifest, Manifest):
        return file.manifest
    if isinstance(file.manifest, WeightManifest):
        raise ArtifactError(
            f"{file.path} has a program with its weights",
            hint=f"load it with olympus_runtime.load, or take it out: unzip {file.path} {PROGRAM}",
        )
    if isinstance(file.manifest, SymbolicManifest):
        variables, first = ", ".join(file.manifest.variables), part_name(file.manifest.sizes[0])
        raise ArtifactError(
            f"{file.path} has a program for all sizes {variables}",
            hint=f"load it with olympus_runtime.load, or take one out: unzip {file.path} '{first}'",
        )
    sizes = ", ".join(map(str, file.manifest.sizes))
    symbol, first = file.manifest.symbol, file.manifest.part(file.manifest.sizes[0])
    raise ArtifactError(
        f"{file.path} has a program for each of several sizes ({symbol} = {sizes})",
        hint=f"load it with olympus_runtime.load, or take one out: unzip {file.path} '{first}'",
    )


def _verified(
    path: Path,
    views: dict[str, memoryview],
    keys: Sequence[bytes] | None,
    reader: ManifestReader | None,
    constants: memoryview | None = None,
) -> BundleFile:
    if MANIFEST not in views:
        raise ArtifactError(f"{path} is not an .olympus bundle: it has no {MANIFEST}")
    content = bytes(views.pop(MANIFEST))
    signature = bytes(views.pop(SIGNATURE)) if SIGNATURE in views else None
    try:
        if keys is not None:
            verify_signature(content, signature, keys)
        manifest = (reader or ManifestReader()).parse(content)
        required = {OLYMPUSPR} if isinstance(manifest, Manifest) else set[str]()
        _verify(manifest.members, views, required)
    except ArtifactError as exc:
        raise ArtifactError(f"{path} cannot be used: {exc}") from exc
    constants = views.get(CONSTANTS, constants)
    return BundleFile(path, manifest, Members(views), content, signature, constants)


def _verify(
    expected: Mapping[str, Member], members: Mapping[str, memoryview], required: set[str]
) -> None:
    for name in sorted(expected.keys() | members.keys() | required):
        if name not in members:
            raise ArtifactError(f"its member {name!r} is missing")
        if name not in expected:
            raise ArtifactError(f"its member {name!r} is not in its manifest")
        content, entry = members[name], expected[name]
        if len(content) != entry.size:
            raise ArtifactError(
                f"its member {name!r} has {len(content)} bytes, and should have {entry.size}"
            )
        if hashlib.sha256(content).hexdigest() != entry.sha256:
            raise ArtifactError(f"its member {name!r} was altered: its SHA-256 is another one")
