"""Primitive: an operation of the IR, and the one place where its rules stand.

A primitive is a class whose methods are its rules, or, where many differ by a line, a row of a
table that fills in such a class.  The contract, for every rule:

- operands are positional, parameters are keyword-only and hashable;
- `multiple_results` False: one value in, one value out of `bind` and of every rule;
  True: a list; `SingleResult` and `MultipleResults` say the same to type checkers;
- `abstract` is a function of avals and parameters alone (it is cached, and reads no switches);
- `lower` emits operations at the current insertion point and location, and returns their values;
- a tangent or cotangent that is zero is `None`, and rules neither make nor compute with zeros;
- derivative rules bind other primitives, and so differentiate, batch and lower by themselves;
- a rule that is missing raises MissingRuleError, which says which method to write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

from olympus_core.avals import ShapedArray
from olympus_core.context import state
from olympus_core.errors import InternalError, MissingRuleError

if TYPE_CHECKING:
    from olympus_core.agreement import Agreement, Differing
    from olympus_core.lowering import LoweringContext
    from olympus_core.olympuspr import Eqn, Olympuspr
    from olympus_core.sharding import Sharding
    from olympus_core.tracer import Array

__all__ = [
    "AtOnce",
    "Batched",
    "Kind",
    "Linear",
    "LinearPrimitive",
    "MultipleResults",
    "Primitive",
    "SingleResult",
    "Split",
    "op",
]

Avals = tuple[ShapedArray, ...]


#: The packages whose modules declare primitives.
_PACKAGES = ("olympus_core.primitives", "olympus_core.control")


class _Operations:
    """The primitives by name: all that are declared, and their `bind`s for the rules of others.

    A module is imported when a program needs it, and all of them when a name is asked for that is
    not declared yet.

    >>> op.mul(tangent, op.cos(x))
    """

    def __init__(self) -> None:
        self._whole = False
        self._declared: dict[str, Primitive] = {}

    def declare(self, primitive: Primitive) -> None:
        """Enter a primitive; raises InternalError where another has its name."""
        key = primitive.name.replace("-", "_")
        other = self._declared.setdefault(key, primitive)
        if other is not primitive:
            raise InternalError(
                f"there are two primitives {key!r}, of {other.module} and of {primitive.module}"
            )

    def find(self, name: str) -> Primitive | None:
        """The primitive of this name, whether or not its module has been imported."""
        return self._declared.get(name) or self._all().get(name)

    def every(self) -> list[Primitive]:
        """All primitives, of modules that have not been imported too."""
        return list(self._all().values())

    def by_public_name(self) -> dict[str, Primitive]:
        """All primitives under the names that programs on the IR know them by: `sin_p`."""
        return {f"{name}_p": primitive for name, primitive in self._all().items()}

    def _all(self) -> dict[str, Primitive]:
        if not self._whole:
            import importlib  # not for a program that finds what it needs
            import pkgutil

            for package in map(importlib.import_module, _PACKAGES):
                for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                    importlib.import_module(info.name)
            self._whole = True
        return self._declared

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive = None if name.startswith("__") else self.find(name.rstrip("_"))
        if primitive is None:  # and_, not_, or_ are keywords without the underscore
            raise AttributeError(f"there is no primitive {name!r}")
        bind = primitive.bind
        self.__dict__[name] = bind
        return bind


op = _Operations()


class Linear:
    """An operand that a `transpose` is taken in: a value that is not known, only its type."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


class Split(NamedTuple):
    """A primitive with programs, parted into what tangents do not enter and what they do.

    `known` takes the known operands, and gives the known results and then residuals; `linear`
    is bound to the residuals and the unknown operands, in their `order` where that is given, and
    gives the `unknown_outs`.
    """

    known: Callable[[Sequence[Any]], list[Any]]
    num_known_outs: int
    linear: Primitive
    linear_params: dict[str, Any]
    unknown_outs: tuple[bool, ...]
    order: tuple[int, ...] | None = None

    def operands(self, residuals: Sequence[Any], unknown: Sequence[Any]) -> list[Any]:
        """The operands of `linear`."""
        every = [*residuals, *unknown]
        return every if self.order is None else [every[i] for i in self.order]


