"""Repeated blocks: what is found in a program, and that it computes the same with them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import olympus as ox
from olympus_core import compiling, mlir, repeats, xla
from olympus_core.check import check
from olympus_core.errors import OlympusWarning, UsageError
from olympus_core.olympuspr import Literal, Olympuspr
from olympus_core.outline import Block, blocks, outline
from olympus_core.repeats import MEASURED, Thresholds
from olympus_core.simplify import simplify
from olympus_core.xla import inlining

jnp = ox.numpy
ROOT = Path(__file__).parents[2]
LOW = Thresholds(occurrences=3, equations=4)
WIDTH = 8


def layer(p: Any, x: Any, mask: Any = None) -> Any:
    """Attention and a perceptron, about 40 equations."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    h = (x - mean) * ox.lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)
    q, k, v = h @ p["q"], h @ p["k"], h @ p["v"]
    causal = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), dtype=bool))
    scores = jnp.where(causal, q @ k.T / WIDTH**0.5, -jnp.inf)
    if mask is not None:
        scores = scores + mask[None, :] * -1e9
    x = x + ox.nn.softmax(scores, axis=-1) @ v
    return x + ox.nn.gelu(x @ p["in"]) @ p["out"]


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


# --- what is found


def test_layers_of_a_loop_are_one_block() -> None:
    (block,) = found(forward, params(6), X)
    assert (block.name, block.occurrences) == ("block_1", 6)
    assert block.equations >= 16
    here = Path(__file__).name
    assert block.lines
    assert all(here in line or "olympus_core" in line for line in block.lines)


def test_a_training_step_has_a_block_forward_and_one_backward() -> None:
    first, second = found(step, params(8), X)
    assert (first.name, second.name) == ("block_1", "block_2")
    assert min(first.occurrences, second.occurrences) >= 7
    program = outline(traced(step, params(8), X))
    whole = len(simplify(traced(step, params(8), X)).eqns)
    assert len(program.eqns) < whole / 3


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_block_that_occurs_less_than_four_times_is_left(layers: int) -> None:
    assert found(forward, params(layers), X) == ()


def test_a_block_of_few_equations_is_left() -> None:
    def short(ps: Any, x: Any) -> Any:
        for p in ps:
            x = jnp.tanh(x @ p["q"])
        return x

    assert found(short, params(12), X) == ()


def test_a_block_without_a_product_or_a_loop_is_left() -> None:
    def light(x: Any) -> Any:
        for _ in range(8):
            for i in range(20):
                x = jnp.sin(x) + i * jnp.cos(x)
        return x

    assert found(light, X) == ()


def test_blocks_that_are_not_a_chain_are_found() -> None:
    def towers(ps: Any, x: Any) -> Any:
        return [layer(p, x @ p["q"]) for p in ps]

    (block,) = found(towers, params(5), X)
    assert block.occurrences == 5


def test_blocks_with_other_equations_between_are_found() -> None:
    def apart(ps: Any, x: Any) -> Any:
        total = 0.0
        for i, p in enumerate(ps):
            y = x
            for _ in range(i + 1):
                y = jnp.exp(-y) if i % 2 else jnp.cos(y)
            total = total + layer(p, y * (i + 1))
        return total

    (block,) = found(apart, params(6), X)
    assert block.occurrences == 6


def test_the_first_layer_is_taken_in_though_it_makes_what_all_share() -> None:
    def masked(ps: Any, x: Any, keep: Any) -> Any:
        for p in ps:
            x = layer(p, x, 1.0 - jnp.sqrt(keep))
        return x

    (block,) = found(masked, params(5), X, np.ones(5, np.float32))
    assert block.occurrences == 5
    assert_same_operations(masked, params(5), X, np.ones(5, np.float32))


