"""Programs of several devices: their placement, compilation and execution.

A program runs on the devices of the shardings of its arguments, results and constraints: they must
be the same, in one order. The compiler chooses the shardings of arguments and results that have
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray
from olympus_core.arrays.sharded_array import ShardedArray, in_layout, put_on
from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import BackendError, ShardingError
from olympus_core.execution import compilation
from olympus_core.ir.dce_cse import live
from olympus_core.ir.olympuspr import Eqn, Olympuspr, sub_programs
from olympus_core.lowering.entry import EntryAttributes, aliases, with_usable_donations
from olympus_core.placement.chosen_sharding import whole_on
from olympus_core.placement.layout import Layout, array_format, order_of
from olympus_core.placement.mesh import AnyMesh, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)


class Claim(NamedTuple):
    """A request for devices: its name in messages, and a sharding or a mesh."""

    what: str
    place: Sharding | AnyMesh
    #: the text of the source line, if known
    line: str = ""


class Placement(NamedTuple):
    """The devices of a program in their order, or their number if none are named.

    `shardings` name the axes of results, the most specific first. `is_default` is True if neither
    an argument nor the program names the device, so that other programs may move the results.
    """

    devices: tuple[Any, ...] | None
    num_devices: int
    shardings: tuple[Sharding, ...]
    is_default: bool = False

    @property
    def meshes(self) -> tuple[AnyMesh, ...]:
        """The meshes of the shardings, each once, in their order."""
        meshes = (s.mesh for s in self.shardings if isinstance(s, NamedSharding))
        return tuple({(m.axis_names, m.axis_sizes): m for m in meshes}.values())


def shardings_in(program: Olympuspr) -> Iterator[tuple[Eqn, Sharding | AnyMesh]]:
    """Yield the shardings and meshes in the parameters of the live equations, also nested."""
    pending: list[Olympuspr] = [program]
    seen: dict[int, Olympuspr] = {}
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen[id(current)] = current
        for eqn in live(current):  # lowering drops the others
            for value in eqn.params.values():
                if isinstance(value, Sharding | AnyMesh):
                    yield eqn, value
            for value in eqn.primitive.destinations(eqn.params):
                if isinstance(value, Sharding):
                    yield eqn, value
            pending.extend(sub_programs(eqn))


def placement(
    name: str,
    program: Olympuspr,
    in_shardings: Sequence[Sharding | None] = (),
    out_shardings: Sequence[Sharding | None] = (),
    arg_names: Sequence[str] = (),
) -> Placement | None:
    """Return the placement of a program; None if it runs on the default device.

    Raises ShardingError if two shardings have different devices, or another order of them.
    """
    claims = [
        *_claims("argument", in_shardings, program.in_avals, arg_names),
        *_claims("result", out_shardings, program.out_avals, ()),
        *(
            Claim(f"{eqn.primitive} inside jit", value, eqn.source.place())
            for eqn, value in shardings_in(program)
        ),
    ]
    place = _placement(name, claims)
    if place is None and any(a.on_host for a in program.out_avals):
        device = xla.default_device()  # programs without a placement have results in its memory
        return Placement((device,), 1, (SingleDeviceSharding(device),), is_default=True)
    return place


def _claims(
    what: str,
    shardings: Sequence[Sharding | None],
    avals: Sequence[ShapedArray],
    names: Sequence[str],
) -> Iterator[Claim]:
    for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=False)):
        if sharding is not None:
            called = repr(names[i]) if i < len(names) else str(i + 1)
            yield Claim(f"{what} {called} with shape {aval.long_name()} and", sharding)


def _placement(name: str, claims: Iterable[Claim]) -> Placement | None:
    first: Claim | None = None
    abstract: Claim | None = None
    shardings: list[Sharding] = []
    for claim in claims:
        if isinstance(claim.place, Sharding):
            shardings.append(claim.place)
        else:
            shardings.append(NamedSharding(claim.place, PartitionSpec()))
        devices = devices_of(claim.place)
        if devices is None:
            if abstract is not None and _size(abstract.place) != _size(claim.place):
                raise _mismatch(name, abstract, claim)
            abstract = abstract or claim
        elif first is not None and devices_of(first.place) != devices:
            raise _mismatch(name, first, claim)
        else:
            first = first or claim
    if first is None and abstract is None:
        return None
    if first is not None and abstract is not None and _size(first.place) != _size(abstract.place):
        raise _mismatch(name, first, abstract)
    chosen = first or abstract
    assert chosen is not None
    return Placement(devices_of(chosen.place), _size(chosen.place), tuple(shardings))


def check_same_devices(name: str, *claims: Claim) -> None:
    """Raise ShardingError unless claims are for the same devices, in one order."""
    _placement(name, claims)


def devices_of(place: Sharding | AnyMesh) -> tuple[Any, ...] | None:
    """Return the devices of a sharding or a mesh, in their order; None for an abstract mesh."""
    if isinstance(place, NamedSharding):
        place = place.mesh
    if isinstance(place, AnyMesh):
        return place.flat_devices if isinstance(place, Mesh) else None
    return place.devices


def _size(place: Sharding | AnyMesh) -> int:
    if isinstance(place, NamedSharding):
        place = place.mesh
    return place.size if isinstance(place, AnyMesh) else place.num_devices


def _mismatch(name: str, a: Claim, b: Claim) -> ShardingError:
    return ShardingError(
        "Received incompatible devices for jitted computation. Got "
        f"{a.what} {_where(a.place)}{a.line} and {b.what} {_where(b.place)}{b.line}: '{name}' runs "
        "on one set of devices, in one order"
        f"{source.current_location().place()}",
        hint="put the arrays on one mesh with device_put, or pass NumPy arrays, which go anywhere",
    )


def _where(place: Sharding | AnyMesh) -> str:
    devices = devices_of(place)
    if devices is None:
        return f"on a mesh of {_size(place)} devices"
    platform = str(devices[0].platform).upper()
    return f"with device ids {[d.id for d in devices]} on platform {platform}"


def committed_sharding(x: Any) -> Sharding | None:
    """Return the sharding of an array that programs may not move; None for any other value."""
    if x.__class__ is ShardedArray:
        sharding: Sharding = x.laid_sharding
        return sharding if x.committed else None
    return x.sharding if isinstance(x, DeviceArray) and x.committed else None


def argument_place(x: Any) -> Sharding | bool:
    """Return `committed_sharding(x)`; for other values, True for an array on a device."""
    return committed_sharding(x) or isinstance(x, DeviceArray)


class ShardedProgram:
    """A program compiled for devices, with the shardings of its arguments and results."""

    def __init__(
        self,
        executable: Any,
        avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
        in_shardings: Sequence[Sharding],
        out_shardings: Sequence[Sharding],
        donated: frozenset[int],
        where: Placement,
    ) -> None:
        self.executable = executable
        self.where = where
        self.num_devices = where.num_devices
        self.meshes = where.meshes
        self.in_avals, self.out_avals = avals
        self.in_shardings, self.out_shardings = tuple(in_shardings), tuple(out_shardings)
        #: the name of each argument in messages
        self.names: Sequence[Any] = range(1, len(self.in_shardings) + 1)
        self._donated = donated
        self._on_cpu = executable.target.backend == "cpu"
        self._results = [*zip(self.out_avals, self.out_shardings, strict=True)]
        self._handlers = []
        if isinstance(executable, xla.Executable):  # which the devices are here for
            self._handlers = [
                xla.sharded_result_handler(a.shape, a.dtype, s) for a, s in self._results
            ]

    def run(self, arrays: Sequence[DeviceArray]) -> Sequence[DeviceArray]:
        """Run the program on arrays of the types of `in_avals`; arrays on other devices are moved.

        Raises ShardingError for an array with another sharding that may not be moved,
        DeletedArrayError for a deleted or donated one, and BackendError if the devices are not
        available.
        """
        if not isinstance(self.executable, xla.Executable):
            self.executable.run([])  # raises
        placed = self.placed(arrays)
        buffers = [x.buffer for x in placed]
        for i, x in enumerate(placed):
            # the runtime checks neither, and a mistake ends the process with some versions of it
            if xla.is_deleted(x.buffer):
                raise xla.deleted_error(f"argument {i + 1} was passed", x.aval.long_name())
        if self._donated:
            self._check_donations(buffers)
        outs = xla.run_partitioned(self.executable.run, buffers, self._handlers, self._on_cpu)
        results = zip(outs, self._results, strict=True)
        if self.where.is_default:
            return [self._free(aval, x, sharding) for x, (aval, sharding) in results]
        return [ShardedArray(aval, x, sharding) for x, (aval, sharding) in results]

    @staticmethod
    def _free(aval: ShapedArray, buffer: xla.Buffer, sharding: Sharding) -> DeviceArray:
        """Return a result that programs may move, on one device."""
        if sharding.devices == (xla.default_device(),) and not aval.on_host:
            return DeviceArray(aval, buffer)
        return ShardedArray(aval, buffer, sharding).release()

    def placed(self, arrays: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Return the arrays on the devices of the program; raise ShardingError as `run` does."""
        return [
            self._placed(i, x, sharding)
            for i, (x, sharding) in enumerate(zip(arrays, self.in_shardings, strict=True))
        ]

    def _placed(self, i: int, x: DeviceArray, needed: Sharding) -> DeviceArray:
        own = committed_sharding(x)
        is_here = x.__class__ is DeviceArray and devices_of(needed) == (xla.default_device(),)
        if is_here and needed.layout is None:
            return x
        if own is None or is_here:
            return put_on(x, needed)
        if own is not needed and not own.is_equivalent_to(needed, x.aval.ndim):
            has, needs = str(own), str(needed)
            if devices_of(own) != devices_of(needed):
                has, needs = f"{has} {_where(own)}", f"{needs} {_where(needed)}"
            raise ShardingError(
                "Computation was compiled for input shardings that disagree with the shardings of "
                "arguments passed to it. Here is the first of the mismatches:\n"
                f"Argument {self.names[i]} with shape {x.aval.long_name()}:\n"
                f"  Passed sharding: {has}\n  Required sharding: {needs}",
                hint="put it there with device_put",
            )
        if own.layout is None and needed.layout is None:
            return x
        return in_layout(x, Layout(order_of(x.aval.ndim, needed)))

    def check_layouts(self, arrays: Sequence[DeviceArray]) -> None:
        """Raise ShardingError for an array that may not be moved and has another layout."""
        for i, (x, needed) in enumerate(zip(arrays, self.in_shardings, strict=True)):
            own = committed_sharding(x)
            if own is None or (own.layout is None and needed.layout is None):
                continue
            ndim = x.aval.ndim
            if order_of(ndim, own) != order_of(ndim, needed):
                raise ShardingError(
                    "Computation was compiled for input layouts that disagree with the layouts of "
                    f"arguments passed to it. Here is the first of the mismatches:\n"
                    f"Argument {self.names[i]} with shape {x.aval.long_name()}:\n"
                    f"  Passed layout: {array_format(ndim, own).layout}\n"
                    f"  Required layout: {array_format(ndim, needed).layout}",
                    hint="put it there with device_put and the format of compiled.input_formats",
                )

    def _check_donations(self, buffers: Sequence[xla.Buffer]) -> None:
        every = [id(b) for b in buffers]
        if any(every.count(every[i]) > 1 for i in self._donated):
            raise xla.donated_twice()


