"""`composite`: an operation made of others, under a name that a compiler may know."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, TransformError, UnexpectedTracerError
from olympus_core.base.source import wraps
from olympus_core.control.bodies import stage_body
from olympus_core.control.call import InlineCall
from olympus_core.ir.olympuspr import Eqn
from olympus_core.ir.primitive import TangentSplit
from olympus_core.ir.tracer import Tracer
from olympus_core.transforms import data

if TYPE_CHECKING:
    from olympus_core.lowering.module import LoweringContext


#: the address in the error of JAX, which programs match
_RULES = "https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html"
#: the names that StableHLO accepts
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+")


class Attributes:
    """The attributes of a composite, by name."""

    __slots__ = ("values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return repr(self.values)


class Composite(InlineCall):
    """A call of `olympuspr`, lowered to the operation `stablehlo.composite` with its name."""

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        given = params["attributes"].values
        if not _NAME.fullmatch(params["name"]):
            raise ArgumentError(
                f"the name of a composite must be a valid namespaced op name such as "
                f"'my_namespace.my_op', and is {params['name']!r}"
            )
        return ctx.composite(
            params["olympuspr"], params["name"], operands, given, params["version"]
        )

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        return eqn  # a compiler that knows the operation knows its results

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        return None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> NoReturn:
        raise TransformError(
            "JVP rule for composite not implemented. You can use `jax.custom_jvp` to add support. "
            f"See {_RULES}: '{params['name']}' has no derivative",
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> NoReturn:
        raise TransformError(
            "Transpose rule for composite not implemented. You can use `jax.custom_jvp` or "
            f"`jax.custom_vjp` to add support. See {_RULES}: '{params['name']}' has none",
        )


composite_p = Composite("composite")


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return `decomposition` as one operation, which a compiler may replace by its own.

    The operation has the `name` and the `version`; the keyword arguments of its call are its
    attributes, and None is no attribute. It has no derivative. Raises UnexpectedTracerError for a
    traced attribute, and ArgumentError for one without a form in MLIR when it is lowered.

    >>> tangent = composite(lambda x: sin(x) / cos(x), name="my.tangent")
    >>> tangent(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    @wraps(decomposition)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(isinstance(v, Tracer) for v in kwargs.values()):
            raise UnexpectedTracerError(
                "found a traced array (a Tracer) as an attribute in the decomposition for the "
                f"composite op '{name}'",
                hint="pass the array to the composite by position",
            )
        leaves, in_tree = data.flatten_data(args)
        what = f"the decomposition of composite '{name}'"
        bound = functools.partial(decomposition, **kwargs) if kwargs else decomposition
        body = stage_body(bound, in_tree, [get_aval(x) for x in leaves], what)
        traced = [c for c in body.consts if isinstance(c, Tracer)]
        if traced:
            raise UnexpectedTracerError(
                "found a traced array (a Tracer) as a constant in the decomposition for the "
                f"composite op '{name}': it is {traced[0].origin()}",
                hint="pass the array to the composite by position",
            )
        outs = composite_p.bind(
            *body.consts,
            *leaves,
            attributes=Attributes({k: v for k, v in kwargs.items() if v is not None}),
            name=name,
            olympuspr=body.program,
            version=version,
        )
        return body.out_tree.unflatten(outs)

    return call
