"""Hints for a traced array that is used as a Python value, by the expression that uses it.

The expression is found in the source of the user's frame.  Without it, the hint depends on the
conversion only: `float`, `int`, an index, a NumPy array.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math
from types import FrameType, ModuleType
from typing import Any

from olympus_core.base.lazy_modules import absences, api
from olympus_core.base.regular_files import source_line

_TAKES = "which takes traced arrays"
_RETURN = "return the array from the traced function, and convert the result"

#: The functions of Python's `math` that have another name or namespace, and their counterparts.
_RENAMED = {
    "comb": "olympus.scipy.special.comb",
    "dist": "olympus.numpy.linalg.norm",
    "erf": "olympus.scipy.special.erf",
    "erfc": "olympus.scipy.special.erfc",
    "factorial": "olympus.scipy.special.factorial",
    "fma": None,
    "fsum": "olympus.numpy.sum",
    "gamma": "olympus.scipy.special.gamma",
    "isqrt": "olympus.numpy.sqrt",
    "lgamma": "olympus.scipy.special.gammaln",
    "perm": None,
    "sumprod": "olympus.numpy.vdot",
    "ulp": "olympus.numpy.spacing",
}

#: For each function of `math`, its replacement in OLYMPUS; None without one.
MATH: dict[str, str | None] = {
    name: _RENAMED.get(name, f"olympus.numpy.{name}")
    for name, value in vars(math).items()
    if callable(value) and not name.startswith("_")
}


def size_remedy(argument: str | None = None) -> str:
    """Return the hint for a traced size; `argument` is the name of the argument, if known.

    >>> size_remedy("n")[:56]
    'take the size from the shape of an array, such as x.shap'
    """
    who = "the argument that gives it" if argument is None else f"{argument!r}"
    name = argument or "n"
    return (
        f"take the size from the shape of an array, such as x.shape[0], or make {who} static: "
        f'{_static_forms(name, 8)}, or static_argnames="{name}" of olympus.jit'
    )


def _static_forms(name: str, value: int) -> str:
    """The option and the line of olympus.toml for a static; a command shows the one that it has."""
    return f"--static {name}={value}, {name} = {value} in [target.NAME.static]"


def remedy(conversion: str, frame: FrameType | None, argument: str | None) -> str:
    """Return the hint for a conversion of a traced array at the line that a frame runs.

    `conversion` is "float", "int", "complex", "index", "item" or "array"; `argument` is the name
    of the argument, if the array is one, or None.
    """
    around = _expressions(frame) if frame is not None else []
    function = _called(around, frame)
    if function is not None and (counterpart := _counterpart(function)):
        return f"use {counterpart}, {_TAKES}"
    match conversion:
        case "float" | "complex":
            return f"x.astype({conversion}) converts the dtype of a traced array; else {_RETURN}"
        case "int":
            size = size_remedy(argument)
            if any(isinstance(node, ast.Call | ast.Subscript) for node in around[1:]):
                return f"{size}; x.astype(int) converts the dtype of a traced array"
            return f"x.astype(int) converts the dtype of a traced array; for a size, {size}"
        case "index":
            return _of_index(around, function, argument)
        case "item":
            return f"use the array without this call: operations take it as it is; else {_RETURN}"
    return f"use the function of the same name in olympus.numpy, {_TAKES}"


def _of_index(around: list[ast.expr], function: Any, argument: str | None) -> str:
    size = size_remedy(argument)
    if function is range:
        return f"{size}; olympus.lax.fori_loop runs a loop a traced number of times"
    if around and isinstance(around[0], ast.Subscript):
        who = "the argument that gives it" if argument is None else repr(argument)
        return (
            f"olympus.numpy.stack(items)[i] takes a traced index; else make {who} static: "
            f"{_static_forms(argument or 'i', 0)}"
        )
    return size


def _counterpart(function: Any) -> str | None:
    """Return the function of OLYMPUS that replaces one of `math` or NumPy."""
    name = str(getattr(function, "__name__", ""))
    if getattr(function, "__module__", None) == "math":
        return MATH.get(name)
    namespace = "numpy" if type(function).__name__ == "ufunc" else function.__module__ or ""
    if namespace.partition(".")[0] != "numpy":
        return None
    inner = namespace.removeprefix("numpy").removeprefix(".")
    place = "olympus.numpy" + (f".{inner}" if inner in ("linalg", "fft") else "")
    return None if _is_absent(place, name) else f"{place}.{name}"


def _is_absent(namespace: str, name: str) -> bool:
    """Return True if a public namespace does not have a function."""
    full = f"{namespace}.{name}"
    is_known = name in api().get(namespace, {})
    return not is_known or any(full in group.names for group in absences())


def _called(around: list[ast.expr], frame: FrameType | None) -> Any:
    """Return the function that the innermost expression calls, or None."""
    if frame is None or not around or not isinstance(around[0], ast.Call):
        return None
    match around[0].func:
        case ast.Name(name):
            scopes = (frame.f_locals, frame.f_globals, vars(builtins))
            return next((scope[name] for scope in scopes if name in scope), None)
        case ast.Attribute() as attribute:
            return _attribute(attribute, frame)
    return None


def _attribute(node: ast.expr, frame: FrameType) -> Any:
    """Return the value of `module.name` or `module.module.name`; evaluate no other attribute."""
    match node:
        case ast.Name(name):
            return {**frame.f_globals, **frame.f_locals}.get(name)
        case ast.Attribute(owner, name):
            value = _attribute(owner, frame)
            return getattr(value, name, None) if isinstance(value, ModuleType) else None
    return None


def _expressions(frame: FrameType) -> list[ast.expr]:
    """Return the expression that a frame evaluates and those around it, innermost first.

    Return nothing if the source is unknown; an expression around a lambda is not included.
    """
    code = frame.f_code
    first, last, begin, end = list(code.co_positions())[frame.f_lasti // 2]
    if first is None or last is None or begin is None or end is None:
        return []
    if not source_line(code.co_filename, first):
        return []
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):  # the file has changed since
        return []
    expressions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and (node.lineno, node.col_offset) <= (first, begin)
        and (last, end) <= (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    inside = expressions[::-1]  # the walk starts at the root
    outer = next((i for i, node in enumerate(inside) if isinstance(node, ast.Lambda)), None)
    return inside[:outer]
