"""The errors of transformations, in the user's terms: what was asked, is needed, and was got."""

from __future__ import annotations

import re

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ConcretizationError, LeakedTracerError, OlympusError, TransformError

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


GRAD = {
    "a matrix": (
        lambda: olympus.grad(twice)(X),
        "grad needs a function that returns a scalar, and 'twice' returned float32[2,3]",
    ),
    "a tree": (
        lambda: olympus.grad(lambda x: {"a": x.sum(), "b": 1.0})(X),
        "grad needs a function that returns one scalar, and '<lambda>' returned "
        "PyTreeDef({'a': *, 'b': *})",
    ),
    "None": (lambda: olympus.grad(lambda x: None)(X), "returned PyTreeDef(None)"),
    "no array": (
        lambda: olympus.grad(lambda x: "x")(X),
        "'<lambda>' returned a str 'x' as result",
    ),
    "an int": (
        lambda: olympus.grad(lambda x: x.sum().astype(int))(X),
        "grad needs a float result, and '<lambda>' returned int32[]",
    ),
    "a complex number": (
        lambda: olympus.grad(lambda x: (1j * x).sum())(X),
        "grad needs a float result, and '<lambda>' returned complex64[]",
    ),
    "no pair": (
        lambda: olympus.grad(lambda x: x.sum(), has_aux=True)(X),
        "with has_aux, '<lambda>' must return a pair (result, aux), and returned float32[]",
    ),
    "of an int": (
        lambda: olympus.grad(loss, argnums=1)({"a": X}, 3),
        "grad of 'loss' needs float or complex arguments, and argument 'n' is int32[]",
    ),
    "of an int in a tree": (
        lambda: olympus.grad(loss)({"a": np.arange(3)}, 3),
        "and argument 'w'['a'] is int32[3]",
    ),
    "of no array": (
        lambda: olympus.grad(loss)({"a": "text"}, 3),
        "grad of 'loss' needs arrays and scalars, and argument 'w'['a'] is a str 'text'",
    ),
    "of an argument that is not there": (
        lambda: olympus.grad(loss, argnums=2)({"a": X}, 3.0),
        "argnums of the derivative of 'loss' has 2, and it was called with 2 positional arguments",
    ),
    "of an argument chosen twice": (
        lambda: olympus.grad(loss, argnums=(1, -1))({"a": X}, 3.0),
        "argnums of the derivative of 'loss' has an argument twice: (1, -1)",
    ),
    "of no argument": (
        lambda: olympus.jacfwd(loss, argnums=())({"a": X}, 3.0),
        "argnums of the derivative of 'loss' has no argument: ()",
    ),
    "of an argument that is no number": (
        lambda: olympus.grad(loss, argnums="n"),
        "argnums of the derivative of 'loss' must be an int or a sequence of ints, and is 'n'",
    ),
    "holomorphic of floats": (
        lambda: olympus.grad(lambda x: x.sum(), holomorphic=True)(X),
        "with holomorphic, grad of '<lambda>' needs complex arguments, and argument 'x' is "
        "float32[2,3]",
    ),
}


@pytest.mark.parametrize(("call", "message"), GRAD.values(), ids=GRAD)
def test_grad(call, message):
    with pytest.raises(TransformError) as caught:
        call()
    assert message in str(caught.value)


DIRECTIONS = {
    "shape": (
        lambda: olympus.jvp(twice, (X,), (X[0],)),
        "jvp: the tangent of argument 'x' must be float32[2,3], and is float32[3]",
    ),
    "dtype": (
        lambda: olympus.jvp(twice, (X,), (X.astype(int),)),
        "jvp: the tangent of argument 'x' must be float32[2,3], and is int32[2,3]",
    ),
    "structure": (
        lambda: olympus.jvp(twice, (X,), ((X,),)),
        "jvp needs tangents of the primals' structure.\n"
        "  primals:  PyTreeDef((*,))\n  tangents: PyTreeDef(((*,),))",
    ),
    "no tuples": (
        lambda: olympus.jvp(twice, X, X),
        "jvp takes the primals and the tangents as tuples, and got a NumPy array float32[2,3] and "
        "a NumPy array float32[2,3]",
    ),
    "cotangent": (
        lambda: olympus.vjp(twice, X)[1](X[0]),
        "vjp: the cotangent of result 0 must be float32[2,3], and is float32[3]",
    ),
    "cotangent's structure": (
        lambda: olympus.vjp(twice, X)[1]([X]),
        "  result:    PyTreeDef(*)\n  cotangent: PyTreeDef([*])",
    ),
    "linearize": (
        lambda: olympus.linearize(twice, X)[1](X[0]),
        "the tangent of argument 'x' must be float32[2,3], and is float32[3]",
    ),
    "linear_transpose": (
        lambda: olympus.linear_transpose(jnp.sin, X)(X),
        "'sin' is not linear, and cannot be transposed",
    ),
    "linear_transpose of a square": (
        lambda: olympus.linear_transpose(lambda x: x * x, X)(X),
        "linear_transpose needs a function that is linear in its arguments, and '<lambda>' is not",
    ),
    "result of jvp": (
        lambda: olympus.jvp(lambda x: {"a": [x, "y"]}, (X,), (X,)),
        "'<lambda>' returned a str 'y' as result['a'][1]",
    ),
}


