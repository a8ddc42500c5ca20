"""The stages of ahead-of-time compilation: Traced, then Lowered (`lowered`) and Compiled."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.base.errors import LoweringError, UsageError
from olympus_core.execution import compilation
from olympus_core.execution.compilation import Linalg, Repeats
from olympus_core.execution.hidden_arguments import (
    EMBEDDED,
    Constants,
    Storage,
    checked_constants,
)
from olympus_core.execution.spmd import (
    Placement,
    partitioned,
    placement,
    target_for,
    whole_on_mesh,
)
from olympus_core.ir.effects import has_inspections
from olympus_core.ir.olympuspr import JaxProgram, Olympuspr
from olympus_core.lowering.entry import EntryAttributes, with_usable_donations
from olympus_core.stages.compiled import Compiled
from olympus_core.stages.interface import ArgInfo, Interface, Stage
from olympus_core.stages.lowered import Lowered, may_have_blocks
from olympus_core.stages.sharded_compiled import ShardedCompiled

if TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost
    from olympus_core.placement.sharding import Sharding

__all__ = ["ArgInfo", "Compiled", "Interface", "Lowered", "ShardedCompiled", "Traced"]


def requested_target(
    target: xla.Target | None, lowering_platforms: str | Sequence[str] | None
) -> xla.Target | None:
    """Return the requested target, or that of the first platform; None if neither is requested.

    Raises UsageError for both, and for an unknown platform.

    >>> requested_target(None, ("cuda", "cpu")).backend
    'gpu'
    """
    if target is not None and lowering_platforms is not None:
        raise UsageError("lower takes a target or lowering_platforms, and got both")
    if target is not None or not lowering_platforms:
        return target
    names = [lowering_platforms] if isinstance(lowering_platforms, str) else lowering_platforms
    return xla.target_on(names[0])


class Traced(Stage):
    """A function traced for given arguments: its program in the IR."""

    def __init__(self, signature: Interface, olympuspr: Olympuspr) -> None:
        super().__init__(signature)
        self.olympuspr = olympuspr

    @property
    def reference_program(self) -> Olympuspr:
        """The program whose operations `verify` runs one by one; it may not be the compiled one."""
        return self.olympuspr

    @property
    def jaxpr(self) -> JaxProgram:
        """The program under JAX's names, which is printed as JAX prints it."""
        return self.olympuspr.jaxpr

    def _repr_html_(self) -> str:
        """Return HTML of the arrays and the program, for a notebook."""
        from olympus_core.base.notebook import stage_html  # few programs are shown

        facts = [("equations", f"{len(self.olympuspr.eqns):,}")]
        return stage_html(self, facts, [("Olympuspr", lambda: str(self.olympuspr))])

    def lower(
        self,
        target: xla.Target | None = None,
        *,
        lowering_platforms: str | Sequence[str] | None = None,
        repeats: Repeats = "auto",
        linalg: Linalg = "auto",
        constants: Constants = "embed",
    ) -> Lowered:
        """Lower to StableHLO for a target.

        The default target is the devices of the program's mesh, or the CPU if it has none.

        `lowering_platforms` names the platforms instead: "cpu", "cuda" or "tpu".  With several
        platforms, the program must be the same on all of them, and is compiled for the first.

        With `repeats` "auto", a repeated block of the program becomes a function that the compiler
        does not inline, if the only target is the CPU.  With "off", no block does.

        With `linalg` "auto", decompositions of matrices call LAPACK on the CPU.  With "portable"
        they are loops of StableHLO there too, as on accelerators, so that the executable runs
        outside of Python.

        With `constants` "embed", arrays that the function closes over are in the program.  With
        "store", those of 64 KiB or more are leading arguments of the module, which a compiled
        program binds: `artifact.save` stores each once, whatever the number of executables.

        Raises LoweringError if the program has no form on the target, or differs between the
        platforms, and UsageError for an unknown platform or another value of `repeats`, `linalg` or
        `constants`.

        >>> jit(f).trace(1.0).lower(Target("gpu", "h200"))
        >>> jit(f).trace(1.0).lower(lowering_platforms=("cuda",))
        >>> jit(f).trace(1.0).lower(repeats="off", linalg="portable")
        >>> jit(f).trace(1.0).lower(constants="store").constants.bytes
        0
        """
        target = requested_target(target, lowering_platforms)
        repeats = compilation.checked_repeats(repeats)
        s, where, entry = self.signature, self.placement(), self.entry(f"jit_{self.fun_name}")
        entry = entry._replace(lapack=compilation.checked_linalg(linalg) == "auto")
        if where is None:  # otherwise it depends on the parts of arrays
            entry = with_usable_donations(entry, s.in_avals, s.out_avals, s.arg_names)
        # an inspection lowers the program again, with its constants
        is_apart = checked_constants(constants) == "store" and not has_inspections(self.olympuspr)
        storage = Storage(is_apart, whole_on_mesh(where))

        def lower(to: xla.Target) -> Lowered:
            return self._lower(entry, where, to, repeats, storage)

        if not lowering_platforms:
            return lower(target or target_for(where))
        names = [lowering_platforms] if isinstance(lowering_platforms, str) else lowering_platforms
        entry = entry._replace(portable=len(names) > 1)
        first, *rest = [lower(xla.target_on(name)) for name in names]
        for name, lowered in zip(names[1:], rest, strict=True):
            if lowered.as_text() != first.as_text():
                raise LoweringError(
                    f"'{self.fun_name}' is another program on {name} than on {names[0]}",
                    hint="lower for one platform at a time",
                )
        return first

    def _lower(
        self,
        entry: EntryAttributes,
        where: Placement | None,
        target: xla.Target,
        repeats: Repeats,
        storage: Storage = EMBEDDED,
    ) -> Lowered:
        if where is not None:
            entry = partitioned(entry, self.olympuspr, where)
        if not may_have_blocks(entry, where, target):
            repeats = "off"
        module, origin = compilation.lower(self.olympuspr, entry, target, repeats, storage)
        return Lowered(self.signature, module, target, where, origin)

    def cost(self, trips: Mapping[str, int] | None = None) -> Cost:
        """Return the cost of the program, lowered for the CPU: see `Lowered.cost`."""
        entry = self.entry(f"jit_{self.fun_name}")
        return self._lower(entry, self.placement(), xla.Target("cpu"), "auto").cost(trips)

    def entry(self, name: str) -> EntryAttributes:
        """Return the attributes of the entry function of a module called `name`."""
        s = self.signature
        entry = compilation.entry_attributes(name, self.olympuspr, s.donated, self.result_names)
        return entry._replace(in_shardings=s.in_shardings, out_shardings=s.out_shardings)

    def with_donations(self, indices: Sequence[int]) -> Traced:
        """Return the program with the buffers of these arguments, by flat index, donated too.

        >>> traced.with_donations([0]).donate_argnums
        (0,)
        """
        changed = copy.copy(self)
        donated = self.signature.donated.union(indices)
        changed.signature = self.signature._replace(donated=donated)
        return changed

    def with_out_shardings(self, out_shardings: Any) -> Traced:
        """Return the program with the given shardings of its results, as `jit(out_shardings=)`.

        `out_shardings` is a tree prefix of the result, with None for the compiler's choice.  Use
        it for shardings that depend on the structure or the types of the result, which are in
        `out_info`.

        Raises ShardingError for a sharding that cannot cut its result, and TransformError if
        `out_shardings` is not a tree prefix of the result.

        >>> traced = jit(f).trace(x)
        >>> traced.with_out_shardings(tree.map(lambda _: replicated, traced.out_info))
        """
        shardings = self._result_shardings(out_shardings)
        return Traced(self.signature._replace(out_shardings=shardings), self.olympuspr)

    def _result_shardings(self, out_shardings: Any) -> tuple[Sharding | None, ...]:
        """Return the sharding of each array of the result; raise as `with_out_shardings` does."""
        s = self.signature
        full = s.out_tree.unflatten(range(len(s.out_avals)))
        shardings = tree.prefix_leaves("with_out_shardings", "out_shardings", out_shardings, full)
        for aval, name, sharding in zip(s.out_avals, self.result_names, shardings, strict=True):
            if sharding is not None:
                sharding.check_shape(aval.shape, f"{name} of '{self.fun_name}'")
        return tuple(shardings)

    def placement(self) -> Placement | None:
        """Return the devices that the program requires; None if it runs on any one device.

        Raises ShardingError if its shardings require different sets of devices.
        """
        s = self.signature
        return placement(
            self.fun_name, self.olympuspr, s.in_shardings, s.out_shardings, self.arg_names
        )
