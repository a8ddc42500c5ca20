"""Rows of gather and the scatters, in every mode, with indices in and out of bounds."""

from __future__ import annotations

from typing import Any

from tests.primitives.case import Arg, Case, arg

NUMBERS = ("float32", "bfloat16", "int32", "uint8", "complex64")
REAL = ("float32", "bfloat16", "int32", "uint8")
MODES = ("clip", "fill", "promise_in_bounds")
# by mode: a promise must hold
LOW = {"clip": -2, "fill": -2, "promise_in_bounds": 0}
HIGH = {"clip": 7, "fill": 7, "promise_in_bounds": 2}


def positions(*shape: int, mode: str = "promise_in_bounds", dtype: str = "int32") -> Arg:
    """Coordinates, out of bounds where the mode allows it."""
    return arg(*shape, low=LOW[mode], high=HIGH[mode], dtype=dtype)


def rows(lax: Any, x: Any, i: Any, mode: str, **options: Any) -> Any:
    """Windows of two rows, at the first axis."""
    numbers = lax.GatherDimensionNumbers((1, 2), (), (0,))
    return lax.gather(x, i, numbers, (2, x.shape[1]), mode=mode, **options)


def points(lax: Any, x: Any, i: Any, mode: str) -> Any:
    """Elements, by two coordinates in the axes' reverse order."""
    numbers = lax.GatherDimensionNumbers((), (0, 1), (1, 0))
    return lax.gather(x, i, numbers, (1, 1), mode=mode)


def batched(lax: Any, x: Any, i: Any, mode: str) -> Any:
    """An element of each row."""
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
    return lax.gather(x, i, numbers, (1, 1), mode=mode)


def write(lax: Any, name: str, x: Any, i: Any, y: Any, mode: str, **options: Any) -> Any:
    """Windows of two rows, at the first axis."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0,))
    return getattr(lax, name)(x, i, y, numbers, mode=mode, **options)


def write_batched(lax: Any, name: str, x: Any, i: Any, y: Any) -> Any:
    """An element of each row."""
    numbers = lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
    return getattr(lax, name)(x, i, y, numbers)


def gathers(mode: str) -> list[Case]:
    """Rows of gather in a mode."""
    x = arg(4, 5)
    return [
        Case(
            "gather",
            lambda lax, x, i: rows(lax, x, i, mode),
            (x, positions(3, 1, mode=mode)),
            (*NUMBERS, "bool"),
            f"rows-{mode}",
            differentiable=(0,),
        ),
        Case(
            "gather",
            lambda lax, x, i: points(lax, x, i, mode),
            (x, positions(2, 3, 2, mode=mode)),
            label=f"points-{mode}",
            differentiable=(0,),
        ),
        Case(
            "gather",
            lambda lax, x, i: batched(lax, x, i, mode),
            (x, positions(4, 1, mode=mode)),
            label=f"batched-{mode}",
            differentiable=(0,),
        ),
    ]


def scatters(name: str, dtypes: tuple[str, ...], differentiable: tuple[int, ...]) -> list[Case]:
    """Rows of a scatter: each mode (to replace, windows must not overlap), and batched."""
    primitive = name.replace("_", "-")
    count = 1 if name == "scatter" else 3

    def row(mode: str) -> Case:
        return Case(
            primitive,
            lambda lax, x, i, y: write(lax, name, x, i, y, mode),
            (arg(4, 5), positions(count, 1, mode=mode), arg(count, 2, 5)),
            dtypes,
            mode,
            rtol=2e-2 if "bfloat16" in dtypes else 1e-5,
            # of a clipped min or max the oracle's derivative is not finite
            differentiable=() if mode == "clip" and name[-3:] in ("min", "max") else differentiable,
        )

    return [
        *map(row, MODES),
        Case(
            primitive,
            lambda lax, x, i, y: write_batched(lax, name, x, i, y),
            (arg(4, 5), positions(4, 1), arg(4)),
            label="batched",
            differentiable=differentiable,
        ),
    ]


def apply(lax: Any, x: Any, i: Any, mode: str | None) -> Any:
    """A function of windows of two rows."""
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0,))
    return lax.scatter_apply(x, i, lax.sin, numbers, update_shape=(3, 2, 5), mode=mode)


def gathered(lax: Any, x: Any, i: Any, j: Any) -> Any:
    """Elements by coordinates that wrap around."""
    return lax.index_take(x, (i, j), (0, 1))


CASES: list[Case] = [
    *[case for mode in MODES for case in gathers(mode)],
    Case(
        "gather",
        lambda lax, x, i: rows(lax, x, i, "fill", fill_value=7),
        (arg(4, 5), positions(3, 1, mode="fill")),
        ("float32", "int32"),
        "fill-value",
    ),
    Case(
        "gather",
        lambda lax, x, i: rows(lax, x, i, "fill", indices_are_sorted=True, unique_indices=True),
        (arg(4, 5), arg(1, 1, low=0, high=200, dtype="uint8")),
        label="unsigned",
    ),
    Case("gather", gathered, (arg(4, 5), positions(3, mode="clip"), positions(3, mode="clip"))),
    *scatters("scatter", NUMBERS, (0, 2)),
    *scatters("scatter_add", NUMBERS, (0, 2)),
    *scatters("scatter_sub", NUMBERS, (0, 2)),
    *scatters("scatter_mul", NUMBERS, (0,)),
    *scatters("scatter_min", REAL, (0, 2)),
    *scatters("scatter_max", REAL, (0, 2)),
    *[
        Case(
            name.replace("_", "-"),
            lambda lax, x, i, y, name=name: write(lax, name, x, i, y, "fill", unique_indices=True),
            (arg(4, 5), arg(1, 1, low=1, high=2, dtype="int32"), arg(1, 2, 5)),
            ("float32", "complex64"),
            "unique",
            differentiable=(0, 2),
        )
        for name in ("scatter", "scatter_mul")
    ],
    Case(
        "scatter",
        lambda lax, x, i, y: write(lax, "scatter", x, i, y, "clip"),
        (arg(4, 5), positions(6, 1, mode="clip"), arg(6, 2, 5)),
        label="overlapping",
        differentiable=(0, 2),
    ),
    Case(
        "scatter-apply",
        lambda lax, x, i: apply(lax, x, i, None),
        (arg(4, 5), positions(3, 1)),
        differentiable=(),
    ),
]