def compile_sharded(
    program: Olympuspr,
    entry: EntryAttributes,
    where: Placement,
    committed: Sequence[Sharding | None] = (),
    options: xla.Options | None = None,
) -> ShardedProgram:
    """Compile a program for the devices that it is placed on.

    `committed` are the shardings of the arguments that were put by name.

    Raises ShardingError where a sharding of `entry` cannot cut an argument or a result, and
    BackendError where the devices are not here.
    """
    assert where.devices is not None
    target = target_for(where)
    if xla.absent_target(where.devices[0]) is not None:
        raise BackendError(
            f"'{entry.name}' cannot run on {target.device}: its mesh has devices that are not here",
            hint="jit(f).lower(...).compile() compiles for them",
        )
    module, origin = compilation.lower(program, partitioned(entry, program, where), target, "off")
    avals = program.in_avals, program.out_avals
    executable = compilation.compile_module(
        module,
        target,
        options,
        where.devices,
        where.shardings,
        name=entry.name,
        in_avals=program.in_avals,
        inspected=origin.inspected(module),
        calls=origin.calls,
    )
    return with_shardings(executable, avals, entry, where, committed)


def partitioned(entry: EntryAttributes, program: Olympuspr, where: Placement) -> EntryAttributes:
    """Return the entry attributes of a program on the devices of `where`."""
    for what, shardings, avals in (
        ("argument", entry.in_shardings, program.in_avals),
        ("result", entry.out_shardings, program.out_avals),
    ):
        for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=False)):
            if sharding is not None:
                sharding.check_shape(aval.shape, f"{what} {i + 1} of '{entry.name}', an array")
    ins, outs = (
        [_part(aval, s) for aval, s in zip_longest(avals, shardings)]
        for avals, shardings in (
            (program.in_avals, entry.in_shardings),
            (program.out_avals, entry.out_shardings),
        )
    )
    reused = aliases(entry.donated, ins, outs)
    are_known = len(entry.out_shardings) == len(outs) and not any(
        map(_is_open, entry.out_shardings)
    )
    if are_known or where.num_devices == 1:
        split = frozenset([i for i, s in enumerate(entry.in_shardings) if not _is_open(s)])
        known = entry._replace(aliases=reused, donated=entry.donated & split)
        usable = with_usable_donations(known, ins, outs).donated
        entry = entry._replace(donated=usable | (entry.donated - split))
    # otherwise the compiler chooses the result that takes a donated buffer
    fixed = {i: j for i, j in reused.items() if _are_known(entry, i, j)}
    return entry._replace(num_partitions=where.num_devices, aliases=fixed, meshes=where.meshes)


