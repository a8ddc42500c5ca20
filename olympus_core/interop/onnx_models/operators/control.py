"""Branches and loops with subgraphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.interop.onnx_models.operators.namespaces import jnp, lax
from olympus_core.interop.onnx_models.operators.table import (
    OnnxNode,
    checked_size,
    normalized_axis,
    operator,
)

_MAX_UNROLLED = 64  # iterations of a loop whose values may be known while a model is imported


@operator("If", folds=True)
def _if(node: OnnxNode, condition: Any) -> Any:
    branches = node.required("then_branch"), node.required("else_branch")
    if isinstance(condition, np.ndarray):
        return tuple(node.run(branches[0 if condition.reshape(()) else 1], ()))

    traced: list[tuple[Any, ...]] = []

    def branch(graph: Any) -> Any:
        def results() -> tuple[Any, ...]:
            traced.append(tuple(jnp.asarray(value) for value in node.run(graph, ())))
            _check_types(traced[0], traced[-1], "the branches return")
            return traced[-1]

        return results

    return tuple(lax.cond(condition.reshape(()), branch(branches[0]), branch(branches[1])))


def _check_types(first: Sequence[Any], second: Sequence[Any], subject: str) -> None:
    """Raise UsageError if values in one place of a program have different types."""
    if len(first) != len(second):
        raise ArtifactError(f"{subject} {len(first)} and {len(second)} values")
    for a, b in zip(first, second, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise UsageError(
                f"{subject} values of different types, {a.dtype}{list(a.shape)} and"
                f" {b.dtype}{list(b.shape)}: the program needs one type"
            )


def _checked_state(state: Sequence[Any], new: Sequence[Any]) -> tuple[Any, ...]:
    """Return the next values that a loop carries, which have the types of its values `state`."""
    _check_types(state, new, "the loop carries")
    return tuple(new)


@operator("Loop", static=(0, 1))
def _loop(node: OnnxNode, limit: Any, condition: Any = None, *carried: Any) -> Any:
    body = node.required("body")
    count = None
    if isinstance(condition, np.ndarray) and not condition.reshape(()):
        count = 0
    elif isinstance(limit, np.ndarray):
        count = int(limit.reshape(()))
    result = _unrolled(node, body, count, condition, carried)
    if result is not None:
        return result
    scanned = len(body.output) - 1 - len(carried)
    if count is not None and (condition is None or isinstance(condition, np.ndarray)):
        result = _counted(node, body, count, carried)
        if result is not None:
            return result
    if scanned:
        raise UsageError(
            "the outputs that the loop collects have a shape that depends on values, which are"
            " known only when the program runs"
        )
    return _while(node, body, limit, condition, carried)


def _unrolled(
    node: OnnxNode, body: Any, count: int | None, condition: Any, carried: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Return the results of a loop of few iterations; None if their number is not known."""
    if count is not None and count > _MAX_UNROLLED:
        return None
    going = np.asarray(True) if condition is None else condition
    collected: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    for i in range(_MAX_UNROLLED + 1 if count is None else count):
        if not isinstance(going, np.ndarray) or i == _MAX_UNROLLED:
            return None
        if not going.reshape(()):
            break
        going, *rest = node.run(body, (np.asarray(i, "int64"), going, *carried))
        carried = tuple(rest[: len(carried)])
        for values, value in zip(collected, rest[len(carried) :], strict=True):
            values.append(value)
    if count is None and isinstance(going, np.ndarray) and going.reshape(()):
        return None
    if not all(collected):  # the body has the types of the elements, and nothing of it is left
        _, *rest = node.run(body, (np.asarray(0, "int64"), np.asarray(True), *carried))
        elements = [jnp.asarray(value) for value in rest[len(carried) :]]
        return (*carried, *(jnp.zeros((0, *value.shape), value.dtype) for value in elements))
    return (*carried, *(jnp.stack([jnp.asarray(v) for v in values]) for values in collected))


