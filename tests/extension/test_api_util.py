"""Helpers of functions of trees, and the state around running code, against JAX's."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.api_util
import jax.extend.core
import jax.extend.linear_util
import numpy as np
import pytest

import olympus as ox
import olympus.api_util
import olympus.core
import olympus.extend.core
import olympus.extend.linear_util

BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])
TREE = ((1, (2, 3)), {"x": 4})


def of(jx: Any, name: str) -> Any:
    """A module of a package."""
    return importlib.import_module(f"{jx.__name__}.{name}")


def wrapped(jx: Any, fun: Callable[..., Any], *args: Any) -> Any:
    debug = of(jx, "api_util").debug_info("test", fun, args, {})
    return of(jx, "extend.linear_util").wrap_init(fun, debug_info=debug)


@BOTH
def test_flat_functions(jx: Any) -> None:
    util = of(jx, "api_util")
    structure = jx.tree_util.tree_structure
    flat, out_tree = util.flatten_fun(
        wrapped(jx, lambda a, b, x: {"sum": a + b[0] + x}, 1, (2, 3), 4), structure(TREE)
    )
    assert flat.call_wrapped(1, 2, 3, 4) == [7]
    assert out_tree() == structure({"sum": 0})
    flat, out_tree = util.flatten_fun_nokwargs(
        wrapped(jx, lambda a, b: (a, b[1]), 1, (2, 3)), structure(TREE[0])
    )
    assert flat.call_wrapped(1, 2, 3) == [1, 3]
    assert out_tree() == structure((0, 0))
    partial, dynamic = util.argnums_partial(
        wrapped(jx, lambda a, b, c: a - b * c, 1, 2, 3), (0, 2), (1, 2, 3)
    )
    assert dynamic == (1, 3)
    assert partial.call_wrapped(5, 3) == -1
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        util.argnums_partial(wrapped(jx, lambda a, b: a, 1, 2), 0, (1, []))


@BOTH
def test_positions_and_axes(jx: Any) -> None:
    util, structure = of(jx, "api_util"), jx.tree_util.tree_structure
    assert util.donation_vector((0,), ("x",), structure(TREE)) == (True, False, False, True)
    assert util.rebase_donate_argnums((2, 1), (0,)) == (0, 1)
    with pytest.raises(ValueError, match="cannot intersect"):
        util.rebase_donate_argnums((1,), (1,))
    assert util.flatten_axes("axes", structure(TREE[0]), (0, None)) == [0, None, None]
    assert util.flatten_axes("axes", structure(TREE[0]), 3) == [3, 3, 3]
    with pytest.raises(ValueError, match="must be a tree prefix"):
        util.flatten_axes("axes", structure(TREE[0]), (0, (1, 2, 3)))
    assert util.safe_map(lambda x, y: x + y, [1, 2], [3, 4]) == [4, 6]
    aval = util.shaped_abstractify(np.ones((2, 3), np.float32))
    assert (aval.shape, aval.dtype) == ((2, 3), np.dtype("float32"))
    debug = util.debug_info("jit", lambda x, y: x, ({"a": 1}, 2), {})
    assert (debug.traced_for, debug.func_name) == ("jit", "<lambda>")
    assert debug.arg_names == ("x['a']", "y")


def test_the_length_of_sequences() -> None:
    with pytest.raises(ValueError, match="length mismatch"):
        olympus.api_util.safe_map(lambda x, y: x, [1], [1, 2])


@BOTH
def test_the_state_around_code(jx: Any) -> None:
    core = of(jx, "extend.core")
    seen: list[Any] = []

    def record(x: Any) -> Any:
        seen.append((
            core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
            core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
            core.unsafe_get_axis_names_DO_NOT_USE(),
            core.nonempty_axis_env_DO_NOT_USE(),
        ))  # fmt: skip
        return x

    record(1.0)
    jx.jit(record)(1.0)
    jx.vmap(record)(np.ones(2))
    jx.jit(jx.vmap(record, axis_name="i"))(np.ones(2))
    assert seen == [(False, False, [], False), (True, False, [], False), (False, True, [], False),
                    (True, True, ["i"], True)]  # fmt: skip
    states: list[Any] = [core.get_opaque_trace_state(convention="flax")]
    jx.jit(lambda x: states.append(core.get_opaque_trace_state(convention="flax")))(1.0)
    assert states[0] == core.get_opaque_trace_state(convention="flax")
    assert states[0] != states[1]


@BOTH
def test_evaluation_in_a_function_that_is_traced(jx: Any) -> None:
    def f(x: Any) -> Any:
        with of(jx, "core").eval_context():
            assert float(jx.numpy.sqrt(16.0)) == 4.0
        return x

    jx.jit(f)(1.0)
    core = of(jx, "extend.core")
    with core.take_current_trace() as old, core.set_current_trace(old):
        assert float(jx.numpy.sqrt(16.0)) == 4.0
    assert core.find_top_trace(()) is not None


@BOTH
def test_types_of_mapped_values(jx: Any) -> None:
    core, aval = of(jx, "extend.core"), of(jx, "core").ShapedArray((2, 3), np.dtype("float32"))
    assert core.mapped_aval(2, 0, aval).shape == (3,)
    assert core.unmapped_aval(4, 1, aval).shape == (2, 4, 3)
    assert core.unmapped_aval(4, None, aval).shape == (2, 3)
    assert core.gensym()(aval).aval == aval
    tangent = functools.partial(core.primal_dtype_to_tangent_dtype)
    assert tangent(np.dtype("int32")) == jax.float0
    assert tangent(np.dtype("float32")) == np.dtype("float32")
    assert np.ndarray in core.array_types
    assert core.no_effects == frozenset()
    assert core.call_impl(wrapped(jx, lambda x: [x], 1), 3) == [3]
