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
from collections.abc import Callable, Collection, Sequence
from typing import Any, NoReturn

from olympus_core.arrays.device_array import as_device_array
from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval, register_aval, register_visible_type
from olympus_core.base.context import state, surroundings, switched
from olympus_core.base.errors import ArgumentError, DTypeError, TransformError, UnsupportedError
from olympus_core.base.source import current_location, function_name
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.transforms.flat import names_of
from olympus_core.transforms.staging import live, stage

_MAPPED = (
    "vmapped value on an unbatched array reference of type {}. Move the array reference to be an "
    "argument to the vmapped function?"
)
_DERIVED = (
    "a differentiated value on a non-differentiated array reference of type {}. Move the array "
    "reference to be an argument of the differentiated function?"
)


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

    __slots__ = ("__weakref__", "_depth", "_source", "_trace", "_value", "argument", "inner_aval")

    def __init__(self, value: Array) -> None:
        live.add(id(self))
        self.inner_aval = value.aval
        self._value = value
        self._source = current_location()
        self.argument: str | None = None
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
        """True: a program does not move the value to another device."""
        return True

    @property
    def format(self) -> Any:
        """The layout and sharding of the value."""
        return self.value.format  # type: ignore[attr-defined]

    @property
    def at(self) -> NoReturn:
        """References have no `at`: raises UnsupportedError."""
        raise UnsupportedError(
            "a mutable array reference has no `at`", hint="write ref[index] = x, or ref.addupdate"
        )

    def unsafe_buffer_pointer(self) -> int:
        """Return the address of the value's memory, for a value on one device."""
        return self.value.unsafe_buffer_pointer()  # type: ignore[attr-defined,no-any-return]

    def origin(self) -> str:
        """Return a sentence with the place that the reference is from, for a function's result.

        It is empty for a reference from outside of the function.
        """
        if self.argument is not None:
            return f"\n\nThe returned mutable array was passed in as the argument {self.argument}."
        place = self._source.position()
        if place is None or self._trace is not trace.current_trace():
            return ""
        return f"\n\nThe returned mutable array was created on line {place}."

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
                frame.used.setdefault(self, False)
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
                frame.used[self] = True
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
                    "performing a set/swap operation with "
                    + (_MAPPED if hasattr(current, "batched") else _DERIVED).format(self.aval)
                )
            current = parent


def _refused(reference: Reference) -> NoReturn:
    raise DTypeError(
        f"a mutable array reference of type {reference.aval} is not an array",
        hint="read its value, as by ref[...]",
    )


def _no_operand(reference: Reference) -> NoReturn:
    raise ArgumentError(
        f"Attempting to pass a Ref {reference.aval} to a primitive -- did you forget to unpack "
        "([...]) the ref?",
        hint="read its value, as by ref[...]",
    )


register_visible_type(Reference)
register_aval(Reference, _refused)


class _Frame:
    """References and their values in a function that runs; a search only records them."""

    def __init__(self, values: dict[Reference, Array], is_search: bool = False) -> None:
        self.values = values
        self.is_search = is_search
        #: the references that a function uses, with True for one that it writes
        self.used: dict[Reference, bool] = {}
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

    `kind` is the operation that traces it, for errors; a result has no references unless it is
    None.  `references` are the ones from outside that it uses.
    """

    def __init__(
        self, fun: Callable[..., Any], references: Sequence[Reference], kind: str | None = "jit"
    ) -> None:
        self.fun = fun
        self.kind = kind
        # programs in caches have rules with such functions, and do not keep references alive
        self._references = [*map(weakref.ref, references)]
        self.name = function_name(fun)

    @property
    def references(self) -> list[Any]:
        """The references that the function uses from outside; another object for a freed one."""
        return [r if (alive := r()) is None else alive for r in self._references]

    @property
    def values(self) -> list[Array]:
        """The current values."""
        return [r.value for r in self.references]

    def __call__(self, values: Sequence[Array], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the new values of the references, and the function's result."""
        frame = _Frame(dict(zip(self.references, values, strict=True)))
        with _pushed(frame):
            result = self.fun(*args, **kwargs)
            if self.kind is not None:
                check_result(self.name, result, self.kind)
            return [frame.values[r] for r in self.references], result

    def write(self, values: Sequence[Array]) -> None:
        """Set the values of the references."""
        for reference, value in zip(self.references, values, strict=True):
            reference.set_value(value)


