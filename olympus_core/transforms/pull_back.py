"""The function that `vjp` returns, its residuals, and the places of its cotangents."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from olympus_core.base import tree
from olympus_core.base.errors import TransformError
from olympus_core.ir.olympuspr import JaxProgram, Olympuspr
from olympus_core.transforms.references import AbstractRef, is_reference


@dataclasses.dataclass(frozen=True, slots=True)
class GradValue:
    """The place of a cotangent that a pull-back returns."""


@dataclasses.dataclass(frozen=True, slots=True)
class DontWant:
    """The place of a cotangent that a pull-back does not compute."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class GradRef:
    """The result of a pull-back for a cotangent that it added to a reference."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class DidntWant:
    """The result of a pull-back for a cotangent that it did not compute."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class NotNeeded:
    """In place of an argument whose value the pull-back does not need."""


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True)
class NotSaveable:
    """In place of an argument that the pull-back needs and `saveable_args` excludes."""


#: The classes of the places of cotangents, for `with_refs`, and of their results.
ad = types.SimpleNamespace(
    DidntWant=DidntWant, DontWant=DontWant, GradRef=GradRef, GradValue=GradValue
)


@dataclasses.dataclass(frozen=True, eq=False)
class TransposedFunction:
    """The derivative of a function, as a function from cotangents to those of its arguments."""

    program: Olympuspr
    #: the name and type of each argument; the type of a reference is an `AbstractRef`
    arguments: Sequence[tuple[str, Any]]
    #: from residuals, the places of the results and the arguments of the call to cotangents in the
    #: order of the leaves
    call: Callable[[Sequence[Any], Sequence[Any], tuple[Any, ...]], list[Any]] = dataclasses.field(
        repr=False
    )


@dataclasses.dataclass(slots=True, weakref_slot=True, eq=False)
class VJP:
    """A function from a cotangent of the result to those of the arguments.

    It is a tree whose leaves are the residuals: the arguments that it needs as they are,
    `args_res`, and values that were computed of them, `opaque_residuals`.  `args_res` is a list
    with an entry for each argument, in which containers are tuples.  An argument that is not needed
    is `NotNeeded()` in it.  Both lists may be changed.

    >>> y, pull_back = vjp(lambda x, y: x * y + y, jnp.ones(2), jnp.ones(2))
    >>> pull_back.args_res
    [Array([1., 1.], ...), Array([1., 1.], ...)]
    >>> vjp(jnp.sin, 1.0)[1].args_res
    [NotNeeded()]
    """

    fun: TransposedFunction
    order: tuple[tuple[bool, int], ...]  # of each residual: is it an argument, and its number
    in_tree: tree.PyTreeDef
    out_tree: tree.PyTreeDef
    args_res: list[Any]
    opaque_residuals: list[Any]

    @property
    def jaxpr(self) -> JaxProgram:
        """The linear program from tangents of the arguments to tangents of the results.

        Its `consts` are the residuals.
        """
        return self.fun.program.jaxpr.replace(consts=self._residuals())

    def __call__(self, *cotangents: Any) -> Any:
        """Return the cotangents of the arguments, given one of the result.

        Raises TransformError for a cotangent of another structure or type, for arguments that
        `saveable_args` excludes and that are not restored, and if an argument is a reference.
        """
        return self._placed([GradValue()] * self.in_tree.num_leaves, cotangents)

    def with_refs(self, *places: Any) -> Callable[[Any], Any]:
        """Return a function that adds cotangents to references, in place of returning them.

        `places` has the structure of the arguments of `vjp`.  A leaf is a reference of the type of
        its argument, `ad.GradValue()` for a cotangent that is returned, or `ad.DontWant()` for one
        that is not computed.  The function returns `GradRef()` and `DidntWant()` for the others.
        The place of an argument that is a reference is a reference, or `ad.DontWant()`.

        Raises TransformError for another structure, another leaf, or a reference of another type.

        >>> y, pull_back = vjp(lambda x: x * x, 3.0)
        >>> ref = new_ref(0.0)
        >>> pull_back.with_refs(ref)(1.0)
        (GradRef(),)
        >>> ref[...]
        Array(6., ...)
        """
        leaves, places_tree = tree.flatten(places)
        return tree.Partial(functools.partial(_accumulated, leaves, places_tree), self)

    def replace(self, **changes: Any) -> VJP:
        """Return a function with other fields, as with other `args_res`."""
        return dataclasses.replace(self, **changes)

    def _placed(self, places: Sequence[Any], cotangents: tuple[Any, ...]) -> Any:
        """Return the cotangents after those with references in `places` were added to these."""
        for place, (name, aval) in zip(places, self.fun.arguments, strict=True):
            _check_place(place, name, aval)
        cotangent_leaves = self.fun.call(self._residuals(), places, cotangents)
        return self.in_tree.unflatten(map(_result, places, cotangent_leaves, self.fun.arguments))

    def _residuals(self) -> list[Any]:
        saved = tree.leaves(self.args_res, lambda x: isinstance(x, (NotNeeded, NotSaveable)))
        missing = [
            self.fun.arguments[i][0]
            for is_argument, i in self.order
            if is_argument and isinstance(saved[i], NotSaveable)
        ]
        if missing:
            raise TransformError(
                "the VJP function was applied before restoring its not-saveable residuals: "
                f"`saveable_args` excludes the value of {', '.join(missing)}",
                hint="assign to an entry of args_res, as by pull_back.args_res[0] = x",
            )
        return [
            saved[i] if is_argument else self.opaque_residuals[i] for is_argument, i in self.order
        ]


