"""olympus.experimental.roofline against JAX: operations, bytes, links and memory."""

from __future__ import annotations

import dataclasses
import importlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.experimental.roofline
import jax.numpy
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.roofline
from olympus_core.library.experimental.roofline import rooflines

ROOFLINE = {ox: olympus.experimental.roofline, jax: jax.experimental.roofline}
X = np.ones((4, 6), np.float32)
IMAGE, KERNEL = np.ones((2, 3, 9), np.float32), np.ones((4, 3, 3), np.float32)

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elements": (lambda p, x: p.numpy.sin(x) * x + 2, (X,)),
    "product": (lambda p, x, y: p.numpy.tanh(x @ y), (X, X.T)),
    "batched product": (lambda p, x: p.numpy.einsum("bij,bjk->bik", x, x), (np.ones((2, 3, 3)),)),
    "sum": (lambda p, x: p.lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None)
            if p is jax else p.numpy.sum(x, 0), (X,)),
    "cumulative": (lambda p, x: p.lax.cumsum(x, 1) + p.lax.cumlogsumexp(x, 0), (X,)),
    "selection": (lambda p, x: p.lax.select(x > x * 2, x, x), (X,)),
    "gather": (lambda p, x: x.at[np.array([1, 2])].get(mode="promise_in_bounds"), (X,)),
    "convolution": (
        lambda p, x, k: p.lax.conv_general_dilated(x, k, (1,), [(1, 1)]), (IMAGE, KERNEL)),
    "strided convolution": (
        lambda p, x, k: p.lax.conv_general_dilated(
            x, k, (2,), [(2, 1)], lhs_dilation=(2,), rhs_dilation=(2,)), (IMAGE, KERNEL)),
    "nested": (lambda p, x: p.jit(lambda y: p.jit(p.numpy.sin)(y) * y)(x), (X,)),
}  # fmt: skip


def mesh_of(package: Any, sizes: tuple[int, ...], names: tuple[str, ...]) -> Any:
    types = (package.sharding.AxisType.Auto,) * len(sizes)
    return package.sharding.AbstractMesh(sizes, names, axis_types=types)


def fields(result: Any) -> dict[str, Any]:
    return dataclasses.asdict(result)


@pytest.mark.parametrize("name", CASES)
def test_estimates_are_jaxs(name: str) -> None:
    function, args = CASES[name]
    args = tuple(np.asarray(x, np.float32) for x in args)
    found = []
    for package, module in ROOFLINE.items():
        shapes, result = module.roofline(lambda *a, p=package: function(p, *a))(*args)
        out = package.tree.leaves(shapes)[0]
        found.append(fields(result) | {"shape": out.shape, "dtype": str(out.dtype)})
    for result in found:  # a gather has other operations on its indices in JAX
        if name == "gather":
            result.pop("peak_hbm_bytes")
            result.pop("unfused_flops")
            result.pop("unfused_hbm_bytes")
    assert found[0] == found[1]


COLLECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "psum": lambda lax, x: lax.psum(x, ("x", "y")),
    "all_gather": lambda lax, x: lax.all_gather(x, "x"),
    "reduce_scatter": lambda lax, x: lax.psum_scatter(x, "x", tiled=True),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "x", 0, 0, tiled=True),
    "permutation": lambda lax, x: lax.ppermute(x, "x", [(0, 1), (1, 3), (3, 0), (2, 2)]),
    "maximum": lambda lax, x: lax.pmax(x, "x"),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_bytes_on_links_are_jaxs(name: str) -> None:
    found = []
    for package, module in ROOFLINE.items():
        p, mesh = package.P, mesh_of(package, (4, 2), ("x", "y"))

        def f(x: Any, lax: Any = package.lax) -> Any:
            return COLLECTIVES[name](lax, x).sum()

        def mapped(x: Any, f: Any = f, p: Any = p, mesh: Any = mesh, of: Any = package) -> Any:
            spec = p(("x", "y"))
            return of.shard_map(lambda x: f(x)[None], mesh=mesh, in_specs=spec, out_specs=spec)(x)

        _, result = module.roofline(mapped, mesh)(np.ones((64, 3), np.float32))
        found.append((result.ici_bytes, result.ici_latency))
    assert found[0] == found[1]
    assert any(found[0][0].values())


@pytest.mark.parametrize("package", ROOFLINE)
def test_a_function_on_a_mesh_and_its_derivative(package: Any) -> None:
    module, p = ROOFLINE[package], package.P
    mesh = mesh_of(package, (4,), ("x",))

    def f(x: Any, y: Any) -> Any:
        return x @ y

    specs = (p("x"), p()), p("x")
    x, y = (package.ShapeDtypeStruct(s, "float32") for s in ((8, 4), (4, 16)))
    shapes, result = module.roofline(f, mesh, *specs)(x, y)
    assert (shapes.shape, shapes.sharding.spec) == ((8, 16), p("x"))
    assert result.flops == result.unfused_flops == 2 * 2 * 4 * 16  # of two rows
    pinned = module.roofline(f, mesh, *specs, pin_lhs_in_vmem=True, pin_rhs_in_vmem=True)(x, y)[1]
    assert (result.hbm_bytes, pinned.hbm_bytes) == (4 * (2 * 4 + 4 * 16 + 2 * 16), 0)


