"""The errors of transformations, in the user's terms: request, requirement, actual value."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import (
    ConcretizationTypeError,
    OlympusError,
    TransformError,
    UnexpectedTracerError,
)

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def loss(w, n):
    return (w["a"] * n).sum()


def twice(x):
    return 2 * x


def line_of(text: str) -> str:
    """The place of the only line of this file with `text`, as messages have it."""
    with open(__file__) as f:
        numbers = [i for i, line in enumerate(f, 1) if line.rstrip().endswith(f"# {text}")]
    assert len(numbers) == 1
    return f"{__file__}:{numbers[0]}"


TRANSFORMS = {
    "jit": (olympus.jit, "'keep'"),
    "grad": (olympus.grad, "grad of 'keep'"),
    "vmap": (olympus.vmap, "vmap of 'keep'"),
    "jit of vmap": (lambda f: olympus.jit(olympus.vmap(f)), "vmap of 'keep'"),
    "jvp": (lambda f: lambda x: olympus.jvp(f, (x,), (x,)), "jvp of 'keep'"),
    "scan": (
        lambda f: lambda x: lax.scan(lambda c, v: (c, f(v)), 0.0, x),
        "'<lambda>', the body of scan",
    ),
}
USES = {
    "operator": lambda x: x + 1,
    "jit": lambda x: olympus.jit(lambda: x + 1)(),
    "vmap": lambda x: olympus.vmap(lambda v: x + v)(np.ones(2, np.float32)),
}


@pytest.mark.parametrize(("transform", "what"), TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_error_of_a_leaked_tracer_names_its_function_and_line(transform, what, use):
    leaked = []

    def keep(x):
        leaked.append(jnp.sin(x))  # where the tracer is made
        return x.sum()

    transform(keep)(X)
    with pytest.raises(UnexpectedTracerError) as caught:
        use(leaked[0])
    message = str(caught.value)
    assert f" in {what}" in message
    assert f"{line_of('where the tracer is made')}: leaked.append(jnp.sin(x))" in message
    assert caught.value.hint == (
        "return values from the function instead of storing them in a global or an attribute; "
        "olympus.checking_leaks() finds the leak earlier"
    )


def test_the_error_of_a_leaked_tracers_value_names_its_function_and_line():
    leaked = []
    olympus.vmap(lambda x: leaked.append(x * 2))(X)
    message = r"a value in vmap of '<lambda>', made at .*x \* 2"
    with pytest.raises(ConcretizationTypeError, match=message):
        float(leaked[0])


COMPILED = {
    "jit": (lambda f: olympus.jit(f)(X), "olympus.core.Tracer"),
    "grad": (lambda f: olympus.grad(f)(X), "olympus.core.Tracer"),
    "vmap": (lambda f: olympus.vmap(f)(X[None]), "olympus.core.Tracer"),
    "jvp": (lambda f: olympus.jvp(f, (X,), (X,)), "olympus.core.Tracer"),
    "scan": (lambda f: lax.scan(lambda c, x: (c, f(x)), 0.0, X[None]), "olympus.core.Tracer"),
}


@pytest.mark.parametrize(("call", "tracer"), COMPILED.values(), ids=COMPILED)
def test_a_compiled_function_cannot_be_transformed(call, tracer):
    compiled = olympus.jit(twice).lower(X).compile()
    message = (
        "Cannot apply OLYMPUS transformations to a function lowered and compiled for a "
        r"particular signature. Detected argument of Tracer type <class '" + tracer + "'>"
    )
    with pytest.raises(TypeError, match=f"^{message}$") as caught:
        call(compiled)
    assert type(caught.value).__qualname__ == "TypeError"
    np.testing.assert_array_equal(compiled(X), 2 * X)


def test_reverse_mode_through_while_loop():
    def f(x):
        return lax.while_loop(lambda v: v.sum() < 99, twice, x).sum()  # the loop

    for g in (olympus.grad(f), olympus.jit(olympus.grad(f))):
        with pytest.raises(TransformError, match="Reverse-mode differentiation does not work") as e:
            g(X)
        assert "fori_loop with Python bounds" in e.value.hint
        assert e.value.location == line_of("the loop")
    forward = olympus.jvp(f, (X,), (X,))
    assert float(forward[1]) == float(forward[0])


def test_reverse_mode_through_fori_loop():
    def f(n, x):
        return lax.fori_loop(0, n, lambda i, v: 2 * v, x).sum()

    np.testing.assert_array_equal(olympus.grad(f, argnums=1)(3, X), np.full_like(X, 8))
    with pytest.raises(TransformError, match="Reverse-mode differentiation does not work"):
        olympus.jit(olympus.grad(f, argnums=1))(3, X)


@pytest.mark.parametrize(
    ("name", "argnum"), [("zeta", 0), ("polygamma", 0), ("nextafter", 0), ("nextafter", 1)]
)
def test_a_derivative_that_is_unknown_is_not_zero(name: str, argnum: int) -> None:
    for package in (jax, olympus):
        with pytest.raises((NotImplementedError, ValueError), match=name):
            package.grad(getattr(package.lax, name), argnum)(2.0, 1.5)


def test_a_name_scope_needs_a_string():
    scope = olympus.named_scope(3)
    with (
        pytest.raises(OlympusError, match="named_scope name argument must be a string") as caught,
        scope,
    ):
        pass
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("count", [0, 2])
def test_a_pulled_back_cotangent_is_one(count):
    pull_back = olympus.vjp(lambda x: (x, 2 * x), 1.0)[1]
    transposed = olympus.linear_transpose(lambda x: (x, 2 * x), 1.0)
    for function in (pull_back, transposed):
        with pytest.raises(TransformError, match=f"called with {count} arguments"):
            function(*[1.0] * count)


@pytest.mark.parametrize("scalar", [True, False])
def test_traced_arrays_print_as_those_of_jax(scalar: bool) -> None:
    def texts(jx):
        found: list[str] = []

        def note(x):
            found.append(str(x))
            return x * 2

        x = 3.0 if scalar else X
        jx.jit(note)(x)
        jx.jvp(note, (x,), (x,))
        jx.vjp(note, x)
        jx.vmap(note)(X)
        jx.jit(jx.vmap(lambda row: jx.vjp(note, row)[0]))(X)
        jx.jit(note)(jx.random.key_data(jx.random.key(0)))
        jx.jit(lambda key: found.append(str(key)))(jx.random.key(0))
        jx.vmap(lambda key: found.append(str(key)))(jx.random.split(jx.random.key(0), (3, 2)))
        return found

    assert texts(olympus) == texts(jax)


def test_a_traced_array_in_a_text() -> None:
    def formatted(x):
        texts.append(f"{x}")
        return x * len(f"{x:.2f}")  # formatted

    texts: list[str] = []
    with pytest.raises(ConcretizationTypeError) as caught:
        olympus.jit(formatted)(X)
    assert texts == ["JitTracer(float32[2,3])"]
    assert "the text in the format '.2f'" in str(caught.value)
    assert line_of("formatted") in str(caught.value)
    assert "return the array" in str(caught.value.hint)
