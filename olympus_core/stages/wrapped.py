"""The types of functions that are ready to be traced, and of the compiler's options."""

from typing import Any, Protocol, runtime_checkable

from olympus_core.stages.stages import Lowered, Traced

#: options of the compiler, by name
CompilerOptions = dict[str, str | bool]


@runtime_checkable
class Wrapped(Protocol):
    """A function to call, trace or lower, as `jit` returns it; `isinstance` accepts it.

    >>> isinstance(jit(lambda x: x), Wrapped)
    True
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Trace, compile and run the function."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace the function for arguments of these types."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace the function, and lower its program to StableHLO."""