def test_a_layer_of_another_width_ends_a_block() -> None:
    def widths(ps: Any, qs: Any, x: Any) -> Any:
        y = forward(ps, x)
        return forward(qs, jnp.concatenate([y, y], axis=1))

    first, second = found(widths, params(4), params(4, 2 * WIDTH), X)
    assert (first.occurrences, second.occurrences) == (4, 4)


def test_literals_tell_blocks_apart() -> None:
    def scaled(ps: Any, x: Any) -> Any:
        for i, p in enumerate(ps):
            x = layer(p, x * (1.0 + i)) * (2.0 + i) + jnp.sin(x * i)
        return x

    for block in found(scaled, params(6), X):
        for eqn in block.program.eqns:
            for x in eqn.inputs:
                assert not (isinstance(x, Literal) and x.value in (5.0, 6.0, 7.0))
    assert_same_operations(scaled, params(6), X)


def test_loops_count_and_are_searched() -> None:
    def stack(ps: Any, x: Any) -> Any:
        def cell(p: Any) -> Any:
            def body(c: Any, row: Any) -> Any:
                c = jnp.tanh(c @ p["q"] + row @ p["k"]) * ox.nn.sigmoid(c @ p["v"])
                return c, c

            return body

        for p in ps:
            _, x = ox.lax.scan(cell(p), jnp.zeros(WIDTH), x)
        return x

    few = Thresholds(4, 8)
    (block,) = found(stack, params(5), X, thresholds=few)
    assert block.occurrences == 5
    assert [e.primitive.name for e in block.program.eqns if e.primitive.is_loop] == ["scan"]

    def inside(ps: Any, x: Any) -> Any:
        return ox.lax.scan(lambda c, _: (forward(ps, c), None), x, None, length=3)[0]

    (block,) = found(inside, params(4), X)
    assert block.occurrences == 4
    assert_close(inside, params(4), X)


def test_checkpointed_layers_are_blocks() -> None:
    def remat(ps: Any, x: Any) -> Any:
        for p in ps:
            x = ox.checkpoint(layer)(p, x)
        return jnp.mean(x)

    both = found(ox.grad(remat), params(8), X)
    assert [b.occurrences >= 6 for b in both] == [True, True]
    assert_close(ox.grad(remat), params(8), X)


def test_a_function_under_jit_is_kept_where_it_is_called_often() -> None:
    called = ox.jit(layer)

    def nested(ps: Any, x: Any) -> Any:
        for p in ps:
            x = called(p, x)
        return x

    (block,) = found(nested, params(6), X)
    assert (block.name, block.occurrences) == ("layer", 6)
    assert found(nested, params(3), X) == ()
    text = ox.jit(nested).trace(params(6), X).lower().as_text()
    assert text.count("call @layer") == text.count('inlineable = "false"') == 6
    assert "inlineable" not in ox.jit(nested).trace(params(6), X).lower(repeats="off").as_text()
    assert_close(ox.grad(lambda ps, x: jnp.sum(nested(ps, x))), params(5), X)


def test_blocks_are_in_blocks() -> None:
    def deep(ps: Any, x: Any) -> Any:
        for _ in range(4):
            x = forward(ps, x)
            for i in range(40):
                x = jnp.sin(x) + i
            x = x @ ps[0]["q"] + x @ ps[1]["k"]
        return x

    both = found(deep, params(4), X)
    counts = {b.occurrences for b in both}
    assert counts == {4, 16}
    names = [b.name for b in both]
    assert names == sorted(names)
    assert_same_operations(deep, params(4), X)


def test_a_block_is_of_one_layer() -> None:
    def thin(ps: Any, x: Any) -> Any:
        for p in ps:
            x = jnp.tanh(x @ p["q"]) * 2.0 + x
        return x

    assert found(thin, params(24), X) == ()


