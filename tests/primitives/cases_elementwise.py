"""Rows of the elementwise primitives."""

from __future__ import annotations

from typing import Any

import jax

import olympus
from tests.primitives.case import Arg, Case, arg

FLOATS = ("float32", "bfloat16", "float16")
COMPLEX = ("float32", "complex64")
INTS = ("int32", "uint8")
NUMBERS = ("float32", "int32", "uint8", "complex64")


def unary(name: str, *dtypes: str, low: float = -2.0, high: float = 2.0, **more: object) -> Case:
    """A row of a function of one operand."""
    x = Arg((3, 4), low, high)
    return Case(name, lambda lax, x: getattr(lax, name)(x), (x,), dtypes or FLOATS, **more)


def binary(
    name: str, *dtypes: str, primitive: str = "", low: float = -2.0, high: float = 2.0
) -> Case:
    """A row of a function of two operands."""
    x = Arg((3, 4), low, high)
    return Case(
        primitive or name, lambda lax, x, y: getattr(lax, name)(x, y), (x, x), dtypes or FLOATS
    )


def relu(lax: Any, x: Any) -> Any:
    """`nn.relu` of the library that has this `lax`."""
    return jax.nn.relu(x) if lax is jax.lax else olympus.nn.relu(x)


def add_any(lax: Any, x: Any, y: Any) -> Any:
    """The sum of two cotangents, by the library that has this `lax`."""
    return (jax if lax is jax.lax else olympus).interpreters.ad.add_jaxvals_p.bind(x, y)


#: a function of each class of primitives that take an accuracy
ACCURATE = ("exp", "exp2", "rsqrt")


def in_accuracy(name: str) -> Case:
    """A row of a function in an accuracy that the call states."""

    def call(lax: Any, x: Any) -> Any:
        best = getattr(lax, name)(x, accuracy=lax.AccuracyMode.HIGHEST)
        return best + getattr(lax, name)(x, accuracy=lax.Tolerance(rtol=1e-5, ulps=2))

    return Case(name, call, (Arg((3, 4), 0.5, 1.0),), ("float32",), label="accuracy")


