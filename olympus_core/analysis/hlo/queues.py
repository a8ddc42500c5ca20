"""The kernels of a CPU program that the runtime may pass to other threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from olympus_core.analysis.operations.table import operation_of
from olympus_core.xla.hlo.hlo_module import Computation, Instruction

#: The sequences that the runtime runs in order, in one thread: those of at most `_SHORT` kernels,
#: and those of which no array is larger than `_SMALL` bytes.
_SHORT, _SMALL = 8, 512


def queued_kernels(instructions: Sequence[Instruction], computation: Computation) -> frozenset[int]:
    """Return the ids of the kernels that can run beside others of the same computation.

    `instructions` are those of the computation, operands before their users. The runtime runs the
    kernels of a short sequence, of a sequence on small arrays and of a chain in order. For any
    other sequence it queues the kernels that are ready. Kernels at the same depth of the dataflow
    count as ready together.

    Source: xla/backends/cpu/runtime/thunk_executor.h, ThunkExecutor::Options.
    """
    kernels = [i for i in instructions if not operation_of(i.opcode).is_free]
    if len(kernels) <= _SHORT or not any(_has_large(i, computation) for i in kernels):
        return frozenset()
    depths: dict[int, int] = {}
    for each in instructions:
        above = max((depths.get(id, 0) for id in each.operand_ids), default=0)
        depths[each.id] = above + (not operation_of(each.opcode).is_free)
    width = Counter(depths[each.id] for each in kernels)
    return frozenset(each.id for each in kernels if width[depths[each.id]] > 1)


def _has_large(instruction: Instruction, computation: Computation) -> bool:
    """Return True if an instruction reads or writes an array that is not small."""
    operands = (computation.instructions[id] for id in instruction.operand_ids)
    values = (instruction, *operands)
    return any(leaf.bytes > _SMALL for value in values for _, leaf in value.shape.leaves())
