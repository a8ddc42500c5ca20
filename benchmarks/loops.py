"""Loops over small arrays, whose estimates are compared with measured times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 10_000
SIZES, SHORT_SIZES = (1, 4, 64, 1024, 4096), (1024,)


def loop_programs(short: bool) -> dict[str, tuple[Any, ...]]:
    """Return each program as a function and the shapes of its arguments, by name."""
    programs: dict[str, tuple[Any, ...]] = {}
    for size in SHORT_SIZES if short else SIZES:
        programs[f"scan add {size}"] = (_scan(_add, STEPS), _shape(size))
        programs[f"scan tanh {size}"] = (_scan(_tanh, STEPS), _shape(size))
    if short:
        return programs
    matrix = _shape(4, 4)
    return {
        **programs,
        "scan inputs 64": (_filter, _shape(64), _shape(STEPS, 64)),
        "scan product 4x4": (_scan(_product, STEPS), matrix, matrix),
        "scan product 16x16": (_scan(_product, STEPS), _shape(16, 16), _shape(16, 16)),
        "scan matrix-vector 64": (_scan(_cell, STEPS), _shape(64), _shape(64, 64)),
        "scan 4 reductions 512": (_scan(_normalize, STEPS), _shape(512)),
        "scan in scan 4": (_scan(_scan(_tanh, 100), STEPS // 100), _shape(4)),
        "fori_loop 64": (_fori(STEPS), _shape(64)),
        "while_loop 64": (_while(STEPS), _shape(64)),
        "filter of 4 states": (_kalman, _shape(4), matrix, _shape(1000, 4), matrix, matrix),
        "no loop, 200 products 4x4": (_chain, matrix),
    }


def _shape(*sizes: int) -> Any:
    import olympus

    return olympus.ShapeDtypeStruct(sizes, "float32")


def _scan(step: Callable[..., Any], steps: int) -> Callable[..., Any]:
    from olympus import lax

    def scanned(x: Any, *rest: Any) -> Any:
        return lax.scan(lambda c, _: (step(c, *rest), None), x, None, length=steps)[0]

    return scanned


def _add(x: Any) -> Any:
    return x + 0.1


def _tanh(x: Any) -> Any:
    import olympus.numpy as jnp

    return jnp.tanh(x) * 0.5 + 0.1


def _product(x: Any, w: Any) -> Any:
    return x @ w


def _cell(x: Any, w: Any) -> Any:
    import olympus.numpy as jnp

    return jnp.tanh(w @ x)


def _normalize(x: Any) -> Any:
    for _ in range(4):
        x = x / (x.sum() + 1)
    return x


def _filter(x: Any, inputs: Any) -> Any:
    from olympus import lax

    return lax.scan(lambda c, y: (c * 0.5 + y, c - y), x, inputs)


def _fori(steps: int) -> Callable[[Any], Any]:
    from olympus import lax

    return lambda x: lax.fori_loop(0, steps, lambda i, c: c * 0.5 + i, x)


def _while(steps: int) -> Callable[[Any], Any]:
    from olympus import lax

    def loop(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < steps, lambda c: (c[0] + 1, c[1] * 0.5), (0, x))[1]

    return loop


def _kalman(x: Any, p: Any, observed: Any, f: Any, noise: Any) -> Any:
    """A filter with a fixed gain: ten products in a step, some of which can run in parallel."""
    from olympus import lax

    def step(state: Any, y: Any) -> Any:
        x, p = state
        x, p = f @ x, f @ p @ f.T + noise
        gain = p @ noise.T
        x = x + gain @ (y - noise @ x)
        return (x, p - gain @ noise @ p), x

    return lax.scan(step, (x, p), observed)


def _chain(x: Any) -> Any:
    for _ in range(200):
        x = x @ x
    return x
