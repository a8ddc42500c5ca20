"""The scalar types and dtype categories: `float32`, `floating` and the others.

A scalar type such as `float32` is accepted as a dtype everywhere, and creates an array of that
dtype when called.
"""

from __future__ import annotations

import builtins
from typing import Any

import ml_dtypes
import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.dtypes import DType
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import NestedArrayLike
from olympus_core.library.numpy.creation.array import asarray


class ScalarType(type):
    """The class of dtypes that create arrays: `float32(x)` is `asarray(x, dtype=float32)`."""

    dtype: DType

    def __new__(cls, name: str, bases: Any = (), namespace: Any = None) -> Any:
        if namespace is not None:  # of a class that is derived from a scalar type
            return type(name, tuple([getattr(b, "dtype", b).type for b in bases]), namespace)
        dtype = np.dtype(getattr(ml_dtypes, name, name))
        text = dtypes.long_name(dtype)
        return super().__new__(cls, text, (), {"dtype": dtype, "__module__": "olympus.numpy"})

    def __init__(self, *_: Any) -> None:
        pass

    def __call__(self, x: NestedArrayLike = 0) -> Array:
        return asarray(x, dtype=self.dtype)

    def __eq__(self, other: object) -> builtins.bool:
        if isinstance(other, ScalarType):
            return self.dtype == other.dtype
        return other is self.dtype.type or (isinstance(other, np.dtype) and other == self.dtype)

    def __hash__(self) -> int:
        return hash(self.dtype.type)

    def __instancecheck__(self, instance: object) -> builtins.bool:
        return isinstance(instance, self.dtype.type)


bool_ = ScalarType("bool")


int4, int8, int16, int32, int64 = map(ScalarType, ["int4", "int8", "int16", "int32", "int64"])


int2, uint2 = ScalarType("int2"), ScalarType("uint2")


uint4, uint8, uint16, uint32, uint64 = map(
    ScalarType, ["uint4", "uint8", "uint16", "uint32", "uint64"]
)


bfloat16, float16, float32, float64 = map(ScalarType, ["bfloat16", "float16", "float32", "float64"])


complex64, complex128 = ScalarType("complex64"), ScalarType("complex128")


float4_e2m1fn = ScalarType("float4_e2m1fn")


float6_e2m3fn = ScalarType("float6_e2m3fn")


float6_e3m2fn = ScalarType("float6_e3m2fn")


float8_e3m4 = ScalarType("float8_e3m4")


float8_e4m3 = ScalarType("float8_e4m3")


float8_e4m3b11fnuz = ScalarType("float8_e4m3b11fnuz")


float8_e4m3fn = ScalarType("float8_e4m3fn")


float8_e4m3fnuz = ScalarType("float8_e4m3fnuz")


float8_e5m2 = ScalarType("float8_e5m2")


float8_e5m2fnuz = ScalarType("float8_e5m2fnuz")


float8_e8m0fnu = ScalarType("float8_e8m0fnu")


int_, uint, float_, complex_ = int64, uint64, float64, complex128


single, double, csingle, cdouble = float32, float64, complex64, complex128


bool = bool_


number, integer, inexact = np.number, np.integer, np.inexact


signedinteger, unsignedinteger = np.signedinteger, np.unsignedinteger


floating, complexfloating, generic = np.floating, np.complexfloating, np.generic


character, flexible, object_ = np.character, np.flexible, np.object_


ComplexWarning = np.exceptions.ComplexWarning
