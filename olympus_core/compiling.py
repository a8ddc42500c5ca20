"""The path from a program to an executable, for the stages and for operations at once alike."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from olympus_core import lowering, xla
from olympus_core.avals import ShapedArray
from olympus_core.context import state
from olympus_core.olympuspr import Olympuspr

__all__ = ["compile_module", "entry_of", "lower"]

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


def lower(program: Olympuspr, entry: lowering.Entry, target: xla.Target) -> Any:
    """The StableHLO module of a program; donated buffers that no result can take are told.

    Raises LoweringError where the program has no form on the target.
    """
    lowering.tell_unusable(entry, program.in_avals)
    return lowering.lower_module(program, entry, xla.platform_of(target))


def compile_module(
    module: Any,
    name: str,
    in_avals: Sequence[ShapedArray],
    target: xla.Target,
    options: xla.Options | None = None,
) -> Any:
    """The executable of a module; told where `log_compiles` is on.

    Raises CompileError where the compiler fails, UsageError for an option that it does not have,
    BackendError where the backend is not installed.
    """
    start = time.perf_counter()
    made = xla.compile(module, target, options)
    if state.log_compiles:
        types = ", ".join(a.long_name() for a in in_avals)
        took = time.perf_counter() - start
        _logger.warning("compiled %s for (%s) in %.3f s", name, types, took)
    return made
