"""jit: arguments by position and name, statics, caches; and the mistakes users make."""

from __future__ import annotations

import copy
import functools

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import (
    ConcretizationTypeError,
    ShapeError,
    UnexpectedTracerError,
    UsageError,
)

X = np.arange(3.0, dtype=np.float32)


def test_it_traces_once_for_each_kind_of_arguments():
    traced = []

    @olympus.jit
    def f(x, y=1.0):
        traced.append(x.shape)
        return x * y

    f(X), f(X + 1), f(X, y=2.0), f(X[:2]), f(X[:2])
    assert traced == [(3,), (3,), (2,)]
    olympus.clear_caches()
    f(X)
    assert len(traced) == 4


def test_statics_by_position_and_name():
    @functools.partial(olympus.jit, static_argnames=("n",), static_argnums=0)
    def f(how, x, n=2):
        return x * n if how == "times" else x + n

    np.testing.assert_array_equal(np.asarray(f("times", X, n=3)), X * 3)
    np.testing.assert_array_equal(np.asarray(f("plus", X, 5)), X + 5)
    assert f("plus", X, True).dtype == np.float32


def test_negative_positions_count_from_the_last_argument_of_a_call():
    def f(*args):
        return args[0] * args[-1] if args[-1] > 2 else args[0]

    assert float(olympus.jit(f, static_argnums=-1)(2.0, 3)) == 6.0
    assert float(olympus.jit(f, static_argnums=-1)(2.0, 1.0, 1)) == 2.0
    x = jnp.ones(3)
    olympus.jit(lambda a, *rest: rest[0] + a, donate_argnums=-1)(1.0, x)
    assert x.is_deleted()


def test_equal_statics_of_other_types_are_others():
    f = olympus.jit(lambda x, n: x + n, static_argnums=1)
    assert f(1, 1).dtype == np.int32
    assert f(1, 1.0).dtype == np.float32


def test_arguments_are_named_as_in_the_signature():
    def f(params, *rest, scale):
        return params["w"] * rest[0] * scale

    traced = olympus.jit(f).trace({"w": X}, X, scale=2.0)
    assert traced.arg_names == ("params['w']", "rest[0]", "scale")
    traced = olympus.jit(f, static_argnums=1).trace({"w": X}, 1, X, scale=2.0)
    assert traced.arg_names == ("params['w']", "rest[1]", "scale")
    assert traced.result_names == ("result",)
    losses = olympus.jit(lambda x: {"loss": x, "parts": [x, x]}).trace(X)
    assert losses.result_names == ("result['loss']", "result['parts'][0]", "result['parts'][1]")


def test_methods_and_partials():
    class Model:
        @functools.partial(olympus.jit, static_argnums=0)
        def double(self, x):
            return 2 * x

    assert float(Model().double(3.0)) == 6.0
    assert olympus.jit(functools.partial(lambda a, b: a - b, 5.0)).trace(1.0).fun_name == "<lambda>"


def test_results_may_be_containers_and_scalars():
    out = olympus.jit(lambda x: {"a": (x, None, 3), "b": []})(X)
    assert out["b"] == []
    assert int(out["a"][2]) == 3


def test_eval_shape_allocates_nothing():
    huge = olympus.ShapeDtypeStruct((10**6, 10**6), "float32")
    out = olympus.eval_shape(lambda x: (x @ x, x.sum(0)), huge)
    assert out[0].shape == (10**6, 10**6)
    assert out[1].dtype == np.float32


def leak():
    leaked = []
    olympus.jit(lambda x: leaked.append(x * 2))(X)
    return leaked[0]


def test_the_error_of_a_leaked_tracer_names_its_origin():
    with pytest.raises(UnexpectedTracerError, match=r"(?s)'<lambda>'|mul") as caught:
        leak() + 1
    assert "test_calling.py" in str(caught.value)
    leaked = leak()
    with pytest.raises(UnexpectedTracerError):
        olympus.jit(lambda x: x + leaked)(X)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda x: 1 if x.sum() > 0 else 2, "truth value"),
        (lambda x: list(range(x.sum().astype(int))), "integer value"),
        (lambda x: float(x[0]), "float"),
        (lambda x: int(x[0]), "int"),
        (lambda x: np.sin(x), "NumPy value"),
        (lambda x: x[0].item(), "Python value"),
        (lambda x: x.tolist(), "Python value"),
        (lambda x: complex(x[0]), "complex"),
    ],
)
def test_the_error_of_python_that_needs_a_value_names_the_value_and_the_line(f, what):
    with pytest.raises(ConcretizationTypeError, match=what) as caught:
        olympus.jit(f)(X)
    assert "test_calling.py" in str(caught.value)
    assert caught.value.hint
    assert caught.value.location


def test_shape_errors_have_the_users_line():
    with pytest.raises(ShapeError) as caught:
        olympus.jit(lambda x, y: jnp.matmul(x, y))(X, X[:2])
    assert "test_calling.py" in (caught.value.location or "test_calling.py")


