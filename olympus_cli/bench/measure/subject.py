"""The subject of a measurement: a target that passes its stages, or a bundle that is loaded.

Both can be made ready for calls, and their stages can be repeated without caches.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import olympus
from olympus.analysis import Cost, Estimate, cost_of_module, graph_of, read_module
from olympus.analysis import structural_fingerprint as fingerprint_of
from olympus.sharding import expect_devices
from olympus_cli.bench.measure.imports import import_seconds
from olympus_cli.bench.measure.stopping import repetitions
from olympus_cli.bench.measure.work import BundleWork
from olympus_cli.frontends.jax_functions import JaxFunction
from olympus_cli.frontends.loading import load_target
from olympus_cli.program.bundle import load_bundle, open_bundle
from olympus_cli.program.runnable import Runnable, label_to_run, runnable
from olympus_cli.program.stages import Program
from olympus_cli.spec.entries import program_file
from olympus_cli.spec.model import TargetSpec
from olympus_cli.workers.call import OnStage

if TYPE_CHECKING:
    from olympus.artifact import Bundle

_MAX = 30  # the maximum number of repetitions of a stage
_LOADS = 10


@dataclass
class Subject:
    """A program to measure; `seconds` are the times of its stages so far, in order."""

    on_stage: OnStage
    backend: olympus.Target
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def open(self) -> Runnable:
        """Make the program ready for calls; time each stage once."""
        raise NotImplementedError

    def repeat(self, time_limit: float, *, imports: bool) -> None:
        """Repeat the stages for `time_limit` seconds; time `imports` too."""
        raise NotImplementedError

    def cost(self) -> Cost:
        """Return the cost of a call; it is counted once.

        Raises:
            UsageError: the target has the trips of a loop that the program does not have.
        """
        raise NotImplementedError

    def estimate(self) -> Estimate | None:
        """Return the estimated time of a call on the device; None if it cannot be estimated."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Return the structural fingerprint of the program as lowered."""
        raise NotImplementedError

    def _last(self, stage: str) -> float:
        return self.seconds[stage][-1]

    def _took(self, stage: str, seconds: float) -> None:
        self.seconds.setdefault(stage, []).append(seconds)


