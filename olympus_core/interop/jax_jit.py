"""`jit` for functions of JAX: a primitive of JAX whose lowering is that of OLYMPUS.

JAX traces the function, dispatches calls, caches, donates and shards. The function is one equation
of a primitive. Its rules of derivatives and of batching are those of the function's jaxpr, and
those of other transformations are the rules of `jax.jit` (`jax_jit_rules`). Its lowering rule
raises the module of that jaxpr, lowers it for the CPU, and adds it to JAX's module.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from olympus_core.base.context import state, switched
from olympus_core.base.errors import OlympusError, UsageError
from olympus_core.base.source import wraps
from olympus_core.blocks.outline import blocks, outline
from olympus_core.execution.compilation import Repeats, checked_repeats
from olympus_core.execution.compiled_loops import compile_loops
from olympus_core.interop import jax_jit_rules
from olympus_core.interop.jax_lowering import (
    call_module,
    is_for_one_cpu,
    jaxpr_module,
    lowered,
    raised,
)
from olympus_core.interop.jax_modules import (
    ad,
    batching,
    closed_over,
    core,
    jax,
    jax_jit,
    mlir,
    partial_eval,
)
from olympus_core.lowering.reductions import join_reductions
from olympus_core.lowering.slices import share_slices
from olympus_core.raising.gains import BLOCKS, NO_GAIN, gain
from olympus_core.raising.unraisable import UnraisableError

_P = ParamSpec("_P")
_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)


class _Options(NamedTuple):
    """The options of a program: whether blocks are outlined, and whether it is always raised."""

    repeats: Repeats
    is_always: bool


#: elements of a constant that is part of the function, at most
_CONSTANT = 1024

_logger = logging.getLogger("olympus")

raised_p = core.Primitive("olympus_jit")
raised_p.multiple_results = True


class JaxJitted(Protocol[_P, _R_co]):
    """The function that `jax.jit` returns, with its stages."""

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...

    def trace(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Return the `jax.stages.Traced` for arguments, or for their shapes and dtypes."""

    def lower(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Return the `jax.stages.Lowered`."""

    def eval_shape(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Return the shapes and dtypes of the result."""

    def clear_cache(self) -> None:
        """Discard the compiled programs."""


@overload
def jit(
    fun: Callable[_P, _R],
    /,
    *,
    repeats: Repeats = "auto",
    as_is: bool | None = None,
    **options: Any,
) -> JaxJitted[_P, _R]: ...
@overload
def jit(
    fun: None = None, /, *, repeats: Repeats = "auto", as_is: bool | None = None, **options: Any
) -> Callable[[Callable[_P, _R]], JaxJitted[_P, _R]]: ...
def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    repeats: Repeats = "auto",
    as_is: bool | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    **options: Any,
) -> Any:
    """Return `jax.jit(fun)`, with the program lowered by OLYMPUS for one CPU if that is faster.

    The options are those of `jax.jit`. With `repeats` "off", no repeated block of the program is
    a function that the compiler does not inline. With `as_is` True, the program is JAX's unchanged,
    and with False it is lowered by OLYMPUS even if that is not faster.

    `jax.grad` and other derivatives of the result are those of `fun`, and JAX lowers them. To lower
    them by OLYMPUS, call `jit` last: `jit(jax.grad(fun))`.

    A program with effects or callbacks, for several devices, for an accelerator or for an export is
    JAX's unchanged. The logger "olympus" reports at the level INFO whether a program is, and why.

    Raises UsageError for a `repeats` other than "auto" and "off", and the errors of `jax.jit`.

    >>> step = olympus.interop.jax.jit(train_step, donate_argnums=0)
    """
    repeats = checked_repeats(repeats)
    statics = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    if fun is None:
        return functools.partial(jit, repeats=repeats, as_is=as_is, **statics, **options)
    if not callable(fun):
        raise UsageError(f"jit needs a function, and got {fun!r:.80}")
    if as_is:
        return jax_jit(fun, **statics, **options)
    traced, own = jax_jit(fun, **statics), _Options(repeats, as_is is not None)

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _call(traced, own, args, kwargs)

    return jax_jit(call, **statics, **options)


def _call(traced: Any, options: _Options, args: Any, kwargs: dict[str, Any]) -> Any:
    """Trace a function, and bind its jaxpr as one equation; statics are in `args` by value."""
    if jax.config.jax_disable_jit:
        return traced(*args, **kwargs)
    jax_jit_rules.register_rules_of_loaded_modules(raised_p)
    program = traced.trace(*args, **kwargs)
    jaxpr = program.jaxpr
    leaves = [x for x in jax.tree.leaves((args, kwargs)) if isinstance(x, core.Tracer)]
    operands = [*jaxpr.consts, *program._consts, *leaves]
    if jaxpr.effects or len(operands) != len(jaxpr.consts) + len(jaxpr.in_avals):
        return traced(*args, **kwargs)
    results = _bind(jaxpr.jaxpr, operands, program.fun_name, options)
    return jax.tree.unflatten(program.out_tree, results)


