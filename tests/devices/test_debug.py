"""`olympus.debug` draws and reports the shardings of arrays as JAX does."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import assume, given

import olympus
import olympus.numpy as jnp
from olympus import debug
from olympus.errors import ArgumentError, DTypeError, ShardingError
from olympus.experimental.pjit import pjit
from olympus.sharding import AbstractMesh, NamedSharding, SingleDeviceSharding
from tests.devices.inspection_programs import P
from tests.devices.meshes import Drawn, both, drawn, ours, theirs
from tests.drawn import examples
from tests.marks import needs_gpu_compiler

WIDE = 80


def drawing(module: Any, shape: tuple[int, ...], sharding: Any, **options: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as text:
        module.debug.visualize_sharding(shape, sharding, use_color=False, **options)
    return text.getvalue()


@given(drawn())
@examples(30)
def test_the_drawing_is_that_of_jax(case: Drawn) -> None:
    assume(len(case.shape) in (1, 2))
    shape = tuple(5 * n for n in case.shape)
    mine = drawing(olympus, shape, ours(case.sizes, case.names, case.spec, case.is_reversed))
    oracle = drawing(jax, shape, theirs(case.sizes, case.names, case.spec, case.is_reversed))
    assume(len(oracle.partition("\n")[0]) < WIDE)  # JAX cuts labels if the width is full
    assert mine == oracle


@pytest.mark.parametrize(
    "options", [{"scale": 0.3}, {"scale": 2.5}, {"min_width": 3}, {"min_width": 15}]
)
def test_the_options_have_the_effects_of_jax(options: dict[str, Any]) -> None:
    for spec in [("x", "y"), ("y",), ()]:
        mine, oracle = both(*spec)
        assert drawing(olympus, (8, 8), mine, **options) == drawing(jax, (8, 8), oracle, **options)


def test_a_drawing_fits_the_width_and_has_every_device() -> None:
    for spec, shape in [((None, "x"), (4, 640)), ((), (4, 4)), (("x",), (8,))]:
        text = drawing(olympus, shape, both(*spec)[0], max_width=20)
        assert max(map(len, text.splitlines())) <= 20
        assert all(str(device) in text for device in range(8))


def test_an_array_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    debug.visualize_array_sharding(olympus.device_put(jnp.zeros((8, 8)), both("x", "y")[0]))
    assert capsys.readouterr().out == drawing(jax, (8, 8), both("x", "y")[1])
    debug.visualize_array_sharding(jnp.ones(4))
    assert "CPU 0" in capsys.readouterr().out


def test_a_drawing_is_ascii_on_an_ascii_terminal() -> None:
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, encoding="ascii")) as out:
        debug.visualize_sharding((8,), both("x")[0])
        out.flush()
    assert raw.getvalue().decode() == (
        "+-----------+-----------+\n|CPU 0,1,2,3|CPU 4,5,6,7|\n+-----------+-----------+\n"
    )


def test_the_shardings_of_a_tree_are_inspected() -> None:
    shardings: list[Any] = []
    sharding = both("x")[0]
    tree = {"a": olympus.device_put(np.ones(8), sharding), "b": jnp.ones(3)}
    debug.inspect_array_sharding(tree, callback=shardings.append)
    assert shardings == [sharding, SingleDeviceSharding(olympus.devices()[0])]


def test_wrong_arguments_of_debug_functions_are_refused() -> None:
    with pytest.raises(ArgumentError, match="needs an array, and got array"):
        debug.visualize_array_sharding(np.ones(3))
    with pytest.raises(ArgumentError, match="calls its callback with a sharding, and got None"):
        debug.inspect_array_sharding(jnp.ones(3), callback=None)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="inspect_array_sharding requires ndarray"):
        olympus.jit(lambda x: debug.inspect_array_sharding("a", callback=print))(1.0)
    sharding = both("x")[0]
    for shape in [(2, 2, 2), (), (0,)]:
        with pytest.raises(ArgumentError, match="1 and 2 dimensions"):
            debug.visualize_sharding(shape, sharding)
    with pytest.raises(ShardingError, match="7 elements"):
        debug.visualize_sharding((7,), sharding)
    with pytest.raises(ShardingError, match="has no devices"):
        debug.visualize_sharding((8,), NamedSharding(AbstractMesh((2,), ("x",)), P("x")))
    with pytest.raises(ArgumentError, match="colours"):
        debug.visualize_sharding((8,), sharding, use_color=True)
    for options in [{"scale": 0}, {"scale": float("nan")}, {"scale": 1e9}, {"max_width": 0}]:
        with pytest.raises(ArgumentError, match="needs a scale above 0"):
            drawing(olympus, (8,), sharding, **options)
    with pytest.raises(ArgumentError, match="needs a sharding"):
        debug.visualize_sharding((8,), P("x"))  # type: ignore[arg-type]


def test_pjit_takes_a_sharding() -> None:
    sharding, _ = both("x")
    compiled = pjit(lambda x: 2 * x, in_shardings=sharding).lower(jnp.ones(8)).compile()
    np.testing.assert_array_equal(compiled(jnp.ones(8)), np.full(8, 2.0))


def test_inspections_in_eager_transformations_are_eager() -> None:
    shardings: list[Any] = []

    def f(x: Any) -> Any:
        debug.inspect_array_sharding({"x": x, "y": 2.0}, callback=shardings.append)
        return x * x

    sharding = both("x")[0]
    on_default_device = SingleDeviceSharding(olympus.devices()[0])
    for run in (olympus.grad(lambda x: f(x).sum()), olympus.vmap(f)):
        shardings.clear()
        run(olympus.device_put(np.ones(8), sharding))
        run(np.ones(8))  # NumPy arrays are put on the default device
        assert shardings == [sharding, on_default_device, on_default_device, on_default_device]


def test_a_traced_array_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        debug.visualize_array_sharding(x.T, scale=0.5)
        return olympus.vmap(lambda row: (debug.visualize_array_sharding(row), row)[1])(x)

    olympus.jit(f)(olympus.device_put(np.ones((8, 16)), both("x", "y")[0]))
    drawn = [
        drawing(jax, (16, 8), both("y", "x")[1], scale=0.5),
        drawing(jax, (8, 16), both("x", "y")[1]),
    ]
    assert capsys.readouterr().out in ("".join(drawn), "".join(drawn[::-1]))


@needs_gpu_compiler
def test_gpus_that_are_not_attached_are_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    mesh = AbstractMesh((2, 4), ("x", "y"))

    def f(x: Any) -> Any:
        debug.visualize_array_sharding(2 * x)
        return x

    for spec, target in ((P("x", "y"), "8xh200"), (None, "h200")):
        sharding = None if spec is None else NamedSharding(mesh, spec)
        traced = olympus.jit(f, in_shardings=sharding).trace(np.ones((8, 8), np.float32))
        traced.lower(olympus.target("gpu", target)).compile()
    first, second = capsys.readouterr().out.split("┘\n┌")
    assert all(f"GPU {i}" in first for i in range(8))
    assert "GPU 0" in second
