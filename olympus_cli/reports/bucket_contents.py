"""The contents of a bundle joined from others, as the document and the tables of `inspect`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olympus.artifact import CONSTANTS, BucketManifest, WeightManifest
from olympus_cli.reports.bundle_text import Table
from olympus_cli.text.units import byte_size


@dataclass(frozen=True)
class Bucket:
    """One size of a bundle: the fewest rows of a call that it serves, and its member.

    `waste` is the greatest share of its rows that are padding.
    """

    size: int
    least: int
    waste: float
    member: str
    bytes: int


def buckets(manifest: BucketManifest) -> list[Bucket]:
    """Return the sizes of a bundle, in increasing order.

    >>> [bucket.waste for bucket in buckets(manifest)]  # sizes 1, 8 and 32
    [0.0, 0.75, 0.71875]
    """
    found, before = [], 0
    for size in manifest.sizes:
        member = manifest.part(size)
        waste = (size - before - 1) / size
        found.append(Bucket(size, before + 1, waste, member, manifest.members[member].size))
        before = size
    return found


def bucket_document(manifest: BucketManifest, file: str, size: int) -> dict[str, Any]:
    """Return the document of `olympus inspect --json`; `size` is that of the file in bytes."""
    return {
        "file": file,
        "bytes": size,
        "buckets": [vars(bucket).copy() for bucket in buckets(manifest)],
        "manifest": manifest.to_data(),
    }


def bucket_lines(manifest: BucketManifest, file: str, size: int) -> Iterator[str]:
    """Yield the lines above the tables."""
    yield f"{manifest.name}  ({manifest.entry}, {file}, {byte_size(size)})"
    most = f"up to {manifest.sizes[-1]}"
    treatments = {"split": "in parts", "refine": "compiled", "refuse": "refused"}
    larger = treatments[manifest.oversize]
    yield f"  {'function':<17} {manifest.function}"
    yield f"  {'rows':<17} {manifest.symbol}, {most}; more are {larger}"
    if (constants := manifest.members.get(CONSTANTS)) is not None:
        yield f"  {'constants':<17} {byte_size(constants.size)} in {CONSTANTS}, for all sizes"


def bucket_tables(manifest: BucketManifest) -> Iterator[Table]:
    """Yield the tables of sizes, arguments and results."""
    rows: list[tuple[object, ...]] = [
        (b.size, _range(b), f"{b.waste:.0%}", byte_size(b.bytes), b.member)
        for b in buckets(manifest)
    ]
    yield (manifest.symbol, "rows of a call", "padding up to", "size", "member"), rows
    arguments: list[tuple[object, ...]] = [
        (x.name, _axes(x.axes, manifest.symbol), x.fill if x.axes else "")
        for x in manifest.arguments
    ]
    yield ("argument", "axes with rows", "padding"), arguments
    results: list[tuple[object, ...]] = [
        (x.name, _axes(x.axes, manifest.symbol)) for x in manifest.results
    ]
    yield ("result", "axes with rows"), results


def _range(bucket: Bucket) -> str:
    return str(bucket.size) if bucket.least == bucket.size else f"{bucket.least} to {bucket.size}"


def _axes(axes: Any, symbol: str) -> str:
    return ", ".join(
        f"{axis}: {symbol}" if multiple == 1 else f"{axis}: {multiple}*{symbol}"
        for axis, multiple in axes.items()
    )


def weight_lines(manifest: WeightManifest, file: str) -> Iterator[str]:
    """Yield the lines above the table of a bundle with weights."""
    yield f"{manifest.name}  ({manifest.entry}, {file})"
    yield f"  {'weights of':<17} SHA-256 {manifest.source}"


def weight_tables(manifest: WeightManifest) -> Iterator[Table]:
    """Yield the table of the members of a bundle with weights."""
    rows: list[tuple[object, ...]] = [
        (name, byte_size(member.size), member.sha256)
        for name, member in sorted(manifest.members.items())
    ]
    yield ("member", "size", "SHA-256"), rows
