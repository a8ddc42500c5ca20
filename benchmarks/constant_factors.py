"""`python -m benchmarks.constant_factors`: products by constants, by the rule of this machine.

On an x86 processor with AVX2 and without AVX-512, products by constants have Eigen's kernels where
these are faster, and wide constants are divided into blocks of columns. Each program is compiled by
this rule and without it; both run in turns, in one process for each number of threads. A figure is
the median of the wall times of a call; the ratio is that of the pairs, with quartiles. The programs
of `LATER` were first measured after the rule was set.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.onnx import drawn_weight, seconds_of
from benchmarks.pairs import paired_ratio

ROUNDS = 41
#: A function of one array, with constant weights, and the shape of the array.
Program = tuple[Callable[[Any], Any], tuple[int, ...]]
#: The sizes of the layers of perceptrons, and the rows of a batch.
PERCEPTRONS = [
    ((784, 512, 512, 10), 1),
    ((784, 512, 512, 10), 32),
    ((784, 512, 512, 10), 256),
    ((784, 300, 100, 10), 128),
    ((1000, 1000, 1000, 1000), 64),
    ((1024, 1024, 1024, 1024), 16),
    ((1536, 1536, 1536), 48),
]
#: The features, heads, layers and tokens of transformers.
TRANSFORMERS = [(256, 4, 3, 256), (384, 6, 3, 16), (512, 8, 3, 64), (768, 12, 2, 128)]
#: The features, rows and steps of recurrent networks.
RECURRENCES = [(256, 16, 20), (512, 64, 10)]
#: The same of the programs that were first measured after the rule was set.
LATER = (
    [
        ((2048, 1024, 512, 16), 40),
        ((640, 640, 640), 100),
        ((896, 1280, 896), 24),
        ((512, 2048, 512), 300),
    ],
    [(640, 10, 2, 48), (1024, 16, 1, 200)],
    [(384, 32, 12)],
)


def perceptron(sizes: Sequence[int], rows: int) -> Program:
    """Return a function of (rows, sizes[0]), with constant weights, and that shape."""
    import olympus as ox

    rng = np.random.default_rng(0)
    weights = [drawn_weight(shape, rng) for shape in itertools.pairwise(sizes)]

    def function(x: Any) -> Any:
        for weight in weights:
            x = ox.nn.relu(x @ weight)
        return x

    return function, (rows, sizes[0])


def transformer(features: int, heads: int, layers: int, tokens: int) -> Program:
    """Return a function of (tokens, features), with constant weights, and that shape."""
    import olympus as ox

    rng = np.random.default_rng(0)
    sizes = [(features, features)] * 4 + [(features, 4 * features), (4 * features, features)]
    weights = [[drawn_weight(shape, rng) / 2 for shape in sizes] for _ in range(layers)]

    def function(x: Any) -> Any:
        for query, key, value, out, up, down in weights:
            q, k, v = [
                (x @ w).reshape(tokens, heads, -1).transpose(1, 0, 2) for w in (query, key, value)
            ]
            shares = ox.nn.softmax(q @ k.transpose(0, 2, 1) / 8, axis=-1)
            x = x + (shares @ v).transpose(1, 0, 2).reshape(tokens, features) @ out
            x = x + ox.nn.gelu(x @ up) @ down
        return x

    return function, (tokens, features)


def recurrence(features: int, rows: int, steps: int) -> Program:
    """Return a function of (rows, features), with constant weights, and that shape."""
    import olympus as ox

    weight = drawn_weight((2 * features, 4 * features), np.random.default_rng(0))

    def step(carry: Any, _: Any) -> Any:
        h, c = carry
        gates = ox.numpy.concatenate([h, h], -1) @ weight
        i, f, o, u = ox.numpy.split(gates, 4, -1)
        c = ox.nn.sigmoid(f) * c + ox.nn.sigmoid(i) * ox.numpy.tanh(u)
        return (ox.nn.sigmoid(o) * ox.numpy.tanh(c), c), None

    return lambda x: ox.lax.scan(step, (x, x), None, length=steps)[0][0], (rows, features)


def programs() -> dict[str, tuple[Callable[..., Program], tuple[Any, ...]]]:
    """Return the function that makes each program, and its arguments, by name."""
    found: dict[str, tuple[Callable[..., Program], tuple[Any, ...]]] = {}
    first = PERCEPTRONS, TRANSFORMERS, RECURRENCES
    for perceptrons, transformers, recurrences in (first, LATER):
        for sizes, rows in perceptrons:
            found[f"perceptron {'-'.join(map(str, sizes))}, {rows} rows"] = (
                perceptron,
                (sizes, rows),
            )
        for shape in transformers:
            features, _, layers, tokens = shape
            name = f"transformer of {features} features, {layers} layers, {tokens} tokens"
            found[name] = transformer, shape
        for case in recurrences:
            features, rows, steps = case
            found[f"LSTM of {features} features, {rows} rows, {steps} steps"] = recurrence, case
    return found


def row(name: str, threads: int, rounds: int) -> str:
    """Return the row of a program in the table."""
    import olympus as ox

    make, arguments = programs()[name]
    function, shape = make(*arguments)
    x = np.random.default_rng(1).standard_normal(shape).astype("float32")
    lowered = ox.jit(function).lower(x)
    with_rule = lowered.compile()
    with mock.patch("olympus_core.xla.runtime.constant_factors.is_measured", lambda: False):
        without = lowered.compile()
    calls: list[Callable[[], Any]] = [
        lambda: np.asarray(with_rule(x)),
        lambda: np.asarray(without(x)),
    ]
    got, want = [call() for call in calls]
    np.testing.assert_allclose(got, want, atol=1e-3 * float(np.max(np.abs(want))))
    pairs = np.array([[seconds_of(call, perf_counter) for call in calls] for _ in range(rounds)])
    ratio = paired_ratio(*pairs.T.tolist())
    new, old = 1e6 * np.median(pairs, axis=0)
    quartiles = f"{ratio.median:.2f} ({ratio.q1:.2f} .. {ratio.q3:.2f})"
    return f"| {name} | {threads} | {old:.0f} | {new:.0f} | {quartiles} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure the programs and print the table."""
    parser = argparse.ArgumentParser("python -m benchmarks.constant_factors", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    parser.add_argument("--threads", type=int, default=0, help="default: one, and all")
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.worker:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
        print(row(options.worker, options.threads, options.rounds))
        return 0
    print("| program | threads | without, us | with, us | ratio |")
    print("| --- | ---: | ---: | ---: | ---: |")
    cores = len(os.sched_getaffinity(0))
    for threads in [options.threads] if options.threads else sorted({1, cores}):
        for name in programs():
            given = ["--worker", name, "--threads", str(threads), "--rounds", str(options.rounds)]
            command = [sys.executable, "-m", "benchmarks.constant_factors", *given]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
            print(done.stdout.splitlines()[-1], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
