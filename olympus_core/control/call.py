"""The call of a nested program: what a `jit` inside a traced function becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.avals import ShapedArray
from olympus_core.olympuspr import Eqn, Olympuspr
from olympus_core.primitive import AtOnce, Batched, Linear, MultipleResults, Split
from olympus_core.simplify import restrict
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.programs import (
    batch_program,
    jvp_program,
    split_program,
    transposed_program,
)

if TYPE_CHECKING:
    from olympus_core.agreement import Agreement, Differing
    from olympus_core.lowering import LoweringContext

__all__ = ["Block", "Call", "InlineCall", "block_p", "jit_p"]


class Call(MultipleResults):
    """Calls `olympuspr`; lowered as a function of its own, shared by equal programs.

    Other primitives that run one program once derive from it, and keep their own parameters.
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
        both, made = jvp_program(program, nonzero, (False,) * len(program.outvars))
        given = [t for t in tangents if t is not None]
        outs = self.bind(*primals, *given, **(params | {"olympuspr": both}))
        count = len(program.outvars)
        rest = iter(outs[count:])
        return outs[:count], [next(rest) if m else None for m in made]

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        program, kept = restrict(eqn.params["olympuspr"], used)
        return eqn.replace(
            inputs=tuple(eqn.inputs[i] for i in kept),
            outputs=tuple(v for v, u in zip(eqn.outputs, used, strict=True) if u),
            params=eqn.params | {"olympuspr": program},
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in operands)
        given = tuple(c is not None for c in cotangent)
        program, made = transposed_program(params["olympuspr"], linear, given)
        values = [x for x, u in zip(operands, linear, strict=True) if not u]
        kept = [c for c in cotangent if c is not None]
        outs = iter(self.bind(*values, *kept, **(params | {"olympuspr": program})))
        got = iter([next(outs) if m else None for m in made])
        return [next(got) if u else None for u in linear]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        program, out_dims = batch_program(params["olympuspr"], batched, tuple(dims))
        return self.bind(*args, **(params | {"olympuspr": program})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> Split | None:
        parts = split_program(params["olympuspr"], unknown)

        def known(args: Sequence[Any]) -> list[Any]:
            return list(self.bind(*args, **(params | {"olympuspr": parts.known})))

        count = sum(not u for u in parts.unknown_outs)
        later = params | {"olympuspr": parts.unknown}
        return Split(known, count, self, later, parts.unknown_outs)


class InlineCall(Call):
    """A call that is lowered as its program, in the place where it stands."""

    inlined: ClassVar[bool] = True

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        return evaluate(params["olympuspr"], args)

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return list(ctx.inline(params["olympuspr"], operands))


class Jit(Call):
    """The call of a function that is staged.

    Where it is bound to known values, `donated` are the operands whose buffers the results may
    take, `compiler_options` what the program is compiled with, and `in_shardings` and
    `out_shardings` where its arguments and results are to lie.
    """

    is_call: ClassVar[bool] = True

    def spoken(self, params: dict[str, Any]) -> str:
        return str(params["name"])

    def at_once(self, params: dict[str, Any]) -> AtOnce:
        options = params.get("compiler_options", ())
        donated = params.get("donated", frozenset())
        ins, outs = params.get("in_shardings", ()), params.get("out_shardings", ())
        return AtOnce(f"jit_{params['name']}", params["olympuspr"], donated, options, ins, outs)


class Block(Call):
    """The call of a block that a program repeats: the compiler keeps its function as one.

    `outline` makes these calls, right before a program is lowered.  All calls of a block have all
    its results, read or not, for what they call would not be one function otherwise.
    """

    is_call: ClassVar[bool] = True
    is_kept: ClassVar[bool] = True

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.call(params["olympuspr"], params["name"], operands, kept=True)

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn


jit_p = Jit("jit")
block_p = Block("block")
