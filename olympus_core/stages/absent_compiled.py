"""A program compiled for one device of an accelerator, whether or not this machine has it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from olympus_core import xla
from olympus_core.stages.compiled import Compiled


class AbsentCompiled(Compiled):
    """A program that is loaded for its first call, if this machine has the target's device.

    Compilation uses the description of a device, so that no accelerator is needed to build, and the
    executable that runs is the one that is saved.
    """

    @functools.cached_property
    def _loaded(self) -> Compiled:
        """The program on the device; raises BackendError without one of the target's kind."""
        if self._lowered is None or not xla.runs_here(self.target):
            self.executable.run([])  # raises
        assert self._lowered is not None
        return self._lowered.load(self.serialize())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._loaded(*args, **kwargs)

    def prepared(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Callable[[], None]]:
        return self._loaded.prepared(args, kwargs)
