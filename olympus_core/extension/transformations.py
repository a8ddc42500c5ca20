"""Steps of transformations on functions of JAX's older interface, `WrappedFun`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.extension.linear_util import (
    WrappedFun,
    transformation2,
    transformation_with_aux2,
)
from olympus_core.ir.tracer import Array
from olympus_core.library.jet import instantiated, run_jet
from olympus_core.library.ode import ravel_first_arg
from olympus_core.library.sparse.sparsify import run_sparse
from olympus_core.library.sparse.sparsify_values import (
    SparsifyEnv,
    SparsifyValue,
    arrays_to_spvalues,
    spvalues_to_arrays,
)


@transformation2
def _of_vector(f: Callable[..., Any], unravel: Any, y_flat: Any, *args: Any) -> Array:
    return ravel_first_arg(f, unravel)(y_flat, *args)


def ravel_first_arg_(f: WrappedFun, unravel: Callable[[Array], Any]) -> WrappedFun:
    """Return a function with a vector as its first argument, and as its result.

    unravel: the function from the vector to the tree that `f` takes.

    >>> fun = extend.linear_util.wrap_init(lambda y: (y[1], y[0]))
    >>> ravel_first_arg_(fun, lambda v: (v[0], v[1])).call_wrapped(array([1.0, 2.0]))
    Array([2., 1.], dtype=float32)
    """
    return _of_vector(f, unravel)


@transformation2
def _with_zeros(
    f: Callable[..., Any], order: int, primals: Sequence[Any], series: Sequence[Any]
) -> tuple[list[Any], list[list[Any]]]:
    outs, terms = f(object(), order, primals, series)
    return instantiated(outs, terms, order)


def jet_fun(f: WrappedFun, order: int) -> WrappedFun:
    """Return the function (primals, series) -> (results, their series) of a `jet_subtrace`.

    order: the number of coefficients of each series. Coefficients that are zero are arrays.

    >>> fun = extend.linear_util.wrap_init(lambda x: [x * x])
    >>> jet_fun(jet_subtrace(fun), 1).call_wrapped([3.0], [[1.0]])[1]
    [[Array(6., dtype=float32, weak_type=True)]]
    """
    return _with_zeros(f, order)


@transformation2
def _under_trace(
    f: Callable[..., Any],
    tag: Any,
    order: int,
    primals: Sequence[Any],
    series: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    return run_jet(f, tag, order, primals, series)


def jet_subtrace(f: WrappedFun) -> WrappedFun:
    """Return the function (tag, order, primals, series) -> (results, series) of a flat function.

    Its results are flat, and their series are coefficients, or `zero_series`. `tag` is any object,
    which is the `tag` of the `JetTrace`.

    >>> fun = extend.linear_util.wrap_init(lambda x: [x * x, 1.0])
    >>> jet_subtrace(fun).call_wrapped(object(), 1, [3.0], [[1.0]])[1][1] is zero_series
    True
    """
    return _under_trace(f)


@transformation_with_aux2
def _flat_series(f: Callable[..., Any], store: Any, in_tree_def: Any, *arrays: Any) -> list[Any]:
    leaves, out_tree = tree.flatten(f(*in_tree_def.unflatten(arrays)))
    store.store(out_tree)
    return leaves


def traceable(
    f: WrappedFun, in_tree_def: tree.PyTreeDef
) -> tuple[WrappedFun, Callable[[], tree.PyTreeDef]]:
    """Return a function (primals, series) -> (results, series) as one of flat arrays.

    in_tree_def: the tree of (primals, series). The second result returns the tree of the results,
    once the function was called.

    >>> fun = extend.linear_util.wrap_init(lambda xs, series: (xs, series))
    >>> flat, out_tree = traceable(fun, tree.structure(([1.0], [[2.0]])))
    >>> flat.call_wrapped(1.0, 2.0)
    [1.0, 2.0]
    """
    return _flat_series(f, in_tree_def)


@transformation_with_aux2
def _on_values(
    f: Callable[..., Any], store: Any, tag: Any, spenv: SparsifyEnv, spvalues: Any, *bufs: Any
) -> list[Any]:
    store.store(run_sparse(f, tag, spenv, spvalues))
    return spenv.buffers


def sparsify_subtrace(
    f: WrappedFun, tag: Any, spenv: SparsifyEnv, spvalues: Sequence[SparsifyValue]
) -> tuple[WrappedFun, Callable[[], list[SparsifyValue]]]:
    """Return a flat function of sparse values as one of the buffers of an environment.

    It returns all buffers of the environment. The second result returns the values of the results,
    once the function was called. `tag` is any object, which is the `tag` of the `SparseTrace`.

    >>> env = sparse.transform.SparsifyEnv()
    >>> value = env.dense(array([1.0]))
    >>> fun = extend.linear_util.wrap_init(lambda x: [x * 2])
    >>> flat, values = sparsify_subtrace(fun, object(), env, [value])
    >>> flat.call_wrapped(array([1.0]))[values()[0].data_ref]
    Array([2.], dtype=float32)
    """
    return _on_values(f, tag, spenv, spvalues)


def sparsify_fun(wrapped_fun: WrappedFun, args: Sequence[Any]) -> list[Any]:
    """Return the results of a flat function of dense arrays for dense and sparse ones.

    >>> fun = extend.linear_util.wrap_init(lambda x: [x * 2])
    >>> sparsify_fun(fun, [array([1.0])])
    [Array([2.], dtype=float32)]
    """
    spenv = SparsifyEnv()
    spvalues = arrays_to_spvalues(spenv, list(args))
    fun, out_spvalues = sparsify_subtrace(wrapped_fun, object(), spenv, spvalues)
    buffers = fun.call_wrapped(*spenv.buffers)
    arrays: list[Any] = spvalues_to_arrays(SparsifyEnv(buffers), out_spvalues())
    return arrays
