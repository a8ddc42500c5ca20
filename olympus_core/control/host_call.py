"""Calls of Python functions by a running program: `pure_callback`, `io_callback`, `debug_callback`.

A program is lowered to a custom call with the index of its function.  The functions are no part of
the StableHLO or the executable: whoever compiles or loads the program passes them to the runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.errors import LoweringError, TransformError, VmapMethodError
from olympus_core.ir.primitive import Batched, MultipleResults, op
from olympus_core.primitives.elementwise.base import move_axis
from olympus_core.primitives.host_function import HostCallee, checked_results
from olympus_core.transforms.programs import staged

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Eqn, Var
    from olympus_core.lowering.module import LoweringContext

#: the handler of a call in the runtime of each platform
_HANDLERS = {"cpu": "xla_ffi_python_cpu_callback", "cuda": "xla_ffi_python_gpu_callback"}
#: the rules of `vmap` that call the function once for each element
_SEQUENTIAL = ("sequential", "sequential_unrolled")


class HostCall(MultipleResults):
    """A call of `function`, a `HostFunction`, whose results have the types `results`."""

    inlined: ClassVar[bool] = True
    higher_order: ClassVar[bool] = True
    has_fixed_dtypes: ClassVar[bool] = True
    is_host_call: ClassVar[bool] = True
    #: True if an eager call raises the error of its function, and not a CallbackError of it
    raises_own_errors: ClassVar[bool] = False

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        results: tuple[ShapedArray, ...] = params["results"]
        return results

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        arrays = [x if isinstance(x, DeviceArray) else put_array(x) for x in args]
        try:
            results = checked_results(params["function"].call(arrays), params["results"])
        except Exception as error:
            if self.raises_own_errors:
                raise
            raise xla.callback_error(error) from error
        return [
            DeviceArray(aval, xla.put(x))
            for aval, x in zip(params["results"], results, strict=True)
        ]

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        self.bind(*args, **params)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        handler = _HANDLERS.get(ctx.platform)
        if handler is None:
            raise LoweringError(
                f"'{self.name}' calls {params['function']!r}, a Python function, and a program for "
                f"{ctx.platform} cannot call Python",
                hint="leave the call out with platform_dependent, or lower for the CPU",
            )
        is_ordered = bool(params.get("threaded"))
        callee = HostCallee(
            params["function"],
            self.is_effect,
            ctx.avals_in[is_ordered:],
            ctx.avals_out[is_ordered:],
            is_ordered,
        )
        index = ctx.host_function(callee)
        return ctx.host_call(handler, index, operands, has_side_effect=self.is_effect)

    def threaded(self, eqn: Eqn, thread: Any, order: Any, after: Var) -> Eqn:
        return eqn.replace(
            inputs=(order, *eqn.inputs),
            outputs=(after, *eqn.outputs),
            params=eqn.params | {"threaded": True},
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        self._refuse("transpose")

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        self._refuse("JVP")

    def _refuse(self, purpose: str) -> NoReturn:
        noun = {"pure_callback": "Pure callbacks", "io_callback": "IO callbacks"}[self.name]
        raise TransformError(
            f"{noun} do not support {purpose}: the derivative of a Python function is not known. "
            "Please use `olympus.custom_jvp` or `olympus.custom_vjp` to use callbacks while taking "
            "gradients"
        )

    def _one_by_one(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], params: Any
    ) -> tuple[list[Any], list[int | None]]:
        """Return a loop over the mapped axis that calls the function for each element, in order."""
        fixed = [x for x, d in zip(args, dims, strict=True) if d is None]
        rows = [move_axis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]

        def body(*values: Any) -> list[Any]:
            constants, elements = iter(values[: len(fixed)]), iter(values[len(fixed) :])
            operands = [next(constants if d is None else elements) for d in dims]
            return list(self.bind(*operands, **params))

        avals = [shaped(shape_of(x), get_aval(x).dtype) for x in fixed]
        avals += [shaped(shape_of(x)[1:], get_aval(x).dtype) for x in rows]
        unrolled = params.get("vmap_method") == "sequential_unrolled"
        outs = op.scan(
            *fixed,
            *rows,
            olympuspr=staged(body, avals),
            num_consts=len(fixed),
            num_carry=0,
            length=batched.size,
            reverse=False,
            unroll=batched.size if unrolled else 1,
        )
        return outs, [0] * len(outs)


class PureCall(HostCall):
    """A call without side effects, as `pure_callback` has; `vmap_method` is its rule of `vmap`."""

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        method = params["vmap_method"]
        if method in _SEQUENTIAL:
            return self._one_by_one(batched, args, dims, params)
        if method is None:
            raise VmapMethodError(
                f"vmap is only supported for the {self.name} primitive when vmap_method is one of "
                "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', and got "
                f"vmap_method={method}"
            )
        operands = []
        for x, d in zip(args, dims, strict=True):
            if d is not None:
                operands.append(move_axis(x, d, 0))
            elif method == "legacy_vectorized":
                operands.append(x)
            else:
                size = batched.size if method == "broadcast_all" else 1
                shape = shape_of(x)
                axes = tuple(range(1, len(shape) + 1))
                operands.append(
                    op.broadcast_in_dim(x, shape=(size, *shape), broadcast_dimensions=axes)
                )
        results = tuple([a.update(shape=(batched.size, *a.shape)) for a in params["results"]])
        outs = self.bind(*operands, **params | {"results": results})
        return outs, [0] * len(outs)


class EffectCall(HostCall):
    """A call with side effects, as `io_callback` has; `ordered` ones keep their order."""

    is_effect: ClassVar[bool] = True
    is_io: ClassVar[bool] = True
    orders_devices: ClassVar[bool] = True

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        if params["ordered"]:
            raise TransformError("Cannot `vmap` ordered IO callback: its calls would have no order")
        return self._one_by_one(batched, args, dims, params)


class DebugCall(EffectCall):
    """A call without results, which no transformation refuses; tangents are not passed to it."""

    is_io: ClassVar[bool] = False
    orders_devices: ClassVar[bool] = False
    raises_own_errors: ClassVar[bool] = True

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[int | None]]:
        return self._one_by_one(batched, args, dims, params)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return self.bind(*primals, **params), []

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return [None] * len(operands)


pure_callback_p = PureCall("pure_callback")
io_callback_p = EffectCall("io_callback")
debug_callback_p = DebugCall("debug_callback")
