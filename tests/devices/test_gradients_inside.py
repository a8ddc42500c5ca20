"""Derivatives in the body of a checked `shard_map` are those of JAX.

The derivative by a value that is equal on all devices is the sum over the devices, also if an
operation such as an addition combines it with a varying value.
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


def inside(p: Any, body: Body, derivative: str) -> Any:
    """Return the derivatives inside the body by all four operands, sharded by their specs."""

    def loss(*operands: Any) -> Any:
        outs = p.m.tree.leaves(body(p, *operands))
        return sum(p.np.sum(p.np.sin(out) * (i + 1)) for i, out in enumerate(outs))

    def derivatives(b: Any, w: Any, x: Any, y: Any) -> Any:
        if derivative == "gradient":
            return p.m.grad(loss, argnums=(0, 1, 2, 3))(b, w, x, y)
        if derivative == "linear":  # of the sum: its cotangents are equal on all devices
            plain = lambda *ops: sum(p.np.sum(z) for z in p.m.tree.leaves(body(p, *ops)))  # noqa: E731
            return p.m.value_and_grad(plain, argnums=(0, 1, 2, 3))(b, w, x, y)[1]
        first = p.m.grad(loss, argnums=(0, 1))
        return p.m.grad(lambda b, w: sum(p.np.sum(g * g) for g in first(b, w, x, y)), (0, 1))(b, w)

    rows = (p.P("x"), p.P("y"))
    outs = (p.P(), p.P(), *rows) if derivative != "second" else (p.P(), p.P())
    specs = (p.P(), p.P(), *rows)
    return p.m.shard_map(derivatives, mesh=p.mesh, in_specs=specs, out_specs=outs)


#: The bodies whose cotangents, or second derivatives, vary between devices.
CURVED = ("add", "layers", "where", "concatenate", "sort", "psum", "pmean", "scatter", "normed")
TWICE = ("add", "apart", "layers", "psum", "vmap", "custom-vjp")
CASES = [
    *(("linear", name) for name in BODIES),
    *(("gradient", name) for name in CURVED),
    *(("second", name) for name in TWICE),
]


#: The cases in groups; a group is compiled as one program, which saves most of the time.
GROUPS = [CASES[i : i + 8] for i in range(0, len(CASES), 8)]


@pytest.mark.parametrize("cases", GROUPS, ids=lambda cases: f"{cases[0][0]}-{cases[0][1]}")
def test_a_derivative_inside_is_that_of_jax(cases: list[tuple[str, str]]) -> None:
    ours, expected_results = (
        p.m.jit(
            lambda *args, p=p: [
                inside(p, BODIES[name], derivative)(*args) for derivative, name in cases
            ]
        )(B, W, X, Y)
        for p in (OURS, ORACLE)
    )
    for case, results, expected in zip(cases, ours, expected_results, strict=True):
        for result, expected_result in zip(results, expected, strict=True):
            np.testing.assert_allclose(
                result, expected_result, rtol=2e-4, atol=2e-4, err_msg=str(case)
            )


def test_the_gradient_of_a_gather_by_varying_indices_is_the_sum_of_all_parts() -> None:
    """Compared with a manual sum: JAX omits parts if only the indices vary."""

    def picked(p: Any, b: Any, w: Any, x: Any, y: Any) -> Any:
        return p.np.take_along_axis(w, p.np.argsort(x, axis=1), 1) * b

    gradients = inside(OURS, picked, "linear")(B, W, X, Y)
    parts = [
        OURS.m.grad(lambda b, w, x=x: OURS.np.sum(picked(OURS, b, w, x, None)), (0, 1))(B, W)
        for x in (X[:4], X[4:])
    ]
    for gradient, *pieces in zip(gradients, *parts, strict=False):
        np.testing.assert_allclose(gradient, np.sum([np.asarray(g) for g in pieces], 0), rtol=1e-5)


def choose(p: Any, first: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    return p.lax.cond(first, yes, no)


def loop_in_a_branch(p: Any, first: Any, b: Any, w: Any, x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        return h * b + 1, p.np.tanh(h) * row

    return choose(p, first, lambda: p.lax.scan(step, b, x)[1], lambda: x)


def rules_in_a_branch(p: Any, first: Any, b: Any, w: Any, x: Any) -> Any:
    @p.m.custom_jvp
    def tripled(a: Any) -> Any:
        return 2 * a

    @p.m.custom_vjp
    def square(a: Any) -> Any:
        return a * a

    tripled.defjvp(lambda primals, tangents: (tripled(*primals), 3 * tangents[0]))
    square.defvjp(lambda a: (a * a, a), lambda a, ct: (5 * a * ct,))
    return choose(p, first, lambda: square(b) * x, lambda: tripled(w)[0] + square(x))


def numbered(p: Any, first: Any, b: Any, w: Any, x: Any) -> Any:
    branches = [lambda b: x + b, lambda b: p.np.sin(b) * x, lambda b: x @ w]
    return p.lax.switch(1 + first.astype("int32"), branches, b)


def varying_length(p: Any, first: Any, b: Any, w: Any, x: Any) -> Any:
    """The length of the loop varies, but its type does not show it."""
    stop = p.np.where(first, 2, 3)
    turns = p.lax.while_loop(lambda i: i < stop, lambda i: i + 1, np.int32(0))
    return (turns * b) * x


#: (side, True on the first device, shared vector, shared matrix, rows) -> an array
CHOICES: dict[str, Callable[..., Any]] = {
    "one-branch": lambda p, first, b, w, x: choose(p, first, lambda: b * x, lambda: x),
    "both": lambda p, first, b, w, x: choose(p, first, lambda: x @ w - b, lambda: 2 * b + x),
    "apart": lambda p, first, b, w, x: choose(
        p, first, lambda: (p.np.sin(b) + x[0], x), lambda: (x[0], p.np.tanh(w) * x)
    ),
    "two": lambda p, first, b, w, x: (
        choose(p, first, lambda: b * x, lambda: x) @ choose(p, first, lambda: w + x, lambda: w - x)
    ),
    "nested": lambda p, first, b, w, x: choose(
        p, first, lambda: choose(p, x[0, 0] > 0, lambda: x * b, lambda: x @ w), lambda: b - x
    ),
    "in-a-loop": lambda p, first, b, w, x: p.lax.scan(
        lambda h, row: (choose(p, first, lambda: h * b + row, lambda: h @ w), None), x[0], x
    )[0],
    "jit": lambda p, first, b, w, x: choose(
        p, first, p.m.jit(lambda: p.np.tanh(w @ b) + x), lambda: x
    ),
    "checkpoint": lambda p, first, b, w, x: choose(
        p, first, lambda: p.m.checkpoint(lambda b: p.np.sin(p.np.sin(b) * x))(b), lambda: x
    ),
    "loop-inside": loop_in_a_branch,
    "rules": rules_in_a_branch,
    "switch": numbered,
    "choice-of-shared": lambda p, first, b, w, x: (
        choose(p, first, lambda: 2 * b, lambda: 3 * p.np.sin(b)) * x
    ),
    "chosen-factor": lambda p, first, b, w, x: (
        p.m.jit(lambda: choose(p, first, lambda: 2.0, lambda: 3.0))() * w @ x.T
    ),
    "turns": varying_length,
}


def chosen_loss(p: Any, body: Callable[..., Any], first: Any, b: Any, w: Any, x: Any) -> Any:
    return sum(p.np.sum(p.np.sin(y)) for y in p.m.tree.leaves(body(p, first, b, w, x)))


def chosen_derivatives(p: Any, first: Any, b: Any, w: Any, x: Any) -> list[Any]:
    """Return the first and the second derivatives of each body of `CHOICES`."""

    def derivatives_of(body: Callable[..., Any]) -> list[Any]:
        def loss(b: Any, w: Any, x: Any) -> Any:
            return chosen_loss(p, body, first, b, w, x)

        once = p.m.grad(loss, (0, 1, 2))
        twice = p.m.jvp(lambda b, w: once(b, w, x)[:2], (b, w), (b + 1, w - 1))[1]
        return [once(b, w, x), twice]

    return [derivatives_of(body) for body in CHOICES.values()]


def over_x(body: Callable[..., Any], out_specs: Any) -> Any:
    """Map a body over the axis "x"; its first operand is True on the first device."""
    return OURS.m.shard_map(
        lambda *operands: body(OURS.lax.axis_index("x") == 0, *operands),
        mesh=OURS.mesh,
        in_specs=(OURS.P(), OURS.P(), OURS.P("x")),
        out_specs=out_specs,
    )


def test_a_derivative_by_a_value_that_is_used_in_different_branches_is_the_sum() -> None:
    """Compared with a program for each device: JAX waits forever, or adds unequal values.

    If only one branch uses the shared value, its sum is in that branch. If both do, or if the
    chosen value is used later, the parts have different factors.
    """
    replicated, rows = OURS.P(), OURS.P("x")
    specs = [[(replicated, replicated, rows), (replicated, replicated)]] * len(CHOICES)
    inside = over_x(lambda *args: chosen_derivatives(OURS, *args), specs)

    def losses(*args: Any) -> Any:
        losses_of_bodies = [chosen_loss(OURS, body, *args) for body in CHOICES.values()]
        return OURS.lax.psum(sum(loss * (i + 1) for i, loss in enumerate(losses_of_bodies)), "x")

    outside = OURS.m.grad(over_x(losses, replicated), (0, 1, 2))
    derivatives, total = OURS.m.jit(lambda *args: (inside(*args), outside(*args)))(B, W, X)
    per_device = ORACLE.m.jit(
        lambda b, w, x: [
            chosen_derivatives(ORACLE, np.bool_(i == 0), b, w, part)
            for i, part in enumerate((x[:4], x[4:]))
        ]
    )(B, W, X)
    sums: list[Any] = [0.0, 0.0, 0.0]
    for i, (name, (once, twice), ((b1, w1, x1), second1), ((b2, w2, x2), second2)) in enumerate(
        zip(CHOICES, derivatives, *per_device, strict=True)
    ):
        expected = [b1 + b2, w1 + w2, np.concatenate([x1, x2])]
        sums = [partial + (i + 1) * more for partial, more in zip(sums, expected, strict=True)]
        expected += [first + second for first, second in zip(second1, second2, strict=True)]
        for result, expected_result in zip([*once, *twice], expected, strict=True):
            np.testing.assert_allclose(result, expected_result, rtol=2e-4, atol=2e-4, err_msg=name)
    for result, expected_result in zip(total, sums, strict=True):
        np.testing.assert_allclose(result, expected_result, rtol=2e-4, atol=2e-3)


def test_nested_choices_along_two_axes_save_separate_residuals() -> None:
    """Only the first device of both axes uses the shared value, on its row."""

    def body(b: Any, x: Any) -> Any:
        firsts = [OURS.lax.axis_index(n) == 0 for n in ("x", "y")]

        def inner() -> Any:
            return choose(OURS, firsts[1], lambda: OURS.np.sin(b) * x, lambda: x)

        return OURS.np.sum(choose(OURS, firsts[0], inner, lambda: x))

    def total(b: Any, x: Any) -> Any:
        specs = OURS.P(), OURS.P(("x", "y"))
        summed = lambda b, x: OURS.lax.psum(body(b, x), ("x", "y"))  # noqa: E731
        return OURS.m.shard_map(summed, mesh=OURS.mesh, in_specs=specs, out_specs=OURS.P())(b, x)

    gradient = OURS.m.jit(OURS.m.grad(total))(B, X)
    np.testing.assert_allclose(gradient, np.cos(B) * X[0], rtol=1e-5)


def test_a_varying_predicate_with_equal_values_does_not_change_derivatives() -> None:
    """The branches also have a result of an unvarying type and a mean over devices."""

    def loss(p: Any, b: Any, x: Any) -> Any:
        yes = p.lax.pcast(np.bool_(True), "x", to="varying")
        product, shared, mean = p.lax.cond(
            yes,
            lambda b: (b * x, 3 * b, p.lax.pmean(b * x, "x")),
            lambda b: (x, b, p.lax.pmean(x, "x")),
            b,
        )
        return p.np.sum(product) + p.np.sum(p.np.sin(shared)) + p.np.sum(p.np.sin(mean))

    ours, expected = (
        p.m.jit(
            p.m.shard_map(
                lambda b, x, p=p: p.m.grad(lambda b, x: loss(p, b, x), (0, 1))(b, x),
                mesh=p.mesh,
                in_specs=(p.P(), p.P("x")),
                out_specs=(p.P(), p.P("x")),
            )
        )(B, X)
        for p in (OURS, ORACLE)
    )
    for result, expected_result in zip(ours, expected, strict=True):
        np.testing.assert_allclose(result, expected_result, rtol=2e-5, atol=2e-5)
