"""`xla_computation`: the document's examples, and what each option does to the program."""

from __future__ import annotations

import re
import types

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import TransformError, UnboundAxisError, UsageError

MATRIX = np.ones((4, 4), np.float32)


def instructions(text: str) -> list[str]:
    """The instructions of the entry computation, in order, without names' numbers."""
    entry = text[text.index("ENTRY") :]
    lines = [re.sub(r"\.\d+", "", line.strip()) for line in entry.splitlines()[1:]]
    return [line.removeprefix("ROOT ") for line in lines if " = " in line]


def groups(text: str) -> list[str]:
    return re.findall(r"replica_groups=(\{\{.*?\}\})", text)


def sin_of_cos(x):
    return jnp.sin(jnp.cos(x))


@pytest.mark.parametrize(
    "x", [3.0, np.float32(3), types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))]
)
def test_the_documents_first_example(x):
    text = olympus.xla_computation(sin_of_cos)(x).as_hlo_text()
    assert text.startswith("HloModule xla_computation_sin_of_cos,")
    assert instructions(text) == [
        "Arg_0 = f32[] parameter(0)",
        "cosine = f32[] cosine(Arg_0)",
        "sine = f32[] sine(cosine)",
        "tuple = (f32[]) tuple(sine)",
    ]


def test_the_documents_collective():
    def f(x):
        return x - lax.psum(x, "i")

    text = olympus.xla_computation(f, axis_env=[("i", 4)])(2).as_hlo_text()
    assert instructions(text) == [
        "Arg_0 = s32[] parameter(0)",
        "all-reduce = s32[] all-reduce(Arg_0), replica_groups={{0,1,2,3}}, to_apply=region_0",
        "subtract = s32[] subtract(Arg_0, all-reduce)",
    ]
    assert re.search(r"region_0\.\d+ \{[^}]*ROOT add\.\d+ = s32\[\] add\(", text)


def test_the_documents_replica_groups():
    def g(x):
        return lax.psum(x, "i"), lax.psum(x, "j"), lax.psum(x, ("i", "j"))

    text = olympus.xla_computation(g, axis_env=[("i", 4), ("j", 2)])(5.0).as_hlo_text()
    assert groups(text) == [
        "{{0,2,4,6},{1,3,5,7}}",
        "{{0,1},{2,3},{4,5},{6,7}}",
        "{{0,1,2,3,4,5,6,7}}",
    ]
    assert instructions(text)[-1] == (
        "tuple = (f32[], f32[], f32[]) tuple(all-reduce, all-reduce, all-reduce)"
    )


def test_groups_within_an_axis():
    def f(x):
        return lax.psum(x, "i", axis_index_groups=[[0, 2], [1, 3]])

    text = olympus.xla_computation(f, axis_env=[("i", 4)])(2.0).as_hlo_text()
    assert groups(text) == ["{{0,2},{1,3}}"]


@pytest.mark.parametrize(
    ("fun", "operation"),
    [
        (lambda x: lax.pmax(x, "i"), "all-reduce"),
        (lambda x: lax.all_gather(x, "i"), "all-gather"),
        (lambda x: lax.psum_scatter(x, "i", tiled=True), "reduce-scatter"),
        (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), "collective-permute"),
        (lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), "all-to-all"),
        (lambda x: lax.axis_index("i"), "replica-id"),
    ],
)
def test_each_collective_is_an_operation_among_replicas(fun, operation):
    text = olympus.xla_computation(fun, axis_env=[("i", 2)])(MATRIX).as_hlo_text()
    assert f" {operation}(" in text


def test_axis_index_counts_in_row_major_order():
    def f():
        return lax.axis_index("j")

    text = olympus.xla_computation(f, axis_env=[("i", 2), ("j", 3), ("k", 5)])().as_hlo_text()
    kinds = [re.search(r" (\w[\w-]*)\(", line).group(1) for line in instructions(text)]
    assert [k for k in kinds if k != "constant"] == [
        "replica-id",
        "divide",
        "remainder",
        "convert",
    ]
    assert {"u32[] constant(5)", "u32[] constant(3)"} <= {
        line.split(" = ")[1] for line in instructions(text)
    }


