"""Rows for dot_general and convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.primitives.case import Case, arg

DOT = ("float32", "bfloat16", "int32", "complex64")
CONV = ("float32", "complex64")
HALF = 2e-2  # of products in bfloat16, whose sums are rounded in the compiler's order


def _dot(dimensions: Any, **options: Any) -> Callable[..., Any]:
    return lambda lax, x, y: lax.dot_general(x, y, dimensions, **options)


def _precise(name: str) -> Callable[..., Any]:
    return lambda lax, x, y: lax.dot(x, y, precision=getattr(lax.Precision, name))


def _conv(*args: Any, **options: Any) -> Callable[..., Any]:
    return lambda lax, x, k: lax.conv_general_dilated(x, k, *args, **options)


def _both(case: Case) -> Case:
    """The row, differentiable in both operands."""
    return Case(**{**vars(case), "differentiable": (0, 1)})


_MATMUL = (((1,), (0,)), ((), ()))
_BATCHED = (((2,), (1,)), ((0,), (0,)))

_DOTS = [
    Case("dot_general", _dot(_MATMUL), (arg(3, 4), arg(4, 2)), DOT, "matmul", HALF, HALF),
    Case("dot_general", _dot(_BATCHED), (arg(2, 3, 4), arg(2, 4, 5)), DOT, "batched", HALF, HALF),
    Case("dot_general", _dot((((), ()), ((), ()))), (arg(3), arg(2, 2)), label="outer"),
    Case("dot_general", _dot((((0, 2), (1, 0)), ((), ()))), (arg(3, 2, 4), arg(4, 3)), label="two"),
    Case("dot_general", _dot((((), ()), ((0,), (1,)))), (arg(3, 2), arg(2, 3)), label="batch-only"),
    Case(
        "dot_general",
        _dot(_MATMUL, preferred_element_type="float32"),
        (arg(3, 4), arg(4, 2)),
        ("bfloat16", "float16", "float32"),
        "preferred",
        1e-3,
        1e-3,
        doubles=False,
    ),
    Case(
        "dot_general",
        _dot(_MATMUL, preferred_element_type="float32"),
        (arg(3, 4, dtype="bfloat16"), arg(4, 2)),
        ("float32",),
        "mixed",
        1e-3,
        1e-3,
        doubles=False,
    ),
    Case("dot_general", _precise("HIGHEST"), (arg(3, 4), arg(4, 2)), label="precision"),
    Case(
        "dot_general",
        lambda lax, x, y: lax.dot(x, y, precision="BF16_BF16_F32"),
        (arg(3, 4), arg(4, 2)),
        ("float32", "bfloat16"),
        "algorithm",
        HALF,
        HALF,
        doubles=False,
    ),
    Case("dot_general", lambda lax, x, y: lax.batch_matmul(x, y), (arg(2, 1, 3), arg(2, 3, 2))),
]

_2D = ("NHWC", "HWIO", "NHWC")

_CONVS = [
    Case("conv_general_dilated", _conv((1, 1), "SAME"), (arg(2, 3, 5, 5), arg(4, 3, 3, 3)), CONV),
    Case(
        "conv_general_dilated",
        _conv((2, 1), "VALID", dimension_numbers=_2D),
        (arg(1, 6, 5, 2), arg(3, 2, 2, 3)),
        label="nhwc",
    ),
    Case(
        "conv_general_dilated",
        _conv((1,), ((2, 1),), (2,), (3,)),
        (arg(2, 2, 7), arg(3, 2, 2)),
        label="dilated",
    ),
    Case(
        "conv_general_dilated",
        _conv((1, 1), "SAME_LOWER", feature_group_count=2),
        (arg(1, 4, 4, 4), arg(6, 2, 2, 2)),
        label="feature-groups",
    ),
    Case(
        "conv_general_dilated",
        _conv((1,), "VALID", batch_group_count=2),
        (arg(4, 3, 6), arg(4, 3, 2)),
        label="batch-groups",
    ),
    Case(
        "conv_general_dilated",
        _conv((), ()),
        (arg(3, 4), arg(5, 4)),
        label="no-space",
    ),
    Case(
        "conv_general_dilated",
        _conv((1,), "SAME", preferred_element_type="float32"),
        (arg(1, 2, 6), arg(3, 2, 3)),
        ("bfloat16",),
        "preferred",
        HALF,
        HALF,
    ),
    Case(
        "conv_general_dilated",
        lambda lax, x, k: lax.conv_transpose(x, k, (2, 2), "SAME"),
        (arg(1, 3, 4, 2), arg(3, 3, 2, 5)),
        label="transpose",
    ),
    Case(
        "conv_general_dilated",
        lambda lax, x, k: lax.conv_transpose(x, k, (2,), "VALID", transpose_kernel=True),
        (arg(1, 4, 3), arg(3, 3, 3)),
        label="transpose-kernel",
    ),
    Case(
        "conv_general_dilated",
        lambda lax, x: lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "SAME"),
        (arg(2, 2, 4, 5),),
        label="patches",
        differentiable=(0,),
    ),
]

CASES: list[Case] = [_both(c) if len(c.args) == 2 else c for c in (*_DOTS, *_CONVS)]
