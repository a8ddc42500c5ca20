"""The precisions in which a contraction may be computed.

The module converts the names and values of users to the parameter `precision` of `dot_general` and
`conv_general_dilated`, and the parameter to attributes of StableHLO.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.context import state, switched
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.ir.typing import DTypeLike
    from olympus_core.library.lax.dot import PrecisionLike
    from olympus_core.mlir.bindings import ir
    from olympus_core.raising.stablehlo_operation import StableHloOperation


class Precision(enum.Enum):
    """The precision of float32 products on a target: `DEFAULT` is the fastest, `HIGHEST` full."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


class AccuracyMode(enum.Enum):
    """The accuracy of transcendental functions: the platform's default, or its best."""

    HIGHEST = 1
    DEFAULT = 2

    def attribute(self) -> ir.Attribute:
        """Return the attribute `result_accuracy`."""
        return _accuracy_attribute(0.0, 0.0, 0, self.name)


@dataclasses.dataclass(frozen=True)
class AccuracyTolerance:
    """The accuracy that a transcendental function needs: absolute and relative, or in ulps.

    Raises ArgumentError for a negative tolerance, and without any.

    >>> lax.Tolerance(atol=1e-3, ulps=2).ulps
    2
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        tolerances = self.atol, self.rtol, self.ulps
        if min(tolerances) < 0:
            raise ArgumentError(
                f"tolerances must be non-negative, and are {self.atol}, {self.rtol} and {self.ulps}"
            )
        if not any(tolerances):
            raise ArgumentError("at least one of atol, rtol, or ulps must be set")

    def attribute(self) -> ir.Attribute:
        """Return the attribute `result_accuracy`."""
        return _accuracy_attribute(self.atol, self.rtol, self.ulps, "TOLERANCE")


#: the parameter `accuracy` of a transcendental primitive
Accuracy = AccuracyMode | AccuracyTolerance


def _accuracy_attribute(atol: float, rtol: float, ulps: int, mode: str) -> ir.Attribute:
    attribute: ir.Attribute = mlir.hlo.ResultAccuracyAttr.get(atol, rtol, ulps, mode)
    return attribute


def checked_accuracy(name: str, accuracy: object) -> Accuracy:
    """Return the accuracy; raise ArgumentError if it is neither a mode nor a tolerance."""
    if isinstance(accuracy, AccuracyMode | AccuracyTolerance):
        return accuracy
    raise ArgumentError(
        f"{name} takes an AccuracyMode or a Tolerance as its accuracy, and got {accuracy!r:.80}"
    )


def read_accuracy(operation: StableHloOperation) -> Accuracy | None:
    """Return the accuracy that an operation states; None for the default."""
    attribute = operation.attribute("result_accuracy")
    if attribute is None:
        return None
    stated = mlir.hlo.ResultAccuracyAttr(attribute)
    mode = re.sub(r".*<|>.*", "", str(stated.mode))
    if mode == "TOLERANCE":
        return AccuracyTolerance(stated.atol, stated.rtol, stated.ulps)
    return AccuracyMode.HIGHEST if mode == "HIGHEST" else None


_NAMES: dict[object, Precision] = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


class DotAlgorithm(NamedTuple):
    """A complete algorithm: dtypes that operands are rounded to, dtype of sums, and passes.

    The operands are split into `component_count` parts of their dtype, and
    `num_primitive_operations` products of parts are summed.
    """

    lhs_precision_type: DTypeLike
    rhs_precision_type: DTypeLike
    accumulation_type: DTypeLike
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False

    def storage(self, operand: DType, which: int) -> DType:
        """Return the dtype that operand 0 or 1, of dtype `operand`, is first converted to."""
        return dtypes.dtype(self[which])

    def total(self, out: DType) -> DType:
        """Return the dtype of the operation's result, before the conversion to `out`."""
        return dtypes.dtype(self.accumulation_type)

    def attribute(self, lhs: DType, rhs: DType) -> ir.Attribute:
        """Return the attribute for operands of these dtypes."""
        types = [str(mlir.element_type(dtypes.dtype(t))) for t in self[:3]]
        return _attribute(types, self[3:6], self.allow_imprecise_accumulation)


class _Row(NamedTuple):
    """A preset: MLIR's type of an operand, its storage dtypes, the dtype of the sum, and passes."""

    rounded: str
    storage: tuple[str, ...]
    total: str
    passes: int = 1


_ROWS = {
    "F16_F16_F16": _Row("f16", ("float16",), "float16"),
    "F16_F16_F32": _Row("f16", ("float16",), "float32"),
    "BF16_BF16_BF16": _Row("bf16", ("bfloat16", "float32"), "bfloat16"),
    "BF16_BF16_F32": _Row("bf16", ("bfloat16", "float32"), "float32"),
    "BF16_BF16_F32_X3": _Row("bf16", ("float32",), "float32", 3),
    "BF16_BF16_F32_X6": _Row("bf16", ("float32",), "float32", 6),
    "BF16_BF16_F32_X9": _Row("bf16", ("float32",), "float32", 9),
    "TF32_TF32_F32": _Row("tf32", ("float32",), "float32"),
    "TF32_TF32_F32_X3": _Row("tf32", ("float32",), "float32", 3),
    "F32_F32_F32": _Row("f32", ("float32",), "float32"),
    "F64_F64_F64": _Row("f64", ("float64",), "float64"),
}


