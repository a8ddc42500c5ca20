"""A bundle's program of several devices on devices of this machine, or on some that it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_core import xla
from olympus_core.artifact.manifest import Manifest, Signature
from olympus_core.artifact.manifest_check import AnyExecutable, check_executable, check_shardings
from olympus_core.artifact.shardings import StoredShardings, put_on_devices
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import BackendError, UsageError
from olympus_core.execution.hidden_arguments import shifted_entry
from olympus_core.execution.spmd import (
    Placement,
    ShardedProgram,
    on_devices,
    on_first_device,
    whole_on_mesh,
    with_shardings,
)
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.placement.mesh import AbstractMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)
from olympus_core.stages.interface import ArgInfo


def chosen_devices(
    what: str, count: int, target: xla.Target, devices: Sequence[xla.Device]
) -> tuple[xla.Device, ...]:
    """Return a caller's devices, checked; `what` is the program's name in messages.

    Raises:
      UsageError: they are not `count` different ones of the target, or the program has one
        device.
    """
    if count == 1:
        raise UsageError(f"{what} is for one device, and runs on the first one")
    chosen, available = tuple(devices), set(xla.devices(target.backend))
    if len(chosen) != count or len({*chosen} & available) != count:
        raise UsageError(
            f"{what} needs {count} different devices of the {target.backend}, and got "
            f"{len(chosen)}: {', '.join(map(str, chosen)):.200}"
        )
    return chosen


def first_devices(
    what: str, count: int, target: xla.Target, *, compiles: bool
) -> tuple[xla.Device, ...]:
    """Return the first devices of a target; compilation for an accelerator needs none attached.

    Raises:
      BackendError: there are fewer than `count`.
    """
    available: Sequence[xla.Device]
    if compiles and target.device is not None:
        topology = xla.full_topology(target, count)
        available = xla.topology_devices(target._replace(topology=topology))
    else:
        available = xla.devices(target.backend, count)
    if len(available) < count:
        verb = "is" if len(available) == 1 else "are"
        raise BackendError(
            f"{what} needs {count} devices, and there {verb} {len(available)} of the "
            f"{target.backend}",
            hint=xla.more_devices(count) if target.backend == "cpu" else None,
        )
    return tuple(available[:count])


def placed(
    manifest: Manifest,
    stored: StoredShardings,
    executable: AnyExecutable,
    devices: tuple[xla.Device, ...],
) -> ShardedProgram:
    """Return the program of an executable on `devices`, checked against the manifest.

    Raises:
      ArtifactError: the executable's shardings differ from `stored`, or its arguments or results
        differ from the signature.
    """
    signature, placement = manifest.signature, manifest.placement
    constants = manifest.constants_for(executable.target.backend)
    check_shardings(signature, stored, executable, len(devices), len(constants))
    entry = EntryAttributes(
        manifest.function,
        donated=_donated(signature),
        in_shardings=[put_on_devices(sharding, devices) for sharding in stored.arguments],
        out_shardings=[put_on_devices(sharding, devices) for sharding in stored.results],
    )
    meshes = placement.meshes if placement is not None else ()
    where = Placement(devices, len(devices), tuple(_whole(mesh, devices) for mesh in meshes))
    entry = shifted_entry(entry, len(constants), whole_on_mesh(where))
    program = with_shardings(
        executable, _avals(signature, constants), entry, where, entry.in_shardings
    )
    shardings = program.in_shardings, program.out_shardings
    check_executable(signature, executable, shardings, constants)
    return program


def on_one_device(
    manifest: Manifest, executable: AnyExecutable, target: xla.Target
) -> ShardedProgram:
    """Return the program of an executable for one accelerator on the first one of this machine."""
    signature, constants = manifest.signature, manifest.constants_for(target.backend)
    entry = EntryAttributes(manifest.function, donated=_donated(signature))
    entry = shifted_entry(entry, len(constants))
    return with_shardings(
        executable, _avals(signature, constants), entry, on_first_device(target), ()
    )


def _donated(signature: Signature) -> frozenset[int]:
    return frozenset([i for i, a in enumerate(signature.arguments) if a.donated])


def _avals(
    signature: Signature, constants: Sequence[ArgInfo]
) -> tuple[tuple[ShapedArray, ...], tuple[ShapedArray, ...]]:
    """Return the types of the constants and arguments, and those of the results."""
    arguments = (*constants, *signature.arguments)
    return tuple([x.aval for x in arguments]), tuple([x.aval for x in signature.results])


def _whole(mesh: AbstractMesh, devices: tuple[xla.Device, ...]) -> Sharding:
    """Return the sharding of arrays that are replicated on a mesh, for the compiler's choices."""
    whole = on_devices(NamedSharding(mesh, PartitionSpec()), devices)
    assert whole is not None
    return whole
