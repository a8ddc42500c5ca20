"""The member of a bundle with the large constants of its programs, each array once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from olympus_bundle.bundle_file import BundleFile, read_bundle
from olympus_bundle.manifest import CONSTANTS, MANIFEST, Manifest, Member
from olympus_bundle.symbolic.manifest import SymbolicManifest
from olympus_bundle.weights import weights_in
from olympus_core.artifact import container
from olympus_core.artifact.jsontext import indented
from olympus_core.artifact.reading import StagesReader
from olympus_core.artifact.safetensors import PADDING, safetensors
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.stages.interface import ArgInfo

Arrays = dict[str, np.ndarray[Any, Any]]


def constant_infos(constants: HiddenArguments) -> tuple[ArgInfo, ...]:
    """Return the records of constants in a manifest; the name of each is its SHA-256.

    >>> constant_infos(lowered.constants)[0].shape
    (1000, 2560)
    """
    pairs = zip(constants.digests, constants.avals, strict=True)
    return tuple([ArgInfo(a.shape, a.dtype, name=name) for name, a in pairs])


def constants_members(arrays: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, bytes]:
    """Return the member with arrays by their SHA-256; nothing without arrays.

    >>> constants_members({})
    {}
    """
    return {CONSTANTS: safetensors(arrays, all_aligned=True)} if arrays else {}


class JoinedParts(NamedTuple):
    """The bundles in a bundle, without their constants, and these constants by SHA-256."""

    members: dict[str, bytes]
    constants: Arrays

    def all_members(self) -> dict[str, bytes]:
        """Return the members: the bundles, and the constants if there are any."""
        return {**self.members, **constants_members(self.constants)}


def parts_of(paths: Iterable[tuple[str, Path]]) -> JoinedParts:
    """Return the bundles in files as members of one bundle, which has their constants.

    `paths` has the name of each member, and its file.

    Raises:
      UsageError: a file cannot be read.
      ArtifactError: a file is damaged, or is no bundle.

    >>> parts_of([("b=1.olympus", Path("f1.olympus")), ("b=8.olympus", Path("f8.olympus"))])
    """
    parts = JoinedParts({}, {})
    for name, path in paths:
        file = read_bundle(path, None, StagesReader())
        parts.members[name] = _without_constants(file, path)
        if CONSTANTS in file.members:
            stored = weights_in(file.members.views[CONSTANTS], path)
            parts.constants.update({n: x for n, x in stored.items() if not n.startswith(PADDING)})
    return parts


def part_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a bundle as a member of another one, which has its constants.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, or is no bundle.

    >>> len(part_digest("f.olympus"))
    64
    """
    (content,) = parts_of([("", Path(path))]).members.values()
    return hashlib.sha256(content).hexdigest()


def _without_constants(file: BundleFile, path: Path) -> bytes:
    if CONSTANTS not in file.members:
        return path.read_bytes()
    members = {name: file.members[name] for name in file.members if name != CONSTANTS}
    records = {name: x for name, x in file.manifest.members.items() if name != CONSTANTS}
    manifest: Any = replace(file.manifest, members=records)
    assert isinstance(manifest, Manifest | SymbolicManifest)
    return container.zip_content({**members, MANIFEST: manifest_bytes(manifest)})


def manifest_bytes(manifest: Any) -> bytes:
    """Return the bytes of `manifest.json` for the manifest of a bundle of any kind.

    >>> manifest_bytes(load("f.olympus").manifest)[:1]
    b'{'
    """
    return f"{indented(manifest.to_data(), sort_keys=True)}\n".encode("ascii")


def member_records(members: Mapping[str, bytes]) -> dict[str, Member]:
    """Return the SHA-256 and the size of each member.

    >>> member_records({"x": b"12"})["x"].size
    2
    """
    return {n: Member(hashlib.sha256(x).hexdigest(), len(x)) for n, x in members.items()}