tree.register_node(
    VJP,
    lambda f: ((f.args_res, f.opaque_residuals), (f.fun, f.order, f.in_tree, f.out_tree)),
    lambda static, residuals: VJP(*static, *residuals),
)


def vjp_of(
    fun: TransposedFunction,
    residuals: Sequence[Any],
    arguments: Sequence[Any],
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    saveable_args: Any,
) -> VJP:
    """Return a `VJP` with its residuals, of which some are among the `arguments`.

    `saveable_args` is a tree of booleans for the arguments, as `vjp` takes it.
    """
    saveable = list(_flags(saveable_args, in_tree, ""))
    numbers = {id(x): i for i, x in enumerate(arguments)}
    opaque: list[Any] = []
    order: list[tuple[bool, int]] = []
    for x in residuals:
        number = numbers.get(id(x))
        order.append((False, len(opaque)) if number is None else (True, number))
        if number is None:
            opaque.append(x)
    used = {i for is_argument, i in order if is_argument}
    saved = [
        NotNeeded() if i not in used else x if saveable[i] else NotSaveable()
        for i, x in enumerate(arguments)
    ]
    args_res = in_tree.walk(lambda children, _: tuple(children), lambda x: x, saved)
    return VJP(fun, tuple(order), in_tree, out_tree, list(args_res), opaque)


def _flags(prefix: Any, treedef: tree.PyTreeDef, path: str) -> Iterator[bool]:
    """Yield the flag of each leaf, by a tree of booleans, of which one is for a whole subtree.

    Containers of the two trees need only have as many children.
    """
    if isinstance(prefix, bool):
        yield from [prefix] * treedef.num_leaves
        return
    name = "the saveable_args argument to jax.vjp"
    where = f"saveable_args{path}"
    children = list(prefix) if isinstance(prefix, (tuple, list)) else None
    if children is None:
        raise TransformError(
            f"{name} must be a tree of bools, but {where} is {prefix!r:.60} of type "
            f"{type(prefix).__name__}"
        )
    parts = treedef.children()
    if treedef.num_nodes == 1 and treedef.num_leaves == 1:
        raise TransformError(
            f"{name} must form a tree prefix of the arguments, but {where} is a container, and its "
            "part of the arguments is a leaf",
            hint="write one bool there",
        )
    if len(children) != len(parts):
        raise TransformError(
            f"{name} must form a tree prefix of the arguments, but {where} has {len(children)} "
            f"children, and its part of the arguments {len(parts)}"
        )
    for i, (child, part) in enumerate(zip(children, parts, strict=True)):
        yield from _flags(child, part, f"{path}[{i}]")


def _accumulated(
    places: Sequence[Any], places_tree: tree.PyTreeDef, pull_back: VJP, *cotangents: Any
) -> Any:
    """Return the cotangents of a pull-back after those with references were added to these."""
    if pull_back.in_tree != places_tree:
        raise TransformError(
            "with_refs needs a place for each argument of vjp, in their structure: the arguments "
            f"have {pull_back.in_tree}, and the places {places_tree}",
            hint="write ad.GradValue() for a cotangent that is returned",
        )
    return pull_back._placed(places, cotangents)


def _check_place(place: Any, name: str, argument: Any) -> None:
    """Raise TransformError for a place that the cotangent of an argument cannot have."""
    is_reference_type = isinstance(argument, AbstractRef)
    if isinstance(place, DontWant) or (isinstance(place, GradValue) and not is_reference_type):
        return
    if isinstance(place, GradValue):
        raise TransformError(
            f"the gradient for {name}, which is Ref-typed, must be accumulated into a ref",
            hint="pass a reference for it to `with_refs`, or ad.DontWant()",
        )
    if not is_reference(place):
        raise TransformError(
            f"with_refs takes references, ad.GradValue() and ad.DontWant(), and got {place!r:.60}"
        )
    aval = argument.inner_aval if is_reference_type else argument
    expected = place.inner_aval
    if (aval.shape, aval.dtype) != (expected.shape, expected.dtype):
        raise TransformError(
            f"with_refs needs a reference of the type of the cotangent, {aval.long_name()}, and "
            f"got {place.aval}"
        )


def _result(place: Any, cotangent: Any, argument: tuple[str, Any]) -> Any:
    if isinstance(place, GradValue):
        return cotangent
    if isinstance(place, DontWant):
        return DidntWant()
    place.set_value(cotangent if isinstance(argument[1], AbstractRef) else place.value + cotangent)
    return GradRef()
