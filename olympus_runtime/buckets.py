"""Bundles of several numbers of rows: a call pads its arguments to the next one.

The file is a zip file with one bundle for each number of rows, and a manifest of schema version 2.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from olympus_runtime.arguments import ArgumentMatcher
from olympus_runtime.errors import ArtifactError, SignatureError
from olympus_runtime.json_value import JsonValue
from olympus_runtime.manifest import Member, parse_member

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
    if set(manifest.members) != manifest.parts():
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


class BucketProgram:
    """A loaded program for several numbers of rows: called with any number up to the largest.

    A call pads the arguments to the next size, runs the program of that size, and returns the rows
    of the results. The program of a size is loaded when it is first needed. A mask is not an
    argument of the call. Several threads may call at the same time.

    >>> load("forward.olympus")(np.ones((5, 128), "float32")).shape   # sizes 1, 8 and 32
    (5, 10)
    """

    def __init__(
        self, path: Path, manifest: BucketManifest, load_part: Callable[[str], Any]
    ) -> None:
        self.path, self.manifest = path, manifest
        self._load_part = load_part
        self._parts: dict[str, Any] = {}
        self._lock = threading.Lock()
        first = self.part(manifest.sizes[0])
        self._check(first)
        self._matcher = ArgumentMatcher(manifest.function, first.signature)
        self.masks = [i for i, x in enumerate(manifest.arguments) if x.fill == "mask"]
        self._places = [self._place(first.signature, i) for i in self.masks]
        positions = len(first.signature.argument_tree.items[0].items)
        self.takes = positions - sum(place is not None for place, _ in self._places)

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.manifest.sizes))
        symbol = self.manifest.symbol
        return f"<program {self.manifest.name!r} of {self.path} for {symbol} = {sizes}>"

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of rows of its programs, in increasing order."""
        return self.manifest.sizes

    @property
    def signature(self) -> Any:
        """The signature of its smallest size, with masks."""
        return self.part(self.sizes[0]).signature

    def part(self, size: int) -> Any:
        """Return the program for exactly `size` rows, one of `sizes`; load it if necessary."""
        return self._member(self.manifest.part(size))

    def _member(self, name: str) -> Any:
        with self._lock:
            if name not in self._parts:
                self._parts[name] = self._load_part(name)
            return self._parts[name]

    def _check(self, program: Any) -> None:
        """Raise ArtifactError unless the manifest describes the arrays of a program."""
        s, m = program.signature, self.manifest
        names = [[x.name for x in group] for group in (s.arguments, s.results)]
        if names != [[x.name for x in group] for group in (m.arguments, m.results)]:
            raise ArtifactError(f"{self.path} cannot be used: its bundles have other arrays")
        for array, rows in zip((*s.arguments, *s.results), (*m.arguments, *m.results), strict=True):
            for axis, multiple in rows.axes.items():
                if axis >= len(array.shape) or array.shape[axis] != m.sizes[0] * multiple:
                    raise ArtifactError(f"{self.path} cannot be used: {rows.name} has no such rows")

    def _place(self, signature: Any, argument: int) -> tuple[int | None, str]:
        """Return the position of a mask, None for a keyword, and its name."""
        name, before = self.manifest.arguments[argument].name, 0
        for position, node in enumerate(signature.argument_tree.items[0].items):
            if before == argument and node.kind == "leaf":
                return position, name
            before += node.leaves()
        return None, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments with any number of rows, and return as many.

        Raises SignatureError if the arguments have other types, different numbers of rows, or more
        rows than the largest size and the program does not split them.
        """
        if len(args) > self.takes:
            raise SignatureError(
                f"'{self.manifest.function}' cannot be called with these arguments: it got "
                f"{len(args)} positional arguments, and takes {self.takes}"
            )
        for position, name in self._places:
            if name in kwargs:
                raise SignatureError(f"{name!r} is the mask of the padded rows, which a call adds")
            if position is not None and len(args) >= position:
                args = (*args[:position], _ANY, *args[position:])
            else:
                kwargs[name] = _ANY
        leaves = [np.asarray(x) for x in self._matcher.leaves(args, kwargs)]
        return self._tree(self._flat(leaves))

    def flat(self, leaves: Sequence[Any]) -> list[Array]:
        """Return the results of a call in flattened order, for arguments in flattened order.

        The arguments are without the masks. Raises as a call.
        """
        rest = iter(leaves)
        arguments = self.manifest.arguments
        return self._flat([_ANY if x.fill == "mask" else np.asarray(next(rest)) for x in arguments])

    def _flat(self, leaves: Sequence[Array]) -> list[Array]:
        rows = self._rows(leaves)
        if self.manifest.size_for(rows) is not None:
            return self._run(leaves, rows)
        most = self.sizes[-1]
        if self.manifest.oversize == "refine":
            return list(self._member(ALL_SIZES).flat(self._unpadded(leaves, rows)))
        if self.manifest.oversize == "refuse":
            raise SignatureError(
                f"'{self.manifest.function}' takes up to {most} rows ({self.manifest.symbol}), and "
                f"got {rows}"
            )
        parts = [
            self._run(self._cut(leaves, start, min(start + most, rows)), min(most, rows - start))
            for start in range(0, rows, most)
        ]
        return [self._joined(i, x) for i, x in enumerate(zip(*parts, strict=True))]

    def _tree(self, results: Sequence[Array]) -> Any:
        return self.part(self.sizes[0]).signature.result_tree.build(iter(results))

    def _rows(self, leaves: Sequence[Array]) -> int:
        """Return the number of rows that all arguments have."""
        found: dict[int, str] = {}
        for x, info in zip(leaves, self.manifest.arguments, strict=True):
            for axis, multiple in info.axes.items() if info.fill != "mask" else ():
                if axis >= x.ndim or x.shape[axis] % multiple:
                    raise SignatureError(
                        f"the argument {info.name!r} has the shape {x.shape}, and its axis {axis} "
                        f"needs a multiple of {multiple} elements"
                    )
                found.setdefault(x.shape[axis] // multiple, info.name)
        if len(found) > 1:
            each = " and ".join(f"{rows} in {name!r}" for rows, name in found.items())
            raise SignatureError(f"the arguments have different {self.manifest.symbol}: {each}")
        (rows,) = found
        if rows < 1:
            raise SignatureError(f"the arguments have no rows: {self.manifest.symbol} is 0")
        return rows

    def _run(self, leaves: Sequence[Array], rows: int) -> list[Array]:
        """Return the results of at most as many rows as the largest size."""
        size = self.manifest.size_for(rows) or rows
        program = self.part(size)
        padded = [
            _padded(x, info, rows, size, argument)
            for x, info, argument in zip(
                leaves, self.manifest.arguments, program.signature.arguments, strict=True
            )
        ]
        results = program.flat(padded)
        pairs = zip(results, self.manifest.results, strict=True)
        return [_part(x, info.axes, 0, rows) for x, info in pairs]

    def _unpadded(self, leaves: Sequence[Array], rows: int) -> list[Array]:
        """Return the arguments for exactly so many rows, with masks that are true."""
        arrays = self.signature.arguments
        groups = zip(leaves, self.manifest.arguments, arrays, strict=True)
        return [
            _mask(info, rows, rows, array) if info.fill == "mask" else x
            for x, info, array in groups
        ]

    def _cut(self, leaves: Sequence[Array], start: int, end: int) -> list[Array]:
        pairs = zip(leaves, self.manifest.arguments, strict=True)
        return [x if i.fill == "mask" else _part(x, i.axes, start, end) for x, i in pairs]

    def _joined(self, result: int, parts: Sequence[Array]) -> Array:
        """Return a result of a split call; it has rows along one axis, as its build has checked."""
        (axis,) = self.manifest.results[result].axes
        return np.concatenate(parts, axis)


#: In place of a mask among the arguments of a call.
_ANY = np.zeros(1, np.bool_)


def _part(x: Array, axes: Mapping[int, int], start: int, end: int) -> Array:
    """Return the rows from `start` to `end` of an array."""
    for axis, multiple in axes.items():
        x = x[(slice(None),) * axis + (slice(start * multiple, end * multiple),)]
    return x


def _mask(info: RowArray, rows: int, size: int, argument: Any) -> Array:
    """Return a mask of `size` rows, of which the first `rows` are true."""
    shape = [info.axes[i] * size if i in info.axes else n for i, n in enumerate(argument.shape)]
    mask = np.zeros(shape, argument.dtype)
    _part(mask, info.axes, 0, rows)[...] = 1
    return mask


def _padded(x: Array, info: RowArray, rows: int, size: int, argument: Any) -> Array:
    """Return an argument with `size` rows instead of `rows`."""
    if info.fill == "mask":
        return _mask(info, rows, size, argument)
    if rows == size or not info.axes:
        return x
    if info.fill == "edge":
        widths = [(0, (size - rows) * info.axes.get(axis, 0)) for axis in range(x.ndim)]
        return np.pad(x, widths, mode="edge")
    shape = [n + (size - rows) * info.axes.get(axis, 0) for axis, n in enumerate(x.shape)]
    padded = np.zeros(shape, x.dtype)
    _part(padded, info.axes, 0, rows)[...] = x
    return padded
