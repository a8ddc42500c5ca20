"""`olympus.experimental.roofline`: the operations and bytes of a function, by rules of primitives.

The rules of `roofline_rules` are in the table `rooflines`, and users add their own.
"""

from __future__ import annotations

import functools
import logging
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from olympus_core.base import tree
from olympus_core.base.avals import ShapedArray, get_aval, shaped
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import DTypeError
from olympus_core.base.source import function_name, wraps
from olympus_core.ir.dce_cse import live
from olympus_core.ir.olympuspr import Eqn, EqnContext, Literal, Olympuspr, Var, sub_programs
from olympus_core.ir.primitive import Primitive, op
from olympus_core.library.shard_map import shard_map
from olympus_core.placement.mesh import AnyMesh
from olympus_core.placement.sharding import NamedSharding
from olympus_core.transforms.autodiff import vjp as vjp_of
from olympus_core.transforms.staging import stage

_logger = logging.getLogger("olympus")


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """The operation that a rule counts: its types, and the mesh of the devices that run it.

    `pin_lhs_in_vmem` and `pin_rhs_in_vmem` are True if an operand of products stays on the chip.
    """

    name_stack: str
    primitive: Primitive
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]
    jaxpr_eqn_ctx: EqnContext
    mesh: AnyMesh | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """The shape and dtype of an array.

    >>> RooflineShape.from_aval(typeof(numpy.ones((2, 3)))).bytes
    24
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: ShapedArray) -> RooflineShape:
        """Return the shape of a type; raise DTypeError for another value."""
        if not isinstance(aval, ShapedArray):
            raise DTypeError(f"Expected ShapedArray, got {type(aval)}.")
        return cls(shape=tuple(aval.shape), dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The number of bytes."""
        return self.size * int(self.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[ShapedArray]) -> int:
        """Return the bytes of several arrays."""
        return sum(cls.from_aval(aval).bytes for aval in avals)


def _sums(a: dict[Any, int], b: dict[Any, int]) -> dict[Any, int]:
    return {k: a.get(k, 0) + b.get(k, 0) for k in (*a, *(k for k in b if k not in a))}


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """The operations and bytes of a program, estimated from its operations.

    `flops` and `hbm_bytes` are those of matrix products; `unfused_flops` and `unfused_hbm_bytes`
    those of all operations, each with its operands and results in memory. `ici_bytes` and
    `ici_latency` are the bytes and the hops on the links along each axis of the mesh, and
    `peak_hbm_bytes` is the most memory of live arrays. Sums take the larger peak.

    >>> (RooflineResult(flops=2) + RooflineResult(flops=3)).flops
    5
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[Any, int] = field(default_factory=dict)
    ici_latency: dict[Any, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """Return the result of no operation."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        return RooflineResult(
            flops=self.flops + other.flops,
            unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_sums(self.ici_bytes, other.ici_bytes),
            ici_latency=_sums(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes,
            peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes,
        )

    def __mul__(self, constant: float) -> RooflineResult:
        return RooflineResult(
            flops=int(self.flops * constant),
            unfused_flops=int(self.unfused_flops * constant),
            ici_bytes={k: int(v * constant) for k, v in self.ici_bytes.items()},
            ici_latency={k: int(v * constant) for k, v in self.ici_latency.items()},
            hbm_bytes=int(self.hbm_bytes * constant),
            peak_hbm_bytes=int(self.peak_hbm_bytes * constant),
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * constant),
        )

    __rmul__ = __mul__


#: a rule: (context, *shapes, **params) -> the result of one operation
Rule = Callable[..., RooflineResult]
rooflines: dict[Primitive, Rule] = {}


