"""`buffer_callback`: calls of Python functions on the buffers of a running program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from olympus_core.base.errors import LoweringError, TransformError
from olympus_core.control.host_call import PureCall
from olympus_core.primitives.host_function import BufferCallee

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext

#: the handler of a call in the runtime of each platform
_HANDLERS = {"cpu": "xla_buffer_python_cpu_callback", "cuda": "xla_buffer_python_gpu_callback"}


class BufferCall(PureCall):
    """A call of `function` with the buffers of the operands and of results, which it writes.

    `out_tree` is the tree of the results, and `aliases` are pairs of an operand and a result in its
    memory. With `command_buffer_compatible`, a GPU records the work of the first call.
    """

    inlined: ClassVar[bool] = False

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        handler = _HANDLERS.get(ctx.platform)
        if handler is None:
            raise LoweringError(f"`buffer_callback` not supported on {ctx.platform} backend.")
        if params["command_buffer_compatible"] and ctx.platform == "cuda":
            handler += "_cmd_buffer"
        callee = BufferCallee(
            params["function"], self.is_effect, ctx.avals_in, ctx.avals_out, params["out_tree"]
        )
        return ctx.host_call(
            handler,
            ctx.host_function(callee),
            operands,
            has_side_effect=self.is_effect,
            aliases=dict(params["aliases"]),
        )

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        self._refuse("JVP")

    def _refuse(self, purpose: str) -> NoReturn:
        raise TransformError(
            f"Buffer callbacks do not support {purpose}: the derivative of a Python function is "
            "not known",
            hint="use olympus.custom_jvp or olympus.custom_vjp around the call",
        )


class BufferEffectCall(BufferCall):
    """A call with a side effect, which is made also if its results are not used."""

    is_effect: ClassVar[bool] = True


buffer_callback_p = BufferCall("buffer_callback")
buffer_effect_callback_p = BufferEffectCall("buffer_effect_callback")
