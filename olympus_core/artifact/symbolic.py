"""Writing of a bundle with symbolic sizes, from a symbolic program and bundles for some sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olympus_bundle.bundle_file import read_bundle
from olympus_bundle.manifest import MANIFEST, ArrayInfo
from olympus_bundle.signatures import PublicKey, public_keys
from olympus_bundle.symbolic.manifest import SymbolicManifest, part_name
from olympus_bundle.symbolic.sizes import Expression, SizeConstraint, SymbolicShape
from olympus_core.artifact import container
from olympus_core.artifact.bundle import load
from olympus_core.artifact.constants import (
    constant_infos,
    manifest_bytes,
    member_records,
    parts_of,
)
from olympus_core.base.avals import ShapedArray
from olympus_core.base.dimensions.solving import solved
from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.stages.stages import Lowered


def join_symbolic(
    path: str | os.PathLike[str],
    lowered: Lowered | Sequence[Lowered],
    parts: Sequence[tuple[Mapping[str, int], str | os.PathLike[str]]],
) -> SymbolicManifest:
    """Write one bundle from a program with symbolic sizes, and bundles of it for some sizes.

    `lowered` is the program lowered for one backend, or for several. `parts` has at least one
    bundle, with the value of each variable: that of the same program at these sizes. A loaded
    program takes all sizes that fulfill the constraints.

    Raises:
      UsageError: the program has no symbolic sizes, a part has other variables, or the file cannot
        be written.
      ArtifactError: a part is damaged, or is another function at these sizes.

    >>> lowered = jit(f).trace(ShapeDtypeStruct(symbolic_shape("b, 8"), "float32")).lower()
    >>> join_symbolic("f.olympus", lowered, [({"b": 64}, "f64.olympus")])
    """
    stages = [lowered] if isinstance(lowered, Lowered) else list(lowered)
    signature = stages[0].signature
    variables = stages[0].size_names
    if not variables or not parts:
        raise UsageError(
            f"'{signature.name}' has no symbolic sizes" if parts else "no bundle for sizes is given"
        )
    scope = solved(signature.in_avals, signature.arg_names).scope
    programs, members = _programs(stages)
    first = load(parts[0][1], native=False).manifest
    manifest = SymbolicManifest(
        name=first.name,
        entry=first.entry,
        function=first.function,
        arguments=_shapes(signature.arg_names, signature.in_avals),
        results=_shapes([x.name for x in first.signature.results], signature.out_avals),
        constraints=tuple(_constraints(scope)),
        programs=programs,
        sizes=tuple({name: sizes[name] for name in variables} for sizes, _ in parts),
        members={},
        constants=_constants(stages),
    )
    for sizes, (_, part) in zip(manifest.sizes, parts, strict=True):
        _check_part(manifest, sizes, part)
    files = [Path(part) for _, part in parts]
    paths = zip(map(part_name, manifest.sizes), files, strict=True)
    joined_parts = parts_of(paths)
    for stage in stages:
        own = stage.constants
        joined_parts.constants.update(zip(own.digests, own.arrays, strict=True))
    members |= joined_parts.all_members()
    joined = SymbolicManifest(**{**vars(manifest), "members": member_records(members)})
    container.write(Path(path), {**members, MANIFEST: manifest_bytes(joined)})
    return joined


def symbolic_of(
    path: str | os.PathLike[str], *, trust: PublicKey | Sequence[PublicKey] | None = None
) -> SymbolicManifest:
    """Return the manifest of a bundle with symbolic sizes, which is read and verified.

    With `trust`, a public key or several, the bundle must be signed with one of them.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, is no such bundle, or lacks the signature.
      BackendError: `trust` is given and the package `cryptography` is not installed.

    >>> symbolic_of("f.olympus").variables
    ('b',)
    """
    keys = None if trust is None else public_keys(trust)
    manifest = read_bundle(Path(path), keys).manifest
    if not isinstance(manifest, SymbolicManifest):
        raise ArtifactError(f"{path} has no program for all sizes")
    return manifest


def _programs(stages: Sequence[Lowered]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the member of each backend's StableHLO, and the members; equal programs are one."""
    names: dict[bytes, str] = {}
    where: dict[str, str] = {}
    for stage in stages:
        content, backend = stage.bytecode(), stage.target.backend
        name = f"program.{backend}.stablehlo.bc" if names else "program.stablehlo.bc"
        where.setdefault(backend, names.setdefault(content, name))
    return where, {name: content for content, name in names.items()}


def _constants(stages: Sequence[Lowered]) -> dict[str, tuple[ArrayInfo, ...]]:
    """Return the constants of each backend's program; nothing if no program has constants."""
    groups: dict[str, tuple[ArrayInfo, ...]] = {
        stage.target.backend: constant_infos(stage.constants) for stage in reversed(stages)
    }
    return groups if any(groups.values()) else {}


def _shapes(names: Sequence[str], avals: Sequence[ShapedArray]) -> tuple[SymbolicShape, ...]:
    return tuple(
        SymbolicShape(name, tuple([_size(n) for n in aval.shape]))
        for name, aval in zip(names, avals, strict=True)
    )


def _size(size: Any) -> int | Expression:
    return size if isinstance(size, int) else Expression(str(size))


def _constraints(scope: Any) -> Iterator[SizeConstraint]:
    for constraint in () if scope is None else scope.constraints:
        difference = Expression(str(constraint.difference))
        yield SizeConstraint(constraint.text, difference, constraint.is_equality)


def _check_part(
    manifest: SymbolicManifest, sizes: Mapping[str, int], path: str | os.PathLike[str]
) -> None:
    """Raise ArtifactError unless a bundle is that of the program at some sizes."""
    own = load(path, native=False).manifest
    s = own.signature
    for symbolic, arrays in ((manifest.arguments, s.arguments), (manifest.results, s.results)):
        wanted = [(x.name, x.at(sizes)) for x in symbolic]
        if own.function != manifest.function or wanted != [(x.name, x.shape) for x in arrays]:
            raise ArtifactError(f"{path} is not '{manifest.function}' for the sizes {dict(sizes)}")

    def refuse(fault: str) -> None:
        raise UsageError(f"{path} is no part of '{manifest.function}': {fault}")

    manifest.solver().check(sizes, refuse)
