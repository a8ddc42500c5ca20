"""Programs called from C, without Python, by their exported sources."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

import olympus
import olympus.numpy as jnp
from tests.cli.export.c_programs import (
    COMPILERS,
    SANITIZERS,
    WARNINGS,
    build,
    export,
    plugin_path,
    require,
    results,
    run,
    save_bundle,
    saved_arguments,
)

pytest.importorskip("lammps_jax_pjrt_cpu", reason="it has no version for this jaxlib")


def struct(*shape: int, dtype: str = "float32") -> olympus.ShapeDtypeStruct:
    return olympus.ShapeDtypeStruct(shape, dtype)


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a program with a dict among its arguments and its results."""
    folder = tmp_path_factory.mktemp("layer")

    def program(params: dict[str, Any], x: Any) -> dict[str, Any]:
        return {"y": jnp.tanh(x @ params["w"] + params["b"]), "double": x + x}

    params = {"w": struct(3, 4), "b": struct(4)}
    return export(
        save_bundle(folder / "layer.olympus", program, params, struct(2, 3)), folder / "c"
    )


def layer_arrays() -> list[np.ndarray]:
    """The arguments of `layer`: b, w and x."""
    values = np.linspace(-1, 1, 22, dtype=np.float32)
    return [values[:4], values[4:16].reshape(3, 4), values[16:].reshape(2, 3)]


@pytest.mark.parametrize(
    ("compiler", "flags"), [*((name, ("-O2",)) for name in COMPILERS), ("gcc", SANITIZERS)]
)
def test_results_are_numpys(layer: Path, compiler: str, flags: tuple[str, ...]) -> None:
    b, w, x = layer_arrays()
    executable = build(layer, *flags, compiler=compiler)
    for options in ([], ["--keep", "--repeat", "3"]):
        double, y = results(executable, [b, w, x], *options)
        np.testing.assert_allclose(y, np.tanh(x @ w + b), rtol=1e-5)
        np.testing.assert_array_equal(double, x + x)


DTYPES = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"),
    *("bfloat16", "complex64", "float8_e5m2", "float8_e4m3fn", "float8_e4m3b11fnuz"),
]
WIDE = ["int64", "uint64", "float64", "complex128"]


def test_each_dtype(tmp_path: Path) -> None:
    shapes = [(3,), (), (2, 3), (0, 2)]
    names = [*DTYPES, *WIDE]
    kinds = [getattr(ml_dtypes, name, None) or np.dtype(name) for name in names]
    arrays = [
        np.arange(np.prod(shape)).reshape(shape).astype(kind)
        for kind, shape in zip(kinds, shapes * 5, strict=False)
    ]
    with olympus.enable_x64():
        structs = [struct(*x.shape, dtype=n) for n, x in zip(names, arrays, strict=True)]
        bundle = save_bundle(
            tmp_path / "dtypes.olympus", lambda *xs: [x[...] for x in xs], *structs
        )
    folder = export(bundle, tmp_path / "c")
    for array, result in zip(arrays, results(build(folder, *SANITIZERS), arrays), strict=True):
        assert result.shape == array.shape
        assert result.tobytes() == array.tobytes()


def test_a_program_without_arguments_and_one_without_results(tmp_path: Path) -> None:
    folder = export(save_bundle(tmp_path / "main.olympus", lambda: jnp.arange(3)), tmp_path / "a")
    (result,) = results(build(folder), [])
    np.testing.assert_array_equal(result, [0, 1, 2])
    bundle = save_bundle(tmp_path / "none.olympus", lambda x: [], struct(2))
    assert results(build(export(bundle, tmp_path / "b")), [np.ones(2, np.float32)]) == []


def test_names_are_identifiers(tmp_path: Path) -> None:
    def program(tree: dict[str, Any], W: Any, w: Any) -> dict[str, Any]:
        return {"double": W + w, "a-b": tree["a b"] + tree['a"b'], "*/": tree["??/"], "W": w + 1}

    tree = {"a b": struct(2), 'a"b': struct(2), "??/": struct(2)}
    bundle = save_bundle(tmp_path / "1 Ä.x.olympus", program, tree, struct(2), struct(2))
    folder = export(bundle, tmp_path / "c")
    arrays = [np.full(2, i, np.float32) for i in range(5)]
    star, w, a_b, double = (float(x[0]) for x in results(build(folder), arrays))
    by_name = dict(zip(sorted(["??/", "a b", 'a"b']), (0.0, 1.0, 2.0), strict=True))
    assert star == by_name["??/"]
    assert a_b == by_name["a b"] + by_name['a"b']
    assert (w, double) == (5.0, 7.0)


