"""A program on a device: loaded from an executable or compiled, and called with NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_bundle.checks import check_donation, compare_types
from olympus_bundle.errors import ArtifactError, CompileError
from olympus_bundle.host_functions import HostFunctions, calls_python, check_calls
from olympus_bundle.manifest import ArrayInfo, Signature
from olympus_runtime.bindings import JaxRuntimeError, _jax
from olympus_runtime.buffers import OneDevice, dispatched, is_wide, result_handler
from olympus_runtime.cpu import ensure_lapack_for
from olympus_runtime.messages import artifact_error, clean
from olympus_runtime.program_types import program_types

Array = np.ndarray[Any, np.dtype[Any]]

_COPY = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
_SHARE = _jax.HostBufferSemantics.ZERO_COPY  # if the address of the array is aligned
# The name of an operation that can fail, in the bytes of a module.
_CUSTOM_CALL = b"custom-call"
# A run that needs at most these bytes, and calls nothing, does not fail for lack of memory.
_SMALL = 1 << 16
_NO_FUNCTIONS = HostFunctions()


def load_executable(
    serialized: bytes, client: Any, functions: HostFunctions = _NO_FUNCTIONS
) -> Any:
    """Return jaxlib's executable from the bytes of a bundle, on the first device of a client.

    `functions` are the Python functions that it calls.

    Raises:
      ArtifactError: the bytes are damaged, or have another version or machine.
    """
    ensure_lapack_for(serialized)
    try:
        bound = list(functions.bound)
        raw = client.deserialize_executable(serialized, _first(client), None, bound)
    except (JaxRuntimeError, ValueError) as exc:
        raise artifact_error(exc) from None
    if calls_python(serialized):
        check_calls(raw.get_hlo_text, functions)
    return raw


def compile_program(
    program: bytes,
    client: Any,
    options: Sequence[tuple[str, object]] = (),
    functions: HostFunctions = _NO_FUNCTIONS,
) -> Any:
    """Return jaxlib's executable of portable StableHLO, for the first device of a client.

    `options` are names and values of the options of the compiler. `functions` are the Python
    functions that the program calls.

    Raises:
      CompileError: the compiler fails; the message is the compiler's.
    """
    ensure_lapack_for(program)
    try:
        settings = _jax.CompileOptions()
        settings.env_option_overrides = list(options)
        raw = client.compile_and_load(program, _first(client), settings)
        # the compiler takes functions with MLIR's object of a module alone; a loader takes them too
        if functions.bound:
            return load_executable(raw.serialize(), client, functions)
    except (JaxRuntimeError, ValueError) as exc:
        raise CompileError(f"the compiler failed: {clean(exc)}") from None
    if calls_python(program):
        check_calls(raw.get_hlo_text, functions)
    return raw


def _first(client: Any) -> Any:
    return _jax.DeviceList((client.local_devices()[0],))


#: A program: flat arguments in, flat buffers out.
Buffers = Callable[..., tuple[Any, ...]]


class RunningProgram:
    """An executable with its device."""

    def __init__(
        self,
        raw: Any,
        signature: Signature,
        constants: Sequence[tuple[ArrayInfo, Array]] = (),
        *,
        has_effects: bool = False,
    ) -> None:
        """Check the executable against the signature; calls wait for its effects if it has any.

        `constants` are the arguments that precede those of a call, with their values. These are put
        on the device once; a CPU reads the memory of aligned ones.

        Raises:
          ArtifactError: they differ in number, shape, dtype or the memory of donated arguments.
        """
        modules = raw.hlo_modules()
        if len(modules) != 1:
            raise ArtifactError(f"the executable has {len(modules)} programs, and must have one")
        module = modules[0].as_serialized_hlo_module_proto()
        types, infos = program_types(module), [info for info, _ in constants]
        for kind, arrays, actual in (
            ("argument", [*infos, *signature.arguments], types.arguments),
            ("result", signature.results, types.results),
        ):
            declared = [(array.dtype, array.shape) for array in arrays]
            compare_types(kind, "executable", arrays, declared, actual)
        memory = raw.get_compiled_memory_stats()
        check_donation(signature, memory.alias_size_in_bytes)
        needed = memory.temp_size_in_bytes + memory.output_size_in_bytes
        self._run = _waiting(raw) if has_effects else raw.execute_sharded
        self._results = signature.results
        self._devices = [raw.local_devices()[0]]
        can_fail = has_effects or needed > _SMALL or _CUSTOM_CALL in module
        known = self._devices[0].platform == "cpu" and {x.dtype.isbuiltin for x in self._results}
        #: True if `numpy.asarray` reads the results; it waits for a run that cannot fail
        self.is_readable = not can_fail and known == {1}
        self._place = OneDevice(self._devices[0])
        self._handlers = [result_handler(self._place)] * len(signature.results)
        self._inputs = [(a, _COPY if a.donated else _SHARE) for a in signature.arguments]
        self._raw = raw
        hidden = [(x, _SHARE) for x in infos]
        self._constants = tuple(self._put([x for _, x in constants], hidden))
        changes = any(a.donated or is_wide(a.dtype) for a in signature.arguments)
        self._may_dispatch = not (has_effects or changes)

    def function(self, arrays_of: Callable[[Sequence[Any]], Sequence[Array]]) -> Buffers:
        """Return the program as a function of flat arguments, which returns flat buffers.

        `arrays_of` returns the arrays for the arguments of a call, of the types of the signature.
        It is not called again for NumPy arrays and scalars of these types: jaxlib knows them, and
        reads the bytes of arrays in native order.

        An argument that is not donated is not copied if its memory is aligned. Several threads may
        call. Errors are those of jaxlib, for `value`.
        """

        def run(*leaves: Any) -> tuple[Any, ...]:
            return self._buffers(arrays_of(leaves))

        def is_known(leaves: Sequence[Any]) -> bool:
            return all(
                isinstance(x, np.ndarray | np.generic)
                and (x.dtype, x.shape) == (info.dtype, info.shape)
                for x, (info, _) in zip(leaves, self._inputs, strict=True)
            )

        if not self._may_dispatch:
            return run
        parts = self._raw, self._place, len(self._inputs), self._results
        try:
            return dispatched(*parts, run, is_known, self._constants)
        except (TypeError, ValueError, AttributeError):  # another version of jaxlib
            return run

    def _put(self, arrays: Sequence[Array], inputs: Sequence[tuple[ArrayInfo, Any]]) -> list[Any]:
        put, place, devices = _jax.batched_device_put, self._place, self._devices
        return [
            put(info, place, [array], devices, True, False, semantics, True)
            for array, (info, semantics) in zip(arrays, inputs, strict=True)
        ]

    def _buffers(self, arrays: Sequence[Array]) -> tuple[Any, ...]:
        inputs = [*self._constants, *self._put(arrays, self._inputs)]
        return tuple(self._run(inputs).consume_with_handlers(self._handlers))


def _waiting(raw: Any) -> Callable[[Sequence[Any]], Any]:
    """Return the function that runs a program and waits for its effects."""

    def run(buffers: Sequence[Any]) -> Any:
        results = raw.execute_sharded(buffers, with_tokens=True)
        results.consume_token().block_until_ready()
        return results

    return run


def value(buffer: Any, result: ArrayInfo) -> Array:
    """Return the value of a buffer as a read-only array; wait until it is computed.

    The array shares the runtime's memory, if NumPy knows its dtype.
    """
    buffer.block_until_ready()  # the buffer protocol ends the process if the run failed
    try:
        return np.asarray(memoryview(buffer))
    except BufferError:  # a dtype of ml_dtypes, or the memory of an accelerator
        pass
    if buffer.platform() == "cpu" and not result.dtype.name.startswith(("int", "uint", "float4")):
        content = ctypes.string_at(buffer.unsafe_buffer_pointer(), result.bytes)
        return np.frombuffer(content, result.dtype).reshape(result.shape)
    return np.asarray(buffer._single_device_array_to_np_array_did_copy()[0])  # may import jax
