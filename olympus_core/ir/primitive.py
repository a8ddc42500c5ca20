"""Primitive: an operation of the IR, the only place of its rules.

A primitive is a class whose methods are its rules, or, where many differ by one line, a row of a
table of arguments to such a class.  The contract, for every rule:

- operands are positional, parameters are keyword-only and hashable;
- `multiple_results` False: one value in, one value out of `bind` and of every rule;
  True: a list; `SingleResult` and `MultipleResults` declare this to type checkers;
- `abstract` depends on avals and parameters only (it is cached, and reads no switches);
- `lower` emits operations at the current insertion point and location, and returns their values;
- a zero tangent or cotangent is `None`, and rules neither create nor compute with zeros;
- derivative rules bind other primitives, and so differentiate, batch and lower automatically;
- a missing rule raises MissingRuleError, which names the method to write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import state
from olympus_core.base.errors import InternalError, MissingRuleError
from olympus_core.ir import memory_rules, sharding_rules, unreduced_rules
from olympus_core.ir.axis_orders import Order, Reordered, most_common

if TYPE_CHECKING:
    from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var
    from olympus_core.ir.tracer import Array
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.placement.sharding import (
        NamedSharding,
        Sharding,
    )
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Avals = tuple[ShapedArray, ...]


#: The packages whose modules declare primitives.
_PACKAGES = ("olympus_core.primitives", "olympus_core.control")


class _Operations:
    """The primitives by name: all that are declared, and their `bind`s for the rules of others.

    A module is imported when a program needs it, and all of them when an undeclared name is
    requested.

    >>> op.mul(tangent, op.cos(x))
    """

    def __init__(self) -> None:
        self._whole = False
        self._declared: dict[str, Primitive] = {}

    def declare(self, primitive: Primitive) -> None:
        """Register a primitive; raise InternalError if another has its name."""
        key = primitive.name.replace("-", "_")
        other = self._declared.setdefault(key, primitive)
        if other is not primitive:
            raise InternalError(
                f"there are two primitives {key!r}, of {other.module} and of {primitive.module}"
            )

    def find(self, name: str) -> Primitive | None:
        """Return the primitive of this name, even if its module is not imported yet."""
        return self._declared.get(name) or self._all().get(name)

    def every(self) -> list[Primitive]:
        """Return all primitives, also of modules that have not been imported."""
        return list(self._all().values())

    def by_public_name(self) -> dict[str, Primitive]:
        """Return all primitives by their public names in programs on the IR, such as `sin_p`."""
        return {f"{name}_p": primitive for name, primitive in self._all().items()}

    def _all(self) -> dict[str, Primitive]:
        if not self._whole:
            import importlib  # imported here because few programs need it
            import pkgutil

            for package in map(importlib.import_module, _PACKAGES):
                for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                    importlib.import_module(info.name)
            self._whole = True
        return self._declared

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive = None if name.startswith("__") else self.find(name.rstrip("_"))
        if primitive is None:  # and_, not_, or_ are keywords without the underscore
            raise AttributeError(f"no primitive is named {name!r}")
        bind = primitive.bind
        self.__dict__[name] = bind
        return bind


op = _Operations()


class Linear:
    """An operand in which a `transpose` is taken: only its type is known, not its value."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


class TangentSplit(NamedTuple):
    """A primitive with programs, split into the parts independent of and dependent on tangents.

    `known` takes the known operands, and returns the known results and then residuals; `linear`
    is bound to the residuals and the unknown operands, in their `order` if that is given, and
    returns the `unknown_outs`.
    """

    known: Callable[[Sequence[Any]], list[Any]]
    num_known_outs: int
    linear: Primitive
    linear_params: dict[str, Any]
    unknown_outs: tuple[bool, ...]
    order: tuple[int, ...] | None = None

    def operands(self, residuals: Sequence[Any], unknown: Sequence[Any]) -> list[Any]:
        """Return the operands of `linear`."""
        every = [*residuals, *unknown]
        return every if self.order is None else [every[i] for i in self.order]


