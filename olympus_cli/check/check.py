"""The check of a target against its budget, in the process that lowers and compiles it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import olympus
from olympus.analysis import Graph, SourceMap, graph_of
from olympus.errors import ArtifactError, DeviceMemoryError, MachineError
from olympus.files import path_text, typed
from olympus_cli.builder.folder_locks import requested_lock
from olympus_cli.builder.retracing import instability_of, unstable_warning
from olympus_cli.builder.reuse import TargetFolder, up_to_date
from olympus_cli.check.budget import Figures, Verdict, figures_of, judge_budget
from olympus_cli.check.golden import judge_golden, unstable
from olympus_cli.check.golden_files import read_program, read_saved
from olympus_cli.program.bundle import save_bundle
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.build_report import Report
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.program_figures import compiled_figures, cost_report
from olympus_cli.reports.relative_paths import relative
from olympus_cli.spec.entries import BUNDLE_SUFFIX
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.messages import Channel

_DIALECTS = ("", "stablehlo.", "chlo.", "func.")


@dataclass(frozen=True)
class Checked:
    """The result of the check of one target: its verdicts, and its figures by backend and key.

    `programs` are the texts to save by backend, for an update of a golden target. `lowered` are the
    programs of all backends as StableHLO, and `sources` the source lines of their operations.
    """

    target: str
    verdicts: tuple[Verdict, ...]
    figures: Mapping[str, Mapping[str, float]]
    programs: Mapping[str, str]
    warnings: tuple[str, ...]
    lowered: Mapping[str, str]
    sources: Mapping[str, str]

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts that fail the check."""
        return tuple(verdict for verdict in self.verdicts if verdict.fails)

    @property
    def is_judged(self) -> bool:
        """True if at least one verdict judges the target, or fails because nothing is saved."""
        return any(verdict.is_judged or verdict.fails for verdict in self.verdicts)

    @staticmethod
    def from_data(data: object) -> Checked:
        """Return the object for the data of `check_in_worker`."""
        checked: Checked = typed(data, Checked)
        return checked


def check_in_worker(
    on_stage: Channel, spec: TargetSpec, update: bool, has_locks: bool
) -> dict[str, Any]:
    """Check a target on each of its backends; return a `Checked` as plain data.

    Relative limits are relative to the saved figures, or with `update` to the figures of this
    check. With `has_locks`, the parent process has the locks of build folders.

    Raises:
        ArtifactError: the saved figures or the golden program cannot be read.
        OlympusError: an error of a stage of the program.
    """
    saved = {} if update else read_saved(spec.root, spec.name).figures
    program = Program.of(spec, on_stage, until="lower")
    spec = program.spec  # with the values of symbolic sizes
    program.check_trips()
    report, sizes, units = None, dict[str, int](), program.units
    absent: MachineError | None = None
    if spec.budget.compiles:
        absent = program.leave_out_absent()
        lock = requested_lock(on_stage) if has_locks else None
        try:
            build = up_to_date(program, on_stage, TargetFolder(lock))
            if build is None:
                program.compile()
        except DeviceMemoryError:  # the verdict on each limit that needs the executable
            absent, build = program.compile_fitting(), None
        if build is None:
            sizes = _sizes(program)
        else:
            report, sizes = build.report, _built_sizes(build.report, spec.name)
    on_stage("count")
    memory = memory_of(spec.budget.fits)
    verdicts: list[Verdict] = []
    figures_by_label: dict[str, dict[str, float]] = {}
    programs: dict[str, str] = {}
    for unit in units:
        figures = unit_figures(unit, spec.root, spec.trips, sizes, report)
        if unit not in program.units:
            figures = replace(figures, absent=absent)
        figures_by_label[unit.label] = figures_of(figures)
        known = figures_by_label[unit.label] if update else saved.get(unit.label, {})
        verdicts += judge_budget(spec.name, spec.budget, figures, known, memory)
        if spec.golden and update:
            programs[unit.label] = unit.stablehlo
        if spec.golden:
            verdicts.append(_golden_verdict(program, unit, update))
    warnings = tuple(program.warnings)
    texts = {unit.label: unit.stablehlo for unit in units}
    sources = {unit.label: _sources(unit, spec.root) for unit in units}
    return asdict(
        Checked(spec.name, tuple(verdicts), figures_by_label, programs, warnings, texts, sources)
    )


