"""`buffer_callback`: Python functions that write the buffers of a running program."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

X = np.array([1.0, 2.0], np.float32)


def module(package: Any) -> Any:
    return importlib.import_module(f"{package.__name__}.experimental.buffer_callback")


def add(context: Any, outs: Any, x: Any, *, by: Any) -> None:
    """Write x + by to the first result, and the number of elements to the second one."""
    np.asarray(outs["sum"])[...] = np.asarray(x) + np.asarray(by)
    np.asarray(outs["size"])[...] = x.shape[-1]


def added(package: Any, **options: Any) -> Any:
    types = {
        "sum": package.ShapeDtypeStruct((2,), "float32"),
        "size": package.ShapeDtypeStruct((), "int32"),
    }
    return module(package).buffer_callback(add, types, **options)


@pytest.mark.parametrize("package", [ox, jax])
def test_results_are_written_in_place(package: Any) -> None:
    m, seen = module(package), []

    def negate(context: Any, out: Any, x: Any) -> None:
        seen.append((type(context), context.stage, type(x), x.writeable, out.writeable))
        np.asarray(out)[...] = -np.asarray(x)

    f = m.buffer_callback(negate, package.ShapeDtypeStruct((2,), "float32"))
    np.testing.assert_array_equal(f(X), -X)
    np.testing.assert_array_equal(package.jit(lambda x: f(x) * 2)(X), -2 * X)
    expected = (m.ExecutionContext, m.ExecutionStage.EXECUTE, m.Buffer, False, True)
    assert seen == [expected, expected]


@pytest.mark.parametrize("package", [ox, jax])
def test_trees_aliases_and_rows(package: Any) -> None:
    result = package.jit(lambda x: added(package)(x, by=X))(X)
    np.testing.assert_array_equal(result["sum"], 2 * X)
    assert int(result["size"]) == 2
    same = added(package, input_output_aliases={0: 1})
    text = package.jit(lambda x: same(x, by=X)).lower(X).as_text()
    assert "output_operand_alias" in text
    np.testing.assert_array_equal(same(X, by=X)["sum"], 2 * X)
    rows = np.stack([X, X + 1, X + 2])
    mapped = package.vmap(lambda x: added(package, vmap_method="sequential")(x, by=X))(rows)
    np.testing.assert_array_equal(mapped["sum"], rows + X)
    with pytest.raises(NotImplementedError, match="vmap is only supported for the buffer_callback"):
        package.vmap(lambda x: added(package)(x, by=X))(rows)


@pytest.mark.parametrize("package", [ox, jax])
def test_a_call_with_a_side_effect_runs(package: Any) -> None:
    seen: list[Any] = []

    def record(context: Any, out: Any, x: Any) -> None:
        seen.append(np.asarray(x).copy())

    for has_side_effect in (False, True):
        f = module(package).buffer_callback(
            record, package.ShapeDtypeStruct((2,), "float32"), has_side_effect=has_side_effect
        )
        np.testing.assert_array_equal(package.jit(lambda x, f=f: (f(x), x + 1)[1])(X), X + 1)
        package.effects_barrier()
        assert len(seen) == has_side_effect


@pytest.mark.parametrize("package", [ox, jax])
def test_mistakes(package: Any) -> None:
    f = added(package)
    with pytest.raises(ValueError, match="Buffer callbacks do not support JVP"):
        package.grad(lambda x: f(x, by=X)["sum"].sum())(X)
    returning = module(package).buffer_callback(lambda *_: 3, X)
    with pytest.raises(RuntimeError, match="must not return any values"):
        package.jit(returning)(X).block_until_ready()
    for aliases, message in (
        ({3: 0}, "input index 3 outside the range"),
        ({0: 2}, "output index 2 outside the range"),
        ({0: 0}, "output with a different abstract value"),
    ):
        same = added(package, input_output_aliases=aliases)
        with pytest.raises(ValueError, match=message):
            package.jit(lambda x, same=same: same(x, by=X))(X)


def test_a_gpu_has_a_handler_and_a_tpu_none() -> None:
    traced = ox.jit(lambda x: added(ox)(x, by=X)).trace(X)
    assert "xla_buffer_python_gpu_callback" in traced.lower(lowering_platforms=("cuda",)).as_text()
    recorded = ox.jit(lambda x: added(ox, command_buffer_compatible=True)(x, by=X)).trace(X)
    text = recorded.lower(lowering_platforms=("cuda",)).as_text()
    assert "xla_buffer_python_gpu_callback_cmd_buffer" in text
    with pytest.raises(ox.errors.LoweringError, match="not supported on tpu backend"):
        traced.lower(lowering_platforms=("tpu",))
