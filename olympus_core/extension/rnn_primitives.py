"""`lstm` and the primitives of its two passes.

On all platforms they are computed as `lstm_ref`: no program calls a kernel of cuDNN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.extension.composed import ComposedPrimitive
from olympus_core.ir.tracer import Array
from olympus_core.library.experimental.rnn import lstm_ref, unpack_lstm_weights
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros, zeros_like
from olympus_core.primitives.precision import Precision
from olympus_core.transforms.autodiff import vjp


def _allows_tf32(precision: Any) -> bool:
    """Return True unless a precision, of both operands, is the highest one."""
    first = precision[0] if isinstance(precision, tuple) and precision else precision
    if first is None:
        return True
    known = Precision(first) if not isinstance(first, Precision) else first
    if known == Precision.DEFAULT and isinstance(precision, tuple):
        raise UnsupportedError("bfloat16 support not implemented for LSTM")
    return known != Precision.HIGHEST


def _forward(
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    seq_lengths: Any,
    *,
    cudnn_allow_tf32: bool,
    **sizes: Any,
) -> list[Any]:
    layers = {k: sizes[k] for k in ("input_size", "hidden_size", "num_layers", "bidirectional")}
    weights = unpack_lstm_weights(w, **layers)
    precision = None if cudnn_allow_tf32 else "highest"
    return list(lstm_ref(x, h_0, c_0, *weights, seq_lengths, **sizes, precision=precision))


def _forward_with_space(*args: Any, **params: Any) -> list[Any]:
    return [*_forward(*args, **params), zeros((0,), np.float32)]


def _backward(
    dy: Any,
    dh_n: Any,
    dc_n: Any,
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    y: Any,
    reserve_space: Any,
    seq_lengths: Any,
    **params: Any,
) -> list[Any]:
    """Return the cotangents of the inputs, states, cells and weights, by another forward pass."""

    def of_moving(x: Any, h_0: Any, c_0: Any, w: Any) -> list[Any]:
        return _forward(x, h_0, c_0, w, seq_lengths, **params)

    _, pullback = vjp(of_moving, x, h_0, c_0, w)
    return list(pullback([dy, dh_n, dc_n]))


def rnn_abstract_eval(
    x_aval: ShapedArray,
    h_0_aval: ShapedArray,
    c_0_aval: ShapedArray,
    w_aval: ShapedArray,
    seq_lengths_aval: ShapedArray,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
) -> tuple[ShapedArray, ShapedArray, ShapedArray, ShapedArray]:
    """Return the types of the outputs, states, cells and saved values of `rnn_fwd_p`.

    The backward pass recomputes, so that no value is saved: the last array has no elements.

    >>> x, h = ShapeDtypeStruct((5, 7, 2), "float32"), ShapeDtypeStruct((1, 5, 3), "float32")
    >>> w, n = ShapeDtypeStruct((84,), "float32"), ShapeDtypeStruct((5,), "int32")
    >>> rnn_abstract_eval(x, h, h, w, n, 2, 3, 1, 0.0, False, True)[0]
    ShapedArray(float32[5,7,3])
    """
    directions = 2 if bidirectional else 1
    batch, length = x_aval.shape[:2]
    outputs = shaped((batch, length, directions * hidden_size), x_aval.dtype)
    return outputs, h_0_aval, c_0_aval, shaped((0,), np.dtype(np.float32))


def rnn_bwd_abstract_eval(
    dy_aval: ShapedArray,
    dhn_aval: ShapedArray,
    dcn_aval: ShapedArray,
    x_aval: ShapedArray,
    h0_aval: ShapedArray,
    c0_aval: ShapedArray,
    w_aval: ShapedArray,
    y_aval: ShapedArray,
    reserve_space_aval: ShapedArray,
    seq_lengths_aval: ShapedArray,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    cudnn_allow_tf32: bool,
) -> tuple[ShapedArray, ShapedArray, ShapedArray, ShapedArray]:
    """Return the types of the cotangents of inputs, states, cells and weights: `rnn_bwd_p`'s.

    >>> x = ShapeDtypeStruct((5, 7, 2), "float32")
    >>> rnn_bwd_abstract_eval(*[x] * 10, 2, 3, 1, 0.0, False, True)[0].shape
    (5, 7, 2)
    """
    return x_aval, h0_aval, c0_aval, w_aval


rnn_fwd_p = ComposedPrimitive("rnn_fwd", _forward_with_space, multiple_results=True)
rnn_bwd_p = ComposedPrimitive("rnn_bwd", _backward, multiple_results=True)


def _lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    outs, _ = lstm_fwd(
        *(x, h_0, c_0, weights, seq_lengths, input_size, hidden_size),
        *(num_layers, dropout, bidirectional, precision),
    )
    return outs


_lstm_call = custom_vjp(_lstm, nondiff_argnums=(5, 6, 7, 8, 9, 10))


def lstm(
    x: Array,
    h_0: Array,
    c_0: Array,
    weights: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the outputs of an LSTM, and the last hidden states and cells.

    x: the inputs, of shape (batch, length, input_size). h_0, c_0: the first states and cells, of
    shape (layers * directions, batch, hidden_size). weights: the vector of
    `get_num_params_in_lstm` weights. seq_lengths: the length of each sequence, int32. dropout: 0.
    precision: that of the products. The results have the shapes (batch, length, directions *
    hidden_size), and those of h_0 and c_0. It has reverse derivatives.

    Raises UnsupportedError for lengths of another dtype and for a dropout, and ArgumentError for
    another number of weights.

    >>> y, h, c = lstm(
    ...     numpy.ones((1, 4, 2)), numpy.zeros((1, 1, 3)), numpy.ones((1, 1, 3)), numpy.zeros(84),
    ...     numpy.array([4], "int32"), 2, 3, 1, 0.0, False)
    >>> c
    Array([[[0.0625, 0.0625, 0.0625]]], dtype=float32)
    """
    outs: tuple[Array, Array, Array] = _lstm_call(
        *(x, h_0, c_0, weights, seq_lengths, input_size, hidden_size),
        *(num_layers, dropout, bidirectional, precision),
    )
    return outs


