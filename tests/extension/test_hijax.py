"""Operations of users as classes, against JAX: values, derivatives, batches and errors."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.experimental.hijax
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.hijax
from olympus.experimental.hijax import (
    HiPrim,
    NullAccum,
    RefAccum,
    ValAccum,
    Zero,
    bdims_at_front,
    jvp_from_lin,
    linearize_from_jvp,
    unmap_avals,
    vjp_from_jvp,
    vjp_from_lin,
    vmap_rule,
)
from olympus_core.extension.rules import AxisData

#: JAX 0.12 has `HiPrim` instead
HAS_OLDER = hasattr(jax.experimental.hijax, "VJPHiPrimitive")
PACKAGES = [ox, jax] if HAS_OLDER else [ox]
older = pytest.mark.skipif(not HAS_OLDER, reason="this JAX has another interface")
X = np.float32(0.5)
ROWS = np.arange(3, dtype=np.float32)


def scaled_sine(package: Any, **rules: Any) -> Any:
    """Return `sin(x) * d["y"] * 2` as an operation whose derivatives are recognizable."""
    hijax = importlib.import_module(f"{package.__name__}.experimental.hijax")
    n = package.numpy

    class Scaled(hijax.VJPHiPrimitive):  # type: ignore[misc]  # its base depends on the package
        def __init__(self, aval: Any, scale: float) -> None:
            self.in_avals = (aval, {"y": aval})
            self.out_aval = [aval]
            self.params = {"scale": scale}
            super().__init__()

        def expand(self, x: Any, d: Any) -> Any:
            return [n.sin(x) * d["y"] * self.scale]

        def vjp_fwd(self, nzs_in: Any, x: Any, d: Any) -> Any:
            return self(x, d), (x, d)

        def vjp_bwd_retval(self, res: Any, g: Any) -> Any:
            x, d = res
            of_x = g[0] * n.cos(x) * d["y"] * self.scale * 10
            return of_x, {"y": g[0] * n.sin(x) * self.scale}

        def jvp(self, primals: Any, tangents: Any) -> Any:
            return self(*primals), [tangents[0] * 5.0]

        def batch_dim_rule(self, axis_data: Any, dims: Any) -> Any:
            return [0]

    for name, rule in rules.items():
        setattr(Scaled, name, rule)
    return Scaled(package.typeof(X), 2.0)


def hijax_base(package: Any) -> Any:
    return importlib.import_module(f"{package.__name__}.experimental.hijax").VJPHiPrimitive


def function(package: Any) -> Any:
    prim = scaled_sine(package)
    return lambda x: prim(x, {"y": x})[0]


@older
@pytest.mark.parametrize("staged", [False, True])
def test_values_derivatives_and_batches_are_jaxs(staged: bool) -> None:
    found = []
    for package in (ox, jax):
        f = function(package)
        if staged:  # under `jit` a rule `jvp` would be the one of reverse derivatives too
            prim = scaled_sine(package, jvp=hijax_base(package).jvp)
            f = package.jit(lambda x, prim=prim: prim(x, {"y": x})[0])
        g = f
        found.append([
            g(X),
            package.grad(g)(X),
            package.jit(package.grad(g))(X),
            *(() if staged else package.jvp(g, (X,), (X,))),
            package.vmap(g)(ROWS),
            package.vmap(package.grad(g))(ROWS),
            package.grad(lambda v, g=g, p=package: p.vmap(g)(v).sum())(ROWS),
            package.vmap(package.vmap(g))(np.ones((2, 3), np.float32)),
        ])  # fmt: skip
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


@older
def test_an_array_without_a_mapped_axis_gets_the_sum() -> None:
    found = []
    for package in (ox, jax):
        prim = scaled_sine(package)

        def total(x: Any, y: Any, prim: Any = prim, p: Any = package) -> Any:
            return p.vmap(lambda x: prim(x, {"y": y})[0])(x).sum()

        found.append(package.grad(total, argnums=(0, 1))(ROWS, X))
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


@pytest.mark.parametrize("package", PACKAGES)
def test_cotangents_are_added_to_accumulators(package: Any) -> None:
    def backward(self: Any, res: Any, g: Any, of_x: Any, of_d: Any) -> None:
        of_x.accum(g[0] * 3)
        of_x.accum(g[0] * 4)

    rules = {"vjp_bwd": backward}
    prim = scaled_sine(package, vjp_bwd_retval=hijax_base(package).vjp_bwd_retval, **rules)
    assert float(package.grad(lambda x: prim(x, {"y": x})[0])(X)) == 7


def test_a_missing_rule_is_named() -> None:
    for package in PACKAGES:
        hijax = importlib.import_module(f"{package.__name__}.experimental.hijax")

        class Bare(hijax.VJPHiPrimitive):  # type: ignore[misc]
            def __init__(self, aval: Any) -> None:
                self.in_avals, self.out_aval, self.params = (aval,), aval, {}
                super().__init__()

        bare = Bare(package.typeof(X))
        for run, name in (
            (lambda p=package, f=bare: f(X), "expand"),
            (lambda p=package, f=bare: p.jvp(f, (X,), (X,)), "jvp"),
            (lambda p=package, f=bare: p.grad(f)(X), "jvp|vjp_fwd"),
            (lambda p=package, f=bare: p.vmap(f)(ROWS), "batch_dim_rule"),
        ):
            with pytest.raises(NotImplementedError, match=f"must implement `({name})|{name}"):
                run()
        with pytest.raises(AttributeError, match=r"should set `self\.in_avals`"):
            hijax.VJPHiPrimitive()
    with pytest.raises(ox.errors.ArgumentError, match="needs arguments of the structure"):
        scaled_sine(ox)(X)


class Cube(HiPrim):
    """The third power, whose derivative is called 100 for recognition where it is a rule."""

    def __init__(self, aval: Any) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x: Any) -> Any:
        return x * x * x


class ByJvp(Cube):
    """Rules of reverse and linearized derivatives by `jvp`."""

    vjp_fwd, vjp_bwd_retval = vjp_from_jvp
    lin, linearized = linearize_from_jvp

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return self(*primals), 100 * primals[0] * tangents[0]

    def batch(self, axis_data: Any, args: Any, dims: Any) -> Any:
        return vmap_rule(axis_data, self.expand, dims, 0)(*args), 0


class ByLin(Cube):
    """Rules of forward and reverse derivatives by `lin`."""

    jvp = jvp_from_lin
    vjp_fwd, vjp_bwd_retval = vjp_from_lin

    def lin(self, nzs_in: Any, *primals: Any) -> Any:
        return self(*primals), primals[0]

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        return 100 * residuals * tangents[0]


@pytest.mark.parametrize("kind", [ByJvp, ByLin])
def test_rules_by_other_rules(kind: type[Cube]) -> None:
    f = kind(ox.typeof(X))
    assert float(f(X)) == 0.125
    assert float(ox.jvp(f, (X,), (2.0,))[1]) == 100
    assert float(ox.grad(f)(X)) == float(ox.jit(ox.grad(f))(X)) == 50
    if kind is ByJvp:
        out, saved = f.lin((True,), X)
        tangent = f.linearized(saved, np.float32(1))
        assert (float(out), float(tangent)) == (0.125, 50)
        np.testing.assert_allclose(ox.vmap(f)(ROWS), ROWS**3)


def test_a_linear_operation_is_transposed() -> None:
    class Triple(Cube):
        def expand(self, x: Any) -> Any:
            return 3 * x

        def jvp(self, primals: Any, tangents: Any) -> Any:
            return self(*primals), self(*tangents)

        def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
            maybe_accums[0].accum(7 * out_ct)

    f = Triple(ox.typeof(X))
    assert float(ox.grad(f)(X)) == 7
    assert float(ox.linear_transpose(f, X)(X)[0]) == 3.5
    assert (f == Triple(ox.typeof(X)), hash(f) == hash(Triple(ox.typeof(X)))) == (True, True)
    assert f != Cube(ox.typeof(X)) and "Triple" in repr(f)


def test_accumulators_and_mapped_axes() -> None:
    aval = ox.typeof(X)
    total = ValAccum(aval)
    assert isinstance(total.freeze(), Zero)
    for x in (X, Zero(aval), X):
        total.accum(x)
    assert float(total.freeze()) == 1
    ref = ox.new_ref(ox.numpy.float32(1))
    RefAccum(aval, ref).accum(X)
    assert float(RefAccum(aval, ref).freeze()) == 1.5
    NullAccum(aval).accum(X)
    with pytest.raises(NotImplementedError):
        ox.experimental.hijax.GradAccum(aval).accum(X)
    axis = AxisData(None, 5)
    x = np.ones((3, 5))
    front, repeated = bdims_at_front(axis, (x, x), (1, None))
    assert (front.shape, repeated.shape) == ((5, 3), (5, 3, 5))
    avals = unmap_avals(axis, (aval, aval), (0, None))
    assert [a.shape for a in avals] == [(5,), ()]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_primitive_with_methods_as_rules(package: Any) -> None:
    hijax = importlib.import_module(f"{package.__name__}.experimental.hijax")

    class Double(hijax.HiPrimitive):  # type: ignore[misc]
        def abstract_eval(self, x: Any, *, by: float) -> Any:
            return x, set()

        def to_lojax(self, x: Any, *, by: float) -> Any:
            return x * by

        def jvp(self, primals: Any, tangents: Any, *, by: float) -> Any:
            (x,), (t,) = primals, tangents
            return self.bind(x, by=by), self.bind(t, by=by)

        def transpose(self, ct: Any, x: Any, *, by: float) -> Any:
            assert hijax.is_undefined_primal(x)
            return [ct * by]

    double = Double("double_of_test")
    assert float(double.bind(package.numpy.float32(3), by=2.0)) == 6
    assert float(package.jit(lambda x: double.bind(x, by=2.0))(np.float32(3))) == 6
    if package is ox:  # in JAX a derivative needs other types
        assert float(ox.grad(lambda x: double.bind(x, by=2.0) * x)(np.float32(3))) == 12
