"""The measurement of one program in this process: build, call, warm up, sample, summarize."""

from __future__ import annotations

from statistics import median
from typing import Any

import olympus
from olympus_cli.bench.measure import conditions
from olympus_cli.bench.measure.calls import Calls
from olympus_cli.bench.measure.rates import program_facts, rate_metrics, roofline_share
from olympus_cli.bench.measure.steady import drift, warm_up
from olympus_cli.bench.measure.subject_choice import subject_of
from olympus_cli.bench.measure.work import Prepared, SamplerWork
from olympus_cli.bench.measurement import STAGES, Measured, Metric
from olympus_cli.process.memory import peak_memory
from olympus_cli.program.versions import tool_versions
from olympus_cli.spec.backends import backend_text
from olympus_cli.text.units import duration
from olympus_cli.workers.call import OnStage

_WARM_SHARE = 0.3  # of the time limit, the maximum for the warm-up
_DRIFT = 0.05  # the smallest trend of the samples that is reported


class Measuring:
    """The measurement of one program.

    Raises:
        BackendError: none of its backends can run a program here.
    """

    def __init__(self, work: SamplerWork, on_stage: OnStage) -> None:
        self._work, self._on_stage = work, on_stage
        self._before = conditions.conditions()  # before the measurement, which is a load too
        self._others = conditions.Others()
        self._subject = subject_of(work, on_stage)
        self._samples: list[float] = []
        self._processor: list[float] = []

    def prepare(self) -> Prepared:
        """Make the program ready, call it once, and call it until it is warm."""
        ready = self._subject.open()
        self._on_stage("first call")
        self._calls = calls = Calls(
            ready, self._work.inputs, self._subject.backend, copies=self._work.beside_jax
        )
        first = calls.first()
        self._peak = peak_memory()
        self._subject.cost()  # an error here occurs before the measurement
        self._on_stage("warm-up")
        calls.rotate(_free_memory(self._subject.backend))
        warm = warm_up(calls.time, _WARM_SHARE * self._work.effort.time_limit)
        self._prepared = Prepared(
            first, warm.seconds, warm.calls, warm.steady, warm.batch, warm.call
        )
        self._on_stage("steady call")
        return self._prepared

    def sample(self, calls: int) -> float:
        """Return the seconds of a call: the mean of `calls` calls in a row."""
        if calls > 1:
            self._calls.time(1)  # refill the caches: the processor has run other code
        self._samples.append(self._calls.time(calls) / calls)
        self._processor.append(self._calls.processor_seconds / calls)
        self._batch = calls
        return self._samples[-1]

    def finish(self, stopped: str | None) -> Measured:
        """Repeat the stages that can be repeated, and return the measurement."""
        after, others = conditions.conditions(), self._others.mean()
        effort = self._work.effort
        if stopped != "interrupted":
            self._subject.repeat(effort.stages_limit, imports=effort.imports)
        self._on_stage("cost")
        facts = program_facts(self._subject)
        work, backend = self._work, self._subject.backend
        metrics = self._metrics(facts)
        share = roofline_share(metrics["steady-call"], facts)
        return Measured(
            target=work.name,
            entry=work.entry,
            backend=backend_text(backend),
            metrics=metrics,
            machine=conditions.machine(backend),
            conditions=conditions.recorded(self._before, others, after),
            versions=dict(tool_versions()),
            fingerprint=self._subject.fingerprint(),
            facts={**facts, "roofline_share": share, **self._how(stopped)},
            notes=tuple(self._notes(after)),
            matrix=dict(work.matrix),
        )

    def _metrics(self, facts: dict[str, Any]) -> dict[str, Metric]:
        """Return all metrics, in the order in which they are reported."""
        seconds = self._subject.seconds
        metrics = {
            name: Metric("s", "lower", tuple(seconds[name])) for name in STAGES if name in seconds
        }
        metrics["first-call"] = Metric("s", "lower", (self._prepared.first_call,))
        metrics["steady-call"] = steady = Metric("s", "lower", tuple(self._samples), self._batch)
        if self._subject.backend.backend == "cpu":  # elsewhere, it includes waiting for the device
            metrics["steady-cpu"] = Metric("s", "lower", tuple(self._processor), self._batch)
        metrics |= rate_metrics(steady, facts)
        if self._peak is not None:
            metrics["process-memory"] = Metric("B", "lower", (float(self._peak),))
        return metrics

    def _how(self, stopped: str | None) -> dict[str, Any]:
        """Return the facts of the measurement of the calls."""
        prepared = self._prepared
        steady = {True: "yes", False: "no", None: "unknown"}[prepared.steady]
        return {
            "stopped_by": stopped,
            "warm_up_seconds": prepared.warm_up,
            "warm_up_calls": prepared.warm_up_calls,
            "warm_up_steady": steady,
            "input_sets": self._calls.sets,
            "input_bytes": self._calls.input_bytes,
            "donated": self._calls.donation,
        }

    def _notes(self, after: conditions.Conditions) -> list[str]:
        notes = conditions.trouble(self._before, after)
        if self._prepared.steady is False:
            notes.append(
                "the times still changed when the warm-up ended: give a longer --time-limit"
            )
        elif abs(change := drift(self._samples)) >= _DRIFT:
            word = "rose" if change > 0 else "fell"
            ends = len(self._samples) // 4
            first, last = self._samples[:ends], self._samples[-ends:]
            notes.append(
                f"the times {word} while they were measured, from {duration(median(first))} to "
                f"{duration(median(last))}"
            )
        if self._calls.sets == 1 and self._calls.input_bytes:
            notes.append(
                "there is too little memory for a second set of inputs: all calls read the same"
            )
        return notes


def _free_memory(backend: olympus.Target) -> int | None:
    """Return the bytes that inputs may take on their device."""
    if backend.backend == "cpu":
        return conditions.free_memory()
    return backend.model.memory if backend.model is not None else None
