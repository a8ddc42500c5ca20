"""Rows for reductions, cumulative reductions and window reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import olympus
from tests.primitives.case import Case, arg

ORDERED = ("float32", "float16", "bfloat16", "int32", "uint8", "bool")
NUMBERS = ("float32", "bfloat16", "int32", "uint8", "complex64")
BITS = ("int32", "uint8", "bool")
HALF = 2e-2  # of sums in float16 and bfloat16, whose order is the compiler's


def _reduction(name: str, dtypes: tuple[str, ...], *differentiable: int) -> list[Case]:
    """Over one axis, over several, and over none."""

    def over(axes: tuple[int, ...]) -> Callable[..., Any]:
        return lambda lax, x: getattr(lax, name)(x, axes)

    return [
        Case(
            name,
            over(axes),
            (arg(3, 4, 2, low=-1.5, high=1.5),),
            dtypes,
            label="-".join(map(str, axes)) or "none",
            rtol=HALF,
            atol=HALF,
            differentiable=differentiable,
        )
        for axes in ((1,), (0, 2), (0, 1, 2), ())
    ]


def _cumulative(name: str, dtypes: tuple[str, ...], *differentiable: int) -> list[Case]:
    def along(axis: int, reverse: bool) -> Callable[..., Any]:
        return lambda lax, x: getattr(lax, name)(x, axis, reverse)

    return [
        Case(
            name,
            along(axis, reverse),
            (arg(3, 21, low=-1.2, high=1.2),),
            dtypes,
            label=f"{axis}-{'reverse' if reverse else 'forward'}",
            rtol=HALF if "bfloat16" in dtypes else 1e-5,
            atol=HALF if "bfloat16" in dtypes else 1e-5,
            differentiable=differentiable,
        )
        for axis, reverse in ((0, False), (1, False), (1, True))
    ]


def _window(lax: Any, x: Any, computation: Any, init: Any, **options: Any) -> Any:
    return lax.reduce_window(x, x.dtype.type(init), computation, (2, 3), **options)


_WINDOWS: dict[str, dict[str, Any]] = {
    "valid": {"window_strides": (1, 2), "padding": "VALID"},
    "same": {"window_strides": (2, 2), "padding": "SAME"},
    "dilated": {"padding": ((1, 0), (2, 1)), "base_dilation": (2, 1), "window_dilation": (1, 2)},
}


def _windows(name: str, function: str, init: float, dtypes: tuple[str, ...]) -> list[Case]:
    def call(options: dict[str, Any]) -> Callable[..., Any]:
        return lambda lax, x: _window(lax, x, getattr(lax, function), init, **options)

    return [
        Case(name, call(options), (arg(6, 7),), dtypes, label, differentiable=(0,))
        for label, options in _WINDOWS.items()
    ]


def _selection(lax: Any, x: Any, t: Any, options: dict[str, Any]) -> Any:
    """The derivative of the windows' maxima."""
    module = olympus if lax is olympus.lax else jax
    return module.jvp(lambda x: _window(lax, x, lax.max, -np.inf, **options), (x,), (t,))[1]


def _arg_max(lax: Any, name: str, x: Any, axis: int) -> Any:
    return getattr(lax, name)(x, axis, np.int32)


def _reduce_pairs(lax: Any, x: Any, i: Any) -> Any:
    """The greatest element and its number, by a computation on pairs."""

    def better(a: Any, b: Any) -> Any:
        first = lax.ge(a[0], b[0])
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1])

    return lax.reduce((x, i), (x.dtype.type(-9), i.dtype.type(-1)), better, (1,))


def _reduce_exponentials(lax: Any, x: Any) -> Any:
    """log(1 + the sum of exponentials) over the first and last axes."""

    def add(a: Any, b: Any) -> Any:
        return lax.log(lax.add(lax.exp(a), lax.exp(b)))

    return lax.reduce(x, x.dtype.type(0), add, (0, 2))


def _scattered(lax: Any, source: Any, x: Any, select: str) -> Any:
    """The transpose of the derivative of the windows' maxima or minima."""
    prim = select if lax is olympus.lax else getattr(lax, f"{select}_p")
    return lax.select_and_scatter_add_p.bind(
        source,
        x,
        select_prim=prim,
        window_dimensions=(2, 3),
        window_strides=(2, 2),
        padding=((0, 0), (0, 0)),
    )


