"""Programs on arrays with unreduced and reduced axes in their types: rows as those of ROWS."""

from __future__ import annotations

from typing import Any

from tests.devices.explicit_programs import Row

__all__ = ["UNREDUCED_ROWS"]

UNREDUCED_ROWS: list[Row] = []


def row(name: str, program: Any, *operands: Any) -> None:
    UNREDUCED_ROWS.append(Row(f"unreduced: {name}", program, operands))


def put(p: Any, x: Any, *entries: Any, **sets: Any) -> Any:
    return p.sharding.reshard(x, p.P(*entries, **sets))


def summed(p: Any, a: Any, b: Any) -> Any:
    """Return the product of two arrays, unreduced along y."""
    return p.np.einsum("ij,jk->ik", a, b, out_sharding=p.P("x", None, unreduced={"y"}))


def reduced(p: Any, x: Any) -> Any:
    return put(p, x, "x", None, reduced={"y"})


A, B, C, W = (((8, 8), spec) for spec in (("x", "y"), ("x", None), ("y", None), (None, None)))

row("einsum U", summed, A, C)

row(
    "matmul U",
    lambda p, a, b: p.np.matmul(a, b, out_sharding=p.P("x", None, unreduced={"y"})),
    A,
    C,
)
row(
    "dot_general U",
    lambda p, a, b: p.lax.dot_general(
        a, b, (((1,), (0,)), ((), ())), out_sharding=p.P("x", None, unreduced={"y"})
    ),
    A,
    C,
)
row(
    "lax.dot U", lambda p, a, b: p.lax.dot(a, b, out_sharding=p.P("x", None, unreduced={"y"})), A, C
)
row("dot U short", lambda p, a, b: p.np.dot(a, b, out_sharding=p.P("x", unreduced={"y"})), A, C)
row(
    "dot U wrong axes",
    lambda p, a, b: p.np.dot(a, b, out_sharding=p.P(None, None, unreduced={"x"})),
    A,
    C,
)
row(
    "dot U both",
    lambda p, a, b: p.np.dot(a, b, out_sharding=p.P(None, None, unreduced={"x", "y"})),
    A,
    C,
)
row(
    "dot U not same",
    lambda p, a, b: p.np.dot(a, b, out_sharding=p.P("x", None, unreduced={"y"})),
    A,
    W,
)
row(
    "dot U of two axes",
    lambda p, a, b: p.np.dot(a, b, out_sharding=p.P(None, None, unreduced={"x", "y"})),
    ((8, 8), (None, ("x", "y"))),
    ((8, 8), (("x", "y"), None)),
)
row(
    "dot reduced out",
    lambda p, a, b: p.np.dot(a, b, out_sharding=p.P("x", None, reduced={"y"})),
    A,
    C,
)
row(
    "reduce_sum U",
    lambda p, a: p.lax.reduce_sum(a, (1,), out_sharding=p.P("x", unreduced={"y"})),
    A,
)
row("U all-reduce", lambda p, a, b: put(p, summed(p, a, b), "x", None), A, C)
row("U reduce-scatter", lambda p, a, b: put(p, summed(p, a, b), "x", "y"), A, C)
row("U to reduced", lambda p, a, b: put(p, summed(p, a, b), "x", None, reduced={"y"}), A, C)
row("U to same", lambda p, a, b: put(p, summed(p, a, b), "x", None, unreduced={"y"}), A, C)
row("U to U moved", lambda p, a, b: put(p, summed(p, a, b), None, "x", unreduced={"y"}), A, C)
row("U to other", lambda p, a, b: put(p, summed(p, a, b), None, "y"), A, C)
row("whole to U", lambda p, a: put(p, a, unreduced={"x"}), W)
row("sharded to U", lambda p, a: put(p, a, "x", unreduced={"y"}), A)
row("whole to reduced", lambda p, a: put(p, a, reduced={"x"}), W)
row("sharded to reduced", lambda p, a: put(p, a, "x", reduced={"y"}), A)
row("reduced to sharded", lambda p, a: put(p, put(p, a, "x", reduced={"y"}), "x", "y"), A)
row("reduced to U", lambda p, a: put(p, put(p, a, "x", reduced={"y"}), "x", unreduced={"y"}), A)
row("U and reduced", lambda p, a: put(p, a, unreduced={"x"}, reduced={"y"}), W)
row("add U U", lambda p, a, b: summed(p, a, b) + summed(p, a, b), A, C)
row("add whole U", lambda p, a, b, c: c + summed(p, a, b), A, C, B)
row("add U scalar", lambda p, a, b: summed(p, a, b) + 1, A, C)
row("add U reduced", lambda p, a, b, c: summed(p, a, b) + reduced(p, c), A, C, B)
row(
    "add U other U",
    lambda p, a, b, c, d: (
        put(p, summed(p, a, b), unreduced={"y"})
        + p.np.dot(c, d, out_sharding=p.P(None, None, unreduced={"x"}))
    ),
    A,
    C,
    ((8, 8), (None, "x")),
    B,
)
row("sub U", lambda p, a, b: summed(p, a, b) - summed(p, a, b), A, C)
row("neg U", lambda p, a, b: -summed(p, a, b), A, C)
row("sin U", lambda p, a, b: p.np.sin(summed(p, a, b)), A, C)
row("mul U U", lambda p, a, b: summed(p, a, b) * summed(p, a, b), A, C)
row("mul U 2", lambda p, a, b: summed(p, a, b) * 2, A, C)
row("mul U reduced", lambda p, a, b, c: summed(p, a, b) * reduced(p, c), A, C, B)
row("mul reduced U", lambda p, a, b, c: reduced(p, c) * summed(p, a, b), A, C, B)
row("mul U whole", lambda p, a, b, c: c * summed(p, a, b), A, C, B)
row("div U", lambda p, a, b: summed(p, a, b) / 2, A, C)
row("astype U", lambda p, a, b: summed(p, a, b).astype("bfloat16"), A, C)
row("reduced mul reduced", lambda p, a, b: reduced(p, a) * reduced(p, b), B, B)
row("reduced add 1", lambda p, a: reduced(p, a) + 1, B)
row("reduced add 0-d", lambda p, a, b: reduced(p, a) + b, B, ((), ()))
row("reduced add whole", lambda p, a, b: reduced(p, a) + b, B, B)
row("reduced add split", lambda p, a, b: put(p, a, reduced={"x"}) + b, W, ((8, 8), (None, "x")))
row(
    "reduced add other reduced", lambda p, a: put(p, a, reduced={"x"}) + put(p, a, reduced={"y"}), W
)
row("sin reduced", lambda p, a: p.np.sin(reduced(p, a)), B)
row("pow reduced", lambda p, a: reduced(p, a) ** 2, B)
row("cmp reduced", lambda p, a: reduced(p, a) > reduced(p, a), B)
row("where reduced", lambda p, a: p.np.where(reduced(p, a) > 1, reduced(p, a), reduced(p, a)), B)
row("max 0 reduced", lambda p, a: p.np.maximum(reduced(p, a), 0), B)
row("relu reduced", lambda p, a: p.m.nn.relu(reduced(p, a)), B)
row("concat U", lambda p, a, b: p.np.concatenate([summed(p, a, b), summed(p, a, b)], 1), A, C)
row(
    "concat U whole",
    lambda p, a, b: p.np.concatenate([summed(p, a, b), put(p, b, "x", None)], 1),
    A,
    C,
)
row("concat reduced", lambda p, a: p.np.concatenate([reduced(p, a), reduced(p, a)], 1), B)
row("stack U", lambda p, a, b: p.np.stack([summed(p, a, b), summed(p, a, b)]), A, C)
row("split U", lambda p, a, b: p.np.split(summed(p, a, b), 2, 1), A, C)
row("unstack U", lambda p, a, b: p.np.unstack(summed(p, a, b), axis=1), A, C)
row("pad U", lambda p, a, b: p.lax.pad(summed(p, a, b), 0.0, ((0, 0, 0), (0, 8, 0))), A, C)
row(
    "squeeze U",
    lambda p, a, b: p.np.squeeze(put(p, summed(p, a, b), None, "x", unreduced={"y"})[:1], 0),
    A,
    C,
)
row("reshape U", lambda p, a, b: summed(p, a, b).reshape(8, 2, 4), A, C)
row(
    "reshape U out",
    lambda p, a, b: p.lax.reshape(
        summed(p, a, b), (8, 2, 4), out_sharding=p.P("x", unreduced={"y"})
    ),
    A,
    C,
)
row(
    "reshape U out other",
    lambda p, a, b: p.lax.reshape(summed(p, a, b), (8, 2, 4), out_sharding=p.P("x")),
    A,
    C,
)
row(
    "reshape whole out U",
    lambda p, b: p.lax.reshape(b, (8, 2, 4), out_sharding=p.P("x", unreduced={"y"})),
    B,
)
row("reshape reduced", lambda p, a: reduced(p, a).reshape(8, 2, 4), B)
row("transpose U", lambda p, a, b: summed(p, a, b).T, A, C)
row("transpose reduced", lambda p, a: reduced(p, a).T, B)
row("broadcast U", lambda p, a, b: p.np.broadcast_to(summed(p, a, b), (3, 8, 8)), A, C)
row("broadcast reduced", lambda p, a: p.np.broadcast_to(reduced(p, a), (3, 8, 8)), B)
row("expand U", lambda p, a, b: summed(p, a, b)[None], A, C)
row("slice U", lambda p, a, b: summed(p, a, b)[:, :4], A, C)
row("index U", lambda p, a, b: summed(p, a, b)[:, 2], A, C)
row("dynamic_slice U", lambda p, a, b: p.lax.dynamic_slice(summed(p, a, b), (0, 1), (8, 4)), A, C)
row("dynamic_slice reduced", lambda p, a: p.lax.dynamic_slice(reduced(p, a), (0, 1), (8, 4)), B)
row(
    "dus U",
    lambda p, a, b: p.lax.dynamic_update_slice(summed(p, a, b), summed(p, a, b), (0, 0)),
    A,
    C,
)
row(
    "dus U whole",
    lambda p, a, b: p.lax.dynamic_update_slice(summed(p, a, b), put(p, b, "x", None), (0, 0)),
    A,
    C,
)
row(
    "select U",
    lambda p, a, b, c: p.lax.select(put(p, c > 0, "x", None), summed(p, a, b), summed(p, a, b)),
    A,
    C,
    B,
)
row("sum of U", lambda p, a, b: summed(p, a, b).sum(1), A, C)
row("sum of U split", lambda p, a, b: summed(p, a, b).sum(0), A, C)
row("sum of reduced", lambda p, a: reduced(p, a).sum(1), B)
row("mean of U", lambda p, a, b: summed(p, a, b).mean(1), A, C)
row("mean of reduced", lambda p, a: reduced(p, a).mean(1), B)
row("reduce_precision U", lambda p, a, b: p.lax.reduce_precision(summed(p, a, b), 5, 3), A, C)
row("dot of U", lambda p, a, b: summed(p, a, b) @ b, A, C)
row("dot of reduced", lambda p, a, b: reduced(p, a) @ b, B, W)
row("dot reduced rhs", lambda p, a, b: p.np.dot(a, put(p, b, reduced={"x"})), B, W)
row("iota like", lambda p, a: p.np.zeros_like(reduced(p, a)), B)
row("zeros_like U", lambda p, a, b: p.np.zeros_like(summed(p, a, b)), A, C)
row("zeros out U", lambda p: p.np.zeros((8, 8), out_sharding=p.P("x", unreduced={"y"})))
row("zeros out reduced", lambda p: p.np.zeros((8, 8), out_sharding=p.P("x", reduced={"y"})))
row("copy U", lambda p, a, b: p.np.copy(summed(p, a, b)), A, C)
row("barrier U", lambda p, a, b: p.lax.optimization_barrier(summed(p, a, b)), A, C)
row("jit U", lambda p, a, b: p.m.jit(lambda x: x + x)(summed(p, a, b)), A, C)
row(
    "scan U",
    lambda p, a, b: p.lax.scan(lambda c, _: (c + summed(p, a, b), None), summed(p, a, b), length=3)[
        0
    ],
    A,
    C,
)
row(
    "scan U out",
    lambda p, a, b: put(
        p,
        p.lax.scan(lambda c, _: (c + summed(p, a, b), None), summed(p, a, b), length=3)[0],
        "x",
        None,
    ),
    A,
    C,
)
row(
    "scan U ys",
    lambda p, a, b: p.lax.scan(lambda c, _: (c, summed(p, a, b)), 0.0, length=3)[1],
    A,
    C,
)
row(
    "scan reduced const",
    lambda p, a, b: p.lax.scan(lambda c, _: (p.np.dot(c, a), None), b, length=3)[0],
    W,
    B,
)
row("cond U", lambda p, a, b: p.lax.cond(True, lambda x: x + x, lambda x: x, summed(p, a, b)), A, C)
row(
    "cond U whole",
    lambda p, a, b: p.lax.cond(True, lambda x: put(p, x, "x", None), lambda x: x, summed(p, a, b)),
    A,
    C,
)
row("while U", lambda p, a, b: p.lax.fori_loop(0, 3, lambda i, x: x + x, summed(p, a, b)), A, C)
row("vmap U", lambda p, a, b: p.m.vmap(lambda x: x + x)(summed(p, a, b)), A, C)
row(
    "vmap dot U",
    lambda p, a, b: p.m.vmap(lambda a, b: p.np.dot(a, b, out_sharding=p.P(None, unreduced={"y"})))(
        a, b
    ),
    ((2, 8, 8), ("x", None, "y")),
    ((2, 8, 8), ("x", "y", None)),
)
row("vmap reshard U", lambda p, a, b: p.m.vmap(lambda x: put(p, x, None))(summed(p, a, b)), A, C)
row(
    "checkpoint U",
    lambda p, a, b: p.m.checkpoint(lambda a, b: put(p, summed(p, a, b), "x", None))(a, b),
    A,
    C,
)
row(
    "grad U",
    lambda p, a, b: p.m.grad(lambda a, b: put(p, summed(p, a, b), "x", None).sum(), (0, 1))(a, b),
    A,
    C,
)
row(
    "grad U rs",
    lambda p, a, b: p.m.grad(
        lambda a, b: p.np.sin(put(p, summed(p, a, b), "x", "y")).sum(), (0, 1)
    )(a, b),
    A,
    C,
)
row(
    "grad reduced sin",
    lambda p, a: p.m.grad(lambda a: p.np.sin(put(p, reduced(p, a), "x", "y")).sum())(a),
    B,
)
row(
    "grad reduced dot",
    lambda p, a, b: p.m.grad(lambda w: (p.np.dot(a, w)).sum())(put(p, b, reduced={"x"})),
    B,
    W,
)
row(
    "grad reduced dot out",
    lambda p, a, b: p.m.grad(
        lambda w: put(p, p.np.sin(p.np.dot(a, put(p, w, reduced={"x"}))), "x").sum()
    )(b),
    B,
    W,
)
row(
    "grad reduced vmap dot",
    lambda p, a, b: p.m.grad(lambda w: p.m.vmap(lambda x: p.np.dot(x, w))(a).sum())(
        put(p, b, reduced={"x"})
    ),
    B,
    W,
)
row(
    "grad add U",
    lambda p, a, b: p.m.grad(lambda a: put(p, summed(p, a, b) + summed(p, a, b), "x", None).sum())(
        a
    ),
    A,
    C,
)
row(
    "vjp type",
    lambda p, a, b: p.m.vjp(lambda w: p.np.dot(a, w), put(p, b, reduced={"x"}))[1](
        p.np.ones((8, 8), out_sharding=p.P("x", None))
    ),
    B,
    W,
)
row(
    "vjp U",
    lambda p, a, b: p.m.vjp(lambda a: summed(p, a, b), a)[1](put(p, b, "x", None, reduced={"y"})),
    A,
    C,
)
row(
    "vjp U wrong ct",
    lambda p, a, b: p.m.vjp(lambda a: summed(p, a, b), a)[1](put(p, b, "x", None)),
    A,
    C,
)
row("jvp U", lambda p, a, b: p.m.jvp(lambda a: summed(p, a, b), (a,), (a,)), A, C)
row("jvp reduced", lambda p, a: p.m.jvp(lambda a: a * 2, (reduced(p, a),), (reduced(p, a),)), B)
row("linearize U", lambda p, a, b: p.m.linearize(lambda a: summed(p, a, b), a)[1](a), A, C)
row(
    "value_and_grad jit",
    lambda p, a, b: p.m.jit(p.m.value_and_grad(lambda w: (p.np.dot(a, w)).sum()))(
        put(p, b, reduced={"x"})
    ),
    B,
    W,
)
row(
    "grad scan reduced",
    lambda p, a, b: p.m.grad(
        lambda w: p.lax.scan(lambda c, _: (p.np.sin(p.np.dot(c, w)), None), a, length=3)[0].sum()
    )(put(p, b, reduced={"x"})),
    B,
    W,
)
row(
    "grad scan reduced rows",
    lambda p, ws, a: p.m.grad(
        lambda ws: p.lax.scan(lambda c, w: (p.np.sin(p.np.dot(c, w)), None), a, ws)[0].sum()
    )(put(p, ws, reduced={"x"})),
    ((3, 8, 8), ()),
    B,
)


