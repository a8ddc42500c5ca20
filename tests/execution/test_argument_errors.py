"""The errors of calls name the arguments that were donated twice, or deleted before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import DeletedArrayError, UsageError


def step(state: Any, x: Any) -> Any:
    return {key: value + x for key, value in state.items()}


def last(a: Any, b: Any, c: Any) -> Any:
    return a + b, c


def staged(function: Any, *_args: Any, **options: Any) -> Callable[..., Any]:
    return olympus.jit(function, **options)


def compiled(function: Any, *args: Any, **options: Any) -> Callable[..., Any]:
    return olympus.jit(function, **options).lower(*args).compile()


CALLS = pytest.mark.parametrize("call", [staged, compiled])


@CALLS
def test_an_array_that_is_donated_twice(call: Callable[..., Callable[..., Any]]) -> None:
    z = jnp.zeros(4)
    run = call(step, {"m": z, "v": z}, 1.0, donate_argnums=0)
    with pytest.raises(UsageError) as found:
        run({"m": z, "v": z}, 1.0)
    assert str(found.value) == (
        "Attempt to donate the same buffer twice: one array was passed for two arguments of "
        "'step', state['m'] and state['v'], and both are donated"
    )
    assert found.value.hint == (
        "pass a copy for one of them, x.copy() or olympus.numpy.copy(x), or donate neither"
    )
    assert run({"m": jnp.zeros(4), "v": jnp.ones(4).copy()}, 1.0)["v"].tolist() == [2.0] * 4


@CALLS
@pytest.mark.parametrize(("donated", "name"), [(0, "a"), (2, "c")])
def test_an_array_that_is_donated_and_read(
    call: Callable[..., Callable[..., Any]], donated: int, name: str
) -> None:
    x, y = jnp.zeros(4), jnp.ones(4)
    run = call(last, x, y, x, donate_argnums=donated)
    with pytest.raises(UsageError, match=rf"'last', a and c, and {name} is donated"):
        run(x, y, x)


@CALLS
def test_deleted_arguments(call: Callable[..., Callable[..., Any]]) -> None:
    x, deleted = jnp.zeros(4), jnp.zeros(4)
    run = call(step, {"m": x, "v": jnp.ones(4)}, 1.0)
    deleted.delete()
    with pytest.raises(DeletedArrayError) as found:
        run({"m": x, "v": deleted}, 1.0)
    assert str(found.value) == (
        "Array has been deleted with shape=float32[4]: argument state['v'] of 'step' "
        "was passed after its Buffer has been deleted or donated"
    )
    assert "x.copy()" in (found.value.hint or "")
    with pytest.raises(DeletedArrayError, match=r"arguments state\['m'\], state\['v'\] of 'step'"):
        run({"m": deleted, "v": deleted}, 1.0)


def test_a_deleted_array_that_is_no_argument() -> None:
    deleted = jnp.zeros(4)
    run = olympus.jit(lambda x: x + deleted)
    run(1.0)
    deleted.delete()
    with pytest.raises(DeletedArrayError, match="Array has been deleted with shape=float32"):
        run(1.0)


def test_another_error_of_a_call_is_unchanged() -> None:
    x = jnp.zeros(4)
    run = olympus.jit(step, donate_argnums=0, compiler_options={"no_such_option": True})
    with pytest.raises(UsageError, match="no_such_option"):
        run({"m": x, "v": x}, 1.0)