def _golden_verdict(program: Program, unit: Unit, update: bool) -> Verdict:
    """Return the verdict on a golden program, after other traces if it differs from the saved one.

    With `update`, its own program is the saved one, and `program` gets a warning if another trace
    differs. Other processes trace it if a change of it is saved, or if it has the operations of the
    saved one in another order: only the order changes if the program iterates over a set.
    """
    spec, module = program.spec, unit.lowered.module
    text = unit.stablehlo.encode()
    if update:
        changed = not _is_saved(spec, unit.label, text)
        warning = unstable_warning(program, unit.label, golden=True, elsewhere=changed)
        program.warnings += [warning] if warning else []
        return judge_golden(spec.name, unit.label, module, text, spec.root)
    saved = read_program(spec.root, spec.name, unit.label)
    verdict = judge_golden(spec.name, unit.label, module, saved, spec.root)
    if not verdict.fails:
        return verdict
    same_counts = saved is not None and _has_counts_of(unit, saved)
    instability = instability_of(program, unit.label, elsewhere=same_counts)
    if instability is None or instability.is_order:
        return verdict
    return unstable(verdict, instability)


def _is_saved(spec: TargetSpec, label: str, text: bytes) -> bool:
    """Return True if the saved program is `text`; an unreadable file is to be written again."""
    try:
        return read_program(spec.root, spec.name, label) == text
    except ArtifactError:
        return False


def _has_counts_of(unit: Unit, saved: bytes) -> bool:
    """Return True if a program has the same number of operations of each name as a text."""
    text = saved.decode("utf-8", "replace")
    return operation_counts(text) == operation_counts(unit.stablehlo)


def _sources(unit: Unit, root: Path) -> str:
    return SourceMap.of(unit.lowered.module, root).to_bytes().decode()


def memory_of(device: olympus.Target | None) -> int | None:
    """Return the bytes of memory of a device; None for no device."""
    model = device and olympus.stages.device_model(device)
    return model.memory if model else None


def _sizes(program: Program) -> dict[str, int]:
    """Return the bytes of each executable by its backend's label, and of the bundle as ""."""
    if not program.units:
        return {}
    executables = {unit.backend: unit.compiled.serialize() for unit in program.units}
    sizes = {unit.label: len(executables[unit.backend]) for unit in program.units}
    with TemporaryDirectory(prefix="olympus-check-") as folder:
        save_bundle(program, Path(folder), executables)
        bundle = (Path(folder) / (program.spec.name + BUNDLE_SUFFIX)).stat().st_size
    return {"": bundle, **sizes}


def _built_sizes(report: Report, target: str) -> dict[str, int]:
    """Return the sizes as by `_sizes`, from the outputs of a build."""
    files = {file.path: file.bytes for file in report.outputs}
    labels = [backend.label for backend in report.backends]
    sizes = {label: files[f"{label}/executable.bin"] for label in labels}
    return {"": files[target + BUNDLE_SUFFIX], **sizes}


def unit_figures(
    unit: Unit,
    root: Path,
    trips: Mapping[str, int],
    sizes: Mapping[str, int],
    report: Report | None = None,
) -> Figures:
    """Return the known figures of a program for one backend, as far as it has been compiled.

    Places are relative to `root`; `trips` are as in `Lowered.cost`, and `sizes` are the bytes of
    each executable by its backend's label, and of the bundle as "". The figures of the compiled
    program are those of `report`, if there is one.
    """
    backends = report.backends if report else ()
    built = next((backend for backend in backends if backend.label == unit.label), None)
    cost = unit.lowered.cost(trips)
    compiled = unit.compiled
    arguments = unit.lowered.arguments
    results = {leaf.name: leaf.dtype_name for leaf in unit.lowered.results}
    return Figures(
        unit.label,
        cost_report(cost, root),
        relative(cost.by("operation"), root),
        relative(cost.by("dtype"), root),
        operation_counts(unit.stablehlo),
        {f"argument {leaf.name}": leaf.dtype_name for leaf in arguments} | results,
        tuple(leaf.name for leaf in arguments if leaf.donated),
        unit.lowered.unused_donations,
        lambda operation, dtype: relative(cost.by("line", operation=operation, dtype=dtype), root),
        lambda name: occurrences(graph_of(unit.lowered.module), name, root),
        built or (compiled and compiled_figures(compiled, root, trips)),
        built.ops if built else compiled and instruction_counts(compiled.as_text()),
        sizes.get(unit.label),
        sizes.get(""),
    )


def occurrences(graph: Graph, name: str, root: Path) -> list[tuple[float, str]]:
    """Return the number of operations of a name, without its dialect, on each source line.

    Lines have the form "model.py:41", relative to the folder `root`; "" is for operations without
    one.

    >>> occurrences(graph, "while", Path("/home/me"))
    [(1, 'model.py:41')]
    """
    names = {dialect + name for dialect in _DIALECTS}
    counts = Counter(
        place for operation, place in _places_of_operations(graph) if operation in names
    )
    return [
        (times, place.removeprefix(f"{path_text(root)}{os.sep}")) for place, times in counts.items()
    ]


def _places_of_operations(graph: Graph) -> Iterator[tuple[str, str]]:
    """Yield the name and the place of each operation, at any depth."""
    blocks_left = [function.block for function in graph.functions.values()]
    while blocks_left:
        for operation in blocks_left.pop().operations:
            yield operation.name, str(operation.place)
            blocks_left += operation.blocks
