"""The entry function of a module: the attributes of its arguments and results."""

from __future__ import annotations

import warnings
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import OlympusWarning
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.trace import Axes
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.regions import CONSTANT_ARGUMENT
from olympus_core.mlir.shardy import MeshTable
from olympus_core.placement.layout import Layout, layout_mode
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.sharding import DEVICE, PINNED_HOST, NamedSharding, Sharding

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


class EntryAttributes(NamedTuple):
    """The attributes of the arguments and results of a module's entry function."""

    name: str
    result_info: Sequence[str] = ()
    aliases: Mapping[int, int] = MappingProxyType({})  # argument index -> result index
    donated: frozenset[int] = frozenset()
    axes: Axes = ()  # of the replicas that run the program, numbered in row-major order
    arg_shardings: Sequence[str | None] = ()  # in the syntax of HLO
    result_shardings: Sequence[str | None] = ()
    num_partitions: int = 1
    portable: bool = False  # it is to be the same program on several platforms
    lapack: bool = True  # the program may call LAPACK, where the platform has it
    callers: bool = False  # locations have the calls that lead to each operation
    #: the shardings of arguments and results of a program of several devices; None leaves one open
    in_shardings: Sequence[Sharding | None] = ()
    out_shardings: Sequence[Sharding | None] = ()
    meshes: Sequence[AnyMesh] = ()  # of all shardings in a program of several devices
    constants: Sequence[str] = ()  # the SHA-256 of each of the first arguments, if known


def aliases(
    donated: frozenset[int], in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> dict[int, int]:
    """Return the result that takes each donated argument's buffer: the first of its type."""
    free: dict[ShapedArray, deque[int]] = {}
    for i, aval in enumerate(out_avals):
        free.setdefault(aval.strip_weak(), deque()).append(i)
    result_of: dict[int, int] = {}
    for i in sorted(donated):
        fitting = free.get(in_avals[i].strip_weak())
        if fitting:
            result_of[i] = fitting.popleft()
    return result_of


def with_usable_donations(
    entry: EntryAttributes,
    in_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
    names: Sequence[str] = (),
) -> EntryAttributes:
    """Return the entry without donations of buffers that no result can take, and warn of these.

    The compiler may give a buffer to a result of as many elements. `names` are those of the
    arguments, if they are known.
    """
    unusable = _unusable(entry, in_avals, out_avals)
    if unusable:
        texts = [f" ({names[i]})" if names else "" for i in unusable]
        types = ", ".join(
            in_avals[i].long_name() + name for i, name in zip(unusable, texts, strict=True)
        )
        place = source.current_location().place()
        warnings.warn(
            f"Some donated buffers were not usable: {types}: no result can take them{place}",
            OlympusWarning,
            stacklevel=2,
        )
    return entry._replace(donated=entry.donated.difference(unusable))


def _unusable(
    entry: EntryAttributes, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]
) -> list[int]:
    """Return the donated arguments without an alias that are not as large as a result is."""
    others = sorted(entry.donated - entry.aliases.keys())
    if not others:
        return []
    aliased = set(entry.aliases.values())
    free = Counter([a.size for j, a in enumerate(out_avals) if j not in aliased])
    unusable = []
    for i in others:
        size = in_avals[i].size
        if free[size]:
            free[size] -= 1
        else:
            unusable.append(i)
    return unusable


