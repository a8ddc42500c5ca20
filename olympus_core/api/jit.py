"""`jit`, `eval_shape` and `make_olympuspr`: how users begin to trace a function."""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from olympus_core import xla
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ArgumentError, OptionError, UsageError
from olympus_core.base.source import function_name, wraps
from olympus_core.execution.result_shardings import laid_results, on_context_mesh, typed_results
from olympus_core.extension.api_util import debug_info
from olympus_core.ir import trace
from olympus_core.ir.olympuspr import UNSPECIFIED, JaxProgram, Olympuspr, Unspecified
from olympus_core.ir.tracer import Tracer
from olympus_core.jit.calling import Arguments, Program, StagedFunction
from olympus_core.jit.direct_calling import DirectFunction, may_be_direct
from olympus_core.jit.inlining import Inline
from olympus_core.jit.options import JitOptions
from olympus_core.jit.reference_stages import ReferenceTraced
from olympus_core.jit.sharded_calling import (
    ArrayShardings,
    ShardedFunction,
    Shardings,
    argument_shardings,
)
from olympus_core.library.device import default_backend
from olympus_core.placement.sharding import SingleDeviceSharding
from olympus_core.stages.stages import Interface, Lowered, Traced
from olympus_core.transforms import references
from olympus_core.transforms.data import is_float0
from olympus_core.transforms.flat import check_callable
from olympus_core.xla import Options, named_options

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Jit(StagedFunction[_P, _R]):
    """The function that `jit` returns: call it, or take it through the stages one by one."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """Trace for arguments (arrays, scalars or ShapeDtypeStructs; statics by value).

        The program of a function that uses mutable references gets their values, and returns the
        new ones; a call of the compiled program writes them.
        """
        if not references.exist():
            return self._trace(args, kwargs)
        traced: list[Traced] = []
        if not references.has_references((args, kwargs)) and not references.used_in(
            lambda: traced.append(self._trace(args, kwargs))
        ):
            return traced[0]
        program, args, kwargs, _ = self.referenced(args, kwargs)
        assert program is not None
        assert isinstance(program.function, Jit)
        return ReferenceTraced(program.function._trace(args, program.with_values(kwargs)), program)

    def _with_values(self, fun: Callable[..., Any]) -> Jit[..., Any]:
        return Jit(fun, self.options)

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
        arguments = self.arguments(args, kwargs)
        program = self._program(arguments)
        ins, outs = self._shardings(arguments, program)
        device = state.default_device
        is_movable = device is not None and state.mesh is None and not any(ins) and not any(outs)
        if is_movable:
            ins = (SingleDeviceSharding(device),) * len(arguments.avals)
        outs = typed_results(program.olympuspr.out_avals, outs, [*ins, state.mesh])
        outs = laid_results(program.olympuspr, outs, ins)
        outs = on_context_mesh(program.olympuspr.out_avals, outs, state.mesh)
        signature = Interface(
            self.name,
            arguments.in_tree,
            program.out_tree,
            program.arg_names,
            arguments.avals,
            program.olympuspr.out_avals,
            program.donated,
            self.options.compiler_options,
            ins,
            outs,
            argument_shardings(arguments.leaves),
            keep_unused=self.options.keep_unused,
            is_movable=is_movable,
        )
        return Traced(signature, program.olympuspr)

    def _program(self, arguments: Arguments) -> Program:
        """Return the program for a kind of arguments, traced unless a call or a stage has it."""
        if references.exist():  # a trace shows which references the function uses
            return self.trace_program(arguments)
        key = self._key(arguments)
        try:
            call, program = self._calls.get(key), self._traced.get(key)
        except Exception:  # static arguments that cannot be compared
            return self.trace_program(arguments)
        if call is not None:
            return call.program
        if program is None:
            program = self.trace_program(arguments)
            if not any(isinstance(c, Tracer) for c in program.olympuspr.consts):
                self._traced[key] = program
        return program

    def _shardings(
        self, arguments: Arguments, program: Program
    ) -> tuple[ArrayShardings, ArrayShardings]:
        """Return the known shardings of arguments and results."""
        return argument_shardings(arguments.leaves), ()

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower the function, for the CPU."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result with a ShapeDtypeStruct for each array; nothing is computed."""
        traced = self.trace(*args, **kwargs)
        return tree.map(self._result_struct, traced.out_info, traced.out_avals)

    def _result_struct(self, x: Any, aval: ShapedArray) -> Any:
        """Return the description of a result of `eval_shape`, with the sharding of its type.

        A float0 array, which is not data, has a plain one.
        """
        if is_float0(x):
            return ShapeDtypeStruct(x.shape, x.dtype)
        typed = aval.explicit
        is_explicit = typed is not None and typed.mesh.are_all_axes_explicit
        return x.update(sharding=typed if is_explicit else None)


