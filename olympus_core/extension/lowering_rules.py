"""Lowering rules of users, and the functions that they are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.extension.lowering_context import (
    LoweringRuleContext,
    flat_values,
    lower_by,
)
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Primitive
from olympus_core.mlir import bindings as mlir
from olympus_core.transforms.staging import stage

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

Rule = Callable[..., Any]


def register_lowering(
    prim: Primitive,
    rule: Rule,
    platform: str | None = None,
    inline: bool = True,
    cacheable: bool = True,
) -> None:
    """Set the rule that emits StableHLO for a primitive: (ctx, *values, **params) -> values.

    `ctx` is a LoweringRuleContext. A rule with a `platform` ("cpu", "cuda", "gpu", "tpu") is for it
    alone. `inline` and `cacheable` have no effect.

    >>> register_lowering(double_p, lambda ctx, x: [hlo.add(x, x)])
    """
    names: list[str | None] = ["cuda"] if platform in ("gpu", "cuda") else [platform]
    if isinstance(prim, UserPrimitive) and type(prim).lower is UserPrimitive.lower:
        prim.lowerings.update((name, rule) for name in names)
        return
    own = prim.lower

    def lower(ctx: Any, *operands: Any, **params: Any) -> Any:
        if names != [None] and ctx.platform not in names:
            return own(ctx, *operands, **params)
        values = [x if isinstance(x, mlir.ir.Value) else ctx.constant(x) for x in operands]
        outs = lower_by(rule, prim, ctx, values, params)
        return outs if prim.multiple_results else outs[0]

    prim.lower = lower  # type: ignore[method-assign]


def lower_fun(fun: Callable[..., Any], multiple_results: bool = True) -> Rule:
    """Return a lowering rule that emits the operations of a function of arrays.

    The function takes arrays and the parameters, and returns a list, or one array if
    `multiple_results` is False.

    >>> register_lowering(double_p, lower_fun(lambda x: 2 * x, multiple_results=False))
    """

    def rule(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> list[ir.Value]:
        def flat(*args: Any) -> list[Any]:
            out = fun(*args, **params)
            return list(out) if multiple_results else [out]

        program = stage(flat, list(ctx.avals_in), what="a function that is lowered")
        return inline(ctx, program, operands)

    return functools.update_wrapper(rule, fun) if hasattr(fun, "__name__") else rule


def inline(
    ctx: LoweringRuleContext, program: Olympuspr, operands: Sequence[ir.Value]
) -> list[ir.Value]:
    """Emit the equations of a program here, and return its results."""
    own = ctx.own
    types = own.avals_in, own.avals_out
    try:
        return own.inline(program, operands)
    finally:
        own.avals_in, own.avals_out = types


def jaxpr_subcomp(
    ctx: Any, jaxpr: Olympuspr, name_stack: Any, tokens: Any, consts: Sequence[Any], *args: Any
) -> tuple[list[ir.Value], Any]:
    """Emit a program for values of its constants and of its inputs; return results and tokens.

    >>> outs, tokens = jaxpr_subcomp(ctx.module_context, jaxpr, None, None, (), x)
    """
    closed = Olympuspr((*jaxpr.constvars, *jaxpr.invars), jaxpr.eqns, jaxpr.outvars)
    values = [*flat_values(consts), *flat_values(args)]
    return ctx._own.inline(closed, values), tokens


def dtype_to_ir_type(dtype: Any) -> ir.Type:
    """Return the MLIR element type of a dtype.

    >>> str(dtype_to_ir_type(np.dtype("float32")))
    'f32'
    """
    return mlir.element_type(np.dtype(dtype))


#: the functions that return the type in MLIR of an abstract value, by its class
ir_type_handlers: dict[type, Callable[[Any], Any]] = {
    ShapedArray: lambda aval: mlir.tensor_type(aval),
}


def aval_to_ir_type(*context_and_aval: Any) -> ir.Type:
    """Return the tensor type of an abstract array, the last argument.

    >>> str(aval_to_ir_type(ShapedArray((2,), np.float32)))
    'tensor<2xf32>'
    """
    aval = context_and_aval[-1]
    handler = ir_type_handlers.get(type(aval), ir_type_handlers[ShapedArray])
    return handler(aval)


def aval_to_ir_types(*context_and_aval: Any) -> tuple[ir.Type, ...]:
    """Return the types that an abstract array has in MLIR: its tensor type.

    >>> [str(t) for t in aval_to_ir_types(typeof(1.0))]
    ['tensor<f32>']
    """
    return (aval_to_ir_type(*context_and_aval),)


def ir_constant(val: Any, *, const_lowering: Any = None, aval: ShapedArray | None = None) -> Any:
    """Emit a constant array or scalar, and return its value.

    >>> ir_constant(np.float32(1.0))
    """
    if (handler := constant_handlers.get(type(val))) is not None:
        return handler(val, aval)
    dtype = (aval or get_aval(val)).dtype
    return mlir.constant(np.asarray(val, dtype))


#: the functions that emit constants of types of users
constant_handlers: dict[type, Callable[[Any, Any], Any]] = {}


def register_constant_handler(type_: type, handler_fun: Callable[[Any, Any], Any]) -> None:
    """Set the function (value, type or None) -> value of MLIR that emits constants of a type.

    `ir_constant` calls it.

    >>> class Third: ...
    >>> register_constant_handler(Third, lambda x, aval: ir_constant(np.float32(1 / 3)))
    """
    constant_handlers[type_] = handler_fun


def ir_constants(
    val: Any, *, const_lowering: Any = None, aval: ShapedArray | None = None
) -> tuple[Any, ...]:
    """Emit a constant as `ir_constant`, and return the values that represent it: one.

    >>> ir_constants(np.float32(1.0))
    """
    return (ir_constant(val, aval=aval),)


def flatten_ir_values(xs: Any) -> list[ir.Value]:
    """Return the values of nested sequences as one list.

    >>> flatten_ir_values([x, (y, z)])
    """
    return flat_values(xs)


def flatten_ir_types(xs: Any) -> list[ir.Type]:
    """Return the types of nested sequences as one list.

    >>> flatten_ir_types([aval_to_ir_types(typeof(1.0))])
    """
    if isinstance(xs, mlir.ir.Type):
        return [xs]
    return [t for group in xs for t in flatten_ir_types(group)]


def unflatten_ir_values_like_types(xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """Return values in the nesting of types.

    >>> unflatten_ir_values_like_types([x, y], types)
    """
    rest = iter(xs)
    return [next(rest) if isinstance(y, mlir.ir.Type) else tuple(next(rest) for _ in y) for y in ys]


def dense_int_elements(xs: Sequence[int]) -> ir.Attribute:
    """Return integers as an attribute of 64-bit elements.

    >>> str(dense_int_elements([1, 2]))
    'dense<[1, 2]> : tensor<2xi64>'
    """
    return mlir.dense(np.asarray(xs, np.int64))


def dense_int_array(xs: Sequence[int]) -> ir.Attribute:
    """Return integers as an attribute `array<i64: ...>`.

    >>> str(dense_int_array([1, 2]))
    'array<i64: 1, 2>'
    """
    result: ir.Attribute = mlir.i64_array(tuple(xs))
    return result


def shape_tensor(sizes: Sequence[int]) -> ir.Value:
    """Emit sizes as an array of int32.

    >>> shape_tensor([2, 3])
    """
    return mlir.constant(np.asarray(sizes, np.int32))


def module_to_string(module: ir.Module, enable_debug_info: bool | None = None) -> str:
    """Return a module as text, without source locations if `enable_debug_info` is False.

    >>> module_to_string(jit(sin).lower(1.0).compiler_ir(), enable_debug_info=False)[:6]
    'module'
    """
    text: str = module.operation.get_asm(enable_debug_info=enable_debug_info is not False)
    return text


def module_to_bytecode(module: ir.Module) -> bytes:
    """Return a module as MLIR bytecode.

    >>> module_to_bytecode(jit(sin).lower(1.0).compiler_ir())[:4]
    b'ML\xefR'
    """
    return mlir.bytecode(module)
