"""Mutable references: boxes of an array that a program reads and writes.

The IR has no references.  While Python runs, a reference holds its current value, which may be
traced.  A function that is staged gets the values of the references that it uses as more arguments,
and returns their new values as more results; inside, the references hold the former (`Threaded`).
Which references a function uses is found by staging it once more, and only while references exist.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from olympus_core.arrays.device_array import as_device_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval, register_aval, register_visible_type
from olympus_core.base.context import state, surroundings, switched
from olympus_core.base.errors import ArgumentError, DTypeError, TransformError
from olympus_core.base.source import function_name
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.transforms.staging import live, stage


def exist() -> bool:
    """Return True if the process has a reference."""
    return bool(live)


class AbstractRef:
    """The type of a reference: that of its value, `inner_aval`."""

    def __init__(self, inner_aval: ShapedArray) -> None:
        self.inner_aval = inner_aval
        self.shape, self.dtype = inner_aval.shape, inner_aval.dtype
        self.ndim, self.size = inner_aval.ndim, inner_aval.size
        self.weak_type = inner_aval.weak_type

    def __str__(self) -> str:
        return f"Ref{{{self.inner_aval.str_short()}}}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash(("Ref", self.inner_aval))


class Reference:
    """A box of an array.  `ref[...]` is its value; `ref[index] = x` changes it.

    Programs get it as an argument, or close over it.  It is created by `new_ref`.
    """

    __slots__ = ("__weakref__", "_depth", "_trace", "_value", "inner_aval")

    def __init__(self, value: Array) -> None:
        live.add(id(self))
        self.inner_aval = value.aval.without_sharding()
        self._value = value
        self._trace = trace.current_trace()
        self._depth = len(state.reference_frames)

    def __del__(self) -> None:
        live.discard(id(self))

    @property
    def aval(self) -> AbstractRef:
        """The type of the reference."""
        return AbstractRef(self.inner_aval)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the value."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions of the value."""
        return self.inner_aval.ndim

    @property
    def size(self) -> int:
        """The number of elements of the value."""
        return self.inner_aval.size

    @property
    def sharding(self) -> Any:
        """The sharding of the value."""
        return self.value.sharding  # type: ignore[attr-defined]

    @property
    def committed(self) -> bool:
        """True if a program may not move the value to another device."""
        return bool(self.value.committed)  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        if isinstance(self.value, Tracer):
            return str(self.aval)
        return f"Ref{repr(self.value).removeprefix('Array')}"

    @property
    def value(self) -> Array:
        """The current value."""
        state.reference_reads += 1
        for frame in reversed(state.reference_frames[self._depth :]):
            if frame.is_search:
                frame.used.setdefault(self)
            elif self in frame.values:
                value: Array = frame.values[self]
                return value
        return self._value

    def set_value(self, value: Array) -> None:
        """Replace the value by one of the same type.

        Raises TransformError for a value of a transformation that the reference is outside of.
        """
        for frame in reversed(state.reference_frames[self._depth :]):
            if frame.is_search:
                frame.used.setdefault(self)
                return
            if self in frame.values:
                self._check_owner(value, frame.trace)
                frame.values[self] = value
                return
        self._check_owner(value, self._trace)
        self._value = value

    def _check_owner(self, value: Array, home: trace.Trace) -> None:
        current: Any = trace.current_trace()
        while current is not home:
            parent = getattr(current, "parent", None)
            if parent is None:
                raise TransformError(
                    f"a function of this kind cannot write to an array reference of type "
                    f"{self.aval} from outside",
                    hint="return the value, and write it outside of the function",
                )
            if getattr(getattr(value, "data", value), "owner", None) is current:
                raise TransformError(
                    "performing a set/swap operation with a value that is differentiated or "
                    f"vmapped on an array reference of type {self.aval} from outside",
                    hint="make the array reference an argument of the transformed function",
                )
            current = parent


def _refused(reference: Reference) -> NoReturn:
    raise DTypeError(
        f"a mutable array reference of type {reference.aval} is not an array",
        hint="read its value, as by ref[...]",
    )


register_visible_type(Reference)
register_aval(Reference, _refused)


class _Frame:
    """References and their values in a function that runs; a search only records them."""

    def __init__(self, values: dict[Reference, Array], is_search: bool = False) -> None:
        self.values = values
        self.is_search = is_search
        self.used: dict[Reference, None] = {}
        self.trace = trace.current_trace()


def _pushed(frame: _Frame) -> contextlib.AbstractContextManager[None]:
    return switched("reference_frames", (*state.reference_frames, frame))


def is_reference(x: Any) -> bool:
    """Return True if `x` is a reference."""
    return x.__class__ is Reference


def has_references(value: Any) -> bool:
    """Return True if a leaf of a tree is a reference."""
    return any(map(is_reference, tree.leaves(value)))


