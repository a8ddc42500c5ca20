"""Recording of the figures of commands in the history of their project.

An error of the file is a warning and not a failure: the build itself is valid.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from olympus.errors import OlympusError
from olympus_cli.program.versions import tool_versions
from olympus_cli.terminal import console

if TYPE_CHECKING:
    from olympus_cli.bench.measure.work import SamplerWork
    from olympus_cli.bench.measurement import Measured
    from olympus_cli.builder.outcome import Outcome
    from olympus_cli.check.check import Checked
    from olympus_cli.history.points import Figure, StoredProgram
    from olympus_cli.history.repository import RepositoryState
    from olympus_cli.spec.model import Project

# Writing imports its modules when needed, so that a build with nothing to do does not wait for
# them.


_states: dict[Path, RepositoryState] = {}  # by the folder of a project, until they are recorded


def prepare(project: Project) -> None:
    """Prepare `record_build` before there are figures, while the process is idle.

    The recorded state of the repository is the one at the last call.
    """
    if project.history is not None:
        import olympus_cli.history.build_figures
        import olympus_cli.history.store  # noqa: F401
        from olympus_cli.history.repository import repository_state

        tool_versions()  # cached
        _states[project.root] = repository_state(project.root)


def record_build(project: Project, outcomes: Iterable[Outcome]) -> None:
    """Add the figures of the targets that were built; add nothing if all were fresh.

    The stored programs of fresh targets with renewed source lines get these lines.
    """
    state = _states.pop(project.root, None)
    renewed = [e for e in outcomes if (e.status == "built" or e.staged) and e.report]
    if project.history is None or not renewed:
        return
    from olympus_cli.history.build_figures import build_figures, build_programs

    figures: list[Figure] = []
    programs: list[StoredProgram] = []
    for outcome in renewed:
        assert outcome.report is not None
        stored = build_programs(outcome.report, project.build_dir / outcome.target)
        programs += stored.values()
        if outcome.status == "built":
            figures += build_figures(outcome.report, stored)
    _record(project, "build", figures, programs, state=state)


def record_check(project: Project, results: Iterable[Checked]) -> None:
    """Add the figures of the targets that were checked."""
    checked = list(results)
    if project.history is None or not checked:
        return
    from olympus_cli.history.build_figures import check_figures

    figures: list[Figure] = []
    programs: list[StoredProgram] = []
    for result in checked:
        its_figures, its_programs = check_figures(result)
        figures += its_figures
        programs += its_programs
    _record(project, "check", figures, programs)


def record_bench(
    project: Project | None, measurements: Iterable[tuple[SamplerWork, Measured]]
) -> None:
    """Add a summary of each metric of the measurements whose program is a target of the project.

    An entry or a bundle may have a target's name but another program, and options change a target's
    shapes, statics, stages or inputs: their figures belong to another series and are omitted.
    Interrupted measurements are omitted too.

    Example: `record_bench(project, [(work, measured)])`, once for all targets of a command.
    """
    if project is None or project.history is None:
        return
    measured = [
        measurement
        for work, measurement in measurements
        if _is_of_target(project, work, measurement)
    ]
    if not measured:
        return
    from olympus_cli.history.bench_figures import measured_figures

    figures = [figure for measurement in measured for figure in measured_figures(measurement)]
    _record(project, "bench", figures, [], measured[0].machine)


def _is_of_target(project: Project, work: SamplerWork, measured: Measured) -> bool:
    """Return True for a complete measurement of a target as in olympus.toml, on any backend."""
    from olympus_cli.bench.measure.work import BundleWork, SamplerWork

    own = project.targets.get(measured.target)
    if own is None or isinstance(work.program, BundleWork):
        return False
    usual = SamplerWork.of_target(replace(own, backends=work.program.backends))
    is_whole = measured.facts.get("stopped_by") != "interrupted"
    return is_whole and (work.program, work.inputs) == (usual.program, usual.inputs)


def machine_digest(machine: Mapping[str, str]) -> str:
    """Return twelve hexadecimal digits that identify a kind of machine.

    >>> machine_digest({"processor": "a"})
    'b2a4ea2d1eb2'
    """
    text = json.dumps(dict(machine), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _record(
    project: Project,
    command: str,
    figures: Sequence[Figure],
    programs: Sequence[StoredProgram],
    machine: Mapping[str, str] | None = None,
    state: RepositoryState | None = None,
) -> None:
    from olympus_cli.history.points import Run, utc_text
    from olympus_cli.history.repository import repository_state
    from olympus_cli.history.store import append

    if project.history is None or not (figures or programs):
        return
    run = Run(
        time=utc_text(datetime.now(UTC)),
        command=command,
        host=machine_digest(machine or _machine()),
        versions=tool_versions(),
        **asdict(state or repository_state(project.root)),
    )
    try:
        append(project.history, [(run, figures)] if figures else [], programs)
    except OlympusError as error:
        hint = f" ({error.hint})" if error.hint else ""
        console.message(f"warning: the figures are not in the history: {error}{hint}")


def _machine() -> dict[str, str]:
    """Return the facts of this machine that affect times, without the name of the host."""
    from olympus.stages import this_cpu  # without the rest of the analysis

    cpu = this_cpu()
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": cpu.model,
        "threads": str(cpu.threads),
    }