def test_a_donated_argument_is_not_changed(tmp_path: Path) -> None:
    bundle = save_bundle(tmp_path / "f.olympus", lambda x: x + 1, struct(1000), donate_argnums=(0,))
    folder = export(bundle, tmp_path / "c")
    (folder / "twice.c").write_text(
        """
#include "f.h"
#include <stdio.h>
int main(int count, char **words) {
  static _Alignas(64) float x[F_X_COUNT], y[F_RESULT_COUNT];
  f_model *model = NULL;
  olympus_error error;
  f_arguments arguments = {x};
  f_results results = {y};
  if (count != 3 || f_load(words[1], words[2], &model, &error) != OLYMPUS_OK) {
    return puts(error.message), 1;
  }
  for (int i = 0; i < 3; i++) {
    if (f_call(model, &arguments, &results, &error) != OLYMPUS_OK) {
      return puts(error.message), 1;
    }
  }
  if (f_keep(model, &arguments, &error) != OLYMPUS_USAGE) {
    return 1;
  }
  printf("%g %g %s\\n", (double)x[0], (double)y[0], error.message);
  f_free(model);
  return 0;
}
"""
    )
    output = run(build(folder, *SANITIZERS, main="twice.c"), folder / "f.olympus", plugin_path())
    assert output == "0 1 the argument x of f is donated, so that it cannot be kept\n"


def test_portable_linear_algebra(tmp_path: Path) -> None:
    def decompositions(a: Any, b: Any) -> list[Any]:
        la = jnp.linalg
        gram = a @ a.T + 4 * jnp.eye(4)
        values, vectors = la.eigh(gram)
        q, r = la.qr(a)
        u, s, vt = la.svd(a)
        rebuilt = [vectors * values @ vectors.T, q @ r, u * s @ vt, la.cholesky(gram)]
        return [gram, la.solve(a, b), la.det(a), *rebuilt]

    path = tmp_path / "f.olympus"
    bundle = save_bundle(path, decompositions, struct(4, 4), struct(4, 2), linalg="portable")
    values = np.random.default_rng(0).normal(size=24).astype(np.float32)
    a, b = values[:16].reshape(4, 4), values[16:].reshape(4, 2)
    gram, *found = results(build(export(bundle, tmp_path / "c")), [a, b])
    lower = np.linalg.cholesky(gram)
    expected = [np.linalg.solve(a, b), np.linalg.det(a), gram, a, a, lower]
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


def test_threads_call_one_model(layer: Path) -> None:
    (layer / "threads.c").write_text(
        """
#include "layer.h"
#include <pthread.h>
#include <stdio.h>
enum { THREADS = 4, CALLS = 200 };
static layer_model *model;
static float b[LAYER_PARAMS_B_COUNT], w[LAYER_PARAMS_W_COUNT];
static void *work(void *argument) {
  const float value = *(const float *)argument;
  float x[LAYER_X_COUNT], y[LAYER_RESULT_Y_COUNT], both[LAYER_RESULT_DOUBLE_COUNT];
  layer_arguments arguments = {NULL, NULL, x};
  layer_results results = {.result_double = both, .result_y = y};
  for (int i = 0; i < LAYER_X_COUNT; i++) {
    x[i] = value;
  }
  for (int i = 0; i < CALLS; i++) {
    if (layer_call(model, &arguments, &results, NULL) != OLYMPUS_OK || both[0] != 2 * value ||
        both[LAYER_RESULT_DOUBLE_COUNT - 1] != 2 * value) {
      return argument;
    }
  }
  return NULL;
}
int main(int count, char **words) {
  pthread_t threads[THREADS];
  float values[THREADS] = {1, 2, 3, 4}, x[LAYER_X_COUNT] = {0}, y[LAYER_RESULT_Y_COUNT];
  layer_model *other = NULL;
  olympus_error error;
  layer_arguments kept = {b, w, NULL};
  layer_arguments missing = {NULL, w, x};
  layer_results results = {.result_y = y};
  int failed = 0;
  if (count != 3 || layer_load(words[1], words[2], &model, &error) != OLYMPUS_OK ||
      layer_load(words[1], words[2], &other, &error) != OLYMPUS_OK ||
      layer_keep(model, &kept, &error) != OLYMPUS_OK ||
      layer_keep(model, &kept, &error) != OLYMPUS_OK) {
    return puts(error.message), 1;
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_create(&threads[i], NULL, work, &values[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    void *result = NULL;
    pthread_join(threads[i], &result);
    failed |= result != NULL;
  }
  failed |= layer_call(other, &missing, &results, &error) != OLYMPUS_USAGE;
  puts(error.message);
  failed |= layer_call(NULL, &missing, &results, &error) != OLYMPUS_USAGE;
  puts(error.message);
  layer_free(model);
  layer_free(other);
  layer_free(NULL);
  return failed;
}
"""
    )
    executable = build(layer, *SANITIZERS, "-pthread", main="threads.c")
    assert run(executable, layer / "layer.olympus", plugin_path()).splitlines() == [
        "the argument params['b'] of layer is NULL, and is not kept",
        "a call needs a model, arguments and results",
    ]


