"""Partitioned functions in programs for absent devices, in bundles and in threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
from olympus import artifact
from olympus.errors import (
    ArgumentError,
    BackendError,
    CompileError,
    LoweringError,
    UndefinedRuleError,
    UnexpectedTracerError,
    UsageError,
)
from olympus.experimental.custom_partitioning import custom_partitioning
from olympus.sharding import AbstractMesh, AxisType, NamedSharding
from olympus_core import xla
from olympus_core.control.code_digest import code_digest
from olympus_core.xla.runtime import partitioners
from tests.devices.device_programs import host, named
from tests.devices.partitioning_programs import doubled
from tests.devices.test_explicit_shardings import OURS
from tests.marks import needs_gpu_compiler, needs_tpu_compiler

P = OURS.P


def lowered(target: olympus.Target | None = None, factor: int = 2) -> Any:
    mesh = AbstractMesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    x = olympus.ShapeDtypeStruct((8, 8), "float32", sharding=NamedSharding(mesh, P("x", "y")))
    return olympus.jit(doubled(OURS, factor=factor)).trace(x).lower(target)


def placed() -> Any:
    return olympus.device_put(host(8, 8), named(OURS, "x", "y"))


@needs_gpu_compiler
def test_absent_gpus_are_partitioned() -> None:
    compiled = lowered(xla.target("gpu", "h200")).compile()
    assert compiled.memory().arguments == 8 * 8 * 4 // 8
    assert "custom-call" not in compiled.as_text()


@needs_tpu_compiler
def test_the_compiler_of_tpus_is_refused_with_its_reason() -> None:
    with pytest.raises(BackendError, match="tpu calls no Python function to partition"):
        lowered(xla.target("tpu", "8xv5e")).compile()


def test_a_bundle_needs_no_function_for_its_executable(tmp_path: Path) -> None:
    program = olympus.jit(doubled(OURS)).lower(placed())
    text = program.olympuspr_text()
    path = tmp_path / "f.olympus"
    artifact.save(
        path, program.compile(), lowered=program, olympuspr_text=text, name="f", entry="m:f"
    )
    assert artifact.load(path).compiled()(placed()).tolist() == (2 * host(8, 8)).tolist()
    with pytest.raises(UsageError, match="and was read without them"):
        xla.compile(program.bytecode(), xla.Target("cpu"), grid=olympus.devices())


def test_the_program_is_the_same_for_each_lowering() -> None:
    assert lowered().as_text() == lowered().as_text() == lowered(factor=3).as_text()
    # its executable is not
    assert lowered().partitioners == lowered().partitioners != lowered(factor=3).partitioners
    assert lowered().cost().flops == 64
    assert not partitioners._bindings


FACTOR = 2


def scaled(x: Any) -> Any:
    return FACTOR * x


def by_global(mesh: Any, args: Any, result: Any) -> Any:
    return mesh, lambda x: scaled(x), result.sharding, (args[0].sharding,)


class Partition:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, mesh: Any, args: Any, result: Any) -> Any:
        return mesh, lambda x: self.factor * x, result.sharding, (args[0].sharding,)

    def method(self, *args: Any) -> Any:
        return self(*args)


def by_keyword(factor: int) -> Callable[..., Any]:
    def partition(mesh: Any, *, factor: int = factor) -> Any:
        return mesh, lambda x: factor * x

    return partition


@pytest.mark.parametrize(
    "partition",
    [
        lambda factor: functools.partial(by_global, factor=factor),
        lambda factor: Partition(factor),
        lambda factor: Partition(factor).method,
        by_keyword,
    ],
)
def test_the_digest_of_a_function_counts_its_values(partition: Callable[[int], Any]) -> None:
    assert code_digest(partition(2)) == code_digest(partition(2)) != code_digest(partition(3))


def test_the_digest_of_a_function_counts_global_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_digest(by_global), code_digest(functools.partial(by_global))
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert code_digest(by_global) != before[0]
    assert code_digest(functools.partial(by_global)) != before[1]


def test_the_digest_of_a_function_is_the_same_after_a_call() -> None:
    helper = olympus.jit(lambda x: 2 * x)

    def unbound() -> Any:
        return later  # which has no value yet

    before = code_digest(lambda x: (helper(x), unbound()))
    helper(1.0)
    assert code_digest(lambda x: (helper(x), unbound())) == before
    later = helper
    assert code_digest(lambda x: (helper(x), unbound())) != before


def test_functions_of_equal_names_are_partitioned_by_their_own() -> None:
    """A nested program is one function of the module for all equal ones, which these are not."""
    f, g = (olympus.jit(doubled(OURS, factor=n)) for n in (3, 5))
    x, y = olympus.jit(lambda x: (f(x), g(x)))(placed())
    assert (x.tolist(), y.tolist()) == ((3 * host(8, 8)).tolist(), (5 * host(8, 8)).tolist())


def test_threads_are_partitioned_by_their_own_functions() -> None:
    results: dict[int, Any] = {}

    def run(n: int) -> None:
        results[n] = olympus.jit(doubled(OURS, factor=n))(placed())

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(4):
        assert results[n].tolist() == (n * host(8, 8)).tolist()


def test_the_switches_of_the_caller_apply_to_the_program_of_one_device() -> None:
    with olympus.enable_x64():
        x = olympus.device_put(np.arange(64.0).reshape(8, 8), named(OURS, "x"))
        assert olympus.jit(doubled(OURS))(x).dtype == "float64"


def test_inspections_beside_a_partitioned_function() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = doubled(OURS)(x)
        olympus.debug.inspect_array_sharding(y, callback=seen.append)
        return y

    assert olympus.jit(f)(placed()).tolist() == (2 * host(8, 8)).tolist()
    assert [s.spec for s in seen] == [P("x", "y")]


def test_the_author_s_error_is_the_cause() -> None:
    error = KeyError("mine")

    def partition(*_: Any) -> Any:
        raise error

    f = custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule="i j -> i j")
    with pytest.raises(CompileError, match="KeyError: 'mine'") as raised:
        olympus.jit(f)(placed())
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("is_mesh", [False, True])
def test_shardings_of_other_devices_are_refused(is_mesh: bool) -> None:
    """JAX ends the process."""
    two = olympus.make_mesh((2,), ("a",), (AxisType.Auto,), devices=olympus.devices()[:2])

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        sharding = args[0].sharding if is_mesh else NamedSharding(two, P("a"))
        return two if is_mesh else mesh, lambda x: x, sharding, (sharding,)

    f = custom_partitioning(lambda x: x)
    f.def_partition(partition, sharding_rule="i j -> i j")
    with pytest.raises(CompileError, match="the program's 8 devices") as raised:
        olympus.jit(f)(placed())
    assert isinstance(raised.value.__cause__, ArgumentError)


def test_python_functions_of_one_device_are_refused() -> None:
    """JAX ends the process."""

    def part(x: Any) -> Any:
        olympus.debug.print("{x}", x=x)
        return x

    f = custom_partitioning(lambda x: x)
    f.def_partition(
        lambda mesh, args, _: (mesh, part, args[0].sharding, (args[0].sharding,)),
        sharding_rule="i j -> i j",
    )
    with pytest.raises(CompileError, match="calls a Python function") as raised:
        olympus.jit(f)(placed())
    assert isinstance(raised.value.__cause__, LoweringError)


def test_functions_without_a_definition_and_with_traced_values_are_refused() -> None:
    """JAX raises an AttributeError, and an AssertionError, without a text."""
    f = custom_partitioning(lambda x: x)
    with pytest.raises(UndefinedRuleError, match="using def_partition"):
        f(host(2))

    def around(x: Any, scale: Any) -> Any:
        g = custom_partitioning(lambda x: scale * x)
        g.def_partition(None, sharding_rule="i -> i")
        g.partition = lambda *_: None
        return g(x)

    with pytest.raises(
        UnexpectedTracerError, match="closes over a traced array: it is the argument"
    ):
        olympus.jit(around)(host(2), 2.0)


def test_arrays_that_a_function_closes_over_are_in_its_program() -> None:
    """JAX raises an AssertionError."""
    scale = olympus.numpy.arange(2.0)
    f = custom_partitioning(lambda x: scale * x)
    f.def_partition(lambda *_: None, sharding_rule="i -> i")
    assert olympus.jit(f)(host(2)).tolist() == f(host(2)).tolist() == [0.0, 1.0]
