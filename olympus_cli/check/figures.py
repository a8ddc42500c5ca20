"""The figures that budgets limit, of one target on one of its backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from olympus.analysis import CostRow
from olympus.errors import BackendError
from olympus_cli.reports.program_figures import CompiledFigures, CostReport


@dataclass(frozen=True)
class Figures:
    """The figures of a target on one backend; None for a figure that no budget needs.

    `ops` are the StableHLO operations as written, by their full names, and `instructions` those of
    the optimized program by opcode. `dtypes` has the dtype of each argument and result of the
    program by its name, such as "argument x". `donations` are the names of the donated arguments,
    and `unused_donations` those without a result that takes their memory. `lines_of` returns the
    cost by line of an operation, or of a dtype, and `written_at` the number of occurrences of an
    operation at each place. `absent` is the error of the compilation if the compiler for the
    backend is not installed.
    """

    backend: str
    cost: CostReport
    by_operation: tuple[CostRow, ...]
    by_dtype: tuple[CostRow, ...]
    ops: Mapping[str, int]
    dtypes: Mapping[str, str]
    donations: tuple[str, ...]
    unused_donations: tuple[str, ...]
    lines_of: Callable[[str | None, str | None], Sequence[CostRow]]
    written_at: Callable[[str], Sequence[tuple[float, str]]]
    compiled: CompiledFigures | None = None
    instructions: Mapping[str, int] | None = None
    executable_size: int | None = None
    bundle_size: int | None = None
    absent: BackendError | None = None
