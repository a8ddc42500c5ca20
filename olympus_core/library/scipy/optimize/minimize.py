"""`olympus.scipy.optimize.minimize`, with SciPy's signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.scipy.optimize.bfgs import minimize_bfgs
from olympus_core.library.scipy.optimize.lbfgs import minimize_lbfgs


class OptimizeResults(NamedTuple):
    """The result of `minimize`.

    x: the point. success: True for convergence. status: 0, or the reason of the end. fun, jac: the
    value and the gradient. hess_inv: the inverse Hessian, or None. nfev, njev: the numbers of
    values and of gradients. nit: the number of steps.
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Callable[..., ArrayLike],
    x0: Array,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Return a local minimum of a differentiable function, from the vector `x0`.

    fun: a function of a vector and `args` that returns a scalar. method: "BFGS", with the options
    `maxiter`, `norm`, `gtol` and `line_search_maxiter`; or
    "l-bfgs-experimental-do-not-rely-on-this", with `maxiter`, `norm`, `maxcor`, `ftol`, `gtol`,
    `maxfun`, `maxgrad` and `maxls`. tol has no effect. It can be staged; as in JAX, it has no
    reverse derivative.

    Raises ArgumentError for another method or args that are no tuple.

    >>> minimize(lambda x: ((x - 3) ** 2).sum(), zeros(2), method="BFGS").x
    Array([3.0000002, 3.       ], dtype=float32)
    """
    if not isinstance(args, tuple):
        raise ArgumentError(f"args argument to minimize must be a tuple, got {args}")

    def of_point(x: Any) -> Any:
        return fun(x, *args)

    given = dict(options or {})
    name = method.lower()
    start = asarray(x0)
    if name == "bfgs":
        end: Any = minimize_bfgs(of_point, start, **given)
        inverse = end.H_k
    elif name == "l-bfgs-experimental-do-not-rely-on-this":
        end, inverse = minimize_lbfgs(of_point, start, **given), None
    else:
        raise ArgumentError(f"Method {method} not recognized; the method is 'BFGS'")
    success = end.converged & ~end.failed
    return OptimizeResults(
        end.x_k, success, end.status, end.f_k, end.g_k, inverse, end.nfev, end.ngev, end.k
    )
