"""`olympus.experimental.rnn`: LSTM layers, with weights in the layout of cuDNN.

The equations are those of S. Hochreiter and J. Schmidhuber, "Long short-term memory" (1997), with
the forget gates of F. Gers et al. (2000). The weights of a layer and direction are the matrices of
the inputs and of the state, each of the gates i, f, g, o below each other; all biases follow all
matrices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import scan
from olympus_core.library.nn.activations import sigmoid
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.trigonometric import tanh
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.splitting import split
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.random.uniform import uniform

_STATIC = ("input_size", "hidden_size", "num_layers", "dropout", "bidirectional", "precision")


def _shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> list[tuple[int, ...]]:
    """Return the shapes of the arrays in the weights, in their order."""
    directions = 2 if bidirectional else 1
    matrices: list[tuple[int, ...]] = []
    for layer in range(num_layers):
        inputs = input_size if layer == 0 else directions * hidden_size
        matrices += [(4 * hidden_size, inputs), (4 * hidden_size, hidden_size)] * directions
    return matrices + [(4 * hidden_size,)] * (2 * num_layers * directions)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """Return the number of weights of an LSTM.

    >>> get_num_params_in_lstm(2, 3, 1, False)
    84
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    return sum(math.prod(shape) for shape in shapes)


def init_lstm_weight(
    rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Return random weights of an LSTM, a vector of float32.

    They are uniform in [-k, k], where k is 1 / sqrt(hidden_size). rng: a random key.

    >>> init_lstm_weight(random.key(0), 2, 3, 1, False).shape
    (84,)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = np.sqrt(1.0 / hidden_size)
    weights: Array = uniform(rng, (count,), np.float32, minval=-bound, maxval=bound)
    return weights


def _parts(weights: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    if weights.shape != (ends[-1],):
        raise ArgumentError(f"the LSTM has {ends[-1]} weights, and got the shape {weights.shape}")
    starts = [0, *ends[:-1]]
    return [weights[a:b].reshape(s) for a, b, s in zip(starts, ends, shapes, strict=True)]


def swap_lstm_gates(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Array:
    """Return weights with the gates g and o exchanged.

    weights: a vector of `get_num_params_in_lstm` weights. Raises ArgumentError for another number.

    >>> swap_lstm_gates(numpy.arange(12.0), 1, 1, 1, False)[:4]
    Traceback (most recent call last):
      ...
    olympus.errors.ArgumentError: the LSTM has 16 weights, and got the shape (12,)
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    swapped = []
    for part in _parts(asarray(weights), shapes):
        i, f, g, o = split(part, 4, axis=0)
        swapped.append(concatenate([i, f, o, g], axis=0).reshape(-1))
    return concatenate(swapped)


def unpack_lstm_weights(
    weights: ArrayLike, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[dict[int, Array], dict[int, Array], dict[int, Array], dict[int, Array]]:
    """Return the weights of inputs and of the state, and the biases of both, by layer.

    A layer of two directions counts twice. The matrices have the shapes (4 hidden, inputs) and
    (4 hidden, hidden), and the biases (4 hidden,). Raises ArgumentError for another number of
    weights.

    >>> w_ih, w_hh, b_ih, b_hh = unpack_lstm_weights(numpy.zeros(84), 2, 3, 1, False)
    >>> w_ih[0].shape, b_hh[0].shape
    ((12, 2), (12,))
    """
    shapes = _shapes(input_size, hidden_size, num_layers, bidirectional)
    parts = _parts(asarray(weights), shapes)
    half = len(parts) // 2
    kinds = parts[:half:2], parts[1:half:2], parts[half::2], parts[half + 1 :: 2]
    w_ih, w_hh, b_ih, b_hh = (dict(enumerate(kind)) for kind in kinds)
    return w_ih, w_hh, b_ih, b_hh


@composite(static_argnames=_STATIC)
def lstm_ref(
    x: ArrayLike,
    h_0: ArrayLike,
    c_0: ArrayLike,
    W_ih: Mapping[int, ArrayLike],
    W_hh: Mapping[int, ArrayLike],
    b_ih: Mapping[int, ArrayLike],
    b_hh: Mapping[int, ArrayLike],
    seq_lengths: ArrayLike,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Array, Array, Array]:
    """Return the outputs of an LSTM, and the last hidden states and cells, by scans.

    x: the inputs, of shape (batch, length, input_size). h_0, c_0: the first states and cells, of
    shape (layers * directions, batch, hidden_size). W_ih, W_hh, b_ih, b_hh: as of
    `unpack_lstm_weights`. seq_lengths: the length of each sequence, int32; outputs behind it are 0.
    The results have the shapes (batch, length, directions * hidden_size), and those of h_0 and c_0.

    Raises UnsupportedError for lengths of another dtype, and for a dropout.

    >>> weights = unpack_lstm_weights(numpy.zeros(84), 2, 3, 1, False)
    >>> y, h, c = lstm_ref(
    ...     numpy.ones((1, 4, 2)), numpy.zeros((1, 1, 3)), numpy.ones((1, 1, 3)), *weights,
    ...     numpy.array([4], "int32"), 2, 3, 1, 0.0, False)
    >>> c
    Array([[[0.0625, 0.0625, 0.0625]]], dtype=float32)
    """
    lengths = asarray(seq_lengths)
    if lengths.dtype != np.int32:
        raise UnsupportedError("`seq_lengths` can only be int32.")
    if dropout != 0.0:
        raise UnsupportedError(
            "Dropout not supported in LSTM reference: the mask of cuDNN is not known"
        )
    steps = asarray(x).transpose(1, 0, 2)
    times = arange(steps.shape[0])[:, None]
    is_inside = (times < lengths[None])[..., None]
    # reversed in its own length, each sequence has its padding at the end again
    backward = where(is_inside[..., 0], lengths[None] - 1 - times, times)[..., None]
    states: list[Any] = []
    cells: list[Any] = []
    for _ in range(num_layers):
        outputs = []
        for direction in range(2 if bidirectional else 1):
            n = len(states)
            inputs = take_along_axis(steps, backward, axis=0) if direction else steps
            weights = [asarray(w[n]) for w in (W_ih, W_hh, b_ih, b_hh)]
            first = asarray(h_0)[n], asarray(c_0)[n]
            (h, c), y = _layer(inputs, first, weights, is_inside, precision)
            states.append(h)
            cells.append(c)
            outputs.append(take_along_axis(y, backward, axis=0) if direction else y)
        steps = concatenate(outputs, axis=-1) if bidirectional else outputs[0]
    return steps.transpose(1, 0, 2), stack(states), stack(cells)


def _layer(
    inputs: Any, first: tuple[Any, Any], weights: list[Any], is_inside: Any, precision: Any
) -> tuple[tuple[Any, Any], Any]:
    """Return the last state and cell of one layer and direction, and its outputs."""
    w_ih, w_hh, b_ih, b_hh = weights
    from_inputs = matmul(inputs, w_ih.T, precision=precision) + b_ih + b_hh

    def step(carry: tuple[Any, Any], now: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        (h, c), (z, inside) = carry, now
        gates = z + matmul(h, w_hh.T, precision=precision)
        i, f, g, o = split(gates, 4, axis=-1)
        new_c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        new_h = sigmoid(o) * tanh(new_c)
        after = where(inside, new_h, h), where(inside, new_c, c)
        return after, where(inside, new_h, 0)

    last, outputs = scan(step, first, (from_inputs, is_inside))
    return last, outputs
