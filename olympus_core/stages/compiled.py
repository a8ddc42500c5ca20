"""The last stage of ahead-of-time compilation: a program compiled for a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.arrays.sharded_array import ShardedArray
from olympus_core.base import gc_pause, tree, tree_differences
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import state
from olympus_core.base.errors import (
    DTypeError,
    NaNError,
    OlympusError,
    ShardingError,
    SignatureError,
    UsageError,
)
from olympus_core.base.permissions import check_execution
from olympus_core.execution.argument_errors import named_error
from olympus_core.execution.eager import check_values
from olympus_core.execution.hidden_arguments import HiddenArguments
from olympus_core.ir.tracer import Tracer
from olympus_core.placement.layout import array_format
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.physical_axes import positions_along
from olympus_core.placement.sharding import (
    Sharding,
    SingleDeviceSharding,
)
from olympus_core.stages.interface import Interface, Stage, placed_tree

if TYPE_CHECKING:
    from olympus_core.analysis.cost.cost import Cost
    from olympus_core.analysis.hlo.device_cost import DeviceCost
    from olympus_core.analysis.memory.memory import Memory
    from olympus_core.analysis.profile import Profile
    from olympus_core.analysis.records import Collective, Estimate
    from olympus_core.stages.lowered import Lowered

#: The Python type that is accepted without conversion for a scalar of each dtype.
_SCALARS: dict[Any, type] = {
    np.dtype("bool"): bool,
    np.dtype("int32"): int,
    np.dtype("float32"): float,
}


_NUMPY = (np.ndarray, np.generic)

_MAX_NAMES = 6  # the most arguments in a message


class _Input:
    """An argument of a compiled program, and the values of it that need no conversion."""

    __slots__ = ("aval", "donated", "dtype", "last", "scalars", "shape", "twin")

    def __init__(self, aval: ShapedArray, donated: bool) -> None:
        self.aval = aval
        self.twin = aval.update(weak_type=not aval.weak_type)
        self.shape, self.dtype = aval.shape, aval.dtype
        python = _SCALARS.get(aval.dtype, aval.dtype.type)
        self.scalars = () if aval.shape else (python, aval.dtype.type)
        self.donated = donated
        self.last: tuple[Any, Any] = (None, None)

    def put(self, x: Any) -> xla.Buffer:
        """Return the buffer of a scalar, cached because the next call often passes the same object.

        The buffer of a donated argument is not cached.
        """
        buffer = xla.put(x) if isinstance(x, np.generic) else xla.put_scalar(x, self.aval)
        if not self.donated:
            self.last = x, buffer
        return buffer


def _has_type(x: Any, aval: ShapedArray) -> bool:
    is_plain = x.__class__ is np.ndarray or isinstance(x, np.generic)  # a subclass may be masked
    return is_plain and bool(x.dtype == aval.dtype) and x.shape == aval.shape


def _differing_leaves(compiled: tree.PyTreeDef, called: tree.PyTreeDef) -> str | None:
    """Return the missing and the unexpected arguments of a call; None if there are none."""
    expected, passed = (
        {tree.keystr(path[1:]): None for path, _ in tree.flatten_with_path(_numbered(treedef))[0]}
        for treedef in (compiled, called)
    )
    missing = [name for name in expected if name not in passed]
    extra = [name for name in passed if name not in expected]
    parts = [
        f"{verb} {', '.join(names[:_MAX_NAMES])}{', ...' if len(names) > _MAX_NAMES else ''}"
        for verb, names in (("lacks", missing), ("has the unexpected", extra))
        if names
    ]
    return f"the call {' and '.join(parts)}" if parts else None


def _of_call(path: str) -> str:
    """Return a path in the pair (args, kwargs) with the name of its part."""
    return f"{('args', 'kwargs')[path[1] == '1']}{path[3:]}"


def _numbered(treedef: tree.PyTreeDef) -> Any:
    return treedef.unflatten(range(treedef.num_leaves))


def finish_buffers(buffers: Sequence[xla.Buffer]) -> None:
    """Wait until the buffers are computed."""
    for buffer in buffers:
        xla.block_until_ready(buffer)


class Compiled(Stage):
    """A program compiled for a target, called like the function without static arguments."""

    def __init__(
        self,
        signature: Interface,
        executable: xla.Executable | xla.CompileOnlyExecutable,
        target: xla.Target,
        lowered: Lowered | None = None,
        constants: HiddenArguments | None = None,
    ) -> None:
        super().__init__(signature)
        self.executable = executable
        self.target = target
        self._lowered = lowered
        if constants is None:
            constants = HiddenArguments() if lowered is None else lowered.constants
        #: the values of the leading arguments of `executable`, which a call does not take
        self.constants = constants
        avals, donated = signature.in_avals, signature.donated
        self._inputs = [_Input(a, i in donated) for i, a in enumerate(avals)]
        self._count = len(avals)
        self._flat_in = signature.in_tree == tree.structure(((0,) * self._count, {}))
        self._out_avals = signature.out_avals
        self._single_out = signature.out_tree == tree.structure(0)
        self._run, self._handlers = executable.run, executable.handlers
        self._memory: Memory | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program on arguments of the compiled types.

        Raises SignatureError (a TypeError) that lists the arguments of another type, NaNError if
        `debug_nans` is on and a result has a NaN, and BackendError if this machine does not have
        the target's device.
        """
        inputs: list[Any] | None = None
        if self._flat_in and not kwargs and len(args) == self._count:
            inputs = self._quick(args)
        if inputs is None:
            inputs = self._buffers(args, kwargs)
        if state.no_execution:
            check_execution(self.signature.name)
        if self.constants.arrays:
            inputs = [*self._constant_buffers(), *inputs]
        try:
            outs = self._run(inputs).consume_with_handlers(self._handlers)
        except (xla.JaxRuntimeError, ValueError) as e:
            raise self._refused(xla.execution_error(e), args, kwargs) from None
        if state.debug_nans or state.debug_infs:
            results = map(DeviceArray, self.signature.out_avals, outs)
            check_values(results, self._refuse_value)
        if self._single_out:
            return DeviceArray(self._out_avals[0], outs[0])
        return self.out_tree.unflatten(map(DeviceArray, self.signature.out_avals, outs))

    def _constant_buffers(self) -> tuple[xla.Buffer, ...]:
        """Return the buffers of the constants, which are on the device after the first call."""
        device = self.executable.device if isinstance(self.executable, xla.Executable) else None
        return self.constants.on(device)

    def _refused(
        self, error: OlympusError, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> OlympusError:
        """Return the error of a run on these arguments, with the names of the affected ones."""
        if not isinstance(error, UsageError):
            return error
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            leaves = self._rearranged(args, kwargs)
        return self._with_names(error, leaves)

    def _with_names(self, error: UsageError, leaves: Sequence[Any]) -> UsageError:
        donated = self.signature.donated
        return named_error(error, self.fun_name, leaves, self.arg_names, donated)

    def _buffers(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[xla.Buffer]:
        """Return the buffers of the arguments, converted to arrays if needed.

        Raises SignatureError if an argument does not have the compiled type.
        """
        leaves, in_tree = tree.flatten((args, kwargs))
        if in_tree != self.in_tree:
            self._refuse_tracers(leaves)
            leaves = self._rearranged(args, kwargs)
        buffers = self._quick(leaves)
        return self._check(leaves) if buffers is None else buffers

    def _quick(self, args: Sequence[Any]) -> list[Any] | None:
        """Return the buffers of arguments that need no conversion; None if any other is given."""
        buffers: list[Any] = []
        for x, parameter in zip(args, self._inputs, strict=True):
            if x.__class__ is DeviceArray:
                if x.aval is not parameter.aval and x.aval is not parameter.twin:
                    return None
                buffers.append(x.buffer)
            elif x.__class__ is np.ndarray:
                if x.dtype != parameter.dtype or x.shape != parameter.shape:
                    return None
                buffers.append(xla.put(x))
            elif x.__class__ in parameter.scalars:
                last, buffer = parameter.last
                try:
                    buffers.append(buffer if x is last else parameter.put(x))
                except DTypeError:
                    return None
            else:
                return None
        return buffers

    def _avals(self, leaves: Sequence[Any]) -> list[ShapedArray]:
        """Return the arguments' types; raise SignatureError if not the compiled ones."""
        try:
            avals = [
                aval if _has_type(x, aval) else get_aval(x)  # narrows 64 bits without x64
                for x, aval in zip(leaves, self.signature.in_avals, strict=True)
            ]
        except DTypeError as e:
            raise SignatureError(f"{e}, and is an argument of '{self.fun_name}'") from None
        self._compare(avals)
        return avals

    def _check(self, leaves: Sequence[Any]) -> list[xla.Buffer]:
        self._refuse_tracers(leaves)
        avals = self._avals(leaves)
        for name, x in zip(self.arg_names, leaves, strict=True):
            if isinstance(x, ShardedArray) and x.committed:
                raise ShardingError(
                    f"argument {name!r} of '{self.fun_name}' was placed with the "
                    f"sharding {x.sharding}, and the program was compiled for one device: "
                    "Computation was compiled for input shardings that disagree with the shardings "
                    "of arguments passed to it",
                    hint="lower the function with this array, or put it on the first device",
                )
        return [
            x.buffer if x.__class__ is DeviceArray else put_array(x, a).buffer
            for x, a in zip(leaves, avals, strict=True)
        ]

    def _compare(self, avals: Sequence[ShapedArray]) -> None:
        wrong = [
            f"Argument '{name}' compiled with {expected.long_name()} "
            f"and called with {aval.long_name()}"
            for name, expected, aval in zip(
                self.arg_names, self.signature.in_avals, avals, strict=True
            )
            if expected.strip_weak() is not aval.strip_weak()
        ]
        if wrong:
            raise SignatureError(
                "Argument types differ from the types for which this computation was compiled. "
                "Perhaps you are calling the compiled executable with a different enable_x64 mode "
                "than when it was AOT compiled? The mismatches are:\n" + "\n".join(wrong)
            )

    def _rearranged(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Raise SignatureError for arguments of another structure than the compiled one."""
        called = tree.structure((args, kwargs))
        places = [
            f"    * at {_of_call(d.path)}, seen {d.first} but now given {d.second}, so {d.reason}"
            for d in tree_differences.differences(self.in_tree, called)
        ]
        raise SignatureError(
            f"'{self.fun_name}' was compiled for arguments of another structure: Function compiled "
            f"with input pytree does not match the input pytree it was called with. There are "
            f"{len(places)} mismatches, including:\n" + "\n".join(places),
            hint=_differing_leaves(self.in_tree, called),
        )

    def _refuse_tracers(self, leaves: Sequence[Any]) -> None:
        for x in leaves:
            if isinstance(x, Tracer):
                self._refuse_tracer(x)

    def _refuse_tracer(self, x: Tracer) -> NoReturn:
        raise SignatureError(
            "Cannot apply OLYMPUS transformations to a function lowered and compiled for a "
            f"particular signature. Detected argument of Tracer type {type(x)}"
        )

    @property
    def input_shardings(self) -> Any:
        """The sharding of each argument, in the structure (args, kwargs).

        None for an argument that the program does not use, unless `jit` has `keep_unused`.
        """
        return placed_tree(self.in_tree, self._flat_inputs())

    def _flat_inputs(self) -> Sequence[Sharding | None]:
        return self._used([self._one_device()] * self._count)

    def _flat_outputs(self) -> Sequence[Sharding | None]:
        return [self._one_device()] * len(self.signature.out_avals)

    def _used(self, shardings: Sequence[Sharding | None]) -> Sequence[Sharding | None]:
        """Return the shardings of the arguments, with None for those of unused ones."""
        if self.signature.keep_unused or self._lowered is None:
            return shardings
        used = self._lowered.used_arguments()
        places = enumerate(shardings)
        return [s if i in used else None for i, s in places]

    @property
    def output_shardings(self) -> Any:
        """The sharding of each array of the result, in the structure of the result."""
        return placed_tree(self.out_tree, self._flat_outputs())

    @property
    def input_formats(self) -> Any:
        """The `Format` of each argument, in the structure (args, kwargs).

        It is empty for an argument whose sharding is None.
        """
        s = self.signature
        return self._formats(s.in_avals, s.in_shardings, self.in_tree, self._flat_inputs())

    @property
    def output_formats(self) -> Any:
        """The `Format` of each array of the result, in its structure."""
        s = self.signature
        return self._formats(s.out_avals, s.out_shardings, self.out_tree, self._flat_outputs())

    def _formats(
        self,
        avals: Sequence[ShapedArray],
        laid: Sequence[Sharding | None],
        treedef: tree.PyTreeDef,
        places: Sequence[Sharding | None],
    ) -> Any:
        places = [s and (own or s) for own, s in zip(laid or places, places, strict=True)]
        formats = [array_format(a.ndim, s) for a, s in zip(avals, places, strict=True)]
        return placed_tree(treedef, formats)

    def _one_device(self) -> Sharding | None:
        here = isinstance(self.executable, xla.Executable)
        return SingleDeviceSharding(xla.devices(self.target.backend)[0]) if here else None

    def _refuse_value(self, fault: str) -> NoReturn:
        raise NaNError(
            f"the compiled program of '{self.fun_name}' gave {fault}",
            hint="call the function itself, and the error names the operation and its line",
        )

    @property
    def num_devices(self) -> int:
        """The number of devices that the program runs on."""
        return 1

    def _repr_html_(self) -> str:
        """Return HTML of the arrays, memory, cost and optimized program, for a notebook."""
        from olympus_core.base.notebook import stage_html, target_text  # few programs are shown

        facts = [("target", target_text(self.target)), ("devices", self.num_devices)]
        cost = None if self._lowered is None else self.cost
        return stage_html(self, facts, [("optimized HLO", self.as_text)], cost, self.memory)

    def as_text(self) -> str:
        """Return the optimized HLO."""
        return self.executable.hlo_text()

    def cost(self, trips: Mapping[str, int] | None = None) -> Cost:
        """Return the cost of the program as it was lowered: see `Lowered.cost`.

        For a program of several devices it is the total of all devices; `cost_per_device` returns
        the cost on each.

        Raises UsageError if the executable was loaded without its program.
        """
        if self._lowered is None:
            raise UsageError(
                f"the executable of '{self.fun_name}' came without the program that its cost is "
                "counted from",
                hint="call cost() on what it was compiled from",
            )
        return self._lowered.cost(trips)

    def cost_per_device(self, trips: Mapping[str, int] | None = None) -> DeviceCost:
        """Return the cost of a call on each device, counted from the optimized program.

        `trips` is as for `estimate`.  In the result, `total` is the cost on all devices, and
        `repeated` is the ratio of their work to that of the program as written.

        Raises UsageError for `trips` as `cost` does, and ArtifactError if the executable is not
        one program.

        >>> cost = compiled.cost_per_device()
        >>> cost.devices, cost.flops, cost.total.flops, cost.repeated
        (8, 65536, 524288, 1.0)
        """
        from olympus_core.analysis.hlo.device_cost import device_cost  # imported only if needed

        module, loops = self.executable.hlo_module(), self._loops(trips)
        written = None if self._lowered is None else self.cost(trips).flops
        return device_cost(module, self.num_devices, loops, written)

    def cost_analysis(self) -> dict[str, float] | None:
        """Return XLA's estimate of the optimized program's cost; a loop's body is counted once."""
        return self.executable.cost_analysis()

    def memory(self) -> Memory:
        """Return the memory that the program needs over time, and the arrays that occupy it.

        It is for a run on the device that the program was compiled for; this machine need not have
        that device.  For a program of several devices it is the memory of each, and `total` is the
        memory of all.

        Raises:
          ArtifactError: if the executable's description of itself is damaged.

        >>> jit(f).lower(x).compile().memory().peak
        12288
        """
        from olympus_core.analysis.memory.memory import memory_of  # imported only if needed

        if self._memory is None:
            names, constants = self.signature.arg_names, self.constants
            with gc_pause.paused():
                names = (*[f"constants[{i}]" for i in range(len(constants))], *names)
                memory = memory_of(self.executable, names, self.num_devices, len(constants))
                self._memory = memory.with_constants(constants.bytes)
        return self._memory

    def compiler_shardings(self) -> xla.SerializedShardings | None:
        """Return the compiler's shardings of arguments and results, as bytes; None for one device.

        `Lowered.read_compiled` reads them. Each is a serialized `OpSharding` of XLA.

        >>> jit(f).lower(1.0).compile().compiler_shardings() is None
        True
        """
        return self.executable.serialized_shardings() if self.num_devices > 1 else None

    def memory_analysis(self) -> xla.MemoryAnalysis:
        """Return XLA's own figures of the memory that the program needs; `memory` has more.

        XLA counts constants that are stored apart as arguments.
        """
        return self.executable.memory()

    def estimate(
        self,
        device: str | xla.DeviceModel | None = None,
        trips: Mapping[str, int] | None = None,
        network: float | None = None,
    ) -> Estimate:
        """Return an estimate of the time of a call, kernel by kernel; nothing is run or measured.

        `device` is a name that `olympus devices` lists, "cpu" for this machine's processor, or a
        DeviceModel; the default is the device that the program was compiled for.  `trips` gives
        the number of iterations of loops for which it depends on data, as for `Lowered.cost`.
        `network` is the bandwidth from each device to other hosts, in bytes per second, if there
        are several hosts; the default is 50e9.  The time of a program of several devices is the
        time on each.

        Raises UsageError for an unknown device, for `trips` as `cost` does and for an invalid
        `network`, and ArtifactError if the executable is not one program.

        >>> compiled.estimate().seconds
        9.1e-06
        >>> compiled.estimate(trips={"solver.py:41": 30}).unknown
        ()
        """
        from olympus_core.analysis.hlo.estimate import estimate  # imported only if needed

        module, loops = self.executable.hlo_module(), self._loops(trips)
        with gc_pause.paused():
            count, places = self.num_devices, self._places()
            return estimate(module, self.target, device, loops, network, count, places)

    def collectives(
        self,
        device: str | xla.DeviceModel | None = None,
        trips: Mapping[str, int] | None = None,
        network: float | None = None,
    ) -> tuple[Collective, ...]:
        """Return the collectives between the program's devices, in the order in which they run.

        `olympus.analysis.by_axes` sums them by the axes of the mesh.

        The arguments and errors are those of `estimate`.

        >>> [(c.kind, c.axes, c.bytes) for c in compiled.collectives()]
        [('all-reduce', ('model',), 1048576)]
        """
        from olympus_core.analysis.hlo.collectives import collectives_of  # imported only if needed

        module, loops, meshes = self.executable.hlo_module(), self._loops(trips), self._meshes()
        count = self.num_devices
        places = self._places()
        return collectives_of(module, self.target, count, meshes, device, loops, network, places)

    def physical_axes(self) -> dict[str, dict[int, int]]:
        """Return the physical axes of the torus along which each axis of the mesh goes.

        The value of a mesh axis has, for each physical axis, the number of positions on it; the
        axis after the last one is that of the cores of a chip.  Empty for a program without a mesh
        on a torus.

        >>> compiled.physical_axes()  # a mesh of 4 x 4 on v6e:4x4
        {'data': {0: 4}, 'model': {1: 4}}
        """
        places, meshes = self._places(), self._meshes()
        if places is None or not meshes:
            return {}
        names = map(str, meshes[0].axis_names)
        return dict(zip(names, positions_along(meshes[0].axis_sizes, places), strict=True))

    def _places(self) -> Sequence[tuple[int, ...]] | None:
        """Return the positions of the program's devices on a torus; None without one."""
        return None

    def _meshes(self) -> Sequence[AnyMesh]:
        """Return the meshes whose axes name the collectives, in order of preference."""
        return ()

    def _loops(self, trips: Mapping[str, int] | None) -> Callable[[], Mapping[str, int | None]]:
        loops_of_trips = self.cost(trips).loops if trips else None

        def loops() -> Mapping[str, int | None]:
            if loops_of_trips is not None or self._lowered is None:
                return loops_of_trips or {}
            return self.cost().loops

        return loops

    def profile(self, *args: Any, runs: int = 10, **kwargs: Any) -> Profile:
        """Call the program `runs` times with these arguments, and measure each of its kernels.

        See `olympus.analysis.profile` for the details.

        Raises SignatureError for arguments of another type, UsageError while another profile is
        running, and BackendError for a program of a backend other than the CPU.

        >>> jit(f).lower(x).compile().profile(x, runs=3).by("line")[0].seconds
        0.00012
        """
        from olympus_core.analysis.profiling import profile  # imported only if needed

        return profile(self, args, kwargs, runs=runs)

    def prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Callable[[], None]]:
        """Return a function that prepares a call and returns it; the call waits for its results.

        Arguments are on the device before the call.  Each call gets copies of the donated ones.

        Raises SignatureError for arguments of a type other than the compiled one.
        """
        inputs, avals = self._buffers(args, kwargs), self.signature.in_avals
        buffers = [xla.put(x) if isinstance(x, _NUMPY) else x for x in inputs]
        donated = {i: DeviceArray(avals[i], buffers[i]).numpy() for i in self.signature.donated}
        constants = self._constant_buffers()

        def prepare() -> Callable[[], None]:
            inputs = list(buffers)
            for i, value in donated.items():
                inputs[i] = put_array(value, avals[i]).buffer
            inputs = [*constants, *inputs]
            finish_buffers(inputs)
            return lambda: finish_buffers(self.executable.execute(inputs))

        return prepare

    def serialize(self) -> bytes:
        """Return the executable as bytes."""
        return self.executable.serialize()

    def runtime_executable(self) -> xla.Executable | xla.CompileOnlyExecutable:
        """Return the executable."""
        return self.executable
