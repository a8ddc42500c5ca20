"""`linear_call`: a linear function, with a transpose that its author wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ShapeError, TransformError
from olympus_core.base.source import function_name
from olympus_core.control.bodies import share_consts, stage_body
from olympus_core.control.call import InlineCall
from olympus_core.ir.olympuspr import Eqn, Olympuspr
from olympus_core.ir.primitive import Batched, TangentSplit
from olympus_core.transforms import data
from olympus_core.transforms.batching import place_axis
from olympus_core.transforms.flat import instantiate
from olympus_core.transforms.linearize import cotangent_aval
from olympus_core.transforms.programs import batch_program


class Transposed:
    """The program of a transpose: of the operands that are not linear, and of cotangents."""

    __slots__ = ("program",)

    def __init__(self, program: Olympuspr) -> None:
        self.program = program


class LinearCall(InlineCall):
    """A call of `olympuspr`, linear in its last `num_linear` operands.

    `rule` has the program of the transpose, of the other operands and of the results' cotangents.
    """

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn  # the transpose takes a cotangent for each result

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return None

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        n = len(primals) - params["num_linear"]
        if any(t is not None for t in tangents[:n]):
            raise TransformError(
                "linear_call is linear in its last argument only, and a residual is being "
                "differentiated"
            )
        filled = [
            instantiate(t, cotangent_aval(get_aval(x)))
            for t, x in zip(tangents[n:], primals[n:], strict=True)
        ]
        return self.bind(*primals, **params), self.bind(*primals[:n], *filled, **params)

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        program, count = params["olympuspr"], params["num_linear"]
        others = operands[: len(operands) - count]
        filled = [
            instantiate(c, cotangent_aval(a))
            for c, a in zip(cotangent, program.out_avals, strict=True)
        ]
        swapped = {
            "num_linear": len(filled),
            "olympuspr": params["rule"].program,
            "rule": Transposed(program),
        }
        outs = self.bind(*others, *filled, **(params | swapped))
        return [*[None] * len(others), *outs]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        n = len(args) - params["num_linear"]
        front: list[int | None] = [None if d is None else 0 for d in dims[:n]]
        front += [0] * params["num_linear"]
        placed = [
            place_axis(x, d, f, batched.size) for x, d, f in zip(args, dims, front, strict=True)
        ]
        program, transposed = params["olympuspr"], params["rule"].program
        count = len(program.outvars)
        forward = batch_program(program, batched, tuple(front), (True,) * count)
        backward = batch_program(
            transposed, batched, (*front[:n], *(0,) * count), (True,) * params["num_linear"]
        )
        mapped = {"olympuspr": forward.program, "rule": Transposed(backward.program)}
        return self.bind(*placed, **(params | mapped)), forward.out_dims


linear_call_p = LinearCall("linear_call")


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Return `fun(residual_args, linear_args)`, a function linear in its last argument.

    `fun_transpose(residual_args, cotangent)` is its transpose; it returns a value of the structure
    of `linear_args`. Raises TransformError (a TypeError) for another structure, and ShapeError for
    another shape or dtype.

    >>> halve = lambda x: linear_call(lambda r, x: x / r, lambda r, c: c / r, 2.0, x)
    >>> ox.linear_transpose(halve, 1.0)(3.0)
    (Array(1.5, dtype=float32, weak_type=True),)
    """
    others, _ = data.flatten_data(residual_args)
    linear, linear_tree = data.flatten_data(linear_args)
    avals = [get_aval(x) for x in [*others, *linear]]
    in_tree = tree.structure((residual_args, linear_args))
    forward = stage_body(fun, in_tree, avals, "the function of linear_call")
    result = forward.out_tree.unflatten(forward.out_avals)
    backward = stage_body(
        fun_transpose,
        tree.structure((residual_args, result)),
        [*avals[: len(others)], *(a.strip_weak() for a in forward.out_avals)],
        "the transpose of linear_call",
    )
    if backward.out_tree != linear_tree:
        raise TransformError(
            "transpose output pytree structure must match that of linear inputs, got output "
            f"structure {backward.out_tree} and input structure {linear_tree}"
        )
    for expected, aval in zip(avals[len(others) :], backward.out_avals, strict=True):
        if (expected.shape, expected.dtype) != (aval.shape, aval.dtype):
            raise ShapeError(
                f"Expected cotangent type {expected.long_name()} but got {aval.long_name()}: the "
                "transpose of linear_call returns a cotangent for each linear argument"
            )
    (program, transposed), consts = share_consts([forward, backward])
    outs = linear_call_p.bind(
        *consts,
        *others,
        *linear,
        name=function_name(fun),
        num_linear=len(linear),
        olympuspr=program,
        rule=Transposed(transposed),
    )
    return forward.out_tree.unflatten(outs)
