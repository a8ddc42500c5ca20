"""The path from a program to an executable, for the stages and for operations at once alike."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from olympus_core import lowering, xla
from olympus_core.context import state
from olympus_core.effects import without_effects
from olympus_core.entry import Entry, aliases
from olympus_core.errors import OlympusWarning, UsageError
from olympus_core.inspecting import Inspected
from olympus_core.olympuspr import Olympuspr
from olympus_core.outline import Block, blocks, outline
from olympus_core.sharding import Sharding
from olympus_core.simplify import simplify

__all__ = [
    "LoweredProgram",
    "Repeats",
    "checked_repeats",
    "compile_lowered",
    "entry_of",
    "lower",
]

#: whether the compiler keeps the repeated blocks of a program: where it is a gain, or never
Repeats = Literal["auto", "off"]

_logger = logging.getLogger("olympus")


def entry_of(
    name: str,
    program: Olympuspr,
    donated: frozenset[int] = frozenset(),
    result_info: Sequence[str] = (),
) -> Entry:
    """What the module of a program says of it: results take the donated buffers that fit them."""
    taken = aliases(donated, program.in_avals, program.out_avals)
    return Entry(name, result_info, taken, donated)


class LoweredProgram(NamedTuple):
    """A module, and what it was emitted from: a program, and what its entry function says.

    `blocks` are those of the program that the compiler keeps.  The program has no effects;
    `inspecting` is the one with them, where there are any.  `has_forms` says that the module has
    primitives in other forms than usual, for what it is compiled by.
    """

    module: Any
    program: Olympuspr
    entry: Entry
    blocks: tuple[Block, ...] = ()
    inspecting: Olympuspr | None = None
    has_forms: bool = False


def lower(
    program: Olympuspr, entry: Entry, target: xla.Target, repeats: Repeats = "auto"
) -> LoweredProgram:
    """The StableHLO module of a program.

    With `repeats` "auto", repeated blocks are kept where that is a gain: on the CPU.  A warning
    tells where the installed jaxlib cannot.

    Raises LoweringError where the program has no form on the target, and UsageError where
    `repeats` is neither "auto" nor "off".
    """
    platform = xla.platform_of(target)
    found: tuple[Block, ...] = ()
    inspecting = program if program.effects else None
    if inspecting is not None:
        program = simplify(without_effects(program))
    if checked_repeats(repeats) == "auto" and platform == "cpu":
        program, found = _with_blocks(program)
    module, has_forms = lowering.lower_telling_forms(program, entry, platform)
    return LoweredProgram(module, program, entry, found, inspecting, has_forms)


def _with_blocks(program: Olympuspr) -> tuple[Olympuspr, tuple[Block, ...]]:
    outlined = outline(program)
    found = blocks(outlined)
    if not found or xla.keeps_calls():
        return outlined, found
    warnings.warn(
        "the installed jaxlib does not keep the repeated blocks of a program as functions: it is "
        "compiled without them, which takes longer",
        OlympusWarning,
        stacklevel=2,
    )
    return program, ()


def checked_repeats(repeats: object) -> Repeats:
    """The value, "auto" or "off"; raises UsageError for any other."""
    if repeats == "auto":
        return "auto"
    if repeats == "off":
        return "off"
    raise UsageError(f'repeats is "auto" or "off", and got {repeats!r:.80}')


def compile_lowered(
    lowered: LoweredProgram,
    target: xla.Target,
    options: xla.Options | None = None,
    grid: Sequence[xla.Device] | None = None,
    like: Sequence[Sharding] = (),
) -> Any:
    """The executable of a module; told where `log_compiles` is on.

    `grid` are the devices of a program of several; the first of the target unless given.  Where the
    program inspects arrays, the user's functions are called when it is compiled, and when the
    compiler failed; the shardings are named after the meshes of `like`, those it is placed by.

    Raises CompileError where the compiler fails, UsageError for an option that it does not have,
    BackendError where the backend is not installed, and what the user's functions raise.
    """
    start = time.perf_counter()
    if lowered.inspecting is None:
        made = xla.compile(lowered.module, target, options, grid)
    else:
        program = Inspected(lowered.module, lowered.inspecting, lowered.entry)
        made = program.compiled(target, options, grid, like)
    if state.log_compiles:
        types = ", ".join(a.long_name() for a in lowered.program.in_avals)
        took = time.perf_counter() - start
        _logger.warning("compiled %s for (%s) in %.3f s", lowered.entry.name, types, took)
    return made
