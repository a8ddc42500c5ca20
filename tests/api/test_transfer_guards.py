"""Guards of copies to devices, and messages about functions that are traced again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

X = np.ones(3, np.float32)
BOTH = pytest.mark.parametrize("jx", [ox, jax], ids=["olympus", "jax"])


def copies(jx: Any) -> dict[str, Callable[[], Any]]:
    """Uses of a value of the host, and of an array."""
    double = jx.jit(lambda x: 2 * x)
    array = double(X)
    return {
        "jit": lambda: double(X),
        "eager": lambda: jx.numpy.sin(X),
        "scalar": lambda: array + 1,
        "array": lambda: jx.numpy.array(X),
        "put": lambda: jx.device_put(X),
        "none": lambda: double(array),
    }


def refused(jx: Any, guard: Any, level: str) -> list[str]:
    names = []
    for name, use in copies(jx).items():
        with guard(level):
            try:
                use()
            except jx.errors.JaxRuntimeError as error:
                assert "Disallowed host-to-device transfer: aval=" in str(error)
                names.append(name)
    return names


@BOTH
def test_a_guard_refuses_copies(jx: Any) -> None:
    implicit = ["jit", "eager", "scalar", "array"]
    for guard in (jx.transfer_guard, jx.transfer_guard_host_to_device):
        assert refused(jx, guard, "disallow") == implicit
        assert refused(jx, guard, "disallow_explicit") == [*implicit, "put"]
        for level in ("allow", "log", "log_explicit"):
            assert refused(jx, guard, level) == []
    for guard in (jx.transfer_guard_device_to_host, jx.transfer_guard_device_to_device):
        assert refused(jx, guard, "disallow") == []
    with pytest.raises(ValueError, match="other"), jx.transfer_guard_host_to_device("other"):
        pass


@BOTH
def test_an_option_is_a_guard_of_all_threads(jx: Any) -> None:
    double = jx.jit(lambda x: 2 * x)
    jx.config.update("jax_transfer_guard", "disallow")
    try:
        with pytest.raises(jx.errors.JaxRuntimeError, match="Disallowed host-to-device"):
            double(X)
    finally:
        jx.config.update("jax_transfer_guard", "allow")
    double(X)


def test_a_guard_logs_copies(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "olympus"), ox.transfer_guard("log"):
        ox.device_put(X)
        ox.numpy.array(X)
    assert [r.getMessage() for r in caplog.records] == ["host-to-device transfer: aval=float32[3]"]


def test_a_function_that_is_traced_again(caplog: pytest.LogCaptureFixture) -> None:
    double = ox.jit(lambda x: 2 * (x[0] if isinstance(x, list) else x))
    with caplog.at_level(logging.WARNING, "olympus"), ox.explain_cache_misses():
        for x in (1.0, ox.numpy.float32(1), X, X, X[:2], [1.0]):
            double(x)
        with ox.numpy_dtype_promotion("strict"):
            double(X)
        for _ in range(2):
            ox.jit(lambda x: x)(X)
    messages = [r.getMessage() for r in caplog.records]
    expected = (
        "never seen function:\n    <lambda> id=",
        "now f32[]{weak_type=False} and before f32[]{weak_type=True}\n  weak types: https://docs.",
        "different input types:\n  * at x, now f32[3] and before f32[]",
        "different input types:\n  * at x, now f32[2] and before f32[",
        "different input pytree:\n  * at input path [0][0], now <class 'list'> and before ",
        "  * jax_numpy_dtype_promotion differs: now strict and before standard",
        "never seen function:",
        "  but seen another function defined on the same line; maybe the function is\n",
    )
    assert len(messages) == len(expected)
    for text, part in zip(messages, expected, strict=True):
        assert text.startswith(f"TRACING CACHE MISS at {__file__}:")
        assert part in text


@BOTH
def test_the_default_device(jx: Any) -> None:
    for device in (jx.devices("cpu")[0], None, "cpu"):
        with jx.default_device(device):
            assert jx.numpy.arange(3).devices() == {jx.devices("cpu")[0]}


def test_no_default_device() -> None:
    for other in (object(), "foo"):
        value: Any = other
        with pytest.raises(ValueError, match="must be passed either"), ox.default_device(value):
            pass
