"""Calls between the two: OLYMPUS functions in programs of JAX, and the other way round.

An OLYMPUS function becomes an equation of a primitive of JAX, with the traced program. Its rules of
derivatives, of batching and of lowering are those of that program. A JAX function becomes a call of
the program that is raised from its module. Its derivative is that of `jax.vjp`, raised as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import DeviceArray, array_to_numpy
from olympus_core.artifact.bundle import Bundle
from olympus_core.base import dtypes, tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.context import enable_x64, state
from olympus_core.base.errors import LoweringError, SignatureError, UsageError
from olympus_core.base.source import function_name, wraps
from olympus_core.control.call import jit_p
from olympus_core.control.custom_vjp import custom_vjp
from olympus_core.control.custom_vmap import custom_vmap
from olympus_core.interop.jax_lowering import call_module, is_for_one_cpu, lowered, raised
from olympus_core.interop.jax_modules import (
    ArrayImpl,
    ad,
    apply_primitive,
    batching,
    core,
    jax,
    jax_jit,
    mlir,
)
from olympus_core.ir.effects import calls_python
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Batched
from olympus_core.ir.tracer import Tracer
from olympus_core.jit.calling import StagedFunction
from olympus_core.library.lax.named_axes import cast_varying
from olympus_core.library.random.keys import KeyArray
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.stages.compiled import Compiled
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.programs import (
    batch_program,
    jvp_program,
    split_program,
    transposed_program,
)
from olympus_core.transforms.staging import freeze, hoist_consts, stage

program_p = core.Primitive("olympus_program")
program_p.multiple_results = True


def callable(fun: Any) -> Callable[..., Any]:
    """Return a function that calls an OLYMPUS function in JAX, or a JAX function in OLYMPUS.

    Called with arrays of JAX, `fun` is an OLYMPUS function or a loaded bundle. The call is part of
    the JAX program that is being traced, also under `jax.jit` and `jax.vmap`. It has the
    derivatives of OLYMPUS, to any order. Containers in its arguments and results are those of JAX.

    Called with arrays of OLYMPUS, `fun` is a JAX function. It has the reverse derivatives of JAX,
    to any order.

    Python numbers are part of the program by value: each value is traced.

    Raises:
      UsageError: `fun` cannot be called, or is a compiled program without its StableHLO; in a call,
        an argument or a result of an OLYMPUS function is a typed key.
      SignatureError: in a call, the arguments are not those of a bundle.
      LoweringError: in a call, a function cannot be part of a program of the other, because it has
        effects or calls Python.

    >>> jax.vmap(callable(olympus.artifact.load("f.olympus")))(x)
    >>> olympus.grad(callable(jax_loss))(params)
    """
    if isinstance(fun, Bundle):
        return functools.partial(_call_bundle, fun, _bundled_program(fun))
    if isinstance(fun, Compiled):
        raise UsageError(
            f"'{fun.fun_name}' is compiled, and has no StableHLO",
            hint="pass the function, or the bundle that olympus.artifact.load returns",
        )
    if not hasattr(fun, "__call__"):  # noqa: B004  (the builtin has the name of this function)
        raise UsageError(f"callable needs a function or a bundle, and got {fun!r:.80}")
    programs: dict[Any, Any] = {}

    def call_traced(*args: Any, **kwargs: Any) -> Any:
        return _call_olympus(fun, programs, args, kwargs)

    call_traced.__name__ = _name(fun)
    # JAX dispatches the calls outside of programs
    eager = fun if isinstance(fun, _JITTED) else jax_jit(call_traced)

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and _EAGER.issuperset(map(type, args)):  # the quick path
            return eager(*args)
        leaves = _leaves((args, kwargs))
        if _EAGER.issuperset(map(type, leaves)):
            return eager(*args, **kwargs)
        if any(isinstance(x, (Tracer, DeviceArray, KeyArray)) for x in leaves):
            return fun(*args, **kwargs) if _is_olympus(fun) else _call_jax(fun, args, kwargs)
        if isinstance(fun, _JITTED):
            return fun(*args, **kwargs)
        return _call_olympus(fun, programs, args, kwargs)

    return call


#: the types of arrays of JAX outside of programs
_EAGER = frozenset([ArrayImpl, np.ndarray])
_JITTED = type(jax_jit(lambda: 0))


def _is_olympus(fun: Any) -> bool:
    return isinstance(fun, StagedFunction)


def _name(fun: Any) -> str:
    return str(getattr(fun, "name", None) or function_name(fun))


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic, Tracer, DeviceArray, jax.Array, core.Tracer))


def _leaves(arguments: Any) -> list[Any]:
    """Return the leaves of the arguments of a call, with the typed keys of OLYMPUS as leaves."""
    return tree.leaves(arguments, is_leaf=lambda x: isinstance(x, KeyArray))


def _is_key(x: Any) -> bool:
    """Return True for an array of typed keys, of OLYMPUS or of JAX, and for its type."""
    kind = getattr(getattr(x, "dtype", None), "type", object)
    return issubclass(kind, (dtypes.extended, jax.dtypes.extended))


def _key_error(what: str, key: Any, own: str, other: str) -> UsageError:
    return UsageError(
        f"{what} arrays of numbers, and got {key.dtype}[{','.join(map(str, key.shape))}]",
        hint=f"use {own}.random.key_data(key), and {other}.random.wrap_key_data on the other side",
    )


def _split(leaves: Sequence[Any]) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]], Any]:
    """Return the arrays of a list, a function that puts others in their places, and a key.

    The key has the other values, which are part of the program.
    """
    flags = [_is_array(x) for x in leaves]

    def filled(arrays: Sequence[Any]) -> list[Any]:
        rest = iter(arrays)
        return [next(rest) if f else x for x, f in zip(leaves, flags, strict=True)]

    values = tuple(None if f else _exact(x) for x, f in zip(leaves, flags, strict=True))
    return [x for x, f in zip(leaves, flags, strict=True) if f], filled, values


def _exact(x: Any) -> tuple[type, Any]:
    """Return a key of a value: 0.0 and -0.0 differ, and a NaN equals itself."""
    return type(x), repr(x) if type(x) in (float, complex) else x


# An OLYMPUS function in a program of JAX


def _aval(x: Any) -> ShapedArray:
    """Return the type of an array of JAX."""
    aval = jax.typeof(x)
    if _is_key(aval):
        raise _key_error("an OLYMPUS function takes", aval, "jax", "olympus")
    if not all(isinstance(size, int) for size in aval.shape):
        raise UsageError(
            "an OLYMPUS function takes arrays of fixed shapes from JAX, and got "
            f"{aval.str_short()}",
            hint="export the program of JAX for fixed shapes",
        )
    return shaped(tuple(aval.shape), aval.dtype, aval.weak_type)


def _call_olympus(
    fun: Any, programs: dict[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    leaves, in_tree = jax.tree.flatten((args, kwargs))
    operands, filled, values = _split(leaves)
    x64 = bool(jax.config.jax_enable_x64)
    with enable_x64(x64):
        avals = tuple([_aval(x) for x in operands])
    key: Any = (in_tree, avals, values, x64)
    try:
        entry = programs.get(key)
    except TypeError:  # a value is not hashable
        entry = key = None
    if entry is None:
        trees: list[Any] = []

        def flat(*arrays: Any) -> list[Any]:
            in_args, in_kwargs = jax.tree.unflatten(in_tree, filled(arrays))
            results, out_tree = jax.tree.flatten(fun(*in_args, **in_kwargs))
            if keys := [x for x in results if _is_key(x)]:
                raise _key_error("an OLYMPUS function returns", keys[0], "olympus", "jax")
            trees.append(out_tree)
            return list(results)

        with enable_x64(x64):
            staged = freeze(stage(flat, avals, what=_name(fun)))
        _check_no_effects(staged, _name(fun))
        program, consts = hoist_consts(staged)
        constants = [array_to_numpy(x) for x in consts]
        entry = program, constants, trees[0]
        if key is not None:
            programs[key] = entry
    program, constants, out_tree = entry
    results = _bind(program, _name(fun), [*constants, *operands])
    return jax.tree.unflatten(out_tree, results)


def _check_no_effects(program: Olympuspr, name: str) -> None:
    """Check that the program has no effects: JAX would remove a call whose results are unused."""
    if program.effects or calls_python(program):
        raise LoweringError(
            f"the OLYMPUS function '{name}' cannot be part of a program of JAX: it "
            + ("calls Python" if calls_python(program) else "has effects"),
            hint="call Python from the program of JAX, by jax.debug.print or jax.pure_callback",
        )


def _bundled_program(bundle: Bundle) -> Olympuspr:
    if bundle.num_devices > 1:
        raise UsageError(
            f"{bundle.path} needs {bundle.num_devices} devices, and a program of JAX can call a "
            "bundle of one"
        )
    try:
        return raised(bundle.stablehlo())
    except UnraisableError as exc:
        raise LoweringError(f"{bundle.path} cannot be part of a program of JAX: {exc}") from None


def _call_bundle(bundle: Bundle, program: Olympuspr, *args: Any, **kwargs: Any) -> Any:
    signature, name = bundle.manifest.signature, bundle.manifest.function
    operands = jax.tree.leaves((args, kwargs))
    if len(operands) != len(signature.arguments):
        raise SignatureError(
            f"'{name}' takes {len(signature.arguments)} arrays, and got {len(operands)}"
        )
    for x, argument in zip(operands, signature.arguments, strict=True):
        aval = jax.typeof(x)
        if (aval.shape, aval.dtype) != (argument.aval.shape, argument.aval.dtype):
            raise SignatureError(
                f"the argument {argument.name} of '{name}' is {argument.aval.long_name()}, and got "
                f"{aval.str_short()}"
            )
    results = _bind(program, name, operands)
    return signature.result_tree.structure().unflatten(results)


def _bind(program: Olympuspr, name: str, operands: Sequence[Any]) -> list[Any]:
    # in a `shard_map`, the operands of an equation vary along the same axes of the mesh
    operands = core.auto_insert_reshard(*operands)
    return list(program_p.bind(*operands, program=program, name=name))


def _abstract(*avals: Any, program: Olympuspr, name: str) -> list[Any]:
    varying = core.standard_vma_rule(program_p.name, *avals)
    return [
        core.ShapedArray(
            a.shape,
            a.dtype,
            weak_type=a.weak_type,
            sharding=core.get_cur_mesh_sharding(),
            manual_axis_type=core.ManualAxisType(varying=varying),
        )
        for a in program.out_avals
    ]


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, program: Olympuspr, name: str
) -> tuple[list[Any], list[Any]]:
    """Return the results and tangents, from one program without and one with tangents.

    So JAX can evaluate the first, and transpose the second, which has saved residuals.
    """
    nonzero = tuple(not isinstance(t, ad.Zero) and t.dtype != jax.dtypes.float0 for t in tangents)
    count = len(program.outvars)
    dual, has_tangent = jvp_program(program, nonzero, (False,) * count)
    own = [t for t, n in zip(tangents, nonzero, strict=True) if n]
    parts = split_program(dual, (False,) * len(primals) + (True,) * len(own))
    known = _bind(parts.known, name, primals)
    residuals = known[len(known) - parts.num_residuals :]
    unknown = iter(_bind(parts.unknown, f"{name}_tangents", [*residuals, *own]))
    knowns = iter(known)
    outs = [next(unknown) if u else next(knowns) for u in parts.unknown_outs]
    rest = iter(outs[count:])
    out_tangents = [
        next(rest) if h else ad.Zero(jax.typeof(x).to_tangent_aval())
        for x, h in zip(outs[:count], has_tangent, strict=True)
    ]
    return outs[:count], out_tangents


def _transpose(
    cotangents: Sequence[Any], *operands: Any, program: Olympuspr, name: str
) -> list[Any]:
    linear = tuple(ad.is_undefined_primal(x) for x in operands)
    nonzero = tuple(not isinstance(c, ad.Zero) for c in cotangents)
    transposed, has_cotangent = transposed_program(program, linear, nonzero)
    values = [x for x, u in zip(operands, linear, strict=True) if not u]
    own = [c for c, n in zip(cotangents, nonzero, strict=True) if n]
    outs = iter(_bind(transposed, f"{name}_transpose", [*values, *own]))
    flags = iter(has_cotangent)
    return [
        (next(outs) if next(flags) else ad.Zero(x.aval)) if u else None
        for x, u in zip(operands, linear, strict=True)
    ]


def _batch(
    operands: Sequence[Any], dims: Sequence[Any], *, program: Olympuspr, name: str
) -> tuple[list[Any], Sequence[Any]]:
    sizes = {x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None}
    batched, out_dims = batch_program(program, Batched(sizes.pop()), tuple(dims))
    return _bind(batched, name, operands), out_dims


def _lower(ctx: Any, *operands: Any, program: Olympuspr, name: str) -> list[Any]:
    if is_for_one_cpu(ctx):
        content = lowered(program, name, "auto")
    else:
        content = lowered(program, name, "off", portable=True)
    return call_module(ctx, content, name, operands)


program_p.def_impl(functools.partial(apply_primitive, program_p))
program_p.def_abstract_eval(_abstract)
ad.primitive_jvps[program_p] = _jvp
ad.primitive_transposes[program_p] = _transpose
batching.primitive_batchers[program_p] = _batch
mlir.register_lowering(program_p, _lower, cacheable=False)


# A JAX function in a program of OLYMPUS


def _call_jax(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if keys := [x for x in _leaves((args, kwargs)) if _is_key(x)]:
        raise _key_error("a JAX function takes", keys[0], "olympus", "jax")
    leaves, in_tree = tree.flatten((args, kwargs))
    operands, filled, _ = _split(leaves)
    trees: list[Any] = []

    def flat(*arrays: Any) -> list[Any]:
        in_args, in_kwargs = in_tree.unflatten(filled(arrays))
        results, out_tree = jax.tree.flatten(fun(*in_args, **in_kwargs))
        if keys := [x for x in results if _is_key(x)]:
            raise _key_error("a JAX function returns", keys[0], "jax", "olympus")
        if any(isinstance(x, (Tracer, DeviceArray)) for x in results):
            raise UsageError(
                f"a JAX function returns arrays of JAX, and '{_name(fun)}' returned one of OLYMPUS",
                hint="pass the arrays of OLYMPUS that the function uses as arguments",
            )
        trees.append(out_tree)
        return list(results)

    outs = _call_flat(flat, _name(fun), operands)
    return jax.tree.unflatten(trees[0], outs)


def _call_flat(flat: Callable[..., list[Any]], name: str, operands: Sequence[Any]) -> list[Any]:
    """Bind the program of a JAX function on flat lists.

    JAX differentiates it by `jax.vjp` and batches it by `jax.vmap`: they have rules for operations
    that are not raised, and use the function's own rules.
    """
    avals = [get_aval(x) for x in operands]
    program = _raised_function(flat, name, avals)
    # in a `shard_map`, the results and cotangents vary along the axes of all operands
    varying = frozenset[Any]().union(*[a.vma for a in avals])
    operands = [cast_varying(x, tuple(varying)) for x in operands]
    is_real = [dtypes.kind(a.dtype) in "fc" for a in program.in_avals]
    has_tangent = [dtypes.kind(a.dtype) in "fc" for a in program.out_avals]

    structures: list[Any] = []  # of the residuals, the same for each call of `forward`

    def primal(*xs: Any) -> list[Any]:
        called = _varying(program, [get_aval(x) for x in xs])
        return list(jit_p.bind(*xs, olympuspr=called, name=name))

    def forward(*xs: Any) -> tuple[list[Any], Any]:
        def with_residuals(*values: Any) -> list[Any]:
            def real(*own: Any) -> tuple[list[Any], list[Any]]:
                reals = iter(own)
                full = [next(reals) if r else v for v, r in zip(values, is_real, strict=True)]
                outs = flat(*full)
                differentiated = [x for x, h in zip(outs, has_tangent, strict=True) if h]
                return differentiated, outs

            own = [v for v, r in zip(values, is_real, strict=True) if r]
            _, pullback, outs = jax.vjp(real, *own, has_aux=True)
            residuals, structure = jax.tree.flatten(pullback)
            structures.append(structure)
            return [*outs, *residuals]

        outs = _call_flat(with_residuals, f"{name}_forward", xs)
        count = len(has_tangent)
        return outs[:count], outs[count:]

    def backward(residuals: list[Any], cotangents: list[Any]) -> tuple[Any, ...]:
        count = len(residuals)

        def pulled(*values: Any) -> list[Any]:
            pullback = jax.tree.unflatten(structures[-1], values[:count])
            return list(pullback(list(values[count:])))

        own = [c for c, h in zip(cotangents, has_tangent, strict=True) if h]
        outs = iter(_call_flat(pulled, f"{name}_backward", [*residuals, *own]))
        return tuple([next(outs) if r else None for r in is_real])

    def batch(axis_size: int, in_batched: list[bool], *xs: Any) -> tuple[list[Any], list[bool]]:
        in_axes = [0 if is_batched else None for is_batched in in_batched]
        batched = jax.vmap(flat, in_axes, axis_size=axis_size)
        outs = _call_flat(batched, name, xs)
        return outs, [True] * len(outs)

    primal.__name__ = name  # in the error of a forward derivative
    mapped = custom_vmap(primal)
    mapped.def_vmap(batch)
    call = custom_vjp(mapped)
    call.defvjp(forward, backward)
    return call(*operands)


def _varying(program: Olympuspr, avals: Sequence[ShapedArray]) -> Olympuspr:
    """Return the program for arguments that may vary along axes of a mesh, as in a `shard_map`."""
    if not any(a.vma for a in avals):
        return program
    return stage(lambda *xs: evaluate(program, xs), avals)


def _raised_function(
    flat: Callable[..., list[Any]], name: str, avals: Sequence[ShapedArray]
) -> Olympuspr:
    """Return the program of a JAX function of flat lists, for arguments of types `avals`."""
    types = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in avals]
    with jax.enable_x64(state.enable_x64):
        traced = jax_jit(flat, keep_unused=True).trace(*types)
        what = f"the JAX function '{name}' cannot be part of a program of OLYMPUS"
        if traced.jaxpr.effects:
            raise LoweringError(f"{what}: it has effects")
        module = traced.lower(lowering_platforms=("cpu",)).compiler_ir()
    try:
        return raised(mlir.module_to_bytecode(module))
    except UnraisableError as exc:
        raise LoweringError(f"{what}: {exc}") from None
