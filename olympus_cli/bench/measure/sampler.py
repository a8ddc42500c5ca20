"""The measurement of one program in a separate process that remains alive between requests.

Two of them can be interleaved in one run:

    with closing(Sampler(ours)) as a, closing(Sampler(theirs)) as b:
        batch = a.prepare().batch, b.prepare().batch
        pairs = [(a.sample(batch[0]), b.sample(batch[1])) for _ in range(20)]
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

from olympus.errors import OlympusError
from olympus.files import typed
from olympus_cli.bench.measure.absent import measure_stages
from olympus_cli.bench.measure.measuring import Measuring
from olympus_cli.bench.measure.stopping import Stopping
from olympus_cli.bench.measure.work import Effort, Prepared, SamplerWork
from olympus_cli.bench.measurement import Measured
from olympus_cli.workers.call import Isolated, OnStage, RequestProcess
from olympus_cli.workers.messages import Channel

__all__ = [
    "Effort",
    "Interrupted",
    "Prepared",
    "Sampler",
    "SamplerWork",
    "measure_target",
]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM, its cause, after some samples; `measured` is the result so far."""

    def __init__(self, measured: Measured) -> None:
        super().__init__()
        self.measured = measured


def _answer_requests(channel: Channel, work: SamplerWork) -> dict[str, Any]:
    """Measure a program in this process as a `Sampler` requests; return the last answer.

    A request is a list: ["prepare"], ["sample", CALLS], or ["finish", WHY], which is the last. For
    an absent device only ["stages"] is a request.
    """
    channel("load")
    if work.absent_label is not None:
        match channel.request():
            case ["stages"]:
                return measure_stages(work, channel).document()
    measuring = Measuring(work, channel)
    while True:
        match channel.request():
            case ["prepare"]:
                channel.answer(asdict(measuring.prepare()))
            case ["sample", int(calls)]:
                channel.answer(measuring.sample(calls))
            case ["finish", stopped]:
                return measuring.finish(stopped).document()


class Sampler:
    """The program of `work` in a process of its own, which `close` ends.

    A crash of the program and the limits of `work.effort` end it too. The next request then raises
    an error with the reason: CompileError or, for a bundle, ArtifactError.

    Raises:
        CompileError: the system has no process or no descriptor left.
    """

    def __init__(self, work: SamplerWork, on_stage: OnStage = lambda _stage: None) -> None:
        self.work = work
        process = Isolated(
            _answer_requests,
            work,
            action=work.does,
            quiet=True,  # so that Ctrl-C ends the measurement and not the program
            death=work.death,
            time_limit=work.effort.give_up,
            memory_limit=work.effort.memory_limit,
            on_stage=on_stage,
        )
        self._process = RequestProcess(process)

    def prepare(self) -> Prepared:
        """Trace, lower and compile the program, or load it, and call it until it is warm.

        Raises:
            OlympusError: a stage fails, or the process has died.
        """
        prepared: Prepared = self._checked(self._process.request(["prepare"]), Prepared)
        return prepared

    def sample(self, calls: int) -> float:
        """Return the seconds of a call: the mean of `calls` calls in a row, each waited for.

        Raises:
            OlympusError: the call fails, or the process has died.
        """
        seconds: float = self._checked(self._process.request(["sample", calls]), float)
        return seconds

    def stages(self) -> Measured:
        """Measure the stages of a program for an absent device, and end the process.

        Raises:
            OlympusError: a stage fails, or the process has died.
        """
        return self._last(["stages"])

    def finish(self, stopped: str | None = None) -> Measured:
        """Repeat the stages that can be repeated, return the measurement, and end the process.

        `stopped` is the reason why no more samples are taken: "precision", "time limit" or
        "samples"; nothing is repeated after "interrupted".

        Raises:
            OlympusError: as by `sample`.
        """
        return self._last(["finish", stopped])

    def _last(self, request: list[Any]) -> Measured:
        document = self._process.end(request)
        try:
            return Measured.of_document(document)
        except ValueError as error:
            raise self._foreign(error) from error

    def close(self) -> None:
        """End the process, if it has not ended, and all processes that the program started."""
        self._process.close()

    def _checked(self, answer: object, kind: type) -> Any:
        """Return an answer after a check of its type, as the program may have forged it."""
        try:
            return typed(answer, kind, "the answer")
        except ValueError as error:
            raise self._foreign(error) from error

    def _foreign(self, error: ValueError) -> OlympusError:
        return self.work.death(f"the process that measures gave what is not a measurement: {error}")


def measure_target(
    work: SamplerWork,
    effort: Effort | None = None,
    on_stage: OnStage = lambda _stage: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Measure one program, until its effort (that of `work` by default) is spent.

    Of a program for an absent device only the stages are measured.

    Raises:
        OlympusError: a stage fails, or the process has died.
        Interrupted: Ctrl-C occurred, and the program has samples.
    """
    if effort is not None:
        work = replace(work, effort=effort)
    with closing(Sampler(work, on_stage)) as sampler:
        if work.absent_label is not None:
            return sampler.stages()
        prepared = sampler.prepare()
        left = work.effort.calls_limit - prepared.warm_up
        stopping = Stopping(work.effort.precision, left, clock)
        try:
            while (stopped := stopping.reason()) is None:
                stopping.add(sampler.sample(prepared.batch))
        except KeyboardInterrupt as error:
            if not stopping.samples:
                raise
            raise Interrupted(sampler.finish("interrupted")) from error
        return sampler.finish(stopped)