def test_two_functions_of_one_name_are_two_blocks() -> None:
    called = ox.jit(layer)

    def widths(ps: Any, qs: Any, x: Any) -> Any:
        for p in ps:
            x = called(p, x)
        x = jnp.concatenate([x, x], axis=1)
        for q in qs:
            x = called(q, x)
        return x

    args = params(4), params(5, 2 * WIDTH), X
    first, second = found(widths, *args)
    assert [(b.name, b.occurrences) for b in (first, second)] == [("layer", 4), ("layer_1", 5)]
    text = str(outline(traced(widths, *args)))
    assert text.count("olympuspr={") == 2
    lowered = ox.jit(widths).trace(*args).lower().as_text()
    assert lowered.count("call @layer(") == 4
    assert lowered.count("call @layer_1(") == 5


def test_a_function_called_block_1_is_not_another() -> None:
    def block_1(p: Any, x: Any) -> Any:
        return layer(p, jnp.sin(x))

    called = ox.jit(block_1)

    def both(ps: Any, x: Any) -> Any:
        x = forward(ps, x)
        for p in ps:
            x = called(p, x)
        return x

    first, second = found(both, params(5), X)
    assert {first.name, second.name} == {"block_1", "block_2"}
    assert (first.occurrences, second.occurrences) == (5, 5)


def test_a_function_in_a_function_is_counted_as_often_as_it_is_inlined() -> None:
    called = ox.jit(layer)

    @ox.jit
    def twice(p: Any, x: Any) -> Any:
        return called(p, called(p, x))

    def nested(ps: Any, x: Any) -> Any:
        for p in ps:
            x = twice(p, x) + 1.0
        return x

    assert [(b.name, b.occurrences) for b in found(nested, params(2), X)] == [("layer", 4)]


def test_deeply_nested_functions_take_no_time() -> None:
    fun = ox.jit(lambda x: jnp.sin(x) * 2)
    for _ in range(60):

        def outer(x: Any, fun: Any = fun) -> Any:
            return fun(fun(x) + 1)

        fun = ox.jit(outer)
    assert fun.trace(X).lower().blocks == ()


def test_the_search_is_short_where_blocks_are_of_many_kinds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def many(ps: Any, x: Any) -> Any:
        for kind in range(24):
            for _ in range(4):
                for i in range(20):
                    x = jnp.sin(x) + (kind * 100.0 + i)
                x = jnp.tanh(x @ ps["q"]) / (1 + jnp.abs(x))
        return x

    rounds: list[int] = []
    take = repeats._Search.take
    monkeypatch.setattr(
        repeats._Search, "take", lambda self, found: rounds.append(0) or take(self, found)
    )
    assert len(found(many, params(1)[0], X)) > 20
    assert len(rounds) < 20


# --- that it computes the same


@pytest.mark.parametrize("fun", [forward, step], ids=["forward", "step"])
def test_operation_by_operation_every_bit_is_kept(fun: Any) -> None:
    assert blocks(assert_same_operations(fun, params(5), X))


def test_compiled_values_agree() -> None:
    assert_close(forward, params(6), X)
    assert_close(step, params(6), X)


_UNARY = ("tanh", "sin", "abs", "exp2", "square", "floor")


@st.composite
def networks(draw: Any) -> Any:
    """A layer of random operations, how often it is repeated, and what is between."""
    names = (*_UNARY, "dot", "mix", "mask", "sum", "aside", "shared", "turned", "several")
    ops = draw(st.lists(st.sampled_from(names), min_size=4, max_size=14))
    layers = draw(st.integers(3, 7))
    between = draw(st.sampled_from(("nothing", "constant", "every second", "skip")))
    derived = draw(st.booleans())

    def fun(ws: Any, x: Any) -> Any:
        first, side, shared = x, x * 0.5, jnp.exp(x * 0.1)
        for i, w in enumerate(ws):
            y = x
            for op in ops:
                if op == "dot":
                    y = y @ w
                elif op == "aside":
                    side = side + (y * 2.0 + 1.0)
                elif op == "shared":
                    y = y * jnp.cos(shared) + side * 0.01
                elif op == "turned":
                    y = (y.T @ w).T
                elif op == "several":
                    y = (y + 1.0) * y - jnp.maximum(y, 0.1)
                elif op == "mix":
                    y = y * 0.5 + x
                elif op == "mask":
                    y = jnp.where(jnp.tril(jnp.ones(y.shape, bool)), y, 0.25)
                elif op == "sum":
                    y = y - jnp.sum(y, axis=1, keepdims=True) / 16
                else:
                    y = getattr(jnp, op)(y)
            x = y @ w * 0.5
            if between == "constant":
                x = x * (i + 1.0)
            elif between == "every second" and i % 2:
                x = jnp.cos(x)
            elif between == "skip":
                x = x + first
        return x + side

    if not derived:
        return fun, layers
    return (lambda ws, x: ox.grad(lambda ws: jnp.sum(jnp.tanh(fun(ws, x))))(ws)), layers