def check_result(name: str, result: Any, kind: str = "jit") -> None:
    """Raise ArgumentError (a ValueError) for a result with a reference.

    `kind` is the name of the operation that traces the function.
    """
    for path, leaf in tree.flatten_with_path(result)[0]:
        if is_reference(leaf):
            where = f" at output tree path result{tree.keystr(path)}" if path else ""
            raise ArgumentError(
                f"function '{name}' traced for {kind} returned a mutable array reference of type "
                f"{leaf.aval}{where}, but mutable array references cannot be returned."
                f"{leaf.origin()}",
                hint="return its value, as by ref[...]",
            )


class _StaticReference:
    """A container of one reference, which is static; rebuilt, it is the reference itself."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference


class _WeakReference(_StaticReference):
    """The same, whose structure does not keep the reference alive."""


tree.register_node(_StaticReference, lambda x: ((), x.reference), lambda reference, _: reference)
tree.register_node(
    _WeakReference, lambda x: ((), weakref.ref(x.reference)), lambda reference, _: reference()
)


def static_references(value: Any, *, weak: bool = False) -> Any:
    """Return a tree whose references are static parts of its structure, and no leaves.

    With `weak`, the structure does not keep the references alive.
    """
    if not exist():
        return value
    node = _WeakReference if weak else _StaticReference
    return tree.map(lambda x: node(x) if is_reference(x) else x, value)


def used_by(
    functions: Sequence[Callable[..., Any]], leaves: Sequence[Any], in_tree: tree.PyTreeDef
) -> list[Reference]:
    """Return the references that functions use, when they are called with arguments.

    `leaves` are types and arrays, which `in_tree` makes into the tuple of arguments.
    """
    return list(_uses(functions, leaves, in_tree))


def written_by(
    functions: Sequence[Callable[..., Any]], leaves: Sequence[Any], in_tree: tree.PyTreeDef
) -> list[Reference]:
    """Return what `used_by` returns, if the functions write one of these; else an empty list."""
    used = _uses(functions, leaves, in_tree)
    return list(used) if any(used.values()) else []


def _uses(
    functions: Sequence[Callable[..., Any]], leaves: Sequence[Any], in_tree: tree.PyTreeDef
) -> dict[Reference, bool]:
    avals = tuple([x if isinstance(x, ShapedArray) else get_aval(x) for x in leaves])
    used: dict[Reference, bool] = {}
    for fun in functions:
        known, key = _known(fun), (in_tree, avals, surroundings())
        if key in known:
            continue
        mine = _searched(functools.partial(_stage_for_search, fun, avals, in_tree))
        used |= {x: is_written or used.get(x, False) for x, is_written in mine.items()}
        if not mine:
            known.add(key)
    return used


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
    return list(_searched(run))


def _searched(run: Callable[[], object]) -> dict[Reference, bool]:
    frame = _Frame(dict[Reference, Array](), is_search=True)
    with _pushed(frame):
        run()
    return frame.used


class Unmapped:
    """A reference among the arguments of a mapped function, which it gets as it is."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference


class Boxed:
    """A function of arrays that gets some of them in new references, and returns their last values.

    `places` are the numbers of these leaves of the arguments.
    """

    def __init__(self, fun: Callable[..., Any], places: Sequence[int], kind: str = "jit") -> None:
        self.fun = fun
        self.kind = kind
        self.places = tuple(places)
        self.__wrapped__ = fun

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[list[Array], Any]:
        """Return the last values, and the function's result."""
        leaves, in_tree = tree.flatten((args, kwargs))
        leaves = [x.reference if x.__class__ is Unmapped else x for x in leaves]
        boxes = [Reference(as_array(leaves[i])) for i in self.places]
        names = argument_names(self.fun, in_tree) if boxes else []
        for place, box in zip(self.places, boxes, strict=True):
            leaves[place] = box
            box.argument = names[place]
        args, kwargs = in_tree.unflatten(leaves)
        result = self.fun(*args, **kwargs)
        check_result(function_name(self.fun), result, self.kind)
        return [box.value for box in boxes], result


