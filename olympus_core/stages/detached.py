"""A compilation for the CPU whose input is plain data, so that another process can do it.

A process that compiles many programs takes less time for each than fresh processes, because it
initializes the compiler only once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from olympus_core import xla
from olympus_core.base import gc_pause

if TYPE_CHECKING:
    from olympus_core.analysis.memory.memory import Memory
    from olympus_core.analysis.records import Estimate


class CompileRequest(NamedTuple):
    """The input of a compilation for one device: the module as bytes, and all options of XLA.

    `argument_names` are those of the parameters, for the description of the memory.
    """

    module: bytes
    options: dict[str, str | int | bool | float]
    argument_names: tuple[str, ...]


class DetachedFigures(NamedTuple):
    """The memory of a compiled program, and the estimate of its time on its own device."""

    memory: Memory
    estimate: Estimate


class CompiledFiles(NamedTuple):
    """The files of a compilation, with XLA's own figures of them, and the time that XLA took.

    `Lowered.read_compiled` reads `executable` and `hlo`. `lowered_hlo` is the result of
    `Lowered.as_text("hlo")`.
    """

    executable: bytes
    hlo: str
    cost: dict[str, float] | None
    memory: xla.MemoryAnalysis
    xla_seconds: float
    lowered_hlo: str


def compile_files(request: CompileRequest) -> tuple[CompiledFiles, DetachedFigures | None]:
    """Compile the program of a request for the CPU, and inspect the result.

    The inspection is None if it needs the numbers of iterations of loops, which only the lowered
    program has. No other thread may trace or lower a program meanwhile.

    Raises:
      CompileError: the compiler fails.
      UsageError: an option has an invalid value.
      ArtifactError: the compiler cannot serialize the executable.

    >>> files, inspection = compile_files(jit(f).lower(1.0).compile_request())
    >>> files.executable == jit(f).lower(1.0).compile().serialize()
    True
    """
    target = xla.Target("cpu")
    executable = xla.compile(request.module, target, request.options, reuses_context=True)
    serialized = executable.serialize()
    executable.read_from(serialized)
    files = CompiledFiles(
        serialized,
        executable.hlo_text(),
        executable.cost_analysis(),
        executable.memory(),
        executable.xla_seconds or 0.0,
        xla.hlo_text(request.module),
    )
    return files, _inspection(executable, request.argument_names)


class _LoopsNeeded(Exception):
    """An estimate depends on numbers of iterations that are not in the compiled program."""


def _inspection(
    executable: xla.Executable | xla.CompileOnlyExecutable, argument_names: tuple[str, ...]
) -> DetachedFigures | None:
    from olympus_core.analysis.hlo.estimate import estimate  # imported only if needed
    from olympus_core.analysis.memory.memory import memory_of

    def loops() -> NoReturn:
        raise _LoopsNeeded

    try:
        with gc_pause.paused():
            time = estimate(executable.hlo_module(), executable.target, loops=loops)
            return DetachedFigures(memory_of(executable, argument_names), time)
    except _LoopsNeeded:
        return None
