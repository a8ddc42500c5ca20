"""`python -m benchmarks.calls`: the time of a call of a staged and of a compiled function.

Each row is one kind of arguments. A round calls both functions of OLYMPUS and of JAX, one after the
other, and the lowest time over the rounds is shown, since other programs only add time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy
import numpy as np

import olympus
import olympus.numpy
from benchmarks.cells import grid

ROUNDS, CALLS = 40, 250


class Row(NamedTuple):
    """A function of a NumPy-like module and arguments; `on_device` puts these there first."""

    name: str
    function: Callable[..., Any]
    args: Any
    kwargs: Any
    on_device: bool = False

    @property
    def calls(self) -> int:
        """The number of calls of a round, which is smaller for many arguments."""
        return CALLS if len(self.args) < 100 else 15


def _one(np: Any, x: Any) -> Any:
    return np.tanh(x * 2 + 1)


def _two(np: Any, x: Any, y: Any) -> Any:
    return x * 2 + y


def _three(np: Any, d: Any) -> Any:
    return d["a"] + d["b"] * d["c"]


def _sum(np: Any, *xs: Any) -> Any:
    return sum(xs[1:], xs[0])


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""

    def array() -> Any:
        return np.linspace(0, 1, 8, dtype=np.float32)

    yield Row("an array on the device", _one, (array(),), {}, True)
    yield Row("two arrays on the device", _two, (array(), array()), {}, True)
    yield Row("two by keyword", _two, (), {"x": array(), "y": array()}, True)
    yield Row("three in a dict", _three, ({name: array() for name in "abc"},), {}, True)
    yield Row("100 arrays on the device", _sum, [array() for _ in range(100)], {}, True)
    yield Row("a NumPy array", _one, (array(),), {})
    yield Row("two NumPy arrays", _two, (array(), array()), {})
    yield Row("100 NumPy arrays", _sum, [array() for _ in range(100)], {})
    yield Row("two NumPy scalars", _two, (np.float32(1), np.float32(2)), {})
    yield Row("100 NumPy scalars", _sum, [np.float32(i) for i in range(100)], {})
    yield Row("a Python scalar", _one, (1.0,), {})
    yield Row("two Python scalars", _two, (1.0, 2.0), {})
    yield Row("100 Python scalars", _sum, [float(i) for i in range(100)], {})


def lowest(row: Row, rounds: int) -> list[float]:
    """Return the seconds of a call: staged by OLYMPUS and by JAX, then compiled by both."""
    staged: list[Any] = []
    compiled: list[Any] = []
    sides: tuple[tuple[Any, Any], ...] = (olympus, olympus.numpy), (jax, jax.numpy)
    for library, module in sides:

        def function(*args: Any, module: Any = module, **kwargs: Any) -> Any:
            return row.function(module, *args, **kwargs)

        args, kwargs = row.args, row.kwargs
        if row.on_device:
            args, kwargs = library.tree_util.tree_map(library.device_put, (args, kwargs))
        jitted = library.jit(function)
        for calls, f in ((staged, jitted), (compiled, jitted.lower(*args, **kwargs).compile())):
            f(*args, **kwargs), f(*args, **kwargs)
            calls.append((f, args, kwargs))
    seconds = [float("inf")] * 4
    for _ in range(rounds):
        for i, (f, args, kwargs) in enumerate((*staged, *compiled)):
            start = time.perf_counter()
            for _ in range(row.calls):
                f(*args, **kwargs)
            seconds[i] = min(seconds[i], (time.perf_counter() - start) / row.calls)
    return seconds


def table(measured: Sequence[tuple[str, Sequence[float]]]) -> str:
    """Return the times in microseconds, and OLYMPUS's divided by JAX's, as a Markdown table."""
    head = ("arguments", "`jit`, olympus", "jax", "ratio", "compiled, olympus", "jax", "ratio")
    lines = []
    for name, seconds in measured:
        ours, jaxs, compiled, jax_compiled = seconds
        cells = [name]
        for x, y in ((ours, jaxs), (compiled, jax_compiled)):
            cells += [f"{1e6 * x:#.3g}".rstrip("."), f"{1e6 * y:#.3g}".rstrip(".")]
            cells.append(f"**{x / y:.2f}**")
        lines.append(tuple(cells))
    return grid(head, lines)


def main() -> None:
    """Measure, and print Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(table([(row.name, lowest(row, options.rounds)) for row in rows()]))


if __name__ == "__main__":
    main()