def _is_open(sharding: Sharding | None) -> bool:
    return sharding is None or leaves_open(sharding)


def _part(aval: ShapedArray, sharding: Sharding | None) -> ShapedArray:
    """Return the type of the part of an array on each device; of all if the sharding is open."""
    if sharding is None or leaves_open(sharding):
        return aval
    return aval.update(shape=sharding.shard_shape(aval.shape))


def _are_known(entry: EntryAttributes, argument: int, result: int) -> bool:
    """Return True if an argument and a result have shardings, with the same layout."""
    if argument >= len(entry.in_shardings) or result >= len(entry.out_shardings):
        return False
    own, other = entry.in_shardings[argument], entry.out_shardings[result]
    if own is None or other is None or leaves_open(own) or leaves_open(other):
        return False
    return (own.layout, own.memory_kind) == (other.layout, other.memory_kind)


def with_shardings(
    executable: Any,
    avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
    entry: EntryAttributes,
    where: Placement,
    committed: Sequence[Sharding | None],
) -> ShardedProgram:
    """Return a compiled program with its shardings, its own or the compiler's.

    `avals` are those of its arguments and of its results, `committed` the shardings of the
    arguments that are put explicitly.
    """
    assert where.devices is not None
    chosen_in, chosen_out = executable.shardings()
    ins = _filled(entry.in_shardings, chosen_in, avals[0], where)
    outs = _filled(entry.out_shardings, chosen_out, avals[1], where)
    if any(s.layout is Layout.AUTO for s in (*ins, *outs)):
        layouts = executable.layouts()
        ins, outs = (
            [*map(_in_chosen_layout, shardings, orders)]
            for shardings, orders in zip((ins, outs), layouts, strict=True)
        )
    requested = [*entry.out_shardings] or [None] * len(outs)
    first = _first_named(entry.in_shardings, committed, avals[0])
    if first is not None:
        outs = [
            first[0] if own is None and _is_that(first, s, aval.ndim) else s
            for own, s, aval in zip(requested, outs, avals[1], strict=True)
        ]
    outs = [
        s if own is not None else _in_memory(_of_type(s, aval), aval)
        for own, s, aval in zip(requested, outs, avals[1], strict=True)
    ]
    return ShardedProgram(executable, avals, ins, outs, entry.donated, where)


