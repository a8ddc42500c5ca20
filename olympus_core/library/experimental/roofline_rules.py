"""The rules of `roofline`; primitives without one have neither operations nor bytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from olympus_core.ir.primitive import op
from olympus_core.library.experimental.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    rooflines,
)

Context = RooflineRuleContext
Shape = RooflineShape

_UNARY = (
    *("abs", "acos", "asin", "atan", "cbrt", "ceil", "conj", "cos", "cosh", "exp", "expm1"),
    *("floor", "imag", "integer_pow", "is_finite", "log", "log1p", "logistic", "neg", "not"),
    *("real", "round", "rsqrt", "sign", "sin", "sinh", "sqrt", "tan", "bessel_i1e", "digamma"),
    *("erf_inv", "erf", "erfc", "lgamma", "square"),
)
_BINARY = (
    *("add", "sub", "mul", "div", "rem", "and", "or", "xor", "gt", "lt", "ge", "le", "eq", "ne"),
    *("min", "max"),
)
_SCATTERS = ("scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub")


def _unfused(flops: float, *shapes: Shape) -> RooflineResult:
    """Return the result of operations whose operands and results are all in memory."""
    moved = sum(x.bytes for x in shapes)
    return RooflineResult(unfused_flops=int(flops), unfused_hbm_bytes=moved)


def _out(ctx: Context) -> Shape:
    return Shape.from_aval(ctx.avals_out[0])


def _unary(ctx: Context, x: Shape, **_: Any) -> RooflineResult:
    return _unfused(x.size, x, _out(ctx))


def _binary(ctx: Context, x: Shape, y: Shape, **_: Any) -> RooflineResult:
    return _unfused(_out(ctx).size, x, y, _out(ctx))


def _cumulative(ctx: Context, x: Shape, *, axis: int, **_: Any) -> RooflineResult:
    return _unfused(x.shape[axis], x, _out(ctx))


def _cumulative_log(ctx: Context, x: Shape, *, axis: int, **_: Any) -> RooflineResult:
    return _unfused(2 * x.shape[axis], x, _out(ctx))


def _dot(ctx: Context, x: Shape, y: Shape, *, dimension_numbers: Any, **_: Any) -> RooflineResult:
    (summed, _), (batch, _) = dimension_numbers
    shared = math.prod(x.shape[d] for d in (*summed, *batch))
    flops = 2 * x.size * y.size // max(shared, 1)
    moved = 0 if ctx.pin_lhs_in_vmem else x.bytes + _out(ctx).bytes
    moved += 0 if ctx.pin_rhs_in_vmem else y.bytes
    return RooflineResult(
        flops=flops, unfused_flops=flops, hbm_bytes=moved, unfused_hbm_bytes=moved
    )


def _positions(
    size: int, kernel: int, out: int, stride: int, low: int, dilations: tuple[int, int]
) -> int:
    """Return the pairs of a kernel's and an output's place along one axis that read an element."""
    base, window = dilations
    places = np.arange(out)[:, None] * stride - low + np.arange(kernel)[None] * window
    is_read = (places % base == 0) & (places >= 0) & (places < size * base)
    return int(np.count_nonzero(is_read))


def _convolution(
    ctx: Context,
    x: Shape,
    k: Shape,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    batch_group_count: int,
    **_: Any,
) -> RooflineResult:
    out, numbers = _out(ctx), dimension_numbers
    count = 1
    for d in range(len(window_strides)):
        count *= _positions(
            x.shape[numbers.lhs_spec[2 + d]],
            k.shape[numbers.rhs_spec[2 + d]],
            out.shape[numbers.out_spec[2 + d]],
            window_strides[d],
            padding[d][0],
            (lhs_dilation[d], rhs_dilation[d]),
        )
    features = k.shape[numbers.rhs_spec[1]] * out.shape[numbers.out_spec[1]]
    batch = x.shape[numbers.lhs_spec[0]] // batch_group_count
    return _unfused(2 * count * features * batch, x, k, out)


def _gather(ctx: Context, x: Shape, indices: Shape, *, mode: Any, **_: Any) -> RooflineResult:
    out = _out(ctx)
    checks = mode is not None and mode.name == "FILL_OR_DROP"
    return _unfused(4 * indices.size + out.size if checks else 0, out, out, indices)


def _scatter(flops: int) -> Callable[..., RooflineResult]:
    def rule(ctx: Context, x: Shape, indices: Shape, updates: Shape, **_: Any) -> RooflineResult:
        return _unfused(flops * updates.size, updates, updates, updates, indices)

    return rule


def _sum(ctx: Context, x: Shape, *, axes: Sequence[int], **_: Any) -> RooflineResult:
    summed = math.prod(x.shape[d] for d in axes)
    rest = math.prod(n for d, n in enumerate(x.shape) if d not in axes)
    result = Shape(shape=(rest,), dtype=x.dtype)
    return _unfused((summed - 1) * rest, x, result)


def _selection(ctx: Context, x: Shape, *rest: Shape, **_: Any) -> RooflineResult:
    return _unfused(_out(ctx).size, x, _out(ctx))


def _callback(ctx: Context, *shapes: Shape, **_: Any) -> RooflineResult:
    return _unfused(0, *shapes, *map(Shape.from_aval, ctx.avals_out))


def _sizes(ctx: Context, axes: Any) -> dict[Any, int]:
    """Return the sizes of the mesh along the axes of a collective, the longest first."""
    names = axes if isinstance(axes, tuple) else (axes,)
    sizes = {} if ctx.mesh is None else dict(ctx.mesh.shape)
    found = {name: sizes.get(name, 1) for name in names}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _on_links(sizes: dict[Any, int], moved: float, hops: float) -> RooflineResult:
    return RooflineResult(
        ici_bytes={name: int(moved) for name in sizes},
        ici_latency={name: int(hops) for name in sizes},
    )


def _ring(ctx: Context, axes: Any, *, is_reduced: bool) -> RooflineResult:
    """Return the result of a collective that passes parts around the rings of a torus."""
    sizes = _sizes(ctx, axes)
    total = math.prod(sizes.values())
    if total <= 1:
        return _on_links(sizes, 0, 0)
    part: float = Shape.total_bytes(ctx.avals_in)
    part = (part / total if is_reduced else part) // len(sizes)
    moved = 0.0
    for n in sizes.values():
        moved += part * (n - 1)
        part *= n
    return _on_links(sizes, moved, max(sizes.values()) * len(sizes))


def _reduce_scatter(ctx: Context, *_: Shape, axis_name: Any, **__: Any) -> RooflineResult:
    return _ring(ctx, axis_name, is_reduced=True)


def _all_gather(ctx: Context, *_: Shape, axis_name: Any, **__: Any) -> RooflineResult:
    return _ring(ctx, axis_name, is_reduced=False)


def _extremum(ctx: Context, *_: Shape, axes: Any, **__: Any) -> RooflineResult:
    scalars = [a.update(shape=(1,)) for a in ctx.avals_in]
    return _ring(replace(ctx, avals_in=scalars), axes, is_reduced=False)


def _all_reduce(ctx: Context, *_: Shape, axes: Any, **__: Any) -> RooflineResult:
    return 2 * _ring(ctx, axes, is_reduced=True)


def _all_to_all(ctx: Context, *_: Shape, axis_name: Any, **__: Any) -> RooflineResult:
    sizes = _sizes(ctx, axis_name)
    total, least = math.prod(sizes.values()), min(sizes.values())
    if total <= 1:
        return _on_links(sizes, 0, 0)
    links = least ** (len(sizes) - 1) * (2 if least > 2 else 1)  # the torus has wraparound links
    moved = Shape.total_bytes(ctx.avals_in) * total / 2 / links
    return _on_links(sizes, moved, sum(n / 2 for n in sizes.values()))


def _permutation(
    ctx: Context, *_: Shape, axis_name: Any, perm: Sequence[tuple[int, int]], **__: Any
) -> RooflineResult:
    names = axis_name if isinstance(axis_name, tuple) else (axis_name,)
    sizes = _sizes(ctx, names)
    if math.prod(sizes.values()) <= 1:
        return _on_links(sizes, 0, 0)
    dims = [sizes[name] for name in names]
    uses: Counter[Any] = Counter()
    hops = 0
    for pair in perm:
        source, target = (tuple(map(int, np.unravel_index(i, dims))) for i in pair)
        count = 0
        for d, n in enumerate(dims):
            ahead = (target[d] - source[d]) % n
            step = 1 if ahead <= n - ahead else -1
            at = source[d]
            while at != target[d]:
                following = (at + step) % n
                ends = [(*source[:d], place, *source[d + 1 :]) for place in (at, following)]
                uses[tuple(sorted(ends))] += 1
                at, count = following, count + 1
        hops = max(hops, count)
    moved = Shape.total_bytes(ctx.avals_in) * max(uses.values(), default=0)
    return _on_links(sizes, moved, hops)


def _set_rules() -> None:
    rules: dict[str, Callable[..., RooflineResult]] = {
        **dict.fromkeys(_UNARY, _unary),
        **dict.fromkeys(_BINARY, _binary),
        **dict.fromkeys(("cummax", "cummin", "cumprod", "cumsum"), _cumulative),
        **dict.fromkeys(_SCATTERS, _scatter(1)),
        **dict.fromkeys(("pure_callback", "io_callback", "debug_callback"), _callback),
        **dict.fromkeys(("pmin", "pmax"), _extremum),
        "cumlogsumexp": _cumulative_log,
        "dot_general": _dot,
        "conv_general_dilated": _convolution,
        "gather": _gather,
        "scatter": _scatter(0),
        "reduce_sum": _sum,
        "select_n": _selection,
        "reduce_scatter": _reduce_scatter,
        "all_gather": _all_gather,
        **dict.fromkeys(("psum", "psum_invariant"), _all_reduce),
        "all_to_all": _all_to_all,
        "ppermute": _permutation,
    }
    for name, rule in rules.items():
        primitive = op.find(name.replace("-", "_"))
        if primitive is not None:
            rooflines[primitive] = rule


_set_rules()
