"""The thread-local context of running code: the switches and other values of a thread.

Each is declared once, as an attribute of `Context`, with its type, its default, and its effect on
traced programs.  The keys of the caches of traced programs are derived from these
declarations.
"""

import contextlib
import operator
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypeVar, get_args

from olympus_core.base.errors import ArgumentError

_T = TypeVar("_T")


class _Mark:
    """The declaration of a value of the context."""

    def __init__(self, traced: bool, switch: bool) -> None:
        self.traced = traced
        self.switch = switch


#: A switch of the user on which traced programs depend.
TracedSwitch = Annotated[_T, _Mark(traced=True, switch=True)]
#: A switch on which no program depends.
Switch = Annotated[_T, _Mark(traced=False, switch=True)]
#: A value that OLYMPUS sets while code runs, and on which traced programs depend.
TracedValue = Annotated[_T, _Mark(traced=True, switch=False)]
#: A value that OLYMPUS sets, and on which no program depends.
Value = Annotated[_T, _Mark(traced=False, switch=False)]


def _switched_on(variable: str) -> bool:
    text = os.environ.get(variable, "").lower()
    if text not in ("", "0", "false", "no", "1", "true", "yes"):
        warnings.warn(f"{variable} is 0 or 1, and not {text!r}, which is taken for 0", stacklevel=2)
    return text in ("1", "true", "yes")


class Context(threading.local):
    """A thread's values; the attributes of the class are the process's defaults."""

    allow_f16_reductions: TracedSwitch[bool] = True
    array_garbage_collection_guard: Switch[str] = "allow"
    auto_pcast: TracedSwitch[bool] = True
    check_tracer_leaks: Switch[bool] = False
    debug_infs: Switch[bool] = False
    debug_nans: Switch[bool] = False
    default_matmul_precision: TracedSwitch[Any] = None  # a parameter `precision` of contractions
    default_prng_impl: TracedSwitch[str] = "threefry2x32"
    disable_jit: TracedSwitch[bool] = False
    enable_checks: Switch[bool] = False
    enable_custom_prng: TracedSwitch[bool] = False
    enable_x64: TracedSwitch[bool] = _switched_on("OLYMPUS_ENABLE_X64")
    include_full_tracebacks_in_locations: TracedSwitch[bool] = False
    explain_cache_misses: Switch[bool] = False
    legacy_prng_key: Switch[str] = "allow"
    log_compiles: Switch[bool] = False
    no_execution: Switch[bool] = False
    no_tracing: Switch[bool] = False
    numpy_dtype_promotion: TracedSwitch[str] = "standard"
    numpy_rank_promotion: TracedSwitch[str] = "allow"
    remove_size_one_mesh_axis_from_type: TracedSwitch[bool] = False
    softmax_custom_jvp: TracedSwitch[bool] = False
    threefry_partitionable: TracedSwitch[bool] = True
    transfer_guard_device_to_device: Switch[str] = "allow"
    transfer_guard_device_to_host: Switch[str] = "allow"
    transfer_guard_host_to_device: Switch[str] = "allow"

    #: the user requested the copies of arrays to devices, by `device_put`
    is_explicit_transfer: Value[bool] = False
    #: the interpreter that primitives bind to; `eager` sets the process's
    trace: Value[Any]
    #: the names and sizes of the named axes, outermost first
    axes: TracedValue[tuple[tuple[Any, int], ...]] = ()
    #: the values of the dimension variables in the function that is being emitted; None without
    dimensions: Value[Any] = None
    #: the pairs of symbolic sizes that were last compared without a decision, for hints
    undecided: Value[tuple[tuple[Any, Any], ...]] = ()
    #: the mesh of PartitionSpecs that are given without one, and of the arrays that programs create
    mesh: TracedValue[Any] = None
    #: the mesh of `Auto` axes that the arguments of the function that is traced are on
    argument_mesh: Value[Any] = None
    #: the device of arrays that are put on none; None for the first device of the CPU
    default_device: TracedValue[Any] = None
    #: the meshes that are contexts, innermost last: constraints to PartitionSpecs use the last one
    entered_meshes: TracedValue[tuple[Any, ...]] = ()
    #: the contexts that set the mesh, innermost last, each with the mesh before it
    mesh_contexts: Value[tuple[tuple[Any, Any], ...]] = ()
    #: the names of the axes along which collectives are errors
    no_collectives: TracedValue[frozenset[Any]] = frozenset()
    #: the checked axes of a `shard_map` along which values may vary without a record in their types
    unrecorded_axes: TracedValue[frozenset[Any]] = frozenset()
    #: the axes of a `shard_map` along which cotangents are parts that are summed later
    parted: Value[frozenset[Any]] = frozenset()
    #: the name scope: "outer/inner"
    scope: TracedValue[str] = ""
    #: the attributes for the compiler of the operations that are traced, names and texts
    annotations: TracedValue[tuple[tuple[str, str], ...]] = ()
    #: JAX lowers a program that is to be raised, so that the calls in it stay calls
    is_raising: Value[bool] = False
    #: the folder to which the files in the locations of lowered programs are relative, or ""
    source_root: Value[str] = ""
    #: the code is a Python function that a running program calls
    in_host_call: Value[bool] = False
    #: a constant index out of bounds stays one, for the checks of `checkify`
    keeps_indices: TracedValue[bool] = False
    #: the functions that get values of mutable references, innermost last, and searches for them
    reference_frames: Value[tuple[Any, ...]] = ()
    #: the functions with a rule that are staged to find the references that they write
    searched_rules: Value[tuple[Any, ...]] = ()
    #: the number of reads of mutable references so far
    reference_reads: Value[int] = 0
    #: the contexts of programs, each with its value, outermost first
    user_contexts: TracedValue[tuple[tuple[Any, Any], ...]] = ()
    #: the `Source` of operations, in place of the user's line
    source: TracedValue[Any] = None


