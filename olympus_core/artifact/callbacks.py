"""The Python functions that the programs of a bundle call, as its manifest has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from olympus_bundle.host_functions import HostFunction, HostFunctions
from olympus_core import xla
from olympus_core.artifact.stored_tree import Node
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import UsageError
from olympus_core.primitives.host_function import AnyCallee, BufferCallee, HostCallee
from olympus_core.stages import stages
from olympus_core.stages.interface import ArgInfo


def callbacks_of(lowered: Sequence[stages.Lowered]) -> tuple[HostFunction, ...]:
    """Return the functions that lowered programs call, in the order of their indices.

    Functions of one name have a number after it, from the second one on.

    Raises:
      UsageError: the programs call different functions, or functions of buffers.
    """
    every = [_records(stage.callees) for stage in lowered]
    if any(records != every[0] for records in every):
        raise UsageError(
            f"the stages in a bundle must call the same Python functions, and those of "
            f"'{lowered[0].fun_name}' call several"
        )
    return every[0]


def _records(callees: Sequence[AnyCallee]) -> tuple[HostFunction, ...]:
    seen: Counter[str] = Counter()
    records = []
    for callee in callees:
        if isinstance(callee, BufferCallee):
            raise UsageError(
                f"the program calls {callee.function!r} on buffers, by buffer_callback, and a "
                "bundle cannot bind such a function",
                hint="use pure_callback",
            )
        name = callee.function.path
        seen[name] += 1
        records.append(_record(callee, name if seen[name] == 1 else f"{name}#{seen[name]}"))
    return tuple(records)


def _record(callee: HostCallee, name: str) -> HostFunction:
    structure = callee.function.in_tree
    if callee.function.fixed:  # its other values are in the process that traced it alone
        structure = tree.structure(((0,) * len(callee.ins), {}))
    return HostFunction(
        name=name,
        arguments=_arrays(callee.ins),
        argument_tree=Node.of(structure),
        results=_arrays(callee.outs),
        has_effects=callee.has_effects,
        is_ordered=callee.is_ordered,
    )


def _arrays(avals: Sequence[ShapedArray]) -> tuple[ArgInfo, ...]:
    return tuple([ArgInfo(a.shape, a.dtype, False, str(i)) for i, a in enumerate(avals)])


def calls_of(functions: HostFunctions) -> xla.HostCalls:
    """Return the functions in the form that the runtime calls."""
    return xla.HostCalls(
        tuple(functions.bound),
        functions.has_effects,
        any(function.is_ordered for function in functions.declared),
    )
