"""The view of an operation that a primitive's `raised` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.lowering.attributes import FRONTEND_ATTRIBUTES, is_marked_only
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.sharding import NamedSharding
from olympus_core.raising.expressions import (
    Expressions,
    emitted_region,
    operation_on_arguments,
)

if TYPE_CHECKING:
    from olympus_core.lowering.module_state import Manual
    from olympus_core.mlir.bindings import ir
    from olympus_core.placement.mesh import AbstractMesh
    from olympus_core.primitives.host_function import FlatFunction
    from olympus_core.raising.raising import Raising

#: values of attributes that change nothing, by name: the default accuracy of a function
_DEFAULTS = {
    "result_accuracy": "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>"
}


#: attributes with the layout that an operation had in HLO; the compiler chooses layouts again
_LAYOUTS = frozenset(["result_layout", "xla_shape"])


class StableHloOperation:
    """An operation of StableHLO, with the attributes that a rule has read.

    The raising of an operation is only valid if its rule reads all attributes.
    """

    __slots__ = ("_raising", "_read", "avals_in", "avals_out", "name", "operation")

    def __init__(self, operation: ir.Operation, raising: Raising) -> None:
        self.operation = operation
        self.name = str(operation.name)
        self._raising = raising
        self._read: set[str] = set()
        self.avals_in = tuple([raising.aval(x) for x in operation.operands])
        self.avals_out = tuple([raising.aval(x) for x in operation.results])

    @property
    def aval_out(self) -> ShapedArray:
        """The type of the only result."""
        return self.avals_out[0]

    def forget_reads(self) -> None:
        """Forget which attributes were read, before another rule."""
        self._read.clear()

    def unread(self) -> list[str]:
        """Return the names of the attributes that no rule has read, except defaults."""
        attributes = self.operation.attributes
        names = [x for x in attributes if x not in self._read and x not in _LAYOUTS]
        if FRONTEND_ATTRIBUTES in names and is_marked_only(self.operation):
            names.remove(FRONTEND_ATTRIBUTES)  # lowering writes the mark again
        return [x for x in names if x not in _DEFAULTS or str(attributes[x]) != _DEFAULTS[x]]

    def attribute(self, name: str) -> Any:
        """Return an attribute; None if the operation lacks it."""
        self._read.add(name)
        return self.operation.attributes.get(name)

    def elements(self) -> np.ndarray[Any, Any] | None:
        """Return the elements of a constant; a splat has strides of 0.  None if they are absent."""
        self._read.add("value")
        return mlir.constant_elements(self.operation, self.aval_out)

    def ints(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """Return an array of ints, or `default`."""
        attribute = self.attribute(name)
        if attribute is None:
            return tuple(default)
        return tuple([int(x) for x in attribute])

    def integer(self, name: str, default: int = 0) -> int:
        """Return an int, or `default`."""
        attribute = self.attribute(name)
        return default if attribute is None else int(attribute.value)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a bool, or `default`."""
        attribute = self.attribute(name)
        return default if attribute is None else bool(attribute.value)

    def text(self, name: str) -> str:
        """Return the text of an attribute as MLIR writes it; empty without the attribute."""
        attribute = self.attribute(name)
        return "" if attribute is None else str(attribute)

    def pairs(self, name: str, count: int) -> tuple[tuple[int, int], ...]:
        """Return `count` pairs of ints; zeros without the attribute."""
        values = self.ints(name, (0,) * (2 * count))
        return tuple(zip(values[::2], values[1::2], strict=True))

    def has_uses(self, result: int) -> bool:
        """Return True if another operation uses this result."""
        return next(iter(self.operation.results[result].uses), None) is not None

    def counts_along(self, operand: int, axis: int) -> bool:
        """Return True if an operand is an `iota` along an axis."""
        owner = self.operation.operands[operand].owner
        if isinstance(owner, mlir.ir.Block) or owner.name != "stablehlo.iota":
            return False
        return int(owner.attributes["iota_dimension"].value) == axis

    def host_function(self, index: int) -> FlatFunction | None:
        """Return the Python function of an index; None if the functions are not known."""
        functions = self._raising.host_functions
        return functions[index] if 0 <= index < len(functions) else None

    @property
    def is_ordered(self) -> bool:
        """True if it takes a token first: its effects are ordered."""
        operands = self.operation.operands
        return len(operands) > 0 and mlir.is_token(operands[0].type)

    @property
    def num_devices(self) -> int:
        """The number of devices of the module's meshes."""
        return max(self._raising.meshes.sizes(), default=1)

    @property
    def combiner(self) -> str | None:
        """The name of the operation that its region applies to the arguments, or None."""
        return self.combiner_of(0)

    def combiner_of(self, region: int) -> str | None:
        """Return the name of the operation that a region applies to the arguments, or None."""
        return operation_on_arguments(self.operation.regions[region])

    def region_equals(self, scalars: Sequence[ShapedArray], emit: Callable[..., Any]) -> bool:
        """Return True if its region computes what `emit` emits for arguments of these types."""
        expressions = Expressions()
        mine = expressions.results(self.operation.regions[0])
        if mine is None:
            return False
        holder = emitted_region(scalars, emit)
        return mine == expressions.results(holder.regions[0])

    def program(self, region: int = 0) -> tuple[list[Any], Olympuspr]:
        """Return the program of a region, and the outer values that are its leading operands."""
        return self._raising.region(self.operation.regions[region])

    def closed_program(self) -> Olympuspr | None:
        """Return the program of its region; None if it reads values from outside."""
        captured, program = self.program()
        return None if captured else program

    def branches(self) -> tuple[list[Any], tuple[Olympuspr, ...]]:
        """Return the programs of its regions, which have the same outer values as operands."""
        return self._raising.branches(self.operation.regions)

    def sharding(self, name: str) -> NamedSharding | None:
        """Return a sharding; None for the whole array on one device."""
        return self._raising.meshes.named(self.attribute(name))

    def manual_computation(self) -> dict[str, Any] | None:
        """Return the parameters of a `shard_map`, or None if it has no arrays."""
        names = self._raising.meshes.names(self.attribute("manual_axes"))
        meshes = self._raising.meshes
        mesh, ins = meshes.manual(self.attribute("in_shardings"), names)
        other, outs = meshes.manual(self.attribute("out_shardings"), names)
        mesh = mesh or other
        if mesh is None:
            return None
        return {
            "olympuspr": self._raising.manual_region(self.operation.regions[0], mesh, names),
            "mesh": mesh,
            "in_specs": tuple(ins),
            "out_specs": tuple(outs),
            "manual_axes": tuple([n for n in mesh.axis_names if n in names]),
            "check_vma": False,
        }

    @property
    def manual(self) -> Manual | None:
        """The axes of a mesh that are manual here; None outside of a manual computation."""
        return self._raising.manual

    def axis_size(self, name: str) -> int:
        """Return the size of an axis of the mesh around a manual computation."""
        manual = self._raising.manual
        return 1 if manual is None else int(manual.mesh.shape[name])

    def mesh(self, symbol: str) -> AbstractMesh:
        """Return a mesh that the module declares."""
        return self._raising.meshes.mesh(symbol)

    def producer(self, operand: int) -> StableHloOperation | None:
        """Return the operation that computes an operand; None for an argument of a block.

        A manual computation without operands, such as of the number of a device, is looked through.
        """
        value = self.operation.operands[operand]
        while not isinstance(owner := value.owner, mlir.ir.Block):
            if owner.name != "sdy.manual_computation" or len(owner.operands):
                return StableHloOperation(owner, self._raising)
            inner = owner.regions[0].blocks[0].operations
            value = inner[len(inner) - 1].operation.operands[value.result_number]
        return None

    def constant(self, operand: int) -> int | None:
        """Return the value of an operand that is a constant int, otherwise None."""
        producer = self.producer(operand)
        if producer is None or producer.name != "stablehlo.constant":
            return None
        value = producer.elements()
        return int(value.flat[0]) if value is not None and value.size == 1 else None

    def matrix(self, name: str) -> np.ndarray[Any, Any] | None:
        """Return a matrix of ints; None without the attribute, or for another form."""
        attribute = self.attribute(name)
        if not isinstance(attribute, mlir.ir.DenseIntElementsAttr):
            return None
        return np.array(attribute, dtype=np.int64)

    def callee(self, attribute: str) -> tuple[str, Olympuspr]:
        """Return the name of the function that a symbol refers to, and its program."""
        name = str(self.attribute(attribute).value)
        return name, self._raising.function(name)

    def fits(self, values: Any) -> bool:
        """Return True if values have the types of the results."""
        results = values if isinstance(values, (list, tuple)) else [values]
        return [mlir.tensor_type(x.aval) for x in results] == [
            mlir.tensor_type(a) for a in self.avals_out
        ]