class Batched(NamedTuple):
    """The mapped axis of a `batch`: its size, and its name where it has one."""

    size: int
    name: Any = None


class AtOnce(NamedTuple):
    """What is compiled where a primitive is bound to values that are known.

    `options` are the compiler's, sorted by name.  The shardings are those that the program was
    told to have; None for an argument or a result of which nothing was said.
    """

    name: str
    program: Olympuspr
    donated: frozenset[int] = frozenset()
    options: tuple[tuple[str, Any], ...] = ()
    in_shardings: tuple[Sharding | None, ...] = ()
    out_shardings: tuple[Sharding | None, ...] = ()


class Kind:
    """What equations have in common that are of one primitive, types of operands and parameters.

    There is one object for each combination, so that it serves as a key.  `outs` are the types of
    the results, and `params` the parameters.
    """

    __slots__ = ("outs", "params", "primitive")

    def __init__(self, primitive: Primitive, outs: Avals, params: dict[str, Any]) -> None:
        self.primitive = primitive
        self.outs = outs
        self.params = params


class Primitive:
    """An operation with a name and rules; see the module's docstring for the contract."""

    name: str
    multiple_results: ClassVar[bool] = False
    #: `lower` gets a literal operand as the Literal, to emit at the shape that it needs
    takes_literals: ClassVar[bool] = False
    #: its parameters hold programs, functions or arrays, and a cache would keep all that ever were
    higher_order: ClassVar[bool] = False
    #: its parameters hold programs, which `split` can part
    has_programs: ClassVar[bool] = False
    #: its one program is called, and lowered as a function that all its calls share
    is_call: ClassVar[bool] = False
    #: it is a call that the compiler keeps: that of a block which the program repeats
    is_kept: ClassVar[bool] = False
    #: it runs a program any number of times
    is_loop: ClassVar[bool] = False
    #: the base trace runs it by `run_in_place`: as Python, and not as a compiled program
    inlined: ClassVar[bool] = False
    #: it does something besides giving results, so that its equations stay though nothing reads
    #: them, and as many as they are
    is_effect: ClassVar[bool] = False
    #: a sum of products: what the policies of `checkpoint` call a dot
    is_product: ClassVar[bool] = False
    #: it applies to arrays of one shape as it does to scalars, element by element
    is_elementwise: ClassVar[bool] = False
    #: its `abstract` says along which axes of a `shard_map` the results vary; those of another vary
    #: along the axes of its operands
    says_varying: ClassVar[bool] = False
    #: the parameter with the name, or the tuple of names, of the mapped axes that it works along
    axis_param: ClassVar[str | None] = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.module = _declaring()
        op.declare(self)
        self._kinds: dict[Any, Kind] = {}

    def __repr__(self) -> str:
        return self.name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive under the current trace."""
        return state.trace.process(self, args, params)

    def out_avals(self, avals: Avals, params: dict[str, Any]) -> Avals:
        """The results' avals: `abstract`, cached by operands' avals and first-order parameters."""
        return self._abstract(avals, params) if self.higher_order else self.kind(avals, params).outs

    def kind(self, avals: Avals, params: dict[str, Any]) -> Kind:
        """What its equations with such operands and parameters have in common.

        None is kept of a primitive that is `higher_order`, for its programs would be kept too.
        """
        key = (avals, tuple(params.items())) if params else avals
        found = self._kinds.get(key)
        if found is None:
            outs = self._abstract(avals, params)
            outs = outs if self.says_varying else _varying(outs, avals)
            found = self._kinds.setdefault(key, Kind(self, outs, dict(params)))
        return found

    def known_kind(self, avals: Avals, params: dict[str, Any]) -> Kind | None:
        """The kind of such equations, if there has been one; it is not typed."""
        return self._kinds.get((avals, tuple(params.items())) if params else avals)

    def _abstract(self, avals: Avals, params: dict[str, Any]) -> Avals:
        out = self.abstract(*avals, **params)
        return tuple(out) if self.multiple_results else (out,)

    def spoken(self, params: dict[str, Any]) -> str:
        """What messages call the operation."""
        return self.name

    def at_once(self, params: dict[str, Any]) -> AtOnce | None:
        """What is compiled where it is bound to known values; None for a program of it alone."""
        return None

    def result_shardings(self, params: dict[str, Any]) -> tuple[Sharding | None, ...]:
        """The shardings that its results have where it is bound to known values.

        Empty where the compiler chooses them all; else one for each result, None for its choice.
        """
        return ()

    def untold(self, eqn: Eqn) -> frozenset[Any]:
        """The axes of a checked `shard_map` along which what it chooses by varies, and a result's
        type does not say so."""
        return frozenset()

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        """The axes of a `shard_map` along which it waits for all devices."""
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """The axes along which results may differ from device to device, of those of operands.

        Raises ShardingError for a program of it that some devices of a `shard_map` may not run.
        """
        return [frozenset[Any]().union(*operands)] * len(eqn.outputs)

    def has_batch_axes(self, **params: Any) -> bool:
        """Whether it works for each place along axes that its operands have in common."""
        return False

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        """For a primitive with programs: bind each operation that they run, on known values.

        Loops and choices are Python's; the results are dropped.
        """
        self._missing("run_inside", "run operation by operation")

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """For a primitive that is `inlined`: its results for values, under the base trace."""
        self._missing("run_in_place", "run in place")

    def _missing(self, method: str, purpose: str) -> NoReturn:
        raise MissingRuleError(
            f"the primitive '{self.name}' cannot be {purpose}: "
            f"write the method `{method}` of {type(self).__module__}.{type(self).__qualname__}"
        )

    def abstract(self, *avals: ShapedArray, **params: Any) -> Any:
        """The result's aval (or a sequence of them); raises ShapeError or DTypeError."""
        self._missing("abstract", "typed")

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        """Emit StableHLO for the operand values; `ctx` has the avals and the target."""
        self._missing("lower", "lowered")

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """(result, tangent of the result), at least one of the operands' tangents not `None`."""
        self._missing("jvp", "differentiated")

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """A cotangent for each operand that is `Linear`, and None for every other operand."""
        self._missing("transpose", "transposed")

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        """(result, its mapped axis) for operands whose mapped axes are at `dims` (None: none)."""
        self._missing("batch", "batched")

    def split(self, unknown: tuple[bool, ...], **params: Any) -> Split | None:
        """The two parts of a primitive with programs; None where all of it is unknown."""
        self._missing("split", "differentiated in reverse")

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        """An equation of a primitive with programs, without the results that are not used.

        It may keep some of them, where they are needed on the way.
        """
        return eqn


def _varying(outs: Avals, operands: Avals) -> Avals:
    """The types of results that vary along all axes that an operand varies along."""
    every = frozenset[Any]().union(*[a.vma for a in operands])
    return tuple([a.update(vma=every) for a in outs]) if every else outs


def _declaring() -> str:
    """The module whose body is declaring a primitive."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return str(frame.f_globals["__name__"]) if frame else "?"


class SingleResult(Primitive):
    """A primitive of one result: `bind` gives an array, as type checkers know."""

    if TYPE_CHECKING:

        def bind(self, *args: Any, **params: Any) -> Array: ...


class MultipleResults(Primitive):
    """A primitive of several results: `bind` gives a list of arrays, as type checkers know."""

    multiple_results = True

    if TYPE_CHECKING:

        def bind(self, *args: Any, **params: Any) -> list[Array]: ...


class LinearPrimitive(Primitive):
    """A primitive that is linear in its first operand; the others have no derivative."""

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        out = self.bind(*primals, **params)
        if tangents[0] is None:
            return out, [None] * len(out) if self.multiple_results else None
        return out, self.bind(tangents[0], *primals[1:], **params)