def _in_chosen_layout(sharding: Sharding, order: tuple[int, ...]) -> Sharding:
    """Return a sharding with the compiler's order of axes in the place of `Layout.AUTO`."""
    return sharding.with_layout(Layout(order)) if sharding.layout is Layout.AUTO else sharding


def _in_memory(sharding: Sharding, aval: ShapedArray) -> Sharding:
    """Return a sharding of arrays in the memory of the type."""
    kind = "pinned_host" if aval.on_host else "device"
    return sharding if sharding.memory_kind == kind else sharding.with_memory_kind(kind)


def _of_type(sharding: Sharding, aval: ShapedArray) -> Sharding:
    """Return the sharding that the compiler chose, on a mesh whose axes have the type's types."""
    if aval.explicit is None:
        return sharding
    types = aval.explicit.mesh.axis_types
    if isinstance(sharding, NamedSharding) and len(sharding.mesh.axis_names) == len(types):
        return sharding.update(mesh=sharding.mesh.update(axis_types=types))
    return sharding


def _first_named(
    shardings: Sequence[Sharding | None],
    committed: Sequence[Sharding | None],
    avals: Sequence[ShapedArray],
) -> tuple[NamedSharding, int] | None:
    """Return the first argument's mesh sharding and rank, if the argument was put explicitly.

    JAX gives this same sharding object to results that are split in the same way.
    """
    for i, (sharding, aval) in enumerate(zip(shardings, avals, strict=False)):
        if isinstance(sharding, NamedSharding):
            was_put = i < len(committed) and committed[i] is not None
            usable = was_put and isinstance(sharding.mesh, Mesh) and not leaves_open(sharding)
            return (sharding.with_layout(None), aval.ndim) if usable else None
    return None


