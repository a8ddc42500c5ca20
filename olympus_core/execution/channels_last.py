"""The pass that stores the arrays of convolutional networks with their features last.

XLA's kernels for the CPU take arrays as (batch, space..., feature).  XLA copies the array and the
result of a convolution in another layout.  The pass gives each array of a program an order in
memory, and copies it only for an operation that needs another one: `Primitive.reordered` is the
rule of an operation.  Constants are transposed by the pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy
from olympus_core.base.avals import ShapedArray
from olympus_core.base.source import Source
from olympus_core.ir.axis_orders import (
    Order,
    Reordered,
    in_order,
    inverse,
    moves_elements,
    unless_identity,
)
from olympus_core.ir.dce_cse import simplify
from olympus_core.ir.olympuspr import (
    Atom,
    Eqn,
    Literal,
    Olympuspr,
    ProgramParams,
    Var,
    once_per_program,
    sub_programs,
    with_programs,
)
from olympus_core.ir.tracer import Tracer
from olympus_core.primitives.barrier import optimization_barrier_p
from olympus_core.primitives.conv import copied_elements
from olympus_core.primitives.shape import reshape_p, transpose_p

Orders = tuple[Order | None, ...]


#: least elements that are no longer copied, and the largest share of the copies that may remain:
#: two convolutions with an operation between them, of which half of the copies remain, take as long
_SAVED, _SHARE = 2**16, 0.5


def channels_last(program: Olympuspr) -> Olympuspr:
    """Return the program with the arrays of its convolutions in an order with features last.

    It is the program itself if that is no gain.  Arguments and results keep their layouts.

    >>> channels_last(traced.olympuspr).eqns[0].primitive
    transpose
    """
    if not has_convolutions(program):
        return program
    reordering = Reordering()
    result = reordering.program(program, _own(program.invars), _own(program.outvars))
    return result if reordering.is_gain() else program


@once_per_program
def has_convolutions(program: Olympuspr) -> bool:
    """Return True if a program has convolutions, also in nested programs."""
    return any(
        e.primitive.is_convolution
        or (e.primitive.has_programs and any(map(has_convolutions, sub_programs(e))))
        for e in program.eqns
    )


class _Reordered(NamedTuple):
    """A nested program with arguments in some orders, and the orders of its results."""

    original: Olympuspr
    program: Olympuspr
    results: Orders


class Reordering:
    """The pass over a program, with the finished nested programs, and what it saves.

    `copied` are the elements that XLA would copy around convolutions for their layout, and those
    of the transposes of the program; `transposed` are those of the transposes in the new program.
    """

    def __init__(self) -> None:
        self.called: dict[Any, _Reordered] = {}
        self.copied = self.transposed = 0

    def is_gain(self) -> bool:
        """Return True if the new program is faster."""
        saved = self.copied - self.transposed
        return saved >= _SAVED and self.transposed < _SHARE * self.copied

    def program(self, program: Olympuspr, ins: Orders, outs: Orders) -> Olympuspr:
        """Return the program with arguments and results in the orders."""
        rewriting = _Rewriting(self, simplify(program), ins)
        return rewriting.finished(outs)

    def call(self, program: Olympuspr, ins: Orders) -> _Reordered:
        """Return a called program with arguments in the orders, and results in any."""
        key = id(program), ins
        if key not in self.called:
            rewriting = _Rewriting(self, simplify(program), ins)
            outs = rewriting.orders(rewriting.original.outvars)
            self.called[key] = _Reordered(program, rewriting.finished(outs), outs)
        return self.called[key]

    def nested(self, program: Olympuspr) -> Olympuspr:
        """Return the program of a loop or a branch, with arguments and results in their orders."""
        if not has_convolutions(program):
            return program
        return self.program(program, _own(program.invars), _own(program.outvars))


class _Array:
    """An array of the program: the orders in which it exists, and the first one, its own.

    `maker` is an equation that may produce it in any order, and `constant` its elements.
    """

    __slots__ = ("constant", "forms", "maker", "order", "source")

    def __init__(self, order: Order | None, atom: Any, source: Source | None = None) -> None:
        self.order = order
        self.forms: dict[Order | None, Atom] = {order: atom}
        self.source = source
        self.maker: Eqn | None = None
        self.constant: np.ndarray[Any, Any] | None = None

    @classmethod
    def of_constant(cls, elements: np.ndarray[Any, Any]) -> _Array:
        """Return the array of a constant, which exists in no order yet."""
        array = cls(None, None)
        array.forms.clear()
        array.constant = elements
        return array


class _Rewriting:
    """One program: its equations so far, and its arrays."""

    def __init__(self, owner: Reordering, program: Olympuspr, ins: Orders) -> None:
        self.owner, self.original = owner, program
        self.eqns: list[Eqn] = []
        self.constants: dict[Var, Any] = {}
        self.arrays: dict[Var, _Array] = {}
        self.invars = [
            v if o is None else Var(_permuted(v.aval, o))
            for v, o in zip(program.invars, ins, strict=True)
        ]
        for var, order, new in zip(program.invars, ins, self.invars, strict=True):
            self.arrays[var] = _Array(order, new)
        for var, value in zip(program.constvars, program.consts, strict=True):
            if isinstance(value, Tracer):  # lowering refuses it
                self.arrays[var], self.constants[var] = _Array(None, var), value
            else:
                self.arrays[var] = _Array.of_constant(array_to_numpy(value))
        for eqn in program.eqns:
            self._rewrite(eqn)

    def finished(self, outs: Orders) -> Olympuspr:
        """Return the program with results in the orders."""
        results = []
        for x, order in zip(self.original.outvars, outs, strict=True):
            source = None if isinstance(x, Literal) else self.arrays[x].source
            results.append(self._read(x, order, source))
        program = Olympuspr(tuple(self.invars), tuple(self.eqns), tuple(results))
        program = simplify(program)
        read = {x for e in program.eqns for x in e.inputs} | {*program.outvars}
        constants = {v: value for v, value in self.constants.items() if v in read}
        return program.replace(constvars=constants, consts=constants.values())

    def orders(self, atoms: Sequence[Atom]) -> Orders:
        """Return the own orders of arrays."""
        return tuple([None if isinstance(x, Literal) else self.arrays[x].order for x in atoms])

    def _rewrite(self, eqn: Eqn) -> None:
        primitive, orders = eqn.primitive, self.orders(eqn.inputs)
        if primitive.is_transpose:
            self._relabel(eqn)
        elif (primitive.is_call or primitive.inlined) and "olympuspr" in eqn.params:
            called = self.owner.call(eqn.params["olympuspr"], orders)
            params = ProgramParams(eqn.params | {"olympuspr": called.program})
            self._emit(eqn, Reordered(params, orders, called.results))
        elif primitive.has_programs:
            changed = with_programs(eqn, self.owner.nested)
            self._emit(changed, Reordered(changed.params, _own(orders), _own(eqn.outputs)))
        else:
            avals = tuple([x.aval for x in eqn.inputs])
            rule = primitive.reordered(orders, avals, **eqn.params)
            if primitive.is_convolution:
                self._count(eqn, avals)
            self._emit(eqn, rule or Reordered(eqn.params, _own(orders), _own(eqn.outputs)))
            if len(eqn.outputs) == 1:
                self.arrays[eqn.outputs[0]].maker = eqn

    def _count(self, eqn: Eqn, avals: tuple[ShapedArray, ...]) -> None:
        """Count the elements that XLA copies around a convolution; it copies constants once."""
        kernel = eqn.inputs[1]
        array = self.arrays[kernel] if isinstance(kernel, Var) else None
        maker = None if array is None else array.maker
        is_constant = (
            array is None or array.constant is not None or (maker is not None and not maker.inputs)
        )
        copied = copied_elements(avals, eqn.outputs[0].aval, eqn.params, is_constant)
        self.owner.copied += sum(copied)

    def _relabel(self, eqn: Eqn) -> None:
        """Give the array of a transpose another order, without an equation."""
        (x,), (out,) = eqn.inputs, eqn.outputs
        if isinstance(x, Literal):  # a number, which files of other tools may transpose
            self.arrays[out] = _Array(None, x, eqn.source)
            return
        array, permutation = self.arrays[x], eqn.params["permutation"]
        if array.constant is not None:
            self.arrays[out] = _Array.of_constant(np.transpose(array.constant, permutation))
            return
        if moves_elements(x.aval.shape, permutation):
            self.owner.copied += x.aval.size
        own = array.order or tuple(range(len(permutation)))
        order = unless_identity(in_order(inverse(permutation), own))
        self.arrays[out] = _Array(order, array.forms[array.order], eqn.source)

    def _emit(self, eqn: Eqn, rule: Reordered) -> None:
        inputs = [
            self._read(x, order, eqn.source)
            for x, order in zip(eqn.inputs, rule.operands, strict=True)
        ]
        outputs = [
            v if order is None else Var(_permuted(v.aval, order))
            for v, order in zip(eqn.outputs, rule.results, strict=True)
        ]
        is_same = rule.params is eqn.params and tuple(outputs) == eqn.outputs
        if is_same:
            self.eqns.append(eqn if tuple(inputs) == eqn.inputs else eqn.reading(tuple(inputs)))
        else:
            params = rule.params if eqn.primitive.has_programs else dict(rule.params)
            self.eqns.append(Eqn(eqn.primitive, tuple(inputs), tuple(outputs), params, eqn.source))
        for v, order, new in zip(eqn.outputs, rule.results, outputs, strict=True):
            self.arrays[v] = _Array(order, new, eqn.source)

    def _read(self, x: Atom, order: Order | None, source: Source | None) -> Atom:
        """Return an array in an order, and emit the equation for it if it is the first time."""
        if isinstance(x, Literal):
            return x
        array = self.arrays[x]
        order = None if order is None else unless_identity(order)
        if order not in array.forms:
            array.forms[order] = self._in_order(x, array, order, source)
        return array.forms[order]

    def _in_order(self, x: Var, array: _Array, order: Order | None, source: Source | None) -> Atom:
        """Emit an array in another order than its own, and return it."""
        full = order or tuple(range(x.aval.ndim))
        new = Var(_permuted(x.aval, full))
        if array.constant is not None:
            self.constants[new] = np.ascontiguousarray(np.transpose(array.constant, full))
            return new
        if array.maker is not None and self._is_produced(array.maker, full, new):
            return new
        old = self._read(x, array.order, source)
        places = inverse(array.order or tuple(range(x.aval.ndim)))
        eqn = _transposition(old, new, in_order(places, full), source or array.source)
        self.eqns.append(eqn)
        if not eqn.primitive.is_transpose:
            return new
        self.owner.transposed += x.aval.size
        if order is not None:
            return new
        # XLA would transpose constant weights of a product instead, and do it each time it runs
        separate = Var(new.aval)
        self.eqns.append(Eqn(optimization_barrier_p, (new,), (separate,), {}, eqn.source))
        return separate

    def _is_produced(self, eqn: Eqn, order: Order, new: Var) -> bool:
        """Emit the equation of an array with a result in an order, if it costs no more."""
        avals = tuple([x.aval for x in eqn.inputs])
        rule = eqn.primitive.produced(order, avals, **eqn.params)
        if rule is None:
            return False
        pairs = zip(eqn.inputs, rule.operands, strict=True)
        inputs = tuple([self._read(x, o, eqn.source) for x, o in pairs])
        self.eqns.append(Eqn(eqn.primitive, inputs, (new,), rule.params, eqn.source))
        return True


def _own(values: Sequence[Any]) -> Orders:
    """Return the own order of each value."""
    return (None,) * len(values)


def _permuted(aval: ShapedArray, order: Order) -> ShapedArray:
    return aval.update(shape=in_order(aval.shape, order))


def _transposition(old: Atom, new: Var, permutation: Order, source: Source | None) -> Eqn:
    """Return a transpose, or a reshape if only axes of length 1 move."""
    assert source is not None  # an argument exists in the order that it is read in
    if not moves_elements(old.aval.shape, permutation):
        params: dict[str, Any] = {"dimensions": None, "new_sizes": new.aval.shape}
        return Eqn(reshape_p, (old,), (new,), params, source)
    return Eqn(transpose_p, (old,), (new,), {"permutation": permutation}, source)