def with_own_rule(p: Any) -> Any:
    product = p.m.custom_vjp(lambda w, x: x @ w)

    def backward(residuals: Any, ct: Any) -> Any:
        w, x = residuals
        terms = p.P(None, None, unreduced={"x"})
        return p.np.einsum("bi,bj->ij", x, ct, out_sharding=terms), ct @ w.T

    product.defvjp(lambda w, x: (product(w, x), (w, x)), backward)
    return product


row(
    "grad custom_vjp reduced",
    lambda p, w, a: p.m.grad(lambda w: with_own_rule(p)(put(p, w, reduced={"x"}), a).sum())(w),
    W,
    B,
)
row(
    "grad scan whole",
    lambda p, a, b: p.m.grad(
        lambda w: p.lax.scan(lambda c, x: (c + p.np.dot(x, w).sum(), None), 0.0, a)[0]
    )(put(p, b, reduced={"x"})),
    ((3, 8, 8), (None, "x", None)),
    W,
)
row(
    "accumulate",
    lambda p, a, b: put(
        p,
        p.lax.scan(
            lambda g, x: (
                g + p.m.grad(lambda w: p.np.sin(p.np.dot(x, w)).sum())(put(p, b, reduced={"x"})),
                None,
            ),
            p.np.zeros((8, 8), out_sharding=p.P(unreduced={"x"})),
            a,
        )[0],
        "x",
    ),
    ((3, 8, 8), (None, "x", None)),
    W,
)
row(
    "auto axes U",
    lambda p, a, b: p.sharding.auto_axes(
        lambda a, b: a @ b, out_sharding=p.P("x", None, unreduced={"y"})
    )(a, b),
    A,
    C,
)
row(
    "auto mesh U",
    lambda p, a: p.sharding.NamedSharding(p.mesh(("Auto", "Auto")), p.P(unreduced={"x"})) and a,
    W,
)
row(
    "take out U",
    lambda p, a, b: a.at[p.np.array([1, 2])].get(out_sharding=p.P(None, unreduced={"x"})),
    B,
    W,
)
row("device_put U", lambda p, a: p.m.device_put(a, p.P("x", unreduced={"y"})), B)
row(
    "embedding",
    lambda p, a: p.m.grad(lambda a: a.at[p.np.array([1, 2])].get(out_sharding=p.P(None)).sum())(
        put(p, a, reduced={"x"})
    ),
    W,
)
row(
    "outer reduced",
    lambda p, a, b: p.np.einsum("i,j->ij", a, put(p, b, reduced={"x"})),
    ((8,), ("x",)),
    ((8,), (None,)),
)
row(
    "mul reduced split",
    lambda p, a, b: a * put(p, b, reduced={"x"}),
    ((8,), ("x",)),
    ((8,), (None,)),
)
row(
    "mul reduced bcast",
    lambda p, a, b: a * put(p, b, reduced={"x"}),
    ((8, 8), ("x", None)),
    ((8,), (None,)),
)
row(
    "reduce_sum U wrong",
    lambda p, a: p.lax.reduce_sum(a, (1,), out_sharding=p.P(None, unreduced={"x"})),
    A,
)
row(
    "reduce_sum U all",
    lambda p, a: p.lax.reduce_sum(a, (0, 1), out_sharding=p.P(unreduced={"x", "y"})),
    A,
)
row(
    "reduce_sum out reduced",
    lambda p, a: p.lax.reduce_sum(a, (1,), out_sharding=p.P("x", reduced={"y"})),
    A,
)
row("reduce_sum out", lambda p, a: p.lax.reduce_sum(a, (1,), out_sharding=p.P("x")), A)
row(
    "scan whole carry",
    lambda p, a: p.lax.scan(lambda c, x: (c + x.sum(0), c), p.np.zeros(8), a),
    ((3, 8, 8), (None, "x", None)),
)
row(
    "scan carry of another",
    lambda p, a: p.lax.scan(lambda c, x: (c + x, c), p.np.zeros((8, 8)), a),
    ((3, 8, 8), (None, "x", None)),
)
row(
    "while scalar",
    lambda p, a: p.lax.while_loop(lambda c: c < 3, lambda c: c + p.np.abs(a).sum(), 0.0),
    A,
)
row("fori scalar", lambda p, a: p.lax.fori_loop(0, 3, lambda i, c: c + a.sum(), 0.0), A)
row(
    "switch whole",
    lambda p, a: p.lax.switch(1, [lambda c: a.sum(1), lambda c: p.np.zeros(8)], 0.0),
    W,
)
row(
    "scan returns zeros",
    lambda p, a: p.lax.scan(lambda c, x: (p.np.zeros(8), c), a[0].sum(0), a),
    ((3, 8, 8), (None, "x", None)),
)
row(
    "grad fori scalar",
    lambda p, a: p.m.grad(
        lambda a: p.lax.scan(lambda c, x: (p.np.sin(c) + (x * x).sum(), None), 0.0, a)[0]
    )(a),
    ((3, 8, 8), (None, "x", None)),
)