def _is_that(first: tuple[NamedSharding, int], sharding: Sharding, ndim: int) -> bool:
    return first[1] == ndim and first[0].is_equivalent_to(sharding, ndim)


def whole_on_mesh(where: Placement | None) -> Sharding | None:
    """Return the sharding of arrays that are whole on each device of a mesh; None without one."""
    meshes = () if where is None else where.meshes
    return NamedSharding(meshes[0], PartitionSpec()) if meshes else None


def on_first_device(target: xla.Target) -> Placement:
    """Return the placement of a program of one device on the first one of a backend."""
    return Placement((xla.devices(target.backend)[0],), 1, ())


def attached(
    where: Placement, entry: EntryAttributes, target: xla.Target, name: str
) -> tuple[Placement, EntryAttributes]:
    """Return the placement on devices of the target, and its shardings there.

    For an accelerator they may be absent: then the CPU devices in a program's meshes represent the
    target's devices, in their order.

    Raises BackendError if there are fewer devices than the program needs, ShardingError if it names
    devices of another backend, or if the target's topology has fewer.
    """
    if where.devices is None:
        order = list(range(where.num_devices))
    elif (platform := str(where.devices[0].platform)) == target.backend:
        return where, entry
    elif platform == "cpu" and all(isinstance(s, NamedSharding) for s in where.shardings):
        numbers = sorted(d.id for d in where.devices)
        order = [numbers.index(d.id) for d in where.devices]
    else:
        what = "its arrays are on" if platform == "cpu" else "its mesh has"
        raise ShardingError(
            f"'{name}' was lowered for {target.backend}, and {what} devices of the {platform}",
            hint="lower for those devices, or give shardings on an AbstractMesh, which has none",
        )
    available = _available(where, target, name)
    devices = tuple([available[i] for i in order])
    ins, outs, all_ = (
        tuple([on_devices(s, devices) for s in group])
        for group in (entry.in_shardings, entry.out_shardings, where.shardings)
    )
    where = where._replace(devices=devices, shardings=tuple([s for s in all_ if s is not None]))
    return where, entry._replace(in_shardings=ins, out_shardings=outs)


