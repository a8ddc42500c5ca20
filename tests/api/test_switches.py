"""The switches for debugging: each is on in its context and thread, and off again after."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterator

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ConcretizationTypeError, NaNError, UnexpectedTracerError

XS = np.arange(4, dtype=np.float32)


# disable_jit


def test_disable_jit_runs_functions_as_python():
    kinds = []

    @olympus.jit
    def f(x):
        kinds.append(isinstance(x, (np.ndarray, float)))
        return x + 1

    with olympus.disable_jit():
        assert float(f(1.0)) == 2.0
        with olympus.disable_jit(False):
            f(1.0)
    f(1.0)
    assert kinds == [True, False]  # the program of the inner call is kept for the last


def test_disable_jit_runs_control_flow_as_python():
    seen = []

    def see(x):
        seen.append(float(x))
        return x

    with olympus.disable_jit():
        end, ys = lax.scan(lambda c, x: (see(c) + x, 2 * x), 0.0, XS)
        np.testing.assert_array_equal(ys, 2 * XS)
        assert (float(end), seen) == (6.0, [0.0, 0.0, 1.0, 3.0])
        _, ys = lax.scan(lambda c, x: (c + x, c), 0.0, XS, reverse=True)
        np.testing.assert_array_equal(ys, [6.0, 5.0, 3.0, 0.0])
        seen.clear()
        assert float(lax.while_loop(lambda v: v < 5, lambda v: see(v) * 2, 2.0)) == 8.0
        assert float(lax.fori_loop(0, 2, lambda i, v: see(v) + i, 1.0)) == 2.0
        assert float(lax.cond(True, see, lambda v: -v, 9.0)) == 9.0
        assert float(lax.switch(7, [lambda v: v, see], 3.0)) == 3.0
        assert seen == [2.0, 4.0, 1.0, 1.0, 9.0, 3.0]


def test_disable_jit_runs_loops_as_python_where_the_process_has_references():
    total, seen = olympus.new_ref(0.0), []

    def step(c, x):
        seen.append(float(x))
        total[...] += x
        return c + x, c

    with olympus.disable_jit():
        lax.scan(step, 0.0, XS)
        assert float(total[...]) == sum(seen) == float(XS.sum())
        end = lax.while_loop(lambda v: v < 5, lambda v: 2 * float(step(v, 1.0)[0]), 1.0)
        assert (float(end), float(total[...])) == (10.0, float(XS.sum()) + 2)


def test_disable_jit_leaves_to_tracing_what_traced_values_decide():
    with olympus.disable_jit():
        got = olympus.vmap(lambda x: lax.while_loop(lambda v: v < 5, lambda v: v * 2, x))(XS + 1)
        np.testing.assert_array_equal(got, [8, 8, 6, 8])
        got = olympus.vmap(lambda x: lax.cond(x > 1, lambda v: v, lambda v: -v, x))(XS)
        np.testing.assert_array_equal(got, [0, -1, 2, 3])
        with pytest.raises(ValueError, match="zero-length scan is not supported in disable_jit"):
            lax.scan(lambda c, x: (c, x + 1), 0.0, XS[:0])


# debug_nans


def root(x):
    y = x - 2
    return jnp.sqrt(y).sum()  # the line of the NaN


def find(fun, *args):
    with olympus.debug_nans(), pytest.raises(NaNError) as caught:
        fun(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        olympus.jit,
        olympus.grad,
        lambda f: olympus.jit(olympus.jit(olympus.grad(f))),
        lambda f: lambda x: olympus.vmap(f)(x[None]),
        olympus.checkpoint,
    ],
)
def test_debug_nans_names_the_primitive_and_the_line(transform):
    message = find(transform(root), XS)
    assert message.startswith("'sqrt' gave a NaN, at ")
    assert "invalid value (nan) encountered in sqrt" in message  # as in JAX
    assert "return jnp.sqrt(y).sum()  # the line of the NaN" in message
    assert __file__ in message


@pytest.mark.parametrize(
    "loop",
    [
        lambda f, x: lax.scan(lambda c, v: (c, f(v - c)), 0.0, x)[1],
        lambda f, x: lax.scan(lambda c, v: (f(c), v), x, None, length=3)[0],
        lambda f, x: lax.while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, f(v[1])), (0, x))[1],
        lambda f, x: lax.cond(True, lambda v: v, f, f(x)),
    ],
)
def test_debug_nans_looks_into_loops(loop):
    message = find(olympus.jit(lambda x: loop(lambda v: jnp.log(v - 1), x)), XS)
    assert message.startswith("'log' gave a NaN")


def test_debug_nans_names_the_line_of_this_call():
    with np.errstate(all="ignore"):
        jnp.var(jnp.array([1.0, 2.0]))  # staged for another line
    message = find(lambda: jnp.var(jnp.array([np.inf, 2.0])))
    assert "find(lambda: jnp.var(" in message


def test_debug_nans_reports_an_operand_with_a_nan():
    assert "which had one already" in find(lambda: jnp.sin(np.float32(np.nan)))


def test_debug_nans_finds_it_where_arguments_are_donated():
    x = jnp.asarray(XS)
    message = find(olympus.jit(lambda x: jnp.log(x - 100), donate_argnums=0), x)
    assert message.startswith("'log' gave a NaN")
    assert not x.is_deleted()


def test_debug_nans_passes_what_has_none():
    with olympus.debug_nans():
        assert float(olympus.jit(root)(XS + 3)) == pytest.approx(sum(np.sqrt(XS + 1)))
        assert np.isinf(jnp.log(0.0))
        assert int(jnp.int32(3)) == 3
    assert np.isnan(root(XS))


# ensure_compile_time_eval


def test_operations_on_known_values_run_while_tracing():
    @olympus.jit
    def f(x):
        with olympus.ensure_compile_time_eval():
            n = int(jnp.sqrt(jnp.float32(4.0)) + 1)
            y = x + 1
        return y[:n]

    program = olympus.make_olympuspr(f.fun)(XS)
    assert [e.primitive.name for e in program.eqns] == ["add", "slice"]
    np.testing.assert_array_equal(f(XS), [1, 2, 3])
    got = olympus.vmap(olympus.grad(lambda x: f(x).sum()))(XS[None])
    np.testing.assert_array_equal(got, [[1, 1, 1, 0]])


def test_a_traced_value_stays_traced_at_compile_time():
    @olympus.jit
    def f(x):
        with olympus.ensure_compile_time_eval():
            return int(x + 1)

    with pytest.raises(ConcretizationTypeError, match="the result of 'add' in 'f'"):
        f(1)


# leaks


@pytest.fixture(scope="module")
def few_objects() -> Iterator[None]:
    """Leave what there is to no collection: each check of leaks goes through all objects else."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize(
    ("transform", "what"),
    [
        (olympus.jit, "'keep'"),
        (olympus.grad, "grad of 'keep'"),
        (olympus.vmap, "vmap of 'keep'"),
        (lambda f: lambda x: olympus.jvp(f, (x,), (x,)), "jvp of 'keep'"),
        (lambda f: lambda x: olympus.vjp(f, x), "vjp of 'keep'"),
        (lambda f: lambda x: lax.scan(lambda c, v: (c, f(v)), 0.0, x), "the body of scan"),
    ],
)
def test_checking_leaks_finds_who_keeps_a_tracer(transform, what):
    leaked = []

    def keep(x):
        leaked.append(jnp.cos(x))  # the line that made it
        return jnp.sin(x).sum()

    message = ""
    with olympus.checking_leaks():
        try:
            transform(keep)(XS)
        except UnexpectedTracerError as e:
            message = str(e)
    assert "is still referenced after" in message and what in message
    assert "leaked.append(jnp.cos(x))  # the line that made it" in message
    leaked.clear()
    with olympus.check_tracer_leaks():
        transform(lambda x: jnp.sin(x).sum())(XS)
    transform(keep)(XS)  # off again