CASES: list[Case] = [
    unary("neg", *NUMBERS),
    unary("sign", *NUMBERS),
    unary("floor"),
    unary("ceil"),
    Case("round", lambda lax, x: lax.round(x), (arg(3, 4),), FLOATS),
    Case(
        "round",
        lambda lax, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
        (arg(3, 4),),
        FLOATS,
        label="even",
    ),
    unary("is_finite"),
    unary("exp", *COMPLEX, "bfloat16"),
    unary("exp2", "float32", "bfloat16"),
    *[in_accuracy(name) for name in ACCURATE],
    unary("expm1", *COMPLEX),
    unary("log", *COMPLEX, low=0.1),
    unary("log1p", *COMPLEX, low=-0.9),
    unary("sin", *COMPLEX),
    unary("cos", *COMPLEX),
    unary("tan", *COMPLEX, low=-1.0, high=1.0),
    unary("asin", *COMPLEX, low=-0.9, high=0.9),
    unary("acos", *COMPLEX, low=-0.9, high=0.9),
    unary("atan", *COMPLEX),
    unary("sinh", *COMPLEX),
    unary("cosh", *COMPLEX),
    unary("tanh", *COMPLEX),
    unary("asinh", *COMPLEX),
    unary("acosh", *COMPLEX, low=1.1, high=3.0),
    unary("atanh", *COMPLEX, low=-0.9, high=0.9),
    unary("logistic", *COMPLEX),
    unary("sqrt", *COMPLEX, low=0.1),
    unary("rsqrt", *COMPLEX, low=0.1),
    unary("cbrt", "float32", low=0.1),
    unary("abs", "float32", "int32", "complex64"),
    Case("not", lambda lax, x: lax.bitwise_not(x), (arg(3, 4),), ("bool", *INTS)),
    Case("real", lambda lax, x: lax.real(x), (arg(3, 4),), ("complex64",)),
    Case("imag", lambda lax, x: lax.imag(x), (arg(3, 4),), ("complex64",)),
    unary("conj", "complex64", "float32"),
    unary("population_count", *INTS, high=100),
    unary("clz", *INTS, high=100),
    unary("erf"),
    unary("erfc"),
    unary("erf_inv", "float32", low=-0.9, high=0.9),
    unary("lgamma", "float32", low=0.1, high=5.0, atol=1e-5),  # it is 0 at 1 and at 2
    Case("bessel_i1e", lambda lax, x: lax.bessel_i1e_p.bind(x), (arg(3, 4),), differentiable=()),
    unary("digamma", "float32", low=0.1, high=5.0, atol=1e-5),
    *(
        Case(
            "integer_pow",
            lambda lax, x, y=y: lax.integer_pow(x, y),
            (arg(3, 4, low=0.5),),
            ("float32", "complex64"),
            label=str(y),
        )
        for y in (-3, 0, 2, 7)
    ),
    Case(
        "reduce_precision",
        lambda lax, x: lax.reduce_precision(x, exponent_bits=5, mantissa_bits=3),
        (arg(3, 4),),
        differentiable=(),  # tangents are rounded as well, here to a digit
    ),
    Case(
        "reduce_precision",
        lambda lax, x: lax.reduce_precision(x, exponent_bits=6, mantissa_bits=16),
        (arg(3, 4),),
        label="fine",
        doubles=False,
    ),
    unary("stop_gradient", *NUMBERS, doubles=False),  # it denies its derivative
    Case(
        "relu",
        lambda lax, x: relu(lax, x),
        (arg(3, 4),),
        ("float32", "int32", "bfloat16"),
    ),
    unary("square", *NUMBERS),
    binary("add", *NUMBERS),
    Case(
        "add_any",
        lambda lax, x, y: add_any(lax, x, y),
        (arg(3, 4), arg(3, 4)),
        NUMBERS,
    ),
    binary("sub", *NUMBERS),
    binary("mul", *NUMBERS),
    binary("div", *NUMBERS, low=1.0, high=3.0),
    binary("rem", "float32", "int32", low=1.0, high=9.0),
    binary("max", "float32", "int32", "bool"),
    binary("min", "float32", "int32", "bool"),
    binary("pow", *COMPLEX, low=0.5),
    Case(
        "pow",
        lambda lax, x, y: lax.pow(x, y),
        (arg(3, 4), arg(3, 4, low=0, high=3, dtype="int32")),
        ("float32",),
        label="int_exponent",
    ),
    binary("atan2", "float32"),
    Case(
        "nextafter",
        lambda lax, x, y: lax.nextafter(x, y),
        (arg(3, 4), arg(3, 4)),
        differentiable=(),  # nor has it one in the oracle
    ),
    binary("complex", "float32"),
    binary("bitwise_and", "bool", *INTS, primitive="and"),
    binary("bitwise_or", "bool", *INTS, primitive="or"),
    binary("bitwise_xor", "bool", *INTS, primitive="xor"),
    binary("shift_left", *INTS, low=0, high=5),
    binary("shift_right_arithmetic", "int32", low=0, high=5),
    binary("shift_right_logical", *INTS, low=0, high=5),
    *(binary(name, *NUMBERS, "bool") for name in ("eq", "ne")),
    *(binary(name, "float32", "int32", "uint8", "bool") for name in ("lt", "le", "gt", "ge")),
    Case(
        "add",
        lambda lax, x: lax.add(x, x.dtype.type(2)),
        (arg(3, 4),),
        label="scalar",
    ),
    Case(
        "select_n",
        lambda lax, w, x, y: lax.select_n(w, x, y),
        (arg(3, 4, dtype="bool"), arg(3, 4), arg(3, 4)),
        NUMBERS,
    ),
    Case(
        "select_n",
        lambda lax, w, x, y, z: lax.select_n(w, x, y, z),
        (arg(3, 4, low=0, high=2, dtype="int32"), arg(3, 4), arg(3, 4), arg(3, 4)),
        label="three",
    ),
    Case(
        "select_n",
        lambda lax, w, x, y, z: lax.select_n(w, x, y, z),
        (arg(3, 4, low=0, high=2, dtype="uint8"), arg(3, 4), arg(3, 4), arg(3, 4)),
        label="narrow",
    ),
    Case(
        "select_n",
        lambda lax, w, x, y: lax.select(w, x, y),
        (arg(dtype="bool"), arg(3, 4), arg(3, 4)),
        label="scalar_predicate",
    ),
    Case(
        "clamp",
        lambda lax, a, x, b: lax.clamp(a, x, b),
        (arg(low=-1, high=-1), arg(3, 4), arg(low=1, high=1)),
        ("float32", "int32"),
        differentiable=(1,),  # in scalar bounds the oracle fails
    ),
    Case(
        "clamp",
        lambda lax, a, x, b: lax.clamp(a, x, b),
        (arg(3, 4, low=-1, high=-0.5), arg(3, 4), arg(3, 4, low=0.5, high=1)),
        ("float32", "int32"),
        "bounds",
    ),
    *(
        Case(
            "convert_element_type",
            lambda lax, x, to=to: lax.convert_element_type(x, to),
            (arg(3, 4),),
            ("float32", "int32", "bool", "bfloat16"),
            label=to,
            doubles=to not in ("float32", "complex64"),
        )
        for to in ("float32", "int32", "bool", "complex64", "uint8")
    ),
    *(
        Case(
            "bitcast_convert_type",
            lambda lax, x, to=to: lax.bitcast_convert_type(x, to),
            (arg(3, 2),),
            dtypes,
            label=to,
        )
        for to, dtypes in (
            ("int32", ("float32",)),
            ("uint8", ("float32", "int32")),
            ("uint32", ("uint16",)),
        )
    ),
]
