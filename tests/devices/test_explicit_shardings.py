"""Shardings in the types of arrays: types, specs, values and errors are those of JAX."""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import ShardingTypeError
from tests.devices.cast_programs import CAST_ROWS
from tests.devices.explicit_programs import ROWS as EXPLICIT_ROWS
from tests.devices.explicit_programs import Row
from tests.devices.unreduced_programs import UNREDUCED_ROWS

ROWS = [*EXPLICIT_ROWS, *UNREDUCED_ROWS, *CAST_ROWS]

#: JAX raises an error for these, and OLYMPUS has a result
MORE = {
    "batched one",
    "batched other",
    "cholesky",
    "qr",
    "grad sort",
    "unreduced: pow reduced",
    "unreduced: unstack U",
    "unreduced: vmap U",
    "unreduced: vmap reshard U",
}

#: JAX 0.10 sums each row over the devices before they are stacked, and the stack once more; it sums
#: a gradient of whole indices, which each device has
WRONG_IN_JAX = {"unreduced: stack U", "unreduced: embedding"}


def side(module: Any) -> Any:
    name = module.__name__
    sharding = importlib.import_module(f"{name}.sharding")

    def mapped(fun: Any, ins: Any, outs: Any, **options: Any) -> Any:
        specs = {
            "in_specs": sharding.PartitionSpec(*ins),
            "out_specs": sharding.PartitionSpec(*outs),
        }
        return module.shard_map(fun, **specs, **options)

    def mesh(types: tuple[str, str]) -> Any:
        axis_types = tuple(sharding.AxisType[t] for t in types)
        return module.make_mesh((2, 4), ("x", "y"), axis_types=axis_types)

    return types.SimpleNamespace(
        m=module,
        np=importlib.import_module(f"{name}.numpy"),
        lax=importlib.import_module(f"{name}.lax"),
        sharding=sharding,
        P=sharding.PartitionSpec,
        mapped=mapped,
        mesh=mesh,
        host=lambda shape: np.ones(shape, np.float32),
    )


OURS, ORACLE = side(olympus), side(jax)


def arrays(p: Any, row: Row) -> list[Any]:
    rng = np.random.default_rng(len(row.name))
    return [
        p.m.device_put(
            rng.standard_normal(shape).astype(np.float32),
            p.sharding.NamedSharding(p.mesh(row.types), p.P(*spec)),
        )
        for shape, spec in row.operands
    ]


def typed(p: Any, row: Row) -> list[str] | Exception:
    """Return the types of a program's results, or its error."""
    found: list[str] = []

    def traced(*operands: Any) -> Any:
        out = row.program(p, *operands)
        found.extend(str(p.m.typeof(x)) for x in p.m.tree_util.tree_leaves(out))
        return out

    with p.m.set_mesh(p.mesh(row.types)):
        try:
            p.m.jit(traced).trace(*arrays(p, row))
        except Exception as error:
            return error
    return found


@functools.cache
def oracle_types(name: str) -> list[str] | Exception:
    return typed(ORACLE, next(row for row in ROWS if row.name == name))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_types_and_errors_are_those_of_jax(row: Row) -> None:
    mine, oracle = typed(OURS, row), oracle_types(row.name)
    if isinstance(oracle, list) or row.name in MORE:
        assert not isinstance(mine, Exception), mine
        assert row.name in MORE or mine == oracle
    elif type(oracle).__name__ == "ShardingTypeError":
        assert isinstance(mine, ShardingTypeError), mine
    else:
        assert isinstance(mine, type(oracle)), mine


def with_sums(p: Any, x: Any) -> Any:
    """Return an array with the sums of its terms along unreduced axes."""
    spec = p.m.typeof(x).sharding.spec
    return p.sharding.reshard(x, p.P(*spec.partitions)) if spec.unreduced else x


def values(p: Any, rows: list[Row]) -> dict[str, Any]:
    """Run the programs as one, and return their results."""

    def run(operands: dict[str, Any]) -> dict[str, Any]:
        results = {row.name: row.program(p, *operands[row.name]) for row in rows}
        return p.m.tree_util.tree_map(lambda x: with_sums(p, x), results)

    with p.m.set_mesh(p.mesh(rows[0].types)):
        return p.m.jit(run)({row.name: arrays(p, row) for row in rows})


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kinds", sorted({row.types for row in ROWS}), ids="-".join)
def test_values_and_shardings_are_those_of_jax(kinds: tuple[str, str], part: int) -> None:
    rows = [r for r in ROWS if isinstance(oracle_types(r.name), list) and r.name not in MORE]
    rows = [r for r in rows if r.types == kinds and r.name not in WRONG_IN_JAX][part::4]
    if not rows:
        return
    mine, oracle = values(OURS, rows), values(ORACLE, rows)
    for row in rows:
        ours, theirs = (jax.tree.leaves(side[row.name]) for side in (mine, oracle))
        for x, y in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-4, err_msg=row.name)
            assert str(x.sharding.spec) == str(y.sharding.spec), row.name
            assert str(olympus.typeof(x)) == str(jax.typeof(y)), row.name


