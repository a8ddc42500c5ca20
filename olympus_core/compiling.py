"""The path from a program to an executable, for the stages and for operations at once alike."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from olympus_core import lowering, xla
from olympus_core.avals import ShapedArray
from olympus_core.context import state
from olympus_core.errors import OlympusWarning, UsageError
from olympus_core.olympuspr import Olympuspr
from olympus_core.outline import Block, blocks, outline

__all__ = [
    "LoweredProgram",
    "Repeats",
    "checked_repeats",
    "compile_module",
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
) -> lowering.Entry:
    """What the module of a program says of it: results take the donated buffers that fit them."""
    aliases = lowering.aliases(donated, program.in_avals, program.out_avals)
    return lowering.Entry(name, result_info, aliases, donated)


class LoweredProgram(NamedTuple):
    """A module, the program that it was emitted from, and its blocks, which the compiler keeps."""

    module: Any
    program: Olympuspr
    blocks: tuple[Block, ...] = ()


def lower(
    program: Olympuspr, entry: lowering.Entry, target: xla.Target, repeats: Repeats = "auto"
) -> LoweredProgram:
    """The StableHLO module of a program.

    With `repeats` "auto", repeated blocks are kept where that is a gain: on the CPU.  A warning
    tells where the installed jaxlib cannot.

    Raises LoweringError where the program has no form on the target, and UsageError where
    `repeats` is neither "auto" nor "off".
    """
    platform = xla.platform_of(target)
    found: tuple[Block, ...] = ()
    if checked_repeats(repeats) == "auto" and platform == "cpu":
        program, found = _with_blocks(program)
    return LoweredProgram(lowering.lower_module(program, entry, platform), program, found)


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


def compile_module(
    module: Any,
    name: str,
    in_avals: Sequence[ShapedArray],
    target: xla.Target,
    options: xla.Options | None = None,
    grid: Sequence[xla.Device] | None = None,
) -> Any:
    """The executable of a module; told where `log_compiles` is on.

    `grid` are the devices of a program of several; the first of the target unless given.

    Raises CompileError where the compiler fails, UsageError for an option that it does not have,
    BackendError where the backend is not installed.
    """
    start = time.perf_counter()
    made = xla.compile(module, target, options, grid)
    if state.log_compiles:
        types = ", ".join(a.long_name() for a in in_avals)
        took = time.perf_counter() - start
        _logger.warning("compiled %s for (%s) in %.3f s", name, types, took)
    return made