def _bind(jaxpr: Any, operands: Sequence[Any], name: str, options: _Options) -> list[Any]:
    """Bind an open jaxpr; unused operands, and results that are operands, are none of its own.

    Small constants are its own: XLA optimizes a loop less if its constants are operands of a call.
    """
    open_jaxpr = partial_eval.convert_constvars_jaxpr(jaxpr)
    values = dict(zip(open_jaxpr.invars, operands, strict=True))
    own = [isinstance(x, core.Literal) or x not in values for x in open_jaxpr.outvars]
    pruned, used = partial_eval.dce_jaxpr(open_jaxpr, own)
    needed = [x for x, u in zip(operands, used, strict=True) if u]
    closed, needed = _with_constants(pruned, needed)
    bound = iter(
        raised_p.bind(*needed, jaxpr=closed, name=name, options=options) if any(own) else ()
    )
    return [next(bound) if o else values[x] for x, o in zip(open_jaxpr.outvars, own, strict=True)]


def _with_constants(jaxpr: Any, operands: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return a closed jaxpr with the small constants among its operands, and the other operands."""
    is_inside = [_is_small_constant(x) for x in operands]
    if not any(is_inside):
        return partial_eval.close_jaxpr(jaxpr), [*operands]
    order = sorted(range(len(operands)), key=lambda i: not is_inside[i])
    count, names = sum(is_inside), jaxpr.debug_info.arg_names
    info = jaxpr.debug_info._replace(arg_names=names and tuple(names[i] for i in order))
    jaxpr = jaxpr.replace(invars=[jaxpr.invars[i] for i in order], debug_info=info)
    values = [operands[i] for i in order]
    return closed_over(jaxpr, values[:count]), values[count:]


def _is_small_constant(x: Any) -> bool:
    is_array = isinstance(x, np.ndarray | jax.Array) and not isinstance(x, core.Tracer)
    return is_array and isinstance(x.dtype, np.dtype) and x.size <= _CONSTANT


def _impl(*operands: Any, jaxpr: Any, name: str, options: _Options) -> list[Any]:
    return core.jaxpr_as_fun(jaxpr)(*operands)  # type: ignore[no-any-return]


def _abstract(*avals: Any, jaxpr: Any, name: str, options: _Options) -> list[Any]:
    return jaxpr.out_avals  # type: ignore[no-any-return]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, name: str, options: _Options
) -> tuple[list[Any], list[Any]]:
    """Return the results and tangents of the jaxpr; the jaxpr of the two is not bound as one."""
    nonzero = [not isinstance(t, ad.Zero) for t in tangents]
    dual, has_tangent = ad.jvp_jaxpr(jaxpr, nonzero, instantiate=False)
    outs = core.jaxpr_as_fun(dual)(*primals, *(t for t in tangents if not isinstance(t, ad.Zero)))
    count = len(jaxpr.out_avals)
    rest = iter(outs[count:])
    return outs[:count], [
        next(rest) if n else ad.Zero(aval.to_tangent_aval())
        for n, aval in zip(has_tangent, jaxpr.out_avals, strict=True)
    ]


def _batch(
    axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, jaxpr: Any, **params: Any
) -> tuple[list[Any], Sequence[Any]]:
    batched, out_dims = batching.batch_jaxpr2(jaxpr, axis, tuple(dims))
    outs = _bind(batched.jaxpr, [*batched.consts, *operands], **params)
    return outs, out_dims


def _lower(ctx: Any, *operands: Any, jaxpr: Any, name: str, options: _Options) -> Any:
    if state.is_raising or not is_for_one_cpu(ctx):
        return mlir.core_call_lowering(ctx, *operands, name=name, call_jaxpr=jaxpr)
    try:
        with switched("is_raising", True):
            module = jaxpr_module(ctx, jaxpr, name, operands)
    except UnraisableError as exc:
        _report(name, exc)
        return mlir.core_call_lowering(ctx, *operands, name=name, call_jaxpr=jaxpr)
    return call_module(ctx, _faster(module, name, options), name, operands)


def _faster(module: Any, name: str, options: _Options) -> Any:
    """Return the module of OLYMPUS for JAX's, or JAX's if raising is impossible or no gain."""
    repeats, is_always = options
    try:
        reason = "as_is is False" if is_always else gain(module, "main", repeats == "auto")
        if reason is None:
            raise UnraisableError(NO_GAIN)
        program = raised(mlir.module_to_bytecode(module))
        if reason is BLOCKS and not blocks(outline(program)):
            raise UnraisableError("its repeated layers are faster without blocks")
        content = lowered(program, name, repeats)
    except (UnraisableError, OlympusError) as exc:  # JAX can compile every program of its own
        _report(name, exc)
        share_slices(module)
        compile_loops(module)
        join_reductions(module)
        return module
    _logger.info("'%s' is raised: %s", name, reason)
    return content


def _report(name: str, exc: Exception) -> None:
    _logger.info("'%s' is compiled as JAX lowers it: %s", name, exc)


raised_p.def_impl(_impl)
raised_p.def_abstract_eval(_abstract)
ad.primitive_jvps[raised_p] = _jvp
batching.fancy_primitive_batchers[raised_p] = _batch
jax_jit_rules.register_rules(raised_p)
mlir.register_lowering(raised_p, _lower, cacheable=False)
