"""The values on the devices in the body of an eager `shard_map`, while the body is staged.

A body is one program. If it reads a value, as by `print(x)` or `if x > 0`, the operations before
are run for this value alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state
from olympus_core.control.shard_map import Specs, manual_naming, shard_map_p
from olympus_core.ir import trace, unreduced_rules
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.effects import without_effects
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.tracer import Tracer
from olympus_core.placement.mesh import AnyMesh, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.primitives.collective import varying
from olympus_core.primitives.elementwise.base import reshape
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.staging import hoist_consts, stage


class ManualValues:
    """The reader of the values of an eager call: its mesh, its arguments and their specs."""

    def __init__(
        self,
        mesh: AnyMesh,
        manual: frozenset[Any],
        checked: bool,
        arguments: Sequence[Any],
        specs: Sequence[PartitionSpec],
    ) -> None:
        self.mesh, self.manual, self.checked = mesh, manual, checked
        self.arguments, self.specs = arguments, specs

    def same(self, program: Olympuspr) -> np.ndarray[Any, Any] | None:
        """Return the only result of `program` if it is the same on all devices; None otherwise."""
        aval: ShapedArray = program.out_avals[0]
        values = None if aval.vma or not self.checked else self._values(program)
        return None if values is None else values[0]

    def text(self, program: Olympuspr) -> str | None:
        """Return the result on each device as text; None if it cannot be read."""
        if not isinstance(self.mesh, Mesh) or self.manual != set(self.mesh.axis_names):
            return None
        values = self._values(program)
        if values is None:
            return None
        names = f"({', '.join(map(str, self.mesh.axis_names))},)"
        places = np.ndindex(*self.mesh.axis_sizes)
        blocks = [
            f"On {d.platform}:{d.id} at mesh coordinates {names} = {place}:\n{value}\n"
            for d, place, value in zip(self.mesh.flat_devices, places, values, strict=True)
        ]
        return "\n".join(blocks)

    def _values(self, program: Olympuspr) -> np.ndarray[Any, Any] | None:
        """Return the result of each device, in the order of the mesh; None if it is unreduced."""
        if any(map(unreduced_rules.unreduced, program.out_avals)):
            return None
        state.reference_reads += 1  # the body is staged again for other values
        closed, consts = hoist_consts(program)
        closed, used = restrict(without_effects(closed), (True,))
        operands = [*consts, *self.arguments]
        if any(isinstance(operands[i], Tracer) for i in used):
            return None
        specs = [*[PartitionSpec()] * len(consts), *self.specs]
        axes = tuple([n for n in self.mesh.axis_names if n in self.manual])
        with trace.outermost():
            with manual_naming(self.mesh, self.manual, self.checked):
                body = stage(self._rows(closed, frozenset(axes)), closed.in_avals)
            ins: Specs = tuple([specs[i] for i in used])
            (rows,) = shard_map_p.bind(
                *[operands[i] for i in used],
                olympuspr=body,
                mesh=self.mesh,
                in_specs=ins,
                out_specs=(PartitionSpec(axes),),
                manual_axes=axes,
                check_vma=self.checked,
            )
        return np.asarray(rows)

    def _rows(self, program: Olympuspr, axes: frozenset[Any]) -> Any:
        """Return the function of parts whose result is a row for each device."""

        def rows(*parts: Any) -> list[Any]:
            (value,) = evaluate(program, list(parts))
            value = varying(value, axes) if self.checked else value
            return [reshape(value, (1, *get_aval(value).shape))]

        return rows