# log_compiles


def test_log_compiles(caplog):
    def tripled(x):
        return x * 3.14159

    with caplog.at_level(logging.WARNING, "olympus"):
        olympus.jit(tripled)(XS)
        assert not caplog.records
        with olympus.log_compiles():
            olympus.jit(lambda x: tripled(x) + 1)(XS)
            olympus.jit(tripled).lower(XS[:2]).compile()
    messages = [r.getMessage() for r in caplog.records]
    assert messages[0] == "Compiling jit(<lambda>) with global shapes and types (float32[4])"
    assert messages[1].startswith("Finished XLA compilation of jit(<lambda>) in ")
    assert "Compiling jit(tripled) with global shapes and types (float32[2])" in messages


# all of them


@pytest.mark.parametrize(
    ("switch", "name"),
    [
        (olympus.disable_jit, "disable_jit"),
        (olympus.debug_nans, "debug_nans"),
        (olympus.check_tracer_leaks, "check_tracer_leaks"),
        (olympus.log_compiles, "log_compiles"),
    ],
)
def test_a_switch_is_the_threads_own(switch, name):
    from olympus_core.base.context import state

    other = []
    with switch():
        assert getattr(state, name)
        thread = threading.Thread(target=lambda: other.append(getattr(state, name)))
        thread.start()
        thread.join()
        with switch(False):
            assert not getattr(state, name)
    assert not getattr(state, name)
    assert other == [False]


# keys


