"""Modules in other forms, effects of primitives, closed programs, and bounds of sizes."""

from __future__ import annotations

import importlib
import math
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
import olympus.extend.mlir
import olympus.interpreters.mlir
import olympus.interpreters.partial_eval

X = np.asarray([1.0, 2.0], np.float32)


@pytest.mark.parametrize("package", ["olympus", "jax"])
def test_modules_have_portable_forms_texts_and_bytes(package: str) -> None:
    jit = importlib.import_module(package).jit
    interchange = importlib.import_module(f"{package}.extend.mlir")
    mlir = importlib.import_module(f"{package}.interpreters.mlir")
    module = jit(lambda x: x + 1).lower(X).compiler_ir("stablehlo")
    text = mlir.module_to_string(module, enable_debug_info=False)
    assert text.startswith("module") and "stablehlo.add" in text and "loc(" not in text
    assert "loc(" in mlir.module_to_string(module)
    assert mlir.module_to_bytecode(module).startswith(b"ML\xefR")
    artifact = interchange.serialize_portable_artifact(text, "1.9.0")
    context = mlir.make_ir_context()
    assert "stablehlo.add" in str(interchange.deserialize_portable_artifact(artifact, context))
    refined = interchange.refine_polymorphic_shapes(mlir.module_to_bytecode(module))
    assert refined.startswith(b"ML\xefR")


def test_a_program_of_hlo_becomes_stablehlo() -> None:
    hlo = jax.jit(lambda x: x + 1).lower(X).compiler_ir("hlo").as_serialized_hlo_module_proto()
    assert olympus.extend.mlir.hlo_to_stablehlo(hlo).startswith(b"ML\xefR")


def test_equations_with_an_effect_of_the_user_remain() -> None:
    core = ox.extend.core

    class Notice(core.Effect):  # type: ignore[misc]
        """An effect without a meaning."""

    assert core.Effects == set[core.Effect]
    notice_p = core.Primitive("notice")
    notice_p.def_impl(lambda x: x)
    notice_p.def_effectful_abstract_eval(lambda x: (x, {Notice()}))
    olympus.interpreters.mlir.register_lowering(notice_p, lambda ctx, x: [x])
    program = ox.make_jaxpr(lambda x: (notice_p.bind(x), x + 1)[1])(X)
    assert [eqn.primitive.name for eqn in program.eqns] == ["notice", "add"]
    assert np.array_equal(ox.jit(lambda x: (notice_p.bind(x), x + 1)[1])(X), X + 1)


def test_programs_are_closed_and_have_their_constants_as_inputs() -> None:
    partial_eval = olympus.interpreters.partial_eval
    program = ox.make_jaxpr(lambda x: x + ox.numpy.asarray(X))(X)
    with pytest.raises(ValueError, match="has 1 constants"):
        partial_eval.close_jaxpr(program.jaxpr)
    opened = partial_eval.convert_constvars_jaxpr(program.jaxpr)
    assert not opened.constvars and partial_eval.close_jaxpr(opened) is opened
    assert len(opened.invars) == len(program.jaxpr.constvars) + len(program.jaxpr.invars)
    (out,) = ox.core.eval_jaxpr(opened, (), *program.consts, X)
    assert np.array_equal(out, 2 * X)


def test_bounds_of_sizes() -> None:
    export = ox.export
    (b,) = export.symbolic_shape("b", constraints=["b <= 8"])
    assert export.symbolic_dim_bounds(2 * b + 1) == (3, 17)
    assert export.symbolic_dim_bounds(-b) == (-8, -1)
    (c,) = export.symbolic_shape("c")
    assert export.symbolic_dim_bounds(c) == (1, math.inf)
    assert export.symbolic_dim_bounds(5) == (5, 5)
    for wrong in (2.5, True, "b"):
        with pytest.raises(TypeError, match="needs an integer or a symbolic size"):
            export.symbolic_dim_bounds(wrong)


def test_names_that_are_others() -> None:
    sparse: Any = importlib.import_module("olympus.experimental.sparse")
    topologies: Any = importlib.import_module("olympus.experimental.topologies")
    assert topologies.Device is ox.Device
    assert ox.get_mesh is ox.sharding.get_mesh
    assert ox.get_abstract_mesh is ox.sharding.get_abstract_mesh
    assert ox.use_abstract_mesh is ox.sharding.use_abstract_mesh
    mat = sparse.BCOO.fromdense(np.eye(2, dtype=np.float32))
    assert sparse.ad.is_sparse(mat) and not sparse.ad.is_sparse(X)
    checkpoint = ox.ad_checkpoint
    program = ox.make_jaxpr(lambda x: checkpoint.checkpoint_name(x, "x"))(X)
    assert [eqn.primitive for eqn in program.eqns] == [checkpoint.name_p]


@pytest.mark.parametrize("package", ["olympus", "jax"])
def test_primitives_access_the_value_of_a_reference(package: str) -> None:
    module, whole = importlib.import_module(package), jax.tree.structure(())
    primitives = importlib.import_module(f"{package}.extend.core.primitives")

    def program(x: Any) -> Any:
        ref = module.new_ref(x)
        read = primitives.get_p.bind(ref, tree=whole)
        replaced = primitives.swap_p.bind(ref, 3 * read, tree=whole)
        return replaced, ref[...]

    for outs in (program(X), module.jit(program)(X)):
        np.testing.assert_array_equal(outs, [X, 3 * X])
    assert (str(primitives.get_p), str(primitives.swap_p)) == ("get", "swap")
    with pytest.raises(ValueError, match=r"`get` must be called on `Ref` types: float32\[2\]"):
        primitives.get_p.bind(module.numpy.ones(2), tree=whole)
    with pytest.raises(ValueError, match="Invalid shape for `swap`"):
        primitives.swap_p.bind(module.new_ref(X), np.ones(3, np.float32), tree=whole)