def test_return_shape_gives_the_tree_of_shapes():
    def f(x):
        return {"sum": x.sum(), "rows": [x, x.T]}

    computation, shapes = olympus.xla_computation(f, return_shape=True)(np.ones((2, 3), np.float32))
    struct = olympus.ShapeDtypeStruct
    assert shapes == {
        "sum": struct((), "float32"),
        "rows": [struct((2, 3), "float32"), struct((3, 2), "float32")],
    }
    assert "f32[3,2]" in computation.as_hlo_text()


def test_the_other_forms():
    computation = olympus.xla_computation(sin_of_cos)(3.0)
    assert computation.as_hlo_dot_graph().startswith("digraph")
    assert b"xla_computation_sin_of_cos" in computation.as_serialized_hlo_module_proto()


def test_static_and_donated_arguments():
    def f(n, x):
        return n * x

    computation = olympus.xla_computation(f, static_argnums=0, donate_argnums=1)(3, MATRIX)
    text = computation.as_hlo_text()
    assert "constant(3)" in text and "parameter(1)" not in text
    assert "input_output_alias={ {0}: (0, {}, may-alias) }" in text


@pytest.mark.parametrize(("count", "tupled"), [(100, False), (101, True)])
def test_tuple_args(count, tupled):
    def f(*xs):
        return sum(xs)

    many = olympus.xla_computation(f, tuple_args=None)(*[1.0] * count).as_hlo_text()
    assert ("get-tuple-element" in many) == tupled
    assert "get-tuple-element" in olympus.xla_computation(f, tuple_args=True)(1.0).as_hlo_text()


def test_parts_are_shardings():
    computation = olympus.xla_computation(jnp.matmul, in_parts=((2, 1), None), out_parts=(2, 1))
    text = computation(MATRIX, MATRIX).as_hlo_text()
    assert re.search(r"parameter\(0\), sharding=\{devices=\[2,1\]<=\[2\]\}", text)
    assert re.search(r"parameter\(1\), sharding=\{replicated\}", text)
    assert re.search(r"ROOT .*sharding=\{\{devices=\[2,1\]<=\[2\]\}\}", text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_parts": ((2,), None)}, r"has \(2,\) for float32\[4,4\]"),
        ({"in_parts": ((2, 1), (3, 1))}, "the same number of parts, and have 2 and 3"),
        ({"in_parts": (None, None, None)}, "must be a tree prefix"),
    ],
)
def test_parts_that_do_not_fit(options, message):
    with pytest.raises(TransformError, match=message):
        olympus.xla_computation(jnp.matmul, **options)(MATRIX, MATRIX)


def test_the_backend_is_checked():
    with pytest.raises(UsageError, match="no backend is named 'abacus'"):
        olympus.xla_computation(sin_of_cos, backend="abacus")
    assert olympus.xla_computation(sin_of_cos, backend="gpu")(3.0).as_hlo_text()


@pytest.mark.parametrize("axis_env", [[("i", 0)], [("i", 2), ("i", 3)], ["i"], 3, [("i", "4")]])
def test_an_axis_env_has_names_and_sizes(axis_env):
    for make in (olympus.xla_computation, olympus.make_olympuspr):
        with pytest.raises(UsageError, match="axis_env must be a sequence of pairs"):
            make(sin_of_cos, axis_env=axis_env)


def test_an_axis_that_the_env_lacks():
    with pytest.raises(UnboundAxisError, match=r"(?s)axis 'j'.*bound here: 'i' \(of size 4\)"):
        olympus.xla_computation(lambda x: lax.psum(x, "j"), axis_env=[("i", 4)])(1.0)


def test_programs_of_replicas_as_olympuspr():
    program = olympus.make_olympuspr(lambda x: lax.psum(x, "i") / 2, axis_env=[("i", 4)])(1.0)
    assert str(program) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = psum[axes=(i,) axis_index_groups=None] a\n"
        "    c:f32[] = div b 2.0:f32[]\n"
        "  in (c,) }"
    )
