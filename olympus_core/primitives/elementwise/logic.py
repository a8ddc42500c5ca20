"""Comparisons, bit operations and predicates; their results are bools or integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.mlir import bindings as mlir
from olympus_core.primitives.elementwise.base import (
    BOOL,
    Elementwise,
)

if TYPE_CHECKING:
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Compare(Elementwise):
    """A comparison with a bool result; `direction` is the attribute of StableHLO."""

    def __init__(self, name: str, direction: str, kinds: str = "buifc") -> None:
        super().__init__(name, "stablehlo.compare", kinds, result=lambda _: BOOL, is_cheap=True)
        self.is_equality = direction in ("EQ", "NE")
        self.direction = direction

    def attributes(self, aval: ShapedArray) -> dict[str, Any]:
        kind = dtypes.kind(aval.dtype)
        compare_type = "FLOAT" if kind in "fc" else "SIGNED" if kind == "i" else "UNSIGNED"
        return {
            "comparison_direction": mlir.parsed_attr(
                f"#stablehlo<comparison_direction {self.direction}>"
            ),
            "compare_type": mlir.parsed_attr(f"#stablehlo<comparison_type {compare_type}>"),
        }

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        own = self.attributes(operation.avals_in[0])
        kind = operation.attribute("compare_type")
        is_own = operation.attribute("comparison_direction") == own["comparison_direction"]
        is_own = is_own and (kind is None or kind == own["compare_type"])
        return self.bind(*operands) if is_own else None


def emit_compare(compare: Compare, aval: ShapedArray, x: Any, y: Any) -> Any:
    """Emit a comparison of two values of one aval."""
    attributes = compare.attributes(aval)
    return mlir.op1("stablehlo.compare", shaped(aval.shape, BOOL), (x, y), attributes)


def emit_extremum(op: str, aval: ShapedArray, x: Any, y: Any) -> Any:
    """Emit stablehlo.maximum or minimum; complex values compare in lexicographic order."""
    if dtypes.kind(aval.dtype) != "c":
        return mlir.op1(op, aval, (x, y))
    compare = gt_p if op == "stablehlo.maximum" else lt_p
    part = aval.update(dtype=dtypes.to_real(aval.dtype))
    parts = [mlir.op1(f"stablehlo.{p}", part, (v,)) for p in ("real", "imag") for v in (x, y)]
    real, imag = (emit_compare(compare, part, *parts[i : i + 2]) for i in (0, 2))
    tie = emit_compare(eq_p, part, *parts[:2])
    first = mlir.op1("stablehlo.select", shaped(aval.shape, BOOL), (tie, imag, real))
    return mlir.op1("stablehlo.select", aval, (first, x, y))


is_finite_p = Elementwise(
    "is_finite", "stablehlo.is_finite", "f", result=lambda _: BOOL, is_cheap=True
)
not_p = Elementwise("not", "stablehlo.not", "bui", is_cheap=True)
population_count_p = Elementwise("population_count", "stablehlo.popcnt", "ui")
clz_p = Elementwise("clz", "stablehlo.count_leading_zeros", "ui")
and_p = Elementwise("and", "stablehlo.and", "bui", is_cheap=True)
or_p = Elementwise("or", "stablehlo.or", "bui", is_cheap=True)
xor_p = Elementwise("xor", "stablehlo.xor", "bui", is_cheap=True)
shift_left_p = Elementwise("shift_left", "stablehlo.shift_left", "ui", is_cheap=True)
shift_right_arithmetic_p = Elementwise(
    "shift_right_arithmetic", "stablehlo.shift_right_arithmetic", "ui", is_cheap=True
)
shift_right_logical_p = Elementwise(
    "shift_right_logical", "stablehlo.shift_right_logical", "ui", is_cheap=True
)
eq_p = Compare("eq", "EQ")
ne_p = Compare("ne", "NE")
lt_p = Compare("lt", "LT", "buif")
le_p = Compare("le", "LE", "buif")
gt_p = Compare("gt", "GT", "buif")
ge_p = Compare("ge", "GE", "buif")
