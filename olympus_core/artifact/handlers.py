"""The functions outside of XLA that an executable calls, by the names of its custom calls."""

from __future__ import annotations

from collections.abc import Iterator

from olympus_core.analysis.sources.places import nested_operations
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.proto.serialized import described


def custom_calls(program: bytes, executable: bytes) -> tuple[str, ...]:
    """Return the names of the custom calls of an executable, sorted.

    `program` is its StableHLO, which has the calls of its source. The optimized program has those
    of the compiler too; only the bytes of an executable for the CPU contain it.

    Raises:
      ArtifactError: the StableHLO cannot be read.

    >>> custom_calls(bundle.stablehlo(), bundle.members["executables/cpu.bin"])
    ('lapack_sgetrf_ffi',)
    """
    return tuple(sorted({*_of_stablehlo(program), *_of_hlo(executable)}))


def _of_stablehlo(program: bytes) -> Iterator[str]:
    module = mlir.parsed(program, "the program")
    for view in nested_operations(module.operation):
        if view.operation.name == "stablehlo.custom_call":
            with mlir.readable("the program"):
                yield str(view.operation.attributes["call_target_name"].value)


def _of_hlo(executable: bytes) -> Iterator[str]:
    description = described(executable)
    if description is None:
        return
    for computation in read_hlo_module(description.module).computations.values():
        for instruction in computation.instructions.values():
            if instruction.custom_call_target:
                yield instruction.custom_call_target
