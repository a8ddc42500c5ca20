"""The decision whether a module is faster raised and lowered for the CPU, from its operations.

Raising takes processor time for each operation. It is a gain in three cases. The module has an
operation that OLYMPUS lowers to a faster form, which its primitive decides. Or it has several
convolutions around which XLA copies arrays to another layout. Or it may have repeated blocks to
outline: a product, a convolution or a loop occurs several times, with enough operations between the
occurrences, equal ones near a product, and each occurrence saves values for operations that are
more than an occurrence away, as the layers of a training step do. Any other module is compiled
unchanged.

The decision reads the names of all operations, and more only of operations with a form, of
convolutions and of repeated operations. `blocks/profitability.py` decides on blocks from the raised
program, and `execution/channels_last.py` on layouts.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any

from olympus_core.base.context import enable_x64
from olympus_core.base.errors import OlympusError
from olympus_core.blocks.repeats import MEASURED, Thresholds
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.ir.primitive import Primitive, op
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.conv import elements_copied_for
from olympus_core.raising.raising import Raising
from olympus_core.raising.stablehlo_operation import StableHloOperation
from olympus_core.raising.unraisable import UnraisableError

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_PRODUCTS = frozenset(["stablehlo.dot_general", "stablehlo.convolution"])
#: operations whose values are emitted again where they are used, or are not saved
_CONSTANTS = frozenset(["stablehlo.constant", "stablehlo.iota"])

#: the number of operations around a product that are equal in the occurrences of a block, and the
#: step of the first one: a block has more equations, and an equation is one operation or several
_WINDOW, _STEP = 20, 4

#: least convolutions, and elements that XLA copies for their layout: the copies before the first
#: and after the last remain
_CONVOLUTIONS, _COPIED = 3, 2**20

LAYOUTS = "its convolutions have another layout than the kernels for the CPU"
BLOCKS = "its layers repeat, and save values for a derivative"
NO_GAIN = "no operation has a faster form for the CPU, and no layers of a derivative repeat"


def gain(
    module: ir.Module, name: str, blocks: bool = True, least: Thresholds = MEASURED
) -> str | None:
    """Return why a function of a module is faster raised; None if it is not.

    With `blocks` False, repeated blocks are not a reason.

    Raises UnraisableError for a module that has more than functions.

    >>> gain(module, "main")
    'stablehlo.sort has a faster form for the CPU'
    """
    search = _Search(module, blocks, least)
    return search.function(name)[0] or search.layouts()


class _Raising(Raising):
    """The raising of a module of another MLIR context, whose functions are raised from a copy."""

    def function(self, name: str) -> Olympuspr:
        with mlir.context(), enable_x64():
            return self._copy.function(name)

    @functools.cached_property
    def _copy(self) -> Raising:
        return Raising(mlir.copied_module(self.module))


class _Search:
    """The search of one module: each function is searched once."""

    def __init__(self, module: ir.Module, blocks: bool, least: Thresholds) -> None:
        self.raising = _Raising(module)
        self.blocks, self.least = blocks, least
        #: the results of the functions, by their names, in loops and outside
        self.known: dict[tuple[str, bool], tuple[str | None, bool]] = {}
        #: the elements that XLA copies for each convolution
        self.copied: list[int] = []

    def layouts(self) -> str | None:
        """Return the reason if XLA copies arrays around several convolutions."""
        copied = [n for n in self.copied if n]
        is_gain = len(copied) >= _CONVOLUTIONS and sum(copied) >= _COPIED
        return LAYOUTS if is_gain else None

    def function(self, name: str, is_inner: bool = False) -> tuple[str | None, bool]:
        """Return the reason in a function, and whether it has a product or a loop."""
        key = name, is_inner
        if key not in self.known:
            self.known[key] = None, False
            operation = self.raising.functions.get(name)
            if operation is not None and operation.regions[0].blocks:
                self.known[key] = self._block(operation.regions[0].blocks[0], is_inner)
        return self.known[key]

    def _block(self, block: ir.Block, is_inner: bool) -> tuple[str | None, bool]:
        """Return the reason in a block, and whether it has a product or a loop."""
        forms = _primitives_with_forms()
        kinds: Counter[Any] = Counter()
        count = 0
        for view in block.operations:
            operation = view.operation
            name = operation.name
            count += 1
            if name in forms and (form := self._form(forms[name], operation, is_inner)):
                return f"{form} has a faster form for the CPU", True
            if name == "stablehlo.convolution":
                self.copied.append(self._elements_copied_for(operation))
            if name in _PRODUCTS:
                kinds[_kind(operation)] += 1
            elif name == "func.call":
                callee = operation.attributes["callee"].value
                reason, is_heavy = self.function(callee, is_inner)
                if reason:
                    return reason, True
                if is_heavy:
                    kinds[name, callee] += 1
            elif len(operation.regions) and name not in _WITH_COMBINERS:
                reason, is_heavy = self._regions(operation)
                if reason:
                    return reason, True
                if is_heavy or name == "stablehlo.while":
                    kinds[_kind(operation)] += 1
        return self._repeats(block, kinds, count), bool(kinds)

    def _regions(self, operation: ir.Operation) -> tuple[str | None, bool]:
        """Return the same for the regions of a loop or branch."""
        is_heavy = False
        for region in operation.regions:
            for inner in region.blocks:
                reason, inside = self._block(inner, True)
                if reason:
                    return reason, True
                is_heavy = is_heavy or inside
        return None, is_heavy

    def _form(
        self, primitives: list[Primitive], operation: ir.Operation, is_inner: bool
    ) -> str | None:
        """Return the operation, or the function that is called, if it has a faster form."""
        name = str(operation.name)
        try:
            view = StableHloOperation(operation, self.raising)
            fast = [p.name for p in primitives if p.is_faster_lowered(view, is_inner)]
        except (UnraisableError, OlympusError):  # it has a type or an attribute of another kind
            return None
        return None if not fast else fast[0] if name == "func.call" else name

    def _elements_copied_for(self, operation: ir.Operation) -> int:
        try:
            return elements_copied_for(StableHloOperation(operation, self.raising))
        except (UnraisableError, OlympusError):
            return 0

    def _repeats(self, block: ir.Block, kinds: Counter[Any], count: int) -> str | None:
        """Return the reason if equal operations of a block are so many layers of a derivative."""
        least = self.least.occurrences
        often = [n for n in kinds.values() if n >= least]
        if not self.blocks or not often or count < self.least.equations * min(often):
            return None
        if _saved_values(block, count // min(often)) < min(often):
            return None
        return BLOCKS if self._are_layers(block, kinds) else None

    def _are_layers(self, block: ir.Block, kinds: Counter[Any]) -> bool:
        """Return True if enough equal products have equal operations around them.

        An occurrence of a block with a product contains one of the windows that are compared. A
        block with a loop or a call may have no product, and is not searched.
        """
        least = self.least.occurrences
        often = {kind for kind, n in kinds.items() if n >= least}
        if any(kind[0] not in _PRODUCTS for kind in often):
            return True
        labels: list[Any] = [None] * _WINDOW
        places: dict[Any, list[int]] = {}
        for view in block.operations:
            operation = view.operation
            name = operation.name
            if name == "stablehlo.constant":
                continue  # it is before the first layer that reads it
            if name in _PRODUCTS and (kind := _kind(operation)) in often:
                places.setdefault(kind, []).append(len(labels))
            label = name, tuple([x.type for x in operation.results])
            labels += [label] * min(self._size(operation), _WINDOW)
        labels += [None] * _WINDOW
        for before in range(0, _WINDOW + 1, _STEP):
            for equal in places.values():
                starts = [place - before for place in equal]
                windows = Counter(tuple(labels[n : n + _WINDOW + 1]) for n in starts)
                if max(windows.values()) >= least:
                    return True
        return False

    def _size(self, operation: ir.Operation) -> int:
        """Return the number of operations of a call or loop, or 1."""
        regions = operation.regions
        if operation.name == "func.call":
            callee = self.raising.functions.get(operation.attributes["callee"].value)
            regions = callee.regions if callee is not None else ()
        elif operation.name in _WITH_COMBINERS:
            return 1
        return 1 + sum(
            self._size(view.operation)
            for region in regions
            for inner in region.blocks
            for view in inner.operations
        )


#: operations whose region combines two elements
_WITH_COMBINERS = frozenset(
    f"stablehlo.{name}"
    for name in ("all_reduce", "reduce", "reduce_window", "scatter", "select_and_scatter", "sort")
)


@functools.cache
def _primitives_with_forms() -> dict[str, list[Primitive]]:
    """Return the primitives that may lower an operation to a faster form, by its name."""
    table: dict[str, list[Primitive]] = {}
    for primitive in op.every():
        if type(primitive).is_faster_lowered is not Primitive.is_faster_lowered:
            for name in primitive.raised_from:
                table.setdefault(name, []).append(primitive)
    return table


def _kind(operation: ir.Operation) -> Any:
    """Return a key that is equal for operations with equal types and dimensions."""
    types = tuple([x.type for x in operation.operands])
    if operation.name == "stablehlo.dot_general":
        return operation.name, types, operation.attributes["dot_dimension_numbers"]
    return operation.name, types, tuple([x.type for x in operation.results])


def _saved_values(block: ir.Block, distance: int) -> int:
    """Return the number of computed values that are used more than `distance` operations later."""
    places: dict[Any, int] = {}
    saved: set[Any] = set()
    for place, view in enumerate(block.operations):
        operation = view.operation
        for x in operation.operands:
            if place - places.get(x, place) > distance:
                saved.add(x)
        if operation.name not in _CONSTANTS:
            for result in operation.results:
                places[result] = place
    return len(saved)