def register_roofline(prim: Primitive) -> Callable[[Rule], Rule]:
    """Return a decorator that makes a function the rule of a primitive.

    The rule takes a RooflineRuleContext, the RooflineShape of each operand, and the parameters.

    >>> @register_roofline(extend.core.primitives.sin_p)
    ... def of_sine(ctx, x, **params):
    ...     return RooflineResult(unfused_flops=10 * x.size)
    """

    def register(rule: Rule) -> Rule:
        rooflines[prim] = rule
        return rule

    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Declare that a primitive has neither operations nor bytes.

    >>> register_standard_roofline(extend.core.primitives.reshape_p)
    """
    rooflines[prim] = lambda ctx, *shapes, **params: RooflineResult.zeros()


@dataclass(frozen=True)
class _Count:
    """The options of a count, which all nested programs share."""

    mesh: AnyMesh | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool

    def program(self, name: str, program: Olympuspr) -> RooflineResult:
        """Return the result of a program whose unused equations are not counted."""
        eqns = live(program)
        last: dict[Any, Eqn] = {x: e for e in eqns for x in e.inputs if isinstance(x, Var)}
        results = set(program.outvars)
        inputs = (*program.invars, *program.constvars)
        current = peak = RooflineShape.total_bytes([v.aval for v in inputs])
        result = RooflineResult.zeros()
        for eqn in eqns:
            result += self.equation(name, eqn)
            current += RooflineShape.total_bytes([v.aval for v in eqn.outputs])
            read = dict.fromkeys([x for x in eqn.inputs if not isinstance(x, Literal)])
            dead = [x.aval for x in read if last[x] is eqn and x not in results]
            current -= RooflineShape.total_bytes(dead)
            peak = max(peak, current)
        return result + RooflineResult(peak_hbm_bytes=peak)

    def equation(self, name: str, eqn: Eqn) -> RooflineResult:
        """Return the result of an operation, by its rule or that of its programs."""
        primitive, avals = eqn.primitive, [x.aval for x in eqn.inputs]
        rule = rooflines.get(primitive)
        if rule is None and primitive.has_programs:
            return self._nested(f"{name}/{primitive.name}", eqn)
        if rule is None:
            if primitive not in op.every():
                _logger.warning("No roofline rule for %s, skipping...", primitive)
            return RooflineResult.zeros()
        context = RooflineRuleContext(
            name_stack=f"{name}/{eqn.source.scope}" if eqn.source.scope else name,
            primitive=primitive,
            avals_in=avals,
            avals_out=[v.aval for v in eqn.outputs],
            jaxpr_eqn_ctx=eqn.ctx,
            mesh=self.mesh,
            pin_lhs_in_vmem=self.pin_lhs_in_vmem,
            pin_rhs_in_vmem=self.pin_rhs_in_vmem,
        )
        return rule(context, *map(RooflineShape.from_aval, avals), **eqn.params)

    def _nested(self, name: str, eqn: Eqn) -> RooflineResult:
        """Return the result of the programs of an operation: the costliest branch of several."""
        if "olympuspr" in eqn.params:
            once = self.program(name, eqn.params["olympuspr"])
            times = int(eqn.params.get("length", 1))
            return replace(once * times, peak_hbm_bytes=once.peak_hbm_bytes)
        results = [self.program(name, program) for program in sub_programs(eqn)]
        if eqn.primitive.name == "while":
            return functools.reduce(RooflineResult.__add__, results, RooflineResult.zeros())
        return max(results, key=lambda r: r.unfused_flops, default=RooflineResult.zeros())


def _typed(x: Any) -> ShapedArray:
    return shaped(tuple(x.shape), x.dtype) if isinstance(x, ShapeDtypeStruct) else get_aval(x)


def _with_vjp(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of the derivatives of `f`, for its own results as cotangents."""

    def wrapped(*args: Any) -> Any:
        results, pullback = vjp_of(f, *args)
        return pullback(results)

    return wrapped


def roofline(
    f: Callable[..., Any],
    mesh: AnyMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Return a function of arrays, or of their types, that estimates the cost of `f`.

    It returns the types of the results of `f`, and a RooflineResult. With a mesh and specs, `f` is
    mapped over the devices by `shard_map`, and the result is that of one device; so is that of a
    `shard_map` in `f`. The body of a scan counts as often as it runs, that of a while loop once,
    and of branches the costliest. vjp: True for the reverse derivative of `f`.

    >>> shapes, result = roofline(lambda x, y: x @ y)(numpy.ones((2, 3)), numpy.ones((3, 4)))
    >>> result.flops
    48
    """

    @wraps(f)
    def wrapped(*args: Any) -> tuple[Any, RooflineResult]:
        function = f
        if mesh is not None and in_specs is not None and out_specs is not None:
            function = shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        if vjp:
            function = _with_vjp(function)
        leaves, in_tree = tree.flatten(args)
        out_trees: list[Any] = []

        def flat(*values: Any) -> list[Any]:
            outs, out_tree = tree.flatten(function(*in_tree.unflatten(values)))
            out_trees.append(out_tree)
            return outs

        program = stage(flat, [_typed(x) for x in leaves], what=f"'{function_name(f)}'")
        shapes = _result_types(program, out_trees[-1], mesh, None if vjp else out_specs)
        mapped = [e for e in live(program) if e.primitive.name == "shard_map"]
        body = mapped[-1].params["olympuspr"] if mapped else program
        if print_jaxpr:
            sys.stdout.write(f"{body}\n")
        count = _Count(mesh, pin_lhs_in_vmem, pin_rhs_in_vmem)
        return shapes, count.program(function_name(f), body)

    return wrapped


def _result_types(program: Olympuspr, out_tree: Any, mesh: Any, out_specs: Any) -> Any:
    avals = program.out_avals
    if mesh is None or out_specs is None:
        return out_tree.unflatten([ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
    full = out_tree.unflatten(range(len(avals)))
    specs = tree.prefix_leaves("roofline", "out_specs", out_specs, full)
    return out_tree.unflatten(
        [
            ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(mesh, s))
            for a, s in zip(avals, specs, strict=True)
        ]
    )


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: AnyMesh,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Return a function that estimates the cost of `f` and that of its reverse derivative.

    It returns the types of the results of `f`, and both results. The derivative is for arguments of
    bfloat16, except those of int32. The other parameters are those of `roofline`.

    >>> mesh = sharding.AbstractMesh((1,), ("x",))
    >>> both = roofline_and_grad(lambda x: x @ x, mesh, P(), P())
    >>> [r.flops for r in both(numpy.ones((2, 2)))[1:]]
    [16, 32]
    """
    options: dict[str, Any] = {
        "pin_lhs_in_vmem": pin_lhs_in_vmem,
        "pin_rhs_in_vmem": pin_rhs_in_vmem,
        "print_jaxpr": print_jaxpr,
    }

    @wraps(f)
    def wrapped(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        shapes, forward = roofline(f, mesh, in_specs, out_specs, **options)(*args)
        short = tree.map(_short, args)
        _, both = roofline(f, mesh, in_specs, out_specs, vjp=True, **options)(*short)
        return shapes, forward, both

    return wrapped


def _short(x: Any) -> ShapeDtypeStruct:
    is_integer = np.dtype(x.dtype) == np.int32
    return ShapeDtypeStruct(x.shape, np.int32 if is_integer else "bfloat16")