def test_arrays_print_as_users_know_them():
    assert repr(jnp.arange(3)) == "Array([0, 1, 2], dtype=int32)"
    assert repr(jnp.float32(1.5)) == "Array(1.5, dtype=float32)"
    assert repr(jnp.zeros((0, 2))) == "Array([], shape=(0, 2), dtype=float32)"
    assert f"{jnp.float32(1.25):.1f}" == "1.2"


def test_arrays_refuse_what_they_cannot_do():
    with pytest.raises(TypeError, match="at"):
        jnp.zeros(3)[0] = 1
    with pytest.raises(TypeError):
        hash(jnp.zeros(3))
    with pytest.raises(TypeError):
        len(jnp.float32(1))


def test_a_compiled_function_takes_python_scalars_again_and_again():
    add = olympus.jit(lambda x, y: x + y).lower(1.0, 2.0).compile()
    zero, nan = 0.0, float("nan")
    assert [float(add(x, 0.5)) for x in (1.5, 1.5, 2.5, 1.5)] == [2.0, 2.0, 3.0, 2.0]
    assert np.signbit(np.asarray(add(-zero, -zero)))
    assert not np.signbit(np.asarray(add(zero, zero)))
    assert np.isnan(add(nan, zero))
    assert np.isinf(add(1e300, zero))
    with pytest.raises(OverflowError):
        olympus.jit(lambda i: i).lower(1).compile()(2**40)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "bfloat16", "complex64"])
def test_a_compiled_function_takes_numpy_values_as_they_are_now(dtype):
    dtype = jnp.dtype(dtype)
    same = olympus.jit(lambda x: x).lower(dtype.type(1)).compile()
    one, many = dtype.type(1), np.zeros((), dtype)
    assert [np.asarray(same(x)) for x in (one, one, dtype.type(0))] == [1, 1, 0]
    assert np.asarray(same(many)) == 0
    many[()] = 1  # an array is read at each call, as it is then
    assert np.asarray(same(many)) == 1
    with pytest.raises(TypeError, match=r"and called with \w+\[1\]"):
        same(many.reshape(1))


def test_donated_python_scalars_are_put_anew():
    add = olympus.jit(lambda x, y: x + y, donate_argnums=0).lower(1.0, 2.0).compile()
    x = 3.0
    assert [float(add(x, x)) for _ in range(3)] == [6.0, 6.0, 6.0]


@pytest.mark.parametrize("compiled_for", [1.0, np.float32(1)])
def test_a_compiled_function_accepts_weak_and_strong_arrays(compiled_for):
    double = olympus.jit(lambda x: 2 * x).lower(compiled_for).compile()
    weak, strong = olympus.jit(lambda x: x)(3.0), jnp.asarray(np.float32(3))
    assert weak.weak_type and not strong.weak_type
    assert float(double(weak)) == float(double(strong)) == 6.0


@pytest.mark.parametrize("inline", [True, olympus.Inline.JAX_EARLY, olympus.Inline.JAX_LATE])
def test_an_inlined_function_is_no_call_where_it_is_traced(inline):
    double = olympus.jit(lambda x: 2 * x, inline=inline)
    text = str(olympus.jit(lambda x: double(x) + 1).trace(1.0).olympuspr)
    assert "jit" not in text and "mul 2.0" in text
    assert float(double(3.0)) == 6.0
    assert float(olympus.grad(lambda x: double(x) * x)(3.0)) == 12.0


@pytest.mark.parametrize("inline", [olympus.Inline.XLA_EARLY, olympus.Inline.XLA_LATE])
def test_a_call_has_the_stage_at_which_the_compiler_inlines_it(inline):
    double = olympus.jit(lambda x: 2 * x, inline=inline)
    lowered = olympus.jit(lambda x: double(x) + 1).lower(1.0)
    assert f'inlineable = "{inline.value}"' in lowered.as_text()
    assert float(lowered.compile()(3.0)) == 7.0
    assert float(double(3.0)) == 6.0
    assert float(olympus.grad(lambda x: double(x) * x)(3.0)) == 12.0
    with pytest.raises(ValueError, match="Invalid inline option: 'xla_late'"):
        olympus.jit(lambda x: x, inline="xla_late")


def test_a_deleted_array_cannot_be_read_though_it_was_before():
    x = jnp.arange(3)
    assert x.tolist() == [0, 1, 2]
    x.delete()
    with pytest.raises(UsageError, match="deleted"):
        x.tolist()


class Named:
    """A callable object whose attributes are called as the methods of what wraps it."""

    def __init__(self) -> None:
        self.trace = self.lower = self._jit = self._donated = self.defjvp = "mine"
        self.note = "kept"

    def __call__(self, x):
        return 2 * x