def test_the_header_is_one_of_cpp(layer: Path) -> None:
    (layer / "main.cpp").write_text(
        """
#include "layer.h"
int main() {
  layer_arguments arguments = {};
  const float *w = arguments.params_w;
  static_assert(LAYER_PARAMS_W_COUNT == LAYER_PARAMS_W_DIM_0 * LAYER_PARAMS_W_DIM_1, "");
  layer_free(nullptr);
  return w != nullptr || layer_program.num_devices != LAYER_NUM_DEVICES;
}
"""
    )
    require("g++")
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only")
    run("g++", *flags, "main.cpp", cwd=layer)


def test_cmake_builds_the_folder(layer: Path, tmp_path: Path) -> None:
    require("gcc", "cmake")
    run("cmake", "-B", tmp_path, "-S", layer)
    run("cmake", "--build", tmp_path)
    b, w, x = layer_arrays()
    files = saved_arguments(tmp_path, [b, w, x])
    executable = tmp_path / "layer"
    assert run(executable, "--signature").splitlines() == [
        "argument params['b']: float32[4]",
        "argument params['w']: float32[3,4]",
        "argument x: float32[2,3]",
        "result result['double']: float32[2,3]",
        "result result['y']: float32[2,4]",
    ]
    output = run(executable, "--plugin", plugin_path(), "--output", tmp_path / "out", *files)
    assert output == "result['double']: float32[2,3]\nresult['y']: float32[2,4]\n"
    np.testing.assert_array_equal(np.load(tmp_path / "out/result_double.npy"), x + x)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3), np.float64), "has another dtype"),
        (np.zeros((2, 3), ">f4"), "has another dtype"),
        (np.zeros((3, 2), np.float32), "has another shape"),
        (np.zeros((2, 30), np.float32), "has another shape"),
        (np.zeros((3, 2), np.float32).T, "is in column-major (Fortran) order"),
        (b"", "is not a .npy file"),
        (b"\x93NUMPY\x01\x00\xff\xff", "is not a .npy file"),
        (None, "No such file or directory"),
    ],
)
def test_wrong_arguments_of_the_command_line(
    layer: Path, tmp_path: Path, array: np.ndarray | bytes | None, message: str
) -> None:
    executable = layer / "layer-gcc-main"
    if not executable.exists():
        build(layer)
    b, w, _ = layer_arrays()
    files = saved_arguments(tmp_path, [b, w])
    wrong = tmp_path / "x.npy"
    if isinstance(array, bytes):
        wrong.write_bytes(array)
    elif array is not None:
        np.save(wrong, array)
    output = run(executable, "--plugin", plugin_path(), *files, wrong, code=2)
    assert output.startswith(f"error: {wrong} for the argument x, which is float32[2,3]: {message}")
    few = run(executable, "--plugin", plugin_path(), *files, code=2)
    assert few.startswith("error: the program takes 3 arguments, and got 2 files:\nargument params")
    assert run(executable, "--unknown", code=2).startswith("usage: layer --plugin")


def test_the_command_exports_a_target_and_replaces_only_its_own(
    project: Path, invoke: Callable[..., Result]
) -> None:
    args = ("export", "model:add", "--shapes", "f32[2], f32[2]", "--format", "c")
    for _ in range(2):
        result = invoke(*args)
        assert result.exit_code == 0, result.stderr
        assert result.stderr.endswith("wrote add-c\n")
    names = {path.name for path in Path("add-c").iterdir()}
    assert names == {
        *("README.md", "CMakeLists.txt", "main.c", "olympus_runtime.c", "olympus_runtime.h"),
        *("add.c", "add.h", "add.olympus"),
    }
    x = np.ones(2, np.float32)
    (result_array,) = results(build(Path("add-c").absolute()), [x, x])
    np.testing.assert_array_equal(result_array, x + x)
    Path("other").mkdir()
    Path("other/file").touch()
    refused = invoke(*args, "--output", "other")
    assert refused.exit_code == 2
    assert "other has files that are not of `olympus export --format c`" in refused.stderr
    again = invoke("export", "add-c/add.olympus", "--format", "c", "--output", "again")
    assert again.exit_code == 0, again.stderr


def test_the_runtime_needs_only_libc_and_libdl(layer: Path) -> None:
    require("gcc")
    run("gcc", *WARNINGS, "-shared", "-fPIC", "olympus_runtime.c", "-o", "rt.so", cwd=layer)
    undefined = subprocess.run(
        ["ldd", layer / "rt.so"], capture_output=True, text=True, check=True
    ).stdout
    libraries = {line.split()[0].split("/")[-1].split(".")[0] for line in undefined.splitlines()}
    assert libraries <= {"linux-vdso", "libc", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}
