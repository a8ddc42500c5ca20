"""Executables that XLA cannot serialize."""

from __future__ import annotations

import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArtifactError


def test_an_executable_with_a_sort_cannot_be_serialized_after_a_call() -> None:
    x = np.arange(5, dtype=np.float32)[::-1]
    compiled = ox.jit(ox.numpy.sort).lower(x).compile()
    before = compiled.serialize()
    assert before
    np.testing.assert_array_equal(compiled(x), np.sort(x))
    try:
        after = compiled.serialize()
    except ArtifactError as error:
        assert "cannot write this executable" in str(error)
        assert error.hint
        assert "before its first call" in error.hint
    else:  # a version of XLA that can serialize it
        assert after


def test_the_error_has_the_message_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ox.jit(ox.numpy.sin).lower(1.0).compile()

    class Refusing:
        def serialize(self) -> bytes:
            from olympus_core.xla.bindings import JaxRuntimeError

            raise JaxRuntimeError("UNIMPLEMENTED: no")

    monkeypatch.setattr(compiled.executable, "_raw", Refusing())
    with pytest.raises(ArtifactError, match="UNIMPLEMENTED: no") as caught:
        compiled.serialize()
    assert caught.value.hint