def test_attributes_of_a_callable_object_do_not_hide_methods():
    for wrap in (olympus.jit, olympus.pmap):
        f = wrap(Named())
        np.testing.assert_allclose(f(X), 2 * X)
        assert "stablehlo.multiply" in f.lower(X).as_text()
        assert (f.note, f.__wrapped__.trace) == ("kept", "mine")
    doubled = olympus.custom_jvp(Named())
    doubled.defjvp(lambda primals, tangents: (2 * primals[0], 3 * tangents[0]))
    assert olympus.grad(doubled)(1.0) == 3


class Numbered:
    """A callable object whose name is no string, and whose annotations are no dictionary."""

    __name__ = 3

    @property
    def __annotations__(self):
        return []

    def __call__(self, x):
        return 2 * x


@pytest.mark.parametrize(
    ("wrap", "result"),
    [
        (olympus.jit, [2, 4]),
        (olympus.checkpoint, [2, 4]),
        (olympus.named_call, [2, 4]),
        (olympus.vmap, [2, 4]),
        (lambda f: olympus.vmap(olympus.grad(f)), [2, 2]),
        (olympus.jacfwd, [[2, 0], [0, 2]]),
    ],
)
def test_a_callable_object_may_have_any_name(wrap, result):
    assert wrap(Numbered())(np.float32([1, 2])).tolist() == result


def test_a_copy_of_a_jit_is_the_jit():
    f = olympus.jit(abs)
    assert copy.copy(f)(-2) == 2 and copy.deepcopy(f) is f
    assert copy.deepcopy(jax.jit(abs))(-2) == 2


def test_axes_of_pmap_count_from_the_end():
    x = np.arange(6.0, dtype=np.float32).reshape(1, 2, 3)
    for package in (olympus, jax):
        twice = package.pmap(lambda x: (x, x * 2), in_axes=-3, out_axes=(-1, -2))(x)
        np.testing.assert_array_equal(twice[0], np.moveaxis(x, 0, -1))
        np.testing.assert_array_equal(twice[1], np.moveaxis(2 * x, 0, -2))


@pytest.mark.parametrize("package", [olympus, jax], ids=["ours", "jax"])
def test_equal_calls_of_pmap_share_their_programs(package):
    traced = []

    def twice(x):
        traced.append(x.shape)
        return 2 * x

    x = np.ones((1, 3), np.float32)
    package.pmap(twice)(x)
    package.pmap(twice)(x)
    assert len(traced) == 1
    package.pmap(twice, axis_name="i")(x)
    assert len(traced) == 2


def test_jit_of_pmap_is_a_program_too():
    share = olympus.pmap(lambda x: x / olympus.lax.psum(x, "i"), axis_name="i")
    np.testing.assert_allclose(olympus.jit(share)(X + 1), (X + 1) / (X + 1).sum())


def test_constants_of_64_bits_keep_their_type_outside_x64():
    large = np.array([2**40])

    @olympus.jit
    def f(x):
        with olympus.enable_x64(True):
            return x.astype("int64") + large

    assert f(X[:1]).tolist() == [2**40]
    assert olympus.jit(lambda x: f(x))(X[:1]).tolist() == [2**40]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64", "float64"])
def test_numpy_arguments_of_every_kind_have_the_values_of_device_arrays(dtype):
    f = olympus.jit(lambda x, y: (x, x + y))
    values = np.array([[0, 1, 1], [1, 0, 1]], np.float32).astype(jnp.dtype(dtype))
    for _ in range(3):
        for x in (
            values,
            values.T.copy().T,
            values[:, ::-1],
            values[:0],
            values[0, 1:2].reshape(()),
        ):
            for y in (x, jnp.asarray(x)):
                for mine, theirs in zip(f(x, y), f(jnp.asarray(x), jnp.asarray(x)), strict=True):
                    assert mine.aval is theirs.aval
                    np.testing.assert_array_equal(mine, theirs)


def test_a_call_keeps_the_values_that_a_numpy_argument_had():
    f = olympus.jit(lambda x, y: (x, x + y))
    for size in (3, 5000):
        x = np.ones(size, np.float32)
        for _ in range(3):
            first, second = f(x, x)
            x[:] += 1
            assert (np.asarray(second) == 2 * np.asarray(first)).all()
            assert first[0] == x[0] - 1


def test_numpy_arguments_follow_the_switch_of_64_bits():
    f = olympus.jit(lambda x: x + 1)
    x = np.arange(3.0)
    for _ in range(2):
        assert f(x).dtype == "float32"
        with olympus.enable_x64(True):
            assert f(x).dtype == "float64"
            assert f(X).dtype == "float32"
        assert f(X).tolist() == [1, 2, 3]


def test_a_deleted_argument_beside_a_numpy_argument_is_named_in_each_call():
    f = olympus.jit(lambda x, y: x + y)
    deleted = jnp.asarray(X)
    f(X, deleted), f(X, deleted)
    deleted.delete()
    for _ in range(2):
        with pytest.raises(UsageError, match="argument y of"):
            f(X, deleted)
    assert f(X, X).tolist() == [0, 2, 4]
