"""Rules for the unreduced and reduced axes in types: those of a result, from those of the operands.

A rule takes the name of an operation and the types of its operands. It returns the unreduced axes
of each result, and the reduced ones. The rules are those of JAX's module `jax.lax`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.sharding_rules import Avals, ambiguous, entry_axes, spec_of

#: the unreduced axes of a result, and the reduced ones
AxesPair = tuple[frozenset[Any], frozenset[Any]]
Rule = Callable[[str, Avals], AxesPair]
NONE: AxesPair = frozenset(), frozenset()
_HINT = "sum the terms first, by olympus.sharding.reshard(x, P(...))"


def unreduced(aval: ShapedArray) -> frozenset[Any]:
    """Return the axes along which the devices hold terms of an array."""
    return frozenset() if aval.explicit is None else aval.explicit.spec.unreduced


def reduced(aval: ShapedArray) -> frozenset[Any]:
    """Return the axes along which the cotangent of an array is unreduced."""
    return frozenset() if aval.explicit is None else aval.explicit.spec.reduced


def refused(name: str, avals: Avals) -> AxesPair:
    """Raise UnsupportedError: the rule of operations that have none."""
    types = ", ".join([a.short_name() for a in avals])
    kind = "unreduced" if any(map(unreduced, avals)) else "reduced"
    raise UnsupportedError(
        f"{kind} rule for {name} is not implemented: the operands are {types}",
        hint=_HINT,
    )


def unchanged(name: str, avals: Avals) -> AxesPair:
    """Return the axes of the first operand."""
    return unreduced(avals[0]), reduced(avals[0])


def of_cases(name: str, avals: Avals) -> AxesPair:
    """Return the axes of the first case of a selection, whose first operand chooses."""
    typed = [a for a in avals[1:] if a.explicit is not None]
    return unchanged(name, typed) if typed else NONE


def only_reduced(name: str, avals: Avals) -> AxesPair:
    """Return the reduced axes of the first operand, which must not be unreduced."""
    if unreduced(avals[0]):
        refused(name, avals)
    return frozenset(), reduced(avals[0])


def elementwise(name: str, avals: Avals) -> AxesPair:
    """Return the common reduced axes of operands that are not unreduced."""
    axes = _common_reduced(name, avals)
    if any(map(unreduced, avals)):
        refused(name, avals)
    return frozenset(), axes


def _common_reduced(name: str, avals: Avals) -> frozenset[Any]:
    """Return the reduced axes, of all operands but scalars and those without a sharding."""
    every = {axes for a in avals if (axes := reduced(a))}
    if len(every) > 1:
        raise ambiguous(
            f"{name}: All inputs should be reduced across the same mesh axes. Got specs: "
            f"{_listed(every)}",
            avals,
        )
    axes = next(iter(every), frozenset())
    for aval in avals if axes else ():
        if aval.explicit is None or not aval.shape:
            continue
        if aval.explicit.replicated_axes & axes:
            raise ambiguous(
                f"{name}: Inputs cannot be replicated on the same axes that another input is "
                f"reduced on. Got input type: {aval.long_name()} and reduced spec: {set(axes)}",
                avals,
            )
        if axes & {n for e in spec_of(aval) for n in entry_axes(e)}:
            raise ambiguous(
                f"{name}: Inputs cannot be sharded/varying on the same axes that another input is "
                f"reduced on. Got input type: {aval.long_name()} and reduced spec: {set(axes)}",
                avals,
                "reshard the reduced operand to be sharded on those axes",
            )
    return axes


def _listed(sets: Iterable[frozenset[Any]]) -> str:
    return ", ".join(sorted([str(set(s)) for s in sets]))


def added(name: str, avals: Avals) -> AxesPair:
    """Return the axes of a sum: both operands are unreduced along the same ones."""
    axes = _common_reduced(name, avals)
    left, right = map(unreduced, avals)
    if left and right and left != right:
        raise ambiguous(
            f"lhs and rhs to `{name}` must be unreduced along the same mesh axes. Got "
            f"lhs={set(left)}, rhs={set(right)}",
            avals,
        )
    if bool(left) != bool(right):
        one, other = ("lhs", "rhs") if left else ("rhs", "lhs")
        raise ambiguous(
            f"{one} is unreduced while {other} is not. `{name}` operation does not allow this "
            f"because there will be implicit communication. Please reduce {one} via `reshard` "
            f"before calling `{name}`",
            avals,
            _HINT,
        )
    return left, axes


def multiplied(name: str, avals: Avals) -> AxesPair:
    """Return the axes of a product: one operand is unreduced where the other one is reduced."""
    axes = _common_reduced(name, avals)
    left, right = map(unreduced, avals)
    if left and right:
        raise ambiguous(
            f"lhs and rhs to `{name}` cannot be unreduced since mul is bilinear. Got "
            f"lhs={set(left)}, rhs={set(right)}",
            avals,
            _HINT,
        )
    both = left | right
    if not both:
        return frozenset(), axes
    if reduced(avals[1] if left else avals[0]) != both:
        one, other = ("LHS", "RHS") if left else ("RHS", "LHS")
        raise ambiguous(
            f"{other} should be reduced along the same axes {one} is unreduced on. Got "
            f"lhs={avals[0].long_name()} and rhs={avals[1].long_name()}",
            avals,
            _HINT,
        )
    return both, frozenset()


def joined(name: str, avals: Avals) -> AxesPair:
    """Return the axes of joined operands, which must be the same."""
    pair = []
    for what, axes_of in (("unreduced", unreduced), ("reduced", reduced)):
        every = {axes for a in avals if (axes := axes_of(a))}
        if len(every) > 1 or (every and any(a.explicit and not axes_of(a) for a in avals)):
            raise ambiguous(
                f"{name}: All operands should have the same sharding, {what} along the same mesh "
                f"axes. Got {what} specs: {_listed(every)}",
                avals,
            )
        pair.append(next(iter(every), frozenset[Any]()))
    return pair[0], pair[1]


def updated(name: str, avals: Avals) -> AxesPair:
    """Return the axes of an array with an updated part, which must be the same for both."""
    if unchanged(name, avals) != unchanged(name, avals[1:]):
        raise ambiguous(f"{name} operand sharding must be equal to update sharding", avals[:2])
    return unchanged(name, avals)


def contracted(name: str, avals: Avals) -> AxesPair:
    """Return no axes; raise ShardingTypeError if an operand is unreduced."""
    if any(map(unreduced, avals)):
        raise ambiguous(f"lhs or rhs passed to {name} cannot be unreduced", avals, _HINT)
    return NONE
