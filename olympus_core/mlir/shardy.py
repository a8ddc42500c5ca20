"""Shardings as attributes of the dialect `sdy`, and the declarations of their meshes.

They describe the placement of the arguments, results and constraints of a program of several
devices. The compiler chooses the shardings that are not given.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.chosen_sharding import TiledSharding
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

#: the texts and sizes of the axes, and the order of the devices where it is not the program's
_Key = tuple[tuple[tuple[str, int], ...], tuple[int, ...]]


#: Valid axis names for the compiler: other text may end the process.
_PLAIN = re.compile(r"(?!_\d)[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@functools.lru_cache(maxsize=256)
def axis_texts(names: tuple[Any, ...]) -> Mapping[Any, str]:
    """Return the names of a mesh's axes in a module: their own, or a number.

    >>> axis_texts(("data", "my axis"))
    {'data': '"data"', 'my axis': '"_1"'}
    """
    return {
        name: f'"{name}"' if isinstance(name, str) and _PLAIN.fullmatch(name) else f'"_{i}"'
        for i, name in enumerate(names)
    }


class MeshTable:
    """The meshes of one module, each declared once, in the order of their first use."""

    def __init__(self) -> None:
        self._symbols: dict[_Key, str] = {}

    def symbol(self, mesh: AnyMesh) -> str:
        """Return the symbol of a mesh, whose devices are in the program's order."""
        texts = axis_texts(mesh.axis_names)
        return self._symbol(tuple((texts[n], size) for n, size in mesh.shape_tuple), ())

    def _symbol(self, axes: tuple[tuple[str, int], ...], ids: tuple[int, ...]) -> str:
        key = axes, ids
        if key not in self._symbols:
            count = sum(map(bool, [axes for axes, _ in self._symbols]))
            name = "mesh" if count == 0 else f"mesh_{count - 1}"
            self._symbols[key] = name if axes else f"maximal_mesh_{ids[0]}"
        return self._symbols[key]

    def symbol_of_text(self, text: str) -> str:
        """Return the symbol of a mesh of another module, such as `#sdy.mesh<["x"=2]>`."""
        order = re.search(r"device_ids=\[([\d, ]*)\]", text)
        ids = tuple(map(int, order[1].split(","))) if order is not None else ()
        axes = re.findall(r'("[^"]+")=(\d+)', text)
        return self._symbol(tuple((name, int(size)) for name, size in axes), ids)

    def attribute(self, sharding: Sharding, shape: Sequence[int]) -> ir.Attribute | None:
        """Return `#sdy.sharding<...>` for an array of `shape`; None on one device.

        A dimension that the axes do not divide is replicated, as for JAX's constraints.
        """
        if isinstance(sharding, NamedSharding):
            if sharding.mesh.size <= 1:
                return None
            entries = self.entries(sharding.mesh, sharding.spec, shape)
            more = _unreduced(sharding)
            return self.of_entries(self.symbol(sharding.mesh), entries, more)
        if isinstance(sharding, TiledSharding):
            return self._of_tiles(sharding, len(shape))
        return None

    def typed(self, aval: ShapedArray) -> ir.Attribute | None:
        """Return the attribute of a sharding in a type; None without one, and on one device.

        Axes of the mesh that are not explicit may split each dimension.
        """
        sharding: NamedSharding | None = aval.explicit
        if sharding is None or sharding.mesh.size <= 1 or not sharding.mesh.has_explicit_axes:
            return None
        mesh, symbol = sharding.mesh, self.symbol(sharding.mesh)
        if not mesh.auto_axes:
            entries = self.entries(mesh, sharding.spec, aval.shape)
            return self.of_entries(symbol, entries, _unreduced(sharding))
        texts = axis_texts(mesh.axis_names)
        dims = [
            "{" + ", ".join([*[texts[n] for n in sharding.spec.axes(d)], "?"]) + "}"
            for d in range(aval.ndim)
        ]
        whole = [texts[n] for n in mesh.explicit_axes if n in sharding.replicated_axes]
        more = f", replicated={{{', '.join(whole)}}}" if whole else ""
        more += _unreduced(sharding)
        return mlir.parsed_attr(f"#sdy.sharding<@{symbol}, [{', '.join(dims)}]{more}>")

    def entries(self, mesh: AnyMesh, spec: PartitionSpec, shape: Sequence[int]) -> list[str]:
        """Return the text for each dimension of an array: `{"x", "y"}`, `{}`, or `{?}`."""
        sizes, texts, parts = mesh.shape, axis_texts(mesh.axis_names), []
        for d, n in enumerate(shape):
            if d < len(spec) and spec.partitions[d] is PartitionSpec.UNCONSTRAINED:
                parts.append("{?}")
                continue
            names = spec.axes(d)
            count = int(np.prod([sizes[name] for name in names], dtype=np.int64))
            axes = names if n % count == 0 else ()
            parts.append("{" + ", ".join([texts[name] for name in axes]) + "}")
        return parts

    def of_entries(self, symbol: str, entries: Sequence[str], more: str = "") -> ir.Attribute:
        """Return the attribute of the given texts of dimensions, followed by the text `more`."""
        return mlir.parsed_attr(f"#sdy.sharding<@{symbol}, [{', '.join(entries)}]{more}>")

    def on_first_device(self, count: int) -> ir.Attribute:
        """Return the attribute of an operation that runs on one device, for `count` results."""
        one = f"<@{self._symbol((), (0,))}, []>"
        return mlir.parsed_attr(f"#sdy.sharding_per_value<[{', '.join([one] * max(count, 1))}]>")

    def replicated(self, num_devices: int, ndim: int) -> ir.Attribute:
        """Return the attribute of an array that each of `num_devices` devices has whole."""
        symbol = self._symbol((('"_copies"', num_devices),), ())
        return self.of_entries(symbol, ["{}"] * ndim)

    def _of_tiles(self, sharding: TiledSharding, ndim: int) -> ir.Attribute | None:
        counts, places = sharding.tiling(ndim)
        order = np.argsort([np.ravel_multi_index(p, counts) for p in places], kind="stable")
        ids = tuple(map(int, order))
        sizes = [(f'"_{d}"', n) for d, n in enumerate(counts) if n > 1]
        copies = len(places) // int(np.prod(counts, dtype=np.int64))
        axes = (*sizes, *[('"_copies"', copies)] * (copies > 1))
        in_order = ids == tuple(range(len(ids)))
        symbol = self._symbol(axes, () if in_order else ids)
        named = dict(sizes)
        texts = [f'"_{d}"' for d in range(ndim)]
        entries = [f"{{{text}}}" if text in named else "{}" for text in texts]
        return self.of_entries(symbol, entries)

    def declare(self, body: Any) -> None:
        """Emit `sdy.mesh` for each mesh, at the start of a module's body."""
        if not self._symbols:
            return
        ir = mlir.ir
        with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
            for (axes, ids), symbol in self._symbols.items():
                sizes = ", ".join(f"{text}={size}" for text, size in axes)
                order = f", device_ids={list(ids)}" if ids else ""
                text = f"#sdy.mesh<[{sizes}]{order}>"
                attributes = {
                    "sym_name": mlir.string_attr(symbol),
                    "mesh": mlir.parsed_attr(text),
                }
                mlir.op("sdy.mesh", (), (), attributes)