_MARKS: dict[str, _Mark] = {
    name: get_args(declared)[1] for name, declared in Context.__annotations__.items()
}

#: the switches, by name
SWITCHES = tuple(name for name, mark in _MARKS.items() if mark.switch)

state = Context()

#: the names of the values that `surroundings` returns
SURROUNDINGS = tuple(name for name, mark in _MARKS.items() if mark.traced)

_surroundings: Callable[[Context], tuple[Any, ...]] = operator.attrgetter(*SURROUNDINGS)


def surroundings() -> tuple[Any, ...]:
    """Return all values, besides a function and its arguments' types, that staging depends on."""
    return _surroundings(state)


#: values that change how a program is called, and not the program
_CALLS = ("debug_infs", "debug_nans", "no_execution", "transfer_guard_host_to_device")
#: values on which only the locations of a program depend
_LOCATIONS = ("scope", "source")

_FOLLOWED = frozenset(
    [n for n, mark in _MARKS.items() if (mark.traced and n not in _LOCATIONS) or n in _CALLS]
)

_conditions: Callable[[Any], tuple[Any, ...]] = operator.attrgetter(*sorted(_FOLLOWED))


def call_conditions() -> tuple[Any, ...]:
    """Return all values, besides the arguments, that the call of a staged function depends on."""
    return _conditions(state)


def process_conditions() -> tuple[Any, ...]:
    """Return the `call_conditions` of a thread that is in no context."""
    return _conditions(Context)


def _ignore(_: Any = None) -> None:
    """Follow no change."""


class _Followers:
    """The functions to call when a value of the thread, or of the process, has changed.

    `enter_trace` is called for a trace that becomes current, and `leave_trace` with its result when
    the previous one is current again.
    """

    thread: Callable[[], None] = staticmethod(_ignore)
    process: Callable[[], None] = staticmethod(_ignore)
    enter_trace: Callable[[], Any] = staticmethod(_ignore)
    leave_trace: Callable[[Any], None] = staticmethod(_ignore)


followers = _Followers()


