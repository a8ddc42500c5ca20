"""The measurement of a program for a device that this machine does not have.

Its stages are timed, and its figures are those of the compiled program. It is not called.
"""

from __future__ import annotations

from olympus_cli.bench.measure import conditions
from olympus_cli.bench.measure.rates import program_facts
from olympus_cli.bench.measure.subject import TargetSubject
from olympus_cli.bench.measure.work import SamplerWork
from olympus_cli.bench.measurement import STAGES, Measured, Metric
from olympus_cli.process.memory import peak_memory
from olympus_cli.program.versions import tool_versions
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage


def measure_stages(work: SamplerWork, on_stage: OnStage) -> Measured:
    """Return the times of the stages of a target, and the figures of its compiled program.

    Raises:
        OlympusError: a stage fails.
    """
    assert isinstance(work.program, TargetSpec)
    before, others = conditions.conditions(), conditions.Others()
    subject = TargetSubject(work.program, on_stage, label=work.absent_label)
    subject.build()
    peak, backend = peak_memory(), subject.backend
    after, mean = conditions.conditions(), others.mean()
    subject.repeat(work.effort.stages_limit, imports=work.effort.imports)
    on_stage("cost")
    metrics = {
        name: Metric("s", "lower", tuple(subject.seconds[name]))
        for name in STAGES
        if name in subject.seconds
    }
    if peak is not None:
        metrics["process-memory"] = Metric("B", "lower", (float(peak),))
    return Measured(
        target=work.name,
        entry=work.entry,
        backend=backend_text(backend),
        metrics=metrics,
        machine=conditions.machine(backend),
        conditions=conditions.recorded(before, mean, after),
        versions=dict(tool_versions()),
        fingerprint=subject.fingerprint(),
        facts={**program_facts(subject), "peak_bytes": subject.peak_bytes()},
        notes=(
            f"this machine has no {backend.backend.upper()}: the stages are measured, and the "
            "program is not called",
            *conditions.trouble(before, after),
        ),
        matrix=dict(work.matrix),
    )
