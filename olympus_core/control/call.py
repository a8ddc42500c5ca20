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
        dual_program, has_tangent = self._dual(program, nonzero)
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
        program, has_cotangent = self._transposed(params["olympuspr"], linear, nonzero)
        values = [x for x, u in zip(operands, linear, strict=True) if not u]
        cotangents = [c for c in cotangent if c is not None]
        outs = iter(self.bind(*values, *cotangents, **(params | {"olympuspr": program})))
        linear_cotangents = iter([next(outs) if m else None for m in has_cotangent])
        return [next(linear_cotangents) if u else None for u in linear]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        program, out_dims = self._batched(params["olympuspr"], batched, tuple(dims))
        return self.bind(*args, **(params | {"olympuspr": program})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        parts = self._split(params["olympuspr"], unknown)

        def run(args: Sequence[Any]) -> list[Any]:
            program = parts.computing
            outs = self.bind(*args, **(params | {"olympuspr": program})) if program.outvars else []
            return parts.with_residuals(outs, args)

        count = sum(not u for u in parts.unknown_outs)
        unknown_params = params | {"olympuspr": parts.unknown}
        return TangentSplit(run, count, self, unknown_params, parts.unknown_outs)

    # the transformations of the program

    def _dual(self, program: Olympuspr, nonzero: Mask) -> tuple[Olympuspr, Mask]:
        return jvp_program(program, nonzero, (False,) * len(program.outvars))

    def _split(self, program: Olympuspr, unknown: Mask) -> SplitProgram:
        return split_program(program, unknown)

    def _transposed(
        self, program: Olympuspr, linear: Mask, nonzero: Mask
    ) -> tuple[Olympuspr, Mask]:
        return transposed_program(program, linear, nonzero)

    def _batched(
        self, program: Olympuspr, batched: Batched, dims: tuple[int | None, ...]
    ) -> BatchedProgram:
        return batch_program(program, batched, dims)


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

    # the shardings of the call are those of the transformed program

    def _dual(self, program: Olympuspr, nonzero: Mask) -> tuple[Olympuspr, Mask]:
        own = call_shardings.get(program)
        if own is None:
            return super()._dual(program, nonzero)
        result, has_tangent = super()._dual(own.program, nonzero)
        return _dual(own, result, nonzero, has_tangent), has_tangent

    def _split(self, program: Olympuspr, unknown: Mask) -> SplitProgram:
        own = call_shardings.get(program)
        if own is None:
            return super()._split(program, unknown)
        return _split(own, super()._split(own.program, unknown), unknown)

    def _transposed(
        self, program: Olympuspr, linear: Mask, nonzero: Mask
    ) -> tuple[Olympuspr, Mask]:
        own = call_shardings.get(program)
        if own is None:
            return super()._transposed(program, linear, nonzero)
        result, has_cotangent = super()._transposed(own.program, linear, nonzero)
        return _transposed(own, result, linear, nonzero, has_cotangent), has_cotangent

    def _batched(
        self, program: Olympuspr, batched: Batched, dims: tuple[int | None, ...]
    ) -> BatchedProgram:
        own = call_shardings.get(program)
        if own is None:
            return super()._batched(program, batched, dims)
        result = super()._batched(own.program, batched, dims)
        return result._replace(program=_batched(own, result, batched, dims))

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


def _dual(
    own: CallShardings, program: Olympuspr, nonzero: Sequence[bool], has_tangent: Sequence[bool]
) -> Olympuspr:
    """Return the program of values and tangents, each tangent with the sharding of its value."""
    ins, outs = _chosen(own.ins, nonzero), _chosen(own.outs, has_tangent)
    return constrained(program, (*own.ins, *ins), (*own.outs, *outs))


def _split(own: CallShardings, parts: SplitProgram, unknown: Sequence[bool]) -> SplitProgram:
    """Return the parts of a split program with its shardings, and none for residuals."""
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


def _transposed(
    own: CallShardings,
    program: Olympuspr,
    linear: Sequence[bool],
    nonzero: Sequence[bool],
    has_cotangent: Sequence[bool],
) -> Olympuspr:
    """Return the transpose of a program, each cotangent with the sharding of its value."""
    ins = (*_chosen(own.ins, [not u for u in linear]), *_chosen(own.outs, nonzero))
    every = zip(_chosen(own.ins, linear), has_cotangent, strict=False)
    return constrained(program, ins, tuple(s for s, has in every if has))


def _batched(
    own: CallShardings, result: BatchedProgram, batch: Batched, dims: Sequence[int | None]
) -> Olympuspr:
    """Return the mapped program; the mapped axes are split along the axes `spmd` of the mesh."""
    ins = [_with_axis(s, d, batch.spmd) for s, d in zip(own.ins, dims, strict=True)]
    outs = [_with_axis(s, d, batch.spmd) for s, d in zip(own.outs, result.out_dims, strict=True)]
    return constrained(result.program, tuple(ins), tuple(outs))


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
