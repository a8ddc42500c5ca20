"""Writing of a bundle for several numbers of rows, from one bundle for each number."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from olympus_bundle.buckets import ALL_SIZES, OVERSIZE, BucketManifest, RowArray
from olympus_bundle.bundle_file import read_bundle, read_member
from olympus_bundle.manifest import MANIFEST
from olympus_bundle.signatures import PublicKey, public_keys
from olympus_bundle.symbolic.manifest import SymbolicManifest
from olympus_core.artifact import container
from olympus_core.artifact.bundle import Bundle, load
from olympus_core.artifact.constants import manifest_bytes, member_records, parts_of
from olympus_core.artifact.symbolic import symbolic_of
from olympus_core.base.errors import ArtifactError, UsageError


def join_buckets(
    path: str | os.PathLike[str],
    parts: Mapping[int, str | os.PathLike[str]],
    *,
    name: str,
    symbol: str,
    arguments: Sequence[tuple[Mapping[int, int], str]],
    results: Sequence[Mapping[int, int]],
    oversize: str = "refuse",
    proof: int = 0,
    all_sizes: str | os.PathLike[str] | None = None,
) -> BucketManifest:
    """Write one bundle from several: those of one function for different numbers of rows.

    `parts` has the bundle of each number. `symbol` is the name of the number, as in `f32[b,4]`.
    `arguments` has, for each array, the elements of one row along each axis with rows, and the fill
    of padded rows: "zeros", "edge" or "mask". `results` has the same without the fill. They must be
    proved: `olympus.verification.prove_rows_independent` returns them. A call with more rows than
    the largest size is refused, or, with `oversize="split"`, made in several parts. With
    `oversize="refine"`, it is made by the program of the bundle `all_sizes`, which `join_symbolic`
    writes. `proof` is the `olympus.verification.PROOF_VERSION` of the proof.

    Raises:
      UsageError: a result cannot be joined from the parts of a split call, or `oversize` is
        unknown, or the file cannot be written.
      ArtifactError: a part is damaged, or the parts are bundles of different functions.

    >>> axes = prove_rows_independent(f.trace(x8), f.trace(x9), (8, 9))
    >>> join_buckets("f.olympus", {1: "f1.olympus", 8: "f8.olympus"}, name="f", symbol="batch",
    ...              arguments=[({0: 1}, "zeros")], results=axes.results)
    """
    if oversize not in OVERSIZE:
        raise UsageError(f"oversize is {' or '.join(OVERSIZE)}, and not {oversize!r:.40}")
    if (oversize == "refine") != (all_sizes is not None):
        raise UsageError("oversize = refine needs a bundle for all numbers of rows, and only that")
    sizes = sorted(parts)
    bundles = [load(parts[size], native=False) for size in sizes]
    first = bundles[0].manifest
    signature = first.signature
    for bundle in bundles:
        _check_same(bundles[0], bundle)
    if len(arguments) != len(signature.arguments) or len(results) != len(signature.results):
        raise UsageError(f"'{first.function}' has another number of arguments or results")
    manifest = BucketManifest(
        name=name,
        entry=first.entry,
        function=first.function,
        symbol=symbol,
        sizes=tuple(sizes),
        oversize=oversize,
        arguments=tuple(
            RowArray(x.name, axes, fill)
            for x, (axes, fill) in zip(signature.arguments, arguments, strict=True)
        ),
        results=tuple(
            RowArray(x.name, axes) for x, axes in zip(signature.results, results, strict=True)
        ),
        members={},
        proof=proof,
    )
    if oversize == "split":
        _check_joined(manifest)
    paths = [(manifest.part(size), Path(parts[size])) for size in sizes]
    if all_sizes is not None:
        _check_all_sizes(manifest, all_sizes)
        paths.append((ALL_SIZES, Path(all_sizes)))
    members = parts_of(paths).all_members()
    joined = replace(manifest, members=member_records(members))
    container.write(Path(path), {**members, MANIFEST: manifest_bytes(joined)})
    return joined


def buckets_of(
    path: str | os.PathLike[str], *, trust: PublicKey | Sequence[PublicKey] | None = None
) -> BucketManifest:
    """Return the manifest of a bundle for several numbers of rows, which is read and verified.

    With `trust`, a public key or several, the bundle must be signed with one of them.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged, is no such bundle, or lacks the signature.
      BackendError: `trust` is given and the package `cryptography` is not installed.

    >>> buckets_of("f.olympus").sizes
    (1, 8)
    """
    keys = None if trust is None else public_keys(trust)
    manifest = read_bundle(Path(path), keys).manifest
    if not isinstance(manifest, BucketManifest):
        raise ArtifactError(f"{path} has one program, and not one for each of several sizes")
    return manifest


def all_sizes_of(path: str | os.PathLike[str]) -> SymbolicManifest | None:
    """Return the manifest for all numbers of rows in a bundle; None without one.

    Raises:
      UsageError: the file is missing or cannot be read.
      ArtifactError: the file is damaged.

    >>> all_sizes_of("f.olympus").variables
    ('batch',)
    """
    file = read_bundle(Path(path))
    if ALL_SIZES not in file.members:
        return None
    manifest = read_member(file, ALL_SIZES).manifest
    return manifest if isinstance(manifest, SymbolicManifest) else None


def _check_same(one: Bundle, other: Bundle) -> None:
    """Raise ArtifactError unless two bundles have one function with arrays of the same names."""
    facts: list[Any] = []
    for bundle in (one, other):
        s = bundle.manifest.signature
        arrays = [(x.name, x.dtype, len(x.shape)) for x in (*s.arguments, *s.results)]
        trees = s.argument_tree.to_data(), s.result_tree.to_data()
        facts.append((bundle.manifest.function, bundle.manifest.entry, arrays, trees))
    if facts[0] != facts[1]:
        raise ArtifactError(f"{one.path} and {other.path} are bundles of different functions")


def _check_all_sizes(manifest: BucketManifest, path: str | os.PathLike[str]) -> None:
    """Raise ArtifactError unless a bundle has the function for all numbers of rows."""
    own = symbolic_of(path)
    names = [x.name for x in (*own.arguments, *own.results)]
    expected = [x.name for x in (*manifest.arguments, *manifest.results)]
    if (own.function, names) != (manifest.function, expected):
        raise ArtifactError(f"{path} has another function than '{manifest.function}'")
    if own.variables != (manifest.symbol,):
        raise ArtifactError(
            f"{path} has the sizes {', '.join(own.variables)}, and not only {manifest.symbol}"
        )


def _check_joined(manifest: BucketManifest) -> None:
    """Raise UsageError for a result without rows, or with rows along two axes."""
    for result in manifest.results:
        if len(result.axes) != 1:
            what = "no rows" if not result.axes else "rows along two axes"
            raise UsageError(
                f"the result {result.name!r} of '{manifest.function}' has {what}, so that a call "
                f"with more rows than {manifest.sizes[-1]} cannot be split",
                hint='write oversize = "refuse"',
            )
