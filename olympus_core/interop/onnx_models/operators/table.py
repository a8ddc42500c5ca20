"""The table of operators, and the view of a node that an operator gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from olympus_core.base.errors import ArtifactError, UsageError
from olympus_core.interop.onnx_models.operators.namespaces import jnp

#: Values of more elements are not computed while a model is imported, but in its program.
MAX_FOLDED = 2**16


@dataclass(frozen=True)
class OnnxNode:
    """A node of a graph: its attributes, and its input values.

    A NumPy array among `inputs` is a value that is known while the model is imported; any other
    value is an array of the program. An absent optional input is None.
    """

    op: str
    name: str
    version: int
    attributes: Mapping[str, Any]
    inputs: tuple[Any, ...]
    input_names: tuple[str, ...]
    output_count: int
    folds: bool
    run: Callable[[Any, Sequence[Any]], list[Any]]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or a default for an absent one."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """Return an attribute; raise ArtifactError if it is absent."""
        if name not in self.attributes:
            raise ArtifactError(f"attribute {name!r} is missing")
        return self.attributes[name]

    def namespace(self, size: int = 0) -> Any:
        """Return `numpy` if a result of `size` elements is computed now, else `olympus.numpy`."""
        return np if self.folds and size <= MAX_FOLDED else jnp

    @property
    def xp(self) -> Any:
        """`numpy` if the node is computed while the model is imported, else `olympus.numpy`."""
        return self.namespace()

    def static(self, index: int) -> Any:
        """Return the known value of an input, or None if the input is absent.

        Raises UsageError if the value is known only when the program runs.
        """
        if index >= len(self.inputs) or self.inputs[index] is None:
            return None
        value = self.inputs[index]
        if not isinstance(value, np.ndarray):
            name = self.input_names[index]
            raise UsageError(
                f"operator {self.op} needs the value of its input {name!r} to know a shape, and"
                " the value is known only when the program runs",
                hint=f"if it is an input of the model, pass constants={{{name!r}: value}}",
            )
        return value

    def integers(self, index: int) -> list[int] | None:
        """Return the known value of an input as a list of integers; None if it is absent."""
        value = self.static(index)
        if value is None:
            return None
        if value.size > MAX_FOLDED or value.dtype.kind not in "iub":
            raise ArtifactError(f"input {self.input_names[index]!r} is not a list of integers")
        return [int(number) for number in value.ravel()]


@dataclass(frozen=True)
class Operator:
    """A row of the table: the function of an operator from one version of its domain on.

    `static` are the indices of the inputs whose values determine shapes. `folds` is True for an
    operator that is computed while a model is imported if all its inputs are known.
    """

    function: Callable[..., Any]
    since: int
    static: Collection[int]
    folds: bool


#: The rows by domain and name, each list by descending `since`.
TABLE: dict[tuple[str, str], list[Operator]] = {}


def operator(
    *names: str, since: int = 1, domain: str = "", static: Collection[int] = (), folds: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the table under the names of operators, from version `since` on."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            rows = TABLE.setdefault((domain, name), [])
            rows.append(Operator(function, since, frozenset(static), folds))
            rows.sort(key=lambda row: -row.since)
        return function

    return add


def find_operator(domain: str, name: str, version: int) -> Operator | None:
    """Return the row of an operator for a version of its domain; None if the table has none."""
    return next((row for row in TABLE.get((domain, name), ()) if row.since <= version), None)


def normalized_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the front; raise ArtifactError if it is out of range."""
    if not -rank <= axis < rank:
        raise ArtifactError(f"axis {axis} is out of range for {rank} dimensions")
    return axis % rank


def checked_size(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape; raise ArtifactError for an impossible one."""
    if any(size < 0 for size in shape):
        raise ArtifactError(f"the shape {list(shape)!r:.80} has a negative size")
    size = math.prod(shape)
    if size > 2**40 or len(shape) > 64:
        raise ArtifactError(f"the shape {list(shape)!r:.80} is too large")
    return size
