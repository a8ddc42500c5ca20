"""Requests to the compiler of olympus.experimental against JAX: the same attributes and values."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, LoweringError, UnsupportedError

X = np.arange(4, dtype=np.float32)
#: JAX 0.12 has other interfaces, which are compared with the values alone
HAS_OLDER = importlib.util.find_spec("jax.experimental.shard_alike") is not None
PACKAGES = [ox, jax] if HAS_OLDER else [ox]
older = pytest.mark.skipif(not HAS_OLDER, reason="this JAX has another interface")
DEVICE = {ox: "device", jax: jax.memory.Space.Device}


def experimental(package: Any, name: str) -> Any:
    return importlib.import_module(f"{package.__name__}.experimental.{name}")


def attributes(text: str) -> list[str]:
    """Return the attributes for the compiler of operations and calls, except broadcasts."""
    found = []
    for line in text.splitlines():
        frontend = re.search(r"mhlo.frontend_attributes = (\{[^}]*\})", line)
        if frontend and "broadcast_in_dim" not in line:
            operation = re.search(r"(stablehlo\.\w+|call)", line)
            assert operation
            found.append(f"{operation[0]} {frontend[1]}")
    return found


def in_context(package: Any) -> Any:
    m = experimental(package, "xla_metadata")

    def f(x: Any) -> Any:
        with m.set_xla_metadata(a=1, b="x", c=True):
            y = package.numpy.sin(x)
            with m.set_xla_metadata(a=None, d=2.5):
                z = package.numpy.cos(x)
        return m.set_xla_metadata(y + z, k=2)

    return f


def decorated(package: Any) -> Any:
    m = experimental(package, "xla_metadata")
    inner = m.set_xla_metadata(tag="inner")(package.jit(package.numpy.sin))
    return lambda x: inner(x) + inner(x * 2)


def grouped(package: Any) -> Any:
    group = experimental(package, "scheduling_groups").scheduling_group("g")
    return group(lambda x, y=2.0: package.numpy.sin(x) * y)


def grouped_gradient(package: Any) -> Any:
    f = grouped(package)
    return package.grad(lambda x: package.numpy.sum(f(x, y=3.0)))


def hosted(package: Any) -> Any:
    c = experimental(package, "compute_on")

    def f(x: Any) -> Any:
        with c.compute_on("device_host"):
            y = package.numpy.sin(x)
        with c.compute_on("gpu_stream:1"):
            z = package.numpy.cos(y)
        return package.numpy.tan(z)

    return f


def called(kind: str, options: Any = None, derive: bool = False) -> Any:
    def of(package: Any) -> Any:
        c = experimental(package, "compute_on")
        f = c.compute_on2(
            compute_type=kind, out_memory_spaces=DEVICE[package], compiler_options=options
        )(lambda x: package.numpy.sin(x))
        return package.grad(lambda x: package.numpy.sum(f(x))) if derive else f

    return of


@pytest.mark.parametrize(
    "of",
    [
        in_context,
        decorated,
        grouped,
        grouped_gradient,
        pytest.param(hosted, marks=older),
        pytest.param(called("device_host"), marks=older),
        pytest.param(called("device"), marks=older),
        pytest.param(called("device", {"a": "b"}, derive=True), marks=older),
        pytest.param(called("device_host", derive=True), marks=older),
    ],
)
def test_attributes_and_values_are_jaxs(of: Any) -> None:
    texts, values, rows = [], [], []
    for package in (ox, jax):
        texts.append(attributes(package.jit(of(package)).lower(X).as_text()))
        values.append(np.asarray(package.jit(of(package))(X)))
        rows.append(np.asarray(package.vmap(of(package))(X.reshape(2, 2))))
    assert sorted(texts[0]) == sorted(texts[1]) != []
    np.testing.assert_allclose(*values, rtol=1e-6)
    np.testing.assert_allclose(*rows, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(of(ox)(X)), values[1], rtol=1e-6)


def test_operations_with_other_attributes_are_not_merged() -> None:
    m = experimental(ox, "xla_metadata")

    def f(x: Any) -> Any:
        with m.set_xla_metadata(tag="a"):
            y = ox.numpy.sin(x)
        with m.set_xla_metadata(tag="b"):
            return y + ox.numpy.sin(x)

    lowered = ox.jit(f).lower(X)
    assert lowered.as_text().count("stablehlo.sine") == 2
    contexts = [e.ctx.xla_metadata for e in lowered.olympuspr.eqns]
    assert contexts == [{"tag": "a"}, {"tag": "b"}, {"tag": "b"}]
    with experimental(ox, "compute_on").compute_on("device_host"):
        eqn = ox.make_olympuspr(ox.numpy.sin)(X).eqns[0]
    assert (eqn.ctx.compute_type, eqn.ctx.xla_metadata) == ("device_host", None)


def test_a_call_with_metadata_of_derivatives() -> None:
    m = experimental(ox, "xla_metadata")
    f = m.xla_metadata_call2({"tag": "f"}, ad_metadata={"tag": "g"})(lambda x: x * x)
    assert attributes(ox.jit(f).lower(2.0).as_text()) == ['call {tag = "f"}']
    both = ox.jit(ox.value_and_grad(f)).lower(2.0).as_text()
    assert attributes(both) == ['call {tag = "f"}', 'call {tag = "g"}']
    dropped = m.xla_metadata_call2(ox.numpy.sin, {"n": 3}, ad_metadata="drop")
    assert attributes(ox.jit(ox.grad(dropped)).lower(2.0).as_text()) == ['call {n = "3"}']
    assert float(ox.grad(dropped)(2.0)) == pytest.approx(np.cos(2.0))
    assert 'MUST_FUSE = "1"' in ox.jit(m.must_fuse_call("1")(lambda x: x * 2)).lower(1.0).as_text()
    for bad in ({"f": 3}, {"metadata": 3}, {"ad_metadata": "other"}, {"metadata": {"a": [1]}}):
        with pytest.raises(TypeError, match=r"metadata|callable"):
            m.xla_metadata_call2(bad.pop("f", abs), **bad)


def test_the_rule_of_unused_results_keeps_what_results_need() -> None:
    for package in PACKAGES:
        s = experimental(package, "scheduling_groups")
        f = s.xla_metadata_call(lambda x, y: (x + 1, y * 2), tag="t")
        eqn = package.make_jaxpr(f)(1.0, 2.0).jaxpr.eqns[0]
        assert eqn.primitive.name == s.xla_metadata_call_p.name
        used, rest = s.dce_jaxpr_xla_metadata_rule([False, True], eqn)
        assert (list(used), len(rest.invars), len(rest.outvars)) == ([False, True], 1, 1)
        assert s.dce_jaxpr_xla_metadata_rule([False, False], eqn) == ([False, False], None)
        with pytest.raises(NotImplementedError, match="mlir attr handler"):
            s.attr_get(3)


@pytest.mark.parametrize("package", PACKAGES)
def test_mistakes_of_places(package: Any) -> None:
    c = experimental(package, "compute_on")
    with (
        pytest.raises(ValueError, match="Invalid compute type elsewhere"),
        c.compute_on("elsewhere"),
    ):
        pass
    with pytest.raises(TypeError, match="must be a string"):
        c.compute_on2(abs, compute_type=3, out_memory_spaces=DEVICE[package])
    f = experimental(package, "fused").fused(out_spaces=("a",))(lambda x: x * 2)
    with pytest.raises(NotImplementedError, match="'fused_call' not found for platform cpu"):
        package.jit(f)(X)


def test_memories_and_nested_places_are_refused() -> None:
    c = experimental(ox, "compute_on")
    with pytest.raises(UnsupportedError, match="memory of the device"):
        c.compute_on2(abs, compute_type="device", out_memory_spaces="pinned_host")
    inner = c.compute_on2(lambda x: x, compute_type="device", out_memory_spaces="device")
    outer = c.compute_on2(inner, compute_type="device_host", out_memory_spaces="device")
    with pytest.raises(LoweringError, match="Nesting `compute_on`"):
        ox.jit(outer)(X)
    with pytest.raises(ArgumentError, match="a memory space for each of the 1 results"):
        experimental(ox, "fused").fused(out_spaces=())(lambda x: x)(X)


@pytest.mark.parametrize("derive", [False, True])
def test_a_fused_call_is_jaxs(derive: bool) -> None:
    texts = []
    for package in (ox, jax):
        f = experimental(package, "fused").fused(out_spaces=("MemorySpace.Device",))(
            lambda x, p=package: p.numpy.sin(x) * 2
        )
        g = package.jvp if derive else f
        run = (lambda x, f=f, g=g: g(f, (x,), (x,))) if derive else f
        lowered = package.jit(run).trace(X).lower(lowering_platforms=("cuda",))
        texts.append(re.findall(r"custom_call @fused\(.*", lowered.as_text()))
    assert texts[0] == texts[1] != []


@older
def test_control_dependencies_and_layouts_are_jaxs() -> None:
    def of(package: Any) -> Any:
        def f(x: Any) -> Any:
            y = package.numpy.sin(x)
            experimental(package, "control_deps").schedule([x, y, package.numpy.cos(y)])
            layout = experimental(package, "layout")
            z = package.numpy.reshape(y, (2, 2))
            return layout.with_layout_constraint((z, z), layout.Layout((1, 0)))

        return f

    texts = [p.jit(of(p)).lower(X).as_text() for p in (ox, jax)]
    operands = [
        re.findall(r"custom_call @(\w+)\(.*operand_layouts = (\[.*?\])[,}]", t) for t in texts
    ]
    assert sorted(operands[0][:2]) == sorted(operands[1][:2])
    assert operands[0][2] == operands[1][2] == ("LayoutConstraint", operands[0][2][1])


def test_layouts_keep_values_under_transformations() -> None:
    layout = experimental(ox, "layout")
    m = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x: Any) -> Any:
        return layout.with_layout_constraint(x, layout.Layout((1, 0))) * 2

    np.testing.assert_array_equal(ox.jit(f)(m), 2 * m)
    np.testing.assert_array_equal(f(m), 2 * m)
    np.testing.assert_array_equal(ox.vmap(f, in_axes=2, out_axes=2)(m[..., None]), 2 * m[..., None])
    np.testing.assert_array_equal(ox.grad(lambda x: ox.numpy.sum(f(x)))(m), np.full_like(m, 2))
    for package in (ox, jax):
        kind = experimental(package, "layout")
        for wrong in (kind.Layout((0,)), None):
            with pytest.raises(ValueError, match=r"layout"):
                kind.with_layout_constraint(package.numpy.ones((2, 3)), wrong)


def test_arrays_are_sharded_in_the_same_way() -> None:
    results = []
    for package in PACKAGES:
        mesh = package.make_mesh((8,), ("x",), (package.sharding.AxisType.Auto,))
        rows = package.sharding.NamedSharding(mesh, package.P("x"))
        same = experimental(package, "shard_alike").shard_alike

        def f(x: Any, same: Any = same, p: Any = package) -> Any:
            return same(x, p.numpy.arange(16.0))[1]

        y = package.jit(f)(package.device_put(np.ones(16, np.float32), rows))
        assert y.sharding.shard_shape((16,)) == (2,)
        results.append(np.asarray(y))
        both = package.vmap(lambda x, y, same=same: same(x, y), in_axes=(0, None))
        x, z = both(np.ones((3, 4)), np.zeros(4))
        assert x.shape == z.shape == (3, 4)
        g = package.grad(lambda x, same=same, p=package: p.numpy.sum(same(x, x * 2)[1]))
        np.testing.assert_array_equal(g(X), np.full(4, 2))
        for a, b in (((X,), X), (X, X[:2])):
            with pytest.raises(ValueError, match=r"should (be equal|match)"):
                same(a, b)
    np.testing.assert_array_equal(results[0], results[-1])


def test_operations_in_the_order_of_the_program() -> None:
    order = experimental(ox, "overlap").program_order

    def f(x: Any, y: Any) -> Any:
        return ox.numpy.cos(ox.numpy.sin(x)) + ox.numpy.exp(y) + ox.numpy.sum(x)

    ordered = order(f, enforce=True, strict_in_out=True)
    text = ox.jit(ordered).lower(X, y=X).as_text()
    # between the six operations, before and after all of them
    assert text.count("stablehlo.optimization_barrier") == 7
    names = re.findall(r"= stablehlo\.(sine|cosine|exponential|add|reduce)\b", text)
    assert names == ["sine", "cosine", "exponential", "add", "reduce", "add"]
    np.testing.assert_allclose(ox.jit(ordered)(X, y=X), f(X, X), rtol=1e-6)
    np.testing.assert_allclose(ordered(X, X), f(X, X), rtol=1e-6)
    total = ox.grad(lambda x: ox.numpy.sum(ordered(x, X)))
    np.testing.assert_allclose(total(X), ox.grad(lambda x: ox.numpy.sum(f(x, X)))(X), rtol=1e-6)


def test_one_operation_of_a_program_in_order() -> None:
    order = experimental(ox, "overlap").program_order
    inner = order(lambda x, y: (x * 2, y * 3), enforce=False, exclude_argnames="y")

    @order(enforce=True)
    def f(x: Any, y: Any) -> Any:
        return inner(ox.numpy.sin(x), y)

    text = ox.jit(f).lower(X, X).as_text()
    assert "call @program_order" in text
    barrier = re.search(r"optimization_barrier (.*) : ", text)
    assert barrier and "%arg1" not in barrier[1]  # `y` does not wait
    np.testing.assert_allclose(f(X, X)[1], X * 3)
    np.testing.assert_allclose(ox.grad(lambda x: ox.numpy.sum(f(x, X)[0]))(X), 2 * np.cos(X))
    with pytest.raises(ValueError, match="exclude_argnames"):
        order(abs, enforce=True, exclude_argnames="x")
    with pytest.raises(ValueError, match="strict_in_out"):
        order(abs, enforce=False, strict_in_out=True)
