"""The rules of padded rows for operations on arrays, by the name of the primitive."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.ir.primitive import op
from olympus_core.primitives.reduction import highest, lowest
from olympus_core.primitives.shape import blocks_of_reshape
from olympus_core.verification.padding.flow import Rule, Step
from olympus_core.verification.padding.values import (
    REAL,
    UNPADDED,
    Padding,
    common_fill,
    is_same,
    scalar,
)
from olympus_core.verification.reference import RULES as REFERENCES
from olympus_core.verification.reference import Call

_MASK = (
    "give padded rows the value that does not count: select it with an argument that "
    "`padding` declares as a mask"
)
_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
#: Operations whose results are finite for finite operands, apart from overflows.
_FINITE = frozenset(
    (
        *("abs", "add", "and", "asinh", "atan", "atan2", "cbrt", "ceil", "clamp", "complex"),
        *("conj", "convert_element_type", "cos", "erf", "erfc", "floor", "imag", "is_finite"),
        *("logistic", "max", "min", "mul", "name", "neg", "not", "or", "real"),
        *("reduce_precision", "relu", "round", "select_n", "sign", "sin", "stop_gradient"),
        *("add_any", "square", "sub", "tanh", "xor"),
    )
)
#: A start that is out of range is moved, by a distance that depends on the length of the part.
_SHIFTED = "it takes a part whose length is the number of rows, and its place depends on the length"
#: The value of an operand that decides the result of an operation alone.
_DECISIVE = {"and": 0, "or": -1}


def _elementwise(step: Step) -> Sequence[Padding]:
    constants = [x.constant for x in step.operands]
    fills = {}
    for axis in step.padded[0]:
        known = [
            x.along(axis) if axis in x.fills else REAL if x.constant is None else x.constant
            for x in step.operands
        ]
        fills[axis] = _value(step, known)
    return [Padding(fills, _value(step, constants))]


def _value(step: Step, operands: Sequence[Any]) -> Any:
    """Return the result of an elementwise operation on scalars; None for an unknown operand."""
    name, out = step.eqn.primitive.name, step.outs[0].update(shape=())
    if name == "select_n" and operands[0] is not None and operands[0] is not REAL:
        return operands[1 + int(operands[0])]
    if name in _DECISIVE:
        value = scalar(_DECISIVE[name], out)
        if any(x is not None and is_same(x, value) for x in operands):
            return value
    if any(x is REAL for x in operands) and not any(x is None for x in operands):
        return _of_real(step, operands, out)
    reference = REFERENCES.get(name)
    if any(x is None for x in operands) or reference is None:
        return None
    natives = [np.asarray(x) for x in operands]
    wide = [x.astype(np.float64) if dtypes.kind(x.dtype) == "f" else x for x in natives]
    avals = [a.update(shape=()) for a in step.avals]
    with np.errstate(all="ignore"):
        (result,) = reference.value(Call(dict(step.params), avals, [out], wide, natives))
    return scalar(result, out)


def _of_real(step: Step, operands: Sequence[Any], out: ShapedArray) -> Any:
    """Return the result of an operation on `REAL` values and constants; None if it is unknown.

    Padded rows have other operands than real ones: it is unknown where finite operands may have a
    result that is not finite, such as exp of a large number or the quotient by zero.
    """
    name = step.eqn.primitive.name
    constants = [np.asarray(x) for x in operands if x is not REAL]
    if name in _COMPARISONS or (name == "integer_pow" and step.params["y"] >= 0):
        return REAL
    if len(operands) == 2 and len(constants) == 1:
        (known,), is_first = constants, operands[0] is not REAL
        is_quotient = name == "div" and is_first and dtypes.kind(known.dtype) in "fc"
        if known == 0 and (name == "mul" or is_quotient):
            return scalar(0, out)
        if name in ("add", "add_any", "sub") and np.isinf(known):
            return scalar(-known if name == "sub" and not is_first else known, out)
        if name == "div" and not is_first and np.isfinite(known) and known != 0:
            return REAL
    is_finite = name in _FINITE and all(np.isfinite(x) for x in constants)
    return REAL if is_finite else None


def _same(step: Step) -> Sequence[Padding]:
    """The rule of an operation whose results are its operands."""
    return step.operands


def _broadcast_in_dim(step: Step) -> Sequence[Padding]:
    (x,), dims = step.operands, step.params["broadcast_dimensions"]
    sources = {d: i for i, d in enumerate(dims)}
    fills = {}
    for axis in step.padded[0]:
        source = sources.get(axis)
        repeated = REAL if x.constant is None else x.constant
        fills[axis] = repeated if source is None or source not in x.fills else x.along(source)
    return [Padding(fills, x.constant)]


def _reshape(step: Step) -> Sequence[Padding]:
    (x,), new = step.operands, step.padded[0]
    if not x.fills and not new:
        return [Padding({}, x.constant)]
    if step.params["dimensions"] is not None:
        step.refuse("it permutes axes")
    after = step.outs[0].shape
    blocks = blocks_of_reshape(step.avals[0].shape, after)
    if blocks is None:
        return [Padding(dict.fromkeys(new), x.constant)]
    moved = {}
    for old, now in blocks:
        before, later = [i for i in old if i in x.fills], [i for i in now if i in new]
        if not before and not later:
            continue
        if before != old[:1] or later != now[:1]:
            step.refuse("the rows are not the leading axis of the axes that it joins or splits")
        moved[before[0]] = later[0]
    if set(moved.values()) != set(new) or set(moved) != set(x.fills):
        step.refuse("it joins the rows with other axes")
    return [x.moved(moved)]


def _transpose(step: Step) -> Sequence[Padding]:
    return [step.operands[0].moved({p: i for i, p in enumerate(step.params["permutation"])})]


def _squeeze(step: Step) -> Sequence[Padding]:
    rest = [i for i in range(step.avals[0].ndim) if i not in step.params["dimensions"]]
    return [step.operands[0].moved({axis: i for i, axis in enumerate(rest)})]


def _rev(step: Step) -> Sequence[Padding]:
    _refuse_axes(step, step.params["dimensions"], "it reverses the rows")
    return step.operands


def _refuse_axes(step: Step, axes: Sequence[int], reason: str, operand: int = 0) -> None:
    """Refuse the step if one of the axes of an operand is padded."""
    if any(axis in step.operands[operand].fills for axis in axes):
        step.refuse(reason)


def _unknown(step: Step) -> Sequence[Padding]:
    """The rule of an operation whose padded rows have unknown values."""
    return [Padding(dict.fromkeys(axes)) for axes in step.padded]


def _slice(step: Step) -> Sequence[Padding]:
    (x,), shape = step.operands, step.avals[0].shape
    start, limit = step.params["start_indices"], step.params["limit_indices"]
    strides = step.params["strides"] or (1,) * len(shape)
    for axis in x.fills:
        is_all = (start[axis], limit[axis], strides[axis]) == (0, shape[axis], 1)
        is_first = (start[axis], limit[axis]) == (0, 1) and axis not in step.padded[0]
        if not (is_all and axis in step.padded[0]) and not is_first:
            step.refuse("it takes a part of the rows")
    if set(step.padded[0]) - set(x.fills):
        step.refuse("it takes a part that depends on the number of rows")
    return [x]


def _pad(step: Step) -> Sequence[Padding]:
    x, value = step.operands
    config = step.params["padding_config"]
    for axis in x.fills:
        if tuple(config[axis]) != (0, 0, 0):
            step.refuse("it adds elements between or beside the rows")
    if set(step.padded[0]) - set(x.fills):
        step.refuse("it adds a number of elements that depends on the number of rows")
    return [Padding({k: common_fill(fill, value.constant) for k, fill in x.fills.items()})]


def _concatenate(step: Step) -> Sequence[Padding]:
    axis = step.params["dimension"]
    for i in range(len(step.operands)):
        if len(step.operands) > 1:
            _refuse_axes(step, [axis], "it appends other elements to the rows", i)
    return [functools.reduce(Padding.joined, step.operands)]


def _stack(step: Step) -> Sequence[Padding]:
    axis, rank = step.params["axis"], step.avals[0].ndim
    places = {i: i + (i >= axis) for i in range(rank)}
    return [functools.reduce(Padding.joined, [x.moved(places) for x in step.operands])]


def _split(step: Step) -> Sequence[Padding]:
    _refuse_axes(step, [step.params["axis"]], "it splits the rows")
    return [step.operands[0]] * len(step.outs)


def _unstack(step: Step) -> Sequence[Padding]:
    axis, rank = step.params["axis"], step.avals[0].ndim
    _refuse_axes(step, [axis], "it splits the rows")
    places = {i: i - (i > axis) for i in range(rank)}
    return [step.operands[0].moved(places)] * len(step.outs)


def _places_without(step: Step, axes: Sequence[int]) -> dict[int, int]:
    """Return the place in the result of each axis that a reduction over `axes` leaves."""
    rest = [i for i in range(step.avals[0].ndim) if i not in axes]
    return {axis: i for i, axis in enumerate(rest)}


def _reduction(identity: Callable[[Any], Any], is_idempotent: bool) -> Rule:
    """Return the rule of a reduction; `identity` is the value that does not count, of a dtype.

    A reduction that `is_idempotent` of equal values is that value.
    """

    def rule(step: Step) -> Sequence[Padding]:
        (x,), axes = step.operands, step.params["axes"]
        neutral = scalar(identity(step.avals[0].dtype), step.avals[0])
        for axis in axes:
            fill = x.along(axis)
            if axis in x.fills and not _is_neutral(fill, neutral):
                what = "unknown values" if fill is None or fill is REAL else f"the value {fill}"
                step.refuse(f"it combines the rows, and padded rows have {what}", _MASK)
        known = {
            axis: fill
            for axis, fill in x.fills.items()
            if fill is not None and (is_idempotent or _is_neutral(fill, neutral))
        }
        return [Padding(known).moved(_places_without(step, axes))]

    return rule


def _is_neutral(fill: Any, neutral: Any) -> bool:
    """Return True if a known fill does not count in a reduction; both zeros are neutral in sums."""
    if fill is None or fill is REAL:
        return False
    return is_same(fill, neutral) or bool(neutral == 0 and fill == 0)


def _position(worst: Callable[[Any], Any]) -> Rule:
    """Return the rule of the position of an extremum; a padded row is never the first one."""

    def rule(step: Step) -> Sequence[Padding]:
        (x,), axes = step.operands, step.params["axes"]
        last = scalar(worst(step.avals[0].dtype), step.avals[0])
        for axis in axes:
            fill = x.along(axis)
            if axis in x.fills and not _is_neutral(fill, last):
                step.refuse("it compares the rows, and padded rows may be chosen", _MASK)
        return [UNPADDED]

    return rule


def _cumulative(identity: Callable[[Any], Any] | None) -> Rule:
    """Return the rule of a cumulative operation: an element depends on those before it."""

    def rule(step: Step) -> Sequence[Padding]:
        (x,), axis = step.operands, step.params["axis"]
        if axis in x.fills and step.params["reverse"]:
            fill = x.along(axis)
            neutral = (
                None if identity is None else scalar(identity(step.avals[0].dtype), step.avals[0])
            )
            if neutral is None or not _is_neutral(fill, neutral):
                step.refuse("it combines the rows from the last one", _MASK)
        return _unknown(step)

    return rule


def _dot_general(step: Step) -> Sequence[Padding]:
    lhs, rhs = step.operands
    contract, _ = step.params["dimension_numbers"]
    for i, j in zip(*contract, strict=True):
        if i in lhs.fills or j in rhs.fills:
            fills = lhs.along(i), rhs.along(j)
            if any(x is None for x in fills) or not _is_zero_product(*fills):
                step.refuse("it sums over the rows, and padded rows have unknown values", _MASK)
    return _unknown(step)


def _is_zero_product(one: Any, two: Any) -> bool:
    if one is REAL or two is REAL:
        return any(x is not REAL and x == 0 for x in (one, two))
    with np.errstate(all="ignore"):
        product = np.asarray(one).astype(np.complex128) * np.asarray(two).astype(np.complex128)
    return bool(product == 0)


def _conv(step: Step) -> Sequence[Padding]:
    numbers = step.params["dimension_numbers"]
    batch, *others = numbers.lhs_spec
    _refuse_axes(step, others, "it combines the rows in a window or in features")
    _refuse_axes(step, range(step.avals[1].ndim), "its kernel depends on the rows", 1)
    if batch in step.operands[0].fills and step.params["batch_group_count"] != 1:
        step.refuse("it combines groups of rows")
    return _unknown(step)


def _gather(step: Step) -> Sequence[Padding]:
    x, _ = step.operands
    numbers, sizes = step.params["dimension_numbers"], step.params["slice_sizes"]
    batching = numbers.operand_batching_dims
    for axis in x.fills:
        whole = sizes[axis] == step.avals[0].shape[axis] and axis not in numbers.start_index_map
        if axis not in batching and not (whole and axis not in numbers.collapsed_slice_dims):
            step.refuse(
                "its indices choose among the rows",
                "take_along_axis along another axis, or vmap, keeps the rows apart",
            )
    for axis, (one, two) in enumerate(zip(sizes, step.twin.params["slice_sizes"], strict=True)):
        if one != two and axis not in x.fills:
            step.refuse(_SHIFTED)
    _refuse_axes(step, [step.avals[1].ndim - 1], "its indices have the rows as coordinates", 1)
    return _unknown(step)


def _scatter(step: Step) -> Sequence[Padding]:
    x, indices, updates = step.operands
    numbers = step.params["dimension_numbers"]
    batching = numbers.operand_batching_dims
    dropped = {*numbers.inserted_window_dims, *batching}
    windows = dict(
        zip(
            [i for i in range(step.avals[0].ndim) if i not in dropped],
            sorted(numbers.update_window_dims),
            strict=True,
        )
    )
    for axis in x.fills:
        window = windows.get(axis)
        whole = window in updates.fills and axis not in numbers.scatter_dims_to_operand_dims
        if axis not in batching and not whole:
            step.refuse("its indices choose among the rows")
    for axis, window in windows.items():
        is_whole = step.avals[0].shape[axis] == step.avals[2].shape[window]
        if window in updates.fills and not (axis in x.fills and is_whole):
            step.refuse("it replaces a part whose length is the number of rows")
    in_rows = set(indices.fills) <= set(numbers.scatter_indices_batching_dims)
    free = [i for i in updates.fills if i not in numbers.update_window_dims]
    if not in_rows or (free and not indices.fills and not batching):
        step.refuse("several rows of the updates may go to one place")
    return _unknown(step)


def _dynamic_slice(step: Step) -> Sequence[Padding]:
    x, shape = step.operands[0], step.avals[0].shape
    for axis in x.fills:
        if step.params["slice_sizes"][axis] != shape[axis]:
            step.refuse("it takes a part of the rows")
    if set(step.padded[0]) - set(x.fills):
        step.refuse(_SHIFTED)
    return [x]


def _dynamic_update_slice(step: Step) -> Sequence[Padding]:
    x, update = step.operands[:2]
    for axis in {**x.fills, **update.fills}:
        if axis not in x.fills or axis not in update.fills:
            step.refuse("it replaces a part of the rows")
        if step.avals[0].shape[axis] != step.avals[1].shape[axis]:
            step.refuse("it replaces a part of the rows")
    return [x.joined(update)]


def _along(parameter: str, reason: str) -> Rule:
    """Return the rule of an operation along one axis or several, which must not be the rows."""

    def rule(step: Step) -> Sequence[Padding]:
        value = step.params[parameter]
        axes = [value] if isinstance(value, int) else value
        for i in range(len(step.operands)):
            _refuse_axes(step, axes, reason, i)
        return _unknown(step)

    return rule


def _last_axes(count: int, reason: str) -> Rule:
    """Return the rule of an operation along the last axes, which must not be the rows."""

    def rule(step: Step) -> Sequence[Padding]:
        for i, aval in enumerate(step.avals):
            _refuse_axes(step, range(max(aval.ndim - count, 0), aval.ndim), reason, i)
        return _unknown(step)

    return rule


def _fft(step: Step) -> Sequence[Padding]:
    return _last_axes(len(step.params["fft_lengths"]), "it transforms along the rows")(step)


def _window(step: Step) -> Sequence[Padding]:
    for i, x in enumerate(step.operands):
        for axis in x.fills:
            names = ("window_dimensions", "window_strides", "base_dilation", "window_dilation")
            ones = all((step.params.get(n) or (1,) * 99)[axis] == 1 for n in names)
            if not ones or tuple(step.params["padding"][axis]) != (0, 0):
                _refuse_axes(step, [axis], "its windows have several rows", i)
    return _unknown(step)


def _no_rows(step: Step) -> Sequence[Padding]:
    """The rule of an array in the program: it has no padded rows."""
    if step.padded[0]:
        step.refuse("an array of the program has the length of the rows")
    return [UNPADDED]


def _iota(step: Step) -> Sequence[Padding]:
    return _unknown(step)


_ZERO: Callable[[Any], Any] = lambda dtype: 0  # noqa: E731
_ONE: Callable[[Any], Any] = lambda dtype: 1  # noqa: E731
_ALL: Callable[[Any], Any] = lambda dtype: True if dtypes.kind(dtype) == "b" else -1  # noqa: E731

_MATRICES = (
    *("cholesky", "eig", "eigh", "factored_solve", "lu", "qr", "geqrf", "svd"),
    *("householder_product", "triangular_solve"),
)

#: the rules by the name of the primitive
ARRAY_RULES: dict[str, Rule] = {
    **{p.name: _elementwise for p in op.every() if p.is_elementwise},
    **dict.fromkeys(("copy", "optimization_barrier", "sharding_constraint"), _same),
    "name": _same,
    "broadcast_in_dim": _broadcast_in_dim,
    "reshape": _reshape,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "rev": _rev,
    "iota": _iota,
    "constant": _no_rows,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
    "reduce_sum": _reduction(_ZERO, False),
    "reduce_prod": _reduction(_ONE, False),
    "reduce_max": _reduction(lowest, True),
    "reduce_min": _reduction(highest, True),
    "reduce_and": _reduction(_ALL, True),
    "reduce_or": _reduction(_ZERO, True),
    "reduce_xor": _reduction(_ZERO, False),
    "argmax": _position(lowest),
    "argmin": _position(highest),
    "cumsum": _cumulative(_ZERO),
    "cumprod": _cumulative(_ONE),
    "cummax": _cumulative(lowest),
    "cummin": _cumulative(highest),
    "cumlogsumexp": _cumulative(lowest),
    "dot_general": _dot_general,
    "conv_general_dilated": _conv,
    "gather": _gather,
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"),
        _scatter,
    ),
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "sort": _along("dimension", "it sorts the rows"),
    "top_k": _last_axes(1, "it sorts the rows"),
    "fft": _fft,
    **dict.fromkeys(_MATRICES, _last_axes(2, "the rows are those of a matrix")),
    "lu_pivots_to_permutation": _last_axes(1, "the rows are those of a matrix"),
    **dict.fromkeys(
        ("reduce_window_sum", "reduce_window_max", "reduce_window_min", "reduce_window"), _window
    ),
}
