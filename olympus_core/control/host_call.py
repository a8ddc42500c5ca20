"""Calls of Python functions by a running program: `pure_callback`, `io_callback`, `debug_callback`.

A program is lowered to a custom call with the index of its function.  The functions are no part of
the StableHLO or the executable: whoever compiles or loads the program passes them to the runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from olympus_core import xla
from olympus_core.arrays.device_array import DeviceArray, put_array
from olympus_core.base.avals import ShapedArray, get_aval, shape_of, shaped
from olympus_core.base.errors import LoweringError, TransformError, VmapMethodError
from olympus_core.ir.primitive import Batched, MultipleResults, op
from olympus_core.lowering.module_state import Manual
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.primitives.elementwise.base import move_axis, to_dtype
from olympus_core.primitives.host_function import FlatFunction, HostCallee, checked_results
from olympus_core.transforms.programs import staged

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Eqn, Var
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

#: the names of the handlers in modules of JAX, without their platforms; the handler of a
#: partitioned call gives each device its part
_CALL, _PARTITIONED = "xla_ffi_python_", "xla_ffi_partitioned_python_"
#: the end of the handler's name in the runtime of each platform
_HANDLERS = {"cpu": "cpu_callback", "cuda": "gpu_callback"}
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
        handler = (_PARTITIONED if params.get("partitioned") else _CALL) + handler
        return ctx.host_call(handler, index, operands, has_side_effect=self.is_effect)

    def of_jax(self, operation: StableHloOperation, operands: Sequence[Any], **rule: Any) -> Any:
        """Return the results of a call in a module of JAX whose functions are known, or None.

        The value of the order is passed on: lowering orders the calls as their equations are.
        """
        function = _called(operation)
        if function is None or operation.flag("has_side_effect") != self.is_effect:
            return None
        # the layouts are row-major, as `lower` writes them
        for name in ("api_version", "called_computations", "operand_layouts", "result_layouts"):
            operation.attribute(name)
        operation.attribute("sdy.sharding")  # the first device, as for `lower`
        order = operands[: operation.is_ordered]
        arrays, results = operands[len(order) :], operation.avals_out[len(order) :]
        called = function.host_function(len(arrays), operation.is_ordered)
        return [*order, *self.bind(*arrays, function=called, results=results, **rule)]

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


def _called(operation: StableHloOperation) -> FlatFunction | None:
    """Return the function that a custom call of JAX calls, or None for another operation."""
    name = operation.text("call_target_name").strip('"')
    if name.startswith(_PARTITIONED):
        if operation.num_devices > 1 and (
            operation.manual is None or not operation.manual.is_whole
        ):
            return None
    elif not name.startswith(_CALL):
        return None
    operation.attribute("backend_config")  # JAX's is empty
    config = operation.attribute("mhlo.backend_config")
    if not isinstance(config, mlir.ir.DictAttr) or len(config) != 1 or "index" not in config:
        return None
    index = config["index"]
    if not isinstance(index, mlir.ir.IntegerAttr):
        return None
    return operation.host_function(index.value)


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
    """A call without results, which no transformation refuses; tangents are not passed to it.

    With `partitioned`, each device of a program calls the function with its part of the arrays.
    """

    is_io: ClassVar[bool] = False
    orders_devices: ClassVar[bool] = False
    raises_own_errors: ClassVar[bool] = True

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        """Emit the call; along the axes that a `shard_map` leaves to the compiler, one for all."""
        manual = ctx.module.manual
        if manual is None or manual.is_whole or params.get("threaded"):
            return super().lower(ctx, *operands, **params)
        rest = tuple([n for n in manual.mesh.axis_names if n not in manual.names])
        avals = [shaped(a.shape, a.dtype) for a in ctx.avals_in]

        def call(*arrays: Any) -> list[Any]:
            self.bind(*arrays, **params)
            return []

        def body(*arrays: Any) -> list[Any]:
            index = 0
            for name in rest:
                index = op.max(index, op.axis_index(axis_name=name))
            is_first = to_dtype(op.eq(index, 0), np.dtype("int32"))
            branches = staged(lambda *_: [], avals), staged(call, avals)
            op.cond(is_first, *arrays, branches=branches)
            return []

        specs = (PartitionSpec(),) * len(operands), ()
        mapped = Manual(manual.mesh, frozenset(rest))
        return ctx.manual_body(staged(body, avals), operands, mapped, specs, ())

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


class PureCallback(PureCall):
    """The call of `pure_callback`."""

    raised_from: tuple[str, ...] = ("stablehlo.custom_call",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.of_jax(operation, operands, vmap_method=None)


class IoCallback(EffectCall):
    """The call of `io_callback`; calls for debugging are the same in a module."""

    raised_from: tuple[str, ...] = ("stablehlo.custom_call",)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        return self.of_jax(operation, operands, ordered=operation.is_ordered)


pure_callback_p = PureCallback("pure_callback")
io_callback_p = IoCallback("io_callback")
debug_callback_p = DebugCall("debug_callback")
