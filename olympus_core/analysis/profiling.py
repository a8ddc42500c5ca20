"""Measurement of a program kernel by kernel, joined with its optimized HLO."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from olympus_core.analysis.hlo.kernels import Kernels
from olympus_core.analysis.operations.table import operation_of
from olympus_core.analysis.profile import BETWEEN, CALL, KernelProfile, Profile, Span
from olympus_core.analysis.records import Estimate, KernelEstimate
from olympus_core.analysis.sources.lines import Lines
from olympus_core.analysis.sources.places import read_name
from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla import CompileOnlyExecutable, Executable, Target
from olympus_core.xla.hlo.hlo_module import Computation, HloModule, Instruction
from olympus_core.xla.runtime.profiler import Event, Recording, record

_MAX_CALLS = 200_000  # kernels in a call: the profiler stores about 3 kB for each
_MAX_EVENTS = 500_000  # in all recordings: reading one takes about 15 us


class Profilable(Protocol):
    """The part of a compiled program that a profile needs, as `olympus.stages.Compiled` has it."""

    target: Target

    @property
    def fun_name(self) -> str:
        """The name of its function."""

    @property
    def executable(self) -> Executable | CompileOnlyExecutable:
        """The executable, which has the optimized HLO."""

    def prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Callable[[], None]]:
        """Return a function that prepares a call and returns it."""

    def estimate(self) -> Estimate:
        """Return the estimate of the time of a call."""


def profile(
    compiled: Profilable,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    runs: int = 10,
) -> Profile:
    """Call a compiled program `runs` times with the arguments, and measure each of its kernels.

    Only programs on the CPU can be profiled. Donated arguments keep their buffers. A process takes
    one profile at a time, and the program must not run in another thread meanwhile.

    Raises:
      SignatureError: the arguments have other types than the program was compiled for.
      UsageError: `runs` is not a number of 1 or more, another profile is being taken, or the
        program runs more kernels than the profiler can store.
      BackendError: the program is for another backend, or the profiler fails.

    Example:
      >>> profile(compiled, (x,), {"scale": 2.0}, runs=3).coverage
      0.93
    """
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise UsageError(
            f"runs is how many calls to measure, 1 or more, and not {runs!r:.80}",
            hint="olympus.analysis.profile takes arguments of the program that are called so",
        )
    if compiled.target.backend != "cpu":
        raise BackendError(
            f"'{compiled.fun_name}' was compiled for {compiled.target.backend}, and programs are "
            "profiled on the CPU alone",
            hint="compile it for the CPU, or look at estimate()",
        )
    prepare = compiled.prepared(tuple(args), dict(kwargs or {}))
    return _profile_of(prepare, compiled.executable.hlo_module(), compiled.estimate(), runs)


def _profile_of(
    prepare: Callable[[], Callable[[], object]],
    module: HloModule,
    estimate: Estimate,
    runs: int,
) -> Profile:
    """Return the profile of a program on the CPU.

    `prepare` prepares one call and returns a function that makes the call and waits for its
    results. `estimate` belongs to the same program. For a program of very many kernels
    fewer than `runs` calls are measured, but at least one.

    Raises:
      UsageError: another profile is being taken, the program runs elsewhere meanwhile, or has more
        kernels than the profiler can store.
      BackendError: the profiler failed, or saw no kernel.
    """
    if sum(kernel.calls for kernel in estimate.kernels) > _MAX_CALLS:
        raise UsageError(
            f"a call of the program runs more than {_MAX_CALLS:,} kernels, too many to profile",
            hint="profile it with fewer iterations of its loops",
        )
    program = _Program(module, estimate)
    undisturbed, measured, fastest = _measured(prepare, program, runs)
    kernels = program.kernels(measured)
    return Profile(
        runs=len(measured),
        seconds=statistics.median(run.seconds for run in measured),
        undisturbed=statistics.median(undisturbed),
        kernel_seconds=statistics.median(run.busy for run in measured),
        kernels=kernels,
        unseen=program.unseen(kernels),
        estimate=estimate,
        threads=fastest.threads,
        timeline=tuple(program.timeline(fastest)),
    )


def _measured(
    prepare: Callable[[], Callable[[], object]], program: _Program, runs: int
) -> tuple[list[float], list[_Run], Recording]:
    """Return the times of unrecorded calls, the recorded runs, and the fastest recording."""
    undisturbed: list[float] = []
    measured: list[_Run] = []
    recordings: list[Recording] = []
    while len(measured) < runs and sum(run.recorded for run in measured) < _MAX_EVENTS:
        prepare()()  # the first call, and a call after a recording was read, are slower than others
        undisturbed.append(_timed(prepare()))
        recordings.append(record(prepare()))
        measured.append(program.run(recordings[-1]))
        recordings = [min(recordings, key=lambda recording: recording.seconds)]
    return undisturbed, measured, recordings[0]


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


class _Run(NamedTuple):
    """The figures of one recording: seconds and events by kernel, and the time outside."""

    seconds: float
    kernels: Mapping[str, float]
    events: Mapping[str, int]
    busy: float
    outside: float
    recorded: int


class _Place(NamedTuple):
    """The name of a kernel's operation, and its source location."""

    operation: str
    line: str | None
    scope: str
    backward: bool