def _counted(node: OnnxNode, body: Any, count: int, carried: tuple[Any, ...]) -> Any:
    """Return the results of a loop with a known number of iterations; None if it may end early."""
    checked_size([count])
    ends_early = False

    def step(state: Any, index: Any) -> Any:
        nonlocal ends_early
        going, *rest = node.run(body, (index, np.asarray(True), *state))
        ends_early = ends_early or not isinstance(going, np.ndarray) or not going.all()
        rest = [jnp.asarray(value) for value in rest]
        return _checked_state(state, rest[: len(state)]), tuple(rest[len(state) :])

    initial = tuple(jnp.asarray(value) for value in carried)
    final, collected = lax.scan(step, initial, jnp.arange(count, dtype="int64"))
    return None if ends_early else (*final, *collected)


def _while(node: OnnxNode, body: Any, limit: Any, condition: Any, carried: tuple[Any, ...]) -> Any:
    top = jnp.asarray(np.iinfo("int64").max if limit is None else limit).reshape(())
    going = jnp.asarray(True if condition is None else condition).reshape(())

    def step(state: Any) -> Any:
        index, going, *values = state
        going, *rest = node.run(body, (index, going, *values))
        new = _checked_state(values, [jnp.asarray(value) for value in rest])
        return index + 1, jnp.asarray(going).reshape(()), *new

    initial = (jnp.zeros((), "int64"), going, *(jnp.asarray(value) for value in carried))
    _, _, *final = lax.while_loop(lambda state: (state[0] < top) & state[1], step, initial)
    return tuple(final)


@operator("Scan", since=9)
def _scan(node: OnnxNode, *inputs: Any) -> Any:
    body, scanned = node.required("body"), node.required("num_scan_inputs")
    states = len(inputs) - scanned
    if not 0 < scanned <= len(inputs):
        raise ArtifactError(f"num_scan_inputs is {scanned} for {len(inputs)} inputs")
    outputs = len(body.output) - states
    axes = node.get("scan_input_axes") or [0] * scanned
    directions = node.get("scan_input_directions") or [0] * scanned
    sequences = []
    for value, axis, reverse in zip(inputs[states:], axes, directions, strict=True):
        value = jnp.moveaxis(jnp.asarray(value), normalized_axis(axis, value.ndim), 0)
        sequences.append(jnp.flip(value, 0) if reverse else value)

    def step(state: Any, elements: Any) -> Any:
        results = [jnp.asarray(v) for v in node.run(body, (*state, *elements))]
        return _checked_state(state, results[:states]), tuple(results[states:])

    initial = tuple(jnp.asarray(value) for value in inputs[:states])
    final, collected = lax.scan(step, initial, tuple(sequences))
    axes = node.get("scan_output_axes") or [0] * outputs
    directions = node.get("scan_output_directions") or [0] * outputs
    results = []
    for value, axis, reverse in zip(collected, axes, directions, strict=True):
        value = jnp.flip(value, 0) if reverse else value
        results.append(jnp.moveaxis(value, 0, normalized_axis(axis, value.ndim)))
    return (*final, *results)


@operator("Scan", since=8)
def _scan_batched(node: OnnxNode, lengths: Any, *inputs: Any) -> Any:
    if lengths is not None or node.get("directions"):
        raise UsageError("Scan of opset 8 with sequence lengths or directions is not supported")
    body, scanned = node.required("body"), node.required("num_scan_inputs")
    states = len(inputs) - scanned
    batch = []
    for i in range(inputs[0].shape[0]):
        elements = [jnp.asarray(value)[i] for value in inputs]

        def step(state: Any, values: Any) -> Any:
            results = [jnp.asarray(v) for v in node.run(body, (*state, *values))]
            return _checked_state(state, results[:states]), tuple(results[states:])

        final, collected = lax.scan(step, tuple(elements[:states]), tuple(elements[states:]))
        batch.append((*final, *collected))
    return tuple(jnp.stack(values) for values in zip(*batch, strict=True))