class TargetSubject(Subject):
    """A target, on the first of its backends that is available here.

    With `warm`, the first samples of its stages do not include the start of the libraries. `label`
    is that of another backend, whose device may be absent: `build` works for it, and `open` fails.
    """

    def __init__(
        self, spec: TargetSpec, on_stage: OnStage, *, warm: bool = False, label: str | None = None
    ) -> None:
        label = label or label_to_run(spec)
        self._warm = warm
        self._spec = replace(spec, backends=(spec.labels[label],))
        super().__init__(on_stage, self._spec.backends[0])

    def open(self) -> Runnable:
        """Build the program."""
        self.build()
        return runnable(self._program)

    def build(self) -> None:
        """Import the program, and trace, lower and compile it."""
        self.on_stage("import")
        self._source = load_target(self._spec)
        if self._warm:
            self._prepare_stages()
        self._program = self._lowered(self.on_stage)
        self._program.check_trips()
        self._compile(self._program)
        self._source.check_imports()

    def _prepare_stages(self) -> None:
        """Start the runtime, and trace and lower once, unmeasured: imports are not part of them."""
        self._program = Program(self._source)
        self._program.trace()
        self._program.lower()
        olympus.devices(self.backend.backend)  # as many as the program needs

    def repeat(self, time_limit: float, *, imports: bool) -> None:
        """Import, trace, lower and compile again, as often as time allows.

        Tracing and lowering have half of the time, so that they have more than one sample with a
        slow compiler; the lowered programs are compiled in the remaining time. Modules are imported
        at least once.
        """
        start = time.perf_counter()
        lowered: list[Program] = []
        self.on_stage("trace and lower again")
        for _ in repetitions(time_limit / 2, lambda: self._last("trace") + self._last("lower")):
            lowered.append(self._lowered(lambda _stage: None))
            if len(lowered) == _MAX - 1:
                break
        self.on_stage("compile again")
        rest = time_limit - (time.perf_counter() - start)
        for _ in repetitions(rest, lambda: self._last("compile")):
            if not lowered:
                break
            self._compile(lowered.pop())
        if not imports:
            return
        self.on_stage("import")
        rest = time_limit - (time.perf_counter() - start)
        module = None if program_file(self._spec.entry) else self._spec
        for name, seconds in import_seconds(module, rest).items():
            self.seconds[name] = list(seconds)

    def cost(self) -> Cost:
        """Return the cost of the program as lowered."""
        return self._cost

    @cached_property
    def _cost(self) -> Cost:
        cost: Cost = self._lowered_program.cost(self._spec.trips)
        return cost

    def estimate(self) -> Estimate | None:
        """Return the estimate from the optimized program."""
        (unit,) = self._program.units
        result: Estimate = unit.compiled.estimate(trips=self._spec.trips or None)
        return result

    def peak_bytes(self) -> int | None:
        """Return the peak memory of the compiled program on one device; None if it is unknown."""
        (unit,) = self._program.units
        peak: int | None = unit.compiled.memory().peak
        return peak

    def fingerprint(self) -> str:
        """Return the fingerprint of the program as lowered."""
        return fingerprint_of(graph_of(self._lowered_program.module))

    @property
    def _lowered_program(self) -> Any:
        (unit,) = self._program.units
        return unit.lowered

    def _lowered(self, on_stage: OnStage) -> Program:
        """Return the program, traced and lowered without caches."""
        olympus.clear_caches()
        if isinstance(self._source, JaxFunction):
            from olympus.interop.jax import clear_jax_caches  # it imports JAX

            clear_jax_caches()
        program = Program(self._source, on_stage)
        program.trace()
        program.lower()
        self._took("trace", program.clock.seconds["trace"])
        self._took("lower", program.units[0].lower_seconds)
        return program

    def _compile(self, program: Program) -> None:
        program.compile()
        self._took("compile", program.units[0].compile_seconds)


class BundleSubject(Subject):
    """A bundle, which is loaded."""

    def __init__(self, work: BundleWork, on_stage: OnStage) -> None:
        super().__init__(on_stage, work.backend)
        self._work = work
        self._module: Any = None

    def open(self) -> Runnable:
        """Load the bundle."""
        expect_devices(self._bundle().num_devices)
        olympus.devices(self.backend.backend)  # the start of the runtime is not part of loading
        self.on_stage("load")
        self._ready = self._load()
        return self._ready

    def repeat(self, time_limit: float, *, imports: bool) -> None:
        """Load it again, and import `olympus` in a fresh interpreter."""
        start = time.perf_counter()
        self.on_stage("load again")
        for _ in repetitions(time_limit, lambda: self._last("load")):
            if len(self.seconds["load"]) >= _LOADS:
                break
            self._load()
        if not imports:
            return
        self.on_stage("import")
        rest = time_limit - (time.perf_counter() - start)
        for name, seconds in import_seconds(None, rest).items():
            self.seconds[name] = list(seconds)

    def cost(self) -> Cost:
        """Return the cost of the program in the bundle."""
        return self._cost

    @cached_property
    def _cost(self) -> Cost:
        return cost_of_module(self._stablehlo())

    def estimate(self) -> Estimate | None:
        """Return the estimate from the optimized program."""
        result: Estimate = self._ready.compiled.estimate()
        return result

    def fingerprint(self) -> str:
        """Return the fingerprint of the program in the bundle."""
        return fingerprint_of(graph_of(self._stablehlo()))

    def _load(self) -> Runnable:
        begin = time.perf_counter()
        ready = load_bundle(self._work.path, self._work.backend, self._work.options)
        self._took("load", time.perf_counter() - begin)
        return ready

    def _stablehlo(self) -> Any:
        if self._module is None:
            self._module = read_module(self._bundle().stablehlo(self.backend.backend))
        return self._module

    def _bundle(self) -> Bundle:
        return open_bundle(self._work.path, self._work.options, native=False)