@pytest.mark.parametrize(("call", "message"), DIRECTIONS.values(), ids=DIRECTIONS)
def test_tangents_and_cotangents(call, message):
    with pytest.raises(TransformError) as caught:
        call()
    assert message in str(caught.value)


VMAP = {
    "sizes": (
        lambda: olympus.vmap(loss, in_axes=(0, 1))({"a": X, "b": X.T}, X),
        "vmap of 'loss' needs mapped axes of one size:\n"
        "  argument 'w'['a'], float32[2,3], is mapped over axis 0, of size 2\n"
        "  argument 'w'['b'], float32[3,2], is mapped over axis 0, of size 3\n"
        "  argument 'n', float32[2,3], is mapped over axis 1, of size 3",
    ),
    "sizes of keywords": (
        lambda: olympus.vmap(lambda x, *, k: x)(X, k=X[0]),
        "  argument 'k', float32[3], is mapped over axis 0, of size 3",
    ),
    "axis_size": (
        lambda: olympus.vmap(twice, axis_size=5)(X),
        "  argument 'x', float32[2,3], is mapped over axis 0, of size 2\n  axis_size is 5",
    ),
    "nothing mapped": (
        lambda: olympus.vmap(twice, in_axes=None)(X),
        "vmap of 'twice' maps over no argument: in_axes is None for all",
    ),
    "no such axis": (
        lambda: olympus.vmap(twice, in_axes=-3)(X),
        "vmap: argument 'x' is float32[2,3], and has no axis -3 to map over",
    ),
    "too many in_axes": (
        lambda: olympus.vmap(twice, in_axes=(0, 0))(X),
        "in_axes has 2 entries, and the function was called with 1 positional arguments",
    ),
    "in_axes of another structure": (
        lambda: olympus.vmap(twice, in_axes=({"a": 0},))(X),
        "vmap: in_axes must be a tree prefix of what it applies to.\n"
        "  in_axes: ({'a': 0},)\n  it applies to: PyTreeDef((*,))",
    ),
    "out_axes of another structure": (
        lambda: olympus.vmap(twice, out_axes=(0, 0))(X),
        "vmap: out_axes must be a tree prefix of what it applies to.\n"
        "  out_axes: (0, 0)\n  it applies to: PyTreeDef(*)",
    ),
    "out_axes None": (
        lambda: olympus.vmap(twice, out_axes=None)(X),
        "out_axes is None for a result that differs from index to index",
    ),
    "no such out_axes": (
        lambda: olympus.vmap(twice, out_axes=4)(X),
        "vmap of 'twice': out_axes has 4 for a result of rank 2",
    ),
    "in_axes of no ints": (
        lambda: olympus.vmap(twice, in_axes=("a",))(X),
        "vmap: in_axes must be an int, None, or a tree of these, and has 'a'",
    ),
    "in_axes in a tree": (
        lambda: olympus.vmap(loss, in_axes=({"a": 0.0}, 0))({"a": X}, X),
        "vmap: in_axes must be an int, None, or a tree of these, and has 0.0",
    ),
    "a bool": (
        lambda: olympus.vmap(twice, in_axes=True)(X),
        "vmap: in_axes must be an int, None, or a tree of these, and has True",
    ),
    "in_axes 0.5": (
        lambda: olympus.vmap(twice, in_axes=0.5)(X),
        "vmap: in_axes must be an int, None or a tuple, and is 0.5",
    ),
    "out_axes 0.5": (
        lambda: olympus.vmap(twice, out_axes=0.5)(X),
        "vmap: out_axes must be an int, None, or a tree of these, and has 0.5",
    ),
    "axis_size 2.5": (
        lambda: olympus.vmap(lambda: 1.0, axis_size=2.5)(),
        "vmap: axis_size must be an int >= 0 or None, and is 2.5",
    ),
    "axis_size -1": (
        lambda: olympus.vmap(lambda: 1.0, axis_size=-1)(),
        "vmap: axis_size must be an int >= 0 or None, and is -1",
    ),
    "no array": (
        lambda: olympus.vmap(twice)("text"),
        "vmap of 'twice' needs arrays and scalars, and argument 'x' is a str 'text'",
    ),
    "result": (
        lambda: olympus.vmap(lambda x: (x, print))(X),
        "'<lambda>' returned a builtin_function_or_method <built-in function print> as result[1]",
    ),
}