def test_the_derivative_costs_two_products() -> None:
    module = ROOFLINE[ox]
    mesh = ox.sharding.AbstractMesh((1,), ("x",))
    both = module.roofline_and_grad(lambda x, y: x @ y, mesh, (ox.P(), ox.P()), ox.P())
    shapes, forward, backward = both(X, X.T)
    assert (shapes.shape, forward.flops) == ((4, 4), 2 * 4 * 6 * 4)
    assert backward.flops == 2 * forward.flops
    reverse = module.roofline(lambda x: ox.numpy.sum(x * x), vjp=True)(X)[0]
    assert ox.tree.leaves(reverse)[0].shape == X.shape


def test_loops_and_branches(capsys: pytest.CaptureFixture[str]) -> None:
    roofline = ROOFLINE[ox].roofline

    def scanned(x: Any) -> Any:
        return ox.lax.scan(lambda c, _: (c @ x, None), x, length=5)[0]

    def branched(x: Any) -> Any:
        return ox.lax.cond(x[0, 0] > 0, lambda y: y @ y, lambda y: y @ y @ y, x)

    def looped(x: Any) -> Any:
        return ox.lax.while_loop(lambda y: y[0, 0] < 9, lambda y: y @ y, x)

    square = np.ones((4, 4), np.float32)
    flops = [roofline(f)(square)[1].flops for f in (scanned, branched, looped)]
    assert flops == [5 * 128, 2 * 128, 128]
    roofline(scanned, print_jaxpr=True)(square)
    assert "scan" in capsys.readouterr().out


@pytest.fixture
def _own_rules() -> Iterator[None]:
    """Restore the rules after a test that changes them."""
    tables = [rooflines, importlib.import_module("jax.experimental.roofline.roofline")._rooflines]
    saved = [dict(table) for table in tables]
    yield
    for table, items in zip(tables, saved, strict=True):
        table.clear()
        table.update(items)


@pytest.mark.usefixtures("_own_rules")
@pytest.mark.parametrize("package", ROOFLINE)
def test_rules_of_users_act(package: Any, caplog: pytest.LogCaptureFixture) -> None:
    module = ROOFLINE[package]
    extend = importlib.import_module(f"{package.__name__}.extend.core")
    own = extend.Primitive("own_sine")
    own.def_abstract_eval(lambda x: x)
    f = module.roofline(lambda x: own.bind(x))
    with caplog.at_level(logging.WARNING):
        assert f(X)[1].unfused_flops == 0
    assert "No roofline rule for own_sine" in caplog.text

    @module.register_roofline(own)
    def of_sine(ctx: Any, x: Any, **params: Any) -> Any:
        assert isinstance(ctx, module.RooflineRuleContext)
        assert isinstance(x, module.RooflineShape)
        assert (ctx.primitive, ctx.avals_in[0].shape, ctx.mesh) == (own, (4, 6), None)
        return module.RooflineResult(flops=7, unfused_hbm_bytes=x.bytes)

    assert (f(X)[1].flops, f(X)[1].unfused_hbm_bytes) == (7, X.nbytes)
    module.register_standard_roofline(own)
    assert f(X)[1].flops == 0


@pytest.mark.parametrize("package", ROOFLINE)
def test_results_are_added_and_multiplied(package: Any) -> None:
    result = ROOFLINE[package].RooflineResult
    a = result(flops=2, ici_bytes={"x": 3}, peak_hbm_bytes=5, hbm_bytes=1)
    b = result(flops=1, ici_bytes={"y": 1}, peak_hbm_bytes=4)
    both = a + b
    assert (both.flops, both.ici_bytes, both.peak_hbm_bytes) == (3, {"x": 3, "y": 1}, 5)
    assert (2 * a).ici_bytes == (a * 2).ici_bytes == {"x": 6}
    assert result.zeros() == result()
    with pytest.raises(TypeError, match="Expected ShapedArray"):
        ROOFLINE[package].RooflineShape.from_aval(3)


def test_the_function_has_precedence_over_the_submodule_of_its_name() -> None:
    importlib.import_module("olympus.experimental.roofline.roofline")
    assert olympus.experimental.roofline.roofline is rooflines_function()


def rooflines_function() -> Any:
    return importlib.import_module("olympus_core.library.experimental.roofline").roofline
