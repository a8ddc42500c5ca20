"""`platform_dependent`: one of several programs, selected by the platform of the lowering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.base.errors import LoweringError
from olympus_core.control.cond import Branches, Cond
from olympus_core.ir.olympuspr import Eqn, Olympuspr
from olympus_core.transforms.evaluate import evaluate

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext


class PlatformDependent(Cond):
    """A `cond` whose index is unused: `platforms` has, for each branch, its platforms.

    None means all platforms without an earlier branch.
    """

    raised_from: tuple[str, ...] = ()

    @staticmethod
    def branch_for(params: dict[str, Any], platform: str) -> Olympuspr:
        """Return the program for a platform; raise LoweringError if no branch is for it."""
        branches: Branches = params["branches"]
        for names, branch in zip(params["platforms"], branches, strict=True):
            if names is None or platform in names:
                return branch
        supported = ", ".join(name for names in params["platforms"] for name in names or ())
        raise LoweringError(
            f"platform_dependent has functions for {supported} and no default, and is lowered for "
            f"{platform}",
            hint=f"pass {platform}=function, or default=function",
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.inline(self.branch_for(params, ctx.platform), operands[1:])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return agreement.follow(self.branch_for(eqn.params, agreement.platform), operands[1:])

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        evaluate(self.branch_for(params, "cpu"), args[1:])  # the base trace runs on the host CPU


platform_dependent_p = PlatformDependent("platform_dependent")