def is_constant_expression(value: ir.Value, depth: int = 32) -> bool:
    """Return True if a value depends on no argument, within `depth` operations."""
    owner = value.owner
    if isinstance(owner, mlir.ir.Block) or not depth:
        return False
    operation = owner.operation
    if len(operation.regions) or operation.name == "sdy.sharding_constraint":
        return False
    return all(is_constant_expression(x, depth - 1) for x in operation.operands)


def _unreduced(sharding: NamedSharding) -> str:
    """Return the text of the unreduced axes of a sharding: `, unreduced={"x"}`, or nothing."""
    texts = axis_texts(sharding.mesh.axis_names)
    names = [texts[n] for n in sharding.mesh.axis_names if n in sharding.spec.unreduced]
    return f", unreduced={{{', '.join(names)}}}" if names else ""


def manual_computation(
    operands: Sequence[ir.Value],
    outs: Sequence[ShapedArray],
    ins: Sequence[str],
    results: Sequence[str],
    names: Sequence[str],
) -> ir.Operation:
    """Emit `sdy.manual_computation` with an empty region; shardings and names are texts."""
    attributes = {
        "in_shardings": mlir.parsed_attr(f"#sdy.sharding_per_value<[{', '.join(ins)}]>"),
        "out_shardings": mlir.parsed_attr(f"#sdy.sharding_per_value<[{', '.join(results)}]>"),
        "manual_axes": mlir.parsed_attr(f"#sdy<manual_axes{{{', '.join(names)}}}>"),
    }
    types = [mlir.tensor_type(a) for a in outs]
    return mlir.op("sdy.manual_computation", types, operands, attributes, regions=1)


def manual_sharding(
    symbol: str, texts: Mapping[Any, str], spec: PartitionSpec, ndim: int, is_open: bool
) -> str:
    """Return the text of a sharding in a manual computation; open if some axes are not manual."""
    more = ["?"] * is_open
    entries = [f"{{{', '.join([*[texts[n] for n in spec.axes(d)], *more])}}}" for d in range(ndim)]
    terms = ", ".join([text for n, text in texts.items() if n in spec.unreduced])
    unreduced = f", unreduced={{{terms}}}" if terms else ""
    return f"<@{symbol}, [{', '.join(entries)}]{unreduced}>"
