"""The printer of an Olympuspr.

Variables are named a, b, ..., z, aa, ab, ... in the order in which they are bound, so that the
text depends on the program alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.ir.olympuspr import Atom, Eqn, Literal, Olympuspr, Var

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _names() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(_LETTERS, repeat=length):
            yield "".join(letters)


class _Text:
    """The common state of the programs of one text.

    `blocks` are the repeated blocks that it has already printed; with `source_info` equations end
    in their source line.
    """

    def __init__(self, source_info: bool) -> None:
        self.source_info = source_info
        self.blocks: set[str] = set()

    def place(self, eqn: Eqn) -> str:
        position = eqn.source.position() if self.source_info else None
        return f"  # {position}" if position else ""


class _Names:
    """Names of one program's variables, assigned at first use; `_` for unused ones."""

    def __init__(self, program: Olympuspr) -> None:
        self.fresh = _names()
        self.known: dict[Var, str] = {}
        self.read = {a for e in program.eqns for a in e.inputs if isinstance(a, Var)}
        self.read.update(a for a in program.outvars if isinstance(a, Var))

    def binder(self, var: Var, keep: bool = True) -> str:
        named = keep or var in self.read
        name = self.known.setdefault(var, next(self.fresh)) if named else "_"
        return f"{name}:{var.aval.short_name()}"

    def atom(self, atom: Atom) -> str:
        return literal(atom) if isinstance(atom, Literal) else self.known[atom]


def literal(atom: Literal) -> str:
    """Return a literal as the IR prints it: `2.0:f32[]`."""
    value = atom.value.item() if isinstance(atom.value, (np.generic, np.ndarray)) else atom.value
    kind = dtypes.kind(atom.aval.dtype)
    if kind == "f":
        value = float(value)
    elif kind in "iu":
        value = int(value)
    return f"{value}:{atom.aval.short_name()}"


def pretty(program: Olympuspr, *, source_info: bool = False) -> str:
    """Return the text of a program; a repeated block is printed at its first use.

    With `source_info`, the first line of each equation ends in the user's file and line, if they
    are known.

    >>> print(pretty(program, source_info=True))
    { lambda ; a:f32[]. let
        b:f32[] = sin a  # /home/me/model.py:3
      in (b,) }
    """
    return _program(program, "", _Text(source_info))


def equation_text(eqn: Eqn) -> str:
    """Return the text of one equation, with names of its own.

    >>> print(equation_text(eqn))
    a:f32[8] = sin b
    """
    names = _Names(Olympuspr((), (), ()))
    names.read.update(eqn.outputs)
    for var in [*eqn.outputs, *eqn.inputs]:
        if isinstance(var, Var) and var not in names.known:
            names.binder(var)
    return _eqn(eqn, names, "", _Text(source_info=False))


def _program(program: Olympuspr, indent: str, text: _Text) -> str:
    """Return the text; lines after the first are indented by `indent`."""
    names = _Names(program)
    consts = " ".join(names.binder(v) for v in program.constvars)
    inputs = " ".join(names.binder(v) for v in program.invars)
    lines = [f"{{ lambda {consts + ' ' if consts else ''}; {inputs + '.' if inputs else '.'} let"]
    inner = indent + "    "
    lines += [f"{inner}{_eqn(e, names, inner, text)}" for e in program.eqns]
    outs = [names.atom(a) for a in program.outvars]
    lines.append(f"{indent}  in ({', '.join(outs)}{',' if len(outs) == 1 else ''}) }}")
    return "\n".join(lines)


def _eqn(eqn: Eqn, names: _Names, indent: str, text: _Text) -> str:
    args = " ".join(names.atom(a) for a in eqn.inputs)
    outs = " ".join(names.binder(v, keep=False) for v in eqn.outputs)
    shown = eqn.params
    if eqn.primitive.is_outlined:
        if shown["name"] in text.blocks:
            shown = {"name": shown["name"]}
        text.blocks.add(shown["name"])
    params = _params(shown, indent, text)
    written = f"{outs} = {eqn.primitive.name}{params}" if outs else f"{eqn.primitive.name}{params}"
    first, newline, rest = (f"{written} {args}" if args else written).partition("\n")
    return f"{first}{text.place(eqn)}{newline}{rest}"


def _params(params: dict[str, Any], indent: str, text: _Text) -> str:
    if not params:
        return ""
    parts = [f"{name}={_value(params[name], indent + '  ', text)}" for name in sorted(params)]
    if any("\n" in p for p in parts) or sum(map(len, parts)) > 60:
        inner = "".join(f"\n{indent}  {p}" for p in parts)
        return f"[{inner}\n{indent}]"
    return f"[{' '.join(parts)}]"


def _value(value: Any, indent: str, text: _Text) -> str:
    if isinstance(value, Olympuspr):
        return _program(value, indent, text)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        parts = [_value(v, indent + "  ", text) for v in value]
        if any("\n" in p for p in parts):
            return "(" + "".join(f"\n{indent}  {p}" for p in parts) + f"\n{indent})"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(value, np.dtype):
        return dtypes.long_name(value)
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    kind: Any = type(value)
    if kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__:
        return str(kind.__name__).strip("_")  # its repr contains an address
    return str(value)


# The structs do not import their printer; `print(program)` uses it.
Olympuspr.__str__ = pretty  # type: ignore[assignment,method-assign]
Olympuspr.__repr__ = pretty  # type: ignore[assignment,method-assign]
Olympuspr.pretty_print = pretty  # type: ignore[attr-defined]
