"""The reductions of segments in olympus.ops and their derivatives agree with JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import ops
from olympus.errors import (
    ArgumentError,
    ConcretizationTypeError,
    DTypeError,
    ShapeError,
    TransformError,
)
from tests.library.oracle import check, row

PACKAGE = {olympus.numpy: olympus, jax.numpy: jax}
NAMES = ("segment_max", "segment_min", "segment_prod", "segment_sum")
IDS = np.asarray([2, 0, -1, 0, 5, 2, 9], np.int32)  # 1, 3 and 4 have no rows
DATA = np.linspace(-2.0, 3.0, 14, dtype=np.float32).reshape(7, 2)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "clip": {"mode": "clip"},
    "buckets": {"bucket_size": 3},
    "buckets, clip": {"bucket_size": 2, "mode": "clip"},
    "no segment": {"num_segments": 0},
}
DTYPES = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")
WITHOUT_BOOL = ("segment_prod", "segment_sum")


def called(name: str, **options: Any) -> Any:
    options = {"num_segments": 6, **options}
    return lambda m, *args: getattr(PACKAGE[m].ops, name)(*args, **options)


def gradient(name: str, **options: Any) -> Any:
    call = called(name, **options)

    def gradient_of_loss(m: Any, data: Any, ids: Any) -> Any:
        def loss(x: Any) -> Any:
            out = call(m, x, ids)
            return m.sum(m.where(m.isfinite(out), out, 0) ** 2)

        return PACKAGE[m].grad(loss)(data)

    return gradient_of_loss


def batched(name: str, axes: tuple[int | None, int | None]) -> Any:
    return lambda m, data, ids: PACKAGE[m].vmap(lambda x, i: called(name)(m, x, i), in_axes=axes)(
        data, ids
    )


def rows() -> list[Any]:
    table = []
    for name in NAMES:
        for label, options in OPTIONS.items():
            table.append(row(f"{name} {label}", called(name, **options), DATA, IDS))
        for dtype in DTYPES:
            if dtype != "bool" or name not in WITHOUT_BOOL:
                data = np.asarray(jnp.asarray(DATA[:, 0]).astype(dtype))
                table.append(row(f"{name} {dtype}", called(name), data, IDS))
        sorted_ids = np.asarray([0, 1, 3, 4, 7, 8, 9], np.uint8)
        promised = called(name, indices_are_sorted=True, unique_indices=True)
        table.append(row(f"{name} promised", promised, DATA, sorted_ids))
        if name != "segment_prod":  # JAX has no derivative if rows share a segment
            table.append(row(f"{name} grad", gradient(name), DATA, IDS, rtol=1e-5))
            table.append(row(f"{name} grad of ties", gradient(name), np.ones_like(DATA), IDS))
        alone = gradient(name, unique_indices=True)
        table.append(row(f"{name} grad of rows alone", alone, DATA, sorted_ids, rtol=1e-5))
        batches = (np.stack([DATA, -DATA]), np.stack([IDS, IDS[::-1]]))
        table.append(row(f"{name} vmap", batched(name, (0, 0)), *batches))
        table.append(row(f"{name} vmap of data", batched(name, (0, None)), batches[0], IDS))
        table.append(row(f"{name} vmap of ids", batched(name, (None, 0)), DATA, batches[1]))
    in_buckets = gradient("segment_sum", bucket_size=2)
    return [*table, row("segment_sum grad of buckets", in_buckets, DATA, IDS, rtol=1e-5)]


def test_reductions_of_segments_agree_with_jax() -> None:
    check(rows())


@pytest.mark.parametrize("name", NAMES)
def test_the_default_number_of_segments_is_that_of_the_ids(name: str) -> None:
    mine, theirs = (getattr(m.ops, name)(DATA, IDS) for m in (olympus, jax))
    assert mine.shape == (10, 2)
    np.testing.assert_array_equal(mine, theirs)
    staged = olympus.jit(getattr(ops, name), static_argnums=2)(DATA, IDS, 10)
    np.testing.assert_array_equal(staged, mine)


def test_wrong_arguments_are_refused() -> None:
    total: Any = ops.segment_sum
    with pytest.raises(ConcretizationTypeError, match="cannot know the shape") as error:
        olympus.jit(total)(DATA, IDS)
    assert "pass num_segments" in (error.value.hint or "")
    with pytest.raises(ConcretizationTypeError, match="'num_segments'"):
        olympus.jit(total)(DATA, IDS, 3)
    with pytest.raises(ShapeError, match="one for each row of data"):
        total(DATA, IDS[:3], 3)
    with pytest.raises(ShapeError, match="one for each row of data"):
        total(DATA, DATA.astype(int), 3)
    with pytest.raises(DTypeError, match="integers as segment_ids"):
        total(DATA, IDS.astype(np.float32), 3)
    for name in WITHOUT_BOOL:
        with pytest.raises(DTypeError, match="bool"):
            getattr(ops, name)(DATA > 0, IDS, 3)
    for options in ({"num_segments": -1}, {"num_segments": 2.0}, {"bucket_size": 0}):
        with pytest.raises(ArgumentError, match=f"{next(iter(options))} is an int of"):
            total(DATA, IDS, **options)
    with pytest.raises(TransformError, match="its updates have no derivative"):
        olympus.grad(lambda x: ops.segment_prod(x, IDS, 6).sum())(DATA)
    with pytest.raises(ArgumentError, match="needs num_segments if segment_ids is empty"):
        total(DATA[:0], IDS[:0])
