"""Cotangents that are added to references, and those of references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox

pytestmark = pytest.mark.usefixtures("no_reference_is_left")


def test_places_of_cotangents() -> None:
    _, pull_back = ox.vjp(lambda x, y: x * y, 2.0, 3.0)
    ref = ox.new_ref(0.0)
    results = pull_back.with_refs(ref, ox.ad.DontWant())(1.0)
    assert results == (ox.ad.GradRef(), ox.ad.DidntWant())
    assert pull_back.with_refs(ox.ad.GradValue(), ref)(1.0) == (3, ox.ad.GradRef())
    assert ref[...] == 5
    for wrong in ((ref,), (ref, 1.0), (ref, ox.new_ref(ox.numpy.zeros(2)))):
        with pytest.raises(ox.errors.TransformError, match="with_refs"):
            pull_back.with_refs(*wrong)(1.0)


def test_an_unwanted_cotangent_is_not_computed() -> None:
    w, x = ox.numpy.ones((3, 4)), ox.numpy.ones(4)
    _, pull_back = ox.vjp(lambda w, x: w @ x, w, x)
    places = (ox.ad.GradValue(), ox.ad.DontWant())
    both = ox.make_jaxpr(lambda: pull_back(ox.numpy.ones(3)))()
    one = ox.make_jaxpr(lambda: pull_back.with_refs(*places)(ox.numpy.ones(3)))()
    assert (str(both).count("dot_general"), str(one).count("dot_general")) == (2, 1)


def squared(ref: Any) -> Any:
    return ref[...] ** 2


def changed(ref: Any) -> Any:
    ref[...] = ox.numpy.sin(ref[...])
    return ref[...] ** 2


# the cotangent of the first value, where that of the last value is 0 and 100: x**2 reads the
# reference, and the other function replaces its value by the sine
@pytest.mark.parametrize("run", [lambda f: f, ox.jit], ids=["eager", "staged"])
@pytest.mark.parametrize(
    ("fun", "last", "slope", "of_last"),
    [
        (squared, 2.0, 4.0, 1.0),
        (changed, np.sin(2.0), 2 * np.sin(2.0) * np.cos(2.0), np.cos(2.0)),
    ],
)
def test_derivatives_by_a_reference(
    run: Callable[[Any], Any], fun: Callable[[Any], Any], last: float, slope: float, of_last: float
) -> None:
    def derivative(start: Any) -> Any:
        ref, cotangent = ox.new_ref(ox.numpy.float32(2)), ox.new_ref(start)
        _, pull_back = ox.vjp(fun, ref)
        results = pull_back.with_refs(cotangent)(ox.numpy.float32(1))
        return ref[...], cotangent[...], results

    for start in (0.0, 100.0):
        value, cotangent, results = run(derivative)(np.float32(start))
        assert results == (ox.ad.GradRef(),)
        np.testing.assert_allclose(value, last, rtol=1e-6)
        np.testing.assert_allclose(cotangent, slope + start * of_last, rtol=1e-5)


def test_the_cotangent_of_a_reference_is_not_returned() -> None:
    ref, x = ox.new_ref(2.0), ox.numpy.float32(3)
    y, pull_back = ox.vjp(lambda r, x: r[...] * x, ref, x)
    assert (y, pull_back.args_res[1]) == (6, x)
    for call in (pull_back, pull_back.with_refs(ox.ad.GradValue(), ox.ad.GradValue())):
        with pytest.raises(ox.errors.TransformError, match="argument r, which is Ref-typed, must"):
            call(1.0)
    results = pull_back.with_refs(ox.ad.DontWant(), ox.ad.GradValue())(1.0)
    assert results == (ox.ad.DidntWant(), 2)
    with pytest.raises(ox.errors.TransformError, match=r"a reference of the type .* Ref\{f"):
        pull_back.with_refs(ox.new_ref(ox.numpy.zeros(2)), ox.ad.GradValue())(1.0)
    _, pull_back, aux = ox.vjp(lambda r: (r[...] * 2.0, [r[...]]), ref, has_aux=True)
    assert aux == [2]
    with pytest.raises(ox.errors.TransformError, match="is not a valid JAX type: '<lambda>' ret"):
        ox.vjp(lambda r: r, ref)