def annotate(function: Any, program: Olympuspr, entry: EntryAttributes, meshes: MeshTable) -> None:
    """Set the attributes of `entry` on the arguments and results of a module's entry function."""
    ir = mlir.ir
    arguments = []
    ins = _attributes(entry.in_shardings, program.in_avals, meshes)
    outs = _attributes(entry.out_shardings, program.out_avals, meshes)
    in_kinds, out_kinds = _memory_kinds(entry, program)
    if any(kind not in (None, DEVICE) for kind in (*in_kinds, *out_kinds)):
        for row, kind in zip([*ins, *outs], [*in_kinds, *out_kinds], strict=True):
            if kind is not None:
                row["mhlo.memory_kind"] = mlir.string_attr(kind)
        _place_results(function, entry)
    for i, sharding in _padded(entry.arg_shardings, program.invars):
        attributes = _sharded(sharding) | ins[i]
        if i in entry.aliases:
            attributes["tf.aliasing_output"] = mlir.i32_attr(entry.aliases[i])
        elif i in entry.donated:
            attributes["jax.buffer_donor"] = mlir.bool_attr(True)
        if i < len(entry.constants):
            attributes[CONSTANT_ARGUMENT] = mlir.string_attr(entry.constants[i])
        arguments.append(ir.DictAttr.get(attributes))
    function.arg_attrs = ir.ArrayAttr.get(arguments)
    _sum_results(function, program, entry, outs)
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


def _sum_results(
    function: Any,
    program: Olympuspr,
    entry: EntryAttributes,
    outs: Sequence[dict[str, ir.Attribute]],
) -> None:
    """Constrain results of unreduced values that are requested with another sharding.

    The compiler refuses an argument with unreduced axes that is a result without them.
    """
    block = function.regions[0].blocks[0]
    end = block.operations[len(block.operations) - 1]
    columns = program.outvars, outs, entry.out_shardings
    for i, (atom, row, requested) in enumerate(zip(*columns, strict=False)):
        explicit = atom.aval.explicit
        if explicit is None or not explicit.spec.unreduced or "sdy.sharding" not in row:
            continue
        if isinstance(requested, NamedSharding) and requested.spec.unreduced:
            continue
        with mlir.ir.InsertionPoint(end):
            attributes = {"sharding": row["sdy.sharding"]}
            value = mlir.op1("sdy.sharding_constraint", atom.aval, [end.operands[i]], attributes)
        end.operands[i] = value


def _padded(values: Sequence[str | None], atoms: Sequence[Any]) -> list[tuple[int, str | None]]:
    """Return (i, value i) for each atom; None without a value."""
    return [(i, values[i] if i < len(values) else None) for i in range(len(atoms))]


def _attributes(
    shardings: Sequence[Sharding | None], avals: Sequence[ShapedArray], meshes: MeshTable
) -> list[dict[str, ir.Attribute]]:
    """Return `sdy.sharding`, and the layout if it has one, for each array with a sharding."""
    rows: list[dict[str, ir.Attribute]] = [{} for _ in avals]
    for row, sharding, aval in zip(rows, shardings, avals, strict=False):
        attribute = None if sharding is None else meshes.attribute(sharding, aval.shape)
        if attribute is not None:
            row["sdy.sharding"] = attribute
        if sharding is not None and sharding.layout is not None:
            layout = sharding.layout
            mode = "auto" if layout is Layout.AUTO else layout_mode(layout.major_to_minor)
            row["mhlo.layout_mode"] = mlir.string_attr(mode)
    return rows


def _memory_kinds(
    entry: EntryAttributes, program: Olympuspr
) -> tuple[list[str | None], list[str | None]]:
    """Return the memories of arguments, None for one that is not known, and those of results."""
    ins, outs = (
        [
            s.memory_kind if s is not None else PINNED_HOST if a.on_host else None
            for a, s in zip_longest(avals, shardings)
        ]
        for avals, shardings in (
            (program.in_avals, entry.in_shardings),
            (program.out_avals, entry.out_shardings),
        )
    )
    return ins, [kind or DEVICE for kind in outs]


def _place_results(function: Any, entry: EntryAttributes) -> None:
    """Emit the request to have results in the memories of their shardings, if not the device's."""
    returned = function.regions[0].blocks[0].operations[-1]
    with mlir.ir.InsertionPoint(returned):
        for i, sharding in enumerate(entry.out_shardings):
            if sharding is not None and sharding.memory_kind != DEVICE:
                returned.operands[i] = mlir.in_memory(returned.operands[i], sharding.memory_kind)


def _sharded(sharding: str | None) -> dict[str, ir.Attribute]:
    return {} if sharding is None else {"mhlo.sharding": mlir.string_attr(sharding)}