def _available(where: Placement, target: xla.Target, name: str) -> Sequence[Any]:
    """Return at least as many devices of the target as the program has, in the mesh's order."""
    count = where.num_devices
    if target.device is not None:
        target = target._replace(topology=xla.full_topology(target, count))
    if target.topology is not None and target.topology.num_devices < count:
        raise ShardingError(
            f"'{name}' is a program of {count} devices, and the topology {target.topology} of "
            f"{target.device} has {target.topology.num_devices}"
        )
    if target.topology is not None:
        sizes = where.meshes[0].axis_sizes if where.meshes else (count,)
        available = xla.mesh_devices(target, sizes)
    else:
        available = tuple(xla.devices(target.backend, count))
    if len(available) < count:
        raise BackendError(
            f"'{name}' is a program of {count} devices, and there "
            f"{'is' if len(available) == 1 else 'are'} {len(available)}",
            hint=xla.more_devices(count) if target.backend == "cpu" else None,
        )
    return available


def torus_places(target: xla.Target, where: Placement) -> list[tuple[int, ...]] | None:
    """Return the position on a torus of each device of a program; None for other topologies.

    A program without devices has those of its mesh, as `attached` chooses them.
    """
    if target.backend != "tpu" or target.device is None:
        return None
    if where.devices is not None and xla.absent_target(where.devices[0]) is not None:
        return xla.positions_of(where.devices)
    sizes = where.meshes[0].axis_sizes if where.meshes else (where.num_devices,)
    return xla.mesh_positions(target, sizes)


def on_devices(sharding: Sharding | None, devices: tuple[Any, ...]) -> Sharding | None:
    """Return a sharding on a mesh of these devices; unchanged if it has no mesh."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    grid = np.array(devices, dtype=object).reshape(sharding.mesh.axis_sizes)
    mesh = Mesh(grid, sharding.mesh.axis_names, sharding.mesh.axis_types)
    return NamedSharding(mesh, sharding.spec).with_layout(sharding.layout)


def leaves_open(sharding: Sharding) -> bool:
    """Return True if a sharding leaves a dimension to the compiler."""
    spec = sharding.spec.partitions if isinstance(sharding, NamedSharding) else ()
    return PartitionSpec.UNCONSTRAINED in spec


def target_for(where: Placement | None) -> xla.Target:
    """Return the target of the devices that a program names; the CPU if it names none."""
    if where is None or where.devices is None or where.devices[0].platform == "cpu":
        return xla.Target("cpu")
    return xla.absent_target(where.devices[0]) or xla.Target("gpu")


def _filled(
    requested: Sequence[Sharding | None],
    chosen: Sequence[Any] | None,
    avals: Sequence[ShapedArray],
    where: Placement,
) -> list[Sharding]:
    assert where.devices is not None
    shardings = []
    for i, aval in enumerate(avals):
        own = requested[i] if i < len(requested) else None
        if own is not None and devices_of(own) is not None and not leaves_open(own):
            shardings.append(own)
        elif chosen is None:  # one device
            shardings.append(whole_on(where.devices[0], where.shardings))
        else:
            like = where.shardings if own is None else (own, *where.shardings)
            sharding = xla.sharding_like(chosen[i], aval.ndim, like, where.devices)
            shardings.append(sharding.with_layout(None if own is None else own.layout))
    return shardings
