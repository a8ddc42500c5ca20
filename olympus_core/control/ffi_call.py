"""`ffi_call`: a call of a compiled function of another library, which is registered by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from olympus_core import xla
from olympus_core.base.errors import ArgumentError, TransformError
from olympus_core.control.host_call import PureCall
from olympus_core.ir.primitive import Batched
from olympus_core.mlir import bindings as mlir
from olympus_core.mlir.attributes import attribute, output_aliases

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.mlir.bindings import ir

#: the order of the axes in memory, the fastest first
Layout = tuple[int, ...]
#: the version of the interface of typed calls, with attributes by name
TYPED_API = 4


class FfiAttributes:
    """The attributes of a call by name, equal by their values and classes."""

    __slots__ = ("_key", "values")

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self._key = tuple([(k, _key(k, v)) for k, v in sorted(self.values.items())])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FfiAttributes) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.values)


def _key(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, dict):
        return tuple([(k, _key(name, v)) for k, v in sorted(value.items())])
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"Non-hashable keyword argument to ffi_call {name}: {value!r:.80}"
        ) from None
    return type(value), value


def emit_call(
    target: str,
    operands: Sequence[ir.Value],
    types: Sequence[ir.Type],
    *,
    config: Any = None,
    has_side_effect: bool = False,
    api_version: int = TYPED_API,
    operand_layouts: Sequence[Layout] | None = None,
    result_layouts: Sequence[Layout] | None = None,
    aliases: Mapping[int, int] | None = None,
    extra: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """Emit a custom call, and return the operation.

    `config` are its typed attributes, or with an older `api_version` a text. `aliases` pair
    operands with the results in their memory.
    """
    attributes = {
        "call_target_name": mlir.string_attr(target),
        "has_side_effect": mlir.bool_attr(has_side_effect),
        "api_version": mlir.i32_attr(api_version),
        **(extra or {}),
    }
    if api_version >= TYPED_API:
        attributes["backend_config"] = mlir.ir.DictAttr.get(dict(config or {}), mlir.context())
    else:
        attributes["backend_config"] = mlir.string_attr(str(config or ""))
    if operand_layouts is not None:
        attributes["operand_layouts"] = _layouts(operand_layouts)
    if result_layouts is not None:
        attributes["result_layouts"] = _layouts(result_layouts)
    if aliases:
        attributes["output_operand_aliases"] = output_aliases(aliases, len(types))
    return mlir.op("stablehlo.custom_call", types, operands, attributes)


def _layouts(layouts: Sequence[Layout]) -> ir.Attribute:
    texts = [
        f"dense<{list(order) if order else ''}> : tensor<{len(order)}xindex>" for order in layouts
    ]
    return mlir.parsed_attr(f"[{', '.join(texts)}]")


class FfiCall(PureCall):
    """A call of the function `target_name`, whose results have the types `results`."""

    inlined: ClassVar[bool] = False
    is_host_call: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        if params["target_name"].startswith("lapack_"):
            xla.ensure_lapack()
        version = params["api_version"]
        config = params["legacy_backend_config"]
        if version >= TYPED_API:
            config = {k: attribute(v) for k, v in params["attributes"].values.items()}
        call = emit_call(
            params["target_name"],
            operands,
            [mlir.tensor_type(a) for a in ctx.avals_out],
            config=config,
            has_side_effect=self.is_effect,
            api_version=version,
            operand_layouts=params["input_layouts"],
            result_layouts=params["output_layouts"],
            aliases=dict(params["input_output_aliases"]),
        )
        return list(call.results)

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        method = params["vmap_method"]
        if method not in (None, "sequential", "sequential_unrolled"):
            vectorized = method == "legacy_vectorized"
            layouts = zip(params["input_layouts"], dims, strict=True)
            params = params | {
                "input_layouts": tuple([
                    x if vectorized and d is None else _mapped(x) for x, d in layouts
                ]),
                "output_layouts": tuple(map(_mapped, params["output_layouts"])),
            }  # fmt: skip
        return super().batch(batched, args, dims, **params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        self._not_differentiable(params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        self._not_differentiable(params)

    def _not_differentiable(self, params: dict[str, Any]) -> NoReturn:
        raise TransformError(
            f"The FFI call to `{params['target_name']}` cannot be differentiated.",
            hint="define a derivative with custom_jvp or custom_vjp",
        )


def _mapped(layout: Layout) -> Layout:
    """Return the layout of arrays along a new first axis, which varies slowest."""
    return (*[n + 1 for n in layout], 0)


class FfiEffectCall(FfiCall):
    """A call with a side effect, which is made also if its results are not used."""

    is_effect: ClassVar[bool] = True


ffi_call_p = FfiCall("ffi_call")
ffi_effect_call_p = FfiEffectCall("ffi_effect_call")
