"""Bundles of several numbers of rows: a call pads its arguments to the next one.

The file is a zip file with one bundle for each number of rows, and a manifest of schema version 2.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus_bundle.errors import ArtifactError, SignatureError
from olympus_bundle.json_value import JsonValue
from olympus_bundle.manifest import CONSTANTS, Member, Signature, parse_member

BUCKETS_VERSION = 2
FILLS = ("zeros", "edge", "mask")
OVERSIZE = ("refuse", "split", "refine")
#: The member with the bundle for all numbers of rows, with `oversize` "refine".
ALL_SIZES = "all.olympus"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RowArray:
    """An argument or a result: for each axis with rows, the number of elements of one row.

    `fill` is the content of an argument's padded rows: zeros, its last row (edge), or the mask that
    is False there and True in the other rows.
    """

    name: str
    axes: Mapping[int, int]
    fill: str = "zeros"


@dataclass(frozen=True)
class BucketManifest:
    """The content of the manifest: the numbers of rows, and how arrays are padded and cut.

    `symbol` is the user's name of the number of rows, and `sizes` are the numbers in increasing
    order. A call with more rows is refused, split, or made by the program for all numbers, by
    `oversize`. `proof` is the version of the proof that rows are independent; 0 if there was none.
    """

    name: str
    entry: str
    function: str
    symbol: str
    sizes: tuple[int, ...]
    oversize: str
    arguments: tuple[RowArray, ...]
    results: tuple[RowArray, ...]
    members: Mapping[str, Member]
    proof: int = 0

    def part(self, size: int) -> str:
        """Return the name of the member with the bundle of a size."""
        return f"{self.symbol}={size}.olympus"

    def parts(self) -> set[str]:
        """Return the names of all members: a bundle for each size, and perhaps one for all."""
        return {*map(self.part, self.sizes), *([ALL_SIZES] if self.oversize == "refine" else ())}

    def size_for(self, rows: int) -> int | None:
        """Return the smallest size with at least so many rows; None if there is none."""
        place = bisect.bisect_left(self.sizes, rows)
        return self.sizes[place] if place < len(self.sizes) else None

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data, which `parse_buckets` reads."""
        arrays = {
            kind: [{"name": x.name, "axes": _keyed(x.axes), "fill": x.fill} for x in group]
            for kind, group in (("arguments", self.arguments), ("results", self.results))
        }
        members = {name: vars(member).copy() for name, member in self.members.items()}
        return {"schema_version": BUCKETS_VERSION, **vars(self), **arrays, "members": members}


def _keyed(axes: Mapping[int, int]) -> dict[str, int]:
    return {str(axis): multiple for axis, multiple in axes.items()}


def parse_buckets(document: JsonValue) -> BucketManifest:
    """Return the manifest in a JSON document of schema version 2.

    Raises:
      ArtifactError: a field is missing, unknown, or has another form.
    """
    names = [name for name in BucketManifest.__dataclass_fields__ if name != "proof"]
    fields = document.fields("schema_version", *names, optional=["proof"])
    sizes = fields["sizes"].each(JsonValue.size)
    if not sizes or sizes[0] < 1 or list(sizes) != sorted(set(sizes)):
        fields["sizes"].refuse("numbers of rows in increasing order")
    if fields["oversize"].value not in OVERSIZE:
        fields["oversize"].refuse(" or ".join(OVERSIZE))
    manifest = BucketManifest(
        name=fields["name"].name(),
        entry=fields["entry"].text(),
        function=fields["function"].name(),
        symbol=fields["symbol"].name(),
        sizes=sizes,
        oversize=fields["oversize"].text(),
        arguments=fields["arguments"].each(_row_array),
        results=fields["results"].each(_row_array),
        members=fields["members"].mapping(parse_member),
        proof=fields["proof"].size() if "proof" in fields else 0,
    )
    if set(manifest.members) - {CONSTANTS} != manifest.parts():
        fields["members"].refuse("one bundle for each size, and with refine one for all")
    return manifest


def _row_array(value: JsonValue) -> RowArray:
    fields = value.fields("name", "axes", "fill")
    axes: dict[int, int] = {}
    for key, multiple in fields["axes"].mapping(JsonValue.size).items():
        if not (key.isascii() and key.isdigit() and len(key) < 3 and multiple > 0):
            fields["axes"].refuse("the elements of a row by axis")
        axes[int(key)] = multiple
    if fields["fill"].value not in FILLS:
        fields["fill"].refuse(f"one of {', '.join(FILLS)}")
    return RowArray(fields["name"].name(), axes, fields["fill"].text())


def common_rows(leaves: Sequence[Array], manifest: BucketManifest) -> int:
    """Return the number of rows that all arguments of a call have, 1 or more.

    Raises SignatureError if an argument has no whole number of rows, or they differ.
    """
    found: dict[int, str] = {}
    for x, info in zip(leaves, manifest.arguments, strict=True):
        for axis, multiple in info.axes.items() if info.fill != "mask" else ():
            if axis >= x.ndim or x.shape[axis] % multiple:
                raise SignatureError(
                    f"the argument {info.name!r} has the shape {x.shape}, and its axis {axis} "
                    f"needs a multiple of {multiple} elements"
                )
            found.setdefault(x.shape[axis] // multiple, info.name)
    if len(found) > 1:
        each = " and ".join(f"{rows} in {name!r}" for rows, name in found.items())
        raise SignatureError(f"the arguments have different {manifest.symbol}: {each}")
    (rows,) = found
    if rows < 1:
        raise SignatureError(f"the arguments have no rows: {manifest.symbol} is 0")
    return rows


def check_rows(manifest: BucketManifest, signature: Signature) -> None:
    """Compare the rows of the manifest with the signature of its smallest size.

    Raises ArtifactError if they differ.
    """
    s, m = signature, manifest
    arrays, rows = (*s.arguments, *s.results), (*m.arguments, *m.results)
    if [x.name for x in arrays] != [x.name for x in rows] or len(s.results) != len(m.results):
        raise ArtifactError("its bundles have other arrays")
    for array, info in zip(arrays, rows, strict=True):
        for axis, multiple in info.axes.items():
            if axis >= len(array.shape) or array.shape[axis] != m.sizes[0] * multiple:
                raise ArtifactError(f"{info.name} has no such rows")


def rows_of(x: Array, axes: Mapping[int, int], start: int, end: int) -> Array:
    """Return the rows from `start` to `end` of an array."""
    for axis, multiple in axes.items():
        x = x[(slice(None),) * axis + (slice(start * multiple, end * multiple),)]
    return x


def row_mask(info: RowArray, rows: int, size: int, argument: Any) -> Array:
    """Return a mask of `size` rows, of which the first `rows` are true."""
    shape = [info.axes[i] * size if i in info.axes else n for i, n in enumerate(argument.shape)]
    mask = np.zeros(shape, argument.dtype)
    rows_of(mask, info.axes, 0, rows)[...] = 1
    return mask


def padded_rows(x: Array, info: RowArray, rows: int, size: int, argument: Any) -> Array:
    """Return an argument with `size` rows instead of `rows`."""
    if info.fill == "mask":
        return row_mask(info, rows, size, argument)
    if rows == size or not info.axes:
        return x
    if info.fill == "edge":
        widths = [(0, (size - rows) * info.axes.get(axis, 0)) for axis in range(x.ndim)]
        return np.pad(x, widths, mode="edge")
    shape = [n + (size - rows) * info.axes.get(axis, 0) for axis, n in enumerate(x.shape)]
    result = np.zeros(shape, x.dtype)
    rows_of(result, info.axes, 0, rows)[...] = x
    return result