class Threaded:
    """A function with its references as leading arguments and results: their values.

    `references` are the ones from outside that it uses.
    """

    def __init__(self, fun: Callable[..., Any], references: Sequence[Reference]) -> None:
        self.fun = fun
        self.references = tuple(references)
        self.name = function_name(fun)

    @property
    def values(self) -> list[Array]:
        """The current values."""
        return [r.value for r in self.references]

    def __call__(self, values: Sequence[Array], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the new values of the references, and the function's result."""
        frame = _Frame(dict(zip(self.references, values, strict=True)))
        with _pushed(frame):
            result = self.fun(*args, **kwargs)
            check_result(self.name, result)
            return [frame.values[r] for r in self.references], result

    def write(self, values: Sequence[Array]) -> None:
        """Set the values of the references."""
        for reference, value in zip(self.references, values, strict=True):
            reference.set_value(value)


def check_result(name: str, result: Any) -> None:
    """Raise ArgumentError (a ValueError) for a result with a reference."""
    for path, leaf in tree.flatten_with_path(result)[0]:
        if is_reference(leaf):
            raise ArgumentError(
                f"function '{name}' returned a mutable array reference of type {leaf.aval} at "
                f"result{tree.keystr(path)}, but mutable array references cannot be returned"
            )


class _StaticReference:
    """A container of one reference, which is static; rebuilt, it is the reference itself."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference


tree.register_node(_StaticReference, lambda x: ((), x.reference), lambda reference, _: reference)


def static_references(value: Any) -> Any:
    """Return a tree whose references are static parts of its structure, and no leaves."""
    if not exist():
        return value
    return tree.map(lambda x: _StaticReference(x) if is_reference(x) else x, value)


def used_by(
    functions: Sequence[Callable[..., Any]], leaves: Sequence[Any], in_tree: tree.PyTreeDef
) -> list[Reference]:
    """Return the references that functions use, when they are called with arguments.

    `leaves` are types and arrays, which `in_tree` makes into the tuple of arguments.
    """
    avals = tuple([x if isinstance(x, ShapedArray) else get_aval(x) for x in leaves])
    used: dict[Reference, None] = {}
    for fun in functions:
        known, key = _known(fun), (in_tree, avals, surroundings())
        if key in known:
            continue
        mine = used_in(functools.partial(_stage_for_search, fun, avals, in_tree))
        used |= dict.fromkeys(mine)
        if not mine:
            known.add(key)
    return list(used)


def _known(fun: Callable[..., Any]) -> set[Any]:
    """Return the kinds of arguments for which a function uses no references, as far as known."""
    try:
        return _without_references.setdefault(fun, set())
    except TypeError:  # it has no hash or no weak references
        return set()


def _stage_for_search(
    fun: Callable[..., Any], avals: Sequence[ShapedArray], in_tree: tree.PyTreeDef
) -> None:
    def flat(*values: Any) -> list[Any]:
        fun(*in_tree.unflatten(values))
        return []

    stage(flat, avals, what=f"'{function_name(fun)}'")


#: functions that use no references, with the kinds of arguments for which that is known
_without_references: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()


def used_in(run: Callable[[], object]) -> list[Reference]:
    """Return the references from outside that code uses, which is run for that; it writes none."""
    frame = _Frame(dict[Reference, Array](), is_search=True)
    with _pushed(frame):
        run()
    return list(frame.used)


class Unmapped:
    """A reference among the arguments of a mapped function, which it gets as it is."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference


class Boxed:
    """A function of arrays that gets some of them in new references, and returns their last values.

    `places` are the numbers of these leaves of the arguments.
    """

    def __init__(self, fun: Callable[..., Any], places: Sequence[int]) -> None:
        self.fun = fun
        self.places = tuple(places)
        self.__wrapped__ = fun

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[list[Array], Any]:
        """Return the last values, and the function's result."""
        leaves, in_tree = tree.flatten((args, kwargs))
        leaves = [x.reference if x.__class__ is Unmapped else x for x in leaves]
        boxes = [Reference(as_array(leaves[i])) for i in self.places]
        for place, box in zip(self.places, boxes, strict=True):
            leaves[place] = box
        args, kwargs = in_tree.unflatten(leaves)
        result = self.fun(*args, **kwargs)
        check_result(function_name(self.fun), result)
        return [box.value for box in boxes], result


def as_array(x: Any) -> Array:
    """Return a value as an array on the device, if it is not an array or keys already."""
    array: Array = x if isinstance(x, Array) or hasattr(x, "aval") else as_device_array(x)
    return array


def unboxed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, dict[int, Reference]]:
    """Return arguments with the values of references in their place, and the references by leaf.

    Raises ArgumentError (a ValueError) for one reference in two places.
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    passed = {i: x for i, x in enumerate(leaves) if is_reference(x)}
    if len(set(passed.values())) < len(passed):
        twice = next(x for x in passed.values() if list(passed.values()).count(x) > 1)
        raise ArgumentError(
            "only one reference to a mutable array may be passed as an argument to a function, but "
            f"the mutable array reference of type {twice.aval} is passed twice"
        )
    for place, reference in passed.items():
        leaves[place] = reference.value
    return *in_tree.unflatten(leaves), passed


def check_closure(name: str, passed: Sequence[Reference], used: Sequence[Reference]) -> None:
    """Raise ArgumentError (a ValueError) for an argument that the function also closes over."""
    both = [x for x in passed if x in used]
    if both:
        raise ArgumentError(
            f"when '{name}' was traced, a mutable array reference of type {both[0].aval} was both "
            "closed over and passed as the argument"
        )