def unreduced(p: Any) -> Any:
    sharding = p.sharding.NamedSharding(p.mesh(("Explicit",) * 2), p.P("x", unreduced={"y"}))
    return p.m.device_put(np.arange(16, dtype=np.float32).reshape(4, 4), sharding)


def grad_of_squares(p: Any) -> Any:
    x = p.sharding.reshard(p.np.arange(4.0), p.P(reduced={"y"}))
    return with_sums(p, p.m.jit(p.m.grad(lambda a: (a * a).sum()))(x))


@pytest.mark.parametrize(
    "program",
    [
        lambda p: unreduced(p).sharding,
        lambda p: [repr(unreduced(p)), str(unreduced(p)), f"{unreduced(p)}"],
        lambda p: [np.asarray(s.data).tolist() for s in unreduced(p).addressable_shards],
        lambda p: unreduced(p).is_fully_replicated,
        lambda p: np.asarray(unreduced(p)),
        lambda p: unreduced(p).sharding.devices_indices_map((4, 4)),
        lambda p: unreduced(p).sharding.shard_shape((4, 4)),
        lambda p: unreduced(p).sharding.is_equivalent_to(
            unreduced(p).sharding.update(spec=p.P("x")), 2
        ),
        lambda p: np.asarray(p.m.jit(lambda x: x, out_shardings=p.P("x"))(unreduced(p))),
        lambda p: p.m.device_put(unreduced(p), p.P("x")),
        lambda p: p.m.jit(lambda x: x, in_shardings=p.P("x"))(unreduced(p)),
        lambda p: np.asarray(p.sharding.reshard(unreduced(p) + unreduced(p), p.P("x", "y"))),
        lambda p: np.asarray(grad_of_squares(p)),
        lambda p: [*unreduced(p).sharding.spec],
        lambda p: unreduced(p).sharding.spec[0],
        lambda p: str(p.P(unreduced={"x"}) + p.P("y")),
        lambda p: p.P(unreduced={"x"}) + ("y",),  # noqa: RUF005
        lambda p: ("y",) + p.P(reduced={"x"}),  # noqa: RUF005
        lambda p: p.P("x", reduced={"y"}).count("x"),
        lambda p: p.m.jit(lambda x: x + x).lower(unreduced(p)).as_text().count("unreduced={"),
    ],
)
def test_unreduced_arrays_are_those_of_jax(program: Any) -> None:
    found: list[Any] = []
    for p in (OURS, ORACLE):
        with p.m.set_mesh(p.mesh(("Explicit",) * 2)):
            try:
                value = program(p)
                found.append(value.tolist() if hasattr(value, "tolist") else str(value))
            except Exception as error:
                found.append(error)
    mine, oracle = found
    if isinstance(oracle, Exception):
        kind = NotImplementedError if isinstance(oracle, NotImplementedError) else type(oracle)
        assert isinstance(mine, kind), mine
    else:
        assert mine == oracle


@pytest.mark.parametrize("p", [OURS, ORACLE], ids=["ours", "jax"])
def test_a_spec_needs_the_mesh_of_a_context(p: Any) -> None:
    x = p.m.device_put(
        p.host((8, 8)), p.sharding.NamedSharding(p.mesh(("Explicit",) * 2), p.P("x"))
    )
    for resharded in (
        lambda x: p.sharding.reshard(x, p.P("y")),
        lambda x: p.np.einsum("ij,jk->ik", x, x, out_sharding=p.P("x", None)),
        lambda x: p.np.reshape(x, 64, out_sharding=p.P("x")),
    ):
        with pytest.raises(ValueError, match="not under a mesh context is not allowed"):
            resharded(x)
        with pytest.raises(ValueError, match="not under a mesh context is not allowed"):
            p.m.jit(resharded)(x)
    described = "specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty"
    with pytest.raises(TypeError, match=described):
        _ = p.m.ShapeDtypeStruct((8,), "float32", sharding=p.P("x")).sharding


def test_an_unreduced_product_has_a_term_on_each_device() -> None:
    terms = []
    for p in (OURS, ORACLE):
        with p.m.set_mesh(p.mesh(("Explicit", "Explicit"))):
            a, b = p.np.arange(64.0).reshape(8, 8), p.np.arange(8.0, 72.0).reshape(8, 8)
            a, b = (p.sharding.reshard(x, p.P(*s)) for x, s in ((a, ("x", "y")), (b, ("y",))))
            product = p.np.dot(a, b, out_sharding=p.P("x", None, unreduced={"y"}))
            terms.append([np.asarray(shard.data) for shard in product.addressable_shards])
    np.testing.assert_array_equal(*terms)