@pytest.mark.parametrize(("call", "message"), VMAP.values(), ids=VMAP)
def test_vmap(call, message):
    with pytest.raises(TransformError) as caught:
        call()
    assert message in str(caught.value)


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
def test_a_leaked_tracer_says_which_function_and_line_made_it(transform, what, use):
    held = []

    def keep(x):
        held.append(jnp.sin(x))  # where the tracer is made
        return x.sum()

    transform(keep)(X)
    with pytest.raises(LeakedTracerError) as caught:
        use(held[0])
    message = str(caught.value)
    assert f" in {what}" in message
    assert f"{line_of('where the tracer is made')}: held.append(jnp.sin(x))" in message
    assert caught.value.hint == (
        "return values from the function instead of storing them"
        + (" in a global or an attribute" if "used after" in message else "")
    )


def test_the_value_of_a_leaked_tracer_says_so_too():
    held = []
    olympus.vmap(lambda x: held.append(x * 2))(X)
    made = r"a value in vmap of '<lambda>', made at .*x \* 2"
    with pytest.raises(ConcretizationError, match=made):
        float(held[0])


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
        with pytest.raises(TransformError, match="a while_loop cannot be differentiated in") as e:
            g(X)
        assert "fori_loop with Python bounds" in e.value.hint
        assert e.value.location == line_of("the loop")
    forward = olympus.jvp(f, (X,), (X,))
    assert float(forward[1]) == float(forward[0])


def test_reverse_mode_through_fori_loop():
    def f(n, x):
        return lax.fori_loop(0, n, lambda i, v: 2 * v, x).sum()

    np.testing.assert_array_equal(olympus.grad(f, argnums=1)(3, X), np.full_like(X, 8))
    with pytest.raises(TransformError, match="a while_loop cannot be differentiated in reverse"):
        olympus.jit(olympus.grad(f, argnums=1))(3, X)


def test_a_name_scope_needs_a_string():
    scope = olympus.named_scope(3)
    with (
        pytest.raises(OlympusError, match="a name scope needs a string, and got 3") as caught,
        scope,
    ):
        pass
    assert isinstance(caught.value, TypeError)


def test_every_message_is_one_of_ours():
    for call, _ in (*GRAD.values(), *DIRECTIONS.values(), *VMAP.values()):
        with pytest.raises(OlympusError) as caught:
            call()
        assert caught.value.exit_code == 3
        assert not re.search(r"Tracer|aval\b|primal_", str(caught.value))


@pytest.mark.parametrize("count", [0, 2])
def test_a_pulled_back_cotangent_is_one(count):
    pull_back = olympus.vjp(lambda x: (x, 2 * x), 1.0)[1]
    transposed = olympus.linear_transpose(lambda x: (x, 2 * x), 1.0)
    for function in (pull_back, transposed):
        with pytest.raises(TransformError, match=f"takes one cotangent.* got {count}"):
            function(*[1.0] * count)


def test_a_traced_array_in_a_text() -> None:
    def formatted(x):
        texts.append(f"{x}")
        return x * len(f"{x:.2f}")  # formatted

    texts: list[str] = []
    with pytest.raises(ConcretizationError) as caught:
        olympus.jit(formatted)(X)
    assert texts == ["<traced array f32[2,3]>"]
    assert "the text in the format '.2f' of a traced array float32[2,3] was asked for" in str(
        caught.value
    )
    assert line_of("formatted") in str(caught.value)
    assert "return the array" in str(caught.value.hint)
