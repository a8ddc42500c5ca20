"""Errors under JAX's names: a program that catches them by these, or by Python's, goes on."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import olympus
import olympus.errors
from olympus_core.base import errors as base_errors

X = np.arange(3, dtype=np.int32)
BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])

RAISED = {
    "if": ("TracerBoolConversionError", lambda ox, x: 1 if x[0] else 0),
    "int": ("ConcretizationTypeError", lambda ox, x: int(x[0])),
    "float": ("ConcretizationTypeError", lambda ox, x: float(x[0])),
    "item": ("ConcretizationTypeError", lambda ox, x: x[0].item()),
    "range": ("TracerIntegerConversionError", lambda ox, x: list(range(x[0]))),
    "index": ("TracerIntegerConversionError", lambda ox, x: [1, 2, 3][x[0]]),
    "numpy": ("TracerArrayConversionError", lambda ox, x: np.sin(x)),
    "mask": ("NonConcreteBooleanIndexError", lambda ox, x: x[x > 0]),
    "masked update": ("NonConcreteBooleanIndexError", lambda ox, x: x.at[x > 0].set(x[:2])),
    "nonzero": ("ConcretizationTypeError", lambda ox, x: ox.numpy.nonzero(x)),
}


@BOTH
@pytest.mark.parametrize(("name", "fun"), RAISED.values(), ids=RAISED)
def test_a_traced_value_that_python_needs(ox, name, fun):
    with pytest.raises(getattr(ox.errors, name)):
        ox.jit(lambda x: fun(ox, x))(X)
    assert issubclass(getattr(ox.errors, name), IndexError if "Index" in name else TypeError)


@BOTH
def test_a_traced_value_that_has_left_its_function(ox):
    leaked = []
    ox.jit(lambda x: leaked.append(x))(X)
    for use in (lambda: leaked[0] + 1, lambda: ox.jit(lambda x: x + leaked[0])(X)):
        with pytest.raises(ox.errors.UnexpectedTracerError) as caught:
            use()
        assert isinstance(caught.value, TypeError)


@BOTH
def test_a_deleted_array(ox):
    x = ox.numpy.arange(3)
    x.delete()
    for use in (lambda: x + 1, lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match="deleted"):
            use()


NAMES = sorted(n for n in dir(jax.errors) if n[0].isupper())
ABSENT = {
    "InconclusiveDimensionOperation",  # of dimensions that are symbols
    "JAXIndexError",  # bases that are JAX's own
    "JAXTypeError",
    "JaxprTypeError",
}


@pytest.mark.parametrize("name", sorted(set(NAMES) - ABSENT))
def test_an_error_has_the_bases_of_python_that_jaxs_has(name):
    ours, theirs = getattr(olympus.errors, name), getattr(jax.errors, name)
    wanted = [c for c in theirs.__mro__ if c.__module__ == "builtins"]
    assert [c for c in wanted if not issubclass(ours, c)] == []
    assert ours.__name__ in olympus.errors.__dict__


def test_failures_of_the_machine_are_one_class():
    assert olympus.errors.JaxRuntimeError is olympus.errors.MachineError
    for kind in (olympus.errors.BackendError, olympus.errors.CompileError):
        assert issubclass(kind, RuntimeError)
        assert issubclass(kind, olympus.errors.JaxRuntimeError)


def test_every_error_class_is_public():
    for name in base_errors.__all__:
        assert getattr(olympus.errors, name) is getattr(base_errors, name)
