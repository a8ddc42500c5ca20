"""The hints for traced arrays that are used as Python values, and the user's line in the errors."""

from __future__ import annotations

import importlib
import math
from math import sqrt

import numpy
import pytest

import olympus
import olympus.numpy as jnp
from olympus.errors import ConcretizationTypeError, OlympusError
from olympus_core.ir.conversions import MATH

SIZE = "take the size from the shape of an array, such as x.shape[0], or make {} static: --static "

HINTS = {
    "math": (lambda n: math.exp(n), "use olympus.numpy.exp, which takes traced arrays"),
    "math by name": (lambda n: sqrt(n + 1), "use olympus.numpy.sqrt,"),
    "math renamed": (lambda n: 1 + math.gamma(n), "use olympus.scipy.special.gamma,"),
    "math of int": (lambda n: math.isqrt(n), "use olympus.numpy.sqrt,"),
    "math floor": (lambda n: math.floor(n), "use olympus.numpy.floor,"),
    "numpy": (lambda n: numpy.exp(n), "use olympus.numpy.exp, which takes traced arrays"),
    "numpy.linalg": (lambda n: numpy.linalg.norm(n), "use olympus.numpy.linalg.norm,"),
    "float": (lambda n: float(n), "x.astype(float) converts the dtype"),
    "complex": (lambda n: complex(n), "x.astype(complex) converts the dtype"),
    "int": (lambda n: int(n), "x.astype(int) converts the dtype of a traced array; for a size, "),
    "item": (lambda n: n.item(), "use the array without this call"),
    "tolist": (lambda n: n.tolist(), "use the array without this call"),
    "range": (lambda n: list(range(n)), "olympus.lax.fori_loop"),
    "size of int": (lambda n: jnp.zeros(int(n)), SIZE.format("'n'") + "n=8, n = 8 in [target."),
    "size": (lambda n: jnp.zeros(n), SIZE.format("'n'")),
    "size in a tuple": (lambda n: jnp.ones((n, 3)), 'static_argnames="n" of olympus.jit'),
    "computed size": (lambda n: jnp.zeros(n + 1), SIZE.format("the argument that gives it")),
    "reshape": (lambda n: jnp.ones(4).reshape(n, -1), SIZE.format("'n'")),
    "arange": (lambda n: jnp.arange(n), SIZE.format("'n'")),
    "list": (lambda n: [1, 2, 3][n], "olympus.numpy.stack(items)[i] takes a traced index"),
}


@pytest.mark.parametrize(("function", "hint"), HINTS.values(), ids=HINTS)
def test_the_hint_is_of_the_expression(function, hint):
    with pytest.raises(OlympusError) as caught:
        olympus.jit(function)(3)
    assert hint in caught.value.hint


@pytest.mark.parametrize("case", [name for name in HINTS if name != "arange"])
def test_the_error_has_the_line(case):
    with pytest.raises(OlympusError) as caught:
        olympus.jit(HINTS[case][0])(3)
    line = HINTS[case][0].__code__.co_firstlineno
    assert caught.value.location == f"{__file__}:{line}"


def test_the_names_of_the_users_own_functions_are_not_those_of_math():
    def exp(x):
        return float(x)

    with pytest.raises(ConcretizationTypeError) as caught:
        olympus.jit(lambda x: exp(x))(1.0)
    assert caught.value.hint.startswith("x.astype(float)")


def test_a_part_of_an_argument_does_not_become_static():
    with pytest.raises(OlympusError) as caught:
        olympus.jit(lambda sizes: jnp.zeros(sizes["n"]))({"n": 3})
    assert "make the argument that gives it static" in caught.value.hint


def test_a_function_without_source_has_the_hint_of_the_conversion():
    scope: dict[str, object] = {}
    exec("import math\ndef f(x): return math.exp(x)", scope)
    with pytest.raises(ConcretizationTypeError) as caught:
        olympus.jit(scope["f"])(1.0)
    assert caught.value.hint.startswith("x.astype(float)")


@pytest.mark.parametrize("name", MATH)
def test_every_function_of_math_has_a_counterpart(name):
    if MATH[name] is None:
        assert name in ("fma", "perm")
        return
    namespace, _, function = MATH[name].rpartition(".")
    assert callable(getattr(importlib.import_module(namespace), function))
