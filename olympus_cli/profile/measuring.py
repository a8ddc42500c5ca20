"""The profile for the report page: the program of one backend, run on seeded inputs."""

from __future__ import annotations

import olympus
from olympus_cli.profile.page import time_graph
from olympus_cli.profile.table import call_figures, notes
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable
from olympus_cli.program.stages import Program, Unit
from olympus_cli.reports.html.page import MeasuredTime
from olympus_cli.reports.relative_paths import relative


def measured(program: Program, unit: Unit) -> MeasuredTime:
    """Measure the calls of a compiled program for the page; the program must be for the CPU.

    Raises the errors of `olympus.analysis.profile`.
    """
    spec = program.spec
    ready = Runnable(unit.compiled, program.arguments, program.results)
    args, kwargs = ready.bind(InputOptions().of(spec).arrays(program.arguments))
    profile = olympus.analysis.profile(unit.compiled, args, kwargs)
    profile = relative(profile, spec.root)
    return MeasuredTime(
        tuple(call_figures(profile)), tuple(notes(profile)), time_graph(profile.kernels)
    )
