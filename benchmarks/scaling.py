"""The time of one equation as programs grow, by framework and size.

The programs are sequences of elementwise operations, so both frameworks have the same equations,
and a time that grows with the size is not the work of one equation. Processor time is measured,
because a busy machine interrupts long measurements more often than short ones.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

STAGES = ("trace", "lower")
WHOLE = 9  # repetitions of a complete measurement; with fewer, the largest sizes are omitted


@dataclass(frozen=True)
class Scaling:
    """Programs of `sizes` equations; `make(framework, size)` returns one."""

    title: str
    make: Callable[[Any, int], Callable[..., Any]]
    sizes: tuple[int, ...]


def chain(ox: Any, size: int) -> Callable[..., Any]:
    """Return a function of two vectors whose trace has `size` equations."""
    lax = ox.lax

    def function(x: Any, y: Any) -> Any:
        for _ in range(size // 4):
            y = lax.mul(y, lax.sin(x))
            x = lax.tanh(lax.add(x, y))
        return x

    return function


def gradient(ox: Any, size: int) -> Callable[..., Any]:
    """Return the gradient of the sum of a `chain`, with about three times as many equations."""
    function = chain(ox, size)
    return ox.grad(lambda x, y: ox.numpy.sum(function(x, y)))  # type: ignore[no-any-return]


SCALING = {
    "scaling": Scaling("straight line", chain, (1_000, 3_000, 10_000, 30_000, 100_000)),
    "scaling_grad": Scaling("gradient", gradient, (300, 1_000, 3_000, 10_000, 30_000)),
}


def costs(ox: Any, scaling: Scaling, repeat: int) -> dict[str, list[float]]:
    """Measure the seconds of each stage divided by the size, and their growth with the size.

    Small sizes are measured up to `repeat` times, so that all sizes take about the same time.
    """
    largest = scaling.sizes[-1]
    sizes = [size for size in scaling.sizes if size * WHOLE <= largest * repeat]
    samples: dict[str, list[float]] = {}
    trace_and_lower(ox, scaling.make(ox, sizes[0]))  # the work that a process does only once
    for size in sizes:
        for _ in range(max(1, min(repeat, largest // (10 * size)))):
            seconds = trace_and_lower(ox, scaling.make(ox, size))
            for stage, value in zip(STAGES, seconds, strict=True):
                samples.setdefault(f"{stage}/{size}", []).append(value / size)
    first, last = (
        sum(median(samples[f"{stage}/{size}"]) for stage in STAGES)
        for size in (sizes[0], sizes[-1])
    )
    return {**samples, "growth": [last / first]}


def trace_and_lower(ox: Any, function: Callable[..., Any]) -> tuple[float, float]:
    """Return the seconds of processor time to trace and to lower a function of two vectors."""
    vector = ox.ShapeDtypeStruct((8,), "float32")
    gc.collect()
    start = time.process_time()
    traced = ox.jit(function).trace(vector, vector)
    between = time.process_time()
    traced.lower()
    return between - start, time.process_time() - between
