"""The entry function of a module: what it says of its arguments and results, beyond their types."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core import mlir, source
from olympus_core.avals import ShapedArray
from olympus_core.errors import OlympusWarning
from olympus_core.olympuspr import Olympuspr
from olympus_core.sharding import Sharding
from olympus_core.shardy import MeshTable
from olympus_core.trace import Axes

if TYPE_CHECKING:
    from olympus_core.mlir import ir

__all__ = ["Entry", "aliases", "annotate", "tell_unusable"]


class Entry(NamedTuple):
    """What the entry function of a module says of its arguments and results, beyond types."""

    name: str
    result_info: Sequence[str] = ()
    aliases: Mapping[int, int] = MappingProxyType({})  # argument index -> result index
    donated: frozenset[int] = frozenset()
    axes: Axes = ()  # of the replicas that run the program, numbered in row-major order
    arg_shardings: Sequence[str | None] = ()  # in the syntax of HLO
    result_shardings: Sequence[str | None] = ()
    num_partitions: int = 1
    portable: bool = False  # it is to be the same program on several platforms
    callers: bool = False  # locations have the calls that lead to each operation
    #: what a program of several devices says of its arguments and results; None leaves it open
    in_shardings: Sequence[Sharding | None] = ()
    out_shardings: Sequence[Sharding | None] = ()


def aliases(
    donated: frozenset[int], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> dict[int, int]:
    """Which donated argument's buffer each result takes: the first of its shape and dtype."""
    free: dict[ShapedArray, deque[int]] = {}
    for i, aval in enumerate(out_avals):
        free.setdefault(aval.strip_weak(), deque()).append(i)
    taken: dict[int, int] = {}
    for i in sorted(donated):
        fitting = free.get(in_avals[i].strip_weak())
        if fitting:
            taken[i] = fitting.popleft()
    return taken


def tell_unusable(entry: Entry, in_avals: Sequence[ShapedArray], names: Sequence[str] = ()) -> None:
    """Warn of donated arguments whose buffers no result can take: none is of that type.

    `names` are those of the arguments, where they are known.
    """
    rest = sorted(entry.donated - set(entry.aliases))
    if rest:
        called = [f" ({names[i]})" if names else "" for i in rest]
        types = ", ".join(
            in_avals[i].long_name() + name for i, name in zip(rest, called, strict=True)
        )
        place = source.current().place()
        warnings.warn(
            f"Some donated buffers were not usable: {types}: no result has this shape and "
            f"dtype{place}",
            OlympusWarning,
            stacklevel=2,
        )


def annotate(function: Any, program: Olympuspr, entry: Entry, meshes: MeshTable) -> None:
    """Put on the entry function of a module what `entry` says of its arguments and results."""
    ir = mlir.ir
    arguments = []
    ins = _attributes(entry.in_shardings, program.in_avals, meshes)
    outs = _attributes(entry.out_shardings, program.out_avals, meshes)
    for i, sharding in _padded(entry.arg_shardings, program.invars):
        attributes = _sharded(sharding) | ins[i]
        if i in entry.aliases:
            attributes["tf.aliasing_output"] = mlir.i32_attr(entry.aliases[i])
        elif i in entry.donated:
            attributes["jax.buffer_donor"] = mlir.bool_attr(True)
        arguments.append(ir.DictAttr.get(attributes))
    function.arg_attrs = ir.ArrayAttr.get(arguments)
    infos = dict(_padded(entry.result_info, program.outvars))
    function.result_attrs = ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    "olympus.result_info": mlir.string_attr(infos[i] or ""),
                    **_sharded(sharding),
                    **outs[i],
                }
            )
            for i, sharding in _padded(entry.result_shardings, program.outvars)
        ]
    )


def _padded(values: Sequence[str | None], atoms: Sequence[Any]) -> list[tuple[int, str | None]]:
    """(i, value i) for each atom; None where there is no value."""
    return [(i, values[i] if i < len(values) else None) for i in range(len(atoms))]


def _attributes(
    shardings: Sequence[Sharding | None], avals: Sequence[ShapedArray], meshes: MeshTable
) -> list[dict[str, ir.Attribute]]:
    """`sdy.sharding` for each array that has a sharding."""
    made: list[dict[str, ir.Attribute]] = [{} for _ in avals]
    for attributes, sharding, aval in zip(made, shardings, avals, strict=False):
        found = None if sharding is None else meshes.attribute(sharding, aval.shape)
        if found is not None:
            attributes["sdy.sharding"] = found
    return made


def _sharded(sharding: str | None) -> dict[str, ir.Attribute]:
    return {} if sharding is None else {"mhlo.sharding": mlir.string_attr(sharding)}
