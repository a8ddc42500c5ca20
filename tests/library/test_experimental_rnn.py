"""olympus.experimental.rnn against JAX's reference implementation."""

from __future__ import annotations

from typing import Any

import jax
import jax.experimental.rnn
import numpy as np
import pytest

import olympus as ox
import olympus.experimental.rnn

OURS, THEIRS = olympus.experimental.rnn, jax.experimental.rnn
BATCH, LENGTH, INPUTS, HIDDEN = 3, 5, 2, 4
SIZES = [(INPUTS, HIDDEN, layers, both) for layers in (1, 2) for both in (False, True)]
rng = np.random.default_rng(0)


def arrays(layers: int, both: bool) -> list[Any]:
    """Return inputs, states, cells, weights and lengths of an LSTM."""
    count = layers * (2 if both else 1)
    shapes = [(BATCH, LENGTH, INPUTS), (count, BATCH, HIDDEN), (count, BATCH, HIDDEN)]
    size = OURS.get_num_params_in_lstm(INPUTS, HIDDEN, layers, both)
    values = [rng.normal(size=s).astype(np.float32) for s in (*shapes, (size,))]
    return [*values, np.array([LENGTH, 2, 3], np.int32)]


@pytest.mark.parametrize("sizes", SIZES)
def test_weights_are_jaxs(sizes: Any) -> None:
    count = THEIRS.get_num_params_in_lstm(*sizes)
    assert OURS.get_num_params_in_lstm(*sizes) == count
    initial = OURS.init_lstm_weight(ox.random.key(3), *sizes)
    np.testing.assert_array_equal(initial, THEIRS.init_lstm_weight(jax.random.key(3), *sizes))
    weights = np.arange(count, dtype=np.float32)
    np.testing.assert_array_equal(
        OURS.swap_lstm_gates(weights, *sizes), THEIRS.swap_lstm_gates(weights, *sizes)
    )
    pairs = zip(
        OURS.unpack_lstm_weights(weights, *sizes),
        THEIRS.unpack_lstm_weights(weights, *sizes),
        strict=True,
    )
    for mine, theirs in pairs:
        assert mine.keys() == theirs.keys()
        for i, x in theirs.items():
            np.testing.assert_array_equal(mine[i], x)
    with pytest.raises(ox.errors.ArgumentError, match="weights, and got"):
        OURS.unpack_lstm_weights(weights[1:], *sizes)


@pytest.mark.parametrize("sizes", SIZES)
def test_values_and_derivatives_are_those_of_the_reference(sizes: Any) -> None:
    options = (*sizes[:3], 0.0, sizes[3])
    *moving, lengths = arrays(*sizes[2:])

    def reference(rnn: Any, x: Any, h: Any, c: Any, w: Any) -> Any:
        return rnn.lstm_ref(x, h, c, *rnn.unpack_lstm_weights(w, *sizes), lengths, *options)

    def total(outs: Any) -> Any:
        return sum((x * x).sum() for x in outs)

    expected = reference(THEIRS, *map(jax.numpy.asarray, moving))
    for mine in (reference(OURS, *moving), OURS.lstm(*moving, lengths, *options)):
        for a, b in zip(mine, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    mine = ox.grad(lambda *a: total(OURS.lstm(*a, lengths, *options)), (0, 1, 2, 3))(*moving)
    theirs = jax.grad(lambda *a: total(reference(THEIRS, *a)), (0, 1, 2, 3))(*moving)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_passes_and_their_primitives() -> None:
    sizes = SIZES[3]
    options = (*sizes[:3], 0.0, sizes[3])
    values = arrays(*sizes[2:])
    outs, saved = OURS.lstm_fwd(*values, *options, None)
    cotangents = [np.ones_like(x) for x in outs]
    *found, of_lengths = OURS.lstm_bwd(*options, None, saved, cotangents)
    _, pullback = ox.vjp(lambda *a: OURS.lstm(*a, values[-1], *options), *values[:-1])
    for a, b in zip(found, pullback(tuple(cotangents)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert (of_lengths.dtype, of_lengths.shape) == (np.int32, (BATCH,))
    traced = ox.make_olympuspr(lambda *a: OURS.lstm_fwd(*a, *options, "highest")[0])(*values)
    (eqn,) = [e for e in traced.eqns if e.primitive is OURS.rnn_fwd_p]
    assert eqn.params["cudnn_allow_tf32"] is False
    avals = [v.aval for v in eqn.inputs]
    params = dict(eqn.params)
    assert OURS.rnn_abstract_eval(*avals, **params) == tuple(v.aval for v in eqn.outputs)
    types = OURS.rnn_bwd_abstract_eval(*avals[:3], *avals[:4], *avals[:2], avals[4], **params)
    assert types == tuple(avals[:4])
    assert (OURS.sigmoid, OURS.tanh) == (ox.nn.sigmoid, ox.numpy.tanh)


def test_mistakes() -> None:
    *values, lengths = arrays(1, False)
    options = (INPUTS, HIDDEN, 1)
    for args in ((lengths.astype(np.uint32), *options, 0.0, False),
                 (lengths, *options, 0.5, False)):  # fmt: skip
        with pytest.raises(NotImplementedError, match=r"can only be int32|Dropout"):
            OURS.lstm(*values, *args)
    with pytest.raises(NotImplementedError, match="bfloat16"):
        OURS.lstm(*values, lengths, *options, 0.0, False, ("default", "default"))
