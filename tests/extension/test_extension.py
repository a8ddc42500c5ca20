"""Primitives of users under JAX's conventions: rules, their short forms, and their absence."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.api_util
import numpy as np
import pytest
from jaxlib.mlir.dialects import stablehlo

import olympus as ox

X = np.arange(1.0, 4.0, dtype=np.float32)
Y = 2 * X
MATRIX = np.stack([X, Y])
MODULES = ("core", "extend.core", "extend.linear_util")
INTERPRETERS = ("ad", "batching", "mlir", "partial_eval", "xla")
Uses = dict[str, Callable[[], Any]]


def modules(package: Any) -> types.SimpleNamespace:
    """The modules for extensions of a package, by the last part of their names."""
    name = package.__name__
    found = {n.split(".")[-1]: importlib.import_module(f"{name}.{n}") for n in MODULES}
    found |= {n: importlib.import_module(f"{name}.interpreters.{n}") for n in INTERPRETERS}
    extend_core = importlib.import_module(f"{name}.extend.core")
    avals = importlib.import_module(f"{name}.core")
    return types.SimpleNamespace(**found | {"core": extend_core, "ShapedArray": avals.ShapedArray})


def agree(make: Callable[[Any, types.SimpleNamespace], Uses]) -> None:
    """Compare the uses of a primitive that `make` defines with each library."""
    mine, theirs = make(ox, modules(ox)), make(jax, modules(jax))
    for name, use in mine.items():
        result, expected = ox.tree.leaves(use()), jax.tree.leaves(theirs[name]())
        assert len(result) == len(expected), name
        for a, b in zip(result, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)


def fused(jx: Any, m: types.SimpleNamespace) -> Any:
    """x * y + z, with every rule."""
    fused_p = m.core.Primitive("fused")
    bind, zero = fused_p.bind, m.ad.Zero

    def dense(t: Any, like: Any) -> Any:
        return jx.numpy.zeros_like(like) if type(t) is zero else t

    def jvp(primals: Any, tangents: Any) -> Any:
        x, y, z = primals
        tx, ty, tz = (dense(t, x) for t in tangents)
        return bind(x, y, z), bind(tx, y, bind(x, ty, tz))

    def transpose(ct: Any, x: Any, y: Any, z: Any) -> Any:
        if m.ad.is_undefined_primal(x):
            return bind(ct, y, jx.numpy.zeros_like(y)), None, ct
        return None, bind(x, ct, jx.numpy.zeros_like(x)), ct

    fused_p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    fused_p.def_abstract_eval(lambda x, y, z: m.ShapedArray(x.shape, x.dtype))
    m.mlir.register_lowering(
        fused_p, lambda ctx, x, y, z: [stablehlo.add(stablehlo.multiply(x, y), z)]
    )
    m.ad.primitive_jvps[fused_p] = jvp
    m.ad.primitive_transposes[fused_p] = transpose
    m.batching.primitive_batchers[fused_p] = lambda args, dims: (bind(*args), dims[0])
    return fused_p


def uses_of_fused(jx: Any, m: types.SimpleNamespace) -> Uses:
    bind = fused(jx, m).bind
    total, lax = jx.numpy.sum, jx.lax

    def f(x: Any) -> Any:
        return bind(x, x, x)

    def loss(x: Any, y: Any) -> Any:
        return total(bind(x, y, x) ** 2)

    return {
        "eager": lambda: bind(X, Y, X),
        "jit": lambda: jx.jit(bind)(X, Y, X),
        "jvp": lambda: jx.jvp(lambda x, y: bind(x, y, X), (X, Y), (Y, X)),
        "one tangent": lambda: jx.jit(lambda x: jx.jvp(lambda x: bind(x, Y, X), (x,), (Y,)))(X),
        "grad": lambda: jx.grad(loss, (0, 1))(X, Y),
        "grad of jit": lambda: jx.jit(jx.grad(jx.jit(loss), (0, 1)))(X, Y),
        "grad of scan": lambda: jx.grad(
            lambda x: total(lax.scan(lambda c, _: (f(c) * 0.1, c), x, None, 3)[0])
        )(X),
        "recomputed": lambda: jx.jit(jx.grad(lambda x: total(jx.checkpoint(f)(x) ** 2)))(X),
        "vmap": lambda: jx.vmap(f)(MATRIX),
        "vmap of columns": lambda: jx.jit(jx.vmap(f, 1, 1))(MATRIX),
        "cond": lambda: jx.jit(lambda x: lax.cond(x[0] > 0, f, lambda x: x, x))(X),
        "while": lambda: lax.while_loop(lambda c: total(c) < 100.0, f, X),
        "compiled": lambda: jx.jit(f).lower(X).compile()(X),
    }


def test_a_primitive_of_a_user_is_a_full_primitive() -> None:
    agree(uses_of_fused)
    bind, spec = fused(ox, modules(ox)).bind, ox.P("i")
    mapped = ox.shard_map(
        lambda x: bind(x, x, x),
        mesh=ox.make_mesh((1,), ("i",), ox.sharding.AxisType.Auto),
        in_specs=spec,
        out_specs=spec,
    )
    np.testing.assert_array_equal(mapped(X), X * X + X)


def several(jx: Any, m: types.SimpleNamespace) -> Uses:
    """A primitive of two results and a parameter, executed as a program."""
    both_p = m.core.Primitive("both")
    both_p.multiple_results = True
    bind = functools.partial(both_p.bind, by=3)
    both_p.def_effectful_abstract_eval(lambda x, by: ([x, x], set()))
    both_p.def_impl(functools.partial(m.xla.apply_primitive, both_p))
    rule = m.mlir.lower_fun(lambda x, by: [jx.numpy.sin(x) * by, x * by], multiple_results=True)
    m.mlir.register_lowering(both_p, rule)

    def jvp(primals: Any, tangents: Any, by: int) -> Any:
        assert isinstance(primals + tangents, tuple)
        out = both_p.bind(*primals, by=by)
        t = m.ad.instantiate_zeros(tangents[0])
        return out, [t * jx.numpy.cos(primals[0]) * by, t * by]

    m.ad.primitive_jvps[both_p] = jvp
    m.batching.primitive_batchers[both_p] = lambda args, dims, by: (
        both_p.bind(*args, by=by), (dims[0], dims[0])
    )  # fmt: skip
    return {
        "eager": lambda: bind(X),
        "jit": lambda: jx.jit(bind)(X),
        "vmap": lambda: jx.vmap(bind, 1)(MATRIX),
        "grad": lambda: jx.grad(lambda x: jx.numpy.sum(bind(x)[0]))(X),
        "scan": lambda: jx.lax.scan(lambda c, _: bind(c), X, None, 2),
    }


def test_a_primitive_of_several_results() -> None:
    agree(several)


def short_forms(jx: Any, m: types.SimpleNamespace) -> Uses:
    ad, batching = m.ad, m.batching

    def primitive(name: str, impl: Callable[..., Any]) -> Any:
        own = m.core.Primitive(name)
        own.def_impl(impl)
        own.def_abstract_eval(lambda x, *_, **params: x)
        return own

    square_p = primitive("square_of", lambda x: x * x)
    ad.defjvp(square_p, lambda t, x: 2 * x * t)
    batching.defvectorized(square_p)
    m.mlir.register_lowering(square_p, lambda ctx, x: [stablehlo.multiply(x, x)])
    exp_p = primitive("exp_of", jx.numpy.exp)
    ad.defjvp2(exp_p, lambda t, out, x: t * out)
    double_p, triple_p = primitive("double", lambda x: 2 * x), primitive("triple", lambda x: 3 * x)
    ad.deflinear2(double_p, lambda ct, _: [2 * ct])
    ad.deflinear(triple_p, lambda ct: [3 * ct])
    batching.defvectorized(double_p)
    times_p = primitive("times", lambda x, y: x * y)
    ad.defbilinear(times_p, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    batching.defbroadcasting(times_p)
    total_p = primitive("total", lambda x, axes: jx.numpy.sum(x, axes))
    batching.defreducer(total_p)
    cubes = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    return {
        "defjvp": lambda: (jx.vmap(jx.grad(square_p.bind))(X), jx.jit(jx.vmap(square_p.bind))(X)),
        "defjvp2": lambda: jx.grad(exp_p.bind)(2.0),
        "deflinear2": lambda: (jx.grad(double_p.bind)(2.0), jx.vmap(double_p.bind)(X)),
        "deflinear": lambda: jx.linear_transpose(triple_p.bind, 1.0)(2.0),
        "defbilinear": lambda: jx.grad(times_p.bind, (0, 1))(2.0, 3.0),
        "broadcasting": lambda: jx.vmap(times_p.bind, (0, None))(MATRIX, X),
        "moved": lambda: jx.vmap(times_p.bind, (1, 0))(MATRIX.T, MATRIX),
        "defreducer": lambda: [
            jx.vmap(lambda x, i=i: total_p.bind(x, axes=(i,)), d)(cubes)
            for i in (0, 1) for d in (0, 1, 2)
        ],
    }  # fmt: skip


def test_short_forms_of_rules() -> None:
    agree(short_forms)


def of_the_core(jx: Any, m: types.SimpleNamespace) -> Uses:
    lax, aval = jx.lax, m.ShapedArray((3,), np.dtype("float32"))
    undefined, zero = m.ad.UndefinedPrimal(aval), m.ad.Zero(aval)
    accuracy: dict[str, Any] = {} if jx is ox else {"accuracy": None}
    return {
        "jvp": lambda: m.ad.primitive_jvps[lax.sin_p]([X], [Y], **accuracy),
        "zero": lambda: [
            int(type(x) is m.ad.Zero)
            for x in m.ad.primitive_jvps[lax.sin_p]([X], [zero], **accuracy)
        ],
        "transpose": lambda: m.ad.primitive_transposes[lax.neg_p](X, undefined),
        "sum": lambda: (m.ad.add_tangents(zero, X), m.ad.add_tangents(X, Y)),
        "zeros": lambda: m.ad.instantiate_zeros(zero),
    }


def test_registries_have_the_rules_of_the_core() -> None:
    agree(of_the_core)
    m = modules(ox)
    assert isinstance(ox.lax.sin_p, m.core.Primitive)
    rules = m.batching
    axis = types.SimpleNamespace(size=2, name=None)
    for out, dim in (
        rules.primitive_batchers[ox.lax.sin_p]([MATRIX], [0]),
        rules.axis_primitive_batchers[ox.lax.sin_p](2, None, None, [MATRIX], [0]),
        rules.fancy_primitive_batchers[ox.lax.sin_p](axis, [MATRIX], [0]),
    ):
        assert dim == 0
        np.testing.assert_allclose(out, np.sin(MATRIX), rtol=1e-6)


def test_a_lowering_of_one_platform() -> None:
    m = modules(ox)
    own = m.core.Primitive("own")
    own.def_abstract_eval(lambda x, **params: x)
    m.mlir.register_lowering(own, lambda ctx, x: [stablehlo.add(x, m.mlir.ir_constant(X))])
    m.mlir.register_lowering(own, lambda ctx, x: stablehlo.multiply(x, x), platform="gpu")
    np.testing.assert_array_equal(ox.jit(own.bind)(Y), Y + X)
    text = ox.jit(own.bind).trace(Y).lower(ox.target("gpu", "h200")).as_text()
    assert "multiply" in text
    assert "add" not in text


def test_functions_with_other_primitives_of_one_name_are_lowered_apart() -> None:
    m = modules(ox)

    def own(by: float) -> Any:
        primitive = m.core.Primitive("scaled")
        primitive.def_abstract_eval(lambda x: x)
        m.mlir.register_lowering(primitive, m.mlir.lower_fun(lambda x: [x * by]))
        return ox.jit(lambda x: primitive.bind(x))

    first, second = own(2.0), own(3.0)
    np.testing.assert_array_equal(ox.jit(lambda x: first(x) + second(x))(X), 5 * X)


def programs(jx: Any, m: types.SimpleNamespace) -> Uses:
    jaxpr = jx.make_jaxpr(lambda x, y: (x * 2, jx.numpy.sin(y)))(1.0, 2.0).jaxpr
    aval = m.ShapedArray((3,), np.dtype("float32"))

    def wrapped(fun: Callable[..., Any], *args: Any) -> Any:
        debug = jax.api_util.debug_info("test", fun, args, {})
        return m.linear_util.wrap_init(fun, debug_info=debug)

    def partial() -> Any:
        known, unknown = m.partial_eval.PartialVal.known, m.partial_eval.PartialVal.unknown
        jaxpr, values, _ = m.partial_eval.trace_to_jaxpr_nounits(
            wrapped(lambda x, y: [x + 1, x * y], X, X), [known(jx.numpy.asarray(X)), unknown(aval)]
        )
        assert len(jaxpr.eqns) == 1
        return [int(x.is_known()) for x in values], values[0].get_known()

    def dead(**options: Any) -> Any:
        program, used = m.partial_eval.dce_jaxpr(jaxpr, [False, True], **options)
        return len(program.eqns), len(program.invars), [*map(int, used)]

    def staged() -> Any:
        fun = wrapped(lambda x: [jx.numpy.sin(x) * X], X)
        jaxpr, avals, consts = m.partial_eval.trace_to_jaxpr_dynamic(fun, [aval])
        return len(jaxpr.eqns), avals[0].shape, consts

    return {"dead": dead, "kept": lambda: dead(instantiate=True), "partial": partial,
            "staged": staged, "linear_util": lambda: transformed(m, wrapped)}  # fmt: skip


def transformed(m: types.SimpleNamespace, wrapped: Callable[..., Any]) -> Any:
    @m.linear_util.transformation
    def doubled(*args: Any) -> Any:
        out = yield args, {}
        yield 2 * out

    @m.linear_util.transformation2
    def shifted(f: Any, by: int, *args: Any) -> Any:
        return f(*args) + by

    @m.linear_util.transformation_with_aux
    def counted(*args: Any) -> Any:
        out = yield args, {}
        yield out, len(args)

    fun, aux = counted(shifted(doubled(wrapped(lambda x: x + 1, 1)), 10))
    result = fun.call_wrapped(3), aux()
    assert m.linear_util.merge_linear_aux(aux, counted(fun)[1]) == (True, 1)
    return result


def test_programs_and_functions_with_transformations() -> None:
    agree(programs)


def test_absent_and_wrong_rules() -> None:
    m = modules(ox)
    own = m.core.Primitive("own")
    absent = [
        (lambda: own.bind(X), "Evaluation rule for 'own' not implemented"),
        (lambda: ox.jit(own.bind)(X), "Abstract evaluation for 'own' not implemented"),
        (lambda: ox.jvp(own.bind, (X,), (X,)), "Differentiation rule for 'own' not"),
        (lambda: ox.vmap(own.bind)(X), "Batching rule for 'own' not implemented"),
        (lambda: m.ad.get_primitive_transpose(own), "Transpose rule .* for 'own' not"),
    ]
    for call, text in absent:
        with pytest.raises(NotImplementedError, match=text):
            call()
    own.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'own'"):
        ox.jit(own.bind)(X)
    constant = m.mlir.ir_constant
    wrong: list[tuple[Callable[..., Any], str]] = [
        (lambda ctx, x: [x, x], "must return 1 values"),
        (lambda ctx, x: 3, "values of MLIR"),
        (lambda ctx, x: [constant(1.0)], "returned a value tensor<f32>"),
    ]
    for rule, text in wrong:
        m.mlir.register_lowering(own, rule)
        with pytest.raises(ox.errors.LoweringError, match=text):
            ox.jit(own.bind)(X)
    m.batching.defvectorized(own)
    with pytest.raises(ValueError, match="mapped over the same axis"):
        ox.vmap(lambda x, y: own.bind(x, y), (0, None))(X, Y)
    with pytest.raises(KeyError):
        m.ad.primitive_jvps[m.core.Primitive("other")]
