"""A program as arrays of numbers, and the kinds of its equations."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus as ox
from olympus_core.blocks.dataflow import Flow
from olympus_core.blocks.labels import Labels
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr, Var, kind_of
from tests.blocks.networks import traced

jnp = ox.numpy
X = np.ones((3, 4), np.float32)


def flow_of(fun: Any, *args: Any) -> Flow:
    return Flow(simplify(traced(fun, *args)), Labels())


def names(flow: Flow) -> list[str]:
    return [e.primitive.name for e in flow.eqns]


def test_operands_have_the_numbers_of_results_literals_and_other_variables() -> None:
    flow = flow_of(lambda x, y: jnp.sin(x) * y * 3.0 + jnp.sin(x), X, X)
    assert names(flow) == ["sin", "mul", "mul", "add"]
    x, y = flow.program.invars
    read = [[flow.variables[n] for n in flow.operands_of_equation(place)] for place in range(4)]
    sin, mul, scaled, _ = [e.outputs[0] for e in flow.eqns]
    assert read == [[x], [sin, y], [mul, None], [scaled, sin]]
    assert flow.operands[4] == -1  # the literal
    assert flow.number_of(x) < -1
    assert flow.last_uses.tolist() == [3, 2, 3, 4]
    assert flow.sizes.tolist() == [48] * 4


def test_labels_distinguish_parameters_types_and_literals() -> None:
    def many(x: Any, y: Any) -> Any:
        a = [x * 2.0, y * 2.0, x * 3.0, jnp.sum(x, 0), jnp.sum(y, 0), jnp.sum(x, 1)]
        return a, x * -0.0, y * 0.0, x[:2] * 2.0

    flow = flow_of(many, X, X)
    equal_labels = flow.labels[:, None] == flow.labels
    same = [(i, j) for i, j in np.argwhere(equal_labels).tolist() if i < j]
    pairs = [(flow.eqns[i].primitive.name, flow.eqns[j].primitive.name) for i, j in same]
    assert pairs == [("mul", "mul"), ("reduce_sum", "reduce_sum")]


def test_cheap_equations_of_constants_take_no_place() -> None:
    def masked(x: Any) -> Any:
        mask = jnp.arange(4) + 1 > 2
        return jnp.where(mask, x, 0.0), jnp.sin(jnp.arange(4.0))

    flow = flow_of(masked, X)
    assert "iota" not in names(flow)
    assert "sin" in names(flow)
    assert flow.is_free.sum() == len(flow.free)
    for value in map(flow.number_of, flow.free):
        assert flow.equation_of(value).outputs == (flow.variables[value],)
        assert all(x == -1 or flow.is_free[x] for x in flow.operands_of_value(value))


def test_results_of_one_equation_are_numbered_one_by_one() -> None:
    def body(c: Any, x: Any) -> Any:
        return c + x, jnp.sin(c)

    flow = flow_of(lambda x: jnp.cos(ox.lax.scan(body, x[0], x)[1]), X)
    scan = names(flow).index("scan")
    cos = names(flow).index("cos")
    (read,) = flow.operands_of_equation(cos)
    assert (flow.producer[read], flow.result[read]) == (scan, 1)
    assert flow.sizes[read] == 48
    assert flow.sizes[flow.first_result[scan]] == 16


def test_a_program_without_equations_has_empty_arrays() -> None:
    x = Var(ox.core.ShapedArray((3,), np.float32))
    flow = Flow(Olympuspr((x,), (), (x,)), Labels())
    assert (
        len(flow.labels) == len(flow.operands) == len(flow.program_results) == len(flow.sizes) == 0
    )


def test_equations_of_one_kind_have_the_same_one() -> None:
    def fun(x: Any, y: Any) -> Any:
        return jnp.sum(x, 0), jnp.sum(y, 0), jnp.sum(x, 1), jnp.cos(x)

    first, second, other, cos = traced(fun, X, X).eqns
    assert first.kind is second.kind is kind_of(first)
    assert len({first.kind, other.kind, cos.kind, None}) == 4
    by_hand = Eqn(first.primitive, first.inputs, first.outputs, dict(first.params), first.source)
    assert by_hand.kind is None
    assert kind_of(by_hand) is kind_of(first.replace(source=cos.source)) is first.kind
    assert first.reading(second.inputs).kind is first.kind


def test_an_equation_built_by_hand_is_merged_with_a_traced_one() -> None:
    program = traced(lambda x: jnp.sum(x, 0), X)
    (eqn,) = program.eqns
    out = Var(eqn.outputs[0].aval)
    again = Eqn(eqn.primitive, eqn.inputs, (out,), dict(eqn.params), eqn.source)
    twice = program.replace(eqns=[eqn, again], outvars=[eqn.outputs[0], out])
    assert simplify(twice).outvars == (eqn.outputs[0],) * 2


def test_equations_with_programs_are_not_cached() -> None:
    called = ox.jit(lambda x: jnp.sin(x) + 1)
    eqns = traced(lambda x, y: (called(x), called(y)), X, X).eqns
    assert [e.kind for e in eqns] == [None, None]
    assert not eqns[0].primitive._kinds
    labels = Labels()
    assert labels.kind(eqns[0]) == labels.kind(eqns[1])


def test_floats_that_are_compared_for_equality_are_known() -> None:
    def chosen(x: Any, y: Any) -> Any:
        doubled, shifted = x * 2.0, y + 1.0
        whole = (y > 0).astype("int32") * 2
        return doubled == shifted, x + 3.0 == 0.0, shifted * 2.0 < y, whole == jnp.flip(whole)

    flow = flow_of(chosen, X, X)
    compared = [flow.is_compared[flow.first_result[place]] for place in range(len(flow.eqns))]
    found = [e for e, flag in zip(flow.eqns, compared, strict=True) if flag]
    assert [e.primitive.name for e in found] == ["mul", "add"]
    assert found[0].outputs[0].aval.dtype == np.float32
    assert "2.0" in str(found[0].inputs)


def test_parameters_that_a_pass_sets_in_place_count() -> None:
    traced_twice = ox.jit(lambda x: (jnp.cumsum(x, 0), jnp.cumsum(x, 0))).trace(X)
    first, second = traced_twice.olympuspr.eqns
    assert kind_of(first) is kind_of(second)
    second.params["axis"] = 1
    assert kind_of(first) != kind_of(second)
    down, across = traced_twice.lower().compile()(X)
    np.testing.assert_array_equal(down, np.cumsum(X, 0))
    np.testing.assert_array_equal(across, np.cumsum(X, 1))


def test_equations_built_by_hand_are_not_typed() -> None:
    (add,) = traced(lambda x: x + x, X).eqns
    wrong = add.replace(inputs=(add.inputs[0], Var(ox.ShapeDtypeStruct((7,), "int32"))))  # type: ignore[arg-type]
    assert kind_of(wrong) != kind_of(add)


def test_arrays_in_programs_are_not_cached() -> None:
    from olympus_core.primitives.constant import constant_p

    def rule(_primals: Any, tangents: Any) -> Any:
        return _primals[0], tangents[0] * jnp.asarray(np.random.default_rng().random(3), "f4")

    identity = ox.custom_jvp(lambda x: x)
    identity.defjvp(rule)
    loss = ox.grad(lambda x: ox.lax.scan(lambda c, _: (identity(c), None), x, None, 2)[0].sum())
    traced(loss, np.ones(3, np.float32))
    assert not constant_p._kinds


def test_values_of_constants_alone_are_free_up_to_a_number_of_equations() -> None:
    def chain(x: Any) -> Any:
        total = jnp.ones(4)
        for _ in range(12):
            total = total * 1.5 + 0.5
        return x + total

    flow = flow_of(chain, X)
    assert names(flow)[-1] == "add"
    assert len(flow.free) == 8
    assert len(flow.eqns) + 8 == len(flow.program.eqns)
    first = flow.operands_of_equation(0)
    assert flow.is_free[first[0]]
    assert flow.equation_of(first[0]) is [*flow.free.values()][-1]
    assert flow.program_results.tolist() == [len(flow.eqns) - 1]


def test_like_values_are_read_together() -> None:
    flow = flow_of(lambda x, y: (jnp.sin(x) - jnp.cos(x), jnp.sin(y) - jnp.cos(y)), X, X)
    both = [flow.number_of(v) for v in flow.program.outvars]
    assert len({flow.label_of[n] for n in both}) == 1
    sines, cosines = flow.operands_of_equal_values(both)
    assert [flow.equation_of(n).primitive.name for n in (*sines, *cosines)] == [
        *["sin"] * 2,
        *["cos"] * 2,
    ]
    x, y = flow.program.invars
    assert flow.operands_of_equal_values(sines) == [(flow.number_of(x), flow.number_of(y))]


def test_programs_of_one_type_have_a_number_each_and_like_ones_the_same() -> None:
    def called(*operations: str) -> Olympuspr:
        def fun(x: Any) -> Any:
            for name in operations:
                x = getattr(jnp, name)(x)
            return x

        return simplify(traced(fun, X))

    programs = [called("sin", "cos"), called("cos", "sin"), called("sin", "cos"), called("cos")]
    for order in (programs, programs[::-1]):
        labels = Labels()
        numbers = {id(p): labels.of_program(p) for p in order}
        first, second, again, other = [numbers[id(p)] for p in programs]
        assert first == again
        assert len({first, second, other}) == 3
        assert labels.of_program(called("cos", "sin")) == second


def test_a_program_in_one_of_its_own_type_is_another() -> None:
    def outer(fun: Any) -> Any:
        called = ox.jit(fun)
        return traced(lambda x: called(x), X)

    inner = outer(jnp.sin)
    twice, other = (outer(lambda x, f=f: ox.jit(f)(x)) for f in (jnp.sin, jnp.cos))
    labels = Labels()
    assert len({labels.of_program(p) for p in (twice, inner, other)}) == 3
    assert labels.of_program(outer(lambda x: ox.jit(jnp.sin)(x))) == labels.of_program(twice)


def test_literals_that_are_the_same_are_one() -> None:
    def scaled(x: Any) -> Any:
        half = np.float32(0.5)
        return x * 0.5, jnp.sin(x) * half, x * 0.0, x * -0.0, x + 0.5, x * jnp.float32(0.5)

    program = simplify(traced(scaled, X))
    literals = [x for e in program.eqns for x in e.inputs if isinstance(x, Literal)]
    by_bits = {(x.aval, np.asarray(x.value).tobytes()): x for x in literals}
    assert len(set(literals)) == len(by_bits)
    assert {str(x.value) for x in literals} == {"0.5", "0.0", "-0.0"}

    (eqn,) = traced(lambda x: x * 2.0, X).eqns
    by_hand = [Literal(value, eqn.inputs[1].aval) for value in (2.0, 2.0, 3.0)]
    eqns = [
        eqn.replace(inputs=(eqn.inputs[0], x), outputs=(Var(eqn.outputs[0].aval),)) for x in by_hand
    ]
    outs = tuple(e.outputs[0] for e in eqns)
    first, second, third = simplify(Olympuspr((eqn.inputs[0],), tuple(eqns), outs)).outvars  # type: ignore[arg-type]
    assert first is second
    assert third is not first


def test_a_nan_of_the_other_sign_is_another_literal() -> None:
    def signs(x: Any) -> Any:
        return jnp.copysign(x, np.nan), jnp.copysign(x, -np.nan)

    plus, minus = ox.jit(signs)(np.ones(3, np.float32))
    np.testing.assert_array_equal(plus, [1, 1, 1])
    np.testing.assert_array_equal(minus, [-1, -1, -1])


def test_a_scalar_of_another_width_or_sign_is_another_literal() -> None:
    scalars = [
        np.float32(1),
        np.float16(1),
        np.int32(1),
        np.uint32(1),
        np.bool_(True),
        np.float32(-0.0),
    ]
    scalars += [np.float32(0.0), np.float32(1)]
    eqns = traced(lambda x: [jnp.where(x > 0, s, s) for s in scalars], X).eqns
    literals = [x for e in eqns for x in e.inputs if isinstance(x, Literal)]
    ones = [x for x in literals if x.aval.dtype == np.float32 and x.value == 1]
    assert len(ones) > 1
    assert len(set(ones)) == 1
    kinds = {(x.aval.dtype, np.asarray(x.value).tobytes()) for x in literals}
    assert len(set(literals)) == len(kinds) == 7
