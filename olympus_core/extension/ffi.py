"""Compiled functions of other libraries: their registration, and calls of them in programs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core import xla
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.control.ffi_call import (
    TYPED_API,
    FfiAttributes,
    Layout,
    emit_call,
    ffi_call_p,
    ffi_effect_call_p,
)
from olympus_core.extension.lowering_context import LoweringRuleContext, flat_values
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.attributes import attribute

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_VMAP_METHODS = (
    *("sequential", "sequential_unrolled", "expand_dims", "broadcast_all"),
    *("legacy_vectorized", None),
)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Register the function that programs call by a name.

    `fn` is a capsule with its address (see `pycapsule`), or a dict of capsules by stage. With
    `api_version` 1 it takes the call frame of XLA's typed interface; with 0, the buffers.

    >>> register_ffi_target("scale", pycapsule(library.scale))
    """
    xla.register_target(name, fn, platform, api_version, **kwargs)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Register a type of states or contexts of functions, a dict of capsules.

    >>> register_ffi_type("state", {"type_id": pycapsule(library.state_type_id)})
    """
    xla.register_type(name, type_registration, platform)


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Raise UnsupportedError: `register_ffi_type` has replaced it.

    >>> register_ffi_type_id("state", pycapsule(library.state_type_id))
    """
    raise UnsupportedError(
        "register_ffi_type_id is not supported after jaxlib version 381",
        hint="use register_ffi_type with {'type_id': obj}",
    )


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declare that each device may call a function for its part of the leading axes.

    >>> register_ffi_target_as_batch_partitionable("scale")
    """
    xla.register_as_batch_partitionable(name)


def pycapsule(funcptr: Any) -> Any:
    """Return a function of a library that `ctypes` loaded as a capsule with its address.

    >>> pycapsule(ctypes.cdll.LoadLibrary("./libscale.so").scale)
    """
    destructor = ctypes.CFUNCTYPE(None, ctypes.py_object)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, destructor)
    return make(funcptr, None, destructor(0))


def include_dir() -> str:
    """Return the folder of the header files of XLA's interface for such functions.

    >>> sorted(os.listdir(include_dir()))
    ['xla']
    """
    return xla.include_dir()


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Any] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = TYPED_API,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls the registered function `target_name`.

    Its keyword arguments are the attributes of the call: numbers, texts, NumPy arrays, and dicts of
    these. The result has the shape and dtype of `result_shape_dtypes`, or is a list of such. A call
    with a side effect is made also if its result is not used. `vmap_method` is the rule of `vmap`,
    as for `pure_callback`. Layouts are orders of axes in memory, the slowest first; without one an
    array is row-major. `input_output_aliases` pair an input with the output in its memory.

    Raises ArgumentError (a ValueError) for another `vmap_method`, another number of layouts, or an
    alias of different types; and TransformError for a derivative.

    >>> ffi_call("scale", ShapeDtypeStruct((3,), "float32"))(numpy.arange(3.0), by=2.0)
    Array([0., 2., 4.], dtype=float32)
    """
    if vmap_method not in _VMAP_METHODS:
        raise ArgumentError(
            f"vmap_method must be on of the allowed methods {list(_VMAP_METHODS)}, but got: "
            f"{vmap_method!r:.80}"
        )
    if custom_call_api_version >= TYPED_API and legacy_backend_config is not None:
        raise ArgumentError(
            "The use of the legacy_backend_config parameter requires custom_call_api_version < "
            f"{TYPED_API}; got {custom_call_api_version}"
        )
    several = isinstance(result_shape_dtypes, Sequence)
    results = _result_types(result_shape_dtypes if several else [result_shape_dtypes])
    given_outputs = output_layouts if several else (output_layouts,)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        avals = [get_aval(x) for x in args]
        ins = _layouts("input arguments", "input layouts", avals, input_layouts)
        outs = _layouts("outputs", "output layouts", results, given_outputs)
        primitive = ffi_effect_call_p if has_side_effect else ffi_call_p
        values = primitive.bind(
            *args,
            api_version=custom_call_api_version,
            attributes=FfiAttributes(kwargs),
            input_layouts=ins,
            input_output_aliases=_aliases(input_output_aliases, (avals, ins), (results, outs)),
            legacy_backend_config=legacy_backend_config,
            output_layouts=outs,
            results=results,
            target_name=target_name,
            vmap_method=vmap_method,
        )
        if not several:
            return values[0]
        return tuple(values) if isinstance(result_shape_dtypes, tuple) else values

    return wrapped


def _result_types(results: Sequence[Any]) -> tuple[ShapedArray, ...]:
    for i, x in enumerate(results):
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise ArgumentError(
                "All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got "
                f"{x!r:.80} at position {i}."
            )
    return tuple([shaped(tuple(x.shape), x.dtype) for x in results])


