"""Arranging, joining, repeating, padding and choosing elements, against jax.numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
from olympus.errors import (
    ConcretizationTypeError,
    DTypeError,
    IndexingError,
    ShapeError,
    TraceError,
)
from tests.library.oracle import check, row

jnp = ox.numpy
Call = Callable[..., Any]

A = np.arange(24, dtype="float32").reshape(2, 3, 4)  # x in all tables
M = np.array([[3, 0, 1], [0, 5, 0]], "int32")  # m in all tables

ARRANGED: dict[str, Call] = {
    "reshape": lambda np, x, m: np.reshape(x, (4, -1)),
    "reshape int": lambda np, x, m: np.reshape(x, -1),
    "reshape F": lambda np, x, m: np.reshape(x, (4, 6), order="F"),
    "ravel": lambda np, x, m: np.ravel(x),
    "ravel F": lambda np, x, m: np.ravel(x, order="F"),
    "transpose": lambda np, x, m: np.transpose(x),
    "transpose axes": lambda np, x, m: np.transpose(x, (1, -1, 0)),
    "permute_dims": lambda np, x, m: np.permute_dims(x, (2, 0, 1)),
    "matrix_transpose": lambda np, x, m: np.matrix_transpose(x),
    "swapaxes": lambda np, x, m: np.swapaxes(x, 0, -1),
    "moveaxis": lambda np, x, m: np.moveaxis(x, (0, 1), (-1, 0)),
    "rollaxis": lambda np, x, m: np.rollaxis(x, 2, 1),
    "rollaxis up": lambda np, x, m: np.rollaxis(x, 0, 3),
    "expand_dims": lambda np, x, m: np.expand_dims(x, (0, -1)),
    "squeeze": lambda np, x, m: np.squeeze(x[:1]),
    "squeeze axis": lambda np, x, m: np.squeeze(x[:1, :1], 1),
    "broadcast_to": lambda np, x, m: np.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    "broadcast_arrays": lambda np, x, m: np.broadcast_arrays(x[0], m[:1, :1], 2),
    "atleast": lambda np, x, m: [np.atleast_1d(2), np.atleast_2d(m[0]), np.atleast_3d(m)],
    "atleast several": lambda np, x, m: np.atleast_2d(2.0, m),
    "flip": lambda np, x, m: np.flip(x),
    "flip axes": lambda np, x, m: [np.flip(x, (0, 2)), np.fliplr(m), np.flipud(m)],
    "rot90": lambda np, x, m: [np.rot90(m, k) for k in range(-1, 4)],
    "rot90 axes": lambda np, x, m: np.rot90(x, axes=(2, 1)),
    "concatenate": lambda np, x, m: np.concatenate([x, m[:, :, None].repeat(4, 2)], axis=1),
    "concatenate flat": lambda np, x, m: np.concatenate([x, m], axis=None),
    "concatenate dtype": lambda np, x, m: np.concatenate([m, m], dtype="float16"),
    "concatenate rows": lambda np, x, m: np.concatenate(x),
    "concat": lambda np, x, m: np.concat([m, m], axis=-1),
    "stack": lambda np, x, m: np.stack([m, m + 0.5], axis=-1),
    "stack scalars": lambda np, x, m: np.stack([1, 2.0, x[0, 0, 0]]),
    "unstack": lambda np, x, m: np.unstack(x, axis=1),
    "hstack": lambda np, x, m: [np.hstack([m, m]), np.hstack([m[0], m[1]]), np.hstack([1, 2])],
    "vstack": lambda np, x, m: [np.vstack([m, m[0]]), np.vstack([m[0], m[1]])],
    "dstack": lambda np, x, m: [np.dstack([m, m]), np.dstack([m[0], m[1]])],
    "column_stack": lambda np, x, m: np.column_stack([m.T, m[0]]),
    "block": lambda np, x, m: np.block([[m, m], [np.zeros((1, 6))]]),
    "block vector": lambda np, x, m: np.block([m[0], 1, m[1]]),
    "append": lambda np, x, m: [np.append(m, 7), np.append(m, m, axis=0)],
    "split": lambda np, x, m: np.split(x, 2, axis=2),
    "split indices": lambda np, x, m: np.split(x, [1, 3], axis=-1),
    "array_split": lambda np, x, m: np.array_split(x, 3, axis=2),
    "hvdsplit": lambda np, x, m: [np.hsplit(x, 3), np.vsplit(x, 2), np.dsplit(x, [1])],
    "hsplit vector": lambda np, x, m: np.hsplit(m[0], 3),
    "tile": lambda np, x, m: [np.tile(m, 2), np.tile(m[0], (2, 1, 2)), np.tile(m, (2,))],
    "repeat": lambda np, x, m: [np.repeat(m, 2), np.repeat(m, 2, axis=1), np.repeat(3, 2)],
    "repeat total": lambda np, x, m: np.repeat(m[0], m[0], total_repeat_length=6),
    "repeat total short": lambda np, x, m: np.repeat(m[0], m[0], total_repeat_length=3),
    "roll": lambda np, x, m: [np.roll(m, 2), np.roll(m, -1, 1), np.roll(x, (1, 2), (0, 2))],
    "roll twice": lambda np, x, m: np.roll(x, (1, 1), 2),
    "roll traced": lambda np, x, m: np.roll(x, m[0, 0], 2),
    "resize": lambda np, x, m: [np.resize(m, (3, 4)), np.resize(m, 2)],
    "delete": lambda np, x, m: [np.delete(m, 1), np.delete(m, -1, axis=1)],
    "delete slice": lambda np, x, m: np.delete(x, slice(0, 4, 2), axis=2),
    "delete list": lambda np, x, m: np.delete(x, np.s_[1:], axis=1),
    "delete traced": lambda np, x, m: np.delete(x, m[0, 1:], 2, assume_unique_indices=True),
    "insert": lambda np, x, m: [np.insert(m, 1, 9), np.insert(m, 1, 9, axis=1)],
    "insert block": lambda np, x, m: np.insert(m, 1, m[:1].T, axis=1),
    "insert several": lambda np, x, m: np.insert(m[0], np.array([0, -1]), np.array([7, 8])),
    "insert slice": lambda np, x, m: np.insert(m, slice(0, 2), 5, axis=0),
    "diff": lambda np, x, m: [np.diff(x), np.diff(m, axis=0), np.diff(x, 2)],
    "diff edges": lambda np, x, m: np.diff(m, prepend=1, append=m[:, :1]),
    "diff bool": lambda np, x, m: np.diff(m > 0),
    "ediff1d": lambda np, x, m: np.ediff1d(m, to_end=7, to_begin=np.array([1, 2])),
    "apply_over_axes": lambda np, x, m: np.apply_over_axes(np.sum, x, [0, 2]),
}  # fmt: skip

PADDED: dict[str, Call] = {
    "constant": lambda np, x, m: np.pad(m, 1),
    "constant pairs": lambda np, x, m: np.pad(m, ((1, 0), (2, 3)), constant_values=7),
    "constant values": lambda np, x, m: np.pad(m, 2, constant_values=((1, 2), (3, 4))),
    "constant pair": lambda np, x, m: np.pad(m, (1, 2), constant_values=(5, 6)),
    "edge": lambda np, x, m: np.pad(x, ((0, 1), (2, 0), (3, 1)), mode="edge"),
    "reflect": lambda np, x, m: np.pad(x[0], ((2, 5), (0, 7)), mode="reflect"),
    "reflect odd": lambda np, x, m: np.pad(x[0], (1, 2), mode="reflect", reflect_type="odd"),
    "reflect one": lambda np, x, m: np.pad(m[:, :1], 2, mode="reflect"),
    "symmetric": lambda np, x, m: np.pad(x[0], ((2, 5), (0, 9)), mode="symmetric"),
    "symmetric odd": lambda np, x, m: np.pad(x[0], 2, mode="symmetric", reflect_type="odd"),
    "wrap": lambda np, x, m: np.pad(x[0], ((2, 7), (9, 1)), mode="wrap"),
    "linear_ramp": lambda np, x, m: np.pad(x[0], (2, 3), mode="linear_ramp", end_values=(1, -1)),
    "maximum": lambda np, x, m: np.pad(m, 2, mode="maximum"),
    "minimum": lambda np, x, m: np.pad(x[0], 2, mode="minimum", stat_length=2),
    "mean": lambda np, x, m: np.pad(x[0], (1, 2), mode="mean", stat_length=((1, 2), (3, 4))),
    "mean of ints": lambda np, x, m: np.pad(m, 1, mode="mean"),
    "median": lambda np, x, m: np.pad(x[0], 1, mode="median"),
}

CHOSEN: dict[str, Call] = {
    "where one": lambda np, x, m: np.where(m, size=4),
    "where number": lambda np, x, m: np.where(m, 1, x[0, :2, :3]),
    "nonzero fill": lambda np, x, m: np.nonzero(m, size=5, fill_value=-1),
    "nonzero fills": lambda np, x, m: np.nonzero(m, size=5, fill_value=(-1, -2)),
    "nonzero short": lambda np, x, m: np.nonzero(m, size=2),
    "nonzero 0": lambda np, x, m: np.nonzero(m, size=0),
    "nonzero empty": lambda np, x, m: np.nonzero(m[:0], size=2),
    "flatnonzero": lambda np, x, m: np.flatnonzero(m, size=4, fill_value=9),
    "argwhere": lambda np, x, m: np.argwhere(m, size=4),
    "extract": lambda np, x, m: np.extract(m > 0, m, size=4, fill_value=-1),
    "compress": lambda np, x, m: np.compress(m[0] > 0, x, axis=1, size=3, fill_value=-1),
    "compress flat": lambda np, x, m: np.compress(m[0] > 0, x, size=2),
    "select": lambda np, x, m: np.select([m > 3, m > 0], [m * 2, 1.5], -1),
    "piecewise": lambda np, x, m: np.piecewise(
        x, [x < 5, x > 9], [lambda v: -v, 7.0, lambda v: v * 2]
    ),
    "piecewise no default": lambda np, x, m: np.piecewise(m, [m > 3], [lambda v, k: v * k], 2),
    "choose": lambda np, x, m: np.choose(m, [x[0, :2, :3], 1.0, x[1, :2, :3]], mode="clip"),
    "choose wrap": lambda np, x, m: np.choose(m, x[0, :, :3], mode="wrap"),
    "place": lambda np, x, m: np.place(m, m > 0, np.array([7, 8]), inplace=False),
    "put": lambda np, x, m: np.put(m, np.array([0, -1, 99]), np.array([7, 8]), inplace=False),
    "put wrap": lambda np, x, m: np.put(m, np.array([7]), 9, mode="wrap", inplace=False),
    "put clip": lambda np, x, m: np.put(m, np.array([99]), 9, mode="clip", inplace=False),
    "unravel_index": lambda np, x, m: np.unravel_index(m, (2, 3)),
    "unravel_index edges": lambda np, x, m: np.unravel_index(np.array([7, -1, -9]), (2, 3)),
    "ravel_multi_index": lambda np, x, m: np.ravel_multi_index((m, m), (3, 4), mode="wrap"),
    "ravel_multi_index clip": lambda np, x, m: np.ravel_multi_index((m, m), (3, 4), "clip", "F"),
}


@pytest.mark.parametrize("table", [ARRANGED, PADDED, CHOSEN], ids=["arranged", "padded", "chosen"])
def test_functions_of_manipulation_agree_with_jax(table: dict[str, Call]) -> None:
    check([row(name, call, A, M) for name, call in table.items()])


def test_shapes_that_follow_from_values() -> None:
    calls: dict[str, Call] = {
        "nonzero": lambda np, m: np.nonzero(m),
        "where": lambda np, m: np.where(m > 0),
        "argwhere": lambda np, m: np.argwhere(m),
        "argwhere scalar": lambda np, m: np.argwhere(np.asarray(3)),
        "compress": lambda np, m: np.compress(np.array([True, False, True]), m, axis=1),
        "extract": lambda np, m: np.extract(m > 0, m),
        "trim_zeros": lambda np, m: np.trim_zeros(np.array([0, 0, 1, 0, 2, 0])),
        "trim_zeros back": lambda np, m: np.trim_zeros(np.array([0, 1, 0]), "b"),
        "choose": lambda np, m: np.choose(np.array([0, 1]), [m[0, :2], m[1, :2]]),
        "ravel_multi_index": lambda np, m: np.ravel_multi_index((1, 2), (2, 3)),
        "repeat total": lambda np, m: np.repeat(m[0], np.array([1, 2, 0]), total_repeat_length=6),
        "delete mask": lambda np, m: np.delete(m, np.array([True, False, True]), axis=1),
        "repeat": lambda np, m: np.repeat(m[0], np.array([1, 2, 0])),
    }
    check([row(name, call, M) for name, call in calls.items()], jit=False, jit_oracle=False)


def test_calls_that_jax_refuses() -> None:
    x = np.arange(6).reshape(2, 3)
    calls: list[Call] = [
        lambda np: np.repeat(x, [1, 0, 2], axis=1),
        lambda np: np.pad(x, {-1: (1, 2)}),
        lambda np: np.split(x, [2, 1, 9], axis=-1)[1],
        lambda np: np.reshape(np.zeros((0, 3)), (2, -1)),
        lambda np: np.delete(x, 1, axis=1),
    ]
    for call in calls:
        np.testing.assert_array_equal(call(jnp), call(np))


def test_a_call_without_effect_returns_the_array_itself() -> None:
    x = jnp.ones((2, 3))
    calls: list[Call] = [
        lambda: jnp.reshape(x, (2, 3)), lambda: jnp.transpose(x, (0, 1)), lambda: jnp.roll(x, 0, 0),
        lambda: jnp.broadcast_to(x, (2, 3)), lambda: jnp.squeeze(x), lambda: jnp.atleast_1d(x),
    ]  # fmt: skip
    assert [call() is x for call in calls] == [True] * len(calls)


X = np.ones((2, 3), np.float32)
ERRORS: list[tuple[Call, type[Exception], str]] = [
    (lambda: jnp.reshape(X, (4, 2)), ShapeError, r"\(size 6\) into shape \(4, 2\) \(size 8\)"),
    (lambda: jnp.reshape(X, (4, -1)), ShapeError, r"\(size 6\) into shape \(4, -1\)"),
    (lambda: jnp.reshape(X, (-1, -1)), ShapeError, "one unknown axis size"),
    (lambda: jnp.reshape(X, (6,), order="Z"), ValueError, "order"),
    (lambda: jnp.reshape([1, 2], (2,)), DTypeError, "reshape requires ndarray or scalar"),
    (lambda: jnp.transpose(X, (0, 0)), ShapeError, "more than once"),
    (lambda: jnp.swapaxes(X, 0, 2), ShapeError, "out of bounds"),
    (lambda: jnp.moveaxis(X, 0, (0, 1)), ShapeError, "as many"),
    (lambda: jnp.matrix_transpose(X[0]), ShapeError, "two axes"),
    (lambda: jnp.broadcast_to(X, (2, 4)), ShapeError, "broadcast"),
    (lambda: jnp.concatenate([]), ShapeError, "at least one array"),
    (lambda: jnp.concatenate([X, X[0]]), ShapeError, "concatenate"),
    (lambda: jnp.concatenate([1, 2]), ShapeError, "use stack"),
    (lambda: jnp.concatenate(3), DTypeError, "sequence of arrays"),
    (lambda: jnp.stack([X, X[0]]), ShapeError, "stack"),
    (lambda: jnp.stack([X], out=X), TraceError, "'out'"),
    (lambda: jnp.split(X, 2, axis=1), ShapeError, "2 parts of length 3"),
    (lambda: jnp.pad(X, -1), ShapeError, ">= 0"),
    (lambda: jnp.pad(X, 1.5), ShapeError, "integers"),
    (lambda: jnp.pad(X, ((1, 2),) * 3), ShapeError, "2 axes"),
    (lambda: jnp.pad(X, 1, mode="mirror"), ValueError, "'reflect'"),
    (lambda: jnp.pad(X, 1, mode="edge", constant_values=1), ValueError, "no option"),
    (lambda: jnp.where(X, 1), ValueError, "both x and y"),
    (lambda: jnp.where(X, X, X[:, :2]), ShapeError, "where"),
    (lambda: jnp.nonzero(3), ShapeError, "atleast_1d"),
    (lambda: ox.jit(jnp.nonzero)(X), ConcretizationTypeError, "pass|is not known while"),
    (lambda: ox.jit(lambda r: jnp.repeat(X, r))(2), ConcretizationTypeError, "the argument 'r'"),
    (lambda: jnp.choose(jnp.array([2]), [1, 2]), IndexingError, "not below 2"),
    (lambda: jnp.choose(jnp.array([0.5]), [1, 2]), DTypeError, "integers"),
    (lambda: jnp.put(X, 0, 1), ValueError, "inplace=False"),
    (lambda: jnp.place(X, X > 0, 1), ValueError, "inplace=False"),
    (lambda: jnp.select([], []), ValueError, "at least one"),
    (lambda: jnp.piecewise(X, [X > 0], [1, 2, 3]), ValueError, "1 or 2 functions"),
    (lambda: jnp.delete(X, 7), IndexingError, "out of bounds"),
    (lambda: jnp.insert(X, np.array([[0]]), 1), IndexingError, "one dimension"),
    (lambda: jnp.roll(X, (1, 2, 3), (0, 1)), ShapeError, "3 shifts for 2 axes"),
    (lambda: jnp.add(X, np.ones((2, 4))), ShapeError, "add: the shapes"),
]  # fmt: skip


def test_empty_arrays_and_scalars_are_arguments() -> None:
    e = np.zeros(0, "float32")
    check(
        [
            row("block", lambda np: np.block(5.0)),
            row("diagflat", lambda np: np.diagflat(2.0)),
            row("poly", lambda np, x: np.poly(x), e),
            row("poly of a matrix", lambda np, x: np.poly(x), np.diag([2, 3]).astype("float32")),
            row("cov", lambda np, x: np.cov(x), np.zeros((0, 3), "float32")),
            row("unwrap", lambda np, x: np.unwrap(x), e),
            row("tensordot", lambda np, x: np.tensordot(x, x, axes=-1), np.ones((2, 2), "float32")),
            row("nanmax", lambda np, x: np.nanmax(x, initial=1.0), e),
            row("nanmin of nan", lambda np, x: np.nanmin(x, initial=1.0), [np.nan]),
            row("argmax", lambda np, x: np.argmax(x, axis=1), np.zeros((0, 3), "float32")),
            row("var", lambda np, x: np.var(x, axis=[0, 1]), np.ones((2, 3, 4), "float32")),
            row("std", lambda np, x: np.std(x, [0, 1]), np.ones((2, 3, 4), "float32")),
        ]
    )
    check([row("trim_zeros", lambda np: np.trim_zeros(np.asarray(3)))], jit=False, jit_oracle=False)


def test_shapes_and_axes_that_are_arrays() -> None:
    sizes, axes = np.array([2, 3]), np.array([0, 1])
    check(
        [
            row("zeros", lambda jnp: jnp.zeros(sizes)),
            row("full", lambda jnp: jnp.full(sizes, 7)),
            row("full_like", lambda jnp: jnp.full_like(1.0, 7, shape=sizes)),
            row("broadcast_to", lambda jnp: jnp.broadcast_to(1.0, sizes)),
            row("reshape", lambda jnp: jnp.reshape(jnp.arange(6), sizes)),
            row("reshape -1", lambda jnp: jnp.arange(6).reshape(np.array([2, -1]))),
            row("reshape flat", lambda jnp: jnp.reshape(jnp.ones((2, 3)), np.array(6))),
            row("tile", lambda jnp: jnp.tile(jnp.ones(2), sizes)),
            row("expand_dims", lambda jnp: jnp.expand_dims(jnp.ones(3), axes)),
            row("squeeze", lambda jnp: jnp.squeeze(jnp.ones((1, 1, 3)), axes)),
            row("moveaxis", lambda jnp: jnp.moveaxis(jnp.ones((2, 3)), axes[:1], axes[1:])),
        ]
    )
    three = [
        row("eye", lambda jnp: jnp.eye(jnp.asarray(3))),
        row("tri", lambda jnp: jnp.tri(jnp.asarray(3), jnp.asarray(2))),
        row("identity", lambda jnp: jnp.identity(jnp.asarray(3))),
        row("zeros", lambda jnp: jnp.zeros(jnp.asarray(sizes))),
    ]
    check(three, jit=False, jit_oracle=False)
    assert ox.random.normal(ox.random.key(0), sizes).shape == (2, 3)
    with pytest.raises(TypeError, match="must be 1D sequences of concrete values"):
        ox.numpy.zeros(np.array([[2, 3]]))
