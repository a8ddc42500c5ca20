"""The bytes of exported programs: trees, dtypes, damage and versions."""

from __future__ import annotations

import collections
import hashlib
import json
from typing import Any

import numpy as np
import pytest

import olympus.numpy as jnp
from olympus import ShapeDtypeStruct, enable_x64, export, jit, tree_util
from olympus.errors import ArtifactError
from olympus_core.export import container

F32 = np.float32
X = np.ones(3, F32)


def again(program: export.Exported) -> export.Exported:
    return export.deserialize(program.serialize())


class Tagged:
    """A container with static data."""

    def __init__(self, a: Any, b: Any, tag: str) -> None:
        self.a, self.b, self.tag = a, b, tag


tree_util.register_pytree_node(
    Tagged, lambda x: ((x.a, x.b), x.tag), lambda tag, children: Tagged(*children, tag)
)


class Point(collections.namedtuple("Point", "a b")):
    """A named tuple."""


Pair = collections.namedtuple("Pair", "a b")


def test_a_class_is_registered_before_its_structure_is_stored() -> None:
    program = export.export(jit(lambda x: Tagged(x.a + 1, x.b, x.tag)))(Tagged(X, X, "t"))
    with pytest.raises(ValueError, match="unless it is registered"):
        program.serialize()
    options: dict[str, Any] = {"serialize_auxdata": str.encode, "deserialize_auxdata": bytes.decode}
    cls = export.register_pytree_node_serialization(Tagged, serialized_name="Tagged", **options)
    assert cls is Tagged
    result = again(program).call(Tagged(X, X, "t"))
    assert result.tag == "t"
    np.testing.assert_array_equal(result.a, 2 * X)
    with pytest.raises(ValueError, match="Duplicate serialization registration for type"):
        export.register_pytree_node_serialization(Tagged, serialized_name="Other", **options)
    with pytest.raises(ValueError, match="registration for serialized_name"):
        export.register_pytree_node_serialization(
            Point, serialized_name="Tagged", from_children=Point, **options
        )
    with pytest.raises(ValueError, match="If `from_children` is not present, you must call first"):
        export.register_pytree_node_serialization(Point, serialized_name="Point", **options)


def test_named_tuples() -> None:
    program = export.export(jit(lambda x: Pair(x.b, x.a)))(Pair(X, 2 * X))
    with pytest.raises(ValueError, match="unless it is registered"):
        program.serialize()
    export.register_namedtuple_serialization(Pair, serialized_name="Pair")
    result = again(program).call(Pair(X, 2 * X))
    assert type(result) is Pair
    np.testing.assert_array_equal(result.a, 2 * X)
    with pytest.raises(ValueError, match="Use `register_pytree_node_serialization`"):
        export.register_namedtuple_serialization(str, serialized_name="text")


def test_standard_containers() -> None:
    ordered = collections.OrderedDict([("b", X), ("a", [2 * X, None])])
    result = again(export.export(jit(lambda x: (x, {"c": x["b"]})))(ordered)).call(ordered)
    assert list(result[0]) == ["b", "a"]
    assert result[0]["a"][1] is None
    program = export.export(jit(lambda x: x))({1: X})
    with pytest.raises(ValueError, match="dictionaries with string keys, and not 1"):
        program.serialize()


@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
        *("float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "float8_e5m2"),
    ],
)
def test_dtypes(dtype: str) -> None:
    x = jnp.ones((3,), dtype)
    result = again(export.export(jit(lambda x: x.reshape(3, 1)))(x)).call(x)
    assert (result.dtype, result.shape) == (x.dtype, (3, 1))


def test_wide_dtypes() -> None:
    with enable_x64():
        for dtype in ("int64", "uint64", "float64", "complex128"):
            x = jnp.ones((3,), dtype)
            assert again(export.export(jit(lambda x: x + x))(x)).call(x).dtype == x.dtype


def test_symbolic_shapes_and_constraints() -> None:
    shape = export.symbolic_shape("b, 2*b + 1", constraints=["2 <= b <= 9", "b % 2 == 0"])
    program = again(export.export(jit(lambda x: x.sum(1)))(ShapeDtypeStruct(shape, F32)))
    assert [a.short_name() for a in program.in_avals] == ["f32[b,2*b + 1]"]
    assert program.call(np.ones((4, 9), F32)).shape == (4,)
    for n in (3, 10):
        with pytest.raises(ValueError, match="do not match the symbolic shape constraint"):
            program.call(np.ones((n, 2 * n + 1), F32))
    assert program.serialize() == again(program).serialize()


def test_equal_programs_have_equal_bytes() -> None:
    programs = [export.export(jit(lambda x: jnp.sin(x)))(X) for _ in range(2)]
    assert programs[0].serialize() == programs[1].serialize()


def test_damaged_bytes_are_refused() -> None:
    blob = export.export(jnp.sin)(X).serialize()
    for i in range(0, len(blob), 23):
        damaged = bytearray(blob)
        damaged[i] ^= 1
        with pytest.raises(ArtifactError):
            export.deserialize(damaged)
    for length in (0, 5, 60, len(blob) - 1):
        with pytest.raises(ArtifactError):
            export.deserialize(blob[:length])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fun_name", None),
        ("in_tree", {"kind": "tuple"}),
        ("in_tree", "*"),
        ("out_tree", {"kind": "unknown", "items": []}),
        ("in_avals", [{"shape": "b +", "dtype": "float32", "weak_type": False}]),
        ("in_avals", 3),
        ("modules", [5]),
        ("calling_convention_version", 3),
        ("constraints", ["1 >= 2"]),
    ],
)
def test_an_invalid_header_is_refused(field: str, value: Any) -> None:
    header, contents = container.parts_of_bytes(bytes(export.export(jnp.sin)(X).serialize()))
    if value is None:
        del header[field]
    else:
        header[field] = value
    with pytest.raises(ArtifactError):
        export.deserialize(container.parts_to_bytes(container.StoredParts(header, contents)))


def test_another_version_of_the_format_is_refused() -> None:
    header, contents = container.parts_of_bytes(bytes(export.export(jnp.sin)(X).serialize()))
    blob = container.parts_to_bytes(container.StoredParts(header, contents))
    text = json.dumps({"version": 1}, separators=(",", ":"))[1:-1].encode()
    body = bytes(blob[48:]).replace(text, text.replace(b"1", b"9"))

    changed = bytes(blob[:16]) + hashlib.sha256(body).digest() + body
    with pytest.raises(ArtifactError, match="version 9 of the format, and not 1"):
        export.deserialize(changed)
