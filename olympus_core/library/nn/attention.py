"""Scaled dot-product attention: means of values, weighted by the match of queries and keys.

Axes: B batch, T queries, S keys, N query heads, K key heads (N is a multiple), H features.
Logits and probabilities are float32, whatever the dtype of the operands.
"""

from __future__ import annotations

import functools
from typing import Any, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.shape import broadcasted_iota, reshape, transpose
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.logic import logical_and
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.operands import choose, scalar
from olympus_core.library.promotion import convert
from olympus_core.library.softmax import logsumexp, softmax

INT32, FLOAT32 = np.dtype("int32"), np.dtype("float32")
Window = tuple[int, int] | None


def _rank4(name: str, x: ArrayLike) -> Array:
    """Return an operand with leading axes of size 1 added up to rank 4."""
    x = asarray(x)
    if x.ndim > 4:
        raise ShapeError(f"attention needs {name} of rank 4 at most, and got shape {x.shape}")
    return x if x.ndim == 4 else reshape(x, (*(1,) * (4 - x.ndim), *x.shape))


def _check_operands(query: Any, key: Any, value: Any) -> None:
    text = f"query {query.shape}, key {key.shape} and value {value.shape}"
    if value.shape != key.shape:
        raise ShapeError(f"attention needs key and value of one shape, and got {text}")
    if query.shape[0] != key.shape[0] or query.shape[3] != key.shape[3]:
        raise ShapeError(f"attention needs operands of one batch and feature size, and got {text}")
    if query.shape[2] % key.shape[2]:
        raise ShapeError(f"the query heads must be a multiple of the key heads, and got {text}")
    if not query.dtype == key.dtype == value.dtype:
        names = ", ".join(dtypes.long_name(x.dtype) for x in (query, key, value))
        raise DTypeError(f"attention needs operands of one dtype, and got {names}")


def _lengths(name: str, lengths: Any, batch: int) -> Any:
    if lengths is None:
        return None
    lengths = asarray(lengths)
    if lengths.shape != (batch,) or lengths.dtype != INT32:
        raise ShapeError(
            f"attention needs {name} of int32[{batch}], and got {lengths.aval.long_name()}"
        )
    return reshape(lengths, (batch, 1, 1, 1))


def _positions(t: int, s: int, is_causal: bool, window: Window) -> list[Any]:
    """Return the masks of the keys that each query may attend to: bool arrays (1, 1, T, S)."""
    if not is_causal and window is None:
        return []
    rows, columns = (broadcasted_iota(INT32, (1, 1, t, s), axis) for axis in (2, 3))
    masks = [rows >= columns] if is_causal else []
    if window is not None:
        left, right = window
        masks += [rows <= columns + left, rows >= columns - right]
    return masks


def _padding(t: int, s: int, query_lengths: Any, key_lengths: Any) -> list[Any]:
    masks = []
    if query_lengths is not None:
        masks.append(broadcasted_iota(INT32, (1, 1, t, 1), 2) < query_lengths)
    if key_lengths is not None:
        masks.append(broadcasted_iota(INT32, (1, 1, 1, s), 3) < key_lengths)
    return masks


def _lowest(dtype: DType) -> Any:
    """Return a logit whose probability is 0, and of which a few can be summed without overflow."""
    magnitude = min(float(dtypes.finfo(dtype).max), float(dtypes.finfo(FLOAT32).max))
    return scalar(-0.7 * magnitude, dtype)


