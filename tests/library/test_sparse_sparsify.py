"""The steps of `sparsify`, gathers, convolutions and eigenvectors of sparse arrays, against JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.experimental.sparse
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.sparse
from olympus.errors import UnsupportedError

PACKAGES = [ox, jax]
rng = np.random.default_rng(1)
M = np.where(rng.uniform(size=(4, 5)) < 0.5, 0, rng.normal(size=(4, 5))).astype(np.float32)
V = rng.normal(size=5).astype(np.float32)


def module(package: Any, name: str = "transform") -> Any:
    return importlib.import_module(f"{package.__name__}.experimental.sparse.{name}")


def sparse(package: Any, x: Any = M, kind: str = "BCOO", **options: Any) -> Any:
    return getattr(package.experimental.sparse, kind).fromdense(x, **options)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("kind", ["BCOO", "BCSR"])
def test_values_of_an_environment(package: Any, kind: str) -> None:
    t = module(package)
    env = t.SparsifyEnv()
    mat = sparse(package, kind=kind)
    values = t.arrays_to_spvalues(env, {"m": mat, "v": V})
    m, v = values["m"], values["v"]
    assert (m.is_sparse(), m.is_bcoo(), m.is_bcsr()) == (True, kind == "BCOO", kind == "BCSR")
    assert (v.is_dense(), v.ndim, m.ndim, m.shape) == (True, 1, 2, (4, 5))
    avals = t.spvalues_to_avals(env, values)
    assert (avals["m"].shape, str(avals["m"].dtype)) == ((4, 5), "float32")
    arrays = t.spvalues_to_arrays(env, values)
    assert type(arrays["m"]) is type(mat)
    np.testing.assert_array_equal(arrays["m"].todense(), M)
    twice = env.sparse(
        m.shape,
        env.data(m) * 2,
        indices_ref=m.indices_ref,
        indptr_ref=m.indptr_ref,
        unique_indices=True,
    )
    np.testing.assert_array_equal(t.spvalues_to_arrays(env, twice).todense(), 2 * M)
    assert twice.indices_ref == m.indices_ref and isinstance(twice, t.SparsifyValue)
    with pytest.raises((RuntimeError, ValueError), match="indices_ref=None"):
        env.indices(v)
    np.testing.assert_array_equal(env.data(env.dense(V)), V)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_program_is_applied_to_values(package: Any) -> None:
    t = module(package)

    def f(m: Any, v: Any) -> Any:
        return {"y": m @ v, "z": -m}

    env = t.SparsifyEnv()
    m, v = t.arrays_to_spvalues(env, (sparse(package), V))
    outs, out_tree = t.sparsify_raw(f)(env, m, v)
    result = package.tree.unflatten(out_tree, t.spvalues_to_arrays(env, outs))
    np.testing.assert_allclose(result["y"], M @ V, rtol=1e-5)
    np.testing.assert_allclose(result["z"].todense(), -M)
    closed = package.make_jaxpr(lambda m, v: (m @ v,))(M, V)
    (out,) = t.eval_sparse(closed.jaxpr, closed.consts, [m, v], env)
    np.testing.assert_allclose(env.data(out), M @ V, rtol=1e-5)


@pytest.fixture
def _own_rules() -> Iterator[None]:
    """Restore the rules after a test that changes them."""
    names = ("sparse_rules_bcoo", "sparse_rules_bcsr")
    tables = [getattr(module(p), name) for p in PACKAGES for name in names]
    saved = [dict(table) for table in tables]
    yield
    for table, items in zip(tables, saved, strict=True):
        table.clear()
        table.update(items)


@pytest.mark.usefixtures("_own_rules")
@pytest.mark.parametrize("package", PACKAGES)
def test_rules_of_users_act(package: Any) -> None:
    t, p = module(package), importlib.import_module(f"{package.__name__}.extend.core.primitives")
    f = t.sparsify(package.numpy.cos)
    with pytest.raises(NotImplementedError, match="sparse rule for cos"):
        f(sparse(package))

    def dense(env: Any, value: Any, **_: Any) -> Any:
        return [env.dense(package.numpy.cos(t.spvalues_to_arrays(env, value).todense()))]

    t.sparse_rules_bcoo[p.cos_p] = dense
    np.testing.assert_allclose(f(sparse(package)), np.cos(M), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="sparse rule for cos"):
        f(sparse(package, kind="BCSR"))
    t.sparse_rules_bcsr[p.cos_p] = dense
    np.testing.assert_allclose(f(sparse(package, kind="BCSR")), np.cos(M), rtol=1e-6)


@pytest.mark.parametrize("package", PACKAGES)
def test_operations_are_applied_as_they_are_bound(package: Any) -> None:
    t = module(package)

    def f(m: Any, v: Any) -> Any:
        assert isinstance(m, t.SparseTracer) and isinstance(v, t.SparseTracer)
        assert m.shape == (4, 5)
        return package.numpy.sin(-m) @ v, m * 2

    y, z = t.sparsify(f, use_tracer=True)(sparse(package), V)
    np.testing.assert_allclose(y, np.sin(-M) @ V, rtol=1e-5)
    np.testing.assert_allclose(z.todense(), 2 * M)
    g = t.sparsify(lambda x: package.numpy.cos(x), use_tracer=True)
    with pytest.raises(NotImplementedError, match="sparse rule for cos"):
        g(sparse(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_functions_of_the_older_interface(package: Any) -> None:
    t = module(package)
    lu = importlib.import_module(f"{package.__name__}.extend.linear_util")

    def f(m: Any, v: Any) -> Any:
        return [m @ v, m * 3]

    info = package.api_util.debug_info("sparsify", f, (1, 2), {})
    y, z = t.sparsify_fun(lu.wrap_init(f, debug_info=info), [sparse(package), V])
    np.testing.assert_allclose(y, M @ V, rtol=1e-5)
    np.testing.assert_allclose(z.todense(), 3 * M)
    env = t.SparsifyEnv()
    values = t.arrays_to_spvalues(env, [sparse(package), V])
    tag = jax.core.TraceTag() if hasattr(package.core, "TraceTag") else object()
    fun, outs = t.sparsify_subtrace(lu.wrap_init(f, debug_info=info), tag, env, values)
    buffers = fun.call_wrapped(*env._buffers)
    np.testing.assert_allclose(buffers[outs()[0].data_ref], M @ V, rtol=1e-5)


B = np.where(rng.uniform(size=(2, 3, 4)) < 0.5, 0, 1.0 + np.arange(24).reshape(2, 3, 4))
GATHERS: dict[str, tuple[Any, Any, Any, Any]] = {
    "rows": (M, [[2], [0], [3]], ((1,), (0,), (0,)), (1, 5)),
    "elements": (M, [[2, 1], [0, 3]], ((), (0, 1), (0, 1)), (1, 1)),
    "windows": (M, [[1, 2], [0, 0]], ((1, 2), (), (0, 1)), (2, 3)),
    "windows first": (M, [[1, 2], [0, 0], [2, 1]], ((0, 1), (), (0, 1)), (2, 3)),
    "several axes of indices": (M, [[[2], [0]], [[1], [1]]], ((2,), (0,), (0,)), (1, 5)),
    "the middle axis": (B, [[2], [0]], ((0, 2), (1,), (1,)), (2, 1, 4)),
}


@pytest.mark.parametrize("name", GATHERS)
def test_gathers_are_jaxs(name: str) -> None:
    x, indices, numbers, sizes = GATHERS[name]
    results = []
    for package in PACKAGES:
        gather = package.experimental.sparse.bcoo_gather
        dims = package.lax.GatherDimensionNumbers(*numbers)
        out = gather(sparse(package, x), package.numpy.array(indices), dims, sizes)
        results.append(np.asarray(out.todense()))
        with pytest.raises(NotImplementedError, match="mode"):
            gather(sparse(package, x), package.numpy.array(indices), dims, sizes, mode="clip")
    expected = ox.lax.gather(x, np.array(indices), ox.lax.GatherDimensionNumbers(*numbers), sizes)
    for result in results:
        np.testing.assert_array_equal(result, expected)
    take = module(ox).sparsify(lambda m: m[ox.numpy.array([2, 0])])
    np.testing.assert_array_equal(take(sparse(ox)).todense(), M[[2, 0]])


CONVOLUTIONS: list[tuple[Any, Callable[..., Any]]] = [
    (padding, make)
    for padding in ("VALID", "SAME", [(2, 1)])
    for make in (
        lambda p, x, y: (sparse(p, x), y),
        lambda p, x, y: (x, sparse(p, y)),
        lambda p, x, y: (sparse(p, x, nse=9), sparse(p, y, n_batch=2)),
    )
]


@pytest.mark.parametrize(("padding", "make"), CONVOLUTIONS)
def test_convolutions_are_jaxs(padding: Any, make: Callable[..., Any]) -> None:
    x = np.array([0, 1, 2, 0, 0, 3, 0], np.float32).reshape(1, 1, -1)
    y = np.array([1, 0, 4], np.float32).reshape(1, 1, -1)
    expected = ox.lax.conv_general_dilated(x, y, (1,), padding)
    for package in PACKAGES:
        convolve = package.experimental.sparse.bcoo_conv_general_dilated
        arrays = [package.numpy.asarray(a) if isinstance(a, np.ndarray) else a
                  for a in make(package, x, y)]  # fmt: skip
        out = convolve(*arrays, window_strides=(1,), padding=padding)
        np.testing.assert_allclose(out.todense(), expected)
        for options in ({"window_strides": (2,)}, {"window_strides": (1,), "rhs_dilation": (2,)}):
            with pytest.raises(NotImplementedError, match="bcoo convolution with"):
                convolve(*arrays, padding=padding, **options)


@pytest.mark.parametrize("package", PACKAGES)
def test_derivatives_by_data(package: Any) -> None:
    ad = module(package, "ad")

    def f(a: Any, m: Any, v: Any) -> Any:
        return a * (m @ v).sum()

    args = (package.numpy.float32(2), sparse(package), package.numpy.asarray(V))
    flat, numbers, buffers, restored = ad.flatten_fun_for_sparse_ad(f, (0, 1), args)
    assert len(buffers) == 4
    a, m = restored(package.grad(flat, numbers)(*buffers))
    np.testing.assert_allclose(a, (M @ V).sum(), rtol=1e-5)
    np.testing.assert_allclose(m.todense(), np.where(M != 0, 2 * V, 0), rtol=1e-5)
    flat, numbers, buffers, restored = ad.flatten_fun_for_sparse_ad(f, 2, args)
    assert tuple(numbers) == (3,)
    np.testing.assert_allclose(
        restored(package.grad(flat, numbers)(*buffers)), 2 * M.sum(0), rtol=1e-5
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_properties(package: Any) -> None:
    bcoo, bcsr = module(package, "bcoo"), module(package, "bcsr")
    assert bcoo.BCOOProperties(n_batch=0, n_sparse=2, n_dense=0, nse=3) == (0, 2, 0, 3)
    assert bcsr.BCSRProperties(n_batch=0, n_dense=0, nse=3) == (0, 0, 3)
    assert {"shape", "dtype"} <= vars(bcoo.Buffer).keys()


def test_the_largest_eigenvalues_are_jaxs() -> None:
    a = rng.normal(size=(40, 40)).astype(np.float32)
    a = a @ a.T
    values, vectors = np.linalg.eigh(a)
    start = rng.normal(size=(40, 3)).astype(np.float32)
    for package in PACKAGES:
        lobpcg = module(package, "linalg").lobpcg_standard
        for matrix in (a, lambda v, a=a: a @ v):
            theta, u, steps = lobpcg(matrix, start, m=200)
            np.testing.assert_allclose(theta, values[::-1][:3], rtol=1e-3)
            overlap = np.abs(np.sum(np.asarray(u) * vectors[:, ::-1][:, :3], axis=0))
            np.testing.assert_allclose(overlap, 1, atol=1e-2)
            assert 0 < int(steps) <= 200
        assert int(lobpcg(a, start, m=2)[2]) == 2
        for bad, error in (
            ((a, start[:, :0]), "search dim > 0"),
            ((a[:9, :9], start[:9]), "search dim"),
            ((a[:9], start), "shape|matrix"),
        ):
            with pytest.raises(ValueError, match=error):
                lobpcg(*bad)
    theta, *_ = module(ox, "linalg").lobpcg_standard(
        sparse(ox, np.diag(np.arange(20.0))), start[:20]
    )
    np.testing.assert_allclose(theta, [19, 18, 17], rtol=1e-3)


def test_axes_of_batches_are_refused() -> None:
    numbers = ox.lax.GatherDimensionNumbers((1,), (), (1,), (0,), (0,))
    with pytest.raises(UnsupportedError, match="batching axes"):
        ox.experimental.sparse.bcoo_gather(sparse(ox), np.zeros((4, 1), np.int32), numbers, (1, 2))