class DirectJit(DirectFunction[_P, _R], Jit[_P, _R]):
    """The function that `jit` returns if calls may be direct."""


class ShardedJit(ShardedFunction[_P, _R], Jit[_P, _R]):
    """The function that `jit` returns for `in_shardings` or `out_shardings`."""

    def _result_struct(self, x: Any, aval: ShapedArray) -> Any:
        is_requested = self.shardings.outs is not None and aval.explicit is None
        return x if is_requested else super()._result_struct(x, aval)

    def _with_values(self, fun: Callable[..., Any]) -> Jit[..., Any]:
        return ShardedJit(fun, self.options, self.shardings.with_values())

    def _shardings(
        self, arguments: Arguments, program: Program
    ) -> tuple[ArrayShardings, ArrayShardings]:
        requested = self.argument_shardings(arguments)
        own = argument_shardings(arguments.leaves) or requested
        pairs = zip(requested, own, strict=True)
        ins = tuple([
            a.with_layout(b.layout) if a and b and a.layout is None else a or b for a, b in pairs
        ])  # fmt: skip
        avals = program.olympuspr.out_avals
        return ins, self.result_shardings(program.out_tree, avals, arguments)


@overload
def jit(
    fun: Callable[_P, _R],
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    inline: bool | Inline = False,
    keep_unused: bool = False,
    device: xla.Device | None = None,
    backend: str | None = None,
    compiler_options: Options | None = None,
) -> Jit[_P, _R]: ...
@overload
def jit(
    fun: Unspecified = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    inline: bool | Inline = False,
    keep_unused: bool = False,
    device: xla.Device | None = None,
    backend: str | None = None,
    compiler_options: Options | None = None,
) -> Callable[[Callable[_P, _R]], Jit[_P, _R]]: ...
def jit(
    fun: Callable[_P, _R] | Unspecified = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    inline: bool | Inline = False,
    keep_unused: bool = False,
    device: xla.Device | None = None,
    backend: str | None = None,
    compiler_options: Options | None = None,
) -> Jit[_P, _R] | Callable[[Callable[_P, _R]], Jit[_P, _R]]:
    """Return a function that is traced, compiled and run as one program.

    `static_*` name arguments whose Python values are fixed while tracing; `donate_*` arguments
    whose buffers the results may take. Both are given by position or by name. `inline`, True or an
    `Inline`, inlines calls in a function that is being traced. Unused arguments of the function
    remain arguments of the program; without `keep_unused`, `Compiled.input_shardings` is None for
    them.

    An OlympusWarning reports a donated buffer that no result can take. `compiler_options` are
    XLA's, as in `Lowered.compile`. They apply to eager calls of the function and to its stages, but
    not to calls in a function that is being traced.

    `in_shardings` and `out_shardings` are the shardings of arguments and results: a sharding, or a
    tree prefix of the arguments (a tuple) and of the result, with shardings and None for
    unspecified. An array with another explicit sharding is refused; any other array is moved. In a
    function that is being traced they are constraints.

    `device`, or the first device of a `backend`, is the sharding of all arguments and results.

    Raises UsageError for a function that cannot be called, or options naming no argument;
    ArgumentError for an invalid sharding; and, when it is called, ShardingError for a sharding that
    does not fit an argument or a result.

    >>> jit(lambda x: 2 * x)(3)
    Array(6, dtype=int32, weak_type=True)
    """
    if isinstance(fun, Unspecified):
        decorator: Callable[..., Any] = functools.partial(
            jit,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            inline=inline,
            keep_unused=keep_unused,
            device=device,
            backend=backend,
            compiler_options=compiler_options,
        )
        return decorator
    if not callable(fun):
        raise OptionError(f"Expected a callable value, got {fun!r:.80}: jit needs a function")
    if inspect.isgeneratorfunction(fun):
        raise OptionError(f"Expected a function, got a generator function: {function_name(fun)}")
    options = JitOptions.of(fun, static_argnums, static_argnames, donate_argnums, donate_argnames)
    compiling = named_options(compiler_options)
    options = options._replace(
        inline=Inline.of(inline), compiler_options=compiling, keep_unused=bool(keep_unused)
    )
    where = _on_device(device, backend, in_shardings, out_shardings)
    if where is not None:
        return ShardedJit(fun, options, Shardings(where, where, on_device=True))
    if in_shardings is None and out_shardings is None:
        return DirectJit(fun, options) if may_be_direct(options) else Jit(fun, options)
    return ShardedJit(fun, options, Shardings.of(in_shardings, out_shardings))


