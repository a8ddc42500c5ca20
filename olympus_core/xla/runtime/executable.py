"""The compiler's result: a program to run, to inspect or to save.

An `Executable` can run here. A `CompileOnlyExecutable` was compiled for a device that is not here.
A `SavedExecutable` was compiled earlier: it needs no device and loads no native code, because the
optimized program is read from its text and, for the CPU, the places of its values in memory from
the executable's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from olympus_core.base import gc_pause
from olympus_core.base.errors import ArtifactError, BackendError, CompileError
from olympus_core.xla.bindings import JAXLIB_VERSION, Buffer, JaxRuntimeError, _hlo, _jax
from olympus_core.xla.hlo.hlo_module import HloModule
from olympus_core.xla.hlo.hlo_reader import read_hlo_module
from olympus_core.xla.messages import execution_error
from olympus_core.xla.proto.buffer_assignment import (
    BufferAssignment,
    MemoryAnalysis,
    read_assignment,
)
from olympus_core.xla.proto.serialized import canonical, described
from olympus_core.xla.proto.tpu_executable import optimized_module
from olympus_core.xla.runtime.arrays import put, result_handler, sharding_on
from olympus_core.xla.runtime.cpu import cpu_client
from olympus_core.xla.runtime.direct_calls import direct_data
from olympus_core.xla.runtime.hlo_conversion import numbers
from olympus_core.xla.runtime.host_calls import HostCalls, starter
from olympus_core.xla.runtime.tpu_modules import readable_module, saved_tpu_module
from olympus_core.xla.targets.targets import Target
from olympus_runtime.buffers import dispatched
from olympus_runtime.messages import clean
from olympus_runtime.program_types import ProgramTypes, program_types

__all__ = ["CompileOnlyExecutable", "Executable", "MemoryAnalysis", "ProgramTypes"]


#: The shardings of the arguments and of the results, each a serialized `OpSharding`.
SerializedShardings = tuple[tuple[bytes, ...], tuple[bytes, ...]]

_NO_CALLS = HostCalls()
_VALUES = (np.ndarray, np.generic)
_INLINE_FLOPS = 1000  # TfrtCpuExecutable runs a program with fewer in the thread of its caller


class _Program:
    """The inspection of a compiled program, whether or not it can run here.

    `xla_seconds` is the compiler's time; None if the program was loaded.
    """

    __slots__ = ("_assignment", "_module", "_proto", "_raw", "_stats", "target", "xla_seconds")

    def __init__(self, raw: Any, target: Target, xla_seconds: float | None = None) -> None:
        self._raw = raw
        self.target = target
        self.xla_seconds = xla_seconds
        self._module: HloModule | None = None
        self._assignment: BufferAssignment | None = None
        self._stats: Any = None
        self._proto: bytes | None = None  # the module of a program for TPUs

    def hlo_text(self, *, metadata: bool = True) -> str:
        """Return the optimized HLO; `metadata` adds the source paths and scopes."""
        options = _hlo.HloPrintOptions()
        options.print_metadata = metadata
        return "\n\n".join(module.to_string(options) for module in self._modules())

    def hlo_module(self) -> HloModule:
        """Return the optimized HLO as objects: instructions, their schedule, source lines.

        It is read once and cached, because an estimate and the memory figures both need it.

        Raises:
          ArtifactError: the executable is not one program, or its description is damaged.
        """
        if self._module is None:
            module = self._only()
            self._module = read_hlo_module(
                self._proto or bytes(module.as_serialized_hlo_module_proto())
            )
        return self._module

    def read_from(self, serialized: bytes) -> None:
        """Read the input of the memory figures and the estimate from the bytes of `serialize`.

        An executable for the CPU contains its program and the places of its values, which the
        compiler takes long to write again. If the bytes lack them, the compiler is queried later.
        Of an executable for TPUs the program is read.
        """
        if self.target.backend == "tpu" and self._proto is None:
            self._proto = optimized_module(serialized)
        description = described(serialized) if self.target.backend == "cpu" else None
        if description is None or self._module is not None:
            return
        try:
            with gc_pause.paused():
                module, assignment = (
                    read_hlo_module(description.module),
                    read_assignment(description.assignment),
                )
        except ArtifactError:  # they are something else
            return
        if module.name == self._only().name:
            self._module, self._assignment = module, assignment

    def _modules(self) -> list[Any]:
        """Return the optimized programs.

        That of a TPU is read from the bytes of the executable, because jaxlib 0.10.2 cannot read
        all programs that the compiler returns.

        Raises:
          CompileError: this jaxlib cannot read a program of a compiler that is newer.
        """
        if self.target.backend == "tpu" and self._proto is None:
            self._proto = optimized_module(self.serialize())
        try:
            if self._proto is None:
                return list(self._raw.hlo_modules())
            return [readable_module(self._proto)]
        except JaxRuntimeError as error:
            raise CompileError(
                f"jaxlib {JAXLIB_VERSION} cannot read the program as compiled for "
                f"{self.target.name or self.target.backend}: {clean(error)}",
                hint="jaxlib 0.12, which needs Python 3.12, reads programs of newer compilers",
            ) from None

    def _only(self) -> Any:
        modules = self._modules()
        if len(modules) != 1:
            raise ArtifactError(f"the executable has {len(modules)} programs, and must have one")
        return modules[0]

    def cost_analysis(self) -> dict[str, float] | None:
        """Return XLA's estimate: "flops", "bytes accessed", ...; None if XLA has none.

        A loop's body is counted once, whatever its number of iterations.
        """
        try:
            return numbers(self._raw.cost_analysis())
        except JaxRuntimeError:  # a compile-only client has no analysis; the CPU's reads any HLO
            modules = self._modules()
        if len(modules) != 1:
            return None
        return numbers(_jax.hlo_module_cost_analysis(cpu_client(), modules[0]))

    def memory(self) -> MemoryAnalysis:
        """Return the memory that the program needs, in bytes."""
        try:
            figures = self._compiler_figures()
        except JaxRuntimeError:
            return MemoryAnalysis(None, None, None, None, None, None)
        # No program has no code, and none peaks below its temporaries: both mean "not known".
        peak = figures.peak_memory_in_bytes or None
        return figures._replace(
            generated_code_size_in_bytes=figures.generated_code_size_in_bytes or None,
            peak_memory_in_bytes=peak
            if peak and peak >= (figures.temp_size_in_bytes or 0)
            else None,
        )

    def _compiler_figures(self) -> MemoryAnalysis:
        if self._assignment is not None and not self._assignment.is_simulated:
            return self._assignment.analysis()
        raw = self._memory_stats()
        sizes = (getattr(raw, name) for name in MemoryAnalysis._fields)
        return MemoryAnalysis(*(size if size >= 0 else None for size in sizes))  # some answer -1

    def _memory_stats(self) -> Any:
        """Return the compiler's memory statistics, cached because a query is slow."""
        if self._stats is None:
            self._stats = self._raw.get_compiled_memory_stats()
        return self._stats

    def buffer_assignment(self) -> BufferAssignment | None:
        """Return the place of each value in memory; None if the compiler does not report it (GPUs).

        Raises:
          ArtifactError: the description of it is damaged.
        """
        if self._assignment is not None:
            return self._assignment
        try:
            stats = self._memory_stats()
        except JaxRuntimeError:
            return None
        assignment_bytes = bytes(stats.serialized_buffer_assignment_proto)
        return read_assignment(assignment_bytes) if assignment_bytes else None

    def types(self) -> ProgramTypes:
        """Return the types of the arguments and results from the executable itself.

        Raises:
          ArtifactError: it is not one program on arrays in row-major order.
        """
        return program_types(self._only().as_serialized_hlo_module_proto())

    def shardings(self) -> tuple[list[Any] | None, list[Any] | None]:
        """Return the compiler's shardings of the arguments and the results; None on one device."""
        return self._raw.get_parameter_shardings(), self._raw.get_output_shardings()

    def layouts(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """Return the axes of each argument and each result in the order of memory.

        The slowest axis is the first one.
        """
        layouts = self._raw.get_parameter_layouts(), self._raw.get_output_layouts()
        ins, outs = ([_order(str(layout)) for layout in group] for group in layouts)
        return ins, outs

    def serialized_shardings(self) -> SerializedShardings | None:
        """Return the result of `shardings` as bytes; None on one device."""
        ins, outs = self.shardings()
        if ins is None or outs is None:
            return None
        return tuple(map(_sharding_bytes, ins)), tuple(map(_sharding_bytes, outs))

    def serialize(self) -> bytes:
        """Return the executable as bytes, which `load` reads on a machine like this one.

        Raises:
          ArtifactError: XLA cannot write it: it has run a comparison of its own, such as a sort's.
        """
        try:
            content = bytes(self._raw.serialize())
            return canonical(content) if self.target.backend == "cpu" else content
        except JaxRuntimeError as error:
            raise ArtifactError(
                f"XLA cannot write this executable as bytes: {error}",
                hint="save it before its first call, or compile the program once more to save it",
            ) from None


class Executable(_Program):
    """A program that can run here.

    `run(buffers).consume_with_handlers(handlers)` is `execute` without its frame and without
    its errors, for a caller that counts tenths of microseconds and turns `JaxRuntimeError`
    into `execution_error` itself.
    """

    __slots__ = ("_ends_in_call", "device", "handlers", "is_plain", "run")

    def __init__(
        self,
        raw: Any,
        target: Target,
        xla_seconds: float | None = None,
        calls: HostCalls | None = _NO_CALLS,
    ) -> None:
        super().__init__(raw, target, xla_seconds)
        self.device = raw.local_devices()[0]
        #: True if a call only runs the program, on one device
        self.is_plain = calls == _NO_CALLS and len(raw.local_devices()) == 1
        handler = result_handler(self.device)
        self.handlers = [handler] * len(raw.get_output_layouts())
        self.run = starter(raw, calls)
        self._ends_in_call: bool | None = None

    def dispatched(
        self,
        num_arguments: int,
        results: Sequence[Any],
        is_known: Callable[[Sequence[Any]], bool],
    ) -> Callable[..., Sequence[Buffer]] | None:
        """Return the execution as a function that jaxlib calls without Python; None if it cannot.

        It takes Buffers, and NumPy arrays and scalars that are not changed afterwards, and returns
        Buffers. `results` have the shape and dtype of each. Arguments for which `is_known` is True
        at their first call are the program's, on its device, and neither donated nor narrowed.
        Its errors are those of jaxlib.
        """

        def run(*inputs: Any) -> tuple[Buffer, ...]:
            buffers = [put(x, self.device) if isinstance(x, _VALUES) else x for x in inputs]
            return tuple(self.run(buffers).consume_with_handlers(self.handlers))

        place = sharding_on(self.device)
        try:
            return dispatched(self._raw, place, num_arguments, results, run, is_known)
        except (TypeError, ValueError, AttributeError):  # another version of jaxlib
            return None

    def direct_data(
        self,
        num_arguments: int,
        structure: Any,
        results: Sequence[Any],
        constants: tuple[Buffer, ...] = (),
    ) -> Any:
        """Return the data of direct calls of this program, which is plain; see `direct_call`."""
        return direct_data(self._raw, self.device, num_arguments, structure, results, constants)

    @property
    def ends_in_call(self) -> bool:
        """True if the program has ended when a call returns whose inputs are ready.

        The CPU's client runs programs with fewer than 1,000 flops in the thread of the caller.
        """
        if self._ends_in_call is None:
            flops = (self.cost_analysis() or {}).get("flops", _INLINE_FLOPS)
            self._ends_in_call = self.target.backend == "cpu" and flops < _INLINE_FLOPS
        return self._ends_in_call

    def execute(self, buffers: list[Buffer]) -> list[Buffer]:
        """Run on Buffers in the order of the parameters; the outputs may still be computing.

        The number and sizes of the Buffers are checked, their dtypes are not.

        Raises:
          UsageError: a Buffer was deleted or donated.
          BackendError: the program fails.
          CompileError: the program runs out of memory.
        """
        try:
            outputs: list[Buffer] = self.run(buffers).consume_with_handlers(self.handlers)
        except (JaxRuntimeError, ValueError) as exc:
            raise execution_error(exc) from None
        return outputs


class CompileOnlyExecutable(_Program):
    """A program compiled for a device that is not here: everything but running it."""

    __slots__ = ()
    handlers: ClassVar[list[Any]] = []

    def run(self, buffers: list[Buffer]) -> Any:
        """Raise BackendError."""
        raise BackendError(
            f"the program was compiled for {self.target.device} and cannot run here: "
            f"this machine has no such {self.target.backend}"
        )

    execute = run


class _SavedProgram:
    """The parts of a runtime's executable that a saved program has; `read` reads its module."""

    def __init__(
        self, read: Callable[[], Any], serialized: bytes, shardings: SerializedShardings | None
    ) -> None:
        self._read = read
        self._serialized = serialized
        self._shardings = (None, None) if shardings is None else shardings
        self._modules: list[Any] = []

    def get_parameter_shardings(self) -> list[Any] | None:
        """Return the shardings of the arguments."""
        return _parsed_shardings(self._shardings[0])

    def get_output_shardings(self) -> list[Any] | None:
        """Return the shardings of the results."""
        return _parsed_shardings(self._shardings[1])

    def hlo_modules(self) -> list[Any]:
        """Return the only module."""
        if not self._modules:
            self._modules.append(self._read())
        return self._modules

    def serialize(self) -> bytes:
        """Return the bytes of the executable."""
        return self._serialized

    def get_compiled_memory_stats(self) -> NoReturn:
        """Raise the runtime's error for a figure that it does not have."""
        raise JaxRuntimeError("a saved program has no statistics of its memory")

    cost_analysis = get_compiled_memory_stats


class SavedExecutable(CompileOnlyExecutable):
    """A program of an earlier compilation: its figures are known, and it cannot run."""

    __slots__ = ("_is_read",)

    def __init__(self, raw: _SavedProgram, target: Target) -> None:
        super().__init__(raw, target)
        self._is_read = False

    def read(self) -> None:
        """Read the executable's bytes, once."""
        if not self._is_read:
            self._is_read = True
            self.read_from(self._raw.serialize())

    def hlo_module(self) -> HloModule:
        """Return the optimized HLO as objects."""
        self.read()
        return super().hlo_module()

    def memory(self) -> MemoryAnalysis:
        """Return the memory that the program needs, in bytes."""
        self.read()
        return super().memory()

    def buffer_assignment(self) -> BufferAssignment | None:
        """Return the place of each value in memory; None if it is not known."""
        self.read()
        return super().buffer_assignment()

    def run(self, buffers: list[Buffer]) -> Any:
        """Raise BackendError."""
        raise BackendError("the program was read to inspect it, and cannot run")

    execute = run


def saved_executable(
    text: str,
    serialized: bytes,
    target: Target,
    shardings: SerializedShardings | None = None,
    *,
    is_checked: bool = False,
) -> SavedExecutable:
    """Return the executable of an optimized HLO module, from `hlo_text` and `serialize`.

    `shardings` is the result of `serialized_shardings`. The text is read immediately, or with
    `is_checked` when it is first inspected.

    Raises:
      ArtifactError: `text` is not one HLO module.
    """
    proto: bytes | None = None
    if target.backend == "tpu":
        proto = _read_or_error(lambda: saved_tpu_module(text, serialized))

    def module() -> Any:
        if proto is not None:
            return _read_or_error(lambda: readable_module(proto))
        return _read_or_error(lambda: _hlo.hlo_module_from_text(text))

    program = _SavedProgram(module, serialized, shardings)
    executable = SavedExecutable(program, target)
    executable._proto = proto
    if not is_checked:
        program.hlo_modules()
        executable.read()
    return executable


def _sharding_bytes(sharding: Any) -> bytes:
    return bytes(sharding.SerializeToString())


def _parsed_shardings(contents: Sequence[bytes] | None) -> list[Any] | None:
    if contents is None:
        return None
    shardings = []
    for content in contents:
        sharding = _hlo.OpSharding()
        sharding.ParseFromString(content)
        shardings.append(sharding)
    return shardings


_T = TypeVar("_T")


def _read_or_error(read: Callable[[], _T]) -> _T:
    try:
        return read()
    except (JaxRuntimeError, ValueError, RuntimeError) as error:
        raise ArtifactError(f"the optimized program cannot be read: {error}") from None


def _order(layout: str) -> tuple[int, ...]:
    """Return the axes of a layout such as `{0,1}`, the slowest first."""
    axes = layout.strip("{}").partition(":")[0]
    return tuple([int(axis) for axis in reversed(axes.split(",")) if axis])
