"""Programs on arrays whose types have shardings, each with the specs of its operands.

A program is a function of a side (OLYMPUS or JAX: `p.np`, `p.lax`, `p.m`, `p.sharding`, `p.P`) and
of arrays on a mesh of explicit axes x = 2 and y = 4. Operands are (shape, spec).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["ROWS", "Row"]


class Row(NamedTuple):
    """A program with its operands, by its name, and the types of the axes x and y."""

    name: str
    program: Callable[..., Any]
    operands: tuple[tuple[tuple[int, ...], tuple[Any, ...]], ...]
    types: tuple[str, str] = ("Explicit", "Explicit")


ROWS: list[Row] = []


def row(name: str, program: Callable[..., Any], *operands: Any, **types: Any) -> None:
    ROWS.append(Row(name, program, operands, **types))


def _doubled(p: Any, cotangent: Callable[..., Any]) -> Any:
    """Return a function with a derivative rule of the user."""
    double = p.m.custom_vjp(lambda x: x * 2)
    double.defvjp(lambda x: (x * 2, None), lambda _, g: (cotangent(g),))
    return double


XY, X, Y, N = ("x", "y"), ("x", None), ("y", None), (None, None)
A, B = ((8, 8), XY), ((8, 8), X)
BOTH = (("x", "y"),)

# elementwise, broadcasting and conversions
row("mul", lambda p, a: a * 2, A)
row("add same", lambda p, a, b: a + b, A, A)
row("add whole", lambda p, a, b: a + b, A, ((8, 8), N))
row("add other", lambda p, a, b: a + b, A, ((8, 8), Y))
row("add disjoint", lambda p, a, b: a + b, ((8, 8), (None, "y")), B)
row("add twice", lambda p, a, b: a + b, ((8, 8), (None, "x")), B)
row("add ranks", lambda p, a, b: a + b, A, ((8,), ("y",)))
row("add other ranks", lambda p, a, b: a + b, A, ((8,), ("x",)))
row("add one", lambda p, a, b: a + b, A, ((1, 8), (None, "y")))
row("add scalar", lambda p, a, b: a + b, A, ((), ()))
row("add numpy", lambda p, a: a + p.host((8, 8)), A)
row("compare", lambda p, a, b: a < b, A, A)
row("sin", lambda p, a: p.np.sin(a), A)
row("where", lambda p, a, b: p.np.where(a > 3, a, b), A, A)
row("where scalar", lambda p, a: p.np.where(a > 3, a, 0), A)
row("select other", lambda p, a, b: p.lax.select(a > 3, a, b), A, ((8, 8), Y))
row("select which", lambda p, a, b: p.lax.select(b > 3, a, a), A, ((8, 8), N))
row("clip", lambda p, a: p.np.clip(a, 1, 5), A)
row("clamp", lambda p, a: p.lax.clamp(1.0, a, 5.0), A)
row("convert", lambda p, a: a.astype("int32"), A)
row("bitcast", lambda p, a: p.lax.bitcast_convert_type(a, "uint8"), A)
row(
    "bitcast wide", lambda p, a: p.lax.bitcast_convert_type(a.astype("int8"), "uint32"), ((8, 4), X)
)
row("complex", lambda p, a: p.np.abs(p.lax.complex(a, a)), A)
row("power", lambda p, a: a**3 + a**0.5, A)
row("reduce_precision", lambda p, a: p.lax.reduce_precision(a, 5, 3), A)

# reductions and the like
row("sum", lambda p, a: a.sum(), A)
row("sum 0", lambda p, a: a.sum(0), A)
row("sum keep", lambda p, a: a.sum(1, keepdims=True), A)
row("max", lambda p, a: a.max(1), A)
row("prod", lambda p, a: a.prod(0), A)
row("mean", lambda p, a: a.mean(0), A)
row("var", lambda p, a: a.var(0), A)
row("any", lambda p, a: (a > 3).any(0), A)
row("argmax", lambda p, a: a.argmax(0), A)
row("argmin", lambda p, a: p.np.argmin(a, 1), A)
row("softmax", lambda p, a: p.m.nn.softmax(a, axis=-1), A)
row("logsumexp", lambda p, a: p.m.nn.logsumexp(a, axis=-1), A)
row("reduce", lambda p, a: p.lax.reduce(a, 0.0, p.lax.add, (0,)), A)
row("cumsum", lambda p, a: p.np.cumsum(a, 1), B)
row("cumsum split", lambda p, a: p.np.cumsum(a, 0), B)
row("cummax", lambda p, a: p.lax.cummax(a, 1), B)
row("sort", lambda p, a: p.np.sort(a, 1), B)
row("sort split", lambda p, a: p.np.sort(a, 0), B)
row("argsort", lambda p, a: p.np.argsort(a, 1), B)
row("top_k", lambda p, a: p.lax.top_k(a, 2), B)
row("top_k split", lambda p, a: p.lax.top_k(a, 2), ((8, 8), (None, "x")))
row("reduce_window", lambda p, a: p.lax.reduce_window(a, 0.0, p.lax.add, (1, 2), (1, 1), "SAME"), A)
row("window valid", lambda p, a: p.lax.reduce_window(a, 0.0, p.lax.add, (1, 2), (1, 1), "VALID"), A)

# shapes
row("transpose", lambda p, a: a.T, A)
row("moveaxis", lambda p, a: p.np.moveaxis(a, 0, 2), ((2, 4, 8), ("x", None, "y")))
row("expand", lambda p, a: a[:, None], A)
row("squeeze", lambda p, a: p.np.squeeze(a, 1), ((8, 1, 8), ("x", None, "y")))
row("broadcast", lambda p, a: p.np.broadcast_to(a, (3, 8, 8)), A)
row("broadcast dims", lambda p, a: p.lax.broadcast_in_dim(a, (8, 3, 8), (0, 2)), A)
row("rev", lambda p, a: a[::-1], B)
row("flip", lambda p, a: p.np.flip(a, 0), B)
row("tile", lambda p, a: p.np.tile(a, (1, 2)), B)
row("tile split", lambda p, a: p.np.tile(a, (2, 1)), B)
row("tile both", lambda p, a: p.np.tile(a, (1, 2)), A)
row("repeat", lambda p, a: p.np.repeat(a, 2, 1), B)
row("repeat split", lambda p, a: p.np.repeat(a, 2, 0), B)
row("repeat flat", lambda p, a: p.np.repeat(a, 2), A)
row("repeat flat unsplit", lambda p, a: p.np.repeat(a, 2), ((8, 8), (None, "y")))
row("repeat each", lambda p, a: p.np.repeat(a, p.np.arange(8), 0), A)
row("concatenate", lambda p, a, b: p.np.concatenate([a, b]), A, A)
row("concatenate other", lambda p, a, b: p.np.concatenate([a, b]), A, B)
row("stack", lambda p, a, b: p.np.stack([a, b], 1), A, A)
row("split", lambda p, a: p.np.split(a, 2, 1), A)
row("split more", lambda p, a: p.np.split(a, 4, 1), A)
row("unstack", lambda p, a: p.np.unstack(a, axis=1), ((8, 3), X))
row("pad", lambda p, a: p.np.pad(a, ((0, 0), (0, 8))), A)
row("pad one", lambda p, a: p.np.pad(a, ((0, 0), (0, 1))), A)
row("roll", lambda p, a: p.np.roll(a, 1, 1), B)
row("diag of a vector", lambda p, a: p.np.diag(a, 1), ((8,), ("x",)))
row("diagonal", lambda p, a: p.np.tril(a), A)
row("outer", lambda p, a, b: p.np.outer(a, b), ((8,), ("x",)), ((8,), ("y",)))
row("outer twice", lambda p, a, b: p.np.outer(a, b), ((8,), ("x",)), ((8,), ("x",)))
for i, (shape, spec, sizes) in enumerate(
    [
        ((8, 8), XY, (2, 4, 8)),
        ((8, 8), XY, (4, 2, 8)),
        ((8, 8), XY, (8, 4, 2)),
        ((8, 8), XY, (8, 2, 4)),
        ((8, 8), XY, (64,)),
        ((8, 8), X, (64,)),
        ((8, 8), (None, "y"), (64,)),
        ((8, 8), N, (4, 16)),
        ((8, 8), X, (4, 16)),
        ((8, 8), XY, (1, 8, 1, 8)),
        ((8, 1, 8), ("x", None, "y"), (8, 8)),
        ((8, 8), XY, (2, 4, 2, 4)),
        ((8, 8, 2), ("x", "y", None), (8, 16)),
        ((8, 8, 2), ("x", None, None), (64, 2)),
        ((8, 8, 2), ("x", None, None), (8, 4, 2, 2)),
        ((8, 8, 2), ("x", "y", None), (128,)),
        ((64,), BOTH, (2, 32)),
        ((64,), BOTH, (2, 4, 8)),
        ((64,), BOTH, (8, 8)),
        ((64,), BOTH, (4, 16)),
        ((64,), BOTH, (2, 1, 32)),
        ((8, 4), ("y", None), (32,)),
        ((16,), ("x",), (4, 4)),
        ((6, 4), X, (3, 2, 4)),
        ((8, 8), X, (8, 8, 1)),
        ((4, 8), ("y", "x"), (4, 4, 2)),
    ]
):
    row(
        f"reshape {i} {shape}{spec} {sizes}",
        lambda p, a, sizes=sizes: p.lax.reshape(a, sizes),
        (shape, spec),
    )
row("reshape permuted", lambda p, a: p.lax.reshape(a, (64,), (1, 0)), B)
row("ravel", lambda p, a: p.np.ravel(a), B)
row("reshape out", lambda p, a: p.np.reshape(a, (4, 16), out_sharding=p.P("x", "y")), A)
row("ravel out", lambda p, a: p.np.ravel(a, out_sharding=p.P("y")), A)

# slices and indices
row("slice", lambda p, a: a[:, :4], A)
row("slice odd", lambda p, a: a[:, :3], A)
row("slice stride", lambda p, a: a[::2], B)
row("dynamic_slice", lambda p, a: p.lax.dynamic_slice(a, (0, 1), (8, 4)), B)
row("dynamic_slice odd", lambda p, a: p.lax.dynamic_slice(a, (0, 1), (3, 4)), B)
row("update_slice", lambda p, a, b: p.lax.dynamic_update_slice(a, b, (0, 2)), B, ((8, 4), X))
row("update_slice other", lambda p, a, b: p.lax.dynamic_update_slice(a, b, (0, 2)), B, ((8, 4), N))
row("index", lambda p, a: a[:, 3], B)
row("index split", lambda p, a: a[3], B)
row("index negative", lambda p, a: a[:, -1], B)
row("gather rows", lambda p, a: a[p.np.array([1, 2])], ((8, 8), (None, "y")))
row("gather split", lambda p, a: a[p.np.array([1, 2])], B)
row("gather out", lambda p, a: a.at[p.np.array([1, 2])].get(out_sharding=p.P(None, "y")), A)
row("take", lambda p, a: p.np.take(a, p.np.array([1, 2]), axis=1), B)
row("take_along", lambda p, a: p.np.take_along_axis(a, p.np.argsort(a, 1), 1), B)
row("set", lambda p, a: a.at[:, 2].set(1.0), B)
row("add at", lambda p, a, b: a.at[:, 2].add(b), B, ((8,), ("x",)))
row("set split", lambda p, a: a.at[2].set(1.0), B)
row("set out", lambda p, a: a.at[2].set(1.0, out_sharding=p.P("x", "y")), A)
row("segments", lambda p, a, b: p.m.ops.segment_sum(a, b.astype("int32") % 4, 4), B, ((8,), ("x",)))
row("segments out", lambda p, a, b: p.m.ops.segment_sum(
    a, b.astype("int32") % 4, 4, out_sharding=p.P("y", None)), B, ((8,), ("x",)))  # fmt: skip
row("largest of segments out", lambda p, a, b: p.m.ops.segment_max(
    a, b.astype("int32") % 4, 4, out_sharding=p.P(None, "x")), B, ((8,), ("x",)))  # fmt: skip
row("joint reduce", lambda p, a: p.lax.reduce(
    (a, a), (1.0, 0.0), lambda x, y: (x[0] * y[0], x[1] + y[1]), (1,)), B)  # fmt: skip
row("fft along a split axis", lambda p, a: p.np.abs(p.np.fft.fft(a)), ((8, 8), (None, "y")))
row("fft of two axes", lambda p, a: p.np.abs(p.np.fft.fft2(a)), B)
row("outer of matrices", lambda p, a, b: p.np.outer(a, b), B, ((8, 8), N))
row("one_hot", lambda p, a: p.m.nn.one_hot(a.astype("int32"), 8), ((8,), ("x",)))

# products
row("dot", lambda p, a, b: a @ b, B, ((8, 8), (None, "y")))
row("dot contracted", lambda p, a, b: a @ b, A, ((8, 8), Y))
row("dot one side", lambda p, a, b: a @ b, A, ((8, 8), N))
row("dot other", lambda p, a, b: a @ b, A, B)
row("dot twice", lambda p, a, b: a @ b, B, ((8, 8), (None, "x")))
row("dot vector", lambda p, a, b: a @ b, B, ((8,), (None,)))
row("vectors", lambda p, a, b: p.np.vdot(a, b), ((8,), ("x",)), ((8,), (None,)))
row("batched", lambda p, a, b: a @ b, ((4, 8, 8), ("y", "x", None)), ((4, 8, 8), ("y", None, None)))
row("batched one", lambda p, a, b: a @ b, ((4, 8, 8), ("y", None, None)), ((4, 8, 8), (None,) * 3))
row(
    "batched other", lambda p, a, b: a @ b, ((4, 8, 8), (None,) * 3), ((4, 8, 8), ("y", None, None))
)
row("einsum", lambda p, a, b: p.np.einsum("ij,kj->ik", a, b), B, ((8, 8), Y))
row(
    "einsum shared",
    lambda p, a, b: p.np.einsum("bij,bj->bi", a, b),
    ((4, 4, 8), ("y", None, None)),
    ((4, 8), (None, "x")),
)
row(
    "einsum three",
    lambda p, a, b: p.np.einsum("bij,bjk->bik", a, b),
    ((2, 8, 8), ("x", "y", None)),
    ((2, 8, 8), ("x", None, None)),
)
row("dot out", lambda p, a, b: p.np.dot(a, b, out_sharding=p.P("x", None)), A, ((8, 8), Y))
row("matmul out", lambda p, a, b: p.np.matmul(a, b, out_sharding=p.P(None, "y")), A, ((8, 8), Y))
row(
    "einsum out",
    lambda p, a, b: p.np.einsum("ij,jk->ik", a, b, out_sharding=p.P(("x", "y"))),
    A,
    ((8, 8), Y),
)
row(
    "conv",
    lambda p, a, b: p.lax.conv_general_dilated(a, b, (1,), "SAME"),
    ((8, 4, 8), ("x", None, None)),
    ((4, 4, 3), (None,) * 3),
)
row(
    "conv kernel",
    lambda p, a, b: p.lax.conv_general_dilated(a, b, (1,), "SAME"),
    ((8, 4, 8), ("x", None, None)),
    ((4, 4, 3), ("y", None, None)),
)

# matrices and transforms
row(
    "cholesky",
    lambda p, a: p.lax.linalg.cholesky(p.np.einsum("bij,bkj->bik", a, a) + p.np.eye(3)),
    ((4, 3, 3), ("x", None, None)),
)
row("qr", lambda p, a: p.lax.linalg.qr(a, full_matrices=False), ((4, 3, 3), ("x", None, None)))
row(
    "qr split", lambda p, a: p.lax.linalg.qr(a, full_matrices=False), ((4, 4, 4), (None, None, "x"))
)
row("fft", lambda p, a: p.np.abs(p.np.fft.fft(a)), B)
row("rfft", lambda p, a: p.np.abs(p.np.fft.rfft(a)), B)

# creation
row("zeros", lambda p: p.np.zeros((8, 4), out_sharding=p.P("x", "y")))
row("ones", lambda p: p.np.ones((8,), out_sharding=p.P(("x", "y"))))
row("full", lambda p: p.np.full((8, 4), 3, out_sharding=p.P(None, "y")))
row("arange", lambda p: p.np.arange(8, out_sharding=p.P("y")))
row("copy", lambda p, a: p.np.copy(a), A)
row("iota", lambda p: p.lax.broadcasted_iota("int32", (8, 4), 1, out_sharding=p.P("x")))
row("eye", lambda p, a: a * p.np.eye(8), A)
row("zeros_like", lambda p, a: p.np.zeros_like(a), A)
row("ones_like", lambda p, a: p.np.ones_like(a), A)
row("full_like", lambda p, a: p.lax.full_like(a, 2), A)
row(
    "broadcast out",
    lambda p, a: p.np.broadcast_to(a, (8, 8), out_sharding=p.P("x", "y")),
    ((8,), (None,)),
)
row("uniform", lambda p: p.m.random.uniform(p.m.random.key(0), (8, 4), out_sharding=p.P("x")))
row("initial", lambda p: p.m.nn.initializers.ones(None, (8, 4), out_sharding=p.P("x")))
row("normal", lambda p: p.m.random.normal(p.m.random.key(0), (8, 4), out_sharding=p.P("x", "y")))
row("bad axis", lambda p: p.np.zeros((8, 4), out_sharding=p.P("z")))
row("uneven", lambda p: p.np.zeros((7, 4), out_sharding=p.P("x")))

# changes of shardings
row("reshard", lambda p, a: p.sharding.reshard(a, p.P(None, "x")), A)
row("reshard whole", lambda p, a: p.sharding.reshard(a, p.P()), A)
row("reshard to more dimensions", lambda p, a: p.sharding.reshard(a, p.P("x", None, None)), A)
row("reshard both", lambda p, a: p.sharding.reshard(a, p.P(("x", "y"))), A)
row("reshard uneven", lambda p, a: p.sharding.reshard(a, p.P("x")), ((7, 8), N))
row(
    "auto_axes",
    lambda p, a, b: p.sharding.auto_axes(lambda a, b: a @ b, out_sharding=p.P("x"))(a, b),
    A,
    ((8, 8), Y),
)
row(
    "auto_axes one",
    lambda p, a: p.sharding.auto_axes(
        lambda a: p.np.sort(a, 1), axes="y", out_sharding=p.P("x", None)
    )(a),
    A,
)
row("constraint", lambda p, a: p.lax.with_sharding_constraint(a, p.P("x", "y")), A)
row("constraint other", lambda p, a: p.lax.with_sharding_constraint(a, p.P("x", None)), A)

# control flow and mapping
row(
    "scan",
    lambda p, a, b: p.lax.scan(lambda c, x: (c + x, c * x), b, a),
    ((3, 8), (None, "x")),
    ((8,), ("x",)),
)
row(
    "scan split",
    lambda p, a, b: p.lax.scan(lambda c, x: (c + x, c * x), b, a),
    ((4, 8), ("x", None)),
    ((8,), (None,)),
)
row(
    "scan carry",
    lambda p, a, b: p.lax.scan(lambda c, x: (c + x, None), b, a),
    ((3, 8), (None, "x")),
    ((8,), (None,)),
)
row("while", lambda p, a: p.lax.while_loop(lambda a: a.sum() < 100, lambda a: 2 * a + 1, a), A)
row("fori", lambda p, a: p.lax.fori_loop(0, 3, lambda i, a: a * i + 1, a), A)
row("fori type", lambda p, a: p.lax.fori_loop(0, 3, lambda i, a: a.T, a), A)
row("cond", lambda p, a: p.lax.cond(a.sum() > 3, lambda a: a + 1, lambda a: 2 * a, a), A)
row("cond other", lambda p, a: p.lax.cond(a.sum() > 3, lambda a: a + 1, lambda a: a.T, a), A)
row("vmap", lambda p, a: p.m.vmap(lambda x: p.np.sin(x) * 2)(a), A)
row("vmap 1", lambda p, a: p.m.vmap(lambda x: x.sum(), in_axes=1)(a), A)
row("vmap both", lambda p, a, b: p.m.vmap(lambda x, y: x @ y)(a, b), B, B)
row("vmap other", lambda p, a, b: p.m.vmap(lambda x, y: x + y)(a, b), B, ((8, 8), Y))
row("vmap shared", lambda p, a, b: p.m.vmap(lambda x: b @ x)(a), B, ((8, 8), N))
row("vmap constant", lambda p, a: p.m.vmap(lambda x: p.np.zeros(3))(a), B)
row("map", lambda p, a: p.lax.map(lambda x: 2 * x, a), ((4, 8), (None, "x")))
row("jit", lambda p, a: p.m.jit(lambda a: a.T * 2)(a), A)
row("checkpoint", lambda p, a: p.m.checkpoint(lambda a: p.np.sin(a))(a), A)
row("type inside", lambda p, a: a if str(p.m.typeof(a)) == "float32[8@x,8@y]" else a.T, A)

# derivatives
row("grad", lambda p, a: p.m.grad(lambda a: (a * a).sum())(a), A)
row(
    "grad dot",
    lambda p, a, b: p.m.grad(lambda a, b: p.np.tanh(a @ b).sum(), (0, 1))(a, b),
    B,
    ((8, 8), (None, "y")),
)
row("grad dot whole", lambda p, a, b: p.m.grad(lambda b: p.np.tanh(a @ b).sum())(b), A, ((8, 8), N))
row(
    "grad out",
    lambda p, a, b: p.m.grad(
        lambda a, b: p.np.tanh(p.np.dot(a, b, out_sharding=p.P("x", None))).sum(), (0, 1)
    )(a, b),
    A,
    ((8, 8), Y),
)
row(
    "grad broadcast",
    lambda p, a, b: p.m.grad(lambda a, b: (a + b).sum(), (0, 1))(a, b),
    A,
    ((8,), ("y",)),
)
row("grad bias", lambda p, a, b: p.m.grad(lambda b: p.np.sin(a + b).sum())(b), A, ((8,), (None,)))
row("grad max", lambda p, a: p.m.grad(lambda a: a.max(1).sum())(a), A)
row("grad softmax", lambda p, a: p.m.grad(lambda a: (p.m.nn.softmax(a) * a).sum())(a), B)
row(
    "grad reshape",
    lambda p, a: p.m.grad(lambda a: p.np.sin(p.lax.reshape(a, (2, 4, 8))).sum())(a),
    A,
)
row(
    "grad reshard",
    lambda p, a: p.m.grad(lambda a: p.np.sin(p.sharding.reshard(a, p.P("y"))).sum())(a),
    A,
)
row(
    "grad scan",
    lambda p, a, b: p.m.grad(
        lambda a, b: p.lax.scan(lambda c, x: (p.np.sin(c * x), c), b, a)[0].sum(), (0, 1)
    )(a, b),
    ((3, 8), (None, "x")),
    ((8,), ("x",)),
)
row("grad slice", lambda p, a: p.m.grad(lambda a: p.np.sin(a[:, :4]).sum())(a), B)
row(
    "grad concatenate",
    lambda p, a, b: p.m.grad(lambda a, b: p.np.sin(p.np.concatenate([a, b], 1)).sum(), (0, 1))(
        a, b
    ),
    B,
    B,
)
row("grad gather", lambda p, a: p.m.grad(lambda a: p.np.sin(a[:, p.np.array([1, 1])]).sum())(a), B)
row(
    "grad cond",
    lambda p, a: p.m.grad(
        lambda a: p.lax.cond(True, lambda a: p.np.sin(a), lambda a: 2 * a, a).sum()
    )(a),
    A,
)
row("grad checkpoint", lambda p, a: p.m.grad(lambda a: p.m.checkpoint(p.np.sin)(a).sum())(a), A)
row("grad cumsum", lambda p, a: p.m.grad(lambda a: p.np.sin(p.np.cumsum(a, 1)).sum())(a), B)
row("grad sort", lambda p, a: p.m.grad(lambda a: p.np.sin(p.np.sort(a, 1)).sum())(a), B)
row(
    "grad auto",
    lambda p, a, b: p.m.grad(
        lambda a: p.np.sin(
            p.sharding.auto_axes(lambda a, b: a @ b, out_sharding=p.P("x"))(a, b)
        ).sum()
    )(a),
    A,
    ((8, 8), Y),
)
row("jvp", lambda p, a: p.m.jvp(lambda a: p.np.sin(a).sum(1), (a,), (a,)), A)
row("vjp", lambda p, a: p.m.vjp(lambda a: p.np.sin(a).T, a)[1](a.T), A)
row("linearize", lambda p, a: p.m.linearize(lambda a: p.np.sin(a), a)[1](a), A)
row("hessian", lambda p, a: p.m.hessian(lambda a: (a**3).sum())(a), ((4,), (None,)))
row(
    "value_and_grad jit",
    lambda p, a: p.m.jit(p.m.value_and_grad(lambda a: p.np.exp(a).mean()))(a),
    A,
)
row("vmap grad", lambda p, a: p.m.vmap(p.m.grad(lambda x: p.np.sin(x).sum()))(a), B)

# shard_map: the axes that it maps over are manual in the body
row("shard_map", lambda p, a: p.mapped(lambda v: 2 * v, ("x", "y"), ("x", "y"))(a), A)
row("shard_map other", lambda p, a: p.mapped(lambda v: 2 * v, ("x",), ("x",))(a), A)
row(
    "shard_map psum",
    lambda p, a: p.mapped(lambda v: p.lax.psum(v, "x"), ("x", "y"), (None, "y"))(a),
    A,
)
row("shard_map part", lambda p, a: p.mapped(p.np.sin, ("x",), ("x",), axis_names={"x"})(a), A)
row(
    "shard_map part psum",
    lambda p, a: p.mapped(lambda v: p.lax.psum(v, "x"), ("x",), (), axis_names={"x"})(a),
    A,
)
row(
    "shard_map types",
    lambda p, a: p.mapped(
        lambda v: v if str(p.m.typeof(v)) == "float32[4,8@y]{V:x}" else v[0],
        ("x",),
        ("x",),
        axis_names={"x"},
    )(a),
    A,
)
row(
    "shard_map inferred", lambda p, a: p.m.shard_map(lambda v: 2 * v, out_specs=p.P("x", "y"))(a), A
)
row(
    "shard_map not inferred",
    lambda p, a: p.m.shard_map(lambda v: 2 * v, out_specs=p.P("x"))(a),
    A,
    types=("Auto", "Auto"),
)
row(
    "grad shard_map",
    lambda p, a: p.m.grad(lambda a: p.mapped(p.np.sin, ("x", "y"), ("x", "y"))(a).sum())(a),
    A,
)
row(
    "grad shard_map part",
    lambda p, a: p.m.grad(lambda a: p.mapped(p.np.sin, ("x",), ("x",), axis_names={"x"})(a).sum())(
        a
    ),
    A,
)
row("smap", lambda p, a: p.m.smap(lambda v: 2 * v, in_axes=0, out_axes=0, axis_name="x")(a), B)
row(
    "smap in smap",
    lambda p, a: p.m.smap(
        p.m.smap(lambda v: 2 * v, in_axes=1, out_axes=1, axis_name="y"),
        in_axes=0,
        out_axes=0,
        axis_name="x",
    )(a),
    A,
)
row("smap inferred", lambda p, a: p.m.smap(lambda v: 2 * v, out_axes=0, axis_name="x")(a), B)
row(
    "smap auto",
    lambda p, a: p.m.smap(lambda v: p.lax.psum(v, "x"), in_axes=0, out_axes=None, axis_name="x")(a),
    B,
    types=("Auto", "Auto"),
)
row("smap names", lambda p, a: p.m.smap(lambda v: v, out_axes=0, axis_name=("x",))(a), B)

# meshes with axes of other types
MIXED = {"types": ("Explicit", "Auto")}
row("mixed", lambda p, a: a * 2, A, **MIXED)
row("mixed reshard", lambda p, a: p.sharding.reshard(a, p.P(None, "x")), A, **MIXED)
row("mixed reshard auto", lambda p, a: p.sharding.reshard(a, p.P("y", None)), A, **MIXED)
row("mixed constraint", lambda p, a: p.lax.with_sharding_constraint(a, p.P("x", None)), A, **MIXED)
row("mixed dot", lambda p, a: a @ a.T, A, **MIXED)
row(
    "explicit_axes",
    lambda p, a: p.sharding.explicit_axes(
        lambda a: p.np.sin(a) * 2, axes="y", in_sharding=p.P("x", "y")
    )(a),
    A,
    **MIXED,
)
row(
    "explicit_axes all",
    lambda p, a: p.sharding.explicit_axes(
        lambda a: a if str(p.m.typeof(a)) == "float32[8@x,8@y]" else a[0], in_sharding=p.P("x", "y")
    )(a),
    A,
    types=("Auto", "Auto"),
)
row("auto_axes missing", lambda p, a: p.sharding.auto_axes(lambda a: a)(a), A)
row(
    "spmd_axis_name",
    lambda p, a: p.m.vmap(
        lambda x: p.lax.with_sharding_constraint(x * 2, p.P("y")), spmd_axis_name="x"
    )(a),
    ((8, 8), N),
    types=("Auto", "Auto"),
)
row(
    "spmd_axis_name shard_map",
    lambda p, a: p.m.vmap(
        lambda x: p.mapped(lambda v: 2 * v, ("y",), ("y",))(x), spmd_axis_name="x"
    )(a),
    ((8, 8), N),
    types=("Auto", "Auto"),
)
row("device_put", lambda p, a: p.m.device_put(a, p.P("y")), A)
row(
    "lax.map batches",
    lambda p, a: p.lax.map(lambda x: 2 * x, a, batch_size=2),
    ((4, 8), (None, "x")),
)
row("associative_scan", lambda p, a: p.lax.associative_scan(p.np.add, a, axis=1), B)
row("norm", lambda p, a: p.np.linalg.norm(a), A)
row(
    "cotangent of a rule",
    lambda p, a: p.m.grad(lambda x: _doubled(p, lambda g: g * 2)(x).sum())(a),
    B,
)
row(
    "whole cotangent of a rule",
    lambda p, a: p.m.grad(lambda x: _doubled(p, lambda g: p.np.ones((8, 8)))(x).sum())(a),
    B,
)
row(
    "other unreduced einsum",
    lambda p, a, b: p.np.einsum("ij,jk->ik", a, b, out_sharding=p.P(None, None, unreduced={"x"})),
    ((8, 8), (None, "y")),
    Y,
)
row("cumsum of all elements", lambda p, a: p.np.cumsum(a), B)
row("whole cotangent", lambda p, a: p.m.vjp(lambda x: x.T, a)[1](p.np.ones((8, 8)))[0], B)
row("vmap of other rows", lambda p, a, b: p.m.vmap(lambda r, s: r + s)(a, b), B, ((8, 8), N))
