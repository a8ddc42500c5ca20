"""The hash of random numbers: functions of other frameworks that are raised to it, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus_core.execution.eager  # noqa: F401 - the trace outside of programs
from olympus_core.base.avals import shaped
from olympus_core.base.context import enable_x64
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.olympuspr import Olympuspr, sub_programs
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.threefry import threefry2x32, threefry2x32_p
from olympus_core.primitives.word_expressions import compute_same_words
from olympus_core.raising.raising import raise_module
from olympus_core.transforms.evaluate import evaluate

WORD = jax.ShapeDtypeStruct((), "uint32")
WORDS = jax.ShapeDtypeStruct((5,), "uint32")


def raised(fun: Callable[..., Any], *args: Any, platform: str = "cpu") -> Olympuspr:
    """Return the program raised from JAX's module of a function."""
    lowered = jax.jit(fun).trace(*args).lower(lowering_platforms=(platform,))
    return raise_module(mlir.parsed(str(lowered.compiler_ir())))


def names(program: Olympuspr) -> set[str]:
    """Return the primitives of a program and of the programs in it."""
    return {
        name
        for eqn in program.eqns
        for name in {eqn.primitive.name}.union(*[names(p) for p in sub_programs(eqn)])
    }


@pytest.mark.parametrize("platform", ["cpu", "tpu"])  # a loop over the rounds, and no loop
@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.bits(key, (3, 4)),
        lambda key: jax.random.split(key),
        lambda key: jax.random.fold_in(key, 3),
        lambda key: jax.vmap(lambda k: jax.random.uniform(k, (2,)))(jax.random.split(key, 3)),
    ],
    ids=["bits", "split", "fold_in", "batched"],
)
def test_the_hash_of_jax_is_one_primitive(draw: Callable[[Any], Any], platform: str) -> None:
    key = jax.random.PRNGKey(7)
    program = raised(draw, key, platform=platform)
    assert "threefry2x32" in names(program)
    assert "while" not in names(program)
    with enable_x64():
        (result,) = evaluate(program, [np.asarray(key)])
    np.testing.assert_array_equal(result, draw(key))


def written(
    rotations: tuple[tuple[int, ...], ...] = ((13, 15, 26, 6), (17, 29, 16, 24)),
    groups: int = 5,
    swapped: bool = False,
) -> Callable[..., Any]:
    """Return the hash as a user may write it, with other constants."""

    @jax.jit
    def mix(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
        keys = (k1, k1 ^ k0 ^ jnp.uint32(0x1BD11BDA), k0)
        x0, x1 = k0 + x0, k1 + x1
        for group in range(groups):
            for bits in rotations[group % 2]:
                x0 = x1 + x0
                x1 = (x1 >> jnp.uint32(32 - bits)) | (x1 << jnp.uint32(bits))
                x1 = x1 ^ x0
            x0, x1 = x0 + keys[group % 3], keys[(group + 1) % 3] + jnp.uint32(group + 1) + x1
        return (x1, x0) if swapped else (x0, x1)

    return lambda *words: mix(*words)


def test_the_hash_under_another_name_is_the_same_primitive() -> None:
    assert names(raised(written(), WORD, WORD, WORDS, WORDS)) == {"threefry2x32"}


@pytest.mark.parametrize(
    "other",
    [
        written(rotations=((13, 15, 26, 6), (17, 29, 16, 23))),
        written(groups=4),
        written(swapped=True),
        lambda k0, k1, x0, x1: written()(k0, k1, x1, x0)[::-1],
        lambda *words: jax.jit(lambda k0, k1, x0, x1: (x0[::-1] + k0, x1 ^ k1))(*words),
        lambda *words: jax.jit(lambda k0, k1, x0, x1: (x0 * k0, x1 // (k1 | 1)))(*words),
        lambda *words: jax.jit(
            lambda k0, k1, x0, x1: jax.lax.while_loop(
                lambda c: jnp.all(c[0] > k0), lambda c: (c[0] - 1, c[1]), (x0, x1 + k1)
            )
        )(*words),
    ],
)
def test_another_function_of_words_is_not_the_hash(other: Callable[..., Any]) -> None:
    drawn = np.random.default_rng(0).integers(0, 2**32, (4, 5), "uint32")
    args = [drawn[0, 0], drawn[1, 0], drawn[2] >> 28, drawn[3]]
    program = raised(other, WORD, WORD, WORDS, WORDS)
    with enable_x64():
        results = evaluate(program, args)
    for mine, theirs in zip(results, jax.tree.leaves(other(*map(jnp.asarray, args))), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    if names(program) == {"threefry2x32"}:  # the hash itself, with its operands exchanged
        assert [eqn.primitive for eqn in program.eqns] == [threefry2x32_p]


def test_words_that_change_their_place_have_no_expression() -> None:
    hashed = threefry2x32((), (5,), (5,))
    turned = raised(lambda a, b, x, y: (y[::-1], x), WORD, WORD, WORDS, WORDS)
    assert compute_same_words(hashed, hashed)
    assert not compute_same_words(turned, turned)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([((), "int32"), *[((), "uint32")] * 3], DTypeError),
        ([((), "uint32"), ((), "uint32"), ((3,), "uint32"), ((4,), "uint32")], ShapeError),
        ([((), "uint32"), ((), "uint32"), ((2, 3), "uint32"), ((3,), "uint32")], ShapeError),
    ],
)
def test_operands_that_are_no_words_of_one_shape(words: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="threefry2x32 needs"):
        threefry2x32_p.abstract(*[shaped(shape, np.dtype(dtype)) for shape, dtype in words])
