"""The function that `vjp` returns, and the places of its cotangents."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import TransformError
from olympus_core.ir.olympuspr import JaxProgram, Olympuspr
from olympus_core.transforms.references import is_reference


@dataclasses.dataclass(frozen=True, slots=True)
class GradValue:
    """The place of a cotangent that a pull-back returns."""


@dataclasses.dataclass(frozen=True, slots=True)
class DontWant:
    """The place of a cotangent that a pull-back leaves out."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class GradRef:
    """The result of a pull-back for a cotangent that it added to a reference."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class DidntWant:
    """The result of a pull-back for a cotangent that it left out."""


#: The classes of the places of cotangents, for `with_refs`, and of their results.
ad = types.SimpleNamespace(
    DidntWant=DidntWant, DontWant=DontWant, GradRef=GradRef, GradValue=GradValue
)


class PullBack(tree.Partial):
    """A function from a cotangent of the result to those of the arguments.

    Its leaves are residuals.
    """

    @property
    def jaxpr(self) -> JaxProgram:
        """The linear program from tangents of the arguments to tangents of the results.

        Its `consts` are the residuals.
        """
        program: Olympuspr = vars(self.func)["program"]
        return program.jaxpr.replace(consts=self.args[0])

    def with_refs(self, *places: Any) -> Callable[[Any], Any]:
        """Return a function that adds cotangents to references, in place of returning them.

        `places` has the structure of the arguments of `vjp`.  A leaf is a reference of the type of
        its argument, `ad.GradValue()` for a cotangent that is returned, or `ad.DontWant()` for one
        that is not needed.  The function returns `GradRef()` and `DidntWant()` for the others.

        Raises TransformError for another structure, another leaf, or a reference of another type.

        >>> y, pull_back = vjp(lambda x: x * x, 3.0)
        >>> ref = new_ref(0.0)
        >>> pull_back.with_refs(ref)(1.0)
        (GradRef(),)
        >>> ref[...]
        Array(6., ...)
        """
        return tree.Partial(functools.partial(_accumulated, *tree.flatten(places)), self)


def _accumulated(
    leaves: Sequence[Any], places_tree: tree.PyTreeDef, pull_back: PullBack, cotangent: Any
) -> Any:
    """Return the cotangents of a pull-back after those with references were added to these."""
    cotangents, in_tree = tree.flatten(pull_back(cotangent))
    if in_tree != places_tree:
        raise TransformError(
            "with_refs needs a place for each argument of vjp, in their structure: the arguments "
            f"have {in_tree}, and the places {places_tree}",
            hint="write ad.GradValue() for a cotangent that is returned",
        )
    return in_tree.unflatten(map(_placed, leaves, cotangents))


def _placed(place: Any, cotangent: Any) -> Any:
    if isinstance(place, GradValue):
        return cotangent
    if isinstance(place, DontWant):
        return DidntWant()
    if not is_reference(place):
        raise TransformError(
            f"with_refs takes references, ad.GradValue() and ad.DontWant(), and got {place!r:.60}"
        )
    aval, expected = get_aval(cotangent), place.inner_aval
    if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
        raise TransformError(
            f"with_refs needs a reference of the type of the cotangent, {aval.long_name()}, and "
            f"got {place.aval}"
        )
    place.set_value(place.value + cotangent)
    return GradRef()


tree.register_node(
    PullBack,
    lambda p: (p.args, p.func),
    lambda func, parts: PullBack(func, *parts),
)
