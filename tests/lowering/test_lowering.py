"""Lowering and its simplification: functions, constants, dead code, locations, donation."""

from __future__ import annotations

import re

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_core.base.errors import LoweringError, UsageError
from olympus_core.lowering.entry import EntryAttributes
from olympus_core.lowering.whole_module import lower_module

X = np.arange(4.0, dtype=np.float32)


def text(f, *args, **options):
    return olympus.jit(f, **options).trace(*args).lower().as_text()


def test_a_nested_jit_is_one_function_however_often_it_is_called():
    @olympus.jit
    def block(x, w):
        return jnp.tanh(x * w)

    def f(x):
        for _ in range(5):
            x = block(x, x)
        return x

    module = text(f, X)
    assert module.count("func.func private @block") == 1
    assert module.count("call @block") == 5


def test_equal_programs_of_different_functions_share_one():
    def f(x):
        return sum(olympus.jit(lambda v: jnp.sin(v) * 2)(x) for _ in range(3))

    assert text(f, X).count("func.func private") == 1


def test_functions_of_other_types_are_others():
    block = olympus.jit(lambda v: v * 2)
    module = text(lambda x: (block(x), block(x[:2])), X)
    assert module.count("func.func private") == 2


def test_dead_code_is_dropped_in_nested_functions_too():
    inner = olympus.jit(lambda x: (jnp.sin(x), jnp.exp(x)))
    module = text(lambda x: (inner(x)[0], jnp.cos(x))[0], X)
    assert "sine" in module
    assert "exponential" not in module
    assert "cosine" not in module


def test_repetitions_are_computed_once():
    module = text(lambda x: jnp.sin(x) + jnp.sin(x) * jnp.sin(x), X)
    assert module.count("stablehlo.sine") == 1


def test_zero_and_minus_zero_are_not_the_same_constant():
    out = olympus.jit(lambda x: (x * 0.0, x * -0.0))(X + 1)
    assert not np.signbit(np.asarray(out[0])).any()
    assert np.signbit(np.asarray(out[1])).all()
    weak = olympus.jit(lambda x: (olympus.lax.mul(x, 0.0), olympus.lax.mul(x, -0.0)))(2.0)
    assert [bool(np.signbit(x)) for x in weak] == [False, True]


def test_a_scalar_constant_is_emitted_once_at_the_shape_it_has():
    module = text(lambda x: (x + 2.0) * (x - 2.0), X)
    assert module.count("stablehlo.constant") == 1
    assert "broadcast_in_dim" not in module


def test_constants_that_the_function_closes_over():
    table = np.array([3.0, 1.0, 2.0, 0.0], np.float32)
    compiled = olympus.jit(lambda x: x * table).lower(X).compile()
    np.testing.assert_array_equal(np.asarray(compiled(X)), X * table)


def test_locations_survive_transformations():
    def f(x):
        with olympus.named_scope("inner"):
            return jnp.sin(x).sum()

    step = olympus.jit(olympus.grad(lambda x: olympus.vmap(f)(x).sum()))
    module = step.lower(np.ones((2, 3), np.float32)).as_text(debug_info=True)
    assert re.search(r'loc\("transpose\(jit_<lambda>\)/inner/mul"', module)
    assert __file__ in module


def test_donated_arguments_of_one_type_are_aliased_in_order():
    module = text(lambda a, b: (a + 1, b * 2), X, X, donate_argnums=(0, 1))
    (main,) = re.findall(r"func.func public @main\((.*)\) ->", module)
    assert re.findall(r"aliasing_output = (\d)", main) == ["0", "1"]


def test_donated_arguments_are_aliased_to_results_of_their_type():
    def f(a, b):
        return b + 1, a.sum()

    lowered = olympus.jit(f, donate_argnames=("b",)).lower(X, X)
    assert "tf.aliasing_output = 0" in lowered.as_text()
    assert lowered.donate_argnums == (1,)
    assert lowered.args_info[0][1].donated
    array = jnp.asarray(X)
    compiled = lowered.compile()
    compiled(X, array)
    assert array.is_deleted()


def test_a_direct_call_donates_what_a_compiled_one_does():
    step = olympus.jit(lambda state, x: (state + x, x.sum()), donate_argnums=0)
    state, x = jnp.asarray(X), jnp.asarray(X)
    first, _ = step(state, x)
    assert np.array_equal(first, X + X)
    assert state.is_deleted()
    assert not x.is_deleted()
    with pytest.raises(UsageError, match="deleted or donated"):
        step(state, x)


def test_nothing_is_donated_within_a_transformation():
    step = olympus.jit(lambda state, x: state + x, donate_argnums=0)
    state, x = jnp.asarray(X), jnp.asarray(X)
    olympus.grad(lambda s: step(s, x).sum())(state)
    olympus.vmap(step)(state, x)
    olympus.jit(step)(state, x)
    assert not state.is_deleted()


def test_results_are_named_by_their_path():
    module = text(lambda x: {"a": x, "b": (x, [x])}, X)
    for path in ("result['a']", "result['b'][0]", "result['b'][1][0]"):
        assert f'olympus.result_info = "{path}"' in module


def test_bytecode_is_portable_and_leaves_the_program_as_it_is():
    lowered = olympus.jit(lambda x: jnp.sin(x)).lower(X)
    before = lowered.as_text()
    assert lowered.bytecode().startswith(b"ML\xefR")
    assert lowered.as_text() == before
    np.testing.assert_allclose(np.asarray(lowered.compile()(X)), np.sin(X), rtol=1e-6)


def test_other_dialects():
    lowered = olympus.jit(lambda x: jnp.sin(x)).lower(X)
    assert "HloModule" in lowered.as_text("hlo")
    assert lowered.as_text("dot").startswith("digraph")
    with pytest.raises(
        olympus.errors.UsageError, match="unknown dialect: as_text needs stablehlo, hlo or dot"
    ):
        lowered.as_text("mhlo")


def test_a_program_that_closes_over_a_tracer_cannot_be_lowered():
    def f(x):
        olympus.jit(lambda y: x * y).trace(X).lower()

    with pytest.raises(LoweringError, match=r"closes over a traced array.*argument 'x'"):
        olympus.jit(f).trace(X)


def test_the_gpu_target_is_lowered_for_its_platform():
    target = olympus.target("gpu", "h200")
    lowered = olympus.jit(lambda x: x @ x).trace(np.ones((2, 2), np.float32)).lower(target)
    assert lowered.target.device == "h200"


def test_lower_module_takes_any_program():
    program = olympus.jit(lambda x: x).trace(X).olympuspr
    assert "return %arg0" in str(lower_module(program, EntryAttributes("f")))


def test_symbols_never_collide():
    def named(name, factor):
        def function(x):
            return x * factor

        function.__name__ = name
        return olympus.jit(function)

    parts = [named(*pair) for pair in (("f", 2.0), ("f", 3.0), ("f_0", 4.0), ("main", 5.0))]
    total = olympus.jit(lambda x: sum(part(x) for part in parts))
    assert float(total(1.0)) == 14.0
    assert len(set(re.findall(r"func\.func \w+ @(\S+)\(", total.lower(1.0).as_text()))) == 5


def test_shared_programs_are_lowered_once_however_many_ways_lead_to_them():
    function = olympus.jit(lambda x: x * 2.0)
    for _ in range(40):
        function = olympus.jit(lambda x, inner=function: inner(x) + inner(x + 1.0))
    text = function.lower(1.0).as_text()
    assert text.count("func.func private") == 40
