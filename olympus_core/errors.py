"""Every error OLYMPUS raises on purpose, with the exit code the command line gives it.

They are raised anywhere in the core or the command line, and printed in one place.  Where Python
has a class that users of array programs expect (`TypeError`, `ValueError`, `IndexError`), the class
here derives from it too.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "ArtifactError",
    "BackendError",
    "CompileError",
    "ConcretizationError",
    "ConfigError",
    "DTypeError",
    "DeletedArrayError",
    "EntryError",
    "ExchangeError",
    "FrozenError",
    "GateError",
    "IndexingError",
    "InternalError",
    "KeyReuseError",
    "LeakedTracerError",
    "LoweringError",
    "MachineError",
    "MissingRuleError",
    "NaNError",
    "NonConcreteBooleanIndexError",
    "OlympusError",
    "OlympusWarning",
    "RangeError",
    "ShapeError",
    "ShardingError",
    "SignatureError",
    "SpecError",
    "TraceError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TransformError",
    "TreeError",
    "TypePromotionError",
    "UnboundAxisError",
    "UsageError",
]


class OlympusError(Exception):
    """The base of every error raised on purpose; `hint` is one line on what to do about it."""

    exit_code = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class OlympusWarning(UserWarning):
    """The class of the warnings that OLYMPUS gives."""


class GateError(OlympusError):
    """Raised when a check, comparison, diff or bench gate says no."""

    exit_code = 1


class UsageError(OlympusError):
    """Raised when an option, a spec or an entry is wrong."""

    exit_code = 2


class EntryError(UsageError):
    """Raised when the module or function that an entry names cannot be found or imported."""


class DeletedArrayError(UsageError, RuntimeError):
    """Raised when an array is used whose buffer was deleted, or donated to a program."""


class SpecError(UsageError):
    """Raised when `olympus.toml` or the text of a shape or a static is wrong."""


class TraceError(OlympusError):
    """Raised when a function fails while it is traced; `location` is the user's "file:line"."""

    exit_code = 3

    def __init__(
        self, message: str, *, hint: str | None = None, location: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.location = location


class ConcretizationError(TraceError, TypeError):
    """Raised when Python needs the value of an array that is traced and so has none yet."""


class TracerBoolConversionError(ConcretizationError):
    """Raised when Python asks whether a traced array is true, as `if` and `while` do."""


class TracerIntegerConversionError(ConcretizationError):
    """Raised when Python needs a traced array as an integer, as `range` and lists do."""


class TracerArrayConversionError(ConcretizationError):
    """Raised when NumPy needs the values of a traced array."""


class LeakedTracerError(TraceError, TypeError):
    """Raised when a traced value is used after the transformation that made it has ended."""


class ShapeError(TraceError, TypeError, ValueError):
    """Raised when the shapes of an operation's operands do not fit together."""


class DTypeError(TraceError, TypeError):
    """Raised when an operation does not take, or a program cannot have, the dtype it got."""


class TypePromotionError(DTypeError, ValueError):
    """Raised when dtypes have no implicit promotion, or strict promotion refuses it."""


class RangeError(DTypeError, OverflowError):
    """Raised when a Python integer does not fit the dtype that it is to have."""


class ArgumentError(TraceError, TypeError, ValueError):
    """Raised when a function of the library gets an option or a value that it does not have."""


class ShardingError(ArgumentError):
    """Raised when an array, a mesh and a sharding do not fit together, or devices differ."""


class ExchangeError(TraceError, BufferError):
    """Raised when an array cannot be exchanged with another library in the way that was asked."""


class IndexingError(TraceError, IndexError, TypeError):
    """Raised when an index has a type, a rank or a bound that indexing does not take."""


class NonConcreteBooleanIndexError(IndexingError):
    """Raised when an array is indexed by a mask that is traced: how much is left depends on it."""


class KeyReuseError(TraceError, TypeError):
    """The error of a random key used twice: OLYMPUS does not look for it, and never raises this."""


class ConfigError(UsageError, AttributeError):
    """Raised for an option of `config` that is neither JAX's nor OLYMPUS's own."""


class TreeError(TraceError, TypeError, ValueError):
    """Raised when a value cannot be a tree, or a tree has not the structure that it must have."""


class TransformError(TraceError, TypeError, ValueError):
    """Raised when a transformation cannot be applied to the function or arguments it got."""


class UnboundAxisError(TransformError, NameError):
    """Raised when a collective names an axis that no transformation around it maps."""


class NaNError(TraceError, FloatingPointError):
    """Raised when `debug_nans` or `debug_infs` is on and an operation gives what it looks for."""


class LoweringError(TraceError):
    """Raised when a traced program has no form in StableHLO for the target."""


class MachineError(OlympusError, RuntimeError):
    """The base of the errors of compilers, runtimes and devices."""


class CompileError(MachineError):
    """Raised when the compiler fails, is killed, or runs out of its time or memory."""

    exit_code = 4


class ArtifactError(OlympusError):
    """Raised when an artifact is damaged, foreign, or does not fit this host."""

    exit_code = 5


class BackendError(MachineError):
    """Raised when a backend or a device is not available; the message says how to get it."""

    exit_code = 6


class FrozenError(OlympusError):
    """Raised when `--frozen` is given and something would have to be built."""

    exit_code = 7


class InternalError(OlympusError):
    """Raised when OLYMPUS finds that it broke a rule of its own: a defect to report."""


class MissingRuleError(InternalError):
    """Raised when a primitive lacks a rule; the message names the method to write."""


class SignatureError(UsageError, TypeError):
    """Raised when a function or a compiled program is called with arguments it does not take."""


# Users, their tests and doctests know this one as Python's own TypeError, so it is shown as that.
SignatureError.__module__, SignatureError.__qualname__ = "builtins", "TypeError"
