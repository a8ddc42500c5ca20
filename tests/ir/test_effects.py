"""Equations with an effect, and programs without them."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import debug, lax
from olympus.verification import verify
from olympus_core.ir.check import check
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.effects import inspections_in, without_inspections
from olympus_core.primitives.inspection import inspect_sharding_p
from tests.blocks.networks import WIDTH, layer, params


def refuse(_: Any) -> None:
    raise AssertionError("nothing was compiled")


def show(x: Any) -> None:
    debug.inspect_array_sharding(x, callback=refuse)


def program(f: Any, *args: Any) -> Any:
    return olympus.make_olympuspr(f)(*args)


def names(found: Any) -> list[str]:
    return [eqn.primitive.name for eqn in found.eqns]


def unread(x: Any) -> Any:
    """Each kind of nested program, of which nothing but an inspection is left."""

    def loop(c: Any, _: Any) -> Any:
        show(c)
        return c + 1, None

    def once(x: Any) -> Any:
        show(x)
        return jnp.sin(x)

    lax.scan(loop, x, None, length=2)
    lax.while_loop(lambda c: c[0] < 3, lambda c: loop(c, None)[0], x)
    lax.cond(x[0] < 3, once, lambda x: x, x)
    olympus.jit(lambda x: (once(x), jnp.cos(x)))(x)
    olympus.checkpoint(once)(x)
    return x


def test_what_has_an_effect_stays_and_is_not_merged() -> None:
    def f(x: Any) -> Any:
        show(x)
        jnp.cos(x)
        show(x)
        return jnp.sin(x) + jnp.sin(x)

    found = program(f, 1.0)
    (callback,) = {eqn.params["callback"] for eqn in found.eqns[:1]}
    twice = found.replace(eqns=[found.eqns[0], *found.eqns])  # the very same equation
    assert repr(callback) == "refuse"
    assert names(simplify(found)) == ["inspect_sharding", "inspect_sharding", "sin", "add"]
    assert names(simplify(twice)).count("inspect_sharding") == 3
    assert found.effects == {inspect_sharding_p} == found.eqns[0].effects
    assert not found.eqns[1].effects


def test_nested_programs_stay_for_their_effects_alone() -> None:
    found = program(unread, np.ones(3))
    check(found)
    simplified = simplify(found)
    check(simplified)
    kinds = ["scan", "while", "cond", "jit", "checkpoint"]
    assert [name for name in names(simplified) if name in kinds] == kinds
    jit = next(eqn for eqn in simplified.eqns if eqn.primitive.name == "jit")
    assert not jit.outputs
    assert names(jit.params["olympuspr"]) == ["inspect_sharding"]
    assert [eqn.primitive for eqn in inspections_in(simplified)] == [inspect_sharding_p] * 5


def test_a_program_without_effects_is_itself() -> None:
    pure = program(lambda x: olympus.jit(jnp.sin)(x), 1.0)
    assert without_inspections(pure) is pure
    assert not pure.effects


def test_effects_are_removed_from_nested_programs() -> None:
    found = without_inspections(program(unread, np.ones(3)))
    check(found)
    assert not found.effects
    assert list(inspections_in(found)) == []
    assert names(simplify(found)) == []


def test_a_nested_program_has_no_dead_equations_left() -> None:
    inner = olympus.jit(lambda x: (show(jnp.cos(x)), x + 1)[1])
    (jit,) = without_inspections(program(inner, 1.0)).eqns
    assert names(jit.params["olympuspr"]) == ["add"]


def test_a_program_that_is_called_twice_is_looked_at_once() -> None:
    inner = olympus.jit(lambda x: (show(x), x + 1)[1])
    assert len([*inspections_in(program(lambda x: inner(inner(x)), 1.0))]) == 1


def test_an_equation_without_results_is_written_alone() -> None:
    assert str(program(lambda x: (show(2 * x), x)[1], 1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = mul 2.0:f32[] a\n"
        "    inspect_sharding[callback=refuse] b\n"
        "  in (a,) }"
    )


def test_blocks_are_those_of_the_program_without_inspections() -> None:
    def deep(callback: Any) -> Any:
        def f(ps: Any, x: Any) -> Any:
            for p in ps:
                x = layer(p, x)
                callback(x)
            return x

        return olympus.jit(f).lower(params(4), np.ones((5, WIDTH), np.float32))

    lowered, plain = deep(show), deep(lambda x: None)
    assert lowered.blocks
    assert [b.equations for b in lowered.blocks] == [b.equations for b in plain.blocks]
    assert lowered.as_text() == plain.as_text()


def test_verification_takes_a_program_without_its_effects() -> None:
    x = np.linspace(0.0, 1.0, 3, dtype=np.float32)
    traced = olympus.jit(lambda x: (show(x), unread(jnp.sin(x)))[1]).trace(x)
    assert verify(traced, [x], [np.sin(x)]).passed
    wrong = verify(traced, [x], [np.cos(x)])
    assert not wrong.passed