def lstm_fwd(
    x: Array,
    h_0: Array,
    c_0: Array,
    w: Array,
    seq_lengths: Array,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
) -> tuple[tuple[Array, Array, Array], tuple[Array, ...]]:
    """Return the results of `lstm`, and the values that `lstm_bwd` needs.

    >>> outs, saved = lstm_fwd(
    ...     numpy.ones((1, 4, 2)), numpy.zeros((1, 1, 3)), numpy.ones((1, 1, 3)), numpy.zeros(84),
    ...     numpy.array([4], "int32"), 2, 3, 1, 0.0, False, None)
    >>> len(saved)
    7
    """
    lengths = asarray(seq_lengths)
    if lengths.dtype != np.int32:
        raise UnsupportedError("`seq_lengths` can only be int32.")
    y, h_n, c_n, space = rnn_fwd_p.bind(
        *(x, h_0, c_0, w, lengths),
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        cudnn_allow_tf32=_allows_tf32(precision),
    )
    return (y, h_n, c_n), (x, h_0, c_0, w, lengths, y, space)


def lstm_bwd(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
    residuals: Sequence[Array],
    gradients: Sequence[Array],
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the cotangents of the arrays of `lstm`; that of the lengths is 0.

    residuals: the second result of `lstm_fwd`. gradients: the cotangents of the results of `lstm`.

    >>> outs, saved = lstm_fwd(
    ...     numpy.ones((1, 4, 2)), numpy.zeros((1, 1, 3)), numpy.ones((1, 1, 3)), numpy.zeros(84),
    ...     numpy.array([4], "int32"), 2, 3, 1, 0.0, False, None)
    >>> lstm_bwd(2, 3, 1, 0.0, False, None, saved, outs)[3].shape
    (84,)
    """
    if len(residuals) != 7:
        raise ArgumentError(f"lstm_bwd needs the 7 residuals of lstm_fwd, and got {len(residuals)}")
    x, h_0, c_0, w, seq_lengths, y, space = residuals
    dx, dh_0, dc_0, dw = rnn_bwd_p.bind(
        *gradients,
        *(x, h_0, c_0, w, y, space, seq_lengths),
        input_size=input_size,
        hidden_size=hidden_size,
        num_layers=num_layers,
        dropout=dropout,
        bidirectional=bidirectional,
        cudnn_allow_tf32=_allows_tf32(precision),
    )
    return dx, dh_0, dc_0, dw, zeros_like(seq_lengths)


_lstm_call.defvjp(lstm_fwd, lstm_bwd)