def test_a_scan_reads_stacked_unreduced_rows() -> None:  # JAX has no rule for them
    p = OURS

    def sums(a: Any, b: Any) -> Any:
        product = p.np.dot(a, b, out_sharding=p.P("x", None, unreduced={"y"}))
        rows = p.np.stack([product] * 3)
        carry, doubled = p.lax.scan(lambda c, row: (c + row, row + row), product, rows)
        assert str(p.m.typeof(doubled)) == "float32[3,8@x,8]{U:y}"
        return with_sums(p, carry), with_sums(p, doubled)

    a, b = np.arange(64, dtype="float32").reshape(8, 8) / 64, np.eye(8, dtype="float32")
    with p.m.set_mesh(p.mesh(("Explicit", "Explicit"))):
        operands = [p.sharding.reshard(x, p.P(*s)) for x, s in ((a, ("x", "y")), (b, ("y",)))]
        carry, doubled = p.m.jit(sums)(*operands)
    np.testing.assert_allclose(carry, 4 * a, rtol=1e-6)
    np.testing.assert_allclose(doubled, np.stack([2 * a] * 3), rtol=1e-6)


def stacked_layers(ws: Any, x: Any) -> Any:
    return OURS.lax.scan(lambda c, w: (OURS.np.tanh(c @ w), c.sum()), x, ws)


REDUCED_PROGRAMS: dict[str, Any] = {
    "scan": stacked_layers,
    "checkpoint": olympus.checkpoint(stacked_layers),
    "cond": lambda ws, x: OURS.lax.cond(True, lambda c: c @ ws[0], lambda c: c @ ws[1], x),
    "vmap": lambda ws, x: olympus.vmap(lambda w: x @ w)(ws),
    "unstack": lambda ws, x: OURS.np.stack([x @ w for w in OURS.np.unstack(ws)]),
    "reshape": lambda ws, x: x @ ws.transpose(0, 2, 1).reshape(24, 8).T,
    "elementwise": lambda ws, x: x @ (ws[0] + ws[1]) + x @ OURS.np.tanh(ws[2]),
    "jit": lambda ws, x: olympus.jit(lambda w, x: OURS.np.sin(x @ w))(ws[1], x),
}


@pytest.mark.parametrize("spec", [("x",), ()], ids=["split", "whole"])
@pytest.mark.parametrize("program", REDUCED_PROGRAMS.values(), ids=REDUCED_PROGRAMS)
def test_gradients_by_reduced_weights_are_those_by_whole_ones(program: Any, spec: Any) -> None:
    """The devices have terms of a gradient where the rule sums over the reduced axis alone.

    JAX refuses a product with an array that is not split along it.
    """

    def loss(ws: Any, x: Any) -> Any:
        return sum(p.np.sum(leaf**2) for leaf in olympus.tree.leaves(program(ws, x)))

    p, rng = OURS, np.random.default_rng(0)
    ws, x = (rng.standard_normal(s).astype("float32") / 2 for s in ((3, 8, 8), (8, 8)))
    want = olympus.grad(loss, (0, 1))(ws, x)
    with p.m.set_mesh(p.mesh(("Explicit", "Explicit"))):
        weights = p.sharding.reshard(ws, p.P(reduced={"x"}))
        got = p.m.jit(p.m.grad(loss, (0, 1)))(weights, p.sharding.reshard(x, p.P(*spec)))
        assert p.m.typeof(got[0]).sharding.spec.unreduced == {"x"}
        got = [with_sums(p, leaf) for leaf in got]
    for mine, whole in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, whole, rtol=1e-4, atol=1e-4)


def test_a_function_may_use_a_mesh_of_another_shape() -> None:
    found = []
    for p in (OURS, ORACLE):
        types = (p.sharding.AxisType.Explicit,)

        def moved(x: Any, p: Any = p, types: Any = types) -> Any:
            with p.sharding.use_abstract_mesh(p.sharding.AbstractMesh((8,), ("a",), types)):
                return p.sharding.reshard(x, p.P("a")) * 2

        with p.m.set_mesh(p.mesh(("Explicit", "Explicit"))):
            x = p.sharding.reshard(np.arange(16.0, dtype="float32").reshape(8, 2), p.P("x"))
            out = p.m.jit(moved)(x)
            found.append((str(p.m.typeof(out)), str(out.sharding.mesh), np.asarray(out).tolist()))
    assert found[0] == found[1]
