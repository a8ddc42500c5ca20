"""The errors that OLYMPUS raises on purpose, with their exit codes on the command line.

They are raised anywhere in the core or the command line, and printed in one place.  If Python
has a class that users of array programs expect (`TypeError`, `ValueError`, `IndexError`), the class
here derives from it too.
"""

from __future__ import annotations

from olympus_bundle.errors import (
    ArtifactError,
    BackendError,
    CompileError,
    MachineError,
    OlympusError,
    OlympusWarning,
    SignatureError,
    UsageError,
)

__all__ = [
    "ArgumentError",
    "ArtifactError",
    "BackendError",
    "CallbackError",
    "CheckError",
    "CompileError",
    "ConcretizationTypeError",
    "ConfigError",
    "DTypeError",
    "DeletedArrayError",
    "DeviceMemoryError",
    "DisabledError",
    "DonationError",
    "EntryError",
    "ExchangeError",
    "FrozenError",
    "GateError",
    "InconclusiveDimensionOperation",
    "IndexingError",
    "InternalError",
    "KeyReuseError",
    "LoweringError",
    "MachineError",
    "MissingMeshError",
    "MissingRuleError",
    "NaNError",
    "NoDerivativeError",
    "NonConcreteBooleanIndexError",
    "OlympusError",
    "OlympusWarning",
    "OptionError",
    "PaddingError",
    "PaddingNameError",
    "RangeError",
    "ShapeError",
    "ShardingAssertionError",
    "ShardingError",
    "ShardingTypeError",
    "SignatureError",
    "SpecError",
    "StaticError",
    "TraceError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TransformError",
    "TreeError",
    "TypePromotionError",
    "UnboundAxisError",
    "UndefinedRuleError",
    "UnexpectedTracerError",
    "UnknownNameError",
    "UnsupportedError",
    "UsageError",
    "VmapMethodError",
]


class GateError(OlympusError):
    """Raised when a check, comparison, diff or bench gate fails."""

    exit_code = 1


class EntryError(UsageError):
    """Raised when the module, function or output of an entry cannot be found or imported."""


class DeletedArrayError(UsageError, RuntimeError, ValueError):
    """Raised when an array is used whose buffer was deleted, or donated to a program."""


class DonationError(UsageError, MachineError):
    """Raised when an array is donated to a program and passed for another argument too."""


class DisabledError(UsageError, RuntimeError):
    """Raised when a function is traced or run in a context that forbids it, as `no_execution`."""


class OptionError(UsageError, TypeError, ValueError):
    """Raised when `jit` or a similar function gets an invalid option, such as `static_argnums`."""


class StaticError(SignatureError, ValueError):
    """Raised when a static argument of a function has no hash."""


class UnknownNameError(UsageError, RuntimeError):
    """Raised for a backend or a compiler option that OLYMPUS does not have."""


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


class ConcretizationTypeError(TraceError, TypeError):
    """Raised when Python needs the value of a traced array, which has none yet."""


def concrete_value_expected(
    message: str, *, hint: str | None = None, location: str | None = None
) -> ConcretizationTypeError:
    """Return the error for a value that a function needs while it is traced, with JAX's term.

    >>> str(concrete_value_expected("repeat needs a number")).partition(": ")[2]
    'repeat needs a number'
    """
    term = "Abstract tracer value encountered where concrete value is expected"
    return ConcretizationTypeError(f"{term}: {message}", hint=hint, location=location)


class TracerBoolConversionError(ConcretizationTypeError, ValueError):
    """Raised when Python needs the truth value of a traced array, as `if` and `while` do."""


class TracerIntegerConversionError(ConcretizationTypeError):
    """Raised when Python needs a traced array as an integer, as `range` and lists do."""


class TracerArrayConversionError(ConcretizationTypeError):
    """Raised when NumPy needs the values of a traced array."""


class UnexpectedTracerError(TraceError, TypeError):
    """Raised when a traced value is used after the end of the transformation that created it."""


def escaped_tracer(user: str, type_name: str, origin: str) -> UnexpectedTracerError:
    """Return the error for a traced value that `user`, an operation, got too late."""
    return UnexpectedTracerError(
        f"Encountered an unexpected tracer: {user} got an intermediate value with type "
        f"{type_name} outside of the function it belongs to: it is {origin}. The function had a "
        "side effect, allowing for a reference to the value to escape the scope of the "
        "transformation",
        hint="return values from the function instead of storing them in a global or an attribute; "
        "olympus.checking_leaks() finds the leak earlier",
    )