def _logits(query: Any, key: Any, scale: Any) -> Any:
    """Return the logits (B, N, T, S), at least float32."""
    (batch, t, heads, size), (s, key_heads) = query.shape, key.shape[1:3]
    dtype = dtypes.promote((query.dtype, False), (FLOAT32, False))[0]
    multiply = functools.partial(einsum, preferred_element_type=dtype)
    if heads == key_heads:
        logits = multiply("BTNH,BSNH->BNTS", query, key)
    else:
        groups = reshape(query, (batch, t, key_heads, heads // key_heads, size))
        logits = multiply("BTKGH,BSKH->BKGTS", groups, key)
        logits = reshape(logits, (batch, heads, t, s))
    return logits * convert(scale, dtype)


def _encoded(probabilities: Any, value: Any) -> Any:
    """Return the encoded values (B, T, N, H)."""
    (batch, heads, t, s), (_, _, key_heads, size) = probabilities.shape, value.shape
    if heads == key_heads:
        return einsum("BNTS,BSNH->BTNH", probabilities, value)
    groups = reshape(probabilities, (batch, key_heads, heads // key_heads, t, s))
    return reshape(einsum("BKGTS,BSKH->BTKGH", groups, value), (batch, t, heads, size))


@composite(static_argnames=("is_causal", "window", "with_residual"))
def _attend(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    lengths: tuple[Any, Any],
    scale: Any,
    is_causal: bool,
    window: Window,
    with_residual: bool,
) -> Any:
    """Return the encoded values and, with the residual, the log-sum-exp of each query's logits."""
    logits = _logits(query, key, scale)
    dtype, (t, s) = logits.dtype, logits.shape[2:]
    if bias is not None:
        logits = convert(logits + bias, dtype)
    masks = [] if mask is None else [mask]
    masks += [*_positions(t, s, is_causal, window), *_padding(t, s, *lengths)]
    if masks:
        logits = choose("attention", functools.reduce(logical_and, masks), logits, _lowest(dtype))
    logits = convert(logits, FLOAT32)
    encoded = _encoded(convert(softmax(logits, axis=-1), key.dtype), value)
    if lengths[0] is not None:
        is_valid_query = broadcasted_iota(INT32, (1, t, 1, 1), 1) < lengths[0]
        encoded = encoded * convert(is_valid_query, encoded.dtype)
    if not with_residual:
        return encoded
    residual = convert(logsumexp(logits, axis=-1), key.dtype)
    return encoded, transpose(residual, (0, 2, 1))


@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[False] = False,
) -> Array: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: Literal[True],
) -> tuple[Array, Array]: ...
@overload
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool,
) -> Array | tuple[Array, Array]: ...
def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Array | tuple[Array, Array]:
    """softmax(scale * query @ key.T + bias) @ value for each head: Vaswani et al. (2017).

    query (B, T, N, H), key and value (B, S, K, H), or all without B; the result is like query.
    bias and the bool mask (True: attended to) broadcast to (B, N, T, S).  `scale` is 1 / sqrt(H) by
    default.  Further masks: `is_causal`; the int32[B] lengths of padded sequences; and
    `local_window_size`, the number of keys to the left and right of each query that it attends to.

    With `return_residual` the result is (encoded, log-sum-exp of the logits, (B, T, N)).

    Raises ShapeError or DTypeError for operands that do not match, ArgumentError (a ValueError) for
    an `implementation` other than "xla".

    >>> dot_product_attention(zeros((2, 5, 4, 8)), zeros((2, 7, 4, 8)), zeros((2, 7, 4, 8))).shape
    (2, 5, 4, 8)
    """
    if implementation not in (None, "xla"):
        raise ArgumentError(f"attention has the implementation 'xla', and not {implementation!r}")
    shape = shape_of(query)
    query, key, value = _rank4("query", query), _rank4("key", key), _rank4("value", value)
    _check_operands(query, key, value)
    bias, mask = (None if x is None else _rank4("bias and mask", x) for x in (bias, mask))
    if mask is not None and mask.dtype != dtypes.bool_:
        raise DTypeError(f"attention needs a bool mask, and got {mask.aval.long_name()}")
    lengths = (
        _lengths("query_seq_lengths", query_seq_lengths, query.shape[0]),
        _lengths("key_value_seq_lengths", key_value_seq_lengths, query.shape[0]),
    )
    window = local_window_size
    if isinstance(window, int):
        window = (window, window)
    elif window is not None:
        left, right = window  # a list is allowed too
        window = (left, right)
    if scale is None:
        width = query.shape[3]
        scale = (width * 1.0) ** -0.5 if is_symbolic_dim(width) else float(1 / np.sqrt(width))
    options: dict[str, Any] = {"is_causal": is_causal, "window": window}
    operands = query, key, value, bias, mask, lengths, scale
    result = _attend(*operands, **options, with_residual=return_residual)
    if not return_residual:
        return reshape(result, shape)
    return reshape(result[0], shape), reshape(result[1], shape[:-1])
