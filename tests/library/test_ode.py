"""olympus.experimental.ode against JAX and closed solutions."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import jax
import jax.experimental.ode
import jax.numpy
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.ode
from olympus.errors import DTypeError
from tests.library.oracle import check, row

ODE = {ox.numpy: olympus.experimental.ode, jax.numpy: jax.experimental.ode}
TIMES = np.array([0.0, 0.3, 1.0, 2.5])


def pendulum(n: Any, y: Any, t: Any, m: Any, g: Any) -> Any:
    theta, omega = y
    return [omega, -m * omega - g * n.sin(theta) + 0.1 * t]


def test_solutions() -> None:
    def call(n: Any, y0: Any, ts: Any) -> Any:
        f = ODE[n].odeint
        return [
            f(lambda y, t: -y, y0, ts),
            f(lambda y, t: 1j * y, y0 + 0j, ts),
            *f(lambda y, t: pendulum(n, y, t, 0.25, 9.8), [y0[0], y0[1]], ts, rtol=1e-9, atol=1e-9),
            f(lambda y, t: y * n.cos(t), y0, ts, hmax=0.05),
            f(lambda y, t: y, y0, ts, mxstep=1),
        ]

    with ox.enable_x64(True), jax.enable_x64(True):
        y0 = np.array([0.5, -1.0])
        check([row("odeint", call, y0, TIMES, rtol=1e-7, atol=1e-8)], weak=False)
    y = olympus.experimental.ode.odeint(lambda y, t: -y, np.float32(1), TIMES.astype(np.float32))
    np.testing.assert_allclose(y, np.exp(-TIMES), rtol=1e-5)


def test_derivatives() -> None:
    def call(n: Any, y0: Any, ts: Any, m: Any, g: Any) -> Any:
        package = ox if n is ox.numpy else jax

        def total(y0: Any, ts: Any, m: Any, g: Any) -> Any:
            ys = ODE[n].odeint(
                lambda y, t, m: n.stack(pendulum(n, y, t, m, g)), y0, ts, m, rtol=1e-9, atol=1e-9
            )
            return n.sum(n.sin(ys))

        batched = package.vmap(lambda y: ODE[n].odeint(lambda y, t: -y * y, y, ts))(y0)
        return [*package.grad(total, argnums=(0, 1, 2, 3))(y0, ts, m, g), batched]

    with ox.enable_x64(True), jax.enable_x64(True):
        args = (np.array([0.5, -0.2]), TIMES, np.float64(0.25), np.float64(2.0))
        check([row("grad", call, *args, rtol=1e-5, atol=1e-7)], weak=False)


def test_errors() -> None:
    odeint = olympus.experimental.ode.odeint
    with pytest.raises(DTypeError, match=r"odeint \*args must be arrays"):
        odeint(lambda y, t, a: y, 1.0, TIMES, "text")
    with pytest.raises(TypeError, match="t must be an array of floats"):
        odeint(lambda y, t: y, 1.0, np.arange(3))
    with pytest.raises(TypeError, match="y0 must be arrays of floats"):
        odeint(lambda y, t: y, 1, TIMES)


def test_steps_of_a_solution() -> None:
    def call(n: Any, y: Any, t: Any) -> Any:
        o = ODE[n]

        def f(y: Any, t: Any) -> Any:
            return n.sin(y) - t

        f0, dt = f(y, t), n.asarray(0.1, t.dtype)
        y1, f1, error, k = o.runge_kutta_step(f, y, f0, t, dt)
        ratio = o.mean_error_ratio(error, 1e-3, 1e-4, y, y1)
        return [
            *(y1, f1, error, k, ratio, o.abs2(y), o.abs2(y + 2j)),
            o.initial_step_size(f, t, y, 4, 1e-3, 1e-4, f0),
            o.optimal_step_size(dt, ratio),
            o.optimal_step_size(dt, ratio * 0, ifactor=3.0),
            o.optimal_step_size(dt, ratio + 3, safety=0.8, dfactor=0.9, order=4.0),
            o.interp_fit_dopri(y, y1, k, dt),
            *o.fit_4th_order_polynomial(y, y1, (y + y1) / 2, f0, f1, dt),
        ]

    args = (np.array([0.5, -1.0], np.float32), np.float32(0.25))
    check([row("steps", call, *args, rtol=1e-5, atol=1e-6)], weak=False)


def test_a_function_of_a_vector() -> None:
    def unravel(v: Any) -> Any:
        return {"a": v[0], "b": v[1]}

    def f(y: Any, c: Any) -> Any:
        return {"a": y["b"] * c, "b": y["a"]}

    y = np.array([1.0, 2.0], np.float32)
    theirs = inspect.signature(jax.experimental.ode.ravel_first_arg).parameters
    for package in (ox, jax) if "debug_info" in theirs else (ox,):  # which JAX 0.12 has not
        o = ODE[package.numpy]
        info = package.api_util.debug_info("test", f, (1, 2), {})
        np.testing.assert_array_equal(o.ravel_first_arg(f, unravel, info)(y, 3.0), [6, 1])
        lu = importlib.import_module(f"{package.__name__}.extend.linear_util")
        wrapped = o.ravel_first_arg_(lu.wrap_init(f, debug_info=info), unravel)
        np.testing.assert_array_equal(wrapped.call_wrapped(y, 3.0), [6, 1])
