"""Primitive: an operation of the IR, and the one place where its rules stand.

A primitive is a class whose methods are its rules, or, where many differ by a line, a row of a
table that fills in such a class.  The contract, for every rule:

- operands are positional, parameters are keyword-only and hashable;
- `multiple_results` False: one value in, one value out of `bind` and of every rule;
  True: a list;
- `abstract` is a function of avals and parameters alone (it is cached, and reads no switches);
- `lower` emits operations at the current insertion point and location, and returns their values;
- a rule that is missing raises MissingRuleError, which says which method to write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from olympus_core.avals import ShapedArray
from olympus_core.errors import MissingRuleError
from olympus_core.trace import state

if TYPE_CHECKING:
    from olympus_core.lowering import LoweringContext

__all__ = ["Primitive"]

Avals = tuple[ShapedArray, ...]


class Primitive:
    """An operation with a name and rules; see the module's docstring for the contract."""

    name: str
    multiple_results: ClassVar[bool] = False
    #: `lower` gets a literal operand as the Literal, to emit at the shape that it needs
    takes_literals: ClassVar[bool] = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._avals: dict[Any, Avals] = {}

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace."""
        return state.trace.process(self, args, params)

    def out_avals(self, avals: Avals, params: dict[str, Any]) -> Avals:
        """The results' avals: `abstract`, cached by operands' avals and parameters."""
        key = (avals, tuple(params.items())) if params else avals
        found = self._avals.get(key)
        if found is None:
            out = self.abstract(*avals, **params)
            found = tuple(out) if self.multiple_results else (out,)
            self._avals[key] = found
        return found

    def _missing(self, method: str, purpose: str) -> NoReturn:
        raise MissingRuleError(
            f"the primitive '{self.name}' cannot be {purpose}: "
            f"write the method `{method}` of {type(self).__module__}.{type(self).__qualname__}"
        )

    def abstract(self, *avals: ShapedArray, **params: Any) -> Any:
        """The result's aval (or a sequence of them); raises ShapeError or DTypeError."""
        self._missing("abstract", "typed")

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        """Emit StableHLO for the operand values; `ctx` has the avals and the target."""
        self._missing("lower", "lowered")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        """(result, tangent of the result); a tangent that is zero is `None`."""
        self._missing("jvp", "differentiated")

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Any:
        """Cotangents of the operands that are linear, from the result's; None for the others."""
        self._missing("transpose", "transposed")

    def batch(self, size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        """(result, its batch axis) for operands with a batch axis of `size` at `dims`."""
        self._missing("batch", "batched")