def _layouts(
    what: str, kind: str, avals: Sequence[ShapedArray], layouts: Sequence[Any] | None
) -> tuple[Layout, ...]:
    """Return the layouts of arrays, the fastest axis first, from orders with the slowest first."""
    if layouts is None:
        layouts = [None] * len(avals)
    if len(layouts) != len(avals):
        raise ArgumentError(
            f"The number of {what} ({len(avals)}) must equal the number of {kind} ({len(layouts)})"
        )
    return tuple([_layout(a, x, True) for a, x in zip(avals, layouts, strict=True)])


def _layout(aval: ShapedArray, layout: Any, slowest_first: bool) -> Layout:
    if layout is None:
        return tuple(range(aval.ndim))[::-1]
    if hasattr(layout, "major_to_minor"):
        if layout.tiling is not None:
            raise ArgumentError("The FFI does not support layouts with tiling")
        return tuple(layout.major_to_minor)[::-1]
    return tuple(layout)[::-1] if slowest_first else tuple(layout)


def _fastest_first(avals: Sequence[ShapedArray], layouts: Sequence[Any] | None) -> list[Layout]:
    given = layouts or [None] * len(avals)
    return [_layout(a, x, False) for a, x in zip(avals, given, strict=True)]


_Arrays = tuple[Sequence[ShapedArray], Sequence[Layout]]


def _aliases(
    aliases: Mapping[int, int] | None, ins: _Arrays, outs: _Arrays
) -> tuple[tuple[int, int], ...]:
    pairs = sorted((int(i), int(j)) for i, j in (aliases or {}).items())
    for i, j in pairs:
        mapping = f"input_output_aliases contains the mapping '{i}:{j}'"
        for kind, index, avals in (("input", i, ins[0]), ("output", j, outs[0])):
            if not 0 <= index < len(avals):
                raise ArgumentError(
                    f"{mapping} with {kind} index {index} outside the range [0, {len(avals)})."
                )
        if ins[0][i].strip_weak() != outs[0][j].strip_weak():
            raise ArgumentError(
                f"{mapping} referring to an input with abstract value {ins[0][i]} and an output "
                f"with a different abstract value {outs[0][j]}."
            )
        if ins[1][i] != outs[1][j]:
            raise ArgumentError(
                f"{mapping} referring to an input with layout {ins[1][i]} and an output with a "
                f"different layout {outs[1][j]}."
            )
    return tuple(pairs)


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., ir.Operation]:
    """Return a function of a lowering context and operands that emits a call of a target.

    The call has the results of the primitive that is lowered; its attributes are the parameters
    and `backend_config`. Layouts are orders of axes with the fastest first. `lowering_args` may be
    `has_side_effect`, `api_version`, `operand_output_aliases`, `result_types` and
    `extra_attributes`.

    >>> build_ffi_lowering_function("scale")
    """

    def lower(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> ir.Operation:
        version = lowering_args.get("api_version", TYPED_API)
        config: Any = backend_config
        if version >= TYPED_API:
            if config is not None and not isinstance(config, Mapping):
                raise ArgumentError("When api_version > 4, backend_config must be a dictionary.")
            config = {**(config or {}), **{k: attribute(v) for k, v in params.items()}}
        elif params:
            raise ArgumentError(
                "The use of ffi_call attributes requires a custom call API version of at least 4; "
                f"got api_version={version}."
            )
        types = lowering_args.get("result_types")
        ins, outs = None, None
        if not skip_ffi_layout_processing:
            ins = _fastest_first(ctx.avals_in, operand_layouts)
            outs = _fastest_first(ctx.avals_out, result_layouts)
        return emit_call(
            call_target_name,
            flat_values(operands),
            types if types is not None else [mlir.tensor_type(a) for a in ctx.avals_out],
            config=config,
            has_side_effect=bool(lowering_args.get("has_side_effect", False)),
            api_version=version,
            operand_layouts=ins,
            result_layouts=outs,
            aliases=lowering_args.get("operand_output_aliases"),
            extra=lowering_args.get("extra_attributes"),
        )

    return lower


def ffi_lowering(call_target_name: str, **options: Any) -> Callable[..., Sequence[ir.Value]]:
    """Return a lowering rule that emits a call of a target; see `build_ffi_lowering_function`.

    >>> mlir.register_lowering(scale_p, ffi_lowering("scale"))
    """
    build = build_ffi_lowering_function(call_target_name, **options)

    def rule(ctx: LoweringRuleContext, *operands: Any, **params: Any) -> Sequence[ir.Value]:
        return list(build(ctx, *operands, **params).results)

    return rule
