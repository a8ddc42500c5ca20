"""Partition specs: for each dimension of an array, the axes of a mesh that split it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.base import source
from olympus_core.base.errors import ArgumentError, ShardingError, UnsupportedError
from olympus_core.placement.mesh import are_names

if TYPE_CHECKING:
    from olympus_core.placement.sharding import NamedSharding


class _Unconstrained:
    """The entry of a PartitionSpec that leaves a dimension to the compiler."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "_UNCONSTRAINED"


_UNCONSTRAINED = _Unconstrained()


class PartitionSpec:
    """For each dimension of an array, the axis of a mesh that it is split along.

    An entry is the name of an axis, a tuple of names (the first is the major one), None for a
    dimension that is whole everywhere, or `P.UNCONSTRAINED` for one that a constraint leaves to
    the compiler.  Dimensions after the last entry are whole.

    `unreduced` and `reduced` are sets of other axes of the type `Explicit`. Along an unreduced
    axis the devices hold terms whose sum is the array. Along a reduced axis each holds the array,
    and the cotangent is unreduced.

    >>> P("data", None, ("model", "expert"))
    P('data', None, ('model', 'expert'))
    """

    __slots__ = ("partitions", "reduced", "unreduced")
    UNCONSTRAINED: ClassVar[_Unconstrained] = _UNCONSTRAINED
    #: the function that returns a spec as a sharding on the mesh of the context, for an argument
    on_context_mesh: ClassVar[Callable[[PartitionSpec, str], NamedSharding]]
    partitions: tuple[Any, ...]
    unreduced: frozenset[Any]
    reduced: frozenset[Any]

    def __init__(
        self,
        *partitions: Any,
        unreduced: Set[Any] = frozenset(),
        reduced: Set[Any] = frozenset(),
    ) -> None:
        self.partitions = tuple(map(_entry, partitions))
        self.unreduced, self.reduced = frozenset(), frozenset()
        if unreduced or reduced:
            self.unreduced = self._checked("unreduced", unreduced)
            self.reduced = self._checked("reduced", reduced)
            if self.unreduced & self.reduced:
                raise ArgumentError(
                    "`unreduced` and `reduced` argument to PartitionSpec cannot overlap. Got "
                    f"unreduced: {set(unreduced)} and reduced: {set(reduced)}"
                )

    def to_sharding(self, what: str) -> NamedSharding:
        """Return the sharding on the mesh of the context; raise MissingMeshError without one."""
        return PartitionSpec.on_context_mesh(self, what)

    def _checked(self, what: str, names: Any) -> frozenset[Any]:
        """Return the axes of `unreduced` or `reduced`; raise ArgumentError for invalid ones."""
        if not isinstance(names, Set):
            raise ArgumentError(
                f"{what} argument of PartitionSpec should of type `frozenset` or `set`. Got type "
                f"{names!s:.80}: it is the set of the names of axes"
            )
        if None in names:
            raise ArgumentError(
                f"{what} cannot contain None. All elements in {what} should refer to the mesh axes"
            )
        if names & {n for d in range(len(self.partitions)) for n in self.axes(d)}:
            raise ArgumentError(
                f"partitions cannot overlap with {what} axes passed to PartitionSpec. Got "
                f"partitions: {self.partitions} and {what} axes: {set(names)}"
            )
        return frozenset(names)

    def __repr__(self) -> str:
        sets = {"unreduced": self.unreduced, "reduced": self.reduced}
        words = [f"{k}={{{', '.join(sorted(map(repr, v)))}}}" for k, v in sets.items() if v]
        if not words:
            return f"P({repr(self.partitions)[1:-1]})"
        return f"P({', '.join([*map(repr, self.partitions), *words])})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return NotImplemented
        mine = self.partitions, self.unreduced, self.reduced
        return mine == (other.partitions, other.unreduced, other.reduced)

    def __hash__(self) -> int:
        return hash((self.partitions, self.unreduced, self.reduced))

    def update(
        self,
        *,
        partitions: Iterable[Any] | None = None,
        unreduced: Set[Any] | None = None,
        reduced: Set[Any] | None = None,
    ) -> PartitionSpec:
        """Return the spec with some fields replaced."""
        return PartitionSpec(
            *(self.partitions if partitions is None else partitions),
            unreduced=self.unreduced if unreduced is None else unreduced,
            reduced=self.reduced if reduced is None else reduced,
        )

    def index(self, entry: Any) -> int:
        """Return the first dimension with an entry; raise ValueError if none has it."""
        return self.partitions.index(_entry(entry))

    def count(self, entry: Any) -> int:
        """Return the number of dimensions with an entry."""
        return self.partitions.count(_entry(entry))

    def __len__(self) -> int:
        return len(self.partitions)

    def __iter__(self) -> Iterator[Any]:
        self._refuse_sets("*pspec", "*spec.partitions")
        return iter(self.partitions)

    def __getitem__(self, i: Any) -> Any:
        self._refuse_sets("pspec[...]", "spec.partitions[...]")
        return self.partitions[i]

    def _refuse_sets(self, used: str, instead: str) -> None:
        if self.unreduced or self.reduced:
            raise ArgumentError(
                f"{self}: Using {used} is dangerous when PartitionSpec has non-empty "
                f"unreduced/reduced set. Please use {instead}"
            )

    def __add__(self, other: object) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self.partitions,
                *other.partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if not isinstance(other, tuple):
            raise UnsupportedError(
                f"a PartitionSpec or a tuple is added to a PartitionSpec, and got {other!r:.60}"
            )
        return self._joined(self.partitions, other, other, "__add__")

    def __radd__(self, other: object) -> PartitionSpec:
        if not isinstance(other, tuple):
            raise UnsupportedError(f"a PartitionSpec is added to a tuple, and got {other!r:.60}")
        return self._joined(other, self.partitions, other, "__radd__")

    def _joined(self, first: Any, second: Any, other: object, method: str) -> PartitionSpec:
        for what, names in (("unreduced", self.unreduced), ("reduced", self.reduced)):
            if names:
                raise ArgumentError(
                    f"other {other} cannot be of instance `tuple` when self {self} has {what} in "
                    f"`{method}` of PartitionSpec."
                )
        return PartitionSpec(*first, *second)

    @property
    def has_sets(self) -> bool:
        """True if an axis is unreduced or reduced."""
        return bool(self.unreduced or self.reduced)

    @property
    def of_cotangent(self) -> PartitionSpec:
        """The spec of the cotangent: unreduced along reduced axes, and the other way round."""
        if not self.has_sets:
            return self
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    def _normalized_spec_for_aval(self, ndim: int) -> PartitionSpec:
        """Return the spec with an entry for each of `ndim` dimensions, under JAX's name."""
        return self.update(partitions=[*self.partitions, *[None] * (ndim - len(self))])

    def check_distinct(self, what: str) -> None:
        """Raise ShardingError if an axis occurs twice in this specification `what`."""
        names = [name for i in range(len(self)) for name in self.axes(i)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ShardingError(
                f"A single {what} specification can map every mesh axis to at most one positional "
                f"dimension, but {self} has duplicate entries for `{twice}`"
                f"{source.current_location().place()}"
            )

    def axes(self, dimension: int) -> tuple[Any, ...]:
        """Return the names of the axes that a dimension is split along, the major one first."""
        entry = self.partitions[dimension] if dimension < len(self.partitions) else None
        if entry is None or entry is _UNCONSTRAINED:
            return ()
        return entry if isinstance(entry, tuple) else (entry,)


P = PartitionSpec


def _entry(entry: Any) -> Any:
    """Return an entry of a spec in its normal form: a name, a tuple of two or more, or None.

    Raises ArgumentError for an invalid entry.
    """
    if isinstance(entry, tuple | list):
        entry = tuple(entry)
        if not are_names(entry) or any(isinstance(e, tuple) for e in entry):
            raise ArgumentError(
                f"a PartitionSpec needs names of axes in a tuple, and got {entry!r:.80}: A tuple "
                "inside PartitionSpec cannot contain a nested tuple"
            )
        return None if not entry else entry[0] if len(entry) == 1 else entry
    if not are_names((entry,)):
        raise ArgumentError(
            f"a PartitionSpec needs names of axes, tuples of these and None, and got {entry!r:.80}"
        )
    return entry
