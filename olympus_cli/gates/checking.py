"""A target held against its budget, in the process that lowers and compiles it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import olympus
from olympus.analysis import SourceMap, graph_of
from olympus_cli.builder.retracing import change_between_traces, difference_of_traces
from olympus_cli.builder.reuse import up_to_date
from olympus_cli.frontends.python import load_target
from olympus_cli.gates.budget import Verdict, figures_of, judge
from olympus_cli.gates.figures import Figures
from olympus_cli.gates.golden import judge_golden, unstable
from olympus_cli.gates.saved import read_program
from olympus_cli.gates.written import written_at
from olympus_cli.isolated.call import Say
from olympus_cli.program.bundle import SUFFIX, save_bundle
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.figures import compiled_figures, cost_report, row_reports
from olympus_cli.reports.hlo import instruction_counts, operation_counts
from olympus_cli.reports.model import Report
from olympus_cli.reports.strict import typed
from olympus_cli.spec.model import TargetSpec

__all__ = ["Checked", "memory_of", "perform", "unit_figures"]


@dataclass(frozen=True)
class Checked:
    """What became of one target: its verdicts, and its figures by backend and key.

    `programs` are the texts to save by backend, of a golden target that is updated.  `lowered` are
    the programs of all backends as StableHLO, and `sources` where their operations come from.
    """

    target: str
    verdicts: tuple[Verdict, ...]
    figures: Mapping[str, Mapping[str, float]]
    programs: Mapping[str, str]
    warnings: tuple[str, ...]
    lowered: Mapping[str, str]
    sources: Mapping[str, str]

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The verdicts that say no."""
        return tuple(verdict for verdict in self.verdicts if verdict.is_broken)

    @staticmethod
    def from_data(data: object) -> Checked:
        """The object of what `perform` gives."""
        found: Checked = typed(data, Checked)
        return found


def perform(
    say: Say, spec: TargetSpec, saved: Mapping[str, Mapping[str, float]], update: bool
) -> dict[str, Any]:
    """Hold a target against its budget on each of its backends; a `Checked` as plain data.

    `saved` are the figures that relative limits are of, by backend and key.  With `update`, its own
    figures take their place.
    """
    say("import")
    program = Program(load_target(spec), say)
    program.trace()
    program.lower()
    report, sizes = None, dict[str, int]()
    if spec.budget.compiles:
        build = up_to_date(program, say)
        if build is None:
            program.compile()
            sizes = _sizes(program)
        else:
            report, sizes = build.report, _built_sizes(build.report, spec.name)
    say("count")
    memory = memory_of(spec.budget.fits)
    verdicts: list[Verdict] = []
    found: dict[str, dict[str, float]] = {}
    programs: dict[str, str] = {}
    for unit in program.units:
        figures = unit_figures(unit, spec.root, spec.trips, sizes, report)
        found[unit.label] = figures_of(figures)
        known = found[unit.label] if update else saved.get(unit.label, {})
        verdicts += judge(spec.name, spec.budget, figures, known, memory)
        if spec.golden and update:
            programs[unit.label] = unit.stablehlo
        if spec.golden:
            verdicts.append(_golden_verdict(program, unit, update))
    warnings = tuple(program.warnings)
    texts = {unit.label: unit.stablehlo for unit in program.units}
    sources = {unit.label: _sources(unit, spec.root) for unit in program.units}
    return asdict(Checked(spec.name, tuple(verdicts), found, programs, warnings, texts, sources))


def _golden_verdict(program: Program, unit: Unit, update: bool) -> Verdict:
    """The verdict on a golden program, with a second trace if it differs from the saved one.

    With `update`, its own program is the saved one, and `program` gets a warning if a second trace
    differs.
    """
    spec, module = program.spec, unit.lowered.module
    if update:
        warning = difference_of_traces(program, unit.label, "it never equals its golden program")
        program.warnings += [warning] if warning else []
        text = unit.stablehlo.encode()
        return judge_golden(spec.name, unit.label, module, text, spec.root)
    saved = read_program(spec.root, spec.name, unit.label)
    verdict = judge_golden(spec.name, unit.label, module, saved, spec.root)
    if not verdict.is_broken:
        return verdict
    change = change_between_traces(program, unit.label)
    return unstable(verdict, change, spec.root) if change is not None else verdict


def _sources(unit: Unit, root: Path) -> str:
    return SourceMap.of(unit.lowered.module, root).to_bytes().decode()


def memory_of(device: olympus.Target | None) -> int | None:
    """The bytes of memory that a device has; None for no device."""
    model = device and olympus.stages.device_model(device)
    return model.memory if model else None


def _sizes(program: Program) -> dict[str, int]:
    """The bytes of each executable by its backend's label, and those of the bundle as ""."""
    made = {unit.backend: unit.compiled.serialize() for unit in program.units}
    sizes = {unit.label: len(made[unit.backend]) for unit in program.units}
    with TemporaryDirectory(prefix="olympus-check-") as folder:
        save_bundle(program, Path(folder), made)
        bundle = (Path(folder) / (program.spec.name + SUFFIX)).stat().st_size
    return {"": bundle, **sizes}


def _built_sizes(report: Report, target: str) -> dict[str, int]:
    """The same, of the outputs of a build."""
    files = {file.path: file.bytes for file in report.outputs}
    labels = [each.label for each in report.backends]
    sizes = {label: files[f"{label}/executable.bin"] for label in labels}
    return {"": files[target + SUFFIX], **sizes}


def unit_figures(
    unit: Unit,
    root: Path,
    trips: Mapping[str, int],
    sizes: Mapping[str, int],
    report: Report | None = None,
) -> Figures:
    """What is known of a program for one backend, as far as it has been compiled.

    Places are told from `root`; `trips` are as `Lowered.cost` takes them, and `sizes` the bytes of
    each executable by its backend's label, and those of the bundle as "".  The figures of the
    compiled program are those of `report`, if there is one.
    """
    backends = report.backends if report else ()
    built = next((each for each in backends if each.label == unit.label), None)
    cost = unit.lowered.cost(trips)
    compiled = unit.compiled
    return Figures(
        unit.label,
        cost_report(cost, root),
        row_reports(cost, "operation", root),
        row_reports(cost, "dtype", root),
        operation_counts(unit.stablehlo),
        unit.lowered.unused_donations,
        lambda operation, dtype: row_reports(cost, "line", root, operation=operation, dtype=dtype),
        lambda name: written_at(graph_of(unit.lowered.module), name, root),
        built or (compiled and compiled_figures(compiled, root, trips)),
        built.ops if built else compiled and instruction_counts(compiled.as_text()),
        sizes.get(unit.label),
        sizes.get(""),
    )
