"""The operators and methods of arrays, eager and traced."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import check, row

jnp = ox.numpy
Call = Callable[..., Any]

X = np.array([[1.5, -2.0, 3.0], [0.25, 4.0, -1.0]], "float32")
N = np.array([[3, -4, 5], [1, 2, -7]], "int32")
Z = np.array([1 + 2j, 3 - 1j], "complex64")

NAMES = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


def operators() -> dict[str, Call]:
    """Return rows of each operator between arrays, with scalars on either side and NumPy arrays."""
    table: dict[str, Call] = {}
    for name in NAMES:
        f = getattr(operator, name)
        table[name] = lambda x, n, z, f=f: f(abs(x), x)
        table[f"{name} scalar"] = lambda x, n, z, f=f: f(abs(x), 2)
        table[f"scalar {name}"] = lambda x, n, z, f=f: f(2.5, x)
        table[f"numpy {name}"] = lambda x, n, z, f=f: f(np.abs(X), x)
        table[f"{name} ints"] = lambda x, n, z, f=f: f(n, abs(n))
    for name in BITS:
        f = getattr(operator, name)
        table[name] = lambda x, n, z, f=f: f(n, abs(n) % 5)
        table[f"scalar {name}"] = lambda x, n, z, f=f: f(3, abs(n) % 5)
    return table


METHODS: dict[str, Call] = {
    "divmod": lambda x, n, z: divmod(x, 2),
    "rdivmod": lambda x, n, z: divmod(7, n),
    "matmul": lambda x, n, z: x @ n.T,
    "rmatmul": lambda x, n, z: X.T @ x,
    "unary": lambda x, n, z: [-x, +x, abs(x), ~n, abs(z)],
    "round": lambda x, n, z: [round(x), round(x, 1), x.round(1)],
    "getitem": lambda x, n, z: [x[0], x[:, 1:], x[..., None], x[n[1, :2] - 1]],
    "at": lambda x, n, z: [x.at[0, 1].set(9), x.at[1].add(1.0), x.at[:, 0].multiply(2)],
    "astype": lambda x, n, z: [x.astype("int32"), n.astype(bool), x.astype(np.float16)],
    "parts": lambda x, n, z: [z.real, z.imag, x.real, x.imag, z.conj(), z.conjugate()],
    "transposes": lambda x, n, z: [x.T, x.mT, x.transpose(1, 0), x.transpose((1, 0))],
    "reshape": lambda x, n, z: [x.reshape(3, 2), x.reshape((6,)), x.reshape(-1), x.reshape(2, -1)],
    "flat": lambda x, n, z: [x.ravel(), x.flatten(), x.swapaxes(0, 1), x[:1].squeeze(0)],
    "sums": lambda x, n, z: [x.sum(), x.sum(axis=0), x.prod(1), x.mean(0), x.var(), x.std(1)],
    "extrema": lambda x, n, z: [x.max(), x.min(0), x.argmax(), x.argmin(axis=1), x.ptp()],
    "logic": lambda x, n, z: [(x > 0).any(), (x > 0).all(axis=0)],
    "cumulative": lambda x, n, z: [x.cumsum(), x.cumsum(axis=1), n.cumprod(axis=0)],
    "clip": lambda x, n, z: [x.clip(0, 1), x.clip(min=0), x.clip(max=0)],
    "sorting": lambda x, n, z: [x.sort(), x.argsort(axis=0), x[0].sort().searchsorted(1.0)],
    "taking": lambda x, n, z: [x.take(np.array([0, 1])), x.repeat(2, axis=0), x.copy()],
    "diagonals": lambda x, n, z: [x.diagonal(), x.trace()],
    "products": lambda x, n, z: x.dot(n.T),
    "nonzero": lambda x, n, z: (x > 0).nonzero(size=4),
    "compress": lambda x, n, z: x.compress(np.array([True, False]), axis=0, size=1),
    "choose": lambda x, n, z: (n[0] % 2).choose([x[0], x[1]], mode="clip"),
    "view": lambda x, n, z: [x.view("int32"), x.view("int8"), n.view("uint16"), x.view(bool)],
    "view wider": lambda x, n, z: n.view("int8").view("int32"),
    "view complex": lambda x, n, z: [z.view("float32"), x[:, :2].view("complex64")],
    "view bool": lambda x, n, z: (x > 0).view("int8"),
}  # fmt: skip


@pytest.mark.parametrize("table", [operators(), METHODS], ids=["operators", "methods"])
def test_operators_and_methods_agree_with_jax(table: dict[str, Call]) -> None:
    rows = [
        row(name, lambda np, x, n, z, call=call: call(x, n, z), X, N, Z, rtol=1e-5)
        for name, call in table.items()
    ]
    check(rows)


def test_eager_operators_and_methods_agree_with_jax() -> None:
    calls: dict[str, Call] = {
        name: METHODS[name] for name in ("unary", "round", "at", "reshape", "transposes", "view")
    }
    rows = [
        row(
            name,
            lambda np, x, n, z, call=call: call(np.asarray(x), np.asarray(n), np.asarray(z)),
            X,
            N,
            Z,
        )
        for name, call in calls.items()
    ]
    check(rows, jit=False)


class Reflects:
    """A class with reflected operators for an array on its left."""

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def test_operands_of_other_classes_may_define_the_operator() -> None:
    x = jnp.ones(2)
    assert x + Reflects() == "radd"
    assert x @ Reflects() == "rmatmul"
    assert (x == Reflects()) is True
    assert (x == None) is False  # noqa: E711
    assert (x == "a") is False
    with pytest.raises(TypeError, match=r"operand type\(s\) for !=: 'Array' and 'list'"):
        x != [1, 2]  # noqa: B015
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None
    with pytest.raises(TypeError, match="not supported between"):
        x < [1, 2]  # noqa: B015


def test_arrays_cannot_be_written_to() -> None:
    x = jnp.ones(2)
    with pytest.raises(TypeError, match=r"x = x\.at\[idx\]\.set\(y\)"):
        x[0] = 1
    before = x
    x += 1
    np.testing.assert_array_equal(x, [2, 2])
    np.testing.assert_array_equal(before, [1, 1])


def test_views_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ValueError, match="its size must be a divisor of the total size in bytes"):
        jnp.ones(3, "int8").view("int16")
    with pytest.raises(ValueError, match=r"view\(\) of a 0d array is only supported if the"):
        jnp.float32(1).view("int8")


def test_bytes_of_arrays_and_values_from_devices() -> None:
    ours, theirs = ox.numpy.arange(6).reshape(2, 3), jax.numpy.arange(6).reshape(2, 3)
    assert (ours.tobytes(), ours.tobytes("F")) == (theirs.tobytes(), theirs.tobytes("F"))
    assert ours.byteswap().tolist() == theirs.byteswap().tolist()
    assert ox.device_get((2.5, True, "x")) == jax.device_get((2.5, True, "x")) == (2.5, True, "x")
    assert type(ox.device_get(ours)) is type(ox.device_get(np.float32(1))) is np.ndarray


def test_index_arrays_that_do_not_broadcast_are_a_value_error() -> None:
    for package in (ox, jax):
        x = package.numpy.ones((4, 5))
        with pytest.raises(ValueError, match="broadcast"):
            x[np.arange(2), np.arange(3)]


@pytest.mark.parametrize("call", [lambda x, y: x + y, lambda x, y: y * x, lambda x, y: x @ y])
@pytest.mark.parametrize(
    ("other", "words", "hint"),
    [
        ("3e-4", "an? .*array f32.2. and a str '3e-4'", "float"),
        ([1, 2], r"and \[1, 2\]", "olympus.numpy.array"),
        ((1, 2), r"and \(1, 2\)", "olympus.numpy.array"),
    ],
)
@pytest.mark.parametrize("transform", [lambda f: f, ox.jit], ids=["eager", "jit"])
def test_texts_and_sequences_are_not_operands(
    transform: Any, call: Any, other: Any, words: str, hint: str
) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        transform(lambda x: call(x, other))(ox.numpy.ones(2))
    assert hint in getattr(caught.value, "hint", "")


def test_a_sequence_is_repeated_by_an_integer() -> None:
    assert [0] * ox.numpy.array(3) == [0, 0, 0]
    assert "ab" * ox.numpy.array(2) == "abab"
