"""`python -m benchmarks.operations`: single operations against JAX. Out: Markdown.

OLYMPUS lowers most of them in another form than JAX, for which XLA's compiler for CPUs generates
faster code. Both frameworks compile and run the same function, in turns in one process. The table
has the least time to compile, and the lower quartile of the times to run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import olympus as ox

FRAMEWORKS = (ox, jax)
Arrays = tuple[Any, ...]


class Operation(NamedTuple):
    """A function of a framework and arrays, and the shapes of the arrays.

    `of` is the position of the array by which it is differentiated, or None for the function.
    """

    title: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    of: int | None = None


def convolution(groups: int = 1, **options: Any) -> Callable[..., Any]:
    """Return a convolution of (batch, height, width, features)."""

    def convolve(fw: Any, x: Any, kernel: Any) -> Any:
        return fw.lax.conv_general_dilated(
            x,
            kernel,
            (1, 1),
            "SAME",
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
            **options,
        )

    return convolve


def max_pool(fw: Any, x: Any) -> Any:
    """Return the maximum of each 2 by 2 elements."""
    window = (1, 2, 2, 1)
    return fw.lax.reduce_window(x, -np.inf, fw.lax.max, window, window, "VALID")


IMAGES = (4, 32, 32, 128)
OPERATIONS = (
    Operation("x[b,t,k] @ w[k,n]", lambda fw, x, w: x @ w, ((2, 128, 256), (256, 1024))),
    Operation("its weights", lambda fw, x, w: x @ w, ((2, 128, 256), (256, 1024)), 1),
    Operation("depthwise convolution, 3 x 3", convolution(128), (IMAGES, (3, 3, 1, 128))),
    Operation("its array", convolution(128), (IMAGES, (3, 3, 1, 128)), 0),
    Operation("its weights", convolution(128), (IMAGES, (3, 3, 1, 128)), 1),
    Operation("convolution in 32 groups of 4", convolution(32), (IMAGES, (3, 3, 4, 128))),
    Operation("its weights", convolution(32), (IMAGES, (3, 3, 4, 128)), 1),
    Operation("convolution, 1 x 1: weights", convolution(), (IMAGES, (1, 1, 128, 256)), 1),
    Operation("convolution of one feature, 5 x 5", convolution(), ((16, 64, 64, 1), (5, 5, 1, 6))),
    Operation("convolution of 128 features, 3 x 3", convolution(), (IMAGES, (3, 3, 128, 128))),
    Operation("its weights", convolution(), (IMAGES, (3, 3, 128, 128)), 1),
    Operation("2 x 2 max pool", max_pool, (IMAGES,)),
    Operation("its array", max_pool, (IMAGES,), 0),
    Operation("sort", lambda fw, x: fw.numpy.sort(x, axis=-1), ((512, 1024),)),
    Operation("argsort", lambda fw, x: fw.numpy.argsort(x, axis=-1), ((512, 1024),)),
    Operation("median", lambda fw, x: fw.numpy.median(x, axis=-1), ((512, 1024),)),
    Operation("argmax", lambda fw, x: fw.numpy.argmax(x, axis=-1), ((512, 1024),)),
    Operation("cumulative sum", lambda fw, x: fw.lax.cumsum(x, x.ndim - 1), ((256, 1024),)),
    Operation("the same", lambda fw, x: fw.lax.cumsum(x, x.ndim - 1), ((1_000_000,),)),
    Operation("cumulative maximum", lambda fw, x: fw.lax.cummax(x, x.ndim - 1), ((64, 4096),)),
    Operation("rows with a NaN", lambda fw, x: fw.numpy.isnan(x).any(-1), ((512, 1024),)),
    Operation("positive elements of rows", lambda fw, x: (x > 0).sum(-1), ((512, 1024),)),
    Operation("the same", lambda fw, x: (x > 0).sum(-1), ((64, 64),)),
    Operation("greatest byte", lambda fw, x: x.astype("int8").max(), ((512, 1024),)),
    Operation("greatest integer", lambda fw, x: x.astype("int32").max(), ((256, 256),)),
)


def function_of(operation: Operation, framework: Any) -> Callable[..., Any]:
    """Return the compiled function: the operation, or the gradient of the sum of its squares."""

    def run(*arrays: Any) -> Any:
        return operation.function(framework, *arrays)

    if operation.of is None:
        return run
    return framework.grad(lambda *arrays: (run(*arrays) ** 2).sum(), operation.of)  # type: ignore[no-any-return]


def measure(operation: Operation, rounds: int) -> tuple[list[float], list[float]]:
    """Return the seconds to compile and to run an operation, by framework."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype(np.float32) for shape in operation.shapes]
    compiling: list[list[float]] = [[], []]
    running: list[list[float]] = [[], []]
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            framework = FRAMEWORKS[side]
            lowered = framework.jit(function_of(operation, framework)).lower(*values)
            start = time.perf_counter()
            compiled = lowered.compile()
            compiling[side].append(time.perf_counter() - start)
            arrays = tuple(map(framework.device_put, values))
            call(framework, compiled, arrays)
            once = call(framework, compiled, arrays)
            calls = max(3, min(30, int(0.1 / once)))
            running[side] += [call(framework, compiled, arrays) for _ in range(calls)]
    return [min(x) for x in compiling], [float(np.quantile(x, 0.25)) for x in running]


def call(framework: Any, compiled: Any, arrays: Arrays) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    framework.block_until_ready(compiled(*arrays))
    return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the operations and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.operations", description=__doc__)
    parser.add_argument("--rounds", type=int, default=4, help="compilations of each (default: 4)")
    options = parser.parse_args(argv)
    print("| operation | shapes | compile | jax | ratio | run | jax | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for operation in OPERATIONS:
        cells = [operation.title, ", ".join(map(str, operation.shapes))]
        for ours, theirs in measure(operation, options.rounds):
            cells += [f"{ours * 1e3:.3g} ms", f"{theirs * 1e3:.3g} ms", f"**{ours / theirs:.2f}**"]
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
