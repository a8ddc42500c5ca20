"""Python functions that a program of a bundle calls: those of its manifest, given by name.

A bundle has the names and types of the functions, and no code of them. Its loader passes the
functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from olympus_bundle.errors import ArtifactError, UsageError
from olympus_bundle.manifest import ArrayInfo, type_text
from olympus_bundle.tree import TreeNode

#: The names of the runtime's handlers that call Python with arrays, buffers or parts of arrays.
_HANDLERS = re.compile(rb"xla_(?:ffi|ffi_partitioned|buffer)_python_")
#: A call in the text of an optimized program: the types of its results, and the function's index.
_CALL = re.compile(
    r"= (?P<types>.*?) custom-call\(.*custom_call_target=\"xla_ffi_python_"
    r".*\bindex = (?P<index>\d+)"
)
_TYPE = re.compile(r"\b([a-z]+[0-9a-z]*)\[([0-9,]*)\]")

Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class HostFunction:
    """A function that the program calls: its name, and its arguments and results.

    `argument_tree` is that of the pair (args, kwargs). An `is_ordered` one takes a value of the
    runtime first, and returns it first.
    """

    name: str
    arguments: tuple[ArrayInfo, ...]
    argument_tree: TreeNode
    results: tuple[ArrayInfo, ...]
    has_effects: bool
    is_ordered: bool

    def bound(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that the runtime calls with flat arrays, from the user's."""

        def call(*arrays: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
            order = arrays[: self.is_ordered]
            args, kwargs = self.argument_tree.build(iter(arrays[self.is_ordered :]))
            value = function(*args, **kwargs)
            return (*order, *self._checked(_leaves(value) if self.results else []))

        return call

    def _checked(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        if len(values) != len(self.results):
            raise UsageError(
                f"{self.name} must return {len(self.results)} arrays, and returned {len(values)}"
            )
        checked = []
        for i, (value, result) in enumerate(zip(values, self.results, strict=True)):
            array = np.asarray(value)
            if array.dtype.kind == result.dtype.kind:
                array = array.astype(result.dtype)
            if (array.dtype, array.shape) != (result.dtype, result.shape):
                raise UsageError(
                    f"result {i + 1} of {self.name} must be "
                    f"{type_text(result.dtype, result.shape)}, and is "
                    f"{type_text(array.dtype, array.shape)}"
                )
            checked.append(np.ascontiguousarray(array).reshape(result.shape))  # it adds an axis
        return checked


def _leaves(value: Any) -> list[Any]:
    """Return the arrays in a value, in the order of the leaves of its tree."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _leaves(part)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    return [value]


class HostFunctions(NamedTuple):
    """The functions that a program calls, as declared and as the runtime calls them."""

    declared: Sequence[HostFunction] = ()
    bound: Sequence[Callable[..., Any]] = ()

    @property
    def has_effects(self) -> bool:
        """True if a call of the program waits for effects, besides results."""
        return any(function.has_effects for function in self.declared)


def bound_functions(
    where: object, needed: Sequence[HostFunction], given: Functions | None
) -> HostFunctions:
    """Return the functions that a program calls, in the order of its indices.

    Raises:
      ArtifactError: a function is not given.
      UsageError: a given value cannot be called, or the program calls no function of its name.
    """
    functions = dict(given or {})
    missing = [f.name for f in needed if f.name not in functions]
    if missing:
        names = ", ".join(repr(f.name) for f in needed)
        lacks = "them" if len(missing) == len(needed) else ", ".join(map(repr, missing))
        raise ArtifactError(
            f"{where} calls the Python functions {names}, and was loaded without {lacks}",
            hint="pass them: callbacks={name: function}",
        )
    unknown = sorted(functions.keys() - {f.name for f in needed})
    if unknown:
        names = ", ".join(repr(f.name) for f in needed) or "none"
        raise UsageError(
            f"callbacks has {unknown[0]!r}, and {where} calls no such function (it calls: {names})"
        )
    for name, function in functions.items():
        if not callable(function):
            raise UsageError(f"callbacks[{name!r}] must be a function, and is {function!r:.80}")
    return HostFunctions(needed, [f.bound(functions[f.name]) for f in needed])


def calls_python(content: bytes) -> bool:
    """Return True if a program or an executable with these bytes calls Python.

    >>> calls_python(b"xla_ffi_python_cpu_callback")
    True
    """
    return _HANDLERS.search(content) is not None


def check_calls(text: Callable[[], str], functions: HostFunctions) -> None:
    """Compare the calls of an executable with the declared functions.

    `text` returns its optimized HLO.

    The runtime would call a function that is absent, and copy results of another size.

    Raises:
      ArtifactError: they differ.
    """
    where = "the executable"
    for line in text().splitlines():
        if not calls_python(line.encode()):
            continue
        call = _CALL.search(line)
        index = None if call is None else int(call["index"])
        if call is None or index is None or index >= len(functions.declared):
            raise ArtifactError(f"{where} calls a Python function that its manifest does not have")
        function = functions.declared[index]
        shapes = [sizes for _, sizes in _TYPE.findall(call["types"])]
        declared = ["" for _ in range(function.is_ordered)]
        declared += [",".join(map(str, result.shape)) for result in function.results]
        if shapes != declared:
            raise ArtifactError(
                f"{where} calls {function.name} with results of other shapes than its manifest has"
            )