_GUARDS = ("allow", "log", "disallow", "log_explicit", "disallow_explicit")
#: the switches with names for values; the others, except the precision, are True or False
_CHOICES: dict[str, tuple[str, ...]] = {
    "array_garbage_collection_guard": ("allow", "log", "fatal"),
    "default_prng_impl": (
        *("threefry2x32", "threefry4x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32"),
    ),
    "legacy_prng_key": ("allow", "warn", "error"),
    "transfer_guard_device_to_device": _GUARDS,
    "transfer_guard_device_to_host": _GUARDS,
    "transfer_guard_host_to_device": _GUARDS,
    "numpy_dtype_promotion": ("standard", "strict"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
}
_UNSET: Any = object()


def checked(name: str, value: Any) -> Any:
    """Return a switch's value as it is stored; raise ArgumentError for an invalid one."""
    choices = _CHOICES.get(name)
    if choices is None:
        if value not in (True, False):
            raise ArgumentError(f"{name} is True or False, not {value!r:.60}")
        return bool(value)
    if value not in choices:
        raise ArgumentError(
            f"new enum value must be in {list(choices)}, got {value!s:.60} as {name}"
        )
    return value


def set_process(name: str, value: Any) -> None:
    """Set a switch for every thread that is not in a context that sets it."""
    setattr(Context, name, value)
    followers.process()


@contextlib.contextmanager
def switched(name: str, value: Any) -> Iterator[None]:
    """Within the context, set a switch to a value, which is checked, in this thread."""
    old = vars(state).get(name, _UNSET)
    setattr(state, name, value)
    is_followed = name in _FOLLOWED
    if is_followed:
        followers.thread()
    try:
        yield
    finally:
        if old is _UNSET:
            delattr(state, name)
        else:
            setattr(state, name, old)
        if is_followed:
            followers.thread()


def enter_mesh(owner: object, mesh: Any, before: Any) -> None:
    """Set the mesh until `leave_mesh(owner)`, which restores the previous one."""
    state.mesh_contexts = (*state.mesh_contexts, (owner, before))
    state.mesh = mesh
    followers.thread()


def leave_mesh(owner: object) -> bool:
    """Leave the innermost context of `owner`; return True if it had one.

    A context that is left before an inner one, such as in a generator, does not change the mesh.
    """
    contexts = state.mesh_contexts
    place = next((i for i in reversed(range(len(contexts))) if contexts[i][0] is owner), None)
    if place is None:
        return False
    before, inner = contexts[place][1], contexts[place + 1 :]
    if inner:
        inner = ((inner[0][0], before), *inner[1:])
    else:
        state.mesh = before
    state.mesh_contexts = (*contexts[:place], *inner)
    followers.thread()
    return True


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, keep 64-bit dtypes (or, with False, narrow them).

    The process's default comes from the environment variable OLYMPUS_ENABLE_X64 (0 or 1).

    >>> with enable_x64():
    ...     x = numpy.arange(3.0)  # of dtype float64
    """
    return switched("enable_x64", checked("enable_x64", new_val))


def disable_x64() -> contextlib.AbstractContextManager[None]:
    """Within the context, narrow 64-bit dtypes, as `enable_x64(False)` does.

    >>> with disable_x64():
    ...     numpy.arange(3.0).dtype
    dtype('float32')
    """
    return enable_x64(False)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, promote by "standard" rules, or raise for mixed dtypes with "strict".

    Raises ArgumentError (a ValueError) for another value.

    >>> with numpy_dtype_promotion("strict"):
    ...     numpy.array([1]) + numpy.array([0.5])
    Traceback (most recent call last):
      ...
    olympus.errors.TypePromotionError: ...
    """
    return switched("numpy_dtype_promotion", checked("numpy_dtype_promotion", new_val))


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, select the treatment of operands of different ranks above 0.

    "allow" broadcasts them, as NumPy does; "warn" also warns; "raise" raises ShapeError.  Raises
    ArgumentError (a ValueError) for another value.

    >>> with numpy_rank_promotion("raise"):
    ...     ones((2, 3)) + ones(3)
    Traceback (most recent call last):
      ...
    olympus.errors.ShapeError: Operands could not be broadcast together for add on shapes ...
    """
    return switched("numpy_rank_promotion", checked("numpy_rank_promotion", new_val))


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, run functions as plain Python.

    `jit` calls its function, and `scan`, `cond`, `switch`, `while_loop`, `fori_loop` and `map`
    run as Python loops and conditionals on concrete values, so that prints and breakpoints in
    them see arrays.

    >>> with disable_jit():
    ...     jit(lambda x: print(x))(array([1, 2]))
    [1 2]
    """
    return switched("disable_jit", checked("disable_jit", disable))


def debug_nans(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise NaNError for the first operation that returns a NaN.

    Results of operations and of `jit` are checked when they are computed, which waits for them.  A
    `jit` with a NaN in its result is run again operation by operation; the error names the
    operation and its source line.

    >>> with debug_nans():
    ...     numpy.log(-1.0)
    Traceback (most recent call last):
      ...
    olympus.errors.NaNError: ...
    """
    return switched("debug_nans", checked("debug_nans", new_val))


def debug_infs(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise NaNError for the first operation that returns an infinity.

    Otherwise like `debug_nans`.

    >>> with debug_infs():
    ...     numpy.log(0.0)
    Traceback (most recent call last):
      ...
    olympus.errors.NaNError: ...
    """
    return switched("debug_infs", checked("debug_infs", new_val))


def include_full_tracebacks_in_locations(
    enable: bool = True,
) -> contextlib.AbstractContextManager[None]:
    """Within the context, record the calls that lead to each operation, for `Cost.by_stack`.

    Tracing takes about a third longer.  Programs, their StableHLO and their keys do not change.

    >>> with include_full_tracebacks_in_locations():
    ...     lowered = jit(lambda x: 2 * x).lower(1.0)
    """
    name = "include_full_tracebacks_in_locations"
    return switched(name, checked(name, enable))


def source_root(root: str | os.PathLike[str]) -> contextlib.AbstractContextManager[None]:
    """Make the files below `root` relative to it in the locations of programs lowered in the block.

    Executables and optimized HLO have these locations. So they do not depend on the folder of the
    project.

    >>> with source_root("/home/me/project"):
    ...     lowered = traced.lower()
    """
    return switched("source_root", os.path.abspath(root))


def enable_checks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, check each program that is traced, as a test of OLYMPUS itself.

    Raises InternalError if a program is not well formed or not correctly typed.

    >>> with enable_checks():
    ...     program = make_jaxpr(lambda x: 2 * x)(3.0)
    """
    return switched("enable_checks", checked("enable_checks", new_val))


def check_tracer_leaks(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise UnexpectedTracerError if a traced value outlives its function.

    The check runs after each traced function, and is slow.

    >>> leaked = []
    >>> with check_tracer_leaks():
    ...     jit(lambda x: leaked.append(x))(3.0)
    Traceback (most recent call last):
      ...
    olympus.errors.UnexpectedTracerError: ...
    """
    return switched("check_tracer_leaks", checked("check_tracer_leaks", new_val))


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """Within the context, check for leaks, as `check_tracer_leaks()` does.

    >>> with checking_leaks():
    ...     jit(lambda x: 2 * x)(3)
    Array(6, dtype=int32, weak_type=True)
    """
    return check_tracer_leaks()


def explain_cache_misses(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, log each tracing of a function as a warning of the logger "olympus".

    The message has the difference from the nearest call before: the types or the tree of the
    arguments, or a switch.

    >>> with explain_cache_misses():
    ...     y = jit(lambda x: 2 * x)(3)  # logs that '<lambda>' was not traced before
    """
    return switched("explain_cache_misses", checked("explain_cache_misses", new_val))


def log_compiles(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, log each compilation as a warning of the logger "olympus".

    >>> with log_compiles():
    ...     y = jit(lambda x: 2 * x)(3)  # logs the compilation of '<lambda>'
    """
    return switched("log_compiles", checked("log_compiles", new_val))
