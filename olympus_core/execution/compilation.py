"""The path from a program to an executable, for the stages and for eager operations."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from olympus_core import xla
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.errors import OlympusWarning, UsageError
from olympus_core.blocks.inlining import without_blocks
from olympus_core.blocks.outline import Block, blocks, outline
from olympus_core.execution.channels_last import channels_last
from olympus_core.execution.compiled_loops import compile_loops, may_have_loops
from olympus_core.execution.groups_first import with_groups_first
from olympus_core.execution.hidden_arguments import (
    EMBEDDED,
    NO_ARGUMENTS,
    HiddenArguments,
    Storage,
    shifted_entry,
)
from olympus_core.execution.inspections import Inspected
from olympus_core.execution.kernel_transforms import with_transformed_kernels
from olympus_core.execution.residual_sums import with_sums_computed_once
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.effects import has_inspections, without_inspections
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering import whole_module as lowering
from olympus_core.lowering.block_results import order_block_results
from olympus_core.lowering.entry import EntryAttributes, aliases
from olympus_core.lowering.reductions import join_reductions, may_join_reductions
from olympus_core.lowering.slices import may_share_slices, share_slices
from olympus_core.placement.sharding import Sharding
from olympus_core.primitives.host_function import AnyCallee, host_calls

#: The modes of outlining repeated blocks: where it is a gain, or never.
Repeats = Literal["auto", "off"]
#: The implementations of decompositions: LAPACK where the platform has it, or always our own.
Linalg = Literal["auto", "portable"]

_logger = logging.getLogger("olympus")


def entry_attributes(
    name: str,
    program: Olympuspr,
    donated: frozenset[int] = frozenset(),
    result_info: Sequence[str] = (),
) -> EntryAttributes:
    """Return the attributes of a program's entry function, with aliases for donated buffers."""
    reused = aliases(donated, program.in_avals, program.out_avals)
    return EntryAttributes(name, result_info, reused, donated)


class Origin(NamedTuple):
    """The program that a module was lowered from, and the options, to lower it again.

    `source` is the program as it was passed to `lower`. `program` is the one in the module: it has
    no inspections, and its repeated blocks are nested programs. The compiler does not inline
    `blocks`. `has_forms` is True if the module has primitives in special forms for its target, and
    `has_shared_slices` if it has slices of arguments in the form of `lowering/slices.py`. `callees`
    are the Python functions that the module calls, and `partitioners` those by which the compiler
    partitions operations. `constants` are the values of the first
    arguments of the module and of `program`, which `source` and `entry` do not have. `is_folded` is
    True if operations on these were evaluated.
    """

    source: Olympuspr
    entry: EntryAttributes
    target: xla.Target
    repeats: Repeats
    program: Olympuspr
    blocks: tuple[Block, ...] = ()
    has_forms: bool = False
    has_shared_slices: bool = False
    callees: tuple[AnyCallee, ...] = ()
    partitioners: tuple[xla.Partitioner, ...] = ()
    constants: HiddenArguments = NO_ARGUMENTS
    storage: Storage = EMBEDDED
    is_folded: bool = False

    def inspected(self, module: Any) -> Inspected | None:
        """Return the module with the program that inspects arrays; None if it inspects none."""
        is_inspected = has_inspections(self.source)
        return Inspected(module, self.source, self.entry) if is_inspected else None

    @property
    def calls(self) -> xla.HostCalls:
        """The Python functions that the running program and its compiler call."""
        return host_calls(self.callees)._replace(partitioners=self.partitioners)

    def countable(self, module: Any, *, stacks: bool = False) -> Any:
        """Return a module of the same program to count its cost from.

        It is `module`, or, if that has forms for its target, a second one without them. With
        `stacks` it is a second one too, with the calls that lead to each operation.
        """
        has_forms = self.has_forms or self.has_shared_slices
        if not has_forms and not stacks and not self.is_folded:
            return module
        entry = self.entry._replace(portable=self.entry.portable or has_forms, callers=stacks)
        # a block is one function for all its occurrences, and has no calls that lead to it
        repeats: Repeats = "off" if stacks else self.repeats
        storage = self.storage._replace(folds=False)
        return lower(self.source, entry, self.target, repeats, storage)[0]


