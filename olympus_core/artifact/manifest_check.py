"""The check of a bundle's manifest against the program inside.

A manifest that is believed without it makes wrong answers: bytes of one dtype are read as another,
rows as columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from olympus_bundle.checks import check_donation, compare_types, counted
from olympus_core import xla
from olympus_core.artifact.manifest import Signature
from olympus_core.artifact.shardings import StoredSharding, StoredShardings, tiling
from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.entry_signature import EntrySignature, read_entry
from olympus_core.placement.sharding import (
    Sharding,
    Tiling,
)
from olympus_core.stages.interface import ArgInfo

AnyExecutable = xla.Executable | xla.CompileOnlyExecutable


def check_program(
    signature: Signature,
    content: bytes,
    num_devices: int = 1,
    constants: Sequence[ArgInfo] = (),
) -> None:
    """Compare a signature, and a number of devices, with a portable StableHLO program.

    `constants` are the arguments of the program before those of the signature.

    Raises:
      ArtifactError: when they differ in number, shape, dtype or donation, or the program cannot
        be read or is for another number of devices.
    """
    entry, arguments = read_entry(content), (*constants, *signature.arguments)
    for kind, arrays, types in (
        ("argument", arguments, entry.arguments),
        ("result", signature.results, entry.results),
    ):
        declared = [mlir.tensor_type(array.aval) for array in arrays]
        compare_types(kind, "StableHLO", arrays, declared, types)
    for i, argument in enumerate(arguments):
        if argument.donated != (i in entry.donated):
            _refuse_donation(argument.name, argument.donated, "StableHLO")
    _check_devices(entry, num_devices)
    if num_devices > 1 and _OLDER_SHARDINGS in content:
        raise ArtifactError("its StableHLO has shardings of another kind than OLYMPUS writes")


#: Operations that the compiler drops, or that end the process, when it partitions a program.
_OLDER_SHARDINGS = b"mhlo.sharding"


def _check_devices(entry: EntrySignature, num_devices: int) -> None:
    """Compare the number of devices with a program's, and with that of each of its meshes."""
    sizes = [entry.num_devices, *(math.prod(mesh) for mesh in entry.meshes)]
    for size in sizes:
        if size != num_devices:
            raise ArtifactError(
                f"its StableHLO is for {counted(size, 'device')}, and its manifest has "
                f"{num_devices}"
            )


def check_shardings(
    signature: Signature,
    stored: StoredShardings,
    executable: AnyExecutable,
    num_devices: int,
    num_constants: int = 0,
) -> None:
    """Compare the shardings of arguments and results in a manifest with an executable's.

    The first `num_constants` arguments of the executable are constants, and not compared.

    Raises:
      ArtifactError: one differs, or the executable is not of several devices.
    """
    arguments, results = executable.shardings()
    arguments = None if arguments is None else arguments[num_constants:]
    for faults in (
        _splits("argument", signature.arguments, stored.arguments, arguments, num_devices),
        _splits("result", signature.results, stored.results, results, num_devices),
    ):
        for fault in faults:
            raise ArtifactError(f"its executable {fault}")


def _splits(
    kind: str,
    arrays: Sequence[ArgInfo],
    stored: Sequence[StoredSharding | None],
    shardings: Sequence[object] | None,
    num_devices: int,
) -> Iterator[str]:
    """Yield the differences between an executable's shardings and the stored ones."""
    if not arrays:
        return
    if shardings is None or len(shardings) < len(arrays):
        count = counted(len(shardings or ()), kind)
        yield f"has shardings of {count}, and its manifest has {len(arrays)}"
        return
    for array, declared, sharding in zip(arrays, stored, shardings, strict=False):
        rank = len(array.shape)
        if declared is None:
            continue
        if xla.tiling_of(sharding, rank, num_devices) != tiling(declared, rank):
            split = f"{declared.counts} parts" if isinstance(declared, Tiling) else declared.spec
            yield f"splits the {kind} {array.name!r} otherwise than its manifest, {split}"


def check_executable(
    signature: Signature,
    executable: AnyExecutable,
    shardings: tuple[Sequence[Sharding], Sequence[Sharding]] | None = None,
    constants: Sequence[ArgInfo] = (),
) -> None:
    """Compare a signature with the types of an executable, which takes `constants` first.

    `shardings` are those of arguments and results of a program of several devices: each device has
    a part of every array.

    Raises:
      ArtifactError: they differ in number, shape, dtype or the memory of donated arguments.
    """
    types = executable.types()
    arguments, results = shardings or (None, None)
    for kind, arrays, actual, split in (
        ("argument", (*constants, *signature.arguments), types.arguments, arguments),
        ("result", signature.results, types.results, results),
    ):
        shapes = [array.shape for array in arrays]
        if split is not None:
            shapes = [s.shard_shape(x) for s, x in zip(split, shapes, strict=True)]
        declared = [(a.dtype, shape) for a, shape in zip(arrays, shapes, strict=True)]
        compare_types(kind, "executable", arrays, declared, actual)
    check_donation(signature, executable.memory().alias_size_in_bytes)


def _refuse_donation(name: str, is_donated: bool, where: str) -> None:
    there, declared = ("is not", "is") if is_donated else ("is", "is not")
    raise ArtifactError(
        f"in its {where} the argument {name!r} {there} donated, and in its manifest it {declared}"
    )
