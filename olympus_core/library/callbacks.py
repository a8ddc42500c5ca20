"""Calls of Python functions by programs: pure, with effects, and for debugging."""

from __future__ import annotations

import copy
import logging
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from olympus_core import xla
from olympus_core.base import dtypes, source, tree
from olympus_core.base.avals import ShapedArray, canonical_shape, get_aval, shaped
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.base.source import function_name, function_path
from olympus_core.control.host_call import debug_callback_p, io_callback_p, pure_callback_p
from olympus_core.primitives.host_function import HostFunction
from olympus_core.transforms import data

_VMAP_METHODS = (
    *("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"),
    *("legacy_vectorized", None),
)
_logger = logging.getLogger("olympus")


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Return the result of a Python function that the running program calls with arrays.

    `callback` is called on the host with trees of arrays, and returns a tree of arrays of the
    shapes and dtypes of `result_shape_dtypes`.  It has no side effects: a call whose result is not
    used is left out, and equal calls may be one.  `vmap_method` is the rule under `vmap`:
    "sequential" calls it for each element in a loop ("sequential_unrolled" without a loop),
    "expand_dims" calls it once with the mapped axis in front, of length 1 for arguments that are
    not mapped, and "broadcast_all" with the full length for all.

    On several devices it is called once, with whole arrays; in `shard_map`, by each device.
    `sharding` is accepted as in JAX: the first device makes the call.  A program for a TPU cannot
    call Python.

    Raises ArgumentError (a ValueError) for another `vmap_method` or for `result_shape_dtypes`
    without shape and dtype, CallbackError when the function raises or returns other types,
    TransformError for its derivative, and VmapMethodError (a NotImplementedError) for `vmap`
    without a method.

    >>> x = numpy.arange(3.0)
    >>> pure_callback(lambda x: onp.sinc(x), ShapeDtypeStruct(x.shape, x.dtype), x)
    Array([1., 0., 0.], dtype=float32)
    """
    if vmap_method not in _VMAP_METHODS:
        raise ArgumentError(
            f"vmap_method must be one of the allowed methods {list(_VMAP_METHODS)}, but got: "
            f"{vmap_method!r:.80}"
        )
    leaves, in_tree = _arrays("pure_callback", args, kwargs)
    avals, out_tree = _result_types("pure_callback", result_shape_dtypes)
    outs = pure_callback_p.bind(
        *leaves,
        function=_returning(callback, in_tree, out_tree),
        results=avals,
        vmap_method=vmap_method,
    )
    return out_tree.unflatten(outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the result of a Python function with side effects that the running program calls.

    Arguments and results are those of `pure_callback`.  Each call is made, also if its result is
    not used.  With `ordered`, the calls are made in the order of the program, also across programs;
    such a function cannot be mapped, and runs on one device.  Under `vmap` it is called for each
    element.

    Raises TransformError for a derivative and for `vmap` of an ordered function, and CallbackError
    when the function raises or returns other types.

    >>> io_callback(lambda x: onp.float32(x + 1), ShapeDtypeStruct((), "float32"), 2.0)
    Array(3., dtype=float32)
    """
    leaves, in_tree = _arrays("io_callback", args, kwargs)
    avals, out_tree = _result_types("io_callback", result_shape_dtypes)
    outs = io_callback_p.bind(
        *leaves,
        function=_returning(callback, in_tree, out_tree),
        results=avals,
        ordered=bool(ordered),
    )
    return out_tree.unflatten(outs)


