"""The text of programs under JAX's names: the same source prints the same text in both."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.extend.core
import numpy as np
import pytest

import olympus
import olympus.extend.core
from olympus_core.ir.layout import Break, Group, Nest, Noted, laid_out, separated

BOTH = (olympus, jax)
X = np.arange(3, dtype=np.float32)
M = np.ones((3, 3), np.float32)
I = np.arange(3, dtype=np.int32)  # noqa: E741


def sines(ox: Any, x: Any, count: int) -> Any:
    for _ in range(count):
        x = ox.lax.sin(x)
    return x


def doubled(ox: Any, **options: Any) -> Any:
    return ox.jit(lambda y: y * 2, **options)


def with_jvp(ox: Any) -> Any:
    @ox.custom_jvp
    def sine(x):
        return ox.numpy.sin(x)

    @sine.defjvp
    def sine_rule(primals, tangents):
        return sine(primals[0]), tangents[0] * 3

    return sine


def with_vjp(ox: Any) -> Any:
    @ox.custom_vjp
    def sine(x):
        return ox.numpy.sin(x)

    def forward(x):
        return ox.numpy.sin(x), x

    def backward(x, g):
        return (g * x,)

    sine.defvjp(forward, backward)
    return sine


#: programs by name: a function of the library and arguments, and the arguments
PROGRAMS: dict[str, tuple[Any, ...]] = {
    "one": (lambda ox, x: ox.numpy.sin(x) * 2, X),
    "of two results": (lambda ox, x, y: (x + y, x), X, X),
    "nothing": (lambda ox: (),),
    "a literal": (lambda ox: 1.0,),
    "literals and constants": (lambda ox, x: (x, 1.0, np.zeros(1, np.float32)), 0.0),
    "an integer": (lambda ox, x: x + 1, I),
    "a bool": (lambda ox, x: x | True, X > 1),
    "a constant": (lambda ox, x: x + ox.numpy.asarray(X), X),
    "79 columns": (lambda ox, x: ox.lax.cumsum(x) * 22.0, X),
    "81 columns": (lambda ox, x: x.T, M),
    "many inputs": (lambda ox, *xs: xs[0] + xs[25] + xs[-1], *[1.0] * 30),
    "many equations": (lambda ox, x: sines(ox, x, 700), 1.0),
    "an unused result": (lambda ox, x, y: (ox.numpy.sin(x), y)[1], 1.0, 2.0),
    "jit": (lambda ox, x: ox.jit(ox.numpy.cos)(x) + 1, X),
    "jit of lines": (lambda ox, x: ox.jit(lambda y: ox.numpy.cos(y))(x) + 1, X),
    "jit of jit": (lambda ox, x: ox.jit(lambda y: doubled(ox)(y))(x), X),
    "a jit of literals": (lambda ox, x: ox.jit(lambda x: (x, 2))(x), 1),
    "a jit without arguments": (lambda ox: ox.jit(lambda: 2)(),),
    "one jit twice": (lambda ox, x: (lambda f: f(f(x)))(doubled(ox)), X),
    "an argument twice": (lambda ox, y: ox.jit(lambda a, b: a + b)(y, y), 2),
    "a donation": (lambda ox, x: doubled(ox, donate_argnums=0)(x), X),
    "a donation of two": (
        lambda ox, x: ox.jit(lambda a, b: b * 2, donate_argnums=1, keep_unused=True)(x, x),
        X,
    ),
    "an inlined jit": (lambda ox, x: doubled(ox, inline=True)(x), X),
    "a long jit": (lambda ox, x: ox.jit(lambda y: sines(ox, y, 11))(x), X),
    "long jits of one name": (
        lambda ox, x: [ox.jit(lambda y, n=n: sines(ox, y, n))(x) for n in (11, 12, 13)],
        X,
    ),
    "cond": (lambda ox, x: ox.lax.cond(x[0] > 1, lambda v: v * 2, lambda v: v, x), X),
    "cond of a closure": (lambda ox, x: ox.lax.cond(x >= 0.0, lambda: x + 1.0, lambda: x), 0.0),
    "switch": (
        lambda ox, i, x: ox.lax.switch(i, [lambda v: v * 2, lambda v: v, ox.numpy.sin], x),
        1,
        X,
    ),
    "scan": (lambda ox, x: ox.lax.scan(lambda c, _: (c * 2, None), x, None, length=4), X),
    "while": (lambda ox, x: ox.lax.while_loop(lambda v: v < 3.0, lambda v: v + 1, x[0]), X),
    "fori_loop": (lambda ox, x: ox.lax.fori_loop(0, 10, lambda i, v: v * i, x), X),
    "map": (lambda ox, x: ox.lax.map(ox.numpy.sin, x), X),
    "cond of a number": (lambda ox, n: ox.lax.cond(n, lambda: 1, lambda: 2), 3.0),
    "cond of two closures": (
        lambda ox, p, x, y: ox.lax.cond(p, lambda: x, lambda: y),
        True,
        1.0,
        2.0,
    ),
    "cond that passes an operand": (
        lambda ox, p, x: ox.lax.cond(p, lambda x: (x, x + 1), lambda x: (x, x - 1), x),
        True,
        1.0,
    ),
    "scan that passes carry and rows": (
        lambda ox, c, x: ox.lax.scan(lambda c, x: ((c[0], c[1] * 2), (x, c[0])), (c, 1.0), x),
        2.0,
        X,
    ),
    "scan of a weak carry": (lambda ox, c, x: ox.lax.scan(lambda c, x: (x, c), c, x), 2.0, X),
    "while that passes a carry": (
        lambda ox, x: ox.lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 1), (x, 0)),
        1.0,
    ),
    "jvp": (lambda ox, x: ox.jvp(ox.numpy.sin, (x,), (x,)), X),
    "vjp": (lambda ox, x: ox.vjp(ox.numpy.sin, x)[1](x), X),
    "grad": (lambda ox, x: ox.grad(lambda v: ox.lax.sin(ox.lax.cos(v)))(x[0]), X),
    "grad of the identity": (lambda ox, x: ox.grad(lambda v: v)(x), 1.0),
    "grad of a constant": (lambda ox, x: ox.grad(lambda v: 3.0)(x), 1.0),
    "grad at a Python number": (lambda ox, x: ox.grad(lambda v: ox.numpy.sin(v) * v)(x), 1.0),
    "grad of a jit": (lambda ox, x: ox.grad(ox.jit(lambda v: ox.numpy.sin(v) * 2))(x), 1.0),
    "grad of a scan": (
        lambda ox, x, xs: ox.grad(lambda v: ox.lax.scan(lambda c, _: (c * 2, c), v, xs)[0])(x),
        1.0,
        X,
    ),
    "linearize": (lambda ox, x: ox.linearize(ox.numpy.sin, x)[1](x), X),
    "vmap": (lambda ox, x: ox.vmap(lambda a: a * 2)(x), X),
    "checkpoint": (lambda ox, x: ox.checkpoint(lambda v: ox.numpy.sin(v))(x), X),
    "vjp of a checkpoint": (
        lambda ox, x: ox.vjp(ox.checkpoint(lambda v: ox.lax.sin(ox.lax.sin(v))), x)[1](x),
        X,
    ),
    "custom_jvp": (lambda ox, x: with_jvp(ox)(x), X),
    "custom_vjp": (lambda ox, x: with_vjp(ox)(x), X),
    "a mapped custom_vjp": (lambda ox, x: ox.vmap(with_vjp(ox))(x), X),
    "dot": (lambda ox, a: a @ a, M),
    "dot of a precision": (lambda ox, a: ox.numpy.dot(a, a, precision="highest"), M),
    "index": (lambda ox, a: a[1], X),
    "slices": (lambda ox, a: a[::2, :1], M),
    "index of an array": (lambda ox, a, i: a[i], X, I),
    "scatters": (lambda ox, a, i: ox.lax.neg(a).at[i].mul(a), X, I),
    "reshape": (lambda ox, a: a.reshape(3, 1).sum(0), X),
    "broadcast": (lambda ox, x: ox.numpy.broadcast_to(x, (2, 3)), X),
    "full": (lambda ox: ox.numpy.full((3,), 2.0),),
    "arange": (lambda ox: ox.numpy.arange(3),),
    "astype": (lambda ox, x: x.astype("float16"), X),
    "select": (lambda ox, c, x: ox.lax.select(c, x, x), X > 0, X),
    "sort": (lambda ox, x: ox.lax.sort(x), X),
    "top_k": (lambda ox, x: ox.lax.top_k(x, 2), X),
    "reductions": (lambda ox, x: (x.max(), x.sum(axis=1, keepdims=True), x.prod()), M),
    "argmax": (lambda ox, x: ox.lax.argmax(x, 0, np.int32), X),
    "cumsum": (lambda ox, x: ox.lax.cumsum(x), X),
    "pad": (lambda ox, x: ox.lax.pad(x, 0.0, [(1, 1, 0)]), X),
    "conv": (
        lambda ox, a, b: ox.lax.conv(a, b, (1, 1), "SAME"),
        np.ones((1, 1, 4, 4), np.float32),
        np.ones((1, 1, 3, 3), np.float32),
    ),
    "reduce_window": (
        lambda ox, x: ox.lax.reduce_window(x, 0.0, ox.lax.add, (2,), (1,), "VALID"),
        X,
    ),
    "qr": (lambda ox, x: ox.lax.linalg.qr(x), M),
    "svd": (lambda ox, x: ox.lax.linalg.svd(x), M),
    "powers": (lambda ox, x, y: (x**3, x**y, ox.numpy.sqrt(x)), X, X),
    "axis_index": (
        lambda ox, x: ox.vmap(lambda v: v * ox.lax.axis_index("i"), axis_name="i")(x),
        X,
    ),
    "bits": (lambda ox, x: ox.lax.bitcast_convert_type(x, np.int32), X),
}


#: programs that JAX 0.12 prints in another way than 0.10, whose text is that of OLYMPUS
OF_JAX_0_10 = {
    "an inlined jit",
    "fori_loop",
    "grad of a scan",
    "map",
    "reductions",
    "scan",
    "scan of a weak carry",
    "scan that passes carry and rows",
    "top_k",
}
IS_JAX_0_10 = jax.__version_info__ < (0, 11)


def printed(ox: Any, name: str, **options: Any) -> str:
    function, *args = PROGRAMS[name]
    program = ox.make_jaxpr(lambda *xs: function(ox, *xs))(*args)
    text: str = program.pretty_print(**options) if options else str(program)
    return text


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_is_the_oracles(name: str) -> None:
    ours, theirs = (printed(ox, name) for ox in BOTH)
    if IS_JAX_0_10 or name not in OF_JAX_0_10:
        assert ours == theirs


@pytest.mark.parametrize(
    "options",
    [
        {"width": 30},
        {"print_shapes": False},
        {"name_stack": True},
        {"source_info": True},
        {"source_info": True, "annotation_prefix": " -- "},
        {"print_effects": True},
    ],
    ids=str,
)
def test_the_options_of_the_text(options: dict[str, Any]) -> None:
    for name in ("jit of lines", "while", "one jit twice", "nothing"):
        ours, theirs = (printed(ox, name, **options) for ox in BOTH)
        assert ours == theirs


@pytest.mark.parametrize("ox", BOTH, ids=["olympus", "jax"])
def test_one_text_under_all_names(ox: Any) -> None:
    traced = ox.jit(lambda x: ox.numpy.sin(x) * 2).trace(1.0)
    text = "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }"
    assert str(traced.jaxpr) == repr(traced.jaxpr) == text
    assert traced.jaxpr.jaxpr.pretty_print() == text
    assert [str(e) for e in traced.jaxpr.eqns] == ["a:f32[] = sin b", "a:f32[] = mul b 2.0:f32[]"]


def test_the_linear_program_of_a_vjp() -> None:
    texts = [
        str(ox.vjp(ox.checkpoint(lambda v, ox=ox: ox.lax.sin(ox.lax.sin(v))), x)[1].jaxpr)
        for ox in BOTH
        for x in (1.0, X)
    ]
    assert texts[0] == texts[2] and texts[0].count(" sin ") == 1
    pull_back = olympus.vjp(olympus.lax.sin, X)[1]
    assert len(pull_back.jaxpr.consts) == 1 and len(olympus.tree.leaves(pull_back)) == 1


def test_the_text_of_an_olympuspr() -> None:
    text = str(olympus.jit(lambda x: olympus.numpy.sin(x)).trace(1.0).olympuspr)
    assert text == "{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n  in (b,) }"


@pytest.mark.parametrize("ox", BOTH, ids=["olympus", "jax"])
def test_the_fields_are_the_oracles(ox: Any) -> None:
    core = ox.extend.core

    def f(x: Any, *, y: Any) -> Any:
        return ox.jit(lambda v: v * 2)(x) + y, x

    closed = ox.make_jaxpr(f)(X, y=ox.numpy.asarray(X))
    jaxpr = closed.jaxpr
    assert isinstance(closed, core.ClosedJaxpr) and isinstance(jaxpr, core.Jaxpr)
    for field in ("invars", "outvars", "eqns", "constvars", "in_avals", "out_avals"):
        assert type(getattr(closed, field)) is type(getattr(jaxpr, field)) is list
    assert type(closed.consts) is list and closed.consts == closed.literals
    call = jaxpr.eqns[0]
    assert type(call.invars) is type(call.outvars) is list
    assert jaxpr.invars[:1] + call.outvars == [*call.invars, *jaxpr.eqns[1].invars[:1]]
    assert call.params["donated_invars"] == (False,)
    assert call.params["in_layouts"] == call.params["out_layouts"] == (None,)
    assert str(call.params["in_shardings"]) == "(UnspecifiedValue,)"
    assert str(call.params["out_shardings"]) == "(UnspecifiedValue,)"
    assert not call.params["keep_unused"] and (not call.params["inline"] or not IS_JAX_0_10)
    assert call.params["compiler_options_kvs"] == () and "keep_unused" in call.params
    assert call.params["jaxpr"] is call.params["jaxpr"]
    assert [str(j) for j in core.jaxprs_in_params(call.params)] == [str(call.params["jaxpr"])]
    again = closed.map_jaxpr(lambda j: j.replace(eqns=j.eqns[:1] + j.eqns[1:]))
    assert str(again) == str(closed.replace(jaxpr=again.jaxpr)) == str(closed)
    assert len(closed.replace(jaxpr=jaxpr.replace(eqns=[call])).eqns) == 1
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        jaxpr.replace(equations=[])
    assert repr(ox.make_jaxpr(lambda x: x * 2)(1.0).eqns[0].invars[1]) == "Literal(2.0)"
    assert ox.make_jaxpr(f).__name__ == "make_jaxpr(f)"
    with pytest.raises(TypeError):
        ox.make_jaxpr(3)
    fields = jaxpr.constvars, jaxpr.invars, jaxpr.outvars, jaxpr.eqns
    parts = core.Jaxpr(*fields, debug_info=jaxpr.debug_info)
    assert str(core.ClosedJaxpr(parts, closed.consts)) == str(closed)
    assert not closed.is_high and not closed.effects


def test_the_debug_info_is_the_oracles() -> None:
    def f(x: Any, tree: Any, *, z: Any) -> Any:
        return {"sum": x + tree["a"] * z}, x

    ours, theirs = (ox.make_jaxpr(f)(X, {"a": X}, z=X).jaxpr.debug_info for ox in BOTH)
    assert ours.arg_names == theirs.arg_names
    assert ours.func_src_info == theirs.func_src_info and ours.func_name == "f"
    assert ours.result_paths == theirs.result_paths
    assert olympus.make_olympuspr(f)(X, {"a": X}, z=X).jaxpr.debug_info.func_name == "unknown"


def test_effects_are_printed() -> None:
    text = olympus.make_jaxpr(lambda x: olympus.debug.print("{}", x))(1.0).pretty_print(
        print_effects=True
    )
    assert re.search(r"in \(\) : \{ .+ \} \}$", text)


def test_documents_are_laid_out() -> None:
    doc = Group(["(", Nest(2, separated(Break(), ["aaa", Noted("bbb", "x"), "ccc"])), ")"])
    assert laid_out(doc, 13) == "(aaa bbb ccc) # x"
    assert laid_out(doc, 12, " -- ") == "(aaa\n  bbb  -- x\n  ccc)"
    assert laid_out([Noted("a", "x"), Noted("b", "y"), Break(), "cdef"]) == (
        "ab   # x\n     # y\ncdef"
    )