CASES: list[Case] = [
    *_reduction("reduce_sum", NUMBERS, 0),
    *_reduction("reduce_prod", NUMBERS, 0),
    *_reduction("reduce_max", ORDERED, 0),
    *_reduction("reduce_min", ORDERED, 0),
    *_reduction("reduce_and", BITS),
    *_reduction("reduce_or", BITS),
    *_reduction("reduce_xor", BITS),
    Case("argmax", lambda lax, x: _arg_max(lax, "argmax", x, 1), (arg(3, 5),), ORDERED),
    Case(
        "argmax",
        lambda lax, x: _arg_max(lax, "argmax", x, 0),
        (
            arg(
                6,
            ),
        ),
        ORDERED,
        "vector",
    ),
    Case("argmin", lambda lax, x: _arg_max(lax, "argmin", x, 1), (arg(3, 5),), ORDERED),
    Case(
        "argmin",
        lambda lax, x: _arg_max(lax, "argmin", x, 0),
        (
            arg(
                6,
            ),
        ),
        ORDERED,
        "vector",
    ),
    Case(
        "reduce",
        lambda lax, x: lax.reduce(x, x.dtype.type(0), lambda a, b: lax.add(lax.abs(a), b), (0,)),
        (arg(5, 2),),
        ("float32", "int32"),
        differentiable=(),  # it depends on the order
    ),
    Case("reduce", _reduce_exponentials, (arg(5, 2, 3),), label="exponentials"),
    Case(
        "reduce",
        _reduce_pairs,
        (arg(3, 4), arg(3, 4, dtype="int32")),
        label="pairs",
        differentiable=(),  # the oracle fails for operands without a tangent
    ),
    Case("reduce", _reduce_pairs, (arg(3, 5), arg(3, 5)), label="float-pairs"),
    Case(
        "reduce",
        lambda lax, x: lax.reduce(x, x.dtype.type(3), lambda a, b: lax.add(a, b), (1,)),
        (arg(3, 4),),
        label="start",
    ),
    *_cumulative("cumsum", NUMBERS, 0),
    *_cumulative("cumprod", NUMBERS, 0),
    *_cumulative("cummax", ORDERED[:-1], 0),
    *_cumulative("cummin", ORDERED[:-1], 0),
    *_cumulative("cumlogsumexp", ("float32", "complex64"), 0),
    *_windows("reduce_window_sum", "add", 0, ("float32", "int32")),
    *_windows("reduce_window_max", "max", -np.inf, ("float32",)),
    *_windows("reduce_window_min", "min", np.inf, ("float32",)),
    *[
        Case(
            "select_and_gather_add",
            lambda lax, x, t, options=options: _selection(lax, x, t, options),
            (arg(6, 7), arg(6, 7)),
            ("float32",),
            label,
        )
        for label, options in _WINDOWS.items()
    ],
    Case(
        "select_and_scatter_add",
        lambda lax, s, x: _scattered(lax, s, x, "ge"),
        (arg(2, 3), arg(4, 7)),
        ("float32", "int32"),
        differentiable=(0,),
    ),
    Case(
        "select_and_scatter_add",
        lambda lax, s, x: _scattered(lax, s, x, "le"),
        (arg(2, 3), arg(4, 7)),
        label="least",
        differentiable=(0,),
    ),
    Case(
        "reduce_window",
        lambda lax, x: _window(lax, x, lambda a, b: lax.mul(a, b), 1, **_WINDOWS["same"]),
        (arg(4, 5),),
        ("float32", "int32"),
        differentiable=(),
    ),
    Case(
        "reduce_window",
        lambda lax, x, y: lax.reduce_window(
            (x, y),
            (np.float32(0), np.float32(1)),
            lambda a, b: (lax.add(a[0], b[0]), lax.mul(a[1], b[1])),
            (2,),
            (1,),
        ),
        (arg(5), arg(5)),
        label="pair",
        differentiable=(),
    ),
]
