"""Tokens: values without elements, which order the operations that take and return them.

A token is an array of no elements, of the type `AbstractToken`.  Programs take and return tokens
as other values; the operation that joins some is an optimization barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import Shape, ShapedArray, get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.extension.user_primitive import UserPrimitive
from olympus_core.ir.primitive import Batched
from olympus_core.ir.tracer import Array
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


class AbstractToken(ShapedArray):
    """The type of a token; all tokens have one type."""

    __slots__ = ()

    def __new__(cls) -> AbstractToken:
        """Return the type."""
        return abstract_token  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "AbstractToken()"

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractToken, ()

    def short_name(self) -> str:
        """Return the type as the IR prints it: `Tok`."""
        return "Tok"

    long_name = short_name

    def update(self, shape: Shape | None = None, *_: Any, **changes: Any) -> ShapedArray:
        """Return the type itself: a token does not vary, and has no other shape."""
        return self

    def to_tangent_aval(self) -> AbstractToken:
        """Return the type of the tangent, which is a token."""
        return self


abstract_token: Any = AbstractToken._unchecked((0,), np.dtype("bool"), False, frozenset(), None)


class _IsToken(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return getattr(instance, "aval", None) is abstract_token


class Token(metaclass=_IsToken):
    """The class of tokens: arrays of the type `AbstractToken`, traced or not."""


class _TokenPrimitive(UserPrimitive):
    """An operation of tokens alone, which returns one."""

    higher_order = False
    inlined = False

    def out_avals(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> Any:
        return (abstract_token,)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        return abstract_token, frozenset()

    def abstract(self, *avals: ShapedArray, **params: Any) -> ShapedArray:
        result: ShapedArray = abstract_token
        return result

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*primals, **params), None

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*args, **params), None

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        if not operands:
            return mlir.full(abstract_token, False)
        types = [mlir.tensor_type(abstract_token)] * len(operands)
        return mlir.op("stablehlo.optimization_barrier", types, operands).results[0]


create_token_p = _TokenPrimitive("create_token")
after_all_p = _TokenPrimitive("after_all")


def create_token(_: object = None) -> Array:
    """Return a new token.

    >>> create_token().shape
    (0,)
    """
    token: Array = create_token_p.bind()
    return token


def after_all(*operands: Array) -> Array:
    """Return a token that is ready when all of some tokens are.

    Raises DTypeError for an operand that is not a token.

    >>> after_all(create_token(), create_token()).shape
    (0,)
    """
    for x in operands:
        if get_aval(x) is not abstract_token:
            raise DTypeError(f"after_all needs tokens, and got {get_aval(x).long_name()}")
    token: Array = after_all_p.bind(*operands)
    return token
