"""Eager execution: the base trace, which compiles an operation when first seen and runs it.

An operation on operands of known avals is compiled once a process, as a program of one equation.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, array_to_numpy, put_array
from olympus_core.arrays.sharded_array import ShardedArray
from olympus_core.arrays.types_on_meshes import check_meshes
from olympus_core.base import dtypes, source
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state
from olympus_core.base.errors import (
    DeletedArrayError,
    NaNError,
    ShardingError,
    escaped_tracer,
)
from olympus_core.base.permissions import check_execution
from olympus_core.execution import compilation
from olympus_core.execution.result_shardings import (
    laid_results,
    on_context_mesh,
    typed_results,
)
from olympus_core.execution.spmd import (
    Placement,
    ShardedProgram,
    committed_sharding,
    compile_sharded,
    on_devices,
    placement,
    shardings_in,
)
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Eqn, Olympuspr, Var
from olympus_core.ir.primitive import EagerOperation, Primitive
from olympus_core.ir.trace import Trace, current_trace, install_base, using_trace
from olympus_core.ir.tracer import Tracer
from olympus_core.lowering.entry import EntryAttributes, with_usable_donations
from olympus_core.placement.mesh import AbstractMesh, AnyMesh, Mesh
from olympus_core.placement.sharding import Sharding, SingleDeviceSharding
from olympus_runtime.buffers import is_wide

_CPU = xla.Target("cpu")
_Shardings = tuple[Sharding | None, ...]


class _Spread:
    """A program of several devices, run on Buffers of the default device."""

    def __init__(self, program: ShardedProgram) -> None:
        self._program = program

    def execute(self, buffers: list[xla.Buffer]) -> Sequence[DeviceArray]:
        """Return the results; put the arguments on the devices of the program."""
        return self._program.run([*map(DeviceArray, self._program.in_avals, buffers)])


_SMALL = 4096  # bytes of an array whose copy takes less time than a step in Python


class _Direct:
    """A program that jaxlib calls on small NumPy arrays without Python between its steps."""

    def __init__(
        self, executable: xla.Executable, fast: Callable[..., Sequence[xla.Buffer]]
    ) -> None:
        self.executable = executable
        self.execute = executable.execute
        self._fast = fast

    def execute_on_values(self, inputs: list[Any]) -> Sequence[xla.Buffer]:
        """Return the results for Buffers and NumPy arrays that do not change afterwards."""
        try:
            return self._fast(*inputs)
        except (xla.JaxRuntimeError, ValueError) as exc:
            raise xla.execution_error(exc) from None


def _runner(
    executable: xla.Executable, donated: Collection[int], avals: tuple[ShapedArray, ...], outs: Any
) -> xla.Executable | _Direct:
    """Return a program of `avals` and results `outs` as one of direct calls, if it can be one."""
    if not executable.is_plain or donated:
        return executable
    device = executable.device

    def is_known(inputs: Sequence[Any]) -> bool:
        return all(x.__class__ is np.ndarray or xla.device_of(x) is device for x in inputs)

    fast = executable.dispatched(len(avals), outs, is_known)
    return executable if fast is None else _Direct(executable, fast)


def _results(executable: xla.Executable | _Spread | _Direct, inputs: list[Any]) -> Sequence[Any]:
    """Run a program on Buffers and NumPy arrays that do not change afterwards."""
    if isinstance(executable, _Direct):
        return executable.execute_on_values(inputs)
    return executable.execute([xla.put(x) if x.__class__ is np.ndarray else x for x in inputs])


def _may_pass(x: Any, aval: ShapedArray) -> bool:
    """Return True for a small NumPy array that jaxlib takes as one of the type `aval`."""
    if x.__class__ is not np.ndarray or x.dtype != aval.dtype or is_wide(aval.dtype):
        return False
    return bool(x.nbytes <= _SMALL)


#: The runner of an operation, the types of its results, and a constructor for each result.
_Compiled = tuple[
    xla.Executable | _Spread | _Direct, tuple[ShapedArray, ...], Callable[[Any, Any], Any]
]


def _as_it_is(_: ShapedArray, x: Any) -> Any:
    return x


def _eager_operation(
    primitive: Primitive, avals: tuple[ShapedArray, ...], params: dict[str, Any]
) -> tuple[EagerOperation, tuple[ShapedArray, ...]]:
    """Return the program of an eager operation, and the types of its results."""
    out_avals = primitive.out_avals(avals, params)
    operation = primitive.eager_operation(params)
    if operation is None:
        invars, outvars = tuple(map(Var, avals)), tuple(map(Var, out_avals))
        eqn = Eqn(primitive, invars, outvars, params, source.Source(None, 0, ""))
        outs = primitive.result_shardings(params)
        operation = EagerOperation(
            primitive.name, Olympuspr(invars, (eqn,), outvars), out_shardings=outs
        )
    return operation, out_avals


def _typed(operation: EagerOperation, mesh: AnyMesh | None = None) -> EagerOperation:
    """Return the operation with the shardings of its results that their types determine.

    `mesh` is the mesh of the context, on which the other results are.
    """
    program = operation.program
    outs = operation.out_shardings
    if any(a.explicit is not None for a in program.out_avals):
        like = [*operation.in_shardings, *(place for _, place in shardings_in(program)), mesh]
        outs = typed_results(program.out_avals, outs, like)
    outs = laid_results(program, outs, operation.in_shardings)
    outs = on_context_mesh(program.out_avals, outs, mesh)
    return operation._replace(out_shardings=outs)


def _compile(primitive: Primitive, avals: tuple[ShapedArray, ...], items: Any) -> _Compiled:
    operation, out_avals = _eager_operation(primitive, avals, dict(items))
    operation = _typed(operation)
    entry = compilation.entry_attributes(operation.name, operation.program, operation.donated)
    entry = with_usable_donations(entry, avals, operation.program.out_avals)
    where = placement(primitive.spoken(dict(items)), operation.program, *operation[4:])
    if where is not None:
        return _Spread(_sharded(operation, entry, where)), out_avals, _as_it_is
    module, origin = compilation.lower(operation.program, entry, _CPU)
    executable = compilation.compile_module(
        module,
        _CPU,
        dict(operation.options),
        name=entry.name,
        in_avals=operation.program.in_avals,
        inspected=origin.inspected(module),
        calls=origin.calls,
    )
    if not primitive.higher_order:
        return executable, out_avals, DeviceArray
    return _runner(executable, operation.donated, avals, out_avals), out_avals, DeviceArray


def _compile_on(
    primitive: Primitive,
    avals: tuple[ShapedArray, ...],
    items: Any,
    committed: _Shardings,
    mesh: Mesh | None,
    device: xla.Device,
) -> ShardedProgram:
    """Compile the operation for arrays of which some have an explicit sharding.

    `mesh` is the mesh of the context, on whose devices it runs; without any, it runs on `device`.
    """
    operation, _ = _eager_operation(primitive, avals, dict(items))
    requested = operation.in_shardings or (None,) * len(avals)
    for i, (needed, own) in enumerate(zip(requested, committed, strict=True)):
        if needed is None or own is None or needed.is_equivalent_to(own, avals[i].ndim):
            continue
        raise ShardingError(
            f"argument {i + 1} of '{primitive.spoken(dict(items))}', {avals[i].long_name()}, has "
            f"{own.spoken()}, and in_shardings has {needed.spoken()} for it",
            hint="put it there with device_put",
        )
    ins = tuple(needed or own for needed, own in zip(requested, committed, strict=True))
    operation = _typed(operation._replace(in_shardings=ins), mesh)
    entry = compilation.entry_attributes(operation.name, operation.program, operation.donated)
    where = placement(
        primitive.spoken(dict(items)), operation.program, ins, operation.out_shardings
    )
    if where is None:
        entry = with_usable_donations(entry, avals, operation.program.out_avals)
        one = SingleDeviceSharding(device)
        where = Placement((device,), 1, (one,), is_default=True)
        ins, outs = (one,) * len(avals), (one,) * len(operation.program.outvars)
        operation = operation._replace(in_shardings=ins, out_shardings=outs)
    return _sharded(operation, entry, where, committed)


def _sharded(
    operation: EagerOperation, entry: EntryAttributes, where: Placement, committed: _Shardings = ()
) -> ShardedProgram:
    if where.devices is None:
        where, operation = _on_concrete_mesh(operation, where)
    entry = entry._replace(
        in_shardings=operation.in_shardings, out_shardings=operation.out_shardings
    )
    return compile_sharded(operation.program, entry, where, committed, dict(operation.options))


def _on_concrete_mesh(
    operation: EagerOperation, where: Placement
) -> tuple[Placement, EagerOperation]:
    """Return the operation on the devices of a mesh that one of its abstract meshes came from."""
    meshes = [m.concrete for m in where.meshes if isinstance(m, AbstractMesh)]
    mesh = next((m for m in meshes if m is not None), None)
    if mesh is None:
        raise ShardingError(
            f"'{operation.name}' has shardings on a mesh without devices alone: Please pass "
            f"`jax.Array`s with a `NamedSharding` as input to `{operation.name}` when passing "
            "`AbstractMesh` to the mesh argument. Passing lowering_platforms via jax.export or "
            "jit(f).trace(*args).lower(lowering_platforms=...) is required when only AbstractMesh "
            "exists in a jitted computation.",
            hint="give the mesh devices to run the program: make_mesh, or Mesh(devices, names), or "
            "write `with olympus.set_mesh(mesh):`",
        )
    ins, outs, all_ = (
        tuple([on_devices(s, mesh.flat_devices) for s in group])
        for group in (operation.in_shardings, operation.out_shardings, where.shardings)
    )
    named = tuple([s for s in all_ if s is not None])
    where = where._replace(devices=mesh.flat_devices, shardings=named)
    return where, operation._replace(in_shardings=ins, out_shardings=outs)


_operation = functools.cache(_compile)
#: programs come and go with the functions that they are traced from, and each holds its code
_program = functools.lru_cache(maxsize=4096)(_compile)
_on_devices = functools.lru_cache(maxsize=4096)(_compile_on)


def plain_program(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
) -> tuple[xla.Executable, tuple[ShapedArray, ...]] | None:
    """Return the program of a call, and the types of its results; None if jaxlib cannot call it."""
    if any(x.__class__ is ShardedArray for x in args):
        return None  # it ran on their devices, and is not compiled for one device
    avals = tuple([get_aval(x) for x in args])
    runner, out_avals, _ = _program(primitive, avals, tuple(params.items()))
    return (runner.executable, out_avals) if isinstance(runner, _Direct) else None


def clear_cache() -> None:
    """Forget every operation and program compiled so far."""
    for cache in (_operation, _program, _on_devices):
        cache.cache_clear()


def _deleted(name: str, avals: Sequence[ShapedArray], buffers: Sequence[Any]) -> DeletedArrayError:
    """Return the error for the first operand of an operation that was deleted before."""
    for aval, buffer in zip(avals, buffers, strict=True):
        if buffer.__class__ is not np.ndarray and xla.is_deleted(buffer):
            return xla.deleted_error(f"an operand of '{name}' was used", aval.long_name())
    return xla.deleted_error(f"an operand of '{name}' was used")


class EagerTrace:
    """The trace that executes each bound operation."""

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run the operation, compiled if it is new, and return device arrays."""
        if primitive.inlined:
            return primitive.run_in_place(args, params)
        if state.no_execution:
            check_execution(primitive.spoken(params))
        if state.mesh.__class__ is Mesh or state.default_device is not None:
            return self._on_devices(primitive, args, params)
        avals: list[ShapedArray] = []
        buffers: list[Any] = []
        passes = primitive.higher_order and state.transfer_guard_host_to_device == "allow"
        passed = False
        for x in args:
            if x.__class__ is not DeviceArray:
                if x.__class__ is ShardedArray:
                    return self._on_devices(primitive, args, params)
                if passes and x.__class__ is np.ndarray and _may_pass(x, aval := get_aval(x)):
                    avals.append(aval)
                    buffers.append(x.copy())
                    passed = True
                    continue
                x = self._put(primitive, params, x)
            avals.append(x.aval)
            buffers.append(x.buffer)
        compiled = _program if primitive.higher_order else _operation
        executable, out_avals, wrap = compiled(primitive, tuple(avals), tuple(params.items()))
        if wrap is _as_it_is and any(map(committed_sharding, args)):
            return self._on_devices(primitive, args, params)
        try:
            outs = _results(executable, buffers) if passed else executable.execute(buffers)
        except DeletedArrayError:
            raise _deleted(primitive.spoken(params), avals, buffers) from None
        results = [*map(wrap, out_avals, outs)]
        if state.debug_nans or state.debug_infs:
            check_values(results, lambda fault: _report(primitive, args, params, fault))
        return results if primitive.multiple_results else results[0]

    def _on_devices(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Run the operation on the devices of its arguments."""
        read = _without_unused(args, params) if primitive.is_call else None
        if read is not None:
            return self.process(primitive, *read)
        arrays = [
            x if isinstance(x, DeviceArray) else self._put(primitive, params, x) for x in args
        ]
        mesh = state.mesh if state.mesh.__class__ is Mesh else None
        avals = tuple(map(get_aval, arrays))
        if not primitive.changes_mesh and not _is_identity(params):
            check_meshes(primitive.spoken(params), arrays, mesh)
        shardings = tuple(map(committed_sharding, arrays))
        device = state.default_device or xla.default_device()
        program = _on_devices(primitive, avals, tuple(params.items()), shardings, mesh, device)
        results = program.run(arrays)
        if state.debug_nans or state.debug_infs:
            check_values(results, lambda fault: _report(primitive, args, params, fault))
        return results if primitive.multiple_results else results[0]

    def _put(self, primitive: Primitive, params: dict[str, Any], x: Any) -> DeviceArray:
        if isinstance(x, Tracer):
            user = f"'{primitive.spoken(params)}'"
            raise escaped_tracer(user, x.aval.long_name(), x.origin())
        if hasattr(x, "__jax_array__"):
            x = x.__jax_array__()
            return x if isinstance(x, DeviceArray) else self._put(primitive, params, x)
        return put_array(x)


def _without_unused(
    args: Sequence[Any], params: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Return a call without the arguments that its program does not read; None if it reads all.

    Their devices would decide those of the program.  Donated ones are arguments, to be deleted.
    """
    program: Olympuspr = params["olympuspr"]
    if not params.keys().isdisjoint(("keep_unused", "donated")):
        return None
    needed, used = restrict(program, (True,) * len(program.outvars))
    if len(used) == len(args):
        return None
    changed: dict[str, Any] = {"olympuspr": needed}
    if ins := dict.get(params, "in_shardings"):
        changed["in_shardings"] = tuple([ins[i] for i in used])
    return [args[i] for i in used], {**params, **changed}


def _is_identity(params: dict[str, Any]) -> bool:
    """Return True for the call of a program without operations."""
    program = params.get("olympuspr")
    return program is not None and not program.eqns


def _fault(x: Any) -> str | None:
    """Return the fault of an array that the switches check: "a NaN", "an infinity", or None."""
    if dtypes.kind(get_aval(x).dtype) not in "fc":
        return None
    values = array_to_numpy(x)
    if state.debug_nans and bool(np.isnan(values).any()):
        return "a NaN"
    return "an infinity" if state.debug_infs and bool(np.isinf(values).any()) else None


def check_values(results: Iterable[Any], report: Callable[[str], NoReturn]) -> None:
    """Call `report` for a result with a fault that `debug_nans` or `debug_infs` check."""
    for x in results:
        if fault := _fault(x):
            report(fault)


def _report(
    primitive: Primitive, args: Sequence[Any], params: dict[str, Any], fault: str
) -> NoReturn:
    here = source.current_location()
    if primitive.has_programs:
        primitive.run_inside(args, **params)  # raises at the inner operation that produces it
    types = ", ".join(get_aval(x).long_name() for x in args)
    had = ", which had one already" if any(_fault(x) == fault for x in args) else ""
    value = "nan" if fault == "a NaN" else "inf"
    raise NaNError(
        f"'{primitive}' gave {fault}{here.place()}\n  its operands: {types or 'none'}{had}\n  "
        f"invalid value ({value}) encountered in {primitive}",
        location=str(here.position() or "") or None,
    )


_base = EagerTrace()
install_base(_base)


class _ConcreteTrace:
    """The trace that executes operations on known values, and passes on those on traced ones."""

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        with using_trace(
            self.parent if any(isinstance(x, Tracer) for x in args) else _base
        ) as chosen:
            return chosen.process(primitive, args, params)


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Within the context, compute operations on known values eagerly, even while tracing.

    Python can use their results, for example in an `if`. Operations on traced arrays are traced as
    usual.

    >>> @jit
    ... def f(x):
    ...     with ensure_compile_time_eval():
    ...         n = int(numpy.sqrt(16.0))
    ...     return x[:n]
    >>> f(numpy.arange(6))
    Array([0, 1, 2, 3], dtype=int32)
    """
    with using_trace(_ConcreteTrace(current_trace())):
        yield