def boxing(
    fun: Callable[..., Sequence[Any]], places: Collection[int]
) -> Callable[..., Sequence[Any]]:
    """Return a flat function that gets the values at `places` in new references.

    Their last values are further results.
    """

    def function(*values: Any) -> Sequence[Any]:
        boxes = {i: Reference(as_array(values[i])) for i in places}
        outs = fun(*[boxes.get(i, x) for i, x in enumerate(values)])
        return [*outs, *[box.value for box in boxes.values()]]

    return function if places else fun


def argument_names(fun: Callable[..., Any], in_tree: tree.PyTreeDef) -> list[str]:
    """Return the name and path of each leaf of (args, kwargs) of a function, such as `x['w']`."""
    args_tree, kwargs_tree = in_tree.children()
    names = [name.removeprefix("argument ") for name in names_of(fun, args_tree)]
    for path, _ in tree.flatten_with_path(kwargs_tree.unflatten(range(kwargs_tree.num_leaves)))[0]:
        names.append(f"{path[0].key}{tree.keystr(path[1:])}")
    return names


def as_array(x: Any) -> Array:
    """Return a value as an array on the device, if it is not an array or keys already."""
    array: Array = x if isinstance(x, Array) or hasattr(x, "aval") else as_device_array(x)
    return array


def unboxed(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    fun: Callable[..., Any] | None = None,
    kind: str = "jit",
) -> tuple[Any, Any, dict[int, Reference]]:
    """Return arguments with the values of references in their place, and the references by leaf.

    Raises ArgumentError (a ValueError) for one reference in two places, with the names of the
    arguments of `fun`.
    """
    leaves, in_tree = tree.flatten((args, kwargs))
    passed = {i: x for i, x in enumerate(leaves) if is_reference(x)}
    check_aliases(passed, in_tree, fun, kind)
    for place, reference in passed.items():
        leaves[place] = reference.value
    return *in_tree.unflatten(leaves), passed


def check_aliases(
    passed: dict[int, Reference],
    in_tree: tree.PyTreeDef,
    fun: Callable[..., Any] | None,
    kind: str,
) -> None:
    """Raise ArgumentError (a ValueError) for one reference in two places of (args, kwargs)."""
    first: dict[Reference, int] = {}
    for place, reference in passed.items():
        if reference in first:
            where = "the mutable array reference"
            both = "twice"
            if fun is not None:
                names = argument_names(fun, in_tree)
                where = f"when tracing '{function_name(fun)}' for {kind} {where}"
                both = f"at both {names[first[reference]]} and {names[place]}"
            raise ArgumentError(
                "only one reference to a mutable array may be passed as an argument to a function, "
                f"but {where} of type {reference.aval} appeared {both}."
            )
        first[reference] = place


def check_arguments(fun: Callable[..., Any], args: tuple[Any, ...], kind: str) -> None:
    """Raise ArgumentError (a ValueError) for one reference in two places of the arguments."""
    leaves, in_tree = tree.flatten((args, {}))
    passed = {i: x for i, x in enumerate(leaves) if is_reference(x)}
    if passed:
        check_aliases(passed, in_tree, fun, kind)


def check_closure(
    fun: Callable[..., Any],
    in_tree: tree.PyTreeDef,
    passed: dict[int, Reference],
    used: Sequence[Reference],
    kind: str = "jit",
) -> None:
    """Raise ArgumentError (a ValueError) for an argument that the function also closes over."""
    both = [place for place, x in passed.items() if x in used]
    if both:
        name = argument_names(fun, in_tree)[both[0]]
        raise ArgumentError(
            f"when tracing '{function_name(fun)}' for {kind}, a mutable array reference of type "
            f"{passed[both[0]].aval} was both closed over and passed as the argument {name}"
        )
