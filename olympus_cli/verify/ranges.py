"""Runs on inputs of other sizes and signs, to check that a target's results remain finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus.verification import Ranges, ResultCheck, Run, judge_ranges
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable
from olympus_cli.program.stages import Program

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class OtherInputs:
    """The runs on other inputs, or the reason why there are none, as `skipped`."""

    found: Ranges
    skipped: str | None = None

    @property
    def failed(self) -> tuple[ResultCheck, ...]:
        """The comparisons with float64 that fail."""
        return tuple(fault.check() for fault in self.found.faults if fault.fails)

    @property
    def noted(self) -> tuple[ResultCheck, ...]:
        """The comparisons that do not fail: the first for each operation that causes them."""
        first: dict[object, ResultCheck] = {}
        for fault in self.found.faults:
            if not fault.fails:
                place = fault.finding and (fault.finding.operation, fault.finding.location)
                first.setdefault(place, fault.check())
        return tuple(first.values())


def other_inputs(
    program: Program,
    ready: Runnable,
    inputs: InputOptions,
    arrays: Sequence[Array],
    results: Sequence[Array],
    *,
    run: Run,
    on_operation: Callable[[], None],
) -> OtherInputs:
    """Run a program, whose `results` on `arrays` are right, on other inputs; judge the results.

    Arguments from a file or described by the target's `inputs` are not varied.
    """
    varied = inputs.undeclared(ready.arguments)
    if any(varied) and (line := _endless(program)) is not None:
        why = f"how often the loop at {line} runs depends on data: it may not end on other inputs"
        return OtherInputs(Ranges((), ()), why)
    return OtherInputs(
        judge_ranges(
            program.traced,
            arrays,
            results,
            varied,
            ready,
            run=run,
            allow=program.spec.tolerance.allow,
            seed=inputs.seed,
            on_operation=on_operation,
        )
    )


def _endless(program: Program) -> str | None:
    """Return the line of a loop that may not end for some inputs; None without one."""
    unknown = program.units[0].lowered.cost().unknown
    return next((loop.line or "an unknown line" for loop in unknown if "loop" in loop.what), None)
