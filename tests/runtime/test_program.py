"""A program that the small runtime loads computes the same results as the compiler's own."""

from __future__ import annotations

import collections
import mmap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus_runtime
from olympus import artifact, lax
from olympus_bundle.bundle_file import read_bundle
from tests.artifact.bundles import mlp, python, save, struct

X = np.arange(6, dtype="float32").reshape(2, 3)
ARGS = ({"w": X / 10, "b": X - 2}, X + 1)
Point = collections.namedtuple("Point", "x y")


def check(program: olympus_runtime.Program) -> None:
    result, expected = program(*ARGS, scale=3.0), mlp(*ARGS, scale=3.0)
    np.testing.assert_allclose(result["out"], expected["out"], rtol=1e-6)
    (hidden, (x,)), (expected_hidden, _) = result["parts"], expected["parts"]
    np.testing.assert_allclose(hidden, expected_hidden, rtol=1e-6)
    np.testing.assert_array_equal(x, ARGS[1])
    assert type(result["parts"]) is tuple and type(result["out"]) is np.ndarray


def test_a_bundle_is_loaded_and_called(bundle: Path) -> None:
    program = olympus_runtime.load(bundle)
    check(program)
    assert program.executable == program.executables[0] and program.backend == "cpu"
    assert [argument.name for argument in program.signature.arguments][:2] == [
        "params['b']",
        "params['w']",
    ]
    assert repr(program) == f"<program 'mlp' of {bundle} on the cpu>"


def test_a_result_does_not_change_with_the_argument(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda x: (x, x)).trace(struct(1024)))
    value = np.zeros(1024 + 16, "float32")
    start = -value.ctypes.data % 64 // 4
    aligned = value[start : start + 1024]  # it is passed without a copy
    results = olympus_runtime.load(path)(aligned)
    aligned[:] = 1
    assert not any(result.any() for result in results)
    assert not results[0].flags.writeable


def test_an_argument_may_have_any_strides(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda x: lax.mul(x, 2.0)).trace(struct(4, 3)))
    program, value = olympus_runtime.load(path), np.arange(24, dtype="float32").reshape(3, 8)
    for x in (value[:, ::2].T, value[:, :4].T[::-1], value[:, :4].T.astype(">f4")):
        np.testing.assert_array_equal(program(x), 2 * x)


def test_a_call_waits_for_its_result(tmp_path: Path) -> None:
    """jaxlib returns before a long program has run, also if it needs little memory."""

    def total(n: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, s: lax.bitwise_xor(lax.mul(s, 5), i), 1)

    path = save(tmp_path / "f.olympus", olympus.jit(total).trace(struct(dtype="int32")))
    program, count = olympus_runtime.load(path), np.int32(5_000_000)
    first = program(count)  # this one waits in Python
    assert [program(count) for _ in range(5)] == [first] * 5
    assert program(np.int32(2)) == 5 * 5 ^ 1


def test_a_donated_argument_is_not_changed(tmp_path: Path) -> None:
    traced = olympus.jit(lax.add, donate_argnums=0).trace(struct(4096), struct(4096))
    program = olympus_runtime.load(save(tmp_path / "f.olympus", traced))
    x = np.ones(4096, "float32")
    for _ in range(3):
        np.testing.assert_array_equal(program(x, x), np.full(4096, 2))
    assert (x == 1).all()


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "int4", "bool", "complex64", "float16", "uint8"]
)
def test_arrays_of_a_dtype_are_passed_and_returned(tmp_path: Path, dtype: str) -> None:
    traced = olympus.jit(lambda x: [x]).trace(struct(4, dtype=dtype))
    value = np.array([0, 1, 1, 0]).astype(struct(dtype=dtype).dtype)
    (same,) = olympus_runtime.load(save(tmp_path / "f.olympus", traced))(value)
    assert same.dtype == value.dtype
    np.testing.assert_array_equal(same, value)


def test_numbers_are_arguments(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda x, y: (lax.mul(x, 2), y)).trace(1, 2.0))
    program = olympus_runtime.load(path)
    assert program(3, 4.0) == (6, 4.0)
    assert program(np.int64(3), y=np.float64(4)) == (6, 4.0)  # narrowed, as olympus does
    for wrong in ((3.0, 4.0), (3, 4), (2**40, 4.0)):
        with pytest.raises(TypeError):
            program(*wrong)


def test_a_program_in_float64_is_called(tmp_path: Path) -> None:
    with olympus.enable_x64():
        traced = olympus.jit(lambda x: lax.mul(x, 2.0)).trace(struct(2, dtype="float64"))
        path = save(tmp_path / "f.olympus", traced)
    result = olympus_runtime.load(path)(np.array([1e-300, 1.0]))
    np.testing.assert_array_equal(result, [2e-300, 2.0])


def test_containers_are_rebuilt(tmp_path: Path) -> None:
    traced = olympus.jit(lambda p: [Point(p.y, None), {"k": p.x}]).trace(
        Point(struct(1), struct(2))
    )
    loaded = olympus_runtime.load(save(tmp_path / "f.olympus", traced))
    point, parts = loaded((np.zeros(1, "f4"), np.ones(2, "f4")))
    assert isinstance(point, Point) and point.x.shape == (2,) and parts["k"].shape == (1,)


def test_random_keys_are_their_words(tmp_path: Path) -> None:
    key = olympus.random.key(7)
    traced = olympus.jit(lambda k: (k, olympus.random.normal(k, (3,)))).trace(key)
    program = olympus_runtime.load(save(tmp_path / "f.olympus", traced))
    words, drawn = program(np.asarray(olympus.random.key_data(key)))
    assert words.dtype == "uint32" and words.shape == (2,)
    np.testing.assert_allclose(drawn, olympus.random.normal(key, (3,)), rtol=1e-6)