@settings(max_examples=100, deadline=None)
@given(networks())
def test_random_networks_keep_every_bit(drawn: Any) -> None:
    fun, layers = drawn
    rng = np.random.default_rng(1)
    ws = [(rng.standard_normal((6, 6)) / 3).astype(np.float32) for _ in range(layers)]
    x = rng.standard_normal((6, 6)).astype(np.float32)
    assert_same_operations(fun, ws, x)


def test_a_value_is_stored_or_made_again_and_never_both() -> None:
    """The values that a derivative reads are chains of cheap operations of several lengths."""

    def other(w: Any, x: Any) -> Any:
        y = (x + 1.0) * x - jnp.maximum(x, 0.1)
        y = y - jnp.sum(y, axis=1, keepdims=True) / 16
        return ((jnp.tanh(jnp.exp(-y * y)).T @ w).T) @ w * 0.5

    def network(ws: Any, x: Any) -> Any:
        first, side, shared = x, x * 0.5, jnp.exp(x * 0.1)

        def wave(w: Any, x: Any) -> Any:
            y = jnp.sin(x) * jnp.cos(shared) + side * 0.01
            y = jnp.tanh(jnp.sin(y))
            y = jnp.exp(-y * y) * jnp.cos(shared) + side * 0.01
            y = y @ w
            y = jnp.exp(-y * y)
            return ((y + 1.0) * y - jnp.maximum(y, 0.1)) @ w * 0.5

        kept = []
        for i, (w, layer) in enumerate(zip(ws, (wave, other, other, *[wave] * 4), strict=True)):
            x = layer(w, x)
            kept += [x] if i == 3 else []
            x = jnp.cos(x) if i == 5 else x
        return sum(jnp.sum(jnp.tanh(y)) for y in (x + first, *kept, side))

    ws = [p["q"] for p in params(7)]
    assert blocks(assert_same_operations(ox.grad(network), ws, X.T @ X))


def _internals(ps: Any, x: Any) -> Any:
    kept = []
    for p in ps:
        y = layer(p, x)
        x = layer(p, y)
        kept += [y, x]
    return kept[::3], kept[1], kept[1], x


def _keys(ps: Any, x: Any) -> Any:
    key = ox.random.key(1)
    for i, p in enumerate(ps):
        key, sub = ox.random.split(key)
        x = layer(p, x) * ox.random.bernoulli(sub, 0.9, x.shape)
        x = x + ox.random.normal(ox.random.fold_in(key, i), x.shape) * 0.1
    return x


