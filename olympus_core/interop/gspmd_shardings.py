"""Convert GSPMD shardings, texts such as `{devices=[2,4]<=[8]}`, to Shardy shardings.

A GSPMD sharding splits an array into tiles. It numbers the devices by a reshaped and transposed
range. The mesh of a module has axes that all its shardings can use.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.analysis.sources.places import nested_operations
from olympus_core.base.errors import UsageError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

GSPMD = "mhlo.sharding"
_INTS = r"(\d+(?:,\d+)*)"
_TILES = re.compile(
    rf"\{{devices=\[{_INTS}\](?:<=\[{_INTS}\](?:T\({_INTS}\))?|{_INTS})"
    r"( last_tile_dim_replicate)?(?: metadata=.*)?\}"
)
_OPEN = re.compile(rf"unspecified_dims=\[{_INTS}\]")
#: an attribute of each module that was HLO
_ALIASES = "mhlo.input_output_alias"
_MOST_DEVICES = 2**20
_MANUAL = ("SPMDFullToShardShape", "SPMDShardToFullShape")


class Tiles(NamedTuple):
    """The tiles of an array: `range(n).reshape(shape).transpose(order)` numbers the devices.

    `counts` are the numbers of tiles along each dimension. If `is_repeated`, the last count is the
    number of devices with the same tile.
    """

    counts: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...]
    is_repeated: bool


def tiles_of(text: str) -> Tiles | None:
    """Parse a GSPMD sharding; return None for a whole array on each device.

    Raises UsageError for other shardings.

    >>> tiles_of("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
    Tiles(counts=(1, 4, 2), shape=(2, 4), order=(1, 0), is_repeated=True)
    """
    if text.startswith("{replicated"):
        return None
    match = _TILES.fullmatch(text)
    if match is None:
        raise _unreadable(text)
    counts = _ints(match[1])
    size = math.prod(counts)
    shape = _ints(match[2]) if match[2] else (size,)
    order = _ints(match[3]) if match[3] else tuple(range(len(shape)))
    if not 0 < size <= _MOST_DEVICES:
        raise _unreadable(text)
    in_order = match[4] is None or _ints(match[4]) == tuple(range(size))
    if not in_order or math.prod(shape) != size or sorted(order) != [*range(len(shape))]:
        raise _unreadable(text)
    return Tiles(counts, shape, order, match[5] is not None)


def _ints(text: str) -> tuple[int, ...]:
    return tuple(int(x) for x in text.split(","))


def _unreadable(text: str) -> UsageError:
    return UsageError(
        f"the program has the sharding {text:.80} of GSPMD, which is not an array in tiles of "
        "devices in the order of a mesh",
        hint="write the program with Shardy, JAX's default: "
        'jax.config.update("jax_use_shardy_partitioner", True)',
    )


class _Axes:
    """The mesh axes of several tilings, as products of leading sizes from 1 to the mesh size."""

    def __init__(self, tilings: Sequence[Tiles]) -> None:
        self.products = {1, *[math.prod(tiles.counts) for tiles in tilings]}
        if len(self.products) > 2:
            raise UsageError("the program has shardings of GSPMD for different numbers of devices")
        for tiles in tilings:
            for i in range(1, len(tiles.shape)):
                self.products.add(math.prod(tiles.shape[:i]))
        while any(self._refined(tiles) for tiles in tilings):
            continue

    @property
    def bounds(self) -> list[int]:
        """The products in ascending order; raise UsageError unless each divides the next."""
        bounds = sorted(self.products)
        if any(b % a for a, b in itertools.pairwise(bounds)):
            raise UsageError("the shardings of GSPMD in the program are not those of one mesh")
        return bounds

    @property
    def sizes(self) -> list[int]:
        """The size of each axis."""
        return [b // a for a, b in itertools.pairwise(self.bounds)]

    def _places(self, tiles: Tiles) -> list[int]:
        """Return the mesh axes in the order of a tiling."""
        ends = [math.prod(tiles.shape[:i]) for i in range(len(tiles.shape) + 1)]
        bounds = self.bounds
        return [
            i
            for k in tiles.order
            for i in range(len(bounds) - 1)
            if ends[k] <= bounds[i] and bounds[i + 1] <= ends[k + 1]
        ]

    def _refined(self, tiles: Tiles) -> bool:
        """Split a mesh axis if `tiles` split only a part of it; return True if one was split."""
        rest, sizes = self._places(tiles), self.sizes
        for count in tiles.counts:
            while count > 1:
                size = sizes[rest[0]]
                if count % size == 0:
                    count //= size
                    rest.pop(0)
                elif size % count == 0:
                    self.products.add(self.bounds[rest[0]] * count)
                    return True
                else:
                    raise UsageError("the shardings of GSPMD in the program have no mesh")
        return False

    def entries(self, tiles: Tiles | None, rank: int) -> list[tuple[int, ...]]:
        """Return the mesh axes of each dimension of an array."""
        if tiles is None:
            return [()] * rank
        rest, sizes, entries = self._places(tiles), self.sizes, list[tuple[int, ...]]()
        for count in tiles.counts[: len(tiles.counts) - tiles.is_repeated]:
            axes = []
            while count > 1:
                axes.append(rest.pop(0))
                count //= sizes[axes[-1]]
            entries.append(tuple(axes))
        return entries


def replace_gspmd(module: ir.Module, name: str) -> ir.Module:
    """Replace the GSPMD shardings of a module by Shardy shardings on one mesh.

    The module is changed in place and returned. It is unchanged if it declares a mesh, or if no
    sharding splits an array. `name` is its name in messages.

    Raises ArtifactError if an array cannot have its sharding, and UsageError for a sharding without
    tiles and for arrays that are only on some devices.
    """
    has_mesh = any(view.operation.name == "sdy.mesh" for view in module.body.operations)
    operations = [view.operation for view in nested_operations(module.operation)]
    texts = {text for x in operations for text in _texts(x)}
    if has_mesh or not any("devices=" in text for text in texts):
        return module
    for operation in operations:
        if _target(operation) in _MANUAL:
            raise UsageError(f"the program has {_target(operation)}, a manual part of GSPMD")
    axes = _Axes([x for x in map(tiles_of, sorted(texts)) if x is not None])
    return mlir.verified(lambda: _replace_all(module, operations, axes), name)


def _replace_all(module: ir.Module, operations: Sequence[ir.Operation], axes: _Axes) -> ir.Module:
    with mlir.context(), mlir.ir.Location.unknown():
        sizes = ", ".join(f'"axis_{i}"={n}' for i, n in enumerate(axes.sizes))
        with mlir.ir.InsertionPoint.at_block_begin(module.body):
            mesh = mlir.parsed_attr(f"#sdy.mesh<[{sizes}]>")
            mlir.op("sdy.mesh", (), (), {"sym_name": mlir.string_attr("mesh"), "mesh": mesh})
        for operation in operations:
            _replace(operation, axes, is_open=_ALIASES in module.operation.attributes)
    return module


def _texts(operation: ir.Operation) -> Iterator[str]:
    """Yield the shardings of an operation, and of the arguments and results of a function."""
    attributes, rows = operation.attributes, list[Any]()
    if operation.name == "func.func":  # another operation may have any attribute of these names
        rows = [row for name in ("arg_attrs", "res_attrs") for row in attributes.get(name) or []]
    for row in (attributes, *rows):
        if GSPMD in row and isinstance(row[GSPMD], mlir.ir.StringAttr):
            yield str(row[GSPMD].value)


def _target(operation: ir.Operation) -> str:
    if operation.name != "stablehlo.custom_call":
        return ""
    return str(operation.attributes["call_target_name"].value)


def _replace(operation: ir.Operation, axes: _Axes, is_open: bool) -> None:
    """Replace the shardings of an operation.

    With `is_open`, the compiler may split results that are whole in the module: HLO has no other
    sharding for results without one.
    """
    if operation.name == "func.func":
        _replace_rows(operation, axes, is_open)
    if GSPMD not in operation.attributes:
        return
    tiles = tiles_of(str(operation.attributes[GSPMD].value))
    del operation.attributes[GSPMD]
    is_constraint = _target(operation) == "Sharding"
    if len(operation.results) != 1 or (tiles is None and not is_constraint):
        return
    result = operation.results[0]
    config = operation.attributes.get("backend_config") if is_constraint else None
    match = _OPEN.search(str(config))
    sharding = _attribute(axes, tiles, result.type, _ints(match[1]) if match else ())
    where = mlir.ir.InsertionPoint.after(operation)
    with where, operation.location:
        value = operation.operands[0] if is_constraint else result
        constraint = mlir.op(
            "sdy.sharding_constraint", [result.type], (value,), {"sharding": sharding}
        )
    result.replace_all_uses_except(constraint.results[0], constraint)
    if is_constraint:
        operation.erase()


def _replace_rows(function: ir.Operation, axes: _Axes, is_open: bool) -> None:
    """Replace the shardings of arguments and results of `main`; delete those of other functions."""
    is_main = str(function.attributes["sym_name"].value) == "main"
    kind = mlir.ir.FunctionType(mlir.ir.TypeAttr(function.attributes["function_type"]).value)
    for name, types in (("arg_attrs", kind.inputs), ("res_attrs", kind.results)):
        rows = []
        for row, type_ in zip(function.attributes.get(name) or [], types, strict=False):
            own = {x.name: x.attr for x in row if x.name != GSPMD}
            tiles = tiles_of(str(row[GSPMD].value)) if GSPMD in row and is_main else None
            is_unspecified = tiles is None and is_open and name == "res_attrs"
            if GSPMD in row and is_main and not is_unspecified:
                own["sdy.sharding"] = _attribute(axes, tiles, type_)
            rows.append(mlir.ir.DictAttr.get(own))
        if rows:
            function.attributes[name] = mlir.ir.ArrayAttr.get(rows)


def _attribute(
    axes: _Axes, tiles: Tiles | None, type_: ir.Type, unspecified: Sequence[int] = ()
) -> ir.Attribute:
    """Return the Shardy sharding of an array; dimensions in `unspecified` are open."""
    rank = mlir.ir.RankedTensorType(type_).rank
    entries = axes.entries(tiles, rank)
    if len(entries) != rank:
        raise UsageError(f"the program has a sharding of {len(entries)} dimensions for {type_}")
    texts = [
        "{?}" if d in unspecified else "{" + ", ".join(f'"axis_{i}"' for i in entry) + "}"
        for d, entry in enumerate(entries)
    ]
    return mlir.parsed_attr(f"#sdy.sharding<@mesh, [{', '.join(texts)}]>")
