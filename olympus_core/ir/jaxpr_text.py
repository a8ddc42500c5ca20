"""The text of a program as JAX prints it, which the names of JAX's API have.

A program, an equation's parameters and its variables are on one line each if they fit into 80
columns.  A variable has one name in the whole text; the inputs and results of a nested `jit` have
the names of those of its call.  A nested program that occurs twice, or has more than 10 equations,
is printed once, before the others.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.source import Source
from olympus_core.ir.jax_forms import printed_name, printed_params
from olympus_core.ir.layout import Break, Doc, Group, Nest, Noted, laid_out, separated
from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    JaxProgram,
    Literal,
    Olympuspr,
    Var,
    unconstrained,
)

#: a nested program of more equations is printed before the others
_MOST_NESTED = 10


def jaxpr_text(
    program: Olympuspr,
    *,
    source_info: bool = False,
    print_shapes: bool = True,
    name_stack: bool = False,
    print_effects: bool = False,
    width: int = 80,
    annotation_prefix: str = " # ",
    **_: Any,
) -> str:
    """Return the text of a program on lines of `width` characters, as JAX prints it.

    Equations end in their source line with `source_info`, and in their name scope with
    `name_stack`; both are after `annotation_prefix`. Without `print_shapes`, variables have no
    types. With `print_effects`, programs end in their side effects.

    >>> print(make_jaxpr(lambda x: sin(x) * 2)(1.0).pretty_print())
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    text = _Text(program, source_info, print_shapes, name_stack, print_effects)
    return laid_out(text.document(), width, annotation_prefix)


def jax_equation_text(eqn: Eqn) -> str:
    """Return the text of one equation as JAX prints it, with names of its own.

    >>> str(make_jaxpr(lambda x: sin(x))(1.0).eqns[0])
    'a:f32[] = sin b'
    """
    return laid_out(_Text(Olympuspr((), (), ())).equation(eqn)).rstrip()


def _letters(number: int) -> str:
    """Return a number in base 26, with the digits a to z: z is followed by ba."""
    rest, last = divmod(number, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + last)


class _Text:
    """The text of a program: its options, names of variables, and programs that are shared."""

    def __init__(
        self,
        program: Olympuspr,
        source_info: bool = False,
        print_shapes: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
    ) -> None:
        self.program = program
        self.source_info, self.name_stack = source_info, name_stack
        self.print_shapes, self.print_effects = print_shapes, print_effects
        self.shared = _shared(program)
        reserved = set(self.shared.values())
        self.fresh = (name for name in map(_letters, itertools.count()) if name not in reserved)
        self.names: dict[Var, str] = _unused(program)

    def document(self) -> Doc:
        """Return the shared programs and the program."""
        parts: list[Doc] = []
        for program, name in self.shared.items():
            parts += [f"let {name} = ", self.body(program), " in", Break()]
        return [*parts, self.body(self.program)]

    def body(self, program: Olympuspr) -> Doc:
        """Return the text of a program, also if it is shared."""
        consts, inputs = self.binders(program.constvars), self.binders(program.invars)
        eqns: Doc = separated(Break("; "), [self.equation(e) for e in program.eqns])
        outs = self.atoms(program.outvars, ",")
        end: list[Doc] = ["in (", outs, ",)" if len(program.outvars) == 1 else ")"]
        if self.print_effects:
            names = ", ".join(sorted(p.name for p in program.effects))
            end.append(f" : {{ {names} }}")
        inner: list[Doc] = [Nest(2, [Break(), eqns]), Break(), end]
        head: list[Doc] = ["{ lambda ", consts, "; ", inputs, ". let"]
        return Group([Nest(2, [*head, *inner]), " }"])

    def equation(self, eqn: Eqn) -> Doc:
        """Return the text of an equation."""
        place = source_summary(eqn.source) if self.source_info else None
        scope = f"[{eqn.source.scope}]" if self.name_stack else None
        outs = self.binders(eqn.outputs)
        called = eqn.params.get("olympuspr") if eqn.primitive.name == "jit" else None
        if called is not None and (called := unconstrained(called).jaxpr) not in self.shared:
            self.suggest(called.invars, eqn.inputs)
            self.suggest(called.outvars, eqn.outputs)
        params = [[f"{k}=", self.value(v)] for k, v in printed_params(eqn)]
        parts: list[Doc] = [Noted(printed_name(eqn), scope)]
        if params:
            inside = Nest(2, ["[", Break(""), *separated(Break(), params)])
            parts.append(Group([inside, Break(""), "]"]))
        parts += [" ", self.atoms(eqn.inputs)]
        return [outs, Noted(" = ", place), *parts] if eqn.outputs else parts

    def suggest(self, inner: Sequence[Atom], outer: Sequence[Atom]) -> None:
        """Give variables of a called program the names of those of its call."""
        used = set()
        if len(inner) != len(outer):
            return
        for var, like in zip(inner, outer, strict=True):
            if isinstance(var, Literal) or isinstance(like, Literal):
                continue
            if like not in used and var not in self.names:
                used.add(like)
                self.names[var] = self.name(like)

    def name(self, var: Var) -> str:
        name = self.names.get(var)
        if name is None:
            name = self.names[var] = next(self.fresh)
        return name

    def binders(self, variables: Sequence[Var]) -> Doc:
        """Return the names of variables, with their types."""
        texts = [
            self.name(v) + (f":{v.aval.short_name()}" if self.print_shapes else "")
            for v in variables
        ]
        return _listed(texts)

    def atoms(self, atoms: Sequence[Atom], separator: str = "") -> Doc:
        """Return the names of variables, and the values of literals."""
        texts = [_literal(a) if isinstance(a, Literal) else self.name(a) for a in atoms]
        return _listed(texts, separator)

    def value(self, value: Any) -> Doc:
        """Return the text of a parameter."""
        if isinstance(value, Olympuspr):
            return self.shared.get(value) or self.body(value)
        if type(value) is tuple and all(isinstance(x, Olympuspr) for x in value):
            programs = separated(Break(), [self.value(x) for x in value])
            return Group([Nest(2, ["(", Break(""), *programs]), Break(""), ")"])
        if isinstance(value, frozenset):
            return f"frozenset({{{', '.join(map(repr, sorted(value)))}}})"
        if isinstance(value, np.dtype):
            return dtypes.long_name(value)
        hidden = re.sub(r" at 0x([0-9a-f]+)", lambda m: " at 0x" + "X" * len(m[1]), str(value))
        return hidden