def _integers(ps: Any, x: Any) -> Any:
    n = (x * 100).astype("int32")
    for p in ps:
        w = (p["q"] * 10).astype("int32")
        for _ in range(8):
            n = jnp.where(n % 3 == 0, n // 2, n * 3 + 1) & 0xFFFF
        n = (n @ w) % 1000
    return n


def _empty(ps: Any, x: Any) -> Any:
    return forward(ps, x[:0]), forward(ps, x)


def _barrier(ps: Any, x: Any) -> Any:
    for p in ps:
        x = ox.lax.optimization_barrier(layer(p, x))
    return x


def _branches(ps: Any, x: Any) -> Any:
    return ox.lax.cond(x[0, 0] > 0, lambda x: forward(ps, x), lambda x: forward(ps[::-1], x), x)


def _irregular(ps: Any, x: Any) -> Any:
    for i, p in zip((0, 1, 1, 0, 0, 1, 0, 1, 1, 0), ps * 2, strict=True):
        x = layer(p, x) if i else jnp.sin(ox.nn.softmax(x @ p["k"])) @ p["v"] + ox.nn.gelu(x)
    return x


@pytest.mark.parametrize(
    "fun", [_internals, _keys, _integers, _empty, _barrier, _branches, _irregular]
)
def test_programs_of_many_kinds_agree(fun: Any) -> None:
    assert blocks(assert_same_operations(fun, params(5), X))
    assert_close(fun, params(5), X)


def test_donated_arguments_are_donated() -> None:
    made = ox.jit(step, donate_argnums=0).trace(params(5), X).lower().compile()
    assert "may-alias" in made.as_text() or "must-alias" in made.as_text()
    held = ox.tree.map(ox.device_put, params(5))
    _, after = made(held, X)
    assert all(x.is_deleted() for x in ox.tree.leaves(held))
    want = ox.jit(step).trace(params(5), X).lower(repeats="off").compile()(params(5), X)[1]
    for a, b in zip(ox.tree.leaves(after), ox.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_threads_share_a_program_with_blocks() -> None:
    made = ox.jit(step).trace(params(5), X).lower().compile()
    want = float(made(params(5), X)[0])
    got: list[float] = []
    threads = [
        threading.Thread(target=lambda: got.append(float(made(params(5), X)[0]))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 8


# --- what the compiler gets


def test_kept_calls_survive_in_the_optimized_program() -> None:
    lowered = ox.jit(step).trace(params(6), X).lower()
    calls = sum(b.occurrences for b in lowered.blocks)
    assert calls >= 10
    assert lowered.as_text().count('inlineable = "false"') == calls
    optimized = lowered.compile().as_text()
    kept = [line for line in optimized.splitlines() if 'inlineable="false"' in line]
    assert sum(" call(" in line for line in kept) == calls


def test_the_portable_program_keeps_them() -> None:
    lowered = ox.jit(forward).trace(params(6), X).lower()
    with mlir.context():
        module = mlir.hlo.deserialize_portable_artifact(mlir.context(), lowered.bytecode())
        assert str(module).count('inlineable = "false"') == 6
    made = xla.compile(lowered.bytecode(), ox.Target("cpu"))
    assert made.hlo_text(metadata=False).count(" call(") >= 6


@pytest.mark.parametrize("target", [("gpu", "h200"), ("tpu", None)])
def test_other_targets_get_the_program_as_it_is(target: Any) -> None:
    traced = ox.jit(forward).trace(params(6), X)
    lowered = traced.lower(ox.Target(*target))
    assert lowered.blocks == ()
    assert lowered.as_text() == traced.lower(ox.Target(*target), repeats="off").as_text()
    assert "call" not in lowered.as_text()


def test_a_program_for_several_platforms_has_none() -> None:
    traced = ox.jit(forward).trace(params(6), X)
    both = traced.lower(lowering_platforms=("cpu", "cuda"))
    assert both.blocks == ()
    assert "inlineable" not in both.compile(repeats="auto").as_text()
    assert len(traced.lower(lowering_platforms="cpu").blocks) == 1


def test_repeats_is_an_argument_of_lower_and_of_compile() -> None:
    lowered = ox.jit(forward).lower(params(6), X)
    assert len(lowered.blocks) == 1
    assert " call(" in lowered.compile().as_text()
    assert "inlineable" not in lowered.compile(repeats="off").as_text()
    off = ox.jit(forward).trace(params(6), X).lower(repeats="off")
    assert off.blocks == ()
    assert "inlineable" in off.compile(repeats="auto").as_text()
    for call in (ox.jit(forward).trace(params(6), X).lower, lowered.compile):
        with pytest.raises(UsageError, match='repeats is "auto" or "off", and got \'on\''):
            call(repeats="on")  # type: ignore[arg-type]


def test_donations_are_told_once() -> None:
    def halves(ps: Any, x: Any) -> Any:
        return forward(ps, x)[:2]

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lowered = ox.jit(halves, donate_argnums=1).trace(params(5), X).lower()
        lowered.compile(repeats="off")
        lowered.compile()
    assert [str(w.message)[:27] for w in told] == ["Some donated buffers were n"]


def test_a_function_called_at_once_has_blocks_too() -> None:
    called = ox.jit(forward)
    np.testing.assert_allclose(
        called(params(6), X),
        called.trace(params(6), X).lower(repeats="off").compile()(params(6), X),
        rtol=2e-5,
        atol=2e-5,
    )


def test_a_compiler_that_drops_the_attribute_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert inlining.keeps_calls()
    monkeypatch.setattr(compiling.xla, "keeps_calls", lambda: False)
    traced = ox.jit(forward).trace(params(6), X)
    with pytest.warns(OlympusWarning, match="does not keep the repeated blocks"):
        lowered = traced.lower()
    assert lowered.blocks == ()
    assert lowered.as_text() == traced.lower(repeats="off").as_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there is nothing to tell of a program without blocks
        ox.jit(lambda x: x + 1).trace(X).lower()


def test_the_probe_of_the_compiler_says_no(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlining, "_PROBE", inlining._PROBE.replace("false", "true"))
    assert not inlining.keeps_calls.__wrapped__()


def test_a_block_is_written_where_it_comes_first() -> None:
    text = str(ox.jit(forward).trace(params(6), X).lower().olympuspr)
    assert text.count("name=block_1") == 6
    assert text.count("olympuspr={") == 1


def test_lines_are_those_of_the_first_occurrence() -> None:
    def unrolled(ps: Any, x: Any) -> Any:
        x = layer(ps[0], x) + 1.0
        x = layer(ps[1], x) + 1.0
        x = layer(ps[2], x) + 1.0
        return layer(ps[3], x) + 1.0

    (block,) = found(unrolled, params(4), X)
    here = {int(x.rpartition(":")[2]) for x in block.lines if "test_outline.py" in x}
    start = unrolled.__code__.co_firstlineno
    assert here & set(range(start, start + 5)) == {start + 1}


PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from tests.core.test_outline import X, ox, params, step
lowered = ox.jit(step).trace(params(6), X).lower()
print(lowered.olympuspr)
print(lowered.as_text())
"""


def test_names_and_order_do_not_depend_on_the_process() -> None:
    texts = set()
    for seed in ("0", "7"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(root=str(ROOT))],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        texts.add(done.stdout)
    assert len(texts) == 1
    assert "block_2" in texts.pop()


def test_what_a_trace_gives_has_no_blocks() -> None:
    assert "block" not in str(ox.jit(forward).trace(params(6), X).olympuspr)


def test_long_chains_of_cheap_equations_are_no_trouble() -> None:
    def chain(ws: Any, x: Any) -> Any:
        total = jnp.ones((6, 6))
        for _ in range(3000):
            total = total * 1.001 + 0.5
        for w in ws:
            y = x
            for _ in range(600):
                y = y * 1.0001 + x
            x = jnp.tanh(y @ w + total)
        return x

    ws = [np.eye(6, dtype=np.float32)] * 4
    ws = [w * (i + 1) for i, w in enumerate(ws)]
    x = np.ones((6, 6), np.float32)
    (block,) = found(chain, ws, x)
    assert block.occurrences == 4
    assert len(block.program.eqns) < 1400
    assert found(ox.grad(lambda ws, x: jnp.sum(chain(ws, x))), ws, x)
