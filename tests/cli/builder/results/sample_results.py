"""Small results of compilations, made without a compiler."""

from __future__ import annotations

import hashlib

from olympus.analysis import MemorySizes
from olympus.stages import MemoryAnalysis
from olympus_cli.builder.results.entry import encoded
from olympus_cli.builder.results.result import CompilationResult, CompilerFigures
from olympus_cli.reports.build_report import XlaCost, XlaReport


def key_of(number: int) -> str:
    """The key of a sample."""
    return hashlib.sha256(f"{number}".encode()).hexdigest()


def sample(number: int = 0, size: int = 100) -> CompilationResult:
    """A result whose executable has `size` bytes and depends on the number."""
    xla = XlaReport(XlaCost(1.5, None, 2.5), MemoryAnalysis(1, 2, 3, 4, None, None))
    memory = MemorySizes(*range(8))
    executable = (f"{number} ".encode() * size)[:size]
    figures = CompilerFigures(1.25, 1.0, xla, memory)
    return CompilationResult(executable, f"HloModule é {number}", (("model.py", 41),), figures)


def entry(number: int = 0, size: int = 100) -> bytes:
    """The bytes of the entry of a sample."""
    return b"".join(encoded(key_of(number), "forward", "cpu", sample(number, size)))
