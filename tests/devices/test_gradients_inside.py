"""Derivatives in the body of a checked `shard_map`: the oracle's, whatever varies beside what.

A derivative by a value that all devices share is the sum over them, also where the value meets
what differs from device to device in an operation that does not look at it, such as an addition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.devices.test_shard_map import ORACLE, OURS

RNG = np.random.default_rng(3)
B, W, X, Y = (
    RNG.standard_normal(shape).astype(np.float32) for shape in ((4,), (4, 4), (8, 4), (8, 4))
)

#: (side, shared vector, shared matrix, rows along "x", rows along "y") -> an array
Body = Callable[[Any, Any, Any, Any, Any], Any]


def checkpointed(p, b, w, x, y):
    return p.m.checkpoint(lambda b, w: p.np.tanh(p.np.tanh(x @ w + b) @ w))(b, w)


def scanned(p, b, w, x, y):
    start = p.lax.pcast(b, "x", to="varying")
    return p.lax.scan(lambda h, row: (p.np.tanh(h @ w) + row + b, h @ w), start, x)


def scanned_layers(p, b, w, x, y):
    layers = p.np.stack([w, 2 * w, w + b])
    return p.lax.scan(lambda h, w: (p.np.tanh(h @ w) + b, None), x, layers)[0]


def looped(p, b, w, x, y):
    return p.lax.fori_loop(0, 3, lambda i, h: p.np.sin(h + b) @ w, x)


def branched(p, b, w, x, y):
    return p.lax.cond(b[0] > 0, lambda b: x * b + w[0], lambda b: x - 2 * b, b)


def chosen(p, b, w, x, y):
    return p.lax.switch(1, [lambda b: b * b, lambda b: b + 1, lambda b: b @ w], b) + x


def custom_jvp(p, b, w, x, y):
    @p.m.custom_jvp
    def scaled(a, c):
        return a + c

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), 3 * tangents[0] + 2 * tangents[1]))
    return scaled(p.lax.pcast(b, "x", to="varying"), x)


def custom_vjp(p, b, w, x, y):
    @p.m.custom_vjp
    def square(a):
        return a * a

    square.defvjp(lambda a: (a * a, a), lambda a, ct: (5 * a * ct,))
    return square(b) + square(x)


def attention(p, b, w, x, y):
    scores = p.m.nn.softmax(x @ w @ x.T)
    return p.np.einsum("ab,bc->ac", scores, x @ w) + b


def normed(p, b, w, x, y):
    mean = p.lax.pmean(x.mean(0), "x")
    return (x - mean) * b / p.np.sqrt(p.lax.pmean(((x - mean) ** 2).mean(), "x") + 1)


def convolved(p, b, w, x, y):
    image, kernel = x[None, None], w[None, None]
    twice = p.lax.conv_general_dilated(
        p.lax.conv_general_dilated(image, kernel, (1, 1), "SAME"), kernel, (1, 1), "SAME"
    )
    return p.np.tanh(twice) + b


BODIES: dict[str, Body] = {
    "add": lambda p, b, w, x, y: x + b,
    "subtract": lambda p, b, w, x, y: b - x + (w - y[:4].sum()),
    "beside": lambda p, b, w, x, y: p.np.sum(b) + p.np.sum(x) + p.np.sum(w * w),
    "apart": lambda p, b, w, x, y: (b**2, x, w @ b),
    "mean": lambda p, b, w, x, y: p.np.mean(p.np.exp(b) + x) * p.np.mean(w),
    "two-axes": lambda p, b, w, x, y: x[0] + b + y[0] * w,
    "each-axis": lambda p, b, w, x, y: ((x + b).sum(), (y - b).sum(), w.sum()),
    "layers": lambda p, b, w, x, y: p.np.tanh(p.np.tanh(x @ w + b) @ w) @ w,
    "known-matrix": lambda p, b, w, x, y: p.np.tanh(x * b) @ W,
    "where": lambda p, b, w, x, y: p.np.where(x > 0, x, b) + p.np.where(b > 0, w, x[:4]),
    "maximum": lambda p, b, w, x, y: p.np.maximum(x, b) + p.np.minimum(w, 0),
    "clip": lambda p, b, w, x, y: p.np.clip(x @ w, -1, 1) + b,
    "concatenate": lambda p, b, w, x, y: p.np.concatenate([x, b[None], w]),
    "stack": lambda p, b, w, x, y: p.np.stack([x[0], p.np.exp(b), y[0]]),
    "pad": lambda p, b, w, x, y: p.lax.pad(x, b[0], [(1, 1, 0), (0, 0, 0)]) @ w,
    "update": lambda p, b, w, x, y: p.lax.dynamic_update_slice(x, b[None], (0, 0)) @ w,
    "set": lambda p, b, w, x, y: w.at[p.np.argmax(x[0])].add(b),
    "index": lambda p, b, w, x, y: w[(x[0] > 0).astype(int)] + b,
    "sort": lambda p, b, w, x, y: p.np.sort(x + b, axis=0) @ w,
    "cumsum": lambda p, b, w, x, y: p.np.cumsum(x + b, axis=0) @ w,
    "logsumexp": lambda p, b, w, x, y: p.m.nn.logsumexp(x @ w + b, axis=1),
    "einsum": lambda p, b, w, x, y: p.np.einsum("ab,bc,cd,d->a", x, w, w, b),
    "solve": lambda p, b, w, x, y: p.np.linalg.solve(w + 9 * p.np.eye(4), (x + b).T),
    "psum": lambda p, b, w, x, y: p.lax.psum(x @ w + b, "x"),
    "pmean": lambda p, b, w, x, y: p.lax.pmean(p.np.sum(b**2 + x @ w), "x"),
    "psum-shared": lambda p, b, w, x, y: p.lax.psum(p.lax.pcast(b, "x", to="varying"), "x") + w,
    "all-gather": lambda p, b, w, x, y: p.lax.all_gather(x + b, "x") @ w,
    "scatter": lambda p, b, w, x, y: p.lax.psum_scatter((x + b) @ w, "x", tiled=True),
    "ppermute": lambda p, b, w, x, y: p.lax.ppermute(x + b, "x", [(0, 1), (1, 0)]) @ w,
    "index-of-axis": lambda p, b, w, x, y: b * p.lax.axis_index("x") + w,
    "jit": lambda p, b, w, x, y: p.m.jit(lambda b: p.np.tanh(x @ w) + b)(b),
    "nested-gradient": lambda p, b, w, x, y: p.m.grad(lambda c: p.np.sum(p.np.sin(x * c)))(b) * b,
    "vmap": lambda p, b, w, x, y: p.m.vmap(lambda row: p.np.tanh(row @ w) + b)(x),
    "stopped": lambda p, b, w, x, y: p.lax.stop_gradient(x * b) + b * w,
    "checkpoint": checkpointed,
    "scan": scanned,
    "scan-layers": scanned_layers,
    "loop": looped,
    "cond": branched,
    "switch": chosen,
    "custom-jvp": custom_jvp,
    "custom-vjp": custom_vjp,
    "attention": attention,
    "normed": normed,
    "convolution": convolved,
}


def inside(p: Any, body: Body, of: str) -> Any:
    """What `of` gives in the body by all four operands, each in the form that its spec has."""

    def loss(*operands: Any) -> Any:
        outs = p.m.tree.leaves(body(p, *operands))
        return sum(p.np.sum(p.np.sin(out) * (i + 1)) for i, out in enumerate(outs))

    def derivatives(b: Any, w: Any, x: Any, y: Any) -> Any:
        if of == "gradient":
            return p.m.grad(loss, argnums=(0, 1, 2, 3))(b, w, x, y)
        if of == "linear":  # of the sum itself: its cotangents are the same on all devices
            plain = lambda *ops: sum(p.np.sum(z) for z in p.m.tree.leaves(body(p, *ops)))  # noqa: E731
            return p.m.value_and_grad(plain, argnums=(0, 1, 2, 3))(b, w, x, y)[1]
        first = p.m.grad(loss, argnums=(0, 1))
        return p.m.grad(lambda b, w: sum(p.np.sum(g * g) for g in first(b, w, x, y)), (0, 1))(b, w)

    rows = (p.P("x"), p.P("y"))
    outs = (p.P(), p.P(), *rows) if of != "second" else (p.P(), p.P())
    specs = (p.P(), p.P(), *rows)
    return p.m.shard_map(derivatives, mesh=p.mesh, in_specs=specs, out_specs=outs)


#: those in which the cotangents, or the derivative's own, differ from device to device
CURVED = ("add", "layers", "where", "concatenate", "sort", "psum", "pmean", "scatter", "normed")
TWICE = ("add", "apart", "layers", "psum", "vmap", "custom-vjp")
CASES = [
    *(("linear", name) for name in BODIES),
    *(("gradient", name) for name in CURVED),
    *(("second", name) for name in TWICE),
]


@pytest.mark.parametrize(("of", "name"), CASES)
def test_a_derivative_inside_is_the_oracles(of: str, name: str) -> None:
    ours, wanted = (
        [np.asarray(g) for g in inside(p, BODIES[name], of)(B, W, X, Y)] for p in (OURS, ORACLE)
    )
    for got, want in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def test_a_gather_by_what_differs_gives_back_the_sum_of_all_parts() -> None:
    """By hand: the oracle leaves out parts where the indices differ and the array does not."""

    def picked(p: Any, b: Any, w: Any, x: Any, y: Any) -> Any:
        return p.np.take_along_axis(w, p.np.argsort(x, axis=1), 1) * b

    found = inside(OURS, picked, "linear")(B, W, X, Y)
    parts = [
        OURS.m.grad(lambda b, w, x=x: OURS.np.sum(picked(OURS, b, w, x, None)), (0, 1))(B, W)
        for x in (X[:4], X[4:])
    ]
    for got, *pieces in zip(found, *parts, strict=False):
        np.testing.assert_allclose(got, np.sum([np.asarray(g) for g in pieces], 0), rtol=1e-5)