class Batched(NamedTuple):
    """The mapped axis of a `batch`: its size, and its name if it has one.

    `explicit` is the sharding of an array of it alone along explicit axes; None without such axes.
    `spmd` are the axes of a mesh that constraints and a `shard_map` split it along. Inside such a
    `shard_map` the mapped values vary along the axes `varying`.
    """

    size: int
    name: Any = None
    explicit: NamedSharding | None = None
    spmd: tuple[Any, ...] | None = None
    varying: frozenset[Any] = frozenset()

    @property
    def entry(self) -> Any:
        """The explicit axes of a mesh that split it; None if they do not."""
        return None if self.explicit is None else self.explicit.spec[0]


class EagerOperation(NamedTuple):
    """The program to compile for a primitive that is bound to concrete values.

    `options` are the compiler's, sorted by name.  The shardings are the requested ones; None for an
    argument or a result without a request.
    """

    name: str
    program: Olympuspr
    donated: frozenset[int] = frozenset()
    options: tuple[tuple[str, Any], ...] = ()
    in_shardings: tuple[Sharding | None, ...] = ()
    out_shardings: tuple[Sharding | None, ...] = ()


class Kind:
    """The common properties of equations of one primitive, operand types and parameters.

    Each combination has one object, which serves as a key.  `outs` are the types of the results,
    and `params` the parameters.
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
    #: its parameters contain programs, functions or arrays, which a cache would never release
    higher_order: ClassVar[bool] = False
    #: its parameters contain programs, which `split` can split
    has_programs: ClassVar[bool] = False
    #: `prune` removes unused results, though it may have no programs
    is_pruned: bool = False
    #: its one program is called, and lowered as a function that all its calls share
    is_call: ClassVar[bool] = False
    #: it is a call of a repeated block, which the compiler does not inline
    is_outlined: ClassVar[bool] = False
    #: it runs a program any number of times
    is_loop: ClassVar[bool] = False
    #: the base trace runs it by `run_in_place`: as Python, and not as a compiled program
    inlined: ClassVar[bool] = False
    #: it has an effect besides its results, so that its equations are neither removed if unused nor
    #: merged
    is_effect: ClassVar[bool] = False
    #: its effect occurs when the program is compiled, and the lowered program is without it
    is_inspection: ClassVar[bool] = False
    #: its effect is an action of the user, which occurs exactly as often as in the program
    is_io: ClassVar[bool] = False
    #: its ordered effects have an order in a program of several devices
    orders_devices: ClassVar[bool] = False
    #: the running program calls a Python function of its parameters
    is_host_call: ClassVar[bool] = False
    #: the compiler for several devices calls a Python function of its parameters, to partition it
    is_partitioned: ClassVar[bool] = False
    #: a sum of products: a dot in the policies of `checkpoint`
    is_product: ClassVar[bool] = False
    #: a product whose compiled form reads each operand in an order of its own
    is_convolution: ClassVar[bool] = False
    #: it puts the axes of its operand in the order of its parameter `permutation`
    is_transpose: ClassVar[bool] = False
    #: it repeats its operand along new axes, or along axes of length 1
    is_broadcast: ClassVar[bool] = False
    #: it applies to arrays of one shape as it does to scalars, element by element
    is_elementwise: ClassVar[bool] = False
    #: it costs less to recompute than to save: an operation or two for each element; the results of
    #: all others are saved
    is_cheap: bool = False
    #: its meaning depends on the dtypes of its operands, so that it is not evaluated in wider ones
    has_fixed_dtypes: ClassVar[bool] = False
    #: its operands may be on another mesh than the mesh of the context
    changes_mesh: ClassVar[bool] = False
    #: its result has a layout in memory, also as a result of a program
    chooses_layout: ClassVar[bool] = False
    #: it tests two values for equality, so that both must be rounded in the same way
    is_equality: bool = False
    #: its `abstract` determines the axes of a `shard_map` along which the results vary; those of
    #: others vary along the axes of their operands
    types_varying_axes: ClassVar[bool] = False
    #: the operations of StableHLO that `raised` may recognize
    raised_from: tuple[str, ...] = ()
    #: it expresses any such operation, so that more special primitives are tried before it
    is_general: ClassVar[bool] = False
    #: the parameter with the name, or the tuple of names, of the mapped axes that it operates along
    axis_param: ClassVar[str | None] = None
    #: True if `transpose` runs functions of the user, on values with the shardings of their types
    transposes_typed: ClassVar[bool] = False
    #: the rule for unreduced and reduced axes, called if an operand has some
    unreduced_rule: ClassVar[unreduced_rules.Rule] = staticmethod(unreduced_rules.refused)

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

    def impl(self, *args: Any, **params: Any) -> Any:
        """Return the results for concrete values, whatever the current trace is."""
        return type(state).trace.process(self, args, params)

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        """Return (the result's type, or a list of them; the effects), as JAX's primitives do."""
        outs = self.out_avals(avals, params)
        effects = frozenset([self] if self.is_effect else [])
        return (list(outs) if self.multiple_results else outs[0]), effects

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters of an equation as `bind` takes them."""
        return params

    def out_avals(self, avals: Avals, params: dict[str, Any]) -> Avals:
        """Return the results' avals: `abstract`, cached by avals and first-order parameters."""
        return self._abstract(avals, params) if self.higher_order else self.kind(avals, params).outs

    def kind(self, avals: Avals, params: dict[str, Any]) -> Kind:
        """Return the kind of its equations with such operands and parameters.

        The kinds of a `higher_order` primitive are not cached, because its programs would be too.
        """
        key = (avals, tuple(params.items())) if params else avals
        kind = self._kinds.get(key)
        if kind is None:
            outs = self._typed(avals, params)
            outs = outs if self.types_varying_axes else varying_results(outs, avals)
            kind = self._kinds.setdefault(key, Kind(self, outs, dict(params)))
        return kind

    def known_kind(self, avals: Avals, params: dict[str, Any]) -> Kind | None:
        """Return the kind of such equations if it is cached; do not type them."""
        return self._kinds.get((avals, tuple(params.items())) if params else avals)

    def _abstract(self, avals: Avals, params: dict[str, Any]) -> Avals:
        out = self.abstract(*avals, **params)
        return tuple(out) if self.multiple_results else (out,)

    def _typed(self, avals: Avals, params: dict[str, Any]) -> Avals:
        """Return the results' avals: `abstract` without memories and shardings, which rules add."""
        if any(a.on_host for a in avals):
            on_host = memory_rules.common_memory(self.name, avals)
            outs = self._typed(tuple([a.with_memory(False) for a in avals]), params)
            return tuple([a.with_memory(on_host) for a in outs])
        if all(a.explicit is None for a in avals):
            return self._abstract(avals, params)
        sharding_rules.check_one_mesh(self.name, avals)
        outs = self._abstract(tuple([a.without_sharding() for a in avals]), params)
        specs = self.sharding_rule(avals, outs, params)
        pair = unreduced_rules.NONE
        if any(a.explicit is not None and a.explicit.spec.has_sets for a in avals):
            pair = type(self).unreduced_rule(self.name, avals)
        return sharding_rules.with_specs(self, avals, outs, specs, pair)

    def sharding_rule(
        self, avals: Avals, outs: Avals, params: dict[str, Any]
    ) -> Sequence[sharding_rules.Spec]:
        """Return the spec of each result along explicit axes: an entry for each dimension.

        At least one operand has a sharding in its type, `ShapedArray.explicit`.  Raises
        ShardingTypeError if the shardings do not determine the result's.
        """
        return sharding_rules.replicated(self, avals, outs)

    def spoken(self, params: dict[str, Any]) -> str:
        """Return the name of the operation in messages."""
        return self.name

    def lowering_key(self, params: dict[str, Any]) -> str:
        """Return a text that equals for operations with one lowering, besides their parameters."""
        return self.name

    def eager_operation(self, params: dict[str, Any]) -> EagerOperation | None:
        """Return the program to compile for concrete values; None for a program of it alone."""
        return None

    def result_shardings(self, params: dict[str, Any]) -> tuple[Sharding | None, ...]:
        """Return the shardings of its results if it is bound to concrete values.

        Empty if the compiler chooses all of them; else one for each result, None for its choice.
        """
        return ()

    def destinations(self, params: dict[str, Any]) -> Sequence[Any]:
        """Return the devices and shardings that it moves its operands to."""
        return ()

    def unrecorded_axes(self, eqn: Eqn) -> frozenset[Any]:
        """Return the axes of a checked `shard_map` along which its predicate varies, without a
        record in the type of a result."""
        return frozenset()

    def waits_along(self, agreement: Agreement, params: dict[str, Any]) -> Differing:
        """Return the axes of a `shard_map` along which it waits for all devices."""
        return frozenset()

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """Return the axes along which results may differ between devices, given the operands' axes.

        Raises ShardingError for a program that only some devices of a `shard_map` may run.
        """
        return [frozenset[Any]().union(*operands)] * len(eqn.outputs)

    def has_batch_axes(self, **params: Any) -> bool:
        """Return True if it is batched over axes that its operands have in common."""
        return False

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        """Bind each operation in the programs of a primitive, on concrete values.

        Python runs the loops and conditionals; the results are discarded.
        """
        self._missing("run_inside", "run operation by operation")

    def run_in_place(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return the results of an `inlined` primitive for values, under the base trace."""
        self._missing("run_in_place", "run in place")

    def _missing(self, method: str, purpose: str) -> NoReturn:
        raise MissingRuleError(
            f"the primitive '{self.name}' cannot be {purpose}: "
            f"write the method `{method}` of {type(self).__module__}.{type(self).__qualname__}"
        )

    def abstract(self, *avals: ShapedArray, **params: Any) -> Any:
        """Return the result's aval (or a sequence of avals); raise ShapeError or DTypeError."""
        self._missing("abstract", "typed")

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> Any:
        """Emit StableHLO for the operand values; `ctx` has the avals and the target."""
        self._missing("lower", "lowered")

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        """Return the results of an operation that the primitive is lowered to, otherwise None.

        It is the inverse of `lower`: it binds the primitive to the operands.  It reads all
        attributes that matter; an operation with an attribute that it does not read is not raised.
        """
        return None

    def is_faster_lowered(self, operation: StableHloOperation, is_inner: bool) -> bool:
        """Return True if `lower` emits a faster form of an operation for the CPU.

        It reads types, attributes and functions that are called, and not regions.  `is_inner` is
        True in loops and branches.
        """
        return False

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        """Return (result, its tangent); at least one operand has a tangent that is not `None`."""
        self._missing("jvp", "differentiated")

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        """Return a cotangent for each operand that is `Linear`, and None for every other one."""
        self._missing("transpose", "transposed")

    def summed_axes(
        self, operand: int, avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> frozenset[Any]:
        """Return the axes of a mesh over which `transpose` sums for the cotangent of an operand.

        The devices along them have terms of the sum.
        """
        return frozenset()

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        """Return (result, its mapped axis) for operands with mapped axes `dims` (None: none)."""
        self._missing("batch", "batched")

    def reordered(
        self, orders: Sequence[Order | None], avals: Avals, **params: Any
    ) -> Reordered | None:
        """Return the operation on arrays whose axes are in other orders.

        `orders` are those of the operands, where None is an operand's own order.  The operation may
        require others.  Returns None if the operation needs all operands in their own orders.
        """
        order = most_common(orders)
        if not self.is_elementwise or order is None:
            return None
        return Reordered(params, tuple([order if a.ndim else None for a in avals]), (order,))

    def produced(self, order: Order, avals: Avals, **params: Any) -> Reordered | None:
        """Return the operation whose result is in an order, if that costs no more; None otherwise.

        Only operations that return any order at the same cost have it.
        """
        return None

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        """Return the two parts of a primitive with programs; None if all of it is unknown."""
        self._missing("split", "differentiated in reverse")

    def threaded(
        self, eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
    ) -> Eqn:
        """Return an equation with ordered effects that reads `order` and returns `after`.

        `thread` adds to a program an input for the order, the first one, and such a result.
        """
        program = thread(eqn.params["olympuspr"])
        return eqn.replace(
            inputs=(order, *eqn.inputs),
            outputs=(after, *eqn.outputs),
            params=eqn.params | {"olympuspr": program},
        )

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        """Return an equation of a primitive with programs, without its unused results.

        Unused results remain if other results depend on them.
        """
        return eqn


def varying_results(outs: Avals, operands: Avals) -> Avals:
    """Return the types of results that vary along all axes along which an operand varies."""
    every = frozenset[Any]().union(*[a.vma for a in operands])
    return tuple([a.update(vma=every) for a in outs]) if every else outs


def _declaring() -> str:
    """Return the module whose body declares a primitive."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return str(frame.f_globals["__name__"]) if frame else "?"


class SingleResult(Primitive):
    """A primitive of one result: the type of `bind` is an array."""

    if TYPE_CHECKING:

        def bind(self, *args: Any, **params: Any) -> Array: ...


class MultipleResults(Primitive):
    """A primitive of several results: the type of `bind` is a list of arrays."""

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
