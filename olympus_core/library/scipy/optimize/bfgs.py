"""The BFGS method: J. Nocedal and S. Wright, "Numerical Optimization" (2006), algorithm 6.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core.library.lax.control import while_loop
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.matrices import eye
from olympus_core.library.numpy.elementwise.logic import isfinite
from olympus_core.library.numpy.linalg.norms import norm as la_norm
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.optimize.line_search import line_search
from olympus_core.transforms.autodiff import value_and_grad


class BfgsState(NamedTuple):
    """The point, the value, the gradient, the inverse Hessian, and the counts of a minimization."""

    converged: Any
    failed: Any
    k: Any
    nfev: Any
    ngev: Any
    x_k: Any
    f_k: Any
    g_k: Any
    H_k: Any
    old_old_fval: Any
    status: Any
    line_search_status: Any


def _updated(inverse: Any, s: Any, y: Any) -> Any:
    """Return the inverse Hessian after a step `s` that changes the gradient by `y`."""
    rho = 1 / dot(y, s, precision=Precision.HIGHEST)
    w = eye(s.shape[0], dtype=rho.dtype) - rho * s[:, None] * y[None, :]
    update = einsum("ij,jk,lk", w, inverse, w, precision=Precision.HIGHEST)
    return where(isfinite(rho), update + rho * s[:, None] * s[None, :], inverse)


def minimize_bfgs(
    fun: Callable[[Any], Any],
    x0: Any,
    maxiter: int | None = None,
    norm: float = np.inf,
    gtol: float = 1e-5,
    line_search_maxiter: int = 10,
) -> BfgsState:
    """Return the last state of a minimization of `fun` from the vector `x0`.

    It ends when the `norm` of the gradient is less than gtol, after `maxiter` steps (by default 200
    for each element), or when a search along a line fails. status: 0 for convergence, 1 for
    maxiter, 2 or more for a failed line search.
    """
    most = x0.size * 200 if maxiter is None else maxiter
    f0, g0 = value_and_grad(fun)(x0)
    zero, no = asarray(0), zeros((), bool)
    start = BfgsState(
        *(la_norm(g0, ord=norm) < gtol, no, zero, zero + 1, zero + 1),
        *(x0, f0, g0, eye(x0.shape[0], dtype=x0.dtype), f0 + la_norm(g0) / 2, zero, zero),
    )

    def step(state: BfgsState) -> BfgsState:
        p = -dot(state.H_k, state.g_k, precision=Precision.HIGHEST)
        found = line_search(
            fun, state.x_k, p, state.f_k, state.old_old_fval, state.g_k, line_search_maxiter
        )
        s = found.a_k * p
        return BfgsState(
            converged=la_norm(found.g_k, ord=norm) < gtol,
            failed=found.failed,
            k=state.k + 1,
            nfev=state.nfev + found.nfev,
            ngev=state.ngev + found.ngev,
            x_k=state.x_k + s,
            f_k=found.f_k,
            g_k=found.g_k,
            H_k=_updated(state.H_k, s, found.g_k - state.g_k),
            old_old_fval=state.f_k,
            status=state.status,
            line_search_status=found.status,
        )

    end: BfgsState = while_loop(lambda s: ~s.converged & ~s.failed & (s.k < most), step, start)
    failure = where(end.failed, 2 + end.line_search_status, -1)
    status = where(end.converged, 0, where(end.k == most, 1, failure))
    return end._replace(status=status)
