"""The specs of results have the same text as in JAX."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import ShardingError, TransformError

X = np.arange(32, dtype=np.float32).reshape(8, 4)
W = np.ones((4, 4), np.float32)


def _library(module: Any) -> SimpleNamespace:
    """Return the functions of `olympus` or of `jax` that the cases use."""
    P = module.sharding.PartitionSpec
    devices = np.array(module.devices()[:8]).reshape(2, 4)
    mesh = module.sharding.Mesh(devices, ("d", "m"))

    def named(*entries: Any) -> Any:
        return module.sharding.NamedSharding(mesh, P(*entries))

    def put(*entries: Any) -> Any:
        return module.device_put(X, named(*entries))

    def mapped(f: Callable[[Any], Any], ins: Any, outs: Any, **more: Any) -> Any:
        return module.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **more)

    return SimpleNamespace(
        P=P, named=named, put=put, mapped=mapped, jit=module.jit, lax=module.lax, module=module
    )


def _double(x: Any) -> Any:
    return x * 2


#: Functions of the package that return an array, by name.
CASES: dict[str, Callable[[SimpleNamespace], Any]] = {
    "device_put": lambda n: n.put("d", None),
    "device_put, whole": lambda n: n.put(None, None),
    "jit of in_shardings": lambda n: n.jit(_double, in_shardings=n.named("d"))(X),
    "jit of in_shardings, a trailing None": lambda n: n.jit(
        _double, in_shardings=n.named("d", None)
    )(X),
    "jit of in_shardings, second dimension": lambda n: n.jit(
        _double, in_shardings=n.named(None, "m")
    )(X),
    "jit of in_shardings, whole": lambda n: n.jit(_double, in_shardings=n.named(None, None))(X),
    "product": lambda n: n.jit(lambda x, w: x @ w, in_shardings=(n.named("d"), None))(X, W),
    "two axes": lambda n: n.jit(_double, in_shardings=n.named(("d", "m")))(X),
    "reshaped": lambda n: n.jit(lambda x: x.reshape(2, 4, 4))(n.put("d", None)),
    "out_shardings": lambda n: n.jit(_double, out_shardings=n.named("d"))(X),
    "out_shardings, a trailing None": lambda n: n.jit(_double, out_shardings=n.named("d", None))(X),
    "out_shardings, whole": lambda n: n.jit(_double, out_shardings=n.named(None, None))(X),
    "constraint": lambda n: n.jit(
        lambda x: n.lax.with_sharding_constraint(x * 2, n.named("d", None))
    )(X),
    "jit of an array": lambda n: n.jit(_double)(n.put("d")),
    "jit of an array, a trailing None": lambda n: n.jit(_double)(n.put("d", None)),
    "jit of an array, whole": lambda n: n.jit(_double)(n.put(None, None)),
    "first of two arrays": lambda n: n.put("d", None) + n.put("d"),
    "first of two arrays, the other way": lambda n: n.put("d") + n.put("d", None),
    "eager": lambda n: n.put("d") * 2,
    "transposed": lambda n: n.put("d", None).T,
    "shard_map": lambda n: n.mapped(_double, n.P("d"), n.P("d"))(X),
    "shard_map, a trailing None": lambda n: n.mapped(_double, n.P("d"), n.P("d", None))(X),
    "shard_map, whole": lambda n: n.mapped(_double, n.P(None, None), n.P(None, None))(X),
    "jit of shard_map": lambda n: n.jit(n.mapped(_double, n.P("d"), n.P("d", None)))(X),
    "shard_map over one axis": lambda n: n.mapped(
        _double, n.P("d"), n.P("d", None), axis_names={"d"}
    )(X),
    "vmap of shard_map": lambda n: n.module.vmap(n.mapped(_double, n.P("d"), n.P("d")))(X[None]),
    "pmap": lambda n: n.module.pmap(_double, axis_name="i")(X),
    "pmap, out_axes": lambda n: n.module.pmap(_double, axis_name="i", out_axes=1)(X),
}


@pytest.mark.parametrize("name", CASES)
def test_results_have_the_specs_of_jax(name: str) -> None:
    mine, oracle = (CASES[name](_library(module)) for module in (olympus, jax))
    assert repr(mine.sharding.spec) == repr(oracle.sharding.spec)


def test_a_traced_program_gets_shardings_of_results() -> None:
    n = _library(olympus)
    traced = n.jit(lambda x: {"a": x, "b": x.sum()}).trace(X)
    with_shardings = traced.with_out_shardings({"a": n.named("d", None), "b": None})
    assert with_shardings.output_shardings == {"a": n.named("d", None), "b": None}
    assert traced.output_shardings == {"a": None, "b": None}
    result = with_shardings.lower().compile()(X)
    assert result["a"].sharding == n.named("d", None)
    with pytest.raises(ShardingError, match=r"2 entries.*result\['b'\]"):
        traced.with_out_shardings(n.named("d", None))
    with pytest.raises(TransformError, match="must be a tree prefix"):
        traced.with_out_shardings({"a": None})


def test_the_shardings_of_results_equal_those_of_out_specs() -> None:
    n = _library(olympus)
    expected = n.named("d")
    assert n.mapped(_double, n.P("d"), n.P("d"))(X).sharding == expected
    assert n.jit(n.mapped(_double, n.P("d"), n.P("d")))(X).sharding == expected
    assert n.jit(_double, out_shardings=expected)(X).sharding == expected
    compiled = n.jit(_double, in_shardings=expected).lower(X).compile()
    assert compiled.output_shardings == expected
    assert compiled(X).sharding == expected


@pytest.mark.parametrize("spec", [("d",), ("d", None), (None, None), (("d", "m"), None)])
@pytest.mark.parametrize("argument", ["array", "type", "put", "type with a sharding"])
def test_stages_have_the_specs_of_jax(spec: tuple[Any, ...], argument: str) -> None:
    """The spec of an array that was put on devices keeps its text; others are normalized."""
    specs_by_package = []
    for n in map(_library, (olympus, jax)):
        sharding = n.named(*spec)
        x = {
            "array": lambda: X,
            "type": lambda n=n: n.module.ShapeDtypeStruct(X.shape, X.dtype),
            "put": lambda n=n: n.put(*spec),
            "type with a sharding": lambda n=n, s=sharding: n.module.ShapeDtypeStruct(
                X.shape, X.dtype, sharding=s
            ),
        }[argument]()
        compiled = n.jit(_double, in_shardings=sharding).lower(x).compile()
        shardings = compiled.input_shardings[0][0], compiled.output_shardings
        specs_by_package.append([repr(s.spec).replace("PartitionSpec", "P") for s in shardings])
    assert specs_by_package[0] == specs_by_package[1]
