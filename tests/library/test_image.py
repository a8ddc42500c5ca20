"""olympus.image against JAX: every method, up and down, with and without antialiasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
import olympus.image
from olympus.errors import ArgumentError, ShapeError
from olympus.image import ResizeMethod
from tests.library.oracle import Row, check, check_derivatives, row

IMAGE = {ox.numpy: olympus.image, jax.numpy: jax.image}
rng = np.random.default_rng(0)
PICTURE = rng.normal(size=(5, 6, 2)).astype(np.float32)
INTS = rng.integers(0, 9, (4, 3)).astype(np.int32)
METHODS = [m.name for m in ResizeMethod]


def resized(x: Any, shape: tuple[int, ...], method: str, antialias: bool = True) -> Row:
    def call(numpy: Any, x: Any) -> Any:
        chosen = IMAGE[numpy].ResizeMethod[method]
        return IMAGE[numpy].resize(x, shape, chosen, antialias)

    return row(f"{x.shape} {x.dtype} to {shape} {method} {antialias}", call, x, atol=1e-5)


def moved(*args: Any, **options: Any) -> Row:
    return row(
        f"{args} {options}",
        lambda numpy, x, scale, shift: IMAGE[numpy].scale_and_translate(
            x, *args[:2], scale, shift, *args[2:], **options
        ),
        PICTURE,
        [1.7, 0.6],
        [0.3, -1.2],
        atol=1e-5,
    )


def test_values() -> None:
    check([
        *[resized(PICTURE, shape, m, a) for shape in ((9, 3, 2), (2, 6, 4)) for m in METHODS
          for a in (False, True)],
        *[resized(INTS, (2, 7), m) for m in METHODS],
        resized(INTS > 4, (2, 7), "LINEAR"),
        resized(PICTURE.astype(np.float16), (9, 3, 2), "CUBIC"),
        resized(PICTURE, (0, 6, 2), "LINEAR"),
        resized(PICTURE, (5, 6, 2), "LANCZOS3"),
        *[moved((8, 4, 2), (0, 1), m.lower().replace("_", "-"), antialias=a)
          for m in METHODS[1:] for a in (False, True)],
        moved((5, 6, 3), (-1, 0), "bilinear"),
    ], weak=False)  # fmt: skip


def test_eager_and_batched_calls() -> None:
    check([resized(PICTURE, (9, 3, 2), m) for m in ("NEAREST", "LINEAR")], jit=False)

    def mapped(numpy: Any, x: Any) -> Any:
        package = ox if numpy is ox.numpy else jax
        return package.vmap(lambda x: IMAGE[numpy].resize(x, (7, 2), "cubic"), in_axes=2)(x)

    check([row("vmap", mapped, PICTURE)])


def test_derivatives() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(
            lambda n, x: n.sum(n.sin(IMAGE[n].resize(x, (3, 7), "lanczos5"))),
            PICTURE[..., 0].astype(np.float64)[:3, :4],
        )
        check_derivatives(
            lambda n, v: n.sum(
                n.sin(
                    IMAGE[n].scale_and_translate(
                        PICTURE.astype(np.float64), (8, 4, 2), (0, 1), v[:2], v[2:], "cubic"
                    )
                )
            ),
            np.array([1.7, 0.6, 0.3, -1.2]),
        )


def test_the_names_of_methods() -> None:
    for name in ("triangle", "bicubic-pytorch", "lanczos5", "area", "nearest"):
        assert ResizeMethod.from_string(name).name == jax.image.ResizeMethod.from_string(name).name
    assert [m.value for m in ResizeMethod] == [m.value for m in jax.image.ResizeMethod]


def test_errors() -> None:
    image = olympus.image
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: image.resize(INTS, (2,), "linear"), ShapeError, "number of dimensions"),
        (lambda: image.resize(INTS, (2, 2), "odd"), ArgumentError, "Unknown resize method"),
        (lambda: image.resize(INTS, (2, 2), 3), ArgumentError, "ResizeMethod"),
        (
            lambda: moved((8, 4), (0, 1), "linear").call(ox.numpy, PICTURE, X, X),
            ShapeError,
            "shape",
        ),
        (
            lambda: moved((8, 4, 2), (0, 1), "nearest").call(ox.numpy, PICTURE, X, X),
            ArgumentError,
            "NEAREST",
        ),
        (
            lambda: moved((8, 4, 2), (0,), "linear").call(ox.numpy, PICTURE, X, X),
            ShapeError,
            "each of 1 dimensions",
        ),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()


X = np.ones(2, np.float32)
