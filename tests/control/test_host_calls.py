"""Python functions that running programs call: pure ones, ones with effects, and prints."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus import debug, lax
from olympus.experimental import io_callback

SCALAR = ox.ShapeDtypeStruct((), "float32")
Show = Callable[[Any], Any]


def sine(x: Any) -> Any:
    return ox.pure_callback(
        lambda a: np.sin(np.asarray(a)), ox.ShapeDtypeStruct(np.shape(x), "float32"), x
    )


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    ox.effects_barrier()
    return capfd.readouterr().out.splitlines()


@pytest.mark.parametrize("wrap", [lambda f: f, ox.jit], ids=["eager", "compiled"])
def test_a_pure_function_has_arrays_and_returns_a_tree(wrap: Callable[..., Any]) -> None:
    seen: list[Any] = []

    def split(tree: dict[str, Any], *, scale: Any) -> tuple[Any, dict[str, Any]]:
        seen.append((type(tree["x"]), tree["x"].dtype, float(scale)))
        return np.asarray(tree["x"]) * float(scale), {"n": np.int32(len(tree["x"]))}

    types = (ox.ShapeDtypeStruct((3,), "float32"), {"n": ox.ShapeDtypeStruct((), "int32")})
    call = wrap(lambda x: ox.pure_callback(split, types, {"x": x}, scale=np.float32(2)))
    doubled, counts = call(np.arange(3, dtype=np.float32))
    assert doubled.tolist() == [0, 2, 4]
    assert counts["n"] == 3
    (kind, dtype, scale) = seen[-1]
    assert issubclass(kind, ox.Array)
    assert (dtype, scale) == (np.float32, 2.0)


def test_an_unused_pure_call_is_left_out_and_equal_calls_are_one() -> None:
    calls: list[None] = []

    def count(x: Any) -> Any:
        calls.append(None)
        return np.asarray(x)

    @ox.jit
    def f(x: Any) -> Any:
        ox.pure_callback(count, SCALAR, x + 1)
        return ox.pure_callback(count, SCALAR, x) + ox.pure_callback(count, SCALAR, x)

    assert f(1.0) == 2.0
    assert len(calls) == 1


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
def test_vmap_of_a_pure_call_is_that_of_jax(method: str) -> None:
    def run(package: Any) -> tuple[Any, list[Any]]:
        shapes: list[Any] = []

        def add(x: Any, y: Any) -> Any:
            shapes.append((np.shape(x), np.shape(y)))
            return np.asarray(x) + np.asarray(y)

        def f(x: Any, y: Any) -> Any:
            kind = package.ShapeDtypeStruct((), np.float32)
            return package.pure_callback(add, kind, x, y, vmap_method=method)

        mapped = package.vmap(f, in_axes=(0, None))
        out = package.jit(mapped)(np.arange(3, dtype=np.float32), np.float32(1))
        return np.asarray(out), shapes

    ours, theirs = run(ox), run(jax)
    assert ours[0].tolist() == theirs[0].tolist() == [1, 2, 3]
    assert ours[1] == theirs[1]


def test_pure_calls_that_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="vmap is only supported for the pure_callback"):
        ox.vmap(sine)(np.ones(2))
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        ox.grad(sine)(1.0)
    with pytest.raises(ValueError, match="vmap_method must be one of the allowed methods"):
        ox.pure_callback(np.sin, SCALAR, 1.0, vmap_method="each")
    with pytest.raises(ValueError, match="Invalid type for pure_callback"):
        ox.pure_callback(np.sin, 3, 1.0)
    with pytest.raises(ValueError, match="cannot specify 64-bit types"):
        ox.pure_callback(np.sin, ox.ShapeDtypeStruct((), "float64"), 1.0)
    with pytest.raises(TypeError, match="passes arrays to its function"):
        ox.pure_callback(print, SCALAR, "text")


@pytest.mark.parametrize("wrap", [lambda f: f, ox.jit], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: {}["absent"], "KeyError: 'absent'"),
        (
            lambda x: np.ones(3, np.float32),
            r"Incorrect output shape for return value #0: Expected: \(\)",
        ),
        (lambda x: np.int32(1), "Incorrect output dtype for return value #0: Expected: float32"),
        (lambda x: (x, x), "Mismatched number of outputs from callback. Expected: 1, Actual: 2"),
    ],
    ids=["raises", "shape", "dtype", "count"],
)
def test_a_function_that_fails(
    wrap: Callable[..., Any], function: Callable[..., Any], text: str
) -> None:
    call = wrap(lambda x: ox.pure_callback(function, SCALAR, x))
    with pytest.raises(ox.errors.CallbackError, match=text) as caught:
        call(1.0).block_until_ready()
    assert "CpuCallback error calling callback: Traceback" in str(caught.value)
    assert isinstance(caught.value, ox.errors.JaxRuntimeError)


def test_an_error_in_a_call_without_results_is_that_of_the_barrier() -> None:
    def fail(x: Any) -> None:
        raise ValueError("no")

    with pytest.raises(ox.errors.CallbackError, match="ValueError: no"):
        ox.jit(lambda x: debug.callback(fail, x))(1.0)
        ox.effects_barrier()
    ox.effects_barrier()  # the error was reported


def test_io_calls_are_neither_removed_nor_merged() -> None:
    calls: list[float] = []

    def record(x: Any) -> np.float32:
        calls.append(float(x))
        return np.float32(len(calls))

    @ox.jit
    def f(x: Any) -> Any:
        io_callback(record, SCALAR, x)
        return io_callback(record, SCALAR, x) + io_callback(record, SCALAR, x)

    f(3.0).block_until_ready()
    ox.effects_barrier()
    assert calls == [3.0] * 3
    calls.clear()
    ox.vmap(partial(io_callback, record, SCALAR))(np.arange(3, dtype=np.float32))
    ox.effects_barrier()
    assert calls == [0.0, 1.0, 2.0]


def test_io_calls_that_are_refused() -> None:
    def record(x: Any) -> np.float32:
        return np.float32(0)

    def ordered(x: Any) -> Any:
        return io_callback(record, SCALAR, x, ordered=True)

    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        ox.vmap(ordered)(np.ones(2))
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        ox.grad(ordered)(1.0)
    unordered = partial(io_callback, record, SCALAR)
    with pytest.raises(NotImplementedError, match="IO effect not supported in vmap-of-cond"):
        ox.vmap(lambda x: lax.cond(x > 0, unordered, lambda x: x, x))(np.ones(2, np.float32))
    with pytest.raises(ValueError, match="Unordered IO effects not supported in while_loops"):
        ox.vmap(lambda x: lax.while_loop(lambda c: c < 1, unordered, x))(np.ones(2, np.float32))


def test_an_eager_debug_callback_raises_the_error_of_its_function() -> None:
    def fail(x: Any) -> None:
        raise KeyError("absent")

    for package in (ox, jax):
        with pytest.raises(KeyError, match="absent"):
            package.debug.callback(fail, 1.0)


def test_a_mapped_debug_print_gets_scalars_that_are_not_mapped(capsys: Any) -> None:
    def shown(package: Any) -> str:
        def show(x: Any, y: Any) -> None:
            package.debug.print("{} {}", x, y)

        package.vmap(show, in_axes=(0, None))(np.arange(2.0), 1.5)
        package.effects_barrier()
        return str(capsys.readouterr().out)

    assert shown(ox) == shown(jax) == "0.0 1.5\n1.0 1.5\n"


def counted(lax: Any, show: Show, x: Any) -> Any:
    return lax.while_loop(lambda c: c < 3, lambda c: show(c) or c + 1, x[0])


def shown_test(lax: Any, show: Show, x: Any) -> Any:
    def body(c: Any) -> Any:
        return show(10 + c) or c + 1

    return lax.while_loop(lambda c: (show(c), c < 3)[1], body, x[0])


def shown_test_alone(lax: Any, show: Show, x: Any) -> Any:
    return lax.while_loop(lambda c: (show(c), c < 3)[1], lambda c: c + 1, x[0])


def nested(lax: Any, show: Show, x: Any) -> Any:
    def body(c: Any, y: Any) -> Any:
        return lax.fori_loop(0, 2, lambda i, c: show(c) or c + 1, c), y

    return lax.scan(body, 0, x)[0]


ORDERED: dict[str, Callable[[Any, Show, Any], Any]] = {
    "scan": lambda lax, show, x: lax.scan(lambda c, y: (show(c) or c + y, y), 0.0, x)[0],
    "fori": lambda lax, show, x: lax.fori_loop(0, 3, lambda i, c: show(i) or c + i, 0),
    "while": counted,
    "condition": shown_test,
    "condition alone": shown_test_alone,
    "cond": lambda lax, show, x: lax.cond(x[1] > 0, lambda x: show(x[1]) or x, lambda x: x, x),
    "switch": lambda lax, show, x: lax.switch(1, [lambda x: x, lambda x: show(x[2]) or x], x),
    "nested": nested,
}


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("is_jitted", [False, True], ids=["eager", "compiled"])
def test_ordered_prints_are_those_of_jax(
    name: str, is_jitted: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    def lines(package: Any) -> list[str]:
        def program(x: Any) -> Any:
            show = partial(package.debug.print, "{}", ordered=True)
            x = package.jit(lambda x: show(x[1]) or x)(x)
            out = ORDERED[name](package.lax, show, x)
            package.checkpoint(lambda x: show(x[2]) or x)(x)
            return out

        call = package.jit(program) if is_jitted else program
        call(package.numpy.arange(3, dtype=np.float32))
        package.effects_barrier()
        return capfd.readouterr().out.splitlines()

    ours, theirs = lines(ox), lines(jax)
    assert ours == theirs
    assert len(ours) >= 3


def test_prints_under_transformations(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        debug.print("x is {x}", x=x)
        return ox.numpy.sin(x)

    ox.grad(f)(1.0)
    assert printed(capfd) == ["x is 1.0"]
    ox.jit(ox.grad(f))(2.0)
    assert printed(capfd) == ["x is 2.0"]
    ox.vmap(f)(np.arange(2.0, dtype=np.float32))
    assert printed(capfd) == ["x is 0.0", "x is 1.0"]
    ox.jvp(f, (3.0,), (1.0,))
    assert printed(capfd) == ["x is 3.0"]
    ox.jit(ox.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]))(0.0)
    assert printed(capfd) == ["x is 0.0", "x is 0.0"]


def test_formats_of_prints(capfd: pytest.CaptureFixture[str], caplog: Any) -> None:
    debug.print("{} and {b:.2f}", np.arange(2), b=1.5)
    debug.print("no field")
    debug.print("with a value:", 3, skip_format_check=True)
    debug.print(ordered=True)("{x}", x=ox.numpy.ones(2))
    debug.print("{}", "a text")
    ox.jit(lambda x: debug.print("{} {}", x, "a text"))(1)
    assert printed(capfd) == [
        "[0 1] and 1.50",
        "no field",
        "with a value: 3",
        "[1. 1.]",
        "a text",
        "1 a text",
    ]
    with caplog.at_level(logging.INFO, logger="olympus"):
        debug.log("x is {}", 3)
    assert caplog.messages == ["x is 3"]
    assert caplog.records[0].pathname == __file__


def test_formats_that_are_refused() -> None:
    with pytest.raises(ValueError, match="Unused positional arguments to"):
        debug.print("x", 1)
    with pytest.raises(ValueError, match="passing an f-string"):
        debug.print("x", x=1)
    with pytest.raises(IndexError):
        debug.print("{} {}", 1)
    with pytest.raises(KeyError):
        debug.print("{x}")
    with pytest.raises(TypeError, match="two-call form"):
        debug.print(x=1)
    with pytest.raises(TypeError, match="must be callable"):
        debug.callback("text")


def test_a_debug_function_gets_values_that_are_no_arrays() -> None:
    seen: list[Any] = []
    debug.callback(lambda x, name, *, end: seen.append((float(x), name, end)), 1.0, "a", end="b")
    debug.callback(ordered=True)(seen.append, 3)
    ox.effects_barrier()
    assert seen == [(1.0, "a", "b"), 3]


def test_a_function_may_run_programs() -> None:
    def inner(x: Any) -> Any:
        debug.print("{}", x, ordered=True)
        return ox.jit(lambda y: ox.numpy.sin(y))(x)

    out = ox.jit(lambda x: io_callback(inner, SCALAR, x, ordered=True))(0.5)
    assert np.allclose(out, np.sin(0.5))


WAITING = """
import olympus as ox
from olympus import debug, lax
from olympus_core.xla.runtime import host_calls

