"""The call of a nested program: the result of a `jit` inside a traced function.

The shardings of its arguments and results are constraints in the program that it calls.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core import xla
from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Atom, CallShardings, Eqn, Olympuspr, Var, call_shardings
from olympus_core.ir.primitive import Batched, EagerOperation, Linear, MultipleResults, TangentSplit
from olympus_core.ir.sharding_rules import inserted
from olympus_core.placement.sharding import NamedSharding, Sharding
from olympus_core.primitives.sharding import ConstraintParams, sharding_constraint_p
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.programs import (
    BatchedProgram,
    SplitProgram,
    batch_program,
    jvp_program,
    split_program,
    transposed_program,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Mask = tuple[bool, ...]
_Shardings = tuple[Sharding | None, ...]


class ProgramCall(MultipleResults):
    """A call of `olympuspr`, lowered as a separate function that equal programs share.

    Other primitives that run one program once derive from it, and have their own parameters.
    """

    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        program: Olympuspr = params["olympuspr"]
        return program.out_avals

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.call(params["olympuspr"], params["name"], operands)

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        evaluate(params["olympuspr"], args)

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return agreement.follow(eqn.params["olympuspr"], operands)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        program: Olympuspr = params["olympuspr"]
        nonzero = tuple(t is not None for t in tangents)
        dual_program, has_tangent = _dual(program, nonzero)
        nonzero_tangents = [t for t in tangents if t is not None]
        outs = self.bind(*primals, *nonzero_tangents, **(params | {"olympuspr": dual_program}))
        count = len(program.outvars)
        out_tangents = iter(outs[count:])
        return outs[:count], [next(out_tangents) if m else None for m in has_tangent]

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        program, used_inputs = restrict(eqn.params["olympuspr"], used)
        return eqn.replace(
            inputs=tuple(eqn.inputs[i] for i in used_inputs),
            outputs=tuple(v for v, u in zip(eqn.outputs, used, strict=True) if u),
            params=eqn.params | {"olympuspr": program},
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in operands)
        nonzero = tuple(c is not None for c in cotangent)
        program, has_cotangent = _transposed(params["olympuspr"], linear, nonzero)
        values = [x for x, u in zip(operands, linear, strict=True) if not u]
        cotangents = [c for c in cotangent if c is not None]
        outs = iter(self.bind(*values, *cotangents, **(params | {"olympuspr": program})))
        linear_cotangents = iter([next(outs) if m else None for m in has_cotangent])
        return [next(linear_cotangents) if u else None for u in linear]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        program, out_dims = _batched(params["olympuspr"], batched, tuple(dims))
        return self.bind(*args, **(params | {"olympuspr": program})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        parts = _split(params["olympuspr"], unknown)

        def run(args: Sequence[Any]) -> list[Any]:
            program = parts.computing
            outs = self.bind(*args, **(params | {"olympuspr": program})) if program.outvars else []
            return parts.with_residuals(outs, args)

        count = sum(not u for u in parts.unknown_outs)
        unknown_params = params | {"olympuspr": parts.unknown}
        return TangentSplit(run, count, self, unknown_params, parts.unknown_outs)


class InlineCall(ProgramCall):
    """A call whose program is lowered inline, at the place of the call."""

    inlined: ClassVar[bool] = True

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        return evaluate(params["olympuspr"], args)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return list(ctx.inline(params["olympuspr"], operands))


class JitCall(ProgramCall):
    """The call of a staged function.

    If it is bound to concrete values, `donated` are the operands whose buffers the results may
    reuse, `compiler_options` the options of the compilation, and `in_shardings` and
    `out_shardings` the shardings of the arguments and results.
    """

    is_call: ClassVar[bool] = True
    is_general: ClassVar[bool] = True
    raised_from: tuple[str, ...] = (
        "func.call",
        "stablehlo.composite",
    )

    def spoken(self, params: dict[str, Any]) -> str:
        return str(params["name"])

    def eager_operation(self, params: dict[str, Any]) -> EagerOperation:
        options = params.get("compiler_options", ())
        donated = params.get("donated", frozenset())
        ins, outs = params.get("in_shardings", ()), params.get("out_shardings", ())
        return EagerOperation(
            f"jit_{params['name']}", params["olympuspr"], donated, options, ins, outs
        )

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        if operation.name == "stablehlo.composite":
            attributes = ("composite_attributes", "version")
            name, program = operation.text("name"), operation.callee("decomposition")[1]
            if any(operation.text(x) not in ("", "{}", "0 : i32") for x in attributes):
                return None
            return self.bind(*operands, olympuspr=program, name=name.strip('"'))
        name, program = operation.callee("callee")
        return self.bind(*operands, olympuspr=program, name=name)


@functools.lru_cache(maxsize=2048)
def constrained(program: Olympuspr, ins: _Shardings, outs: _Shardings) -> Olympuspr:
    """Return a program with constraints on its inputs and results, None for none.

    `call_shardings` has the shardings and the program without the constraints.
    """
    if not any(s is not None for s in (*ins, *outs)):
        return program
    mark = source.current_location()

    def constraint(x: Atom, result: Var, sharding: Sharding) -> Eqn:
        params = ConstraintParams(sharding=sharding.with_layout(None))
        return Eqn(sharding_constraint_p, (x,), (result,), params, mark)

    invars = [v if s is None else Var(v.aval) for v, s in zip(program.invars, ins, strict=True)]
    outvars = [x if s is None else Var(x.aval) for x, s in zip(program.outvars, outs, strict=True)]
    before = [
        constraint(x, v, s)
        for x, v, s in zip(invars, program.invars, ins, strict=True)
        if s is not None
    ]
    after = [
        constraint(x, v, s)
        for x, v, s in zip(program.outvars, outvars, outs, strict=True)
        if s is not None and isinstance(v, Var)
    ]
    eqns = (*before, *program.eqns, *after)
    result = Olympuspr(tuple(invars), eqns, tuple(outvars))
    call_shardings[result] = CallShardings(program, ins, outs)
    return result


def _dual(program: Olympuspr, nonzero: Mask) -> tuple[Olympuspr, Mask]:
    """Return `jvp_program`, in which each tangent has the sharding of its value."""
    own = call_shardings.get(program)
    none = (False,) * len(program.outvars)
    if own is None:
        return jvp_program(program, nonzero, none)
    result, has_tangent = jvp_program(own.program, nonzero, none)
    ins, outs = _chosen(own.ins, nonzero), _chosen(own.outs, has_tangent)
    return constrained(result, (*own.ins, *ins), (*own.outs, *outs)), has_tangent


def _split(program: Olympuspr, unknown: Mask) -> SplitProgram:
    """Return `split_program`, with the shardings of the call, and none for residuals."""
    own = call_shardings.get(program)
    if own is None:
        return split_program(program, unknown)
    parts = split_program(own.program, unknown)
    residuals = (None,) * parts.num_residuals
    computed = (None,) * sum(i is None for i in parts.forwarded)
    computing = constrained(
        parts.computing,
        _chosen(own.ins, [not u for u in unknown]),
        (*_chosen(own.outs, [not u for u in parts.unknown_outs]), *computed),
    )
    linear = constrained(
        parts.unknown,
        (*residuals, *_chosen(own.ins, unknown)),
        _chosen(own.outs, parts.unknown_outs),
    )
    return parts._replace(computing=computing, unknown=linear)


def _transposed(program: Olympuspr, linear: Mask, nonzero: Mask) -> tuple[Olympuspr, Mask]:
    """Return `transposed_program`, in which each cotangent has the sharding of its value."""
    own = call_shardings.get(program)
    if own is None:
        return transposed_program(program, linear, nonzero)
    result, has_cotangent = transposed_program(own.program, linear, nonzero)
    ins = (*_chosen(own.ins, [not u for u in linear]), *_chosen(own.outs, nonzero))
    every = zip(_chosen(own.ins, linear), has_cotangent, strict=False)
    return constrained(result, ins, tuple(s for s, has in every if has)), has_cotangent


def _batched(program: Olympuspr, batched: Batched, dims: tuple[int | None, ...]) -> BatchedProgram:
    """Return `batch_program`, whose mapped axes are split along the axes `spmd` of the mesh."""
    own = call_shardings.get(program)
    if own is None:
        return batch_program(program, batched, dims)
    result = batch_program(own.program, batched, dims)
    ins = [_with_axis(s, d, batched.spmd) for s, d in zip(own.ins, dims, strict=True)]
    outs = [_with_axis(s, d, batched.spmd) for s, d in zip(own.outs, result.out_dims, strict=True)]
    return result._replace(program=constrained(result.program, tuple(ins), tuple(outs)))


def _with_axis(sharding: Sharding | None, dim: int | None, names: Any) -> Sharding | None:
    if not isinstance(sharding, NamedSharding) or dim is None:
        return sharding
    entries = sharding.spec.partitions
    filled = (*entries, *[None] * (dim - len(entries)))
    return sharding.with_partitions(inserted(filled, dim, names))


def _chosen(shardings: Iterable[Sharding | None], mask: Sequence[bool]) -> _Shardings:
    return tuple([s for s, is_chosen in zip(shardings, mask, strict=True) if is_chosen])


class BlockCall(ProgramCall):
    """The call of a repeated block of a program: the compiler keeps its function separate.

    `outline` creates these calls, right before a program is lowered.  All calls of a block have all
    its results, used or not, because otherwise they would not call the same function.
    """

    is_call: ClassVar[bool] = True
    is_outlined: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("func.call",)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.call(params["olympuspr"], params["name"], operands, is_outlined=True)

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        attribute, value = xla.NOINLINE_ATTRIBUTE
        if operation.text(attribute) != value:
            return None
        name, program = operation.callee("callee")
        return self.bind(*operands, olympuspr=program, name=name)

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn


jit_p = JitCall("jit")
block_p = BlockCall("block")
