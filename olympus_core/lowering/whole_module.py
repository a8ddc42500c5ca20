"""The lowering of a whole program to a StableHLO module."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base import gc_pause
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.effects import unordered_on_devices, without_inspections
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering.divergence import Agreement
from olympus_core.lowering.entry import EntryAttributes, annotate
from olympus_core.lowering.module import emit_function, emit_function_of
from olympus_core.lowering.module_functions import put_first
from olympus_core.lowering.module_state import Manual, ModuleState, Watching, module_name
from olympus_core.lowering.ordering import with_order
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


def lower_module(program: Olympuspr, entry: EntryAttributes, platform: str = "cpu") -> ir.Module:
    """Return the StableHLO module whose `main` is `program`: see `lower_with_forms`."""
    return lower_with_forms(program, entry, platform).module


class LoweredModule(NamedTuple):
    """A StableHLO module, and facts that it does not contain.

    `has_forms` is True if it has primitives in special forms for its target. `callees` are the
    Python functions that it calls, and `partitioners` the partitioners of its operations, in the
    order of their indices.
    """

    module: Any
    has_forms: bool
    callees: tuple[Any, ...]
    partitioners: tuple[Any, ...]


def lower_with_forms(
    program: Olympuspr,
    entry: EntryAttributes,
    platform: str = "cpu",
    watch: Watching | None = None,
    manual: Manual | None = None,
) -> LoweredModule:
    """Return the StableHLO module whose `main` is `program`, and facts about it.

    With `manual`, `main` is the body of a `shard_map` over all axes of its mesh.

    It has the inspections of the program only with a `watch`, and contains addresses of the process
    if the watch returns bytes. Such a module is the result of lowering without a watch.

    Raises LoweringError if the program cannot be expressed on the platform, and, without a `watch`,
    ShardingError if some devices may never reach a collective that others wait for.
    """
    if watch is None:
        program = without_inspections(program)
    unordered = unordered_on_devices(program) if entry.num_partitions > 1 else ()
    if unordered:
        raise ArgumentError(
            "The following ordered effects are not supported for more than 1 device: "
            f"{', '.join(sorted(unordered))}",
            hint="leave out ordered=True, use an ordered io_callback, or run the program on one "
            "device",
        )
    program = with_order(program)
    # the compiler drops values that only an effect reads
    mesh = None if manual is None else manual.mesh
    agreement = Agreement(platform, entry.num_partitions, mesh, refuses=watch is None)
    if entry.num_partitions > 1:
        agreement.follow(program, [agreement.several] * len(program.invars))
    with gc_pause.paused(), mlir.context(), mlir.ir.Location.unknown():
        ir = mlir.ir
        mlir_module = ir.Module.create()
        mlir_module.operation.attributes["sym_name"] = mlir.string_attr(module_name(entry.name))
        replicas = math.prod(size for _, size in entry.axes)
        for name, count in (("partitions", entry.num_partitions), ("replicas", replicas)):
            mlir_module.operation.attributes[f"mhlo.num_{name}"] = mlir.i32_attr(count)
        module = ModuleState(platform, entry, watch)
        if manual is not None:
            module.axes, module.manual = manual.mesh.shape_tuple, manual
        module.undecided = agreement.undecided
        module.body, module.names["main"] = mlir_module.body, 1
        function = emit_function(module, program, "main", private=False)
        put_first(mlir_module, function)
        annotate(function, program, entry, module.meshes)
        module.meshes.declare(mlir_module.body)
        functions = tuple(module.host_functions), tuple(module.partitioners)
        return LoweredModule(mlir_module, module.has_forms, *functions)


def lower_function(
    fun: Callable[..., Any], operands: tuple[ShapedArray, ...], results: tuple[ShapedArray, ...]
) -> ir.Module:
    """Return a module for a CPU whose `main` is a Python function on primitives.

    Unlike a traced function, it may write loops with `repeat`, as lowering rules do.
    """
    with gc_pause.paused(), mlir.context(), mlir.ir.Location.unknown():
        mlir_module = mlir.ir.Module.create()
        module = ModuleState("cpu", EntryAttributes("main"), None)
        module.body = mlir_module.body
        emit_function_of(module, fun, "main", mlir.ir.Location.unknown(), operands, results)
        return mlir_module
