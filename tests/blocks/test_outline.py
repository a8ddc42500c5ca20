"""Repeated blocks: what is found in a program, and what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus_core.blocks import repeats
from olympus_core.blocks.outline import outline
from olympus_core.blocks.repeats import Thresholds
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Literal
from tests.blocks.networks import (
    EVERY,
    WIDTH,
    X,
    assert_close,
    assert_same_operations,
    forward,
    found,
    layer,
    norm,
    params,
    step,
    traced,
)

jnp = ox.numpy


def test_layers_of_a_loop_are_one_block() -> None:
    (block,) = found(forward, params(6), X)
    assert (block.name, block.occurrences) == ("block_1", 6)
    assert block.equations >= 16
    here = "networks.py"
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

    (block,) = found(towers, params(5), X, thresholds=EVERY)
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

    (block,) = found(apart, params(6), X, thresholds=EVERY)
    assert block.occurrences == 6


def test_a_block_includes_the_first_layer_that_computes_shared_values() -> None:
    def masked(ps: Any, x: Any, keep: Any) -> Any:
        for p in ps:
            x = layer(p, x, 1.0 - jnp.sqrt(keep))
        return x

    (block,) = found(masked, params(5), X, np.ones(5, np.float32))
    assert block.occurrences == 5
    assert_same_operations(masked, params(5), X, np.ones(5, np.float32))


def test_a_block_includes_the_first_layer_that_computes_shared_values_inside() -> None:
    """Cuts before and after the attention cost the same; one has the first layer whole."""

    def attended(p: Any, x: Any, bias: Any) -> Any:
        h = norm(x)
        scores = (h @ p["q"]) @ (h @ p["k"]).T + jnp.sqrt(bias)
        x = x + ox.nn.softmax(scores, axis=-1) @ (h @ p["v"])
        return x + ox.nn.gelu(norm(x) @ p["in"]) @ p["out"]

    def network(ps: Any, x: Any, bias: Any) -> Any:
        x = jnp.tanh(x)
        for p in ps:
            x = attended(p, x, bias)
        return x

    (block,) = found(network, params(6), X, np.ones((5, 5), np.float32))
    assert block.occurrences == 6


def test_a_layer_of_another_width_ends_a_block() -> None:
    def widths(ps: Any, qs: Any, x: Any) -> Any:
        y = forward(ps, x)
        return forward(qs, jnp.concatenate([y, y], axis=1))

    first, second = found(widths, params(4), params(4, 2 * WIDTH), X)
    assert (first.occurrences, second.occurrences) == (4, 4)


def test_literals_distinguish_blocks() -> None:
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


def test_a_function_under_jit_with_many_calls_remains_a_function() -> None:
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
    assert found(ox.grad(lambda ws, x: jnp.sum(chain(ws, x))), ws, x, thresholds=EVERY)


def test_a_program_of_few_like_products_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(*_: Any) -> Any:
        raise AssertionError("it was searched")

    def few(ps: Any, x: Any) -> Any:
        for p in ps:
            x = jnp.tanh(jnp.sin(x) @ p["q"])
        return x

    monkeypatch.setattr("olympus_core.blocks.outline.Flow", searched)
    assert found(few, params(3), X) == ()
    with pytest.raises(AssertionError, match="searched"):
        found(few, params(4), X)
