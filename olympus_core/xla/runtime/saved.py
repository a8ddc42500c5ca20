"""A compiled program that was saved earlier, to inspect and not to run.

It needs no device and no native code is loaded: the optimized program is read from its text, and,
for the CPU, where its values are in memory from the executable's bytes.
"""

from __future__ import annotations

from typing import Any, NoReturn

from olympus_core.base.errors import ArtifactError, BackendError
from olympus_core.xla.door import Buffer, JaxRuntimeError, _hlo
from olympus_core.xla.runtime.executable import CompileOnlyExecutable
from olympus_core.xla.targets.targets import Target


class _Text:
    """The parts of a runtime's executable that a saved program has."""

    def __init__(self, module: Any, serialized: bytes) -> None:
        self._module = module
        self._serialized = serialized

    def hlo_modules(self) -> list[Any]:
        """Return the only module."""
        return [self._module]

    def serialize(self) -> bytes:
        """Return the bytes of the executable."""
        return self._serialized

    def get_compiled_memory_stats(self) -> NoReturn:
        """Raise the runtime's error for a figure that it does not have."""
        raise JaxRuntimeError("a saved program has no statistics of its memory")

    cost_analysis = get_compiled_memory_stats


class SavedExecutable(CompileOnlyExecutable):
    """A program of an earlier compilation: its figures are known, and it cannot run."""

    __slots__ = ()

    def run(self, buffers: list[Buffer]) -> Any:
        """Raise BackendError."""
        raise BackendError("the program was read to inspect it, and cannot run")

    execute = run


def saved_executable(text: str, serialized: bytes, target: Target) -> SavedExecutable:
    """Return the executable of an optimized HLO module, from `hlo_text` and `serialize`.

    Raises:
      ArtifactError: `text` is not one HLO module.
    """
    try:
        module = _hlo.hlo_module_from_text(text)
    except (JaxRuntimeError, ValueError, RuntimeError) as error:
        raise ArtifactError(f"the optimized program cannot be read: {error}") from None
    found = SavedExecutable(_Text(module, serialized), target)
    found.read_from(serialized)
    return found
