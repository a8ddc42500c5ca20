"""Networks of layers in a Python loop, and how two ways to run them are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus as ox
from olympus_core.blocks.outline import Block, blocks, outline
from olympus_core.blocks.repeats import MEASURED, Thresholds
from olympus_core.ir.check import check
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Literal, Olympuspr

jnp = ox.numpy
EVERY = Thresholds(again=0)  # of the usual size, a gain or not
LOW = Thresholds(occurrences=3, equations=4, again=0)
WIDTH = 8


def layer(p: Any, x: Any, mask: Any = None) -> Any:
    """Attention and a perceptron, about 50 equations."""
    h = norm(x)
    q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
    causal = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), dtype=bool))
    scores = jnp.where(causal, q @ k.T / WIDTH**0.5, -jnp.inf)
    if mask is not None:
        scores = scores + mask[None, :] * -1e9
    x = x + ox.nn.softmax(scores, axis=-1) @ v
    return x + ox.nn.gelu(norm(x) @ p["in"]) @ p["out"]


def norm(x: Any) -> Any:
    """A layer norm: fusions of its gradient go on from layer to layer."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    return (x - mean) * ox.lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)


def params(layers: int, width: int = WIDTH) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    names = ("q", "k", "v", "in", "out")
    return [
        {n: (rng.standard_normal((width, width)) / 4).astype(np.float32) for n in names}
        for _ in range(layers)
    ]


X = np.linspace(-1, 1, 5 * WIDTH, dtype=np.float32).reshape(5, WIDTH)


def forward(ps: Any, x: Any) -> Any:
    for p in ps:
        x = layer(p, x)
    return x


def step(ps: Any, x: Any) -> Any:
    value, grads = ox.value_and_grad(lambda ps: jnp.mean(forward(ps, x) ** 2))(ps)
    return value, ox.tree.map(lambda p, g: p - 0.1 * g, ps, grads)


def traced(fun: Any, *args: Any) -> Olympuspr:
    return ox.jit(lambda *a: fun(*a)).trace(*args).olympuspr


def found(fun: Any, *args: Any, thresholds: Thresholds = MEASURED) -> tuple[Block, ...]:
    outlined = outline(traced(fun, *args), thresholds)
    check(outlined)
    return blocks(outlined)


def interpreted(program: Olympuspr, args: list[Any]) -> list[Any]:
    """The results, each operation run by itself, those of nested programs of calls too."""
    env: dict[Any, Any] = dict(zip(program.invars, args, strict=True))
    env.update(zip(program.constvars, program.consts, strict=True))

    def read(x: Any) -> Any:
        return x.value if isinstance(x, Literal) else env[x]

    for eqn in program.eqns:
        values = [read(x) for x in eqn.inputs]
        if eqn.primitive.is_call:
            outs = interpreted(eqn.params["olympuspr"], values)
        else:
            outs = eqn.primitive.bind(*values, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
        env.update(zip(eqn.outputs, outs, strict=True))
    return [read(x) for x in program.outvars]


def assert_same_operations(fun: Any, *args: Any, thresholds: Thresholds = LOW) -> Olympuspr:
    """Outlining keeps every bit, where each operation is run by itself."""
    program = traced(fun, *args)
    outlined = outline(program, thresholds)
    check(outlined)
    leaves = ox.tree.leaves(args)
    with_blocks = interpreted(outlined, leaves)
    for a, b in zip(interpreted(simplify(program), leaves), with_blocks, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    return outlined


def assert_close(fun: Any, *args: Any, tolerance: float = 2e-5) -> None:
    """The compiled programs agree to rounding, with blocks and without."""
    lowered = ox.jit(fun).trace(*args)
    auto, off = (lowered.lower(repeats=r).compile()(*args) for r in ("auto", "off"))
    for a, b in zip(ox.tree.leaves(auto), ox.tree.leaves(off), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
