"""The subject of a measurement that is a JAX function, compiled and run by JAX itself."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from olympus.errors import UsageError
from olympus_cli.bench.measure.stopping import repetitions
from olympus_cli.bench.measure.subject import TargetSubject
from olympus_cli.frontends.importing import without_plugin_messages
from olympus_cli.frontends.loading import load_target
from olympus_cli.program.runnable import Runnable

#: The stages of JAX, in their order.
_STAGES = ("trace", "lower", "compile")
_MAX = 30  # the maximum number of repetitions of the stages


@dataclass(frozen=True)
class JaxRunnable(Runnable):
    """A program that JAX has compiled; it is called on JAX's arrays."""

    def places(self, backend: object) -> list[Any]:
        """Return JAX's device or sharding of each argument."""
        places: list[Any] = self.compiled.places()
        return places

    def put(self, array: Any, place: object) -> Any:
        """Return an array of JAX at its place."""
        return self.compiled.put(array, place)

    def wait(self, results: Any) -> Any:
        """Wait for results of JAX, and return them."""
        return self.compiled.wait(results)

    def bind(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, in the containers of the function."""
        args, kwargs = self.compiled.bind(arrays)
        return args, kwargs


class JaxSubject(TargetSubject):
    """A target with a JAX function: its stages and its calls are JAX's.

    OLYMPUS lowers it too, once and unmeasured, for the cost and the fingerprint of the target.
    """

    def open(self) -> Runnable:
        """Trace, lower and compile the function by JAX.

        Raises:
            UsageError: the function of the target is not one of JAX.
        """
        self.on_stage("import")
        if self._spec.num_devices > 1:
            from olympus.interop.jax import expect_jax_devices  # it imports JAX

            with without_plugin_messages():
                expect_jax_devices(self._spec.num_devices)
        self._source = load_target(self._spec)
        self._prepare_stages()
        self._program.check_trips()
        self._stages = self._of_jax()
        self._run_stages()
        self._source.check_imports()
        return JaxRunnable(self._stages, self._program.arguments, self._program.results)

    def repeat(self, time_limit: float, *, imports: bool) -> None:
        """Trace, lower and compile again, as often as time allows; `imports` are not timed."""
        self.on_stage("trace, lower and compile again")
        for _ in repetitions(time_limit, lambda: sum(map(self._last, _STAGES))):
            if len(self.seconds["compile"]) >= _MAX:
                break
            self._run_stages()

    def estimate(self) -> None:
        """Return None: the estimate is for an executable of OLYMPUS."""
        return

    def _of_jax(self) -> Any:
        """Return JAX's stages of the traced program."""
        from olympus_cli.frontends.jax_functions import JaxFunction

        stages = None
        if isinstance(self._source, JaxFunction):
            from olympus.interop.jax import own_stages

            with without_plugin_messages():
                stages = own_stages(self._program.traced, self.backend.backend)
        if stages is None:
            raise not_of_jax(self._spec.name, self._source.name)
        return stages

    def _run_stages(self) -> None:
        """Time each stage of JAX once."""
        with without_plugin_messages():
            for name in _STAGES:
                stage = getattr(self._stages, name)
                begin = time.perf_counter()
                stage()
                self._took(name, time.perf_counter() - begin)


def not_of_jax(target: str, program: str, *, is_file: bool = False) -> UsageError:
    """Return the error for a target whose function OLYMPUS traces itself, or that is a file."""
    hint = 'a function that both can trace needs frontend = "jax" in its table of olympus.toml'
    return UsageError(
        f"--against jax needs a JAX function, and target {target!r} has {program}, which JAX does "
        "not trace",
        hint=None if is_file else hint,
    )
