"""The L-BFGS method: J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithm 7.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core.library.lax.control import fori_loop, while_loop
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, zeros, zeros_like
from olympus_core.library.numpy.elementwise.complex import conj, real
from olympus_core.library.numpy.linalg.norms import norm as la_norm
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import minimum
from olympus_core.library.scipy.optimize.line_search import line_search
from olympus_core.transforms.autodiff import value_and_grad


class LbfgsState(NamedTuple):
    """The point, the value, the gradient, the last steps, and the counts of a minimization."""

    converged: Any
    failed: Any
    k: Any
    nfev: Any
    ngev: Any
    x_k: Any
    f_k: Any
    g_k: Any
    s_history: Any
    y_history: Any
    rho_history: Any
    gamma: Any
    status: Any


def _dot(x: Any, y: Any) -> Any:
    return dot(x, y, precision=Precision.HIGHEST)


def _direction(state: LbfgsState) -> Any:
    """Return the direction of the step, by the two loops over the last steps (algorithm 7.4)."""
    size = state.rho_history.shape[0]
    used = minimum(state.k, size)

    def back(j: Any, carry: Any) -> Any:
        q, alphas = carry
        i = size - 1 - j
        alpha = state.rho_history[i] * real(_dot(conj(state.s_history[i]), q))
        alpha = alpha.astype(alphas.dtype)
        return q - alpha * conj(state.y_history[i]), alphas.at[i].set(alpha)

    q, alphas = fori_loop(0, used, back, (-conj(state.g_k), zeros_like(state.rho_history)))

    def forth(j: Any, q: Any) -> Any:
        i = size - used + j
        beta = state.rho_history[i] * real(_dot(state.y_history[i], q))
        return q + (alphas[i] - beta.astype(alphas.dtype)) * state.s_history[i]

    return fori_loop(0, used, forth, state.gamma * q)


def _appended(history: Any, new: Any) -> Any:
    return concatenate([history[1:], new[None].astype(history.dtype)])


def minimize_lbfgs(
    fun: Callable[[Any], Any],
    x0: Any,
    maxiter: float | None = None,
    norm: float = np.inf,
    maxcor: int = 10,
    ftol: float = 2.220446049250313e-09,
    gtol: float = 1e-5,
    maxfun: float | None = None,
    maxgrad: float | None = None,
    maxls: int = 20,
) -> LbfgsState:
    """Return the last state of a minimization of `fun` from the vector `x0`.

    maxcor: the number of saved steps. It ends when the `norm` of the gradient is less than gtol, or
    with a status: 1 after maxiter steps, 2 and 3 after maxfun values and maxgrad gradients, 4 for a
    decrease of less than ftol, 5 for a failed search along a line of maxls steps.
    """
    if maxiter is None and maxfun is None and maxgrad is None:
        maxiter = x0.shape[0] * 200
    limits = [np.inf if limit is None else limit for limit in (maxiter, maxfun, maxgrad)]
    f0, g0 = value_and_grad(fun)(x0)
    zero, no = asarray(0), zeros((), bool)
    start = LbfgsState(
        *(no, no, zero, zero + 1, zero + 1, x0, f0, g0),
        *(zeros((maxcor, x0.shape[0]), x0.dtype), zeros((maxcor, x0.shape[0]), x0.dtype)),
        *(zeros(maxcor, x0.dtype), ones((), g0.dtype), zero),
    )

    def step(state: LbfgsState) -> LbfgsState:
        p = _direction(state)
        found = line_search(fun, state.x_k, p, state.f_k, None, state.g_k, maxls)
        s = found.a_k.astype(p.dtype) * p
        y = found.g_k - state.g_k
        curvature = real(_dot(y, s))
        status = where(state.f_k - found.f_k < ftol, 4, 0)
        status = where(state.ngev >= limits[2], 3, status)
        status = where(state.nfev >= limits[1], 2, status)
        status = where(state.k >= limits[0], 1, status)
        status = where(found.failed, 5, status)
        converged = la_norm(found.g_k, ord=norm) < gtol
        return LbfgsState(
            converged=converged,
            failed=(status > 0) & ~converged,
            k=state.k + 1,
            nfev=state.nfev + found.nfev,
            ngev=state.ngev + found.ngev,
            x_k=(state.x_k + s).astype(state.x_k.dtype),
            f_k=found.f_k.astype(state.f_k.dtype),
            g_k=found.g_k.astype(state.g_k.dtype),
            s_history=_appended(state.s_history, s),
            y_history=_appended(state.y_history, y),
            rho_history=_appended(state.rho_history, 1 / curvature),
            gamma=(curvature / real(_dot(conj(y), y))).astype(state.gamma.dtype),
            status=where(converged, 0, status).astype(state.status.dtype),
        )

    end: LbfgsState = while_loop(lambda s: ~s.converged & ~s.failed, step, start)
    return end
