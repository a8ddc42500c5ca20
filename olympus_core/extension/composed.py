"""`ComposedPrimitive`: an operation with a name of its own, all rules of which are a function's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.extension.lowering_context import lower_by
from olympus_core.extension.lowering_rules import lower_fun
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.primitive import Batched, Linear
from olympus_core.transforms.autodiff import jvp, linear_transpose
from olympus_core.transforms.staging import stage
from olympus_core.transforms.vmapping import vmap

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class ComposedPrimitive(UserPrimitive):
    """An operation that `function` of operands and parameters defines.

    Its types, derivatives, batching and lowering are those of the function's operations. The
    function returns an array, or a list if `multiple_results` is True.

    >>> double_p = ComposedPrimitive("double", lambda x: x + x)
    >>> double_p.bind(3.0)
    Array(6., dtype=float32, weak_type=True)
    """

    def __init__(
        self, name: str, function: Callable[..., Any], *, multiple_results: bool = False
    ) -> None:
        super().__init__(name)
        self.function = function
        self.multiple_results = multiple_results
        self.lowerings[None] = lower_fun(function, multiple_results)

    def _flat(self, params: dict[str, Any]) -> Callable[..., list[Any]]:
        def flat(*args: Any) -> list[Any]:
            out = self.function(*args, **params)
            return list(out) if self.multiple_results else [out]

        return flat

    def impl(self, *args: Any, **params: Any) -> Any:
        return self.function(*args, **params)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        program = stage(self._flat(params), list(avals), what=f"'{self.name}'")
        outs = [x.aval for x in program.outvars]
        return (outs if self.multiple_results else outs[0]), frozenset()

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        moving = [i for i, t in enumerate(tangents) if t is not None]

        def of_moving(*some: Any) -> list[Any]:
            values = list(primals)
            for i, x in zip(moving, some, strict=True):
                values[i] = x
            return self._flat(params)(*values)

        outs, changes = jvp(of_moving, [primals[i] for i in moving], [tangents[i] for i in moving])
        changes = [None if x.dtype == dtypes.float0 else x for x in changes]
        return (outs, changes) if self.multiple_results else (outs[0], changes[0])

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        places = [i for i, x in enumerate(operands) if isinstance(x, Linear)]

        def of_linear(*some: Any) -> Any:
            values = list(operands)
            for i, x in zip(places, some, strict=True):
                values[i] = x
            return self.function(*values, **params)

        avals = [operands[i].aval for i in places]
        found: list[Any] = [None] * len(operands)
        cotangents = linear_transpose(of_linear, *avals)(cotangent)
        for i, x in zip(places, cotangents, strict=True):
            found[i] = x
        return found

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        mapped = vmap(self._flat(params), in_axes=tuple(dims), axis_size=batched.size)
        outs = mapped(*args)
        return (outs, [0] * len(outs)) if self.multiple_results else (outs[0], 0)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        outs = lower_by(self.lowerings[None], self, ctx, operands, params)
        return outs if self.multiple_results else outs[0]
