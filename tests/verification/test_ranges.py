"""Results for inputs of other sizes: unstable programs fail, and sound ones do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax, nn
from olympus.verification import Ranges, judge_ranges, runner
from tests.verification.programs import PROGRAMS, f32


def naive_softmax(x):
    e = jnp.exp(x)
    return e / e.sum(-1, keepdims=True)


def multiplied_softmax(x):
    e = jnp.exp(x)
    return e * (1 / e.sum(-1, keepdims=True))


def naive_attention(x, w):
    return naive_softmax(x @ w) @ w.T


UNSTABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "softmax": (naive_softmax, "div"),
    "softmax by a product": (multiplied_softmax, "mul"),
    "log softmax": (lambda x: jnp.log(nn.softmax(x)), "log"),
    "logsumexp": (lambda x: jnp.log(jnp.exp(x).sum(-1)), "log"),
    "softplus": (lambda x: jnp.log1p(jnp.exp(x)), "log1p"),
    "log sigmoid": (lambda x: jnp.log(nn.sigmoid(x)), "log"),
    "tanh": (lambda x: jnp.sinh(x) / jnp.cosh(x), "div"),
    "in a loop": (lambda x: lax.map(naive_softmax, x), "div"),
    "gradient": (olympus.grad(lambda x: jnp.log1p(jnp.exp(x)).sum()), "mul"),
}

SOUND: dict[str, Callable[..., Any]] = {
    "softmax": nn.softmax,
    "log softmax": nn.log_softmax,
    "logsumexp": lambda x: nn.logsumexp(x, axis=-1),
    "softplus": nn.softplus,
    "sigmoid and its logarithm": lambda x: (nn.sigmoid(x), nn.log_sigmoid(x)),
    "activations": lambda x: (nn.gelu(x), nn.elu(x), nn.silu(x), jnp.tanh(x)),
    "gradients": olympus.grad(lambda x: (nn.softplus(x) + nn.elu(x) + nn.log_softmax(x)).sum()),
    "mean of exponentials": lambda x: jnp.exp(x).mean(),
    "scaled exponentials": lambda x: jnp.exp(x) * 1e-3,
    "gaussian": lambda x: jnp.exp(-x * x),
    "logarithm of inputs": jnp.log,
    "masked": lambda x: jnp.where(x > 0, x, -jnp.inf),
    "layer norm": lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1)[:, None] + 1e-5),
    "unit length": lambda x: x / jnp.sqrt((x * x).sum()),
    "long product": lambda x: jnp.prod(x, axis=-1),
}


def judged(function: Callable[..., Any], *args: Any, **options: Any) -> Ranges:
    traced = olympus.jit(function).trace(*args)
    inputs = [np.asarray(x) for x in olympus.tree.leaves(args)]
    compiled = traced.lower().compile()

    def program(arrays: Sequence[Any]) -> list[Any]:
        given, named = olympus.tree.unflatten(compiled.in_tree, arrays)
        return [np.asarray(x) for x in olympus.tree.leaves(compiled(*given, **named))]

    varied = [True] * len(inputs)
    return judge_ranges(traced, inputs, program(inputs), varied, program, run=runner(), **options)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float16"])
@pytest.mark.parametrize("name", UNSTABLE)
def test_an_unstable_program_fails(name: str, dtype: str) -> None:
    function, operation = UNSTABLE[name]
    found = judged(function, (f32(8, 16) / 10).astype(jnp.dtype(dtype)))
    failed = [fault for fault in found.faults if fault.fails]
    assert failed, found
    check = failed[0].check()
    assert check.comparison.mismatches > 0
    assert "and float64 has none" in str(check.why)
    assert failed[0].finding is not None
    assert failed[0].finding.kind == "exponential"
    assert failed[0].finding.operation in (operation, "div")
    assert failed[0].finding.location


def test_an_exponential_of_a_product() -> None:
    found = judged(naive_attention, f32(8, 16), f32(16, 16))
    assert [fault.fails for fault in found.faults] == [True]


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float16"])
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_program_does_not_fail(name: str, dtype: str) -> None:
    found = judged(SOUND[name], (f32(8, 16) / 10).astype(jnp.dtype(dtype)))
    assert found.draws
    assert not [fault for fault in found.faults if fault.fails]


#: its loop ends when a float is small enough, which it may never be
_ENDLESS = "newton"


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != _ENDLESS])
def test_a_right_program_does_not_fail(name: str) -> None:
    function, args = PROGRAMS[name]
    assert not [fault for fault in judged(function, *args).faults if fault.fails]


def test_a_program_that_leaves_the_range_otherwise_is_noted() -> None:
    """A product of two large logits overflows; the softmax after it would be finite."""
    found = judged(lambda x: nn.softmax((x @ x) ** 9), f32(16, 16))
    assert [fault.fails for fault in found.faults]
    assert not any(fault.fails for fault in found.faults)
    assert found.faults[0].finding is not None
    assert found.faults[0].finding.kind == "overflow"


def test_draws_are_those_of_the_seed() -> None:
    x = f32(8, 16) / 10
    first, second = judged(naive_softmax, x, seed=3), judged(naive_softmax, x, seed=3)
    assert first.draws == second.draws
    assert first.faults[0].got.tobytes() == second.faults[0].got.tobytes()


def test_allowed_kinds_and_integers_are_not_judged() -> None:
    x = f32(8, 16) / 10
    assert not judged(naive_softmax, x, allow=("nan",)).faults
    assert not judged(lambda x: jnp.argmax(naive_softmax(x), -1), x).draws
    assert not judged(lambda n: n * 2, np.arange(4, dtype="i4")).draws


def test_a_fault_of_the_compiled_program_alone_is_noted() -> None:
    """The compiled program gives a NaN that its operations do not."""
    traced = olympus.jit(lambda x: x * 2).trace(f32(4))
    x = np.float32([1, 2, 3, 4])

    def program(arrays: Sequence[Any]) -> list[Any]:
        return [np.where(np.abs(arrays[0]) > 50, np.nan, arrays[0] * 2).astype("f4")]

    found = judge_ranges(traced, [x], program([x]), [True], program, run=lambda p, i: program(i))
    assert not found.faults[0].fails
    assert found.faults[0].finding is not None
    assert found.faults[0].finding.kind == "compiled"


def test_an_edge_that_rounding_reaches_does_not_fail() -> None:
    """The largest part of a softmax rounds to 1 in bfloat16, and erf_inv(1) is infinite."""
    x = (f32(6, 6) / 10).astype(jnp.bfloat16)
    found = judged(lambda x: (lax.erf_inv(nn.softmax(x)), jnp.round(nn.softmax(x) * 10)), x)
    assert found.faults
    assert not any(fault.fails for fault in found.faults)
