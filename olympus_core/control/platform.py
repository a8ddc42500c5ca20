"""`platform_dependent`: one of several programs, chosen by the platform that is lowered for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.control.cond import Branches, Cond
from olympus_core.errors import LoweringError
from olympus_core.olympuspr import Eqn, Olympuspr
from olympus_core.transforms.evaluate import evaluate

if TYPE_CHECKING:
    from olympus_core.agreement import Agreement, Differing
    from olympus_core.lowering import LoweringContext

__all__ = ["platform_dependent_p"]


class PlatformDependent(Cond):
    """`cond`, whose index is unused: `platforms` has for each branch the platforms it is for.

    None are all that no branch before it is for.
    """

    @staticmethod
    def chosen(params: dict[str, Any], platform: str) -> Olympuspr:
        """The program for a platform; raises LoweringError where there is none."""
        branches: Branches = params["branches"]
        for names, branch in zip(params["platforms"], branches, strict=True):
            if names is None or platform in names:
                return branch
        known = ", ".join(name for names in params["platforms"] for name in names or ())
        raise LoweringError(
            f"platform_dependent has functions for {known} and no default, and is lowered for "
            f"{platform}",
            hint=f"pass {platform}=function, or default=function",
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        return ctx.inline(self.chosen(params, ctx.platform), operands[1:])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        return agreement.follow(self.chosen(eqn.params, agreement.platform), operands[1:])

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        evaluate(self.chosen(params, "cpu"), args[1:])  # the base trace runs on this process's CPU


platform_dependent_p = PlatformDependent("platform_dependent")
