"""Measurement of the peak rates of this machine's CPU, by ordinary compiled programs.

The rates are floating-point operations per second, transcendental functions per second and bytes
per second, as `CpuPeaks` has them, with the seconds of a call and of the start of a kernel.

Each time is the first quartile of the times of repeated calls, with the arguments ready and without
the first call, and the shortest of several rounds: other work of the machine can only increase a
time. It takes some seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from olympus_core.analysis.hlo.cpu_peaks import CpuPeaks
from olympus_core.api.jit import jit
from olympus_core.base.context import enable_x64
from olympus_core.library import methods  # noqa: F401  (what the operators of arrays do)
from olympus_core.library.device import block_until_ready, device_put
from olympus_core.library.lax.elementwise import tanh

_ROUNDS = 3  # of all programs, seconds apart: a short load spoils one of them
_SECONDS = 0.25  # that each program is called for in a round
_CALLS = (5, 2000)  # the least and the most
_PRODUCT = 1024  # rows: large products reach the peak, and take milliseconds
_MIDDLE = 2**20  # elements: too many for one thread alone, few enough for caches
_LARGE = 2**25  # elements, 128 MiB: more than the caches of a CPU hold
_MULTIPLY_ADDS = 64
_FUNCTIONS = 4
_CHAIN = 100
_F32 = np.dtype("float32")


def calibrate(on_figure: Callable[[str], None] = lambda _name: None) -> CpuPeaks:
    """Measure the peak rates of the CPU that this process runs on.

    `on_figure` is called with the name of each group of figures before it is measured: "products",
    "arithmetic", "memory" and "calls".

    Example:
      >>> calibrate().product_float32 > 1e6
      True
    """
    rounds = [_round(on_figure) for _ in range(_ROUNDS)]
    return _peaks({name: min(times[name] for times in rounds) for name in rounds[0]})


def _round(on_figure: Callable[[str], None]) -> dict[str, float]:
    """Return the seconds of a call of each program, by its figure."""
    on_figure("products")
    times = {"float32": _product("float32"), "float64": _product("float64")}
    on_figure("arithmetic")
    times["vector"] = _seconds(_polynomial, np.full(_MIDDLE, 0.1, _F32))
    times["functions"] = _seconds(_repeated_tanh, np.full(_MIDDLE, 0.1, _F32))
    on_figure("memory")
    times["read"] = _seconds(lambda x: x.sum(), np.ones(_LARGE, _F32))
    times["in place"] = _seconds(_increment, np.ones(_LARGE, _F32), donated=True)
    times["new"] = _seconds(_increment, np.ones(_LARGE, _F32))
    on_figure("calls")
    times["call"] = _seconds(_increment, np.ones(8, _F32))
    for name, length in (("chain", _CHAIN), ("long chain", 2 * _CHAIN)):
        times[name] = _seconds(_chain(length), np.zeros((4, 4), _F32))
    return times


def _peaks(times: Mapping[str, float]) -> CpuPeaks:
    """Return the peak rates from the seconds of a call of each program."""
    copy = 8 * _LARGE / times["in place"]
    # if new memory costs nothing, its rate is that of other memory
    new = max(times["new"] - times["in place"], 4 * _LARGE / (4 * copy))
    # a slip of the clock must not make it negative
    launch = max(times["long chain"] - times["chain"], times["call"] / 10) / _CHAIN
    return CpuPeaks(
        product_float32=2 * _PRODUCT**3 / times["float32"],
        product_float64=2 * _PRODUCT**3 / times["float64"],
        vector=2 * _MULTIPLY_ADDS * _MIDDLE / times["vector"],
        transcendentals=_FUNCTIONS * _MIDDLE / times["functions"],
        read=4 * _LARGE / times["read"],
        copy=copy,
        fresh=4 * _LARGE / new,
        call=times["call"],
        launch=launch,
    )


def _product(dtype: str) -> float:
    """Return the seconds of a product of two square matrices with `_PRODUCT` rows."""
    with enable_x64(dtype == "float64"):
        x = np.ones((_PRODUCT, _PRODUCT), dtype)
        return _seconds(lambda a, b: a @ b, x, x)


def _polynomial(x: Any) -> Any:
    """Return `_MULTIPLY_ADDS` multiply-adds of each element, which bound arithmetic."""
    y = x
    for _ in range(_MULTIPLY_ADDS):
        y = y * y + x
    return y


def _repeated_tanh(x: Any) -> Any:
    for _ in range(_FUNCTIONS):
        x = tanh(x)
    return x


def _increment(x: Any) -> Any:
    return x + 1


def _chain(count: int) -> Callable[[Any], Any]:
    """Return a chain of `count` tiny kernels: products, which are not fused."""

    def chain(x: Any) -> Any:
        for _ in range(count):
            x = x @ x
        return x

    return chain


def _seconds(function: Callable[..., Any], *args: Any, donated: bool = False) -> float:
    """Return the first quartile of the times of a call, until its result is ready."""
    compiled = jit(function, donate_argnums=(0,) if donated else ()).lower(*args).compile()
    inputs = [device_put(x) for x in args]

    def call() -> float:
        start = time.perf_counter()
        out = block_until_ready(compiled(*inputs))
        took = time.perf_counter() - start
        if donated:
            inputs[0] = out
        return took

    call()
    least, most = _CALLS
    times = [call()]
    end = time.perf_counter() + _SECONDS
    while len(times) < least or (len(times) < most and time.perf_counter() < end):
        times.append(call())
    return statistics.quantiles(times, n=4)[0]