class ShapeError(TraceError, TypeError, ValueError):
    """Raised when the shapes of an operation's operands do not match."""


class InconclusiveDimensionOperation(TraceError, TypeError, ValueError):
    """Raised when the constraints do not decide a comparison of symbolic dimensions."""


class DTypeError(TraceError, TypeError, ValueError):
    """Raised when an operation or a program does not support a dtype."""


class TypePromotionError(DTypeError):
    """Raised when dtypes have no implicit promotion, or strict promotion forbids it."""


class RangeError(DTypeError, OverflowError):
    """Raised when a Python integer is out of range of its dtype."""


class ArgumentError(TraceError, TypeError, ValueError):
    """Raised when a function of the library gets an invalid option or value."""


class UnsupportedError(TraceError, NotImplementedError):
    """Raised for an option of NumPy or JAX that a function does not implement."""


class ShardingError(ArgumentError):
    """Raised when an array, a mesh and a sharding do not match, or devices differ."""


class PaddingNameError(ArgumentError, RuntimeError):
    """Raised when the name of a padding is not "VALID", "SAME" or "SAME_LOWER"."""


class MissingMeshError(ArgumentError, RuntimeError):
    """Raised for a PartitionSpec where no mesh is set."""


class ShardingTypeError(ShardingError):
    """Raised when the shardings in the types of operands do not determine that of the result."""


class ShardingAssertionError(ShardingError, AssertionError):
    """Raised by `with_sharding_constraint` for an array whose type has another sharding."""


class ExchangeError(TraceError, BufferError):
    """Raised when an array cannot be exchanged with another library in the requested way."""


class IndexingError(TraceError, IndexError, TypeError):
    """Raised for an index of an unsupported type or rank, and by functions that check bounds."""


class NonConcreteBooleanIndexError(IndexingError):
    """Raised when an array is indexed by a traced mask, which determines the result's shape."""


class KeyReuseError(TraceError, TypeError):
    """The error for reuse of a random key: OLYMPUS does not check this, and never raises it."""


class ConfigError(UsageError, AttributeError):
    """Raised for an option of `config` that is neither JAX's nor OLYMPUS's own."""


class TreeError(TraceError, TypeError, ValueError):
    """Raised when a value cannot be a tree, or a tree does not have the required structure."""


class TransformError(TraceError, TypeError, ValueError):
    """Raised when a transformation does not apply to its function or arguments."""


class NoDerivativeError(TransformError, NotImplementedError):
    """Raised for the derivative of an operation that has none."""


class UndefinedRuleError(TransformError, AttributeError):
    """Raised when a function that needs a rule of its author is called before it has one."""


class VmapMethodError(TransformError, NotImplementedError):
    """Raised for `vmap` of a call of a Python function without a rule for it."""


class UnboundAxisError(TransformError, NameError):
    """Raised when a collective names an axis that no transformation around it maps."""


class NaNError(TraceError, FloatingPointError):
    """Raised when an operation returns a NaN, or an infinity, while `debug_nans` checks for it."""


class LoweringError(TraceError):
    """Raised when a traced program has no form in StableHLO for the target."""


class PaddingError(TraceError):
    """Raised when padded rows of a program's arguments could change its other rows."""


class DeviceMemoryError(CompileError):
    """Raised when a program does not fit the memory of the device that it is compiled for."""


class CheckError(OlympusError, ValueError):
    """Raised when a check of a program fails; `location` is the user's "file:line"."""

    exit_code = 1

    def __init__(
        self, message: str, *, hint: str | None = None, location: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.location = location


class CallbackError(BackendError):
    """Raised when a Python function that a program calls fails; the message has its traceback."""


class FrozenError(OlympusError):
    """Raised when `--frozen` is given and something would have to be built."""

    exit_code = 7


class InternalError(OlympusError):
    """Raised when OLYMPUS detects a violation of its own rules: a defect to report."""


class MissingRuleError(InternalError):
    """Raised when a primitive lacks a rule; the message names the method to write."""


# Tracebacks name errors by the module that users import them from.
for _name in __all__:
    if globals()[_name] is not SignatureError:  # it has the name of Python's own TypeError
        globals()[_name].__module__ = "olympus.errors"
del _name
