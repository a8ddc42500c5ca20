"""Indexing by brackets, `.at` and functions: properties against NumPy, tables against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import olympus as ox
from olympus.errors import IndexingError, ShapeError
from tests.day import by_day
from tests.drawn import examples
from tests.library.oracle import Row, check, row

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
drawn = examples(25)
Array = np.ndarray[Any, Any]


def filled(shape: tuple[int, ...]) -> Array:
    """Return an array of distinct elements."""
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


@st.composite
def basic(draw: st.DrawFn) -> tuple[Array, Any]:
    """An array and an index of ints, slices, ellipses and new axes."""
    x = filled(draw(SHAPES))
    return x, draw(hnp.basic_indices(x.shape, allow_newaxis=True))


@st.composite
def advanced(draw: st.DrawFn) -> tuple[Array, tuple[Any, ...]]:
    """An array and an index with integer arrays, masks and scalar bools among the others."""
    x = filled(draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)))
    joint = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    index: list[Any] = []
    masked = False
    for n in x.shape[: draw(st.integers(1, x.ndim))]:
        ints = st.integers(-n, n - 1)
        masks = st.nothing() if masked else hnp.arrays(bool, (n,))
        entry = draw(
            st.one_of(ints, st.slices(n), hnp.arrays(np.int32, joint, elements=ints), masks)
        )
        masked = masked or (isinstance(entry, np.ndarray) and entry.dtype == bool)
        index.append(entry)
    for extra in draw(st.lists(st.sampled_from([None, True]), max_size=2)):
        index.insert(draw(st.integers(0, len(index))), extra)
    if draw(st.booleans()):
        index.append(Ellipsis)
    return x, tuple(index)


def reference(x: Array, index: Any) -> Array | None:
    """Return `x[index]`, or None if NumPy refuses it because index arrays do not broadcast."""
    try:
        return np.asarray(x[index])
    except IndexError:
        return None


def both(fun: Callable[..., Any], x: Array) -> list[Array]:
    """Return the eager and the compiled result of a function of one array."""
    return [np.asarray(fun(ox.device_put(x))), np.asarray(ox.jit(fun)(x))]


def assert_reads(x: Array, index: Any) -> None:
    expected = reference(x, index)
    if expected is None:
        with pytest.raises((IndexingError, ShapeError)):
            ox.device_put(x)[index]
        return
    for result in both(lambda a: a[index], x):
        np.testing.assert_array_equal(result, expected, strict=True)


@drawn
@given(basic())
def test_basic_indices_read_as_numpy_does(case: tuple[Array, Any]) -> None:
    assert_reads(*case)


@drawn
@given(advanced())
def test_index_arrays_and_masks_read_as_numpy_does(case: tuple[Array, Any]) -> None:
    assert_reads(*case)


UPDATES: dict[str, Callable[[Array, Any, Array], None]] = {
    "set": lambda x, i, y: x.__setitem__(i, y),
    "add": np.add.at,
    "subtract": np.subtract.at,
    "multiply": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}


def assert_updates(x: Array, index: Any, name: str, whole: bool) -> None:
    """Check an update with one value and, except for set, with a value for each element."""
    part = reference(x, index)
    if part is None:
        return
    values = np.float32(2.5)
    if whole and name != "set":
        values = np.linspace(0.5, 2.0, part.size, dtype=np.float32).reshape(part.shape)
    expected = x.copy()
    UPDATES[name](expected, index, values)
    for result in both(lambda a: getattr(a.at[index], name)(values), x):
        np.testing.assert_allclose(result, expected, rtol=1e-6, strict=True)


@drawn
@given(basic(), st.sampled_from(list(UPDATES)), st.booleans())
def test_basic_indices_update_as_numpy_does(
    case: tuple[Array, Any], name: str, whole: bool
) -> None:
    assert_updates(*case, name, whole)


@drawn
@given(advanced(), st.sampled_from(list(UPDATES)), st.booleans())
def test_index_arrays_and_masks_update_as_numpy_does(
    case: tuple[Array, Any], name: str, whole: bool
) -> None:
    assert_updates(*case, name, whole)


X = filled((4, 5, 6))
INSIDE = np.array([1, -2, 3], np.int32)
OUTSIDE = np.array([3, 9, -1, -9], np.int32)
INDICES: dict[str, Callable[[Any, Any], Any]] = {
    "int": lambda i, a: 2,
    "beyond": lambda i, a: 17,
    "before": lambda i, a: -17,
    "traced": lambda i, a: i,
    "traced, slice": lambda i, a: (i, slice(1, 3), None),
    "traced, steps": lambda i, a: (slice(None), i, slice(None, None, -2)),
    "traced pair": lambda i, a: (i, Ellipsis, i),
    "traced and array": lambda i, a: (i, slice(None), a),
    "array": lambda i, a: a,
    "array, int": lambda i, a: (a, -1),
    "separated": lambda i, a: (a, slice(1, None), a),
    "outer": lambda i, a: (a[:, None], a[:2]),
    "steps": lambda i, a: (slice(None, None, -2), slice(1, None, 3), a),
    "list": lambda i, a: ([i, 0], [1, i]),
    "constants": lambda i, a: (np.array([0, 2]), np.array([1, -1])),
}
TRACED = ("traced", "traced, slice", "traced, steps", "traced pair", "traced and array", "list")
MODES: list[dict[str, Any]] = [
    {},
    {"mode": "clip"},
    {"mode": "fill"},
    {"mode": "drop", "wrap_negative_indices": False},
    {"mode": "promise_in_bounds", "wrap_negative_indices": False},
]


def at_rows(name: str, *values: Any) -> list[Row]:
    """Return rows of a method of `.at` with every index and mode, in and out of bounds."""
    return [
        row(
            f"{label} {number} {options}",
            lambda np_like, x, i, a, make=make, options=options: getattr(
                np_like.asarray(x).at[make(i, a)], name
            )(*values, **options),
            *(X, number, OUTSIDE if number > 4 else INSIDE),
        )
        for label, make in INDICES.items()
        for options in MODES
        for number in map(np.int32, (2, -1, 30, -30) if label in TRACED else (2, 30))
    ]


@pytest.mark.parametrize("jit", [True, False])
def test_reads_out_of_bounds(jit: bool) -> None:
    rows = at_rows("get")
    check(rows if jit else rows[::7], jit=jit)


@pytest.mark.parametrize(("x_axis", "preserved"), [(None, False), (0, True)])
def test_a_batch_preserves_a_promise_about_indices_only_if_it_is_true(
    x_axis: int | None, preserved: bool
) -> None:
    def read(x: Any, i: Any) -> Any:
        return x.at[i].get(indices_are_sorted=True, unique_indices=True)

    x, i = np.zeros((4, 4), np.float32), np.zeros((4, 2), int)
    program = ox.make_olympuspr(ox.vmap(read, in_axes=(x_axis, 0)))(x, i)
    (gather,) = (e for e in program.eqns if e.primitive.name == "gather")
    assert gather.params["indices_are_sorted"] is gather.params["unique_indices"] is preserved


STEPS = {"set": 1, "add": 1, "multiply": 4, "max": 4}


@pytest.mark.parametrize("name", by_day(STEPS, ["set", "multiply"]))
def test_updates_out_of_bounds(name: str) -> None:
    check(at_rows(name, np.float32(0.5))[:: STEPS[name]])


def test_eager_updates_out_of_bounds() -> None:
    check(at_rows("add", 2)[::7], jit=False)


def test_every_update_and_its_options() -> None:
    flags = {"indices_are_sorted": True, "unique_indices": True}
    names = ("set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max")
    indices: list[Any] = [1, (slice(0, 2), 3), np.array([0, 2]), (Ellipsis, np.array([[1], [3]]))]
    check(
        [
            row(f"{n} {i}", lambda _, x, n=n, i=i: getattr(x.at[i], n)(2, **flags), filled((3, 4)))
            for n in names
            for i in indices
        ]
        + [
            row(f"apply {i}", lambda _, x, i=i: x.at[i].apply(lambda v: v * v), filled((3, 4)))
            for i in [*indices, Ellipsis, np.array([1, 1])]
        ]
        + [
            row("fill", lambda _, x: x.at[7].get(mode="fill", fill_value=-1), X),
            row("int fill", lambda _, x: x.at[OUTSIDE].get(mode="fill"), filled((4,)).astype(int)),
            row("bool fill", lambda _, x: x.at[OUTSIDE].get(mode="fill"), np.zeros(4, bool)),
            row("uint fill", lambda _, x: x.at[OUTSIDE].get(mode="fill"), np.zeros(4, np.uint8)),
        ]
    )


DTYPES = ["bool", "int8", "uint8", "int32", "bfloat16", "float16", "float32", "complex64"]


@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible types:FutureWarning")
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("dtype", by_day(DTYPES, ["bool", "int8", "bfloat16", "complex64"]))
def test_updates_keep_the_dtype(dtype: str) -> None:
    x = np.array([1, 0, 3, 1]).astype(getattr(ml_dtypes, dtype, dtype))
    values: list[Any] = [True, 1, 2.5, *(np.array([1, 2]).astype(d) for d in ("int8", "float32"))]
    indices: list[Any] = [slice(1, 3), np.array([0, 2])]
    names = ["set"] if dtype == "bool" else ["set", "add", "max"]
    check(
        [
            row(f"{n} {i} {v!r}", lambda _, x, n=n, i=i, v=v: getattr(x.at[i], n)(v), x)
            for n in names
            for i in indices
            for v in values
            if not (dtype == "complex64" and n == "max")
        ]
    )


def test_weak_arrays_stay_weak() -> None:
    check(
        [
            row("read", lambda np_like, x: (np_like.asarray(2.0)[None], x[0]), X),
            row("gather", lambda np_like, x: np_like.asarray(2.0)[None][np.array([0, 0])], X),
            row("set", lambda np_like, x: np_like.asarray(2.0)[None].at[0].set(x[0, 0, 0]), X),
            row("add", lambda np_like, x: np_like.asarray(2.0)[None].at[INSIDE].add(x[0, 0, 0]), X),
        ]
    )


def test_a_traced_mask_updates_where_the_shape_does_not_depend_on_it() -> None:
    x, rows = filled((3, 4)), np.array([5.0, 6.0, 7.0, 8.0], np.float32)
    set_ = ox.jit(lambda x: x.at[x > 6].set(0))(x)
    np.testing.assert_array_equal(set_, np.where(x > 6, 0, x))
    added = ox.jit(lambda x: x.at[x[:, 0] > 1].add(rows))(x)
    np.testing.assert_array_equal(added, x + rows * (x[:, :1] > 1))


def test_static_indices_are_one_slice() -> None:
    def equations(fun: Callable[..., Any], *args: Any) -> list[str]:
        return [e.primitive.name for e in ox.make_olympuspr(fun)(X, *args).eqns]

    assert equations(lambda x: x[1]) == ["slice", "squeeze"]
    assert equations(lambda x: x[1:3, ::2]) == ["slice"]
    assert equations(lambda x: x[::-1]) == ["rev"]
    assert equations(lambda x: x[..., None]) == ["broadcast_in_dim"]
    assert equations(lambda x: x[:, :, 0:6]) == equations(lambda x: x[...]) == []
    assert equations(lambda x: x.at[1].set(0.0)) == ["broadcast_in_dim", "dynamic_update_slice"]
    assert equations(lambda x: x.at[:].set(0.0)) == ["broadcast_in_dim"]
    assert equations(lambda x: x.at[1:3, 2].mul(2.0)) == ["slice", "mul", "dynamic_update_slice"]
    wrapped = ["lt", "add", "select_n"]
    assert equations(lambda x, i: x[i], 2) == [*wrapped, "dynamic_slice", "squeeze"]
    assert equations(lambda x: x[np.array([0, -1])]) == ["gather"]


REFUSED: list[tuple[Any, type[Exception], str]] = [
    ((0, 0, 0, 0), IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
    ((..., 0, ...), IndexError, "a single ellipsis"),
    ([0, 1], TypeError, "Using a non-tuple sequence for multidimensional indexing"),
    (1.5, TypeError, "integer or boolean type"),
    (np.array([1.5]), TypeError, "integer or boolean type"),
    ("a", TypeError, "string indexing; got idx='a'"),
    ({}, IndexError, "Got a dict"),
    (slice(1.5, None), TypeError, "bounds of a slice are ints"),
    (slice(None, None, 0), ValueError, "step of a slice cannot be zero"),
    (np.array([True, False]), IndexError, r"got \(2,\), expected \(4,\)"),
    ((np.array([0, 1]), np.array([0, 1, 2])), ValueError, "do not broadcast together"),
]


@pytest.mark.parametrize(("index", "error", "message"), REFUSED)
def test_an_invalid_index_is_refused(index: Any, error: type[Exception], message: str) -> None:
    x = ox.device_put(X)
    with pytest.raises(error, match=message):
        x[index]
    with pytest.raises(error, match=message):
        x.at[index].set(0)
    with pytest.raises(error, match=message):
        ox.jit(lambda x: x[index])(x)


def test_traced_bounds_and_masks_are_refused() -> None:
    with pytest.raises(IndexError, match=r"Slice entries must be static .*the argument 'i'"):
        ox.jit(lambda x, i: x[i:])(X, 1)
    with pytest.raises(IndexError, match=r"boolean indices must be concrete; .*result of 'gt'"):
        ox.jit(lambda x: x[x > 2])(X)
    with pytest.raises(IndexError, match="no axis for its true elements"):
        ox.jit(lambda x: x.at[x[0, 0] > 2].set(np.ones((3, 5, 6), np.float32)))(filled((6, 5, 6)))
    with pytest.raises(
        ShapeError, match=r"Incompatible types for broadcasting: input type=float32\[4\] and requ"
    ):
        ox.device_put(X).at[:2].set(np.ones(4))
    with pytest.raises(IndexError, match="index is out of bounds for axis 0 with size 0"):
        ox.device_put(np.zeros((0, 3)))[0]
    with pytest.raises(ValueError, match="mode of an index"):
        ox.device_put(X).at[0].set(0, mode="nearest")


def test_take_and_put() -> None:
    i = np.array([[0, 2], [-1, 9]], np.int32)
    x = filled((3, 4))
    rows = [
        row(
            f"take {axis} {mode}",
            lambda np_like, x, i, a=axis, m=mode: np_like.take(x, i, a, mode=m),
            x,
            i,
        )
        for axis in (None, 0, -1)
        for mode in (None, "fill", "clip", "wrap")
    ]
    rows += [
        row("take scalar", lambda np_like, x: np_like.take(x, 1, axis=1), x),
        row("take at bools", lambda np_like, x: np_like.take(x, np.array([True, False])), x),
        row("take fill", lambda np_like, x, i: np_like.take(x, i, fill_value=-1.0), x, i),
        row("take nothing", lambda np_like, x: np_like.take(x, np.zeros((0, 2), int), axis=0), x),
    ]
    rows += [
        row(
            f"put {mode}",
            lambda np_like, x, i, m=mode: np_like.put(
                x, i, np.array([7.0, 8.0, 9.0], np.float32), mode=m, inplace=False
            ),
            x,
            np.array(at),
        )
        for mode, at in ((None, [0, -1, 5]), ("clip", [0, 5, 99]), ("wrap", [0, 5, 13]))
    ]
    check(rows)


def test_along_axis() -> None:
    x = filled((3, 4))
    positions = {
        0: np.array([[0, 1, 2, 0], [-1, 9, 0, 1]], np.int32),
        1: np.array([[0, 3], [-1, 9], [1, -9]], np.int32),
        -1: np.array([[2, -1, 0]], np.int32),
    }
    modes: list[Any] = [None, "clip", "fill"]
    check(
        [
            row(
                f"{a} {m}",
                lambda np_like, x, i, a=a, m=m: np_like.take_along_axis(x, i, a, m),
                x,
                i,
            )
            for a, i in positions.items()
            for m in modes
        ]
        + [
            row("flat", lambda np_like, x, i: np_like.take_along_axis(x, i, None), x, INSIDE),
            row(
                "one row",
                lambda np_like, x, i: np_like.take_along_axis(x, i, 1),
                x[:1],
                positions[1],
            ),
            row(
                "one hot",
                lambda np_like, x, i: np_like.take_along_axis(x, i, 0, "one_hot"),
                x,
                positions[0],
            ),
        ]
        + [
            row(
                f"put {a}",
                lambda np_like, x, i, a=a: np_like.put_along_axis(x, i, 7.0, a, inplace=False),
                x,
                i,
            )
            for a, i in positions.items()
        ]
        + [
            row(
                "put flat",
                lambda np_like, x, i: np_like.put_along_axis(x, i, 7.0, None, inplace=False),
                x,
                INSIDE,
            ),
        ]
    )


def test_functions_refuse_what_they_do_not_take() -> None:
    x = ox.device_put(filled((3, 4)))
    with pytest.raises(TypeError, match="take requires ndarray or scalar arguments"):
        ox.numpy.take(x, [0, 1])
    with pytest.raises(ValueError, match="mode of take"):
        ox.numpy.take(x, 0, mode="other")
    with pytest.raises(ValueError, match="indices of the array's rank"):
        ox.numpy.take_along_axis(x, INSIDE, 0)
    with pytest.raises(TypeError, match="must have an integer type"):
        ox.numpy.take_along_axis(x, x, 0)
    with pytest.raises(ValueError, match="cannot change an array in place"):
        ox.numpy.put_along_axis(x, INSIDE[None], 1, 0)


ONE_ROW = ((1,), (0,), (0,))
#: Calls of gather, scatter and updates that both packages refuse.
REFUSED_BY_BOTH: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "float indices": (
        ValueError,
        lambda m: m.lax.gather(
            X[0], np.zeros((1, 1)), m.lax.GatherDimensionNumbers(*ONE_ROW), (1, 6)
        ),
    ),
    "window axes out of order": (
        TypeError,
        lambda m: m.lax.gather(
            X[0],
            np.zeros((1, 1), np.int32),
            m.lax.GatherDimensionNumbers((2, 1), (), (0,)),
            (1, 6),
        ),
    ),
    "window axes of updates out of order": (
        TypeError,
        lambda m: m.lax.scatter(
            X[0, :, :5],
            np.zeros((1, 1), np.int32),
            np.zeros((1, 5, 5), np.float32),
            m.lax.ScatterDimensionNumbers((2, 1), (), (0,)),
        ),
    ),
    "difference of bools": (
        TypeError,
        lambda m: m.numpy.zeros(3, bool).at[np.array([0])].subtract(True),
    ),
    **{
        f"complex fill of {dtype}": (
            TypeError,
            lambda m, d=dtype: m.numpy.zeros(3, d).at[9].get(mode="fill", fill_value=1j),
        )
        for dtype in ("int32", "float32")
    },
}


@pytest.mark.filterwarnings("ignore:Casting complex values")  # a warning of JAX before it raises
@pytest.mark.parametrize(("error", "call"), REFUSED_BY_BOTH.values(), ids=REFUSED_BY_BOTH)
def test_gather_and_scatter_refuse_wrong_arguments_as_jax_does(
    error: type[Exception], call: Callable[[Any], Any]
) -> None:
    with pytest.raises(error):
        call(jax)
    with pytest.raises(error) as raised:
        call(ox)
    assert isinstance(raised.value, ox.errors.TraceError)


def test_a_start_beyond_the_index_dtype_is_refused() -> None:
    with pytest.raises(OverflowError, match="index -1099511627776 is out of bounds for int32"):
        ox.lax.dynamic_slice(X, (0, -(2**40), 0), (1, 1, 1))
