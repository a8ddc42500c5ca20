"""A compilation for the CPU whose input is plain data, so that another process can do it.

A process that compiles many programs takes less time for each than fresh processes, because it
initializes the compiler only once.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core import xla


class CompileRequest(NamedTuple):
    """The input of XLA for a program of one device: its module as bytes, and all options."""

    module: bytes
    options: dict[str, str | int | bool | float]


class CompiledFiles(NamedTuple):
    """The result of a compilation as plain data, with XLA's own figures.

    `Lowered.read_compiled` reads `executable` and `hlo`. XLA took `xla_seconds`. Its result has
    figures of the memory too, if the executable describes it.
    """

    executable: bytes
    hlo: str
    cost: dict[str, float] | None
    memory: xla.MemoryAnalysis
    xla_seconds: float


def compile_files(module: bytes, options: xla.Options) -> CompiledFiles:
    """Compile the module of a `CompileRequest` for the CPU, with its options.

    Raises:
      CompileError: the compiler fails.
      UsageError: an option has an invalid value.
      ArtifactError: the compiler cannot serialize the executable.

    >>> request = jit(f).lower(1.0).compile_request()
    >>> compile_files(*request).executable == jit(f).lower(1.0).compile().serialize()
    True
    """
    executable = xla.compile(module, xla.Target("cpu"), options)
    return CompiledFiles(
        executable.serialize(),
        executable.hlo_text(),
        executable.cost_analysis(),
        executable.memory(),
        executable.xla_seconds or 0.0,
    )
