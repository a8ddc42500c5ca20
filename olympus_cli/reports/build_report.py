"""The results of a build of one target: the object that every form of report is made from.

`to_data` and `from_data` convert it to plain data and back.  Sizes are in bytes, times in seconds;
None is a number that the backend does not report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from types import MappingProxyType
from typing import Any, Literal

from olympus.files import Forms, form, to_data, typed
from olympus.stages import ArgInfo, MemoryAnalysis
from olympus_cli.reports.program_figures import FORMS, CompiledFigures, CostReport
from olympus_cli.reports.versioned_json import is_inside

# The keys of XLA's `memory`, and their fields.
_MEMORY = {
    "argument": "argument_size_in_bytes",  # the arguments
    "output": "output_size_in_bytes",  # the results
    "temp": "temp_size_in_bytes",  # scratch space
    "alias": "alias_size_in_bytes",  # results in the place of donated arguments
    "generated_code": "generated_code_size_in_bytes",  # the instructions
    "peak": "peak_memory_in_bytes",  # as XLA counts it: on the CPU without scratch space
}

SCHEMA_VERSION = 9  # raised with every change that an old reader would misread


@dataclass(frozen=True)
class XlaCost:
    """XLA's counts for the optimized program: a loop's body once, and no library calls.

    `optimal_seconds` is the estimate of the compiler for TPUs; None for other compilers.
    """

    flops: float | None
    transcendentals: float | None
    bytes_accessed: float | None
    optimal_seconds: float | None = None

    @property
    def intensity(self) -> float | None:
        """Arithmetic intensity: floating-point operations per byte accessed."""
        if self.flops is None or not self.bytes_accessed:
            return None
        return self.flops / self.bytes_accessed


@dataclass(frozen=True)
class XlaReport:
    """XLA's own figures, which differ from those of the report."""

    cost: XlaCost
    memory: MemoryAnalysis


@dataclass(frozen=True)
class Seconds:
    """The parts of a build, one after the other, until the report is written."""

    load: float  # the program is imported, and shapes are taken `from` functions
    trace: float
    lower: float
    compare: float  # the content key is taken, and what is there looked at
    compile: float  # meanwhile the program as lowered is written
    inspect: float  # the optimized program is written and counted, costs and memory queried
    serialize: float  # the compiler gives its executables as bytes
    write: float  # everything else is written, and put on the disk

    @property
    def total(self) -> float:
        """The sum of all parts."""
        total: float = sum(astuple(self))
        return total


@dataclass(frozen=True)
class BlockReport:
    """A repeated block of the program, which is kept as a function; `lines` as in "gpt.py:12"."""

    name: str
    equations: int
    occurrences: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ResultOrigin:
    """The origin of a compilation result: this build, or a store of results.

    `key` is the key of the compilation; None without a store. `url` is the address of the remote
    store, without credentials.
    """

    source: Literal["compiled", "local", "remote"]
    key: str | None
    url: str | None


@dataclass(frozen=True)
class BackendReport(CompiledFigures):
    """The program for one backend; `ops` counts the instructions of the optimized program.

    `compile_seconds` is the time of its compilation, of which XLA itself took `xla_seconds`. If the
    result is from a store, these are the times when it was compiled.
    """

    label: str
    name: str
    device: str | None
    key: str
    cost: CostReport
    xla: XlaReport
    lower_seconds: float
    compile_seconds: float
    xla_seconds: float
    ops: Mapping[str, int]
    blocks: tuple[BlockReport, ...]
    result: ResultOrigin

    @property
    def figures(self) -> CompiledFigures:
        """The figures of the compiled program alone."""
        names = CompiledFigures.__dataclass_fields__
        return CompiledFigures(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True)
class OutputFile:
    """One file of the build, relative to the target's directory."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Report:
    """One target; `ops` counts the StableHLO operations as lowered for the first backend.

    `peak_memory` is that of the process that compiled it.
    """

    target: str
    entry: str
    versions: Mapping[str, str]
    statics: Mapping[str, str]
    arguments: tuple[ArgInfo, ...]
    results: tuple[ArgInfo, ...]
    optimize: str
    seconds: Seconds
    peak_memory: int | None
    ops: Mapping[str, int]
    backends: tuple[BackendReport, ...]
    outputs: tuple[OutputFile, ...]
    warnings: tuple[str, ...]

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `report.schema.json`."""
        return {"schema_version": SCHEMA_VERSION, **to_data(self, REPORT_FORMS)}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Report:
        """Return the report of `to_data`'s `data`; its version is not checked.

        Raises:
            ValueError: the data is not that of a report, or names a file outside the folder.
        """
        stored = {name: value for name, value in data.items() if name != "schema_version"}
        report: Report = typed(stored, Report, forms=REPORT_FORMS)
        for output in report.outputs:
            if not is_inside(output.path):
                raise ValueError(f"the output {output.path!r} is not inside the folder")
        return report


#: The keys in `report.json` of the records that have others than their fields.
REPORT_FORMS: Forms = MappingProxyType(
    {
        **FORMS,
        ArgInfo: form("name", "dtype", "shape", "bytes", "donated"),
        MemoryAnalysis: _MEMORY,
        XlaCost: form(
            *(
                "flops",
                "transcendentals",
                "bytes_accessed",
                "arithmetic_intensity",
                "optimal_seconds",
            ),
            arithmetic_intensity="intensity",
        ),
    }
)
