"""The padded rows of a program, followed from its arguments to its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_core.base.avals import ShapedArray
from olympus_core.base.errors import PaddingError
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr
from olympus_core.verification.padding.values import UNPADDED, Padding

#: A rule: the padding of the results of an equation, from that of its operands
Rule = Callable[["Step"], Sequence[Padding]]

#: The parameters that are lengths of axes or loops: they may be multiples of the number of rows.
_LENGTHS = frozenset(
    (
        *("axis_size", "k", "length", "limit_indices", "new_sizes", "shape", "size", "sizes"),
        "slice_sizes",
    )
)
_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.dtype, np.generic)


class RowFlow:
    """Two traces of one program, for two numbers of rows.

    An axis whose length differs between them is padded. `symbol` is the user's name of the number
    of rows, `sizes` are the two numbers. `rules` has the rule of each primitive by name.
    """

    def __init__(self, symbol: str, sizes: tuple[int, int], rules: dict[str, Rule]) -> None:
        self.symbol = symbol
        self.sizes = sizes
        self.rules = rules

    def follow(
        self, program: Olympuspr, twin: Olympuspr, operands: Sequence[Padding]
    ) -> list[Padding]:
        """Return the padding of the results of a program, from that of its arguments.

        Raises:
          PaddingError: rows may mix, or the two traces are different programs.
        """
        mine, theirs = ((*x.invars, *x.constvars) for x in (program, twin))
        if len(mine) != len(theirs) or len(program.consts) != len(twin.consts):
            raise self.error("the program has another number of arguments", None)
        self._compare_constants(program, twin)
        places, twins = ({v: i for i, v in enumerate(group)} for group in (mine, theirs))
        states = [*operands, *[UNPADDED] * len(program.constvars)]
        env: dict[Any, Padding] = {
            var: self.typed(state, var.aval, other.aval, None)
            for var, other, state in zip(mine, theirs, states, strict=True)
        }
        for eqn, other in zip(program.eqns, twin.eqns, strict=False):
            self._compare(eqn, other, places, twins)
            step = Step(self, eqn, other, [self.read(env, x) for x in eqn.inputs])
            for out, other_out, state in zip(eqn.outputs, other.outputs, step.run(), strict=True):
                env[out] = self.typed(state, out.aval, other_out.aval, eqn)
                places[out] = twins[other_out] = len(places)
        if len(program.eqns) != len(twin.eqns):
            longer = max(program.eqns, twin.eqns, key=len)
            raise self.error("the program has other operations", longer[len(twin.eqns) - 1])
        return [self.read(env, x) for x in program.outvars]

    @staticmethod
    def read(env: dict[Any, Padding], atom: Any) -> Padding:
        """Return the padding of an operand; a literal is a constant."""
        if isinstance(atom, Literal):
            return Padding({}, np.asarray(atom.value).astype(atom.aval.dtype)[()])
        return env[atom]

    def typed(
        self, state: Padding, aval: ShapedArray, twin: ShapedArray, eqn: Eqn | None
    ) -> Padding:
        """Return the padding with exactly the axes whose lengths differ between the traces."""
        axes = self.padded_axes(aval, twin, eqn)
        return Padding({axis: state.along(axis) for axis in axes}, state.constant)

    def padded_axes(self, aval: ShapedArray, twin: ShapedArray, eqn: Eqn | None) -> list[int]:
        """Return the axes whose lengths differ between the traces.

        Raises:
          PaddingError: a length is not a multiple of the number of rows.
        """
        if aval.ndim != twin.ndim or aval.dtype != twin.dtype:
            raise self.error(f"a value is {aval.long_name()} and {twin.long_name()}", eqn)
        axes = [i for i, (m, n) in enumerate(zip(aval.shape, twin.shape, strict=True)) if m != n]
        for axis in axes:
            if not self._is_multiple(aval.shape[axis], twin.shape[axis]):
                lengths = f"{aval.shape[axis]} and {twin.shape[axis]}"
                raise self.error(f"axis {axis} of a value has {lengths} elements", eqn)
        return axes

    def _is_multiple(self, one: int, two: int) -> bool:
        size, other = self.sizes
        return one * other == two * size and one % size == 0

    def _compare_constants(self, program: Olympuspr, twin: Olympuspr) -> None:
        for one, two in zip(program.consts, twin.consts, strict=True):
            if one is not two and not np.array_equal(np.asarray(one), np.asarray(two)):
                raise self.error("an array in the program has other elements", None)

    def _compare(self, eqn: Eqn, twin: Eqn, places: dict[Any, int], twins: dict[Any, int]) -> None:
        """Raise PaddingError unless two equations are the same apart from the number of rows."""
        if eqn.primitive is not twin.primitive or len(eqn.inputs) != len(twin.inputs):
            raise self.error("the program has other operations", eqn)
        for x, y in zip(eqn.inputs, twin.inputs, strict=True):
            if isinstance(x, Literal) and isinstance(y, Literal):
                if np.asarray(x.value).tobytes() != np.asarray(y.value).tobytes():
                    values = f"{x.value} and {y.value}"
                    raise self.error(f"'{eqn.primitive}' has the operand {values}", eqn)
            elif isinstance(x, Literal) or isinstance(y, Literal) or places[x] != twins[y]:
                raise self.error("the program has other operations", eqn)
        for key in (*eqn.params, *twin.params):
            if not self._agree(eqn.params.get(key), twin.params.get(key), key in _LENGTHS):
                name = eqn.primitive.spoken(eqn.params)
                raise self.error(f"the parameter {key!r} of '{name}' has other values", eqn)

    def _agree(self, one: Any, two: Any, is_length: bool) -> bool:
        """Return True if two parameters are equal, or lengths that are multiples of the rows.

        Programs are compared by the rule of their equation, and functions are not compared.
        """
        if type(one) is int and type(two) is int:
            return one == two or (is_length and self._is_multiple(one, two))
        if isinstance(one, tuple | list) and isinstance(two, tuple | list):
            pairs = zip(one, two, strict=False)
            return len(one) == len(two) and all(self._agree(x, y, is_length) for x, y in pairs)
        if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
            return one.shape == two.shape and one.tobytes() == two.tobytes()
        if isinstance(one, _PLAIN) or isinstance(two, _PLAIN):
            return type(one) is type(two) and bool(one == two)
        return True

    def error(self, difference: str, eqn: Eqn | None) -> PaddingError:
        """Return the error of a program that depends on the number of rows itself."""
        place = "" if eqn is None else eqn.source.place()
        one, two = self.sizes
        return PaddingError(
            f"the results depend on {self.symbol} itself: for {self.symbol} = {one} and {two}, "
            f"{difference}{place}",
            hint=f"padded rows would count: use an argument as a mask instead of {self.symbol}, "
            "or build a matrix of fixed sizes",
        )


class Step:
    """One equation of a flow: its twin in the other trace, and the padding of its operands.

    `padded` has, for each result, the axes that are padded.
    """

    def __init__(self, flow: RowFlow, eqn: Eqn, twin: Eqn, operands: Sequence[Padding]) -> None:
        self.flow = flow
        self.eqn = eqn
        self.twin = twin
        self.operands = operands
        self.params = eqn.params
        self.avals = [x.aval for x in eqn.inputs]
        self.outs = [x.aval for x in eqn.outputs]
        pairs = zip(eqn.outputs, twin.outputs, strict=True)
        self.padded = [flow.padded_axes(x.aval, y.aval, eqn) for x, y in pairs]

    def run(self) -> Sequence[Padding]:
        """Return the padding of the results, by the rule of the primitive.

        A primitive without a rule has no padded operands and results.
        """
        rule = self.flow.rules.get(self.eqn.primitive.name)
        if rule is not None:
            return rule(self)
        if any(x.fills for x in self.operands) or any(self.padded):
            self.refuse("its rule for padded rows is not known")
        return [UNPADDED] * len(self.outs)

    def refuse(self, reason: str, hint: str | None = None) -> NoReturn:
        """Raise PaddingError for this equation."""
        name = self.eqn.primitive.spoken(self.eqn.params)
        raise PaddingError(
            f"rows of {self.flow.symbol} mix in '{name}'{self.eqn.source.place()}: {reason}",
            hint=hint or "a padded row could change the other rows; build a matrix of fixed sizes",
        )
