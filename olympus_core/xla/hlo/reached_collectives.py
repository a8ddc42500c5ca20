"""A check that all devices reach the collectives that the compiler inserts.

In a body that is mapped over some axes of a mesh, the compiler partitions arrays along the other
axes and inserts collectives. If the predicate of a branch or a loop may differ between devices,
some devices may not reach a collective, and the others wait forever. Lowering marks such a branch
or loop. Only the optimized program shows the collectives in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from olympus_core.base.errors import ShardingError
from olympus_core.base.source import Position
from olympus_core.xla.hlo.hlo_module import HloModule, Instruction
from olympus_core.xla.hlo.replica_groups import COLLECTIVES, Groups

#: The frontend attribute of an operation whose predicate may differ; XLA preserves it.
DIFFERS = "olympus_differs"
_AXIS = re.compile(r"(\S*)=([1-9]\d{0,8}):([1-9]\d{0,8})")


class Spread(NamedTuple):
    """The layout of devices along a mesh axis: device d has coordinate `d // stride % size`."""

    stride: int
    size: int


def differs_text(axes: Mapping[str, Spread]) -> str:
    """Return the value of the attribute `DIFFERS`, for the axes along which a predicate may differ.

    It is "-" if there are none.

    >>> differs_text({"x": Spread(stride=4, size=2)})
    'x=4:2'
    """
    axis_texts = [f"{quote(name)}={at.stride}:{at.size}" for name, at in sorted(axes.items())]
    return ",".join(axis_texts) or "-"


def _axes_of(text: str) -> dict[str, Spread]:
    matches = map(_AXIS.fullmatch, text.split(","))
    return {unquote(m[1]): Spread(int(m[2]), int(m[3])) for m in matches if m is not None}


def check_collectives_reached(module: HloModule, on_cpu: bool) -> None:
    """Check an optimized program of several devices, compiled for the CPU or for others.

    Raises ShardingError if some devices may not reach a collective in which the others wait.
    """
    for computation in module.computations.values():
        for decider in computation.instructions.values():
            if axes := _axes_of(decider.frontend_attributes.get(DIFFERS, "")):
                for collective in _inside(module, decider):
                    _check(decider, axes, collective, on_cpu)


def _inside(module: HloModule, decider: Instruction) -> Iterator[Instruction]:
    """Yield the collectives in the computations that an instruction runs conditionally."""
    pending, visited = [*decider.called_computation_ids], set[int]()
    while pending:
        if (called := pending.pop()) in visited:
            continue
        visited.add(called)
        for instruction in module.computations[called].instructions.values():
            if instruction.opcode.removesuffix("-start") in COLLECTIVES:
                yield instruction
            pending.extend(instruction.called_computation_ids)


def _check(
    decider: Instruction, axes: Mapping[str, Spread], collective: Instruction, on_cpu: bool
) -> None:
    groups = _waiting(collective, on_cpu)
    for name, (stride, size) in axes.items():
        if groups is None or any(len({d // stride % size for d in g}) > 1 for g in groups):
            raise _unreached_error(decider, name, collective)


def _waiting(collective: Instruction, on_cpu: bool) -> Groups | None:
    """Return the groups of devices that wait for each other; None if all devices do."""
    if collective.opcode.startswith("collective-permute"):
        return None if on_cpu else collective.source_target_pairs
    return collective.replica_groups or None


def _unreached_error(decider: Instruction, axis: str, collective: Instruction) -> ShardingError:
    is_loop = decider.opcode == "while"
    decided = (
        "the condition of while_loop"
        if is_loop
        else "the predicate of cond, or the index of switch,"
    )
    operation = collective.op_name.rsplit("/", 1)[-1] or collective.name
    why = f"make it the same on all devices along {axis!r}, as by lax.pmax or lax.psum"
    if not is_loop:
        why += ", or compute both branches and choose between them by lax.select"
    return ShardingError(
        f"{decided} may differ along the axis {axis!r}{_place(decider)}\n"
        f"  so some devices along it may not reach the {collective.opcode} that the compiler "
        f"inserts for {operation}{_place(collective)}, and the others would wait for them for ever",
        hint=why,
        location=decider.line,
    )


def _place(instruction: Instruction) -> str:
    if not instruction.source_file:
        return ""
    at = Position(instruction.source_file, instruction.source_line, 0, "")
    text = at.text()
    return f", at {at}: {text}" if text else f", at {at}"
