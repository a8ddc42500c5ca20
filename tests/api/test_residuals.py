"""`print_saved_residuals` against JAX's: the types and the origins of what a derivative saves."""

from __future__ import annotations

from typing import Any

import jax
import jax.ad_checkpoint
import numpy as np
import pytest

import olympus as ox

X = np.ones(3, np.float32)


def product(jx: Any, x: Any, weights: Any) -> Any:
    inner = jx.jit(lambda x: jx.numpy.sin(x))
    named = jx.ad_checkpoint.checkpoint_name(jx.numpy.cos(x), "scale")
    return inner(x) * named * weights["w"]


def lines(jx: Any, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """The type and the origin of each line, without its place."""
    jx.ad_checkpoint.print_saved_residuals(lambda x, p: product(jx, x, p), X, {"w": 2.0})
    output = capsys.readouterr().out
    assert "test_residuals.py:" in output
    parts = [line.partition(" ") for line in output.splitlines()]
    return [(kind, origin.partition(" from /")[0]) for kind, _, origin in parts]


def test_the_values_that_a_derivative_saves(capsys: pytest.CaptureFixture[str]) -> None:
    mine, theirs = set(lines(ox, capsys)), set(lines(jax, capsys))
    assert ("f32[3]", "named 'scale'") in mine & theirs
    assert ("f32[]", "from the argument p['w']") in mine  # theirs has it converted to an array
    jitted = [origin for _, origin in mine if origin.startswith("output of jitted function")]
    assert jitted == ["output of jitted function '<lambda>'"]


def test_constants(capsys: pytest.CaptureFixture[str]) -> None:
    ox.ad_checkpoint.print_saved_residuals(lambda x: x * 3.0 + x * X, 1.0)
    output = capsys.readouterr().out
    assert "f32[3] from a constant" in output


def test_a_checkpointed_function_names_the_operations_inside_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def texts(jx: Any) -> list[str]:
        names = jx.checkpoint_policies.save_only_these_names("scale")

        def inner(x: Any) -> Any:
            return jx.numpy.sin(jx.ad_checkpoint.checkpoint_name(x * 2.0, "scale"))

        def f(x: Any) -> Any:
            x = jx.checkpoint(lambda x: jx.numpy.sin(x))(x)
            return jx.numpy.sin(jx.checkpoint(inner, policy=names)(x))

        jx.ad_checkpoint.print_saved_residuals(f, X)
        return capsys.readouterr().out.splitlines()

    assert sorted(texts(ox)) == sorted(texts(jax))
