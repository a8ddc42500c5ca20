"""Tests of compiled programs that jaxlib calls without Python."""

import gc
import weakref

import numpy as np
import pytest

import olympus
from olympus import jit, numpy
from olympus.errors import SignatureError
from olympus_core.stages.direct_compiled import DirectCompiled


def add(x, y):
    return {"sum": x + y, "x": x}


@pytest.fixture
def compiled():
    return jit(add).lower(1.0, y=np.ones(3, np.float32)).compile()


def test_calls_are_direct_and_equal(compiled, monkeypatch):
    missed = []
    original = DirectCompiled._missed
    monkeypatch.setattr(
        DirectCompiled, "_missed", lambda *args: missed.append(args) or original(*args)
    )
    for y in (np.ones(3, np.float32), numpy.ones(3)):
        missed.clear()
        for x in (1.0, 2.0, 3.0):
            result = compiled(x, y=y)
            assert np.array_equal(result["sum"], [x + 1] * 3)
            assert result["x"] == x
        assert len(missed) == 1


def test_other_arguments_are_refused_after_direct_calls(compiled):
    good = np.ones(3, np.float32)
    compiled(1.0, y=good), compiled(1.0, y=good)
    for args, kwargs in (
        ((1,), {"y": good}),
        ((1.0,), {"y": np.ones(4, np.float32)}),
        ((1.0, good), {}),
        ((1.0,), {}),
    ):
        with pytest.raises(SignatureError):
            compiled(*args, **kwargs)
    with pytest.raises(SignatureError, match="Tracer"):
        jit(lambda x: compiled(x, y=good))(1.0)


def test_debug_nans_checks_results():
    log = jit(numpy.log).lower(1.0).compile()
    log(-1.0), log(-1.0)
    with olympus.debug_nans(), pytest.raises(FloatingPointError):
        log(-1.0)


def test_a_program_is_freed_without_a_collection(compiled):
    small = jit(lambda x: x + 1).lower(1.0).compile()
    gc.disable()
    try:
        call, reference = small.__call__, weakref.ref(small)
        del small
        assert reference() is None
        assert call(2.0) == 3
    finally:
        gc.enable()


def test_donation_keeps_python_calls():
    donating = jit(lambda x: x + 1, donate_argnums=0).lower(numpy.ones(3)).compile()
    assert not isinstance(donating, DirectCompiled)