def test_a_program_with_lapack_is_called(tmp_path: Path) -> None:
    path = save(
        tmp_path / "f.olympus", olympus.jit(olympus.numpy.linalg.cholesky).trace(struct(2, 2))
    )
    python(
        "import numpy as np, olympus_runtime\n"
        "x = np.array([[4, 0], [0, 9]], 'float32')\n"
        "np.testing.assert_allclose(olympus_runtime.load('f.olympus')(x), x ** 0.5)\n",
        path.parent,
    )


def test_members_are_mapped_and_not_copied(bundle: Path) -> None:
    file = read_bundle(bundle)
    assert {*file.members} == {*file.manifest.members}
    assert all(isinstance(view.obj, mmap.mmap) for view in file.members.views.values())
    assert file.members["program.olympuspr"].startswith(b"{ lambda")


def test_threads_call_one_program(bundle: Path) -> None:
    """Each thread gets the result for its own arguments."""
    program = olympus_runtime.load(bundle)
    failures: list[Any] = []

    def call(number: int) -> None:
        x = np.full((2, 3), number, "float32")
        expected = np.tanh(x / 8 * x + 1)
        for _ in range(50):
            result = program({"w": x / 8, "b": np.ones_like(x)}, x, scale=1.0)
            if not np.allclose(result["out"], expected, rtol=1e-5):
                failures.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_it_needs_numpy_and_jaxlib_only(bundle: Path) -> None:
    """And not the MLIR bindings, SciPy, or a runtime of its own beside that of olympus."""
    output = python(
        "import sys, numpy as np, olympus_runtime\n"
        "program = olympus_runtime.load('mlp.olympus')\n"
        "x = np.ones((2, 3), 'float32')\n"
        "program({'w': x, 'b': x}, x, scale=1.0)\n"
        "tops = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(tops & {'olympus', 'olympus_core', 'jax', 'scipy', 'rich', 'click'}))\n"
        "print([name for name in sys.modules if name.startswith('jaxlib.mlir')])\n",
        bundle.parent,
    )
    assert output.split() == ["[]", "[]"]


@pytest.mark.parametrize("first", ["jax", "olympus_runtime"])
def test_jax_in_the_process_changes_nothing(bundle: Path, first: str) -> None:
    second = {"jax": "olympus_runtime", "olympus_runtime": "jax"}[first]
    output = python(
        f"import {first}, {second}\n"
        "import jax.numpy as jnp, numpy as np\n"
        "y = jnp.ones((2, 3)) * 2\n"
        "program = olympus_runtime.load('mlp.olympus')\n"
        "result = program({'w': y, 'b': y}, y, scale=1.0)['out']\n"
        "print(type(result).__name__, float(jnp.abs(result - jnp.tanh(y * y + y)).max()) < 1e-6)\n",
        bundle.parent,
        JAX_PLATFORMS="cpu",
    )
    assert output == "ndarray True\n"


def test_both_loaders_share_the_runtime(bundle: Path) -> None:
    check(olympus_runtime.load(bundle))
    artifact.load(bundle).compiled(recompile=False)
    from olympus_core.xla.runtime.cpu import cpu_client
    from olympus_runtime.cpu import cpu_client as same_client

    assert cpu_client() is same_client()


def test_later_calls_accept_and_refuse_the_same_arguments(tmp_path: Path) -> None:
    """jaxlib makes the later calls with arguments of a known kind, without a check of OLYMPUS."""
    traced = olympus.jit(lambda x, n: lax.mul(x, lax.convert_element_type(n, "float32"))).trace(
        struct(3), struct(dtype="int32")
    )
    program, x = olympus_runtime.load(save(tmp_path / "f.olympus", traced)), np.arange(3.0)
    single = x.astype("float32")
    for _ in range(3):
        for value, n in (
            (single, np.int32(2)),
            (single, 2),
            (x, np.int64(2)),
            (single.astype(">f4"), np.array(2, "int32")),
            (np.asfortranarray(np.stack([single] * 2))[0], np.int32(2)),
        ):
            np.testing.assert_array_equal(program(value, n), [0, 2, 4])
        for wrong in ((single[:2], 2), (single, 2.5), (single, np.int16(2)), (single,), (None, 2)):
            with pytest.raises(TypeError):
                program(*wrong)


def test_the_switches_of_jax_change_no_call(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda x: lax.mul(x, 2.0)).trace(struct(2)))
    source = f"""
import numpy as np
import olympus_runtime
program = olympus_runtime.load({str(path)!r})
x = np.ones(2)
shown = [program(x), program(x.astype("float32"))]
import jax
for name in ("jax_enable_x64", "jax_disable_jit"):
    jax.config.update(name, True)
    shown += [program(x), program(x.astype("float32")), jax.jit(lambda y: y + 1)(x)]
print(*[f"{{v.dtype}} {{v[0]:g}}" for v in shown], sep=", ")
"""
    jax_results = ["float32 2", "float32 2", "float64 2"] * 2
    assert python(source, tmp_path) == ", ".join(["float32 2"] * 2 + jax_results) + "\n"


def test_another_jaxlib_runs_the_program_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise TypeError("another version")

    monkeypatch.setattr("olympus_runtime.executable.dispatched", refuse)
    traced = olympus.jit(lambda x: (lax.mul(x, 2.0), x)).trace(struct(2))
    program = olympus_runtime.load(save(tmp_path / "f.olympus", traced))
    for _ in range(2):
        np.testing.assert_array_equal(program(np.ones(2, "float32"))[0], [2, 2])