class DotAlgorithmPreset(enum.Enum):
    """The algorithms of targets: the dtype of each operand, of the sum, and passes.

    `F8` presets take float8 operands unchanged; sums of an `ANY` preset have the result's dtype.
    """

    DEFAULT = 0
    ANY_F8_ANY_F8_F32 = 1
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 2
    ANY_F8_ANY_F8_ANY = 3
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 4
    F16_F16_F16 = 5
    F16_F16_F32 = 6
    BF16_BF16_BF16 = 7
    BF16_BF16_F32 = 8
    BF16_BF16_F32_X3 = 9
    BF16_BF16_F32_X6 = 10
    BF16_BF16_F32_X9 = 11
    TF32_TF32_F32 = 12
    TF32_TF32_F32_X3 = 13
    F32_F32_F32 = 14
    F64_F64_F64 = 15

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def storage(self, operand: DType, which: int) -> DType:
        """Return the dtype that an operand of dtype `operand` is first converted to."""
        row = _ROWS.get(self.name)
        if row is None or dtypes.long_name(operand) in row.storage:
            return operand
        return dtypes.dtype(row.storage[0])

    def total(self, out: DType) -> DType:
        """Return the dtype of the operation's result, before the conversion to `out`."""
        row = _ROWS.get(self.name)
        if row is not None:
            return dtypes.dtype(row.total)
        return np.dtype("float32") if "F8_F32" in self.name else out

    def attribute(self, lhs: DType, rhs: DType) -> ir.Attribute | None:
        """Return the attribute for operands of these dtypes; None leaves the choice to the target.

        Raise DTypeError for a float8 preset with other operands.
        """
        row = _ROWS.get(self.name)
        if row is not None:
            total = str(mlir.element_type(dtypes.dtype(row.total)))
            return _attribute([row.rounded, row.rounded, total], (1, 1, row.passes), False)
        if self is DotAlgorithmPreset.DEFAULT:
            return None
        for dt in (lhs, rhs):
            if not dtypes.long_name(dt).startswith("float8"):
                raise DTypeError(
                    f"the dot algorithm {self.name} takes float8 operands, "
                    f"and got {dtypes.long_name(lhs)} and {dtypes.long_name(rhs)}"
                )
        types = [str(mlir.element_type(dt)) for dt in (lhs, rhs)]
        return _attribute([*types, "f32"], (1, 1, 1), "FAST" in self.name)


_PRECISION = re.compile(r"precision (\w+)")
#: the values of a contraction's parameter `precision`
Params = None | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset


def default_precision() -> Params:
    """Return the precision of contractions without an explicit one."""
    precision: Params = state.default_matmul_precision
    return precision


def default_matmul_precision(
    precision: PrecisionLike,
) -> contextlib.AbstractContextManager[None]:
    """Within the context, compute contractions without an explicit precision in this one.

    `precision` is a value that `parsed_precision` accepts; None leaves the choice to the target.

    >>> with default_matmul_precision("float32"):
    ...     y = ones((2, 3)) @ ones((3, 4))
    """
    return switched("default_matmul_precision", parsed_precision(precision))


def canonical_precision(precision: Any) -> Params:
    """Return the parameter for a user's precision; for None the default of the context."""
    return default_precision() if precision is None else parsed_precision(precision)


def parsed_precision(precision: Any) -> Params:
    """Return the parameter for None, a Precision, its name, a pair, or an algorithm.

    Raise ArgumentError (a ValueError) for anything else.
    """
    if precision is None:
        return None
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    pair = tuple(precision) if isinstance(precision, (tuple, list)) else (precision, precision)
    try:
        lhs, rhs = (p if isinstance(p, Precision) else _NAMES[p] for p in pair)
    except (KeyError, TypeError, ValueError):
        raise ArgumentError(
            f"Precision argument must be one of: a Precision, {', '.join(map(repr, _NAMES))}, a "
            "pair of these, a DotAlgorithm, a DotAlgorithmPreset or its name; but got "
            f"{precision!r}"
        ) from None
    return lhs, rhs


def _attribute(types: Sequence[str], counts: Sequence[int], imprecise: bool) -> ir.Attribute:
    """Return the attribute: types of lhs, rhs and sum; numbers of components and of passes."""
    return mlir.parsed_attr(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {types[0]}, "
        f"rhs_precision_type = {types[1]}, accumulation_type = {types[2]}, "
        f"lhs_component_count = {counts[0]}, rhs_component_count = {counts[1]}, "
        f"num_primitive_operations = {counts[2]}, "
        f"allow_imprecise_accumulation = {str(imprecise).lower()}>"
    )


def precision_config(precision: Params) -> ir.Attribute:
    """Return the attribute `precision_config`; with an algorithm it is the default."""
    lhs = rhs = Precision.DEFAULT
    if precision is not None and not isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        lhs, rhs = precision
    return mlir.parsed_attr(f"[#stablehlo<precision {lhs}>, #stablehlo<precision {rhs}>]")


def raised_precision(operation: StableHloOperation, operand: DType, out: DType) -> Params:
    """Return the parameter whose attributes an operation on operands of one dtype has.

    Raise ArgumentError if it has an algorithm that is not a preset.
    """
    algorithm, names = operation.attribute("algorithm"), operation.attribute("precision_config")
    if algorithm is not None:
        for preset in DotAlgorithmPreset:
            if preset.name in _ROWS and (
                preset.attribute(operand, operand) == algorithm
                and preset.storage(operand, 0) == operand
                and preset.total(out) == out
            ):
                return preset
        raise ArgumentError(f"{algorithm} is not one of the presets")
    pair = [Precision[_PRECISION.findall(str(x))[0]] for x in names or ()]
    return None if set(pair) <= {Precision.DEFAULT} else (pair[0], pair[1])
