"""olympus.experimental.jet against JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.experimental.jet
import jax.numpy
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.jet
from olympus.errors import ArgumentError
from tests.library.oracle import check, row

JET = {ox.numpy: olympus.experimental.jet.jet, jax.numpy: jax.experimental.jet.jet}
LAX = {ox.numpy: ox.lax, jax.numpy: jax.lax}
X = np.linspace(0.2, 0.9, 6).reshape(2, 3)
TERMS = [0.3 * X + k for k in range(3)]

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        name: lambda n, x, name=name: getattr(n, name)(x)
        for name in ("sin", "exp", "log", "tanh", "sqrt", "cosh", "expm1", "log1p", "abs")
    },
    "logistic": lambda n, x: LAX[n].logistic(x),
    "power": lambda n, x: x**3 + x**-1.5,
    "quotient": lambda n, x: n.sin(x) / (1 + x),
    "product": lambda n, x: n.dot(x, x.T),
    "sum": lambda n, x: n.sum(x * x, axis=0),
    "max": lambda n, x: n.max(x, axis=1),
    "parts": lambda n, x: n.concatenate([x[1:], 2 * x[:1]]).T.reshape(3, 2),
    "select": lambda n, x: n.where(x > 0.5, x * x, n.cos(x)),
}


def test_functions() -> None:
    def of(name: str, factorial_scaled: bool) -> Any:
        def call(n: Any, x: Any, *terms: Any) -> Any:
            value, series = JET[n](
                lambda x: FUNCTIONS[name](n, x), (x,), (terms,), factorial_scaled=factorial_scaled
            )
            return [value, *series]

        return row(f"{name} {factorial_scaled}", call, X, *TERMS, rtol=1e-7, atol=1e-8)

    with ox.enable_x64(True), jax.enable_x64(True):
        rows = [of(name, True) for name in FUNCTIONS]
        check([*rows, of("exp", False), of("product", False)], weak=False)


def test_trees_and_several_arguments() -> None:
    def call(n: Any, x: Any, y: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return {"a": x * n.sin(y), "b": (n.exp(x), y)}

        def slope(x: Any) -> Any:
            return JET[n](f, (x, y), ((y, x), (x, y)))[1]["a"][1].sum()

        value, series = JET[n](f, (x, y), ((y, x), (x, y)))
        package = ox if n is ox.numpy else jax
        return [*package.tree.leaves(value), *package.tree.leaves(series), package.grad(slope)(x)]

    with ox.enable_x64(True), jax.enable_x64(True):
        check([row("tree", call, X, X + 1, rtol=1e-7, atol=1e-8)], weak=False)
    value, series = JET[ox.numpy](ox.numpy.sin, (0.0,), ((1.0, 0.0, 0.0),))
    np.testing.assert_allclose([value, *series], [0, 1, 0, -1], atol=1e-6)


def test_errors() -> None:
    jet = olympus.experimental.jet.jet
    for args, text in (
        (((X, X), ((X,), (X, X))), "inconsistent lengths"),
        ((((X, X),), ((X,),)), "primal value at position 0 is not an array"),
        (((X,), (((X, X),),)), "term 0 for argument 0"),
    ):
        with pytest.raises(ArgumentError, match=text):
            jet(lambda *x: x, *args)


def module(package: Any) -> Any:
    return importlib.import_module(f"{package.__name__}.experimental.jet")


@pytest.fixture
def _own_rules() -> Iterator[None]:
    """Restore the rules after a test that changes them."""
    tables = [t for p in (ox, jax) for t in (module(p).jet_rules, module(p).call_param_updaters)]
    saved = [dict(table) for table in tables]
    yield
    for table, items in zip(tables, saved, strict=True):
        table.clear()
        table.update(items)


@pytest.mark.usefixtures("_own_rules")
@pytest.mark.parametrize("package", [ox, jax])
def test_rules_of_users_act(package: Any) -> None:
    m, p = module(package), importlib.import_module(f"{package.__name__}.extend.core.primitives")

    def terms(f: Callable[[Any], Any]) -> list[float]:
        value, series = m.jet2(f, (0.5,), ((1.0, 2.0),))
        return [float(value), *map(float, series)]

    lax = package.lax
    calls: list[Any] = []

    def rule(primals: Any, series: Any, **params: Any) -> Any:
        calls.append((len(primals), len(series[0])))
        return primals[0] * 10, [t * 10 for t in series[0]]

    m.jet_rules[p.sin_p] = rule
    assert terms(lambda x: package.jit(lambda y: lax.sin(y))(x)) == [5, 10, 20]
    assert calls == [(1, 2)]
    m.defzero(p.sin_p)
    np.testing.assert_allclose(terms(lambda x: lax.sin(x) + x), [np.sin(0.5) + 0.5, 1, 2])
    m.deflinear(p.sin_p)
    np.testing.assert_allclose(terms(lax.sin), np.sin([0.5, 1, 2]), rtol=1e-6)
    m.def_deriv(p.erf_p, lambda x: x * x)
    np.testing.assert_allclose(terms(lax.erf), [0.5204999, 0.25, 1.0], rtol=1e-6)
    m.def_comp(p.sin_p, lambda x: x * 3)
    np.testing.assert_allclose(terms(lax.sin), [1.5, 3, 6], rtol=1e-6)


def test_rules_by_hand_are_jaxs() -> None:
    def call(n: Any, x: Any, *terms: Any) -> Any:
        package = ox if n is ox.numpy else jax
        m, lax = module(package), LAX[n]
        p = importlib.import_module(f"{package.__name__}.extend.core.primitives")
        linear, slopes = m.linear_prop(p.neg_p, [x], [terms])
        value, series = m.deriv_prop(p.log_p, lambda x: 1 / x, [x], [list(terms)])
        floor, zero = m.zero_prop(p.floor_p, [x], [terms])
        assert zero is m.zero_series
        both = m.jet2(lambda x, y: lax.exp(x) / y * lax.floor(y), (x, x + 1), (terms, terms))
        return [linear, *slopes, value, *series, floor, both[0], *both[1], m.fact(3.0)]

    with ox.enable_x64(True), jax.enable_x64(True):
        check([row("rules", call, X, *TERMS, rtol=1e-7, atol=1e-8)], weak=False)


@pytest.mark.parametrize("package", [ox, jax])
def test_steps_of_the_transformation(package: Any) -> None:
    m = module(package)
    lu = importlib.import_module(f"{package.__name__}.extend.linear_util")

    def f(x: Any, y: Any) -> Any:
        assert isinstance(x, m.JetTracer)
        return [x * y, package.numpy.ones(2)]

    info = package.api_util.debug_info("jet", f, (1.0, 2.0), {})
    fun = m.jet_subtrace(lu.wrap_init(f, debug_info=info))
    args = ([package.numpy.float32(3)] * 2, [[1.0, 0.0], m.zero_series])
    values, series = m.jet_fun(fun, 2).call_wrapped(*args)
    np.testing.assert_allclose([values[0], *series[0]], [9, 3, 0])
    np.testing.assert_array_equal(series[1], np.zeros((2, 2)))
    inner, terms = fun.call_wrapped(_tag(package), 2, *args)
    assert terms[1] is m.zero_series and float(inner[0]) == 9
    leaves, in_tree = package.tree.flatten(args)
    assert len(leaves) == 4  # `zero_series` has none
    flat, out_tree = m.traceable(m.jet_fun(fun, 2), in_tree)
    outs = flat.call_wrapped(*leaves)
    assert package.tree.unflatten(out_tree(), outs)[1][0] == [3, 0]
    assert isinstance(m.zero_term, m.ZeroTerm) and isinstance(m.zero_series, m.ZeroSeries)
    assert isinstance(m.call_param_updaters, dict)


def _tag(package: Any) -> Any:
    return jax.core.TraceTag() if package is jax and hasattr(jax.core, "TraceTag") else object()


@pytest.mark.usefixtures("_own_rules")
def test_the_parameters_of_a_call_are_changed() -> None:
    m, p = module(ox), importlib.import_module("olympus.extend.core.primitives")
    other = ox.make_olympuspr(lambda x: x * x)(1.0)
    m.call_param_updaters[p.jit_p] = lambda params, n: {**params, "olympuspr": other, "n": n}
    value, terms = m.jet(lambda x: ox.jit(lambda y: y + 1)(x), (3.0,), ((1.0,),))
    assert (float(value), float(terms[0])) == (9.0, 6.0)


def test_orders_cost_no_doubling() -> None:
    def size(order: int) -> int:
        def f(x: Any) -> Any:
            for _ in range(4):
                x = x * ox.numpy.exp(x) + 1 / x
            return x

        terms = (1.0,) * order
        return len(ox.make_olympuspr(lambda x: JET[ox.numpy](f, (x,), (terms,)))(1.0).eqns)

    assert size(8) < 4 * size(4)  # the square of the order, and not two to its power