def lower(
    program: Olympuspr,
    entry: EntryAttributes,
    target: xla.Target,
    repeats: Repeats = "auto",
    storage: Storage = EMBEDDED,
) -> tuple[Any, Origin]:
    """Lower a program to a StableHLO module; return the module and its origin.

    With `repeats` "auto", repeated blocks are outlined if that is a gain: on the CPU. The blocks of
    a program that was raised from StableHLO stay there, and are inlined otherwise. A warning is
    given if the installed jaxlib does not support it.

    Raises LoweringError if the program has no form on the target, and UsageError if `repeats` is
    neither "auto" nor "off".
    """
    platform = xla.platform_of(target)
    if any(a.is_symbolic for a in program.in_avals):
        # the forms for one platform depend on sizes
        entry, repeats = entry._replace(portable=True), "off"
    source, own_entry, outlined = program, entry, tuple[Block, ...]()
    if has_inspections(program):
        program = simplify(without_inspections(program))
    is_for_one_cpu = platform == "cpu" and not entry.portable and entry.num_partitions == 1
    is_reordered = has_forms = False
    if is_for_one_cpu:
        given, program = program, channels_last(program)
        is_reordered = program is not given
        program = with_transformed_kernels(with_groups_first(program))
        has_forms = program is not given
    count = len(simplify(program).eqns) if storage.is_apart else 0
    program, hidden = storage.hide(program, has_kernels=not is_reordered)
    is_folded = storage.folds and len(hidden) > 0 and len(program.eqns) < count
    entry = shifted_entry(entry, len(hidden), storage.sharding, hidden.digests)
    if checked_repeats(repeats) == "auto" and platform == "cpu":
        program, outlined = _with_blocks(program)
    else:
        program = without_blocks(program)
    if is_for_one_cpu and not outlined:  # fusions end in blocks, so that sums do not grow there
        given, program = program, with_sums_computed_once(program)
        has_forms = has_forms or program is not given
    module, has_own, callees, partitioners = lowering.lower_with_forms(program, entry, platform)
    has_forms = has_forms or has_own
    if is_for_one_cpu and outlined:
        order_block_results(module)
    is_shared = is_for_one_cpu and may_share_slices(program) and share_slices(module) > 0
    if is_for_one_cpu and (has_own or may_have_loops(program)):
        has_forms = compile_loops(module) > 0 or has_forms
    if is_for_one_cpu and may_join_reductions(program):
        has_forms = join_reductions(module) > 0 or has_forms
    return module, Origin(
        source,
        own_entry,
        target,
        repeats,
        program,
        outlined,
        has_forms,
        is_shared,
        callees,
        partitioners,
        hidden,
        storage,
        is_folded,
    )


def _with_blocks(program: Olympuspr) -> tuple[Olympuspr, tuple[Block, ...]]:
    with_calls = outline(program)
    outlined = blocks(with_calls)
    if not outlined or xla.keeps_calls():
        return with_calls, outlined
    warnings.warn(
        "the installed jaxlib does not keep the repeated blocks of a program as functions: it is "
        "compiled without them, which takes longer",
        OlympusWarning,
        stacklevel=2,
    )
    return program, ()


def checked_repeats(repeats: object) -> Repeats:
    """Return the value, "auto" or "off"; raise UsageError for any other."""
    if repeats == "auto":
        return "auto"
    if repeats == "off":
        return "off"
    raise UsageError(f'repeats is "auto" or "off", and got {repeats!r:.80}')


def checked_linalg(linalg: object) -> Linalg:
    """Return the value, "auto" or "portable"; raise UsageError for any other."""
    if linalg == "auto":
        return "auto"
    if linalg == "portable":
        return "portable"
    raise UsageError(f'linalg is "auto" or "portable", and got {linalg!r:.80}')


def compile_module(
    module: Any,
    target: xla.Target,
    options: xla.Options | None = None,
    grid: Sequence[xla.Device] | None = None,
    like: Sequence[Sharding] = (),
    *,
    name: str,
    in_avals: Sequence[ShapedArray],
    inspected: Inspected | None = None,
    calls: xla.HostCalls | None = None,
) -> Any:
    """Compile a module, and log its name and the types of its arguments if `log_compiles` is on.

    `grid` are the devices of a program of several; by default the first of the target. If the
    program is `inspected`, the user's functions are called after the compilation, also if it
    failed. The shardings use the meshes of `like`, the program's own shardings. `calls` are the
    Python functions that the program calls: without them it cannot run.

    Raises CompileError if the compiler fails, UsageError for an unknown option, BackendError if the
    backend is not installed, and the errors of the user's functions.
    """
    start = time.perf_counter()
    if state.log_compiles:
        action, _, function = name.partition("_")
        logged = f"{action}({function})"
        types = ", ".join(a.long_name() for a in in_avals)
        _logger.warning("Compiling %s with global shapes and types (%s)", logged, types)
    if inspected is None:
        executable = xla.compile(module, target, options, grid, calls=calls)
    else:
        executable = inspected.compiled(target, options, grid, like, calls)
    if state.log_compiles:
        took = time.perf_counter() - start
        _logger.warning("Finished XLA compilation of %s in %.9f sec", logged, took)
    return executable
