"""Padded rows: programs that are proved keep their rows apart, and others are refused by line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax, nn
from olympus.errors import PaddingError, UsageError
from olympus.verification import prove_rows_independent

RNG = np.random.default_rng(7)
SIZES = (8, 7)


class Case(NamedTuple):
    """A function, and its arguments: a shape with None for the rows, or an array without rows."""

    function: Callable[..., Any]
    shapes: tuple[tuple[int | None, ...], ...] = ((None, 4),)
    fills: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    reason: str = ""


def case(function: Callable[..., Any], *shapes: tuple[int | None, ...], **rest: Any) -> Case:
    return Case(function, shapes or ((None, 4),), **rest)


MASKED = {"fills": ("zeros", "mask"), "dtypes": ("float32", "bool")}


def masked(function: Callable[..., Any], **rest: Any) -> Case:
    return Case(function, ((None, 4), (None,)), **MASKED, **rest)


def attention(q: Any, k: Any, v: Any, valid: Any) -> Any:
    scores = jnp.where(valid[None, None, :], jnp.einsum("bqd,bkd->bqk", q, k), -jnp.inf)
    return jnp.einsum("bqk,bkd->bqd", nn.softmax(scores), jnp.where(valid[None, :, None], v, 0))


def heads(x: Any) -> Any:
    flat = jnp.tanh(x.reshape(-1, 4))
    return flat.reshape(x.shape[0], 3, 2, 2).transpose(2, 0, 1, 3)


def solve(row: Any) -> Any:
    return jnp.linalg.solve(jnp.outer(row, row) + jnp.eye(4), row)


PROVED = {
    "a dense layer": case(lambda x: nn.softmax(jnp.tanh(x @ jnp.ones((4, 5))))),
    "a sum of zeros": case(lambda x: x.sum(0)),
    "a mean along a row": case(lambda x: x.mean(1) + jnp.var(x, 1) + jnp.median(x, 1)),
    "a masked mean": masked(lambda x, m: jnp.where(m[:, None], x, 0).sum(0) / m.sum()),
    "a product with a mask": masked(lambda x, m: (x * m[:, None]).sum(0)),
    "a masked maximum": masked(lambda x, m: jnp.where(m[:, None], x, -jnp.inf).max(0)),
    "a masked minimum": masked(lambda x, m: jnp.where(m[:, None], x, jnp.inf).min(0)),
    "a masked position": masked(lambda x, m: jnp.argmax(jnp.where(m[:, None], x, -jnp.inf), 0)),
    "a masked softmax": masked(lambda x, m: nn.softmax(jnp.where(m[:, None], x, -jnp.inf), axis=0)),
    "a masked variance": masked(
        lambda x, m: ((x - (x * m[:, None]).sum(0) / m.sum()) ** 2 * m[:, None]).sum(0)
    ),
    "where=": masked(lambda x, m: jnp.mean(x, axis=0, where=m[:, None])),
    "all and any": masked(
        lambda x, m: ((x > 9) & m[:, None]).any(0) | ((x < 9) | ~m[:, None]).all(0)
    ),
    "the first row": case(lambda x: x[0]),
    "a cumulative sum": case(lambda x: jnp.cumsum(x, 0) + jnp.cumsum(x, 0)[:1]),
    "a cumulative sum from the end": case(lambda x: lax.cumsum(x, 0, reverse=True)),
    "a sort of each row": case(lambda x: jnp.sort(x, 1) + lax.top_k(x, 2)[0][:, :1]),
    "reshapes and a transpose": case(heads, (None, 3, 4)),
    "a scan in time": case(
        lambda x: lax.scan(lambda c, _: (jnp.tanh(c * 2), c.sum(1)), x, length=3)
    ),
    "a scan over another axis": case(
        lambda x: lax.scan(lambda c, y: (c + y, c), jnp.zeros(x.shape[0]), x.T), (None, 4)
    ),
    "a loop with a condition on all rows": case(
        lambda x: lax.while_loop(lambda c: jnp.any(c > 1), lambda c: c * 0.5, jnp.abs(x))
    ),
    "a branch": case(lambda x, i: lax.cond(i[0] > 0, jnp.sin, lambda x: x + 1, x), (None, 4), (1,)),
    "products of rows": case(lambda x: (x @ x.T, x.T @ x)),
    "an embedding": case(lambda e, t: e[t], (10, 4), (None, 6), dtypes=("float32", "int32")),
    "one-hot": case(lambda t: nn.one_hot(t, 5), (None,), dtypes=("int32",)),
    "cross entropy": case(
        lambda x, y: -jnp.take_along_axis(nn.log_softmax(x), y[:, None], 1)[:, 0],
        (None, 4),
        (None,),
        dtypes=("float32", "int32"),
    ),
    "vmap of a solution": case(olympus.vmap(solve)),
    "a convolution": case(
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"), (None, 3, 8, 8), (4, 3, 3, 3)
    ),
    "pooling": case(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2), (1, 1, 2), "VALID"),
        (None, 3, 4),
    ),
    "gradients of each row": case(
        lambda x, w: olympus.vmap(olympus.grad(lambda r: jnp.tanh(r @ w).sum()))(x), (None, 4), (4,)
    ),
    "attention with a mask": case(
        attention,
        *((2, None, 4),) * 3,
        (None,),
        fills=("zeros",) * 3 + ("mask",),
        dtypes=("float32",) * 3 + ("bool",),
    ),
    "attention in each row": case(
        lambda q, k: nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k)), *((None, 5, 4),) * 2
    ),
    "the number of each row": case(lambda x: x + jnp.arange(x.shape[0])[:, None]),
    "columns replaced": case(lambda x: jnp.pad(jnp.asarray(x).at[:, 0].set(1.0), ((0, 0), (1, 1)))),
    "parts joined": case(lambda x: jnp.concatenate([x, jnp.stack([x[:, 0], x[:, 1]], 1)], 1)),
    "a custom derivative": case(lambda x: nn.relu(x) + nn.gelu(x) + nn.silu(x)),
    "the edge": case(lambda x: x * 2, fills=("edge",)),
    "fft of each row": case(lambda x: jnp.abs(jnp.fft.fft(x))),
}

REFUSED = {
    "the mean": case(lambda x: x.mean(0), reason="'div' has the operand 8.0 and 7.0"),
    "the maximum": case(lambda x: x - x.max(0), reason="padded rows have the value 0.0"),
    "the sum of an edge": case(lambda x: x.sum(0), fills=("edge",), reason="unknown values"),
    "a sum of unknown rows": case(lambda x: jnp.cos(x).sum(0), reason="have the value 1.0"),
    "reversed rows": case(lambda x: x[::-1], reason="it reverses the rows"),
    "the second row": case(lambda x: x[1], reason="it takes a part of the rows"),
    "the last row": case(lambda x: x[-1], reason="'start_indices' of 'slice' has other values"),
    "a sort": case(lambda x: jnp.sort(x, 0), reason="it sorts the rows"),
    "a transposed reshape": case(lambda x: x.T.reshape(-1), reason="not the leading axis"),
    "columns of rows": case(lambda x: x.reshape(2, -1), reason="not the leading axis"),
    "a scan over the rows": case(
        lambda x: lax.scan(lambda c, y: (c + y, c), jnp.zeros(4), x), reason="iterates"
    ),
    "a loop on unknown rows": case(
        lambda x: lax.while_loop(lambda c: jnp.any(c > 1), lambda c: c * 0.5, jnp.cos(x) * 2),
        reason="padded rows have",
    ),
    "the number of rows": case(lambda x: x * x.shape[0], reason="'mul' has the operand"),
    "another program for few rows": case(
        lambda x: x * 2 if x.shape[0] > 7 else x + 1, reason="the program has other operations"
    ),
    "random numbers": case(
        lambda x: x * olympus.random.uniform(olympus.random.key(0), x.shape), reason="not known"
    ),
    "a sum of ones": case(
        lambda x: x + jnp.ones(x.shape[0]).sum(), reason="padded rows have the value 1.0"
    ),
    "rows appended": case(lambda x: jnp.concatenate([x, x]), reason="appends"),
    "rows scattered": case(
        lambda x, i: jnp.zeros((5, 4)).at[i].add(x),
        (None, 4),
        (None,),
        dtypes=("float32", "int32"),
        reason="several rows of the updates",
    ),
    "a power of the number of rows": case(
        lambda x: x ** x.shape[0], reason="the parameter 'y' of 'integer_pow' has other values"
    ),
    "a shift by the number of rows": case(
        lambda x, w: lax.pad(w, 0.0, ((x.shape[0], -x.shape[0], 0),)),
        (None,),
        (12,),
        reason="'padding_config' of 'pad' has other values",
    ),
    "a window of the number of rows": case(
        lambda x, w: lax.reduce_window(w, 0.0, lax.add, (x.shape[0],), (1,), ((x.shape[0], 0),)),
        (None,),
        (12,),
        reason="'window_dimensions' of 'reduce_window_sum' has other values",
    ),
    "a part of a table, moved at its end": case(
        lambda x, t, i: x + lax.dynamic_slice(t, (i[0], 0), x.shape),
        (None, 4),
        (12, 4),
        (1,),
        dtypes=("float32", "float32", "int32"),
        reason="its place depends on the length",
    ),
    "parts of a table, moved at its end": case(
        lambda x, t, i: x + olympus.vmap(lambda j: lax.dynamic_slice(t, (j, 0), x.shape[1:]))(i),
        (2, None, 4),
        (12, 4),
        (2,),
        dtypes=("float32", "float32", "int32"),
        reason="its place depends on the length",
    ),
    "parts of a cache replaced": case(
        lambda c, x, i: olympus.vmap(lambda c, x, i: lax.dynamic_update_slice(c, x, (i, 0)))(
            c, x, i
        ),
        (2, 12, 4),
        (2, None, 4),
        (2,),
        dtypes=("float32", "float32", "int32"),
        reason="it replaces a part whose length is the number of rows",
    ),
    "exp before a mask": case(
        lambda x, m: (jnp.exp(x - jnp.where(m > 0, x, -jnp.inf).max()) * m).sum(),
        (None,),
        (None,),
        fills=("zeros", "mask"),
        reason="padded rows have unknown values",
    ),
    "a quotient by padded rows before a mask": case(
        lambda x, m, w: (w.sum() / x * m).sum(),
        (None,),
        (None,),
        (3,),
        fills=("zeros", "mask", "zeros"),
        reason="padded rows have unknown values",
    ),
    "an infinite row before a mask": case(
        lambda x, m, w: (w.sum() * jnp.where(m > 0, x, jnp.inf) * m).sum(),
        (None,),
        (None,),
        (3,),
        fills=("zeros", "mask", "zeros"),
        reason="padded rows have unknown values",
    ),
    "a quotient of integers": case(
        lambda x, d: lax.div(x, d[0]).sum(),
        (None,),
        (1,),
        dtypes=("int32", "int32"),
        reason="padded rows have unknown values",
    ),
    "rows chosen": case(
        lambda x, i: x[i], (None, 4), (3,), dtypes=("float32", "int32"), reason="choose among"
    ),
    "unmasked values": case(
        lambda q, k, v, m: (
            attention(q, k, v, m) * 0 + jnp.einsum("bqd,bkd->bq", q, jnp.cos(k))[..., None]
        ),
        *((2, None, 4),) * 3,
        (None,),
        fills=("zeros",) * 3 + ("mask",),
        dtypes=("float32",) * 3 + ("bool",),
        reason="it combines the rows",
    ),
    "a kernel from rows": case(
        lambda x: lax.conv_general_dilated(x[None, None], x[None, None], (1, 1), "VALID"),
        reason="window",
    ),
    "an array of the program": case(
        lambda x: x + np.arange(float(x.shape[0]), dtype=np.float32)[:, None], reason="elements"
    ),
    "a matrix of rows": case(
        lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(x.shape[0])), reason="those of a matrix"
    ),
}


def arguments(case: Case, rows: int) -> list[np.ndarray[Any, Any]]:
    """Arrays without zeros and of any sign; integers from 0 to 3; a mask is True."""
    dtypes = case.dtypes or ("float32",) * len(case.shapes)
    arrays = []
    for shape, dtype in zip(case.shapes, dtypes, strict=True):
        full = [rows if n is None else n for n in shape]
        if dtype == "bool":
            arrays.append(np.ones(full, bool))
        elif dtype == "int32":
            arrays.append(RNG.integers(0, 4, full).astype(dtype))
        else:
            arrays.append(RNG.standard_normal(full).astype(dtype))
    return arrays


def prove(case: Case) -> Any:
    jitted = olympus.jit(case.function)
    traces = [jitted.trace(*arguments(case, n)) for n in SIZES]
    return prove_rows_independent(*traces, SIZES, case.fills)


def padded(x: Any, axes: Any, rows: int, fill: str) -> Any:
    for axis, multiple in axes.items():
        widths = [(0, 0)] * x.ndim
        widths[axis] = (0, SIZES[0] * multiple - rows * multiple)
        x = np.pad(x, widths, mode="edge" if fill == "edge" else "constant")
    return x


@pytest.mark.parametrize("name", PROVED)
def test_a_proved_program_has_the_results_without_padding(name: str) -> None:
    case = PROVED[name]
    proved = prove(case)
    compiled = olympus.jit(case.function).lower(*arguments(case, SIZES[0])).compile()
    fills = case.fills or ("zeros",) * len(case.shapes)
    for rows in (1, 3, 8):
        values = arguments(case, rows)
        whole = [padded(*x, rows, f) for *x, f in zip(values, proved.arguments, fills, strict=True)]
        results = olympus.tree.leaves(compiled(*whole))
        direct = olympus.tree.leaves(case.function(*values))
        for axes, got, want in zip(proved.results, results, direct, strict=True):
            part = np.asarray(got)
            for axis, multiple in axes.items():
                part = part.take(range(rows * multiple), axis)
            np.testing.assert_allclose(part, np.asarray(want), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_mixes_rows_is_refused_by_line(name: str) -> None:
    case = REFUSED[name]
    with pytest.raises(PaddingError) as caught:
        prove(case)
    assert case.reason in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 3
    if "an array in the program" not in str(caught.value):
        assert "test_proof.py:" in str(caught.value) or "elements" in case.reason


def test_programs_without_rows() -> None:
    traced = olympus.jit(lambda x: x).trace(np.ones(3))
    with pytest.raises(UsageError, match="no argument of"):
        prove_rows_independent(traced, traced, SIZES)
    other = olympus.jit(lambda x, y: x).trace(np.ones(3), np.ones(3))
    with pytest.raises(UsageError, match="other arguments"):
        prove_rows_independent(traced, other, SIZES)
