"""Descriptions of arrays are values: they are compared, copied and pickled."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import olympus as ox
from olympus.sharding import AbstractMesh, NamedSharding
from olympus.sharding import PartitionSpec as P


def described() -> list[ox.ShapeDtypeStruct]:
    mesh = AbstractMesh((2,), ("x",))
    return [
        ox.ShapeDtypeStruct((2, 3), "bfloat16"),
        ox.ShapeDtypeStruct((), np.int32, weak_type=True),
        ox.ShapeDtypeStruct((4,), "float32", sharding=NamedSharding(mesh, P("x"))),
    ]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("number", range(3))
def test_a_copy_of_a_description_is_equal(copied: object, number: int) -> None:
    one = described()[number]
    other = copied(one)  # type: ignore[operator]
    assert other == one and hash(other) == hash(one)
    assert (other.weak_type, other.sharding) == (one.weak_type, one.sharding)


def test_a_description_like_a_traced_array() -> None:
    descriptions: list[ox.ShapeDtypeStruct] = []
    ox.jit(lambda x: descriptions.append(ox.ShapeDtypeStruct.like(x)))(1.0)
    assert descriptions == [ox.ShapeDtypeStruct((), "float32", weak_type=True)]
