"""Operations of a program of several devices that Python functions partition.

A lowered program has them as calls with the indices of their partitioners, so that it is the same
in any process. For one compilation, each call gets a key by which XLA's partitioner calls back. An
executable needs the functions no more.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from olympus_core.base.context import SWITCHES, state, switched
from olympus_core.base.errors import BackendError, CompileError, UsageError
from olympus_core.mlir import bindings as mlir
from olympus_core.xla.bindings import Device, _hlo, _jax
from olympus_core.xla.runtime import plugins

#: the name of the calls in a lowered program, which is JAX's
PARTITIONED_CALL = "CustomSPMDPartitioning"
#: their name during a compilation: JAX, in the same process, has a partitioner of its own name
BOUND_CALL = b"olympus_custom_partitioning"


class Whole(NamedTuple):
    """An array before it is partitioned: its XLA shape and its XLA sharding.

    The sharding is None for an array that is not sharded.
    """

    shape: Any
    sharding: Any


class Partitioned(NamedTuple):
    """The program of each device, as MLIR bytecode, and the XLA shardings of its arrays."""

    program: bytes
    arguments: Sequence[Any]
    results: Sequence[Any]


class Partitioner(Protocol):
    """The function that partitions one operation."""

    def partitioned(
        self, devices: Sequence[Device], arguments: Sequence[Whole], results: Sequence[Whole]
    ) -> Partitioned:
        """Return the program of each of the `devices`; raise any error of the user."""


class _Binding:
    """The partitioners of one program while it is compiled, and the first of their errors."""

    def __init__(self, partitioners: Sequence[Partitioner], devices: Sequence[Device]) -> None:
        self.partitioners = partitioners
        self.devices = devices
        self.error: BaseException | None = None
        # the compiler's threads are in no context of this one
        self._switches = {name: x for name, x in vars(state).items() if name in SWITCHES}

    def partitioned(
        self, index: int, arguments: Sequence[Whole], results: Sequence[Whole]
    ) -> Partitioned:
        """Return the result of a partitioner in the context of the thread that compiles."""
        with contextlib.ExitStack() as contexts:
            for name, value in self._switches.items():
                contexts.enter_context(switched(name, value))
            return self.partitioners[index].partitioned(self.devices, arguments, results)


_bindings: dict[str, tuple[_Binding, int]] = {}
_keys = itertools.count()


@contextlib.contextmanager
def partitioning(
    program: bytes, partitioners: Sequence[Partitioner], grid: Sequence[Device] | None
) -> Iterator[bytes]:
    """Yield the bytes of a module for one compilation, which calls its partitioners.

    A program without such calls is yielded as it is. Within the context, the CompileError of a
    partitioner's error has that as its cause.

    Raises UsageError if the partitioners are not known, and BackendError for a compiler that does
    not call them.
    """
    if PARTITIONED_CALL.encode() not in program:
        yield program
        return
    if not partitioners:
        raise UsageError(
            "the program has operations that Python functions partition, by "
            "olympus.experimental.custom_partitioning, and was read without them",
            hint="compile it in the process that traces the function: a bundle with its "
            "executable needs the functions no more",
        )
    devices = tuple(grid or ())
    _register()
    binding = _Binding(partitioners, devices)
    keys: list[str] = []
    try:
        yield _with_keys(program, binding, keys)
    except CompileError as error:
        if binding.error is None and BOUND_CALL.decode() in str(error):
            raise _not_called(devices) from error
        raise error from binding.error
    finally:
        for key in keys:
            del _bindings[key]


def _not_called(devices: Sequence[Device]) -> BackendError:
    """Return the error of a compiler that does not know the calls."""
    platform = devices[0].platform if devices else "?"
    return BackendError(
        f"the compiler for {platform} calls no Python function to partition an operation, as "
        "olympus.experimental.custom_partitioning needs",
        hint="call the function without custom_partitioning in programs for these devices",
    )


def _with_keys(program: bytes, binding: _Binding, keys: list[str]) -> bytes:
    """Return the module with a key in the place of the index of each partitioner."""
    context = mlir.new_context()
    module = mlir.ir.Module.parse(program, context)

    def text(value: str) -> Any:
        return mlir.ir.StringAttr.get(value, context)

    def bind(operation: Any) -> Any:
        attributes = operation.attributes
        called = attributes.get("call_target_name")
        if called is not None and called == text(PARTITIONED_CALL):
            index = int(mlir.ir.StringAttr(attributes["backend_config"]).value)
            key = str(next(_keys))
            keys.append(key)
            _bindings[key] = binding, index
            attributes["call_target_name"] = text(BOUND_CALL.decode())
            attributes["backend_config"] = text(key)
        return mlir.ir.WalkResult.ADVANCE

    module.operation.walk(bind)
    return mlir.bytecode(module)


_registered: set[str] = set()


def _register() -> None:
    """Make the compilers of the CPU and of the loaded plugins call `_partition` for the calls."""
    for name, options in (
        ("cpu", {}),
        *[(name, {"c_api": plugin}) for name, plugin in plugins.loaded.items()],
    ):
        if name not in _registered:
            _registered.add(name)
            functions = (_propagated, _partition, _inferred)
            _jax.register_custom_call_partitioner(BOUND_CALL.decode(), *functions, True, **options)


def _partition(
    arg_shapes: Sequence[Any],
    arg_shardings: Sequence[Any],
    result_shape: Any,
    result_sharding: Any,
    key: bytes,
) -> tuple[bytes, list[Any], Any]:
    """Return the program of each device, and the shardings of its arguments and results."""
    binding, index = _bindings[key.decode()]
    is_tuple = result_shape.is_tuple()
    shapes = result_shape.tuple_shapes() if is_tuple else [result_shape]
    shardings = result_sharding.tuple_elements() if is_tuple else [result_sharding]
    arguments, results = (
        [Whole(*pair) for pair in zip(*group, strict=True)]
        for group in ((arg_shapes, arg_shardings), (shapes, shardings))
    )
    try:
        done = binding.partitioned(index, arguments, results)
    except BaseException as error:
        binding.error = binding.error or error
        raise
    outs = list(done.results)
    whole = _hlo.HloSharding.tuple_sharding(result_shape, outs) if is_tuple else outs[0]
    return done.program, list(done.arguments), whole


def _propagated(sharding: Any, shape: Any, key: bytes) -> Any:
    """Return the sharding of an operation from that of its user: Shardy does not call it."""
    return sharding


def _inferred(
    arg_shapes: Sequence[Any], arg_shardings: Sequence[Any], result_shape: Any, key: bytes
) -> Any:
    """Return the sharding of the first operand: Shardy does not call it."""
    return arg_shardings[0] if arg_shardings else None
