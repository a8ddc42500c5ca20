"""The choice of the subject of a measurement, by its work."""

from __future__ import annotations

from olympus_cli.bench.measure.subject import BundleSubject, Subject, TargetSubject
from olympus_cli.bench.measure.work import BundleWork, SamplerWork
from olympus_cli.workers.call import OnStage


def subject_of(work: SamplerWork, on_stage: OnStage) -> Subject:
    """Return the subject of a work.

    Raises:
        BackendError: none of its backends can run a program here.
    """
    if isinstance(work.program, BundleWork):
        return BundleSubject(work.program, on_stage)
    if work.by_jax:
        from olympus_cli.bench.measure.jax_subject import JaxSubject  # few measurements need it

        return JaxSubject(work.program, on_stage, warm=True)
    return TargetSubject(work.program, on_stage, warm=work.beside_jax)