def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with arrays of the running program; its result is discarded.

    Transformations keep the call: under `vmap` it is made for each element, under `grad` with the
    values of the forward pass.  Arguments that are not arrays are passed as they are.  Without a
    function, the options are returned as a function of the rest: `callback(ordered=True)(f, x)`.
    In a program of several devices, it gets whole arrays once; with `partitioned`, each device
    calls it with its part of the arrays.

    Raises ArgumentError (a TypeError) for a value that cannot be called.

    >>> debug.callback(print, numpy.arange(2))
    [0 1]
    """

    def call(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        if not callable(callback):
            raise ArgumentError(
                f"first argument to debug.callback must be callable, and got {callback!r:.80}"
            )
        names = function_name(callback), function_path(callback)
        _bind_debug(_Discarding(callback), args, kwargs, ordered, names, partitioned)

    if callback is None:
        if args or kwargs:
            raise ArgumentError("debug.callback got arguments and no function")
        return call
    call(callback, *args, **kwargs)
    return None


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Any:
    """Print arrays of the running program, in a format of `str.format`.

    `ordered` prints keep the order of the program.  Without a format, the options are returned as
    a function of the rest.  With `partitioned`, each device prints its part of the arrays.

    Raises ArgumentError (a ValueError) for an argument that the format does not use, as a format
    that was filled in before has none; IndexError and KeyError for one that is missing.

    >>> jit(lambda x: debug.print("x is {x}", x=x))(2.0)
    x is 2.0
    """

    def call(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            _FORMATS.format(fmt, *args, **kwargs)
        fields = [name for _, name, _, _ in string.Formatter().parse(fmt or "")][:1]
        options = tuple(np.get_printoptions().items())
        record = _record(logging.INFO) if _use_logging else None
        show = _Show(fmt, bool(fields and fields[0] is not None), options, record)
        names = "debug_print", f"debug.print({fmt!r})"
        _bind_debug(show, args, kwargs, ordered, names, partitioned)

    if fmt is None:
        if args or kwargs:
            raise ArgumentError(
                f"debug.print received unexpected arguments in the two-call form: {args=} {kwargs=}"
            )
        return call
    call(fmt, *args, **kwargs)
    return None


def debug_log(fmt: str | None = None, *args: Any, **kwargs: Any) -> Any:
    """Log arrays as `debug_print` prints them, by the logger `olympus` at the level INFO.

    >>> debug.log("x is {}", numpy.ones(2))
    """
    return debug_print(fmt, *args, _use_logging=True, **kwargs)


def effects_barrier() -> None:
    """Wait until the effects of all programs that were started have occurred.

    Raises CallbackError when a Python function that one of them calls raised.

    >>> effects_barrier()
    """
    xla.effects_barrier()


def _arrays(
    name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[list[Any], tree.PyTreeDef]:
    leaves, in_tree = data.flatten_data((args, dict(kwargs)))
    for leaf in leaves:
        try:
            get_aval(leaf)
        except DTypeError:
            raise ArgumentError(
                f"{name} passes arrays to its function, and got {leaf!r:.80}",
                hint="pass other values with functools.partial(function, value)",
            ) from None
    return leaves, in_tree


def _result_types(name: str, types: Any) -> tuple[tuple[ShapedArray, ...], tree.PyTreeDef]:
    leaves, out_tree = tree.flatten(types)
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise ArgumentError(
                f"Invalid type for {name}: result_shape_dtypes needs values with shape and dtype, "
                f"and got {leaf!r:.80}"
            )
        if dtypes.canonicalize(np.dtype(leaf.dtype)) != np.dtype(leaf.dtype):
            raise ArgumentError(
                f"result_shape_dtypes cannot specify 64-bit types when `olympus_enable_x64` is "
                f"disabled; {name} got {leaf.dtype}"
            )
    return tuple([shaped(canonical_shape(x.shape), np.dtype(x.dtype)) for x in leaves]), out_tree


class _Discarding:
    """A function whose result is discarded; those of one function are equal."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Discarding) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        self.function(*args, **kwargs)
        return []


class _Returning(_Discarding):
    """A function whose result is flattened by the tree that the program expects."""

    def __init__(self, function: Callable[..., Any], out_tree: tree.PyTreeDef) -> None:
        super().__init__(function)
        self.out_tree = out_tree

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Returning)
            and self.function == other.function
            and self.out_tree == other.out_tree
        )

    __hash__ = _Discarding.__hash__

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        return tree.leaves(self.function(*args, **kwargs))


def _returning(
    callback: Callable[..., Any], in_tree: tree.PyTreeDef, out_tree: tree.PyTreeDef
) -> HostFunction:
    called = _Returning(callback, out_tree)
    return HostFunction(called, in_tree, function_name(callback), function_path(callback))


def _bind_debug(
    function: Callable[..., list[Any]],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    ordered: bool,
    names: tuple[str, str],
    partitioned: bool,
) -> None:
    leaves, in_tree = tree.flatten((args, dict(kwargs)))
    arrays, fixed = [], []
    for i, leaf in enumerate(leaves):
        try:
            get_aval(leaf)
        except DTypeError:
            fixed.append((i, leaf))
        else:
            arrays.append(leaf)
    called = HostFunction(function, in_tree, *names, tuple(fixed))
    parted = {"partitioned": True} if partitioned else {}
    debug_callback_p.bind(*arrays, function=called, results=(), ordered=bool(ordered), **parted)


class _Formats(string.Formatter):
    """A formatter that only checks that the format uses each argument, and has each."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value

    def check_unused_args(
        self, used_args: set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ArgumentError(f"Unused positional arguments to `debug.print`: {unused}")
        names = [name for name in kwargs if name not in used_args]
        if names:
            raise ArgumentError(
                f"Unused keyword arguments to `debug.print`: {names}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `debug.print` and instead should pass in a regular '
                "string."
            )


_FORMATS = _Formats()


class _Show:
    """The printing of arrays in a format; equal formats and options are equal."""

    def __init__(
        self,
        fmt: str,
        has_fields: bool,
        options: tuple[tuple[str, Any], ...],
        record: logging.LogRecord | None,
    ) -> None:
        self.fmt, self.has_fields = fmt, has_fields
        self.options, self.record = options, record

    def _key(self) -> Any:
        return self.fmt, self.has_fields, repr(self.options), id(self.record)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Show) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.fmt)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        if self.has_fields:
            with np.printoptions(**dict(self.options)):
                text = self.fmt.format(*args, **kwargs)
        else:
            text = " ".join([self.fmt, *map(str, args)])
        if self.record is None:
            sys.stdout.write(f"{text}\n")
        else:
            record = copy.copy(self.record)
            record.msg = text
            _logger.handle(record)
        return []


def _record(level: int) -> logging.LogRecord:
    position = source.current_location().position()
    file, line = (position.file, position.line) if position else ("(unknown file)", 0)
    return _logger.makeRecord(_logger.name, level, file, line, "", (), None)
