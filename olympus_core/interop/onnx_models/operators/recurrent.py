"""Recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax, nn
from olympus_core.interop.onnx_models.operators.table import OnnxNode, operator

_Activation = Callable[[Any], Any]

#: The functions without parameters, by their names in lower case.
_PLAIN: dict[str, _Activation] = {
    "relu": nn.relu,
    "tanh": jnp.tanh,
    "sigmoid": nn.sigmoid,
    "softsign": nn.soft_sign,
    "softplus": nn.softplus,
}
#: The functions of alpha and of an array, with the default of alpha.
_WITH_ALPHA: dict[str, tuple[Callable[[float, Any], Any], float]] = {
    "leakyrelu": (lambda alpha, x: jnp.where(x < 0, alpha * x, x), 0.01),
    # unlike the operator ThresholdedRelu, whose result is 0 at alpha
    "thresholdedrelu": (lambda alpha, x: jnp.where(x >= alpha, x, 0), 1.0),
    "elu": (lambda alpha, x: jnp.where(x < 0, alpha * jnp.expm1(x), x), 1.0),
}
#: The functions of alpha, beta and an array, with the defaults of both.
_WITH_BOTH: dict[str, tuple[Callable[[float, float, Any], Any], float, float]] = {
    "affine": (lambda alpha, beta, x: alpha * x + beta, 1.0, 0.0),
    "scaledtanh": (lambda alpha, beta, x: alpha * jnp.tanh(beta * x), 1.0, 1.0),
    "hardsigmoid": (lambda alpha, beta, x: jnp.clip(alpha * x + beta, 0, 1), 0.2, 0.5),
}


def _activations(node: OnnxNode, defaults: list[str], direction: int) -> list[_Activation]:
    """Return the activation functions of one direction, by their names in any case.

    Only the functions that have an alpha or a beta take the next number of the attribute.
    """
    names = node.get("activations") or defaults * 2
    alphas = iter(node.get("activation_alpha") or [])
    betas = iter(node.get("activation_beta") or [])
    functions: list[_Activation] = []
    for name in names:
        key = name.lower()
        if key in _PLAIN:
            functions.append(_PLAIN[key])
        elif key in _WITH_ALPHA:
            scaled, alpha = _WITH_ALPHA[key]
            functions.append(partial(scaled, next(alphas, alpha)))
        elif key in _WITH_BOTH:
            shifted, alpha, beta = _WITH_BOTH[key]
            functions.append(partial(shifted, next(alphas, alpha), next(betas, beta)))
        else:
            raise ArtifactError(f"the activation {name!r:.40} is unknown")
    start = direction * len(defaults)
    if len(functions) < start + len(defaults):
        raise ArtifactError(f"{len(functions)} activations do not match the directions")
    return functions[start : start + len(defaults)]


def _clipped(node: OnnxNode, x: Any) -> Any:
    limit = node.get("clip")
    return x if limit is None else jnp.clip(x, -limit, limit)


def _layers(
    node: OnnxNode,
    x: Any,
    lengths: Any,
    states: list[Any],
    step: Callable[[int], Callable[[Any, Any], Any]],
) -> list[Any]:
    """Return all outputs of a layer, then its final states, for one or both directions.

    `step(d)` is the step of direction `d`: of the states and an element to the next states.
    """
    kind = node.get("direction", "forward")
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(kind)
    if directions is None:
        raise ArtifactError(f"the direction {kind!r:.40} is unknown")
    batch_first = bool(node.get("layout", 0))
    x = jnp.asarray(x)
    x = x.swapaxes(0, 1) if batch_first else x
    size, batch = node.required("hidden_size"), x.shape[1]
    outputs, finals = [], []
    for d, reverse in enumerate(directions):
        initial = []
        for state in states:
            if state is None:
                initial.append(jnp.zeros((batch, size), x.dtype))
            else:
                initial.append(jnp.asarray(state)[:, d] if batch_first else jnp.asarray(state)[d])
        final, sequence = _sequence(x, lengths, tuple(initial), step(d), reverse)
        outputs.append(sequence)
        finals.append(final)
    y = jnp.stack(outputs, 1)  # time, direction, batch, hidden
    last = [jnp.stack(state) for state in zip(*finals, strict=True)]
    if batch_first:
        y, last = y.transpose((2, 0, 1, 3)), [state.swapaxes(0, 1) for state in last]
    return [y, *last][: node.output_count]


def _sequence(
    x: Any, lengths: Any, initial: Any, step: Callable[[Any, Any], Any], reverse: bool
) -> Any:
    """Return the final states and all outputs of one direction; ends are per batch element."""
    ends = None if lengths is None else jnp.asarray(lengths)[:, None]

    def body(states: Any, element: Any) -> Any:
        index, value = element
        new = step(states, value)
        if ends is None:
            return new, new[0]
        inside = index < ends
        advanced = tuple(jnp.where(inside, a, b) for a, b in zip(new, states, strict=True))
        return advanced, jnp.where(inside, new[0], jnp.zeros((), new[0].dtype))

    times = jnp.arange(x.shape[0], dtype="int32")
    return lax.scan(body, initial, (times, x), reverse=reverse)


def _biases(b: Any, gates: int, size: int, d: int, dtype: Any) -> tuple[Any, Any]:
    """Return the biases of the input and of the state, of one direction."""
    if b is None:
        zero = np.zeros((gates * size,), dtype)
        return zero, zero
    b = jnp.asarray(b)[d]
    return b[: gates * size], b[gates * size :]


@operator("RNN")
def _rnn(
    node: OnnxNode, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None
) -> Any:
    size = node.required("hidden_size")
    w, r = jnp.asarray(w), jnp.asarray(r)

    def direction(d: int) -> Any:
        (f,) = _activations(node, ["Tanh"], d)
        bias = sum(_biases(b, 1, size, d, x.dtype))

        def step(states: Any, value: Any) -> Any:
            return (f(_clipped(node, value @ w[d].T + states[0] @ r[d].T + bias)),)

        return step

    return _layers(node, x, lengths, [h], direction)


@operator("GRU")
def _gru(
    node: OnnxNode, x: Any, w: Any, r: Any, b: Any = None, lengths: Any = None, h: Any = None
) -> Any:
    size = node.required("hidden_size")
    w, r = jnp.asarray(w), jnp.asarray(r)
    resets_first = not node.get("linear_before_reset", 0)

    def direction(d: int) -> Any:
        f, g = _activations(node, ["Sigmoid", "Tanh"], d)
        input_bias, state_bias = _biases(b, 3, size, d, x.dtype)
        gates, candidate = r[d][: 2 * size], r[d][2 * size :]

        def step(states: Any, value: Any) -> Any:
            (state,) = states
            inputs = value @ w[d].T + input_bias
            both = inputs[:, : 2 * size] + state @ gates.T + state_bias[: 2 * size]
            both = f(_clipped(node, both))
            update, reset = both[:, :size], both[:, size:]
            if resets_first:
                carried = (reset * state) @ candidate.T + state_bias[2 * size :]
            else:
                carried = reset * (state @ candidate.T + state_bias[2 * size :])
            new = g(_clipped(node, inputs[:, 2 * size :] + carried))
            return ((1 - update) * new + update * state,)

        return step

    return _layers(node, x, lengths, [h], direction)


@operator("LSTM")
def _lstm(
    node: OnnxNode,
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    lengths: Any = None,
    h: Any = None,
    c: Any = None,
    p: Any = None,
) -> Any:
    size = node.required("hidden_size")
    w, r = jnp.asarray(w), jnp.asarray(r)

    def direction(d: int) -> Any:
        f, g, last = _activations(node, ["Sigmoid", "Tanh", "Tanh"], d)
        bias = sum(_biases(b, 4, size, d, x.dtype))
        peepholes = jnp.zeros((3 * size,), x.dtype) if p is None else jnp.asarray(p)[d]
        of_input, of_output, of_forget = (peepholes[i * size : (i + 1) * size] for i in range(3))

        def step(states: Any, value: Any) -> Any:
            state, cell = states
            gates = value @ w[d].T + state @ r[d].T + bias
            i, o, forget, new = (gates[:, k * size : (k + 1) * size] for k in range(4))
            i = f(_clipped(node, i + of_input * cell))
            forget_gate = f(_clipped(node, forget + of_forget * cell))
            forget_gate = 1 - i if node.get("input_forget", 0) else forget_gate
            cell = forget_gate * cell + i * g(_clipped(node, new))
            o = f(_clipped(node, o + of_output * cell))
            return o * last(cell), cell

        return step

    return _layers(node, x, lengths, [h, c], direction)
