"""The compilation of programs for the CPU in a helper of the build: see `workers/helpers.py`.

The helper runs no user code. Its result is that of the worker's own compilation. The worker
compiles by itself if the helper has other settings, prints or warns, fails or dies, so that
messages and failures are those of the target.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from contextlib import suppress
from typing import IO, NamedTuple, NoReturn

import olympus
from olympus.errors import OlympusError
from olympus.files import to_data, typed
from olympus.stages import CompiledFiles, CompileRequest, MemoryAnalysis, compile_files
from olympus_cli.builder.freshness.inputs import common_variables
from olympus_cli.process.memory import peak_memory
from olympus_cli.reports.program_figures import FORMS, CompiledFigures, inspected_figures
from olympus_cli.workers.call import OnStage
from olympus_cli.workers.messages import Channel, Data
from olympus_cli.workers.pool import default_jobs

_MAX_BYTES = 1 << 20  # of a module: the compilation of a larger one takes longer than a start


class HelperResult(NamedTuple):
    """The result of a helper, and the largest memory that it used meanwhile, in bytes.

    `inspected` are its figures; None if they need the lowered program.
    """

    files: CompiledFiles
    inspected: CompiledFigures | None
    peak_memory: int | None


def compiled_by_helper(request: CompileRequest | None, on_stage: OnStage) -> HelperResult | None:
    """Return the result of the helper of this work; None if this process has to compile.

    `on_stage` is the channel of the work, if it has a helper.
    """
    if not isinstance(on_stage, Channel) or not has_helper(on_stage):
        return None
    if request is None or len(request.module) > _MAX_BYTES:
        return None
    answer = on_stage.query([[*request], _settings()])
    if answer is None:
        return None
    content, figures, peak = answer
    files = CompiledFiles(*content)
    files = files._replace(memory=MemoryAnalysis(*files.memory))
    inspected = None if figures is None else typed(figures, CompiledFigures, forms=FORMS)
    return HelperResult(files, inspected, peak)


def has_helper(on_stage: OnStage) -> bool:
    """Return True if `on_stage` is the channel of a work whose helper may compile for it."""
    is_helped = isinstance(on_stage, Channel) and on_stage.has_helper
    return is_helped and "XLA_FLAGS" not in os.environ


def serve(channel: Channel) -> NoReturn:
    """Compile the programs of requests until the process is ended."""
    with tempfile.TemporaryFile() as printed:
        os.dup2(printed.fileno(), 2)
        while True:
            channel.answer(_answer(channel.request(), printed))


def _answer(request: Data, printed: IO[bytes]) -> Data:
    """Return the result as plain data; None if the worker has to compile."""
    content, settings = request
    if settings != _settings():
        return None
    _forget_peak()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            files, inspection = compile_files(CompileRequest(*content))
    except OlympusError:
        return None
    if warned or _has_printed(printed):
        return None
    figures = None
    if inspection is not None:
        figures = to_data(inspected_figures(*inspection, olympus.Target("cpu")), FORMS)
    content = [[*part] if isinstance(part, MemoryAnalysis) else part for part in files]
    return [content, figures, peak_memory()]


def _settings() -> Data:
    """Return the settings of a process that its compiler reads."""
    return [common_variables(), default_jobs()]


def _has_printed(printed: IO[bytes]) -> bool:
    """Return True if the process has printed since the last call."""
    size = os.fstat(printed.fileno()).st_size
    os.ftruncate(printed.fileno(), 0)
    os.lseek(printed.fileno(), 0, os.SEEK_SET)
    return size > 0


def _forget_peak() -> None:
    """Let `peak_memory` begin again, as far as the system supports it."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # proc(5): the peak becomes the present resident set