class _Program:
    """A reader of the recordings of one program."""

    def __init__(self, module: HloModule, estimate: Estimate) -> None:
        self._module = module
        self._instructions: dict[str, tuple[Instruction, Computation]] = {
            instruction.name: (instruction, computation)
            for computation in module.computations.values()
            if not computation.is_fusion
            for instruction in computation.instructions.values()
        }
        self._inside = {
            name: frozenset(self._names(instruction))
            for name, (instruction, _) in self._instructions.items()
            if operation_of(instruction.opcode).is_control
        }
        self._kernels, self._lines = Kernels(module), Lines(module)
        self._expected: dict[str, KernelEstimate] = {k.name: k for k in estimate.kernels}
        self._unknown = estimate.unknown

    def _names(self, instruction: Instruction) -> Iterator[str]:
        """Yield the names of all instructions that run inside an instruction, at any depth."""
        pending = [*instruction.called_computation_ids]
        while pending:
            for inner in self._module.computations[pending.pop()].instructions.values():
                yield inner.name
                if operation_of(inner.opcode).is_control:
                    pending += inner.called_computation_ids

    def run(self, recording: Recording) -> _Run:
        """Return the times of one recording; for several devices the mean over them."""
        kernel_events = self._program_events(recording)
        if not kernel_events:
            raise BackendError("the profiler saw no kernel of the program")
        devices = len({event.device for event in kernel_events})
        seconds: dict[str, float] = {}
        events: dict[str, int] = {}
        for event in kernel_events:
            took = (event.until - event.start) / devices
            seconds[event.operation] = seconds.get(event.operation, 0.0) + took
            events[event.operation] = events.get(event.operation, 0) + 1
        first, last = (
            min(event.start for event in kernel_events),
            max(event.until for event in kernel_events),
        )
        return _Run(
            recording.seconds,
            seconds,
            {name: -(-number // devices) for name, number in events.items()},
            _union((event.start, event.until) for event in kernel_events),
            max(0.0, recording.seconds - (last - first)),
            len(recording.events),
        )

    def _program_events(self, recording: Recording) -> list[Event]:
        """Return the events of the program's kernels, from one run of the program.

        A loop or a call is a kernel if none of its inner instructions has an event: the compiler
        made one kernel of it.
        """
        events = [*self._of_one_run(recording)]
        recorded = {event.operation for event in events}
        outer = {name for name, inside in self._inside.items() if not inside.isdisjoint(recorded)}
        return [event for event in events if event.operation not in outer]

    def _of_one_run(self, recording: Recording) -> Iterator[Event]:
        runs: dict[int, int] = {}
        for event in recording.events:
            inside = recording.start <= event.start <= recording.end
            if not (inside and event.operation and event.module == self._module.name):
                continue
            if runs.setdefault(event.device, event.run) != event.run:
                raise UsageError(
                    f"a program called {self._module.name} ran in another thread while the "
                    "profile was taken",
                    hint="profile it while nothing else runs",
                )
            yield event

    def kernels(self, measured: Sequence[_Run]) -> tuple[KernelProfile, ...]:
        """Return the kernels of all runs, the slowest first, and the time in which none ran."""
        names = dict.fromkeys(name for run in measured for name in run.kernels)
        seconds = {
            name: statistics.median(run.kernels.get(name, 0.0) for run in measured)
            for name in names
        }
        events = {
            name: statistics.median_high([run.events.get(name, 0) for run in measured])
            for name in names
        }
        calls = self._calls(events)
        idle = {
            CALL: statistics.median(run.outside for run in measured),
            BETWEEN: statistics.median(
                max(0.0, run.seconds - run.outside - run.busy) for run in measured
            ),
        }
        total = sum(seconds.values()) + sum(idle.values())
        profiles = [self._kernel(name, calls[name], took, total) for name, took in seconds.items()]
        profiles.sort(key=lambda kernel: (-kernel.seconds, kernel.name))
        profiles += [self._kernel(name, 1, took, total) for name, took in idle.items()]
        return tuple(profiles)

    def _calls(self, events: Mapping[str, int]) -> dict[str, int]:
        """Return the number of calls of each kernel: the number of runs of its computation.

        A kernel may have several events in a call, such as a sort that copies first.
        """
        least = {self._module.entry_id: 1}
        for name, number in events.items():
            if name in self._instructions:
                id = self._instructions[name][1].id
                least[id] = min(least.get(id, number), number)
        return {
            name: least[self._instructions[name][1].id] if name in self._instructions else number
            for name, number in events.items()
        }

    def _kernel(self, name: str, calls: int, seconds: float, total: float) -> KernelProfile:
        expected = self._expected.get(name)
        estimated = expected.seconds / expected.calls * calls if expected else None
        if name in self._inside and not self._unknown:
            estimated = sum(k.seconds for n, k in self._expected.items() if n in self._inside[name])
        return KernelProfile(
            name,
            *self._place(name),
            calls=calls,
            seconds=seconds,
            estimated=estimated,
            bound=expected.bound if expected else None,
            of_seconds=total,
        )

    def unseen(self, kernels: Iterable[KernelProfile]) -> tuple[KernelEstimate, ...]:
        """Return the kernels of the estimate without an event, also of an enclosing kernel."""
        seen = {kernel.name for kernel in kernels}
        for name in [*seen]:
            seen |= self._inside.get(name, frozenset())
        return tuple(kernel for name, kernel in self._expected.items() if name not in seen)

    def _place(self, name: str) -> _Place:
        location = self._instructions.get(name)
        if location is None:
            return _Place(name, None, "", False)
        kernel, line = self._kernels.kernel(*location), self._lines.line(*location)
        read = read_name(kernel.path, inlined=True)
        return _Place(kernel.operation, kernel.line or line, read.scope, read.backward)

    def timeline(self, recording: Recording) -> Iterator[Span]:
        """Yield the events of each thread during the call, with times from its start."""
        kernel_events = {(event.thread, event.start) for event in self._program_events(recording)}
        for event in recording.events:
            if recording.start <= event.start <= recording.end:
                yield Span(
                    event.thread,
                    event.name,
                    event.start - recording.start,
                    event.end - event.start,
                    event.operation if (event.thread, event.start) in kernel_events else "",
                )


def _union(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of the intervals.

    >>> _union([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