def _on_device(
    device: xla.Device | None, backend: str | None, ins: Any, outs: Any
) -> SingleDeviceSharding | None:
    """Return the sharding of a requested device or backend; None without a request."""
    if device is None and backend is None:
        return None
    warnings.warn(
        "backend and device argument on jit is deprecated: put the arguments on the device with "
        "device_put",
        DeprecationWarning,
        stacklevel=3,
    )
    if ins is not None or outs is not None:
        raise ArgumentError(
            "If backend or device is specified on jit, then in_shardings and out_shardings should "
            "not be specified."
        )
    if device is not None and backend is not None:
        raise ArgumentError(
            f"can't specify both a device and a backend for jit, got {device=} and {backend=}"
        )
    if device is None and backend == default_backend():
        return None
    return SingleDeviceSharding(xla.devices(backend)[0] if device is None else device)


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and dtypes of `fun(*args, **kwargs)`, by tracing only, without allocation.

    >>> eval_shape(lambda x: x @ x.T, ShapeDtypeStruct((2, 3), "float32"))
    ShapeDtypeStruct(shape=(2, 2), dtype=float32)
    """
    if not callable(fun):
        raise OptionError(
            f"Expected a callable value, got {fun!r:.80}: eval_shape needs a function"
        )
    staged = fun if isinstance(fun, Jit) else Jit(fun, JitOptions())
    return staged.eval_shape(*args, **kwargs)


def axes_of(axis_env: Sequence[tuple[Hashable, int]] | None) -> trace.Axes:
    """Return the axes that an `axis_env` binds; raise UsageError unless it has names and sizes."""
    try:
        axes = tuple((name, operator.index(size)) for name, size in axis_env or ())
        sound = all(size > 0 for _, size in axes) and len(dict(axes)) == len(axes)
    except (TypeError, ValueError):
        sound = False
    if not sound:
        raise UsageError(
            "axis_env must be a sequence of pairs of a unique name and a size of 1 or more, "
            f"and is {axis_env!r:.80}"
        )
    return axes


@overload
def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: Literal[False] = False,
) -> Callable[..., Olympuspr]: ...
@overload
def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    *,
    return_shape: Literal[True],
) -> Callable[..., tuple[Olympuspr, Any]]: ...
@overload
def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int],
    axis_env: Sequence[tuple[Hashable, int]] | None,
    return_shape: Literal[True],
) -> Callable[..., tuple[Olympuspr, Any]]: ...
@overload
def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Olympuspr | tuple[Olympuspr, Any]]: ...
def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Olympuspr | tuple[Olympuspr, Any]]:
    """Return a function that returns the program of `fun` for its arguments.

    `axis_env` binds names of axes, each with its size, for the collectives in `fun`. With
    `return_shape`, it returns a pair: the program, and the result's tree of shapes.

    >>> print(make_olympuspr(lambda x: lax.psum(x, "i"), axis_env=[("i", 4)])(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = psum[axes=(i,) axis_index_groups=None] a
      in (b,) }
    """
    check_callable("make_olympuspr", fun)
    staged = Jit(fun, JitOptions.of(fun, static_argnums))
    axes = axes_of(axis_env)

    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Olympuspr | tuple[Olympuspr, Any]:
        traced, shapes = _traced(staged, axes, args, kwargs)
        return (traced.olympuspr, shapes) if return_shape else traced.olympuspr

    return make


def _traced(
    staged: Jit[..., Any], axes: trace.Axes, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Traced, Any]:
    """Return a traced function, and its result's tree of shapes."""
    with trace.naming(axes):
        traced = staged.trace(*args, **kwargs)
    return traced, traced.out_info


@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: Literal[False] = False,
) -> Callable[..., JaxProgram]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    *,
    return_shape: Literal[True],
) -> Callable[..., tuple[JaxProgram, Any]]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int],
    axis_env: Sequence[tuple[Hashable, int]] | None,
    return_shape: Literal[True],
) -> Callable[..., tuple[JaxProgram, Any]]: ...
@overload
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., JaxProgram | tuple[JaxProgram, Any]]: ...
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Iterable[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., JaxProgram | tuple[JaxProgram, Any]]:
    """Return a function that returns the program of `fun` for its arguments, as JAX prints it.

    It is the program of `make_olympuspr`, and takes the same arguments. Its fields are lists, and
    the parameters of its equations are printed under JAX's names.

    >>> print(make_jaxpr(lambda x: jit(sin)(x))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = jit[
          name=sin
          jaxpr={ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
        ] a
      in (b,) }
    """
    check_callable("make_jaxpr", fun)
    staged = Jit(fun, JitOptions.of(fun, static_argnums))
    axes = axes_of(axis_env)

    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> JaxProgram | tuple[JaxProgram, Any]:
        traced, shapes = _traced(staged, axes, args, kwargs)
        info = debug_info("jit", fun, args, kwargs)._replace(
            arg_names=traced.arg_names, result_paths=traced.result_names
        )
        jaxpr = traced.jaxpr.replace(debug_info=info)
        return (jaxpr, shapes) if return_shape else jaxpr

    if name := getattr(fun, "__name__", None):
        make.__name__ = f"make_jaxpr({name})"
    return make