host_calls._MANY = 1
inner = ox.jit(lambda y: debug.callback(lambda z: None, y))
outer = ox.jit(lambda x: debug.callback(inner, x))
inner(1.0), outer(1.0), ox.effects_barrier()
slow = ox.jit(lambda a: lax.fori_loop(0, 30, lambda i, c: ox.numpy.tanh(c @ c), a).sum())
x = slow(ox.numpy.ones((700, 700)))  # it is still computed while the programs start
outer(x), outer(x), ox.effects_barrier()
print("ended")
"""


def test_a_program_that_waits_for_older_ones_does_not_stop_their_functions() -> None:
    command = [sys.executable, "-c", WAITING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "ended\n"


def test_lowered_programs() -> None:
    lowered = ox.jit(sine).lower(np.ones(2, np.float32))
    assert lowered.as_text().count("@xla_ffi_python_cpu_callback") == 1
    assert "index = 0 : ui64" in lowered.as_text()
    assert np.allclose(lowered.compile()(np.ones(2, np.float32)), np.sin(1))
    for_gpu = ox.jit(sine).trace(np.ones(2)).lower(ox.target("gpu", "h200"))
    assert "@xla_ffi_python_gpu_callback" in for_gpu.as_text()
    with pytest.raises(ox.errors.LoweringError, match="for tpu cannot call Python"):
        ox.jit(sine).trace(np.ones(2)).lower(lowering_platforms=("tpu",))


def test_two_functions_of_one_name_are_two() -> None:
    def add(n: int) -> Callable[..., Any]:
        return lambda x: np.float32(x + n)

    @ox.jit
    def f(x: Any) -> Any:
        one = ox.jit(lambda x: ox.pure_callback(add(1), SCALAR, x))
        two = ox.jit(lambda x: ox.pure_callback(add(2), SCALAR, x))
        return one(x), two(x)

    assert [float(x) for x in f(0.0)] == [1.0, 2.0]


def test_several_devices_call_once_and_each_device_in_shard_map(
    capfd: pytest.CaptureFixture[str],
) -> None:
    mesh = ox.make_mesh((2,), ("i",), ox.sharding.AxisType.Auto)
    rows = ox.NamedSharding(mesh, ox.P("i"))
    x = ox.device_put(np.arange(4, dtype=np.float32), rows)
    shapes: list[Any] = []

    def double(x: Any) -> Any:
        shapes.append(np.shape(x))
        return np.asarray(x) * 2

    whole = ox.jit(lambda x: ox.pure_callback(double, ox.ShapeDtypeStruct((4,), "float32"), x))
    assert np.asarray(whole(x)).tolist() == [0, 2, 4, 6]
    assert shapes == [(4,)]
    shapes.clear()

    def part(x: Any) -> Any:
        return ox.pure_callback(double, ox.ShapeDtypeStruct((2,), "float32"), x)

    mapped = ox.jit(ox.shard_map(part, mesh=mesh, in_specs=ox.P("i"), out_specs=ox.P("i")))
    assert np.asarray(mapped(x)).tolist() == [0, 2, 4, 6]
    assert shapes == [(2,), (2,)]
    ox.jit(lambda x: debug.print("{}", x))(x)
    assert printed(capfd) == ["[0. 1. 2. 3.]"]
    with pytest.raises(ox.errors.ArgumentError, match="not supported for more than 1 device"):
        ox.jit(lambda x: debug.print("{}", x, ordered=True))(x)
