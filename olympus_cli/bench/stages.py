"""How long each stage of a target takes.

Trace, lower and compile are timed by walking the stages again and again, each time with nothing
cached; calls are timed with their arguments already on the device.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import olympus
from olympus_cli.bench.measure import Samples, measure
from olympus_cli.bench.statistics import Summary
from olympus_cli.frontends.python import Traceable, load_target
from olympus_cli.isolated.call import Say
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable, runnable, with_one_backend
from olympus_cli.program.stages import Program
from olympus_cli.spec.model import TargetSpec

__all__ = ["Effort", "TargetTimes", "bench_bundle", "bench_target"]

MAX_WALKS = 30
WALK_SHARE = 0.25  # of the time limit, for walking the stages again


@dataclass(frozen=True)
class Effort:
    """When to stop: at this relative half-width of the interval, or after so many seconds."""

    precision: float = 0.02
    time_limit: float = 10.0


@dataclass(frozen=True)
class TargetTimes:
    """Seconds of each stage of one target, by the stage's name; `batch` calls made a sample."""

    target: str
    entry: str
    backend: olympus.Target
    stages: dict[str, Summary]
    batch: int


def bench_target(
    spec: TargetSpec, inputs: InputOptions, effort: Effort, say: Say = lambda _stage: None
) -> TargetTimes:
    """Measure every stage of a target, on the first of its backends that is here.

    Raises:
        BackendError: none of its backends can run a program here.
    """
    source = load_target(with_one_backend(spec))
    first, walks = _walk(source, effort.time_limit * WALK_SHARE, say)
    calls, batch = _calls(runnable(first), inputs.of(spec), effort, say)
    return TargetTimes(
        spec.name, spec.entry, first.units[0].backend, _summaries({**walks, **calls}), batch
    )


def bench_bundle(
    path: str,
    load: Callable[[], Runnable],
    backend: olympus.Target,
    inputs: InputOptions,
    effort: Effort,
    say: Say = lambda _stage: None,
) -> TargetTimes:
    """Measure the loading, once, and the calls of the bundle at `path`."""
    say("load")
    begin = time.perf_counter()
    ready = load()
    loaded = Samples(1, [time.perf_counter() - begin])
    calls, batch = _calls(ready, inputs, effort, say)
    return TargetTimes(Path(path).stem, path, backend, _summaries({"load": loaded, **calls}), batch)


def _calls(
    ready: Runnable, inputs: InputOptions, effort: Effort, say: Say
) -> tuple[dict[str, Samples], int]:
    """The times of the first call and of those that follow, and how many of these make a sample."""
    call = _call(ready, inputs)
    say("first call")
    begin = time.perf_counter()
    call()
    first_call = Samples(1, [time.perf_counter() - begin])
    say("steady call")
    steady = measure(call, precision=effort.precision, time_limit=effort.time_limit)
    return {"first call": first_call, "steady call": steady}, steady.batch


def _summaries(samples: Mapping[str, Samples]) -> dict[str, Summary]:
    return {name: each.summary for name, each in samples.items()}


def _walk(source: Traceable, time_limit: float, say: Say) -> tuple[Program, dict[str, Samples]]:
    """Go through the stages, once at least; the first compilation, and the times of all.

    Half of the time goes to trace and lower, so that a slow compiler leaves them more than one
    sample; then what was lowered is compiled, as far as the rest of the time goes.
    """
    start = time.perf_counter()
    walks: list[Program] = []
    while not walks or (len(walks) < MAX_WALKS and time.perf_counter() - start < time_limit / 2):
        olympus.clear_caches()
        walks.append(Program(source, say))
        walks[-1].trace()
        walks[-1].lower()
    compiled: list[Program] = []
    while not compiled or (walks[len(compiled) :] and time.perf_counter() - start < time_limit):
        compiled.append(walks[len(compiled)])
        compiled[-1].compile()
    return walks[0], {
        "trace": Samples(1, [walk.clock.seconds["trace"] for walk in walks]),
        "lower": Samples(1, [walk.units[0].lower_seconds for walk in walks]),
        "compile": Samples(1, [walk.units[0].compile_seconds for walk in compiled]),
    }


def _call(ready: Runnable, inputs: InputOptions) -> Callable[[], object]:
    """The program as a call without arguments that returns when its results are there.

    A donated argument is gone after a call: it is given from the host each time.
    """
    arrays: Sequence[Any] = [
        array if leaf.donated else olympus.device_put(array)
        for leaf, array in zip(ready.arguments, inputs.arrays(ready.arguments), strict=True)
    ]
    args, kwargs = ready.bind(arrays)
    compiled = ready.compiled
    return lambda: olympus.block_until_ready(compiled(*args, **kwargs))