@pytest.mark.parametrize(
    "impl", ["threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32"]
)
def test_default_prng_impl_selects_the_keys_of_the_context(impl):
    def of(ox):
        with ox.default_prng_impl(impl):
            raw = ox.random.PRNGKey(3)
            halves = ox.random.key_data(ox.random.split(ox.random.key(3)))
            kinds = [str(ox.random.key(0).dtype), str(ox.random.key_impl(raw))]
            return raw, ox.random.wrap_key_data(raw).shape, halves, ox.random.split(raw), kinds

    for mine, theirs in zip(of(olympus), of(jax), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    staged = olympus.jit(lambda: olympus.random.PRNGKey(1))
    before = staged().shape
    with olympus.default_prng_impl(impl):
        assert staged().shape == olympus.random.PRNGKey(1).shape  # traced again
    assert before == staged().shape == (2,)


@pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
def test_enable_custom_prng_makes_typed_keys(ox):
    assert ox.random.PRNGKey(0).dtype == np.uint32
    with ox.enable_custom_prng():
        assert ox.random.PRNGKey(0).dtype == ox.random.key(0).dtype
        assert ox.random.split(ox.random.PRNGKey(0)).shape == (2,)


@pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
def test_legacy_prng_key_refuses_raw_keys(ox):
    raw = ox.random.PRNGKey(0)
    calls = [ox.random.uniform, ox.random.split, ox.random.key_data, ox.random.key_impl]
    for call in calls:
        with ox.legacy_prng_key("error"):
            call(ox.random.key(0))
            with pytest.raises(ValueError, match="egacy uint32 key array"):
                call(raw)
        with ox.legacy_prng_key("warn"), pytest.warns(UserWarning, match="egacy uint32 key"):
            call(raw)
    with ox.legacy_prng_key("error"):
        assert ox.random.wrap_key_data(raw).shape == ()
    for context in (ox.legacy_prng_key, ox.default_prng_impl):
        with pytest.raises(ValueError), context("some"):
            pass


@pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
def test_a_context_of_the_program_traces_functions_again(ox):
    scale, other = ox.make_user_context(1), ox.make_user_context()
    traced = []

    @ox.jit
    def f(x):
        traced.append(scale.value)
        return x * scale.value

    assert (float(f(2.0)), scale.value, other.value) == (2.0, 1, None)
    with scale(3), other("x"):
        assert (float(f(2.0)), scale.value, other.value) == (6.0, 3, "x")
        with scale(1), other(None):
            assert float(f(2.0)) == 2.0
    assert traced == [1, 3]


def test_the_value_of_a_context_has_a_hash():
    with pytest.raises(TypeError, match="unhashable"):
        olympus.make_user_context()([])


# closure_convert, and looking around


def test_closure_convert_makes_arguments_of_what_is_differentiated():
    def f(scale, x):
        def inner(v):
            return jnp.sin(v * scale) + XS.sum()

        converted, consts = olympus.closure_convert(inner, x)
        assert len(consts) == 1 and consts[0] is scale
        return converted(x, *consts)

    assert float(olympus.grad(f)(2.0, 3.0)) == pytest.approx(3 * np.cos(6.0), rel=1e-5)
    assert float(olympus.jit(f)(2.0, 3.0)) == pytest.approx(np.sin(6.0) + 6, rel=1e-5)


def test_closure_convert_leaves_what_has_no_derivative():
    steps = jnp.arange(3)
    converted, consts = olympus.closure_convert(lambda t: {"y": t["x"] + steps}, {"x": 1.0})
    assert consts == []
    np.testing.assert_array_equal(converted({"x": 2.0})["y"], [2, 3, 4])
    with pytest.raises(TypeError, match="must have the same Pytree structure"):
        converted([2.0])


def test_live_arrays():
    before = len(olympus.live_arrays())
    x = jnp.array([1.0, 2.0]) + 1
    assert any(y is x for y in olympus.live_arrays("cpu"))
    assert olympus.live_arrays("tpu") == []
    x.delete()
    assert not any(y is x for y in olympus.live_arrays())
    assert len(olympus.live_arrays()) <= before + 1


def test_print_environment_info(capsys):
    text = olympus.print_environment_info(return_string=True)
    assert f"olympus:   {olympus.__version__}" in text and "jaxlib:" in text
    assert olympus.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"


def test_names_by_which_programs_move_over():
    own, jaxpr = (make(abs)(1.0) for make in (olympus.make_olympuspr, olympus.make_jaxpr))
    assert str(own.jaxpr) == str(jaxpr) != str(own)
    assert olympus.float0 == np.dtype([("float0", "V")])
    with olympus.default_matmul_precision("highest"):
        assert "HIGHEST" in str(olympus.jit(jnp.matmul).lower(XS, XS).as_text())