def _listed(texts: Sequence[str], separator: str = "") -> Doc:
    """Return texts on lines that are as full as possible."""
    between: list[Doc] = [separator, Group(Break())]
    return Nest(2, Group(separated(between, texts)))


def _literal(atom: Literal) -> str:
    value = atom.value
    shown = "[...]" if np.shape(value) else str(np.asarray(value).item())
    return f"{shown}:{atom.aval.short_name()}"


def source_summary(source: Source) -> str:
    """Return the line of an operation as text, `file:line:column (function)`, or an empty text.

    The column counts from 0.

    >>> source_summary(make_jaxpr(lambda x: 2 * x)(1.0).eqns[0].source_info)
    '...:1:... (<lambda>)'
    """
    at = source.position()
    return "" if at is None else f"{at.file}:{at.line}:{at.column - 1} ({at.function})"


def _unused(program: Olympuspr) -> dict[Var, str]:
    """Return the name `_` for the results in a program that nothing reads."""
    used = {a for a in program.outvars if isinstance(a, Var)}
    names = {}
    for eqn in reversed(program.eqns):
        names.update({v: "_" for v in eqn.outputs if v not in used})
        used.update(a for a in eqn.inputs if isinstance(a, Var))
    return names


def _shared(program: Olympuspr) -> dict[Olympuspr, str]:
    """Return the nested programs to print before the others, and their names."""
    counts = Counter[Olympuspr]()
    names: dict[Olympuspr, str] = {}
    waiting = deque([program])
    while waiting:
        at = waiting.popleft()
        counts[at] += 1 + (at is not program and len(at.eqns) > _MOST_NESTED)
        for eqn in at.eqns:
            if not eqn.primitive.has_programs and not eqn.params:
                continue
            params = printed_params(eqn)
            name = dict(params).get("name")
            for inner in _programs(v for _, v in params):
                waiting.append(inner)
                if name is not None:
                    names.setdefault(inner, str(name).strip("<>"))
    uses = Counter[str]()
    shared = {}
    for inner, count in counts.items():
        if count == 1:
            continue
        name = names.get(inner, "jaxpr")
        uses[name] += 1
        if (before := uses[name] - 1) > 0:
            name = f"{name}{before}"
            uses[name] += 1
        shared[inner] = name
    return shared


def _programs(values: Iterator[Any]) -> Iterator[Olympuspr]:
    for value in values:
        yield from (
            x for x in (value if isinstance(value, tuple) else (value,)) if isinstance(x, Olympuspr)
        )


# The structs do not import their printer; `print(program)` uses it.
JaxProgram.__str__ = jaxpr_text  # type: ignore[assignment,method-assign]
JaxProgram.__repr__ = jaxpr_text  # type: ignore[assignment,method-assign]
JaxProgram.pretty_print = jaxpr_text  # type: ignore[attr-defined]
Eqn.__repr__ = jax_equation_text  # type: ignore[assignment,method-assign]
