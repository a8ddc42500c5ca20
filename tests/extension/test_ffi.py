"""Calls of a function that gcc compiles: attributes, layouts, vmap, side effects and errors."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus as ox
import olympus.extend.core
import olympus.interpreters.mlir
from olympus.errors import CompileError, TransformError, VmapMethodError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
THREE = np.float32(3)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The compiled functions, of which `scale` is registered."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler was found")
    path = tmp_path_factory.mktemp("ffi") / "scale.so"
    source = Path(__file__).with_name("scale.c")
    include = f"-I{ox.ffi.include_dir()}"
    command = [compiler, "-shared", "-fPIC", include, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    loaded = ctypes.cdll.LoadLibrary(str(path))
    ox.ffi.register_ffi_target("olympus_test_scale", ox.ffi.pycapsule(loaded.scale))
    return loaded


def scale(x: Any, by: Any = THREE, attributes: dict[str, Any] | None = None, **options: Any) -> Any:
    result = ox.ShapeDtypeStruct(x.shape, "float32")
    return ox.ffi.ffi_call("olympus_test_scale", result, **options)(x, by=by, **attributes or {})


def count(library: ctypes.CDLL) -> int:
    return int(ctypes.c_int64.in_dll(library, "calls").value)


def test_a_call_has_typed_attributes(library: ctypes.CDLL) -> None:
    np.testing.assert_array_equal(scale(X), 3 * X)
    np.testing.assert_array_equal(ox.jit(scale)(X), 3 * X)
    more = {"array": np.array([1, 2], np.float32), "text": "abc", "none": {}}
    np.testing.assert_array_equal(scale(X, attributes=more), 8 * X)
    np.testing.assert_array_equal(ox.jit(lambda x: scale(x, np.float32(2)) + scale(x))(X), 5 * X)
    call = ox.ffi.ffi_call("olympus_test_scale", (ox.ShapeDtypeStruct((2, 3), "float32"),))
    results = call(X, by=THREE)
    assert isinstance(results, tuple)
    np.testing.assert_array_equal(results[0], 3 * X)


def test_layouts_and_aliases_are_in_the_program(library: ctypes.CDLL) -> None:
    options: dict[str, Any] = {
        "input_layouts": [(1, 0)], "output_layouts": (1, 0), "input_output_aliases": {0: 0},
    }  # fmt: skip
    text = ox.jit(lambda x: scale(x, **options)).lower(X).as_text()
    assert "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]" in text
    assert "output_tuple_indices = [], operand_index = 0" in text
    np.testing.assert_array_equal(ox.jit(lambda x: scale(x, **options))(X), 3 * X)
    mapped = ox.jit(ox.vmap(lambda x: scale(x, vmap_method="expand_dims", **options)))
    assert "dense<[1, 2, 0]> : tensor<3xindex>" in mapped.lower(X[None]).as_text()


@pytest.mark.parametrize(
    ("method", "calls"),
    [("sequential", 2), ("sequential_unrolled", 2), ("expand_dims", 1), ("broadcast_all", 1),
     ("legacy_vectorized", 1)],
)  # fmt: skip
def test_a_mapped_call(library: ctypes.CDLL, method: str, calls: int) -> None:
    before = count(library)
    result = ox.jit(ox.vmap(lambda x: scale(x, vmap_method=method)))(X)
    np.testing.assert_array_equal(result, 3 * X)
    assert count(library) - before == calls
    np.testing.assert_array_equal(ox.vmap(lambda x: scale(x, vmap_method=method), 1, 1)(X), 3 * X)


def test_a_call_with_a_side_effect_runs_without_use_of_its_result(library: ctypes.CDLL) -> None:
    for has_side_effect, calls in ((True, 1), (False, 0)):
        before = count(library)

        def unused(x: Any, has_side_effect: bool = has_side_effect) -> Any:
            scale(x, has_side_effect=has_side_effect)
            return x + 1

        ox.jit(unused)(X).block_until_ready()
        assert count(library) - before == calls


def test_a_lowering_rule_of_a_primitive(library: ctypes.CDLL) -> None:
    primitive = olympus.extend.core.Primitive("scaled")
    primitive.def_abstract_eval(lambda x, by: x)
    rule = ox.ffi.ffi_lowering("olympus_test_scale")
    olympus.interpreters.mlir.register_lowering(primitive, rule)
    np.testing.assert_array_equal(ox.jit(lambda x: primitive.bind(x, by=THREE))(X), 3 * X)

    build = ox.ffi.build_ffi_lowering_function(
        "olympus_test_scale", operand_layouts=[(0, 1)], result_layouts=[(0, 1)],
        backend_config={"more": olympus.interpreters.mlir.ir_attribute(np.float32(1))},
    )  # fmt: skip
    olympus.interpreters.mlir.register_lowering(
        primitive, lambda ctx, x, by: build(ctx, x, by=by).results
    )
    np.testing.assert_array_equal(ox.jit(lambda x: primitive.bind(x, by=THREE))(X), 4 * X)


def test_errors() -> None:
    call, result = ox.ffi.ffi_call, ox.ShapeDtypeStruct((2, 3), "float32")
    small = ox.ShapeDtypeStruct((2,), "float32")
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: call("f", result, vmap_method="other"), ValueError, "allowed methods"),
        (lambda: call("f", (3,)), ValueError, "'shape' and 'dtype' attributes"),
        (lambda: call("f", result, legacy_backend_config="x"), ValueError,
         "custom_call_api_version < 4"),
        (lambda: call("f", result, input_layouts=[])(X), ValueError, "number of input arguments"),
        (lambda: call("f", [result], output_layouts=[])(X), ValueError, "number of outputs"),
        (lambda: call("f", result, input_output_aliases={1: 0})(X), ValueError, "input index 1"),
        (lambda: call("f", result, input_output_aliases={0: 1})(X), ValueError, "output index 1"),
        (lambda: call("f", small, input_output_aliases={0: 0})(X), ValueError,
         "different abstract value"),
        (lambda: call("f", result, input_output_aliases={0: 0}, input_layouts=[(1, 0)])(X),
         ValueError, "different layout"),
        (lambda: call("f", result)(X, a=[1]), TypeError, "Non-hashable keyword argument"),
        (lambda: ox.jvp(call("f", result), (X,), (X,)), TransformError, "cannot be differentiated"),
        (lambda: ox.vmap(call("f", small))(X), VmapMethodError, "vmap_method is one of"),
        (lambda: call("olympus_test_absent", result)(X), CompileError, "olympus_test_absent"),
        (lambda: ox.ffi.register_ffi_type_id("t", None), NotImplementedError, "not supported"),
    ]  # fmt: skip
    for use, kind, text in wrong:
        with pytest.raises(kind, match=text):
            use()
