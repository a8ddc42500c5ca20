"""`shard_map`: a program that each device of a mesh runs on its own parts of arrays.

The axes that it maps over are manual: the body gets the parts, and collectives are messages among
the devices.  Along the other axes, if any, the compiler shards arrays as elsewhere.

If it is checked, the types of the body record the axes along which values vary
(`ShapedArray.vma`).  An operation on a value that varies and one that does not converts the
latter (`pvary`), whose transpose is a sum: so a derivative by a value that is the same on all
devices is summed over the devices.  If it is unchecked, the derivative outside is correct too, and
the derivative inside is each device's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from olympus_core.arrays.types_on_meshes import typed_sharding
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.context import switched
from olympus_core.base.errors import ShardingError
from olympus_core.ir import trace
from olympus_core.ir.dce_cse import restrict
from olympus_core.ir.olympuspr import Atom, Eqn, Olympuspr, Var, unrecorded_axes_in_program
from olympus_core.ir.primitive import Batched, Linear, MultipleResults, TangentSplit, op
from olympus_core.ir.sharding_rules import entry_axes, spec_of
from olympus_core.lowering.divergence import Parts, Unequal
from olympus_core.lowering.module_state import Manual
from olympus_core.placement.mesh import AnyMesh, AxisType, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)
from olympus_core.primitives.collective import split_along, summed
from olympus_core.transforms.evaluate import evaluate
from olympus_core.transforms.linearize import tangent_aval
from olympus_core.transforms.programs import (
    batch_program,
    jvp_program,
    split_program,
    staged,
    transposed_program,
)

if TYPE_CHECKING:
    from olympus_core.lowering.divergence import Agreement, Differing
    from olympus_core.lowering.module import LoweringContext
    from olympus_core.raising.stablehlo_operation import StableHloOperation

Specs = tuple[PartitionSpec, ...]


def spec_axes(spec: PartitionSpec) -> frozenset[Any]:
    """Return the axes that a spec names."""
    return frozenset(name for d in range(len(spec)) for name in spec.axes(d))


def local_aval(
    aval: ShapedArray,
    spec: PartitionSpec,
    mesh: AnyMesh,
    manual: Collection[Any],
    checked: bool,
) -> ShapedArray:
    """Return the type of one device's part of an array in the body."""
    sizes = mesh.shape
    shape = [n // math.prod(sizes[name] for name in spec.axes(d)) for d, n in enumerate(aval.shape)]
    varying = aval.vma | spec_axes(spec) if checked else aval.vma
    local = aval.without_sharding().update(shape=tuple(shape), vma=varying)
    explicit: NamedSharding | None = aval.explicit
    if explicit is None:
        return local
    if not checked and explicit.spec.has_sets:
        own, names = explicit.spec, frozenset(manual)
        explicit = explicit.update(
            spec=own.update(unreduced=own.unreduced - names, reduced=own.reduced - names)
        )
    inner = explicit.mesh.abstract_mesh.update_axis_types(dict.fromkeys(manual, AxisType.Manual))
    return local.with_sharding(typed_sharding(explicit.update(mesh=inner), aval.ndim))


def global_aval(
    aval: ShapedArray, spec: PartitionSpec, mesh: AnyMesh, manual: Collection[Any]
) -> ShapedArray:
    """Return the type of the array that consists of the parts of all devices."""
    sizes = mesh.shape
    shape = [n * math.prod(sizes[name] for name in spec.axes(d)) for d, n in enumerate(aval.shape)]
    vma = aval.vma - frozenset(manual)
    whole = aval.without_sharding().update(shape=tuple(shape), vma=vma)
    if not mesh.has_explicit_axes:
        return whole
    outer = {axis[0]: AxisType.Manual for axis in trace.manual_axes() if axis[0] not in manual}
    entries = [(*spec.axes(d), *entry_axes(e)) for d, e in enumerate(spec_of(aval))]
    own = PartitionSpec() if aval.explicit is None else aval.explicit.spec
    unreduced, reduced = own.unreduced | spec.unreduced, own.reduced | spec.reduced
    whole_spec = PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)
    sharding = NamedSharding(mesh.abstract_mesh.update_axis_types(outer), whole_spec)
    return whole.with_sharding(typed_sharding(sharding, aval.ndim))


def manual_naming(mesh: AnyMesh, manual: Collection[Any], checked: bool) -> trace.naming:
    """Return a context in which the manual axes have their names."""
    return trace.naming(
        tuple([
            trace.ManualAxis(name, size, mesh, checked)
            for name, size in mesh.shape_tuple
            if name in manual
        ])
    )  # fmt: skip


class ShardMap(MultipleResults):
    """A run of `olympuspr` on each device of `mesh`, over its axes `manual_axes`.

    `in_specs` and `out_specs` define the parts of operands and results; along an axis that a spec
    of a result does not name, the results are equal, and one is taken.
    """

    higher_order: ClassVar[bool] = True
    has_programs: ClassVar[bool] = True
    raised_from: tuple[str, ...] = ("sdy.manual_computation",)
    changes_mesh = True

    def raised(self, operation: StableHloOperation, *operands: Any) -> Any:
        params = operation.manual_computation()
        return None if params is None else self.bind(*operands, **params)

    def abstract(self, *avals: ShapedArray, **params: Any) -> tuple[ShapedArray, ...]:
        mesh, manual = params["mesh"], params["manual_axes"]
        return tuple(
            global_aval(a, s, mesh, manual)
            for a, s in zip(params["olympuspr"].out_avals, params["out_specs"], strict=True)
        )

    def lower(self, ctx: LoweringContext, *operands: Any, **params: Any) -> list[Any]:
        mapped = Manual(params["mesh"], frozenset(params["manual_axes"]))
        specs = params["in_specs"], params["out_specs"]
        return ctx.manual_body(params["olympuspr"], operands, mapped, specs, ctx.avals_out)

    def result_shardings(self, params: dict[str, Any]) -> tuple[Sharding | None, ...]:
        mesh: AnyMesh = params["mesh"]
        if not isinstance(mesh, Mesh) or set(params["manual_axes"]) != set(mesh.axis_names):
            return ()  # the compiler shards along the other axes
        return tuple([NamedSharding(mesh, spec) for spec in params["out_specs"]])

    def differing(
        self, agreement: Agreement, eqn: Eqn, operands: Sequence[Differing]
    ) -> Sequence[Differing]:
        """Return the axes along which results may differ; axes of a spec are dimensions outside."""
        params, outside = eqn.params, agreement.mesh is None
        if outside:
            if any(operands):  # report the body's own errors first
                self.differing(agreement, eqn, [frozenset()] * len(operands))
            agreement = agreement.inside(params["mesh"], operands)
            # the compiler may have moved values that differ, so that they differ along other axes
            whole = [agreement.several if x else x for x in operands]
        else:
            whole = list(operands)
        parts = [
            x.own
            if isinstance(x, Parts) and not x and x.cut == (params["mesh"], s, atom.aval.shape)
            else w | (_unequal_axes(s) & agreement.several)
            for x, w, s, atom in zip(operands, whole, params["in_specs"], eqn.inputs, strict=True)
        ]
        try:
            outs = agreement.follow(params["olympuspr"], parts)
        except ShardingError as error:
            if outside and (flag := _deciding(agreement, eqn, parts)):
                error.hint = f"{flag} decides: {error.hint}"
            raise
        specs = params["out_specs"]
        if not outside:
            return [x - _unequal_axes(s) for x, s in zip(outs, specs, strict=True)]
        return [
            Parts(_unequal(eqn, x - _unequal_axes(s)), x, (params["mesh"], s, v.aval.shape))
            for x, s, v in zip(outs, specs, eqn.outputs, strict=True)
        ]

    def threaded(
        self, eqn: Eqn, thread: Callable[[Olympuspr], Olympuspr], order: Atom, after: Var
    ) -> Eqn:
        """Return an equation in which each device orders the effects of its own body."""
        eqn = super().threaded(eqn, thread, order, after)
        specs = {name: (PartitionSpec(), *eqn.params[name]) for name in ("in_specs", "out_specs")}
        return eqn.replace(params=eqn.params | specs)

    def run_inside(self, args: Sequence[Any], **params: Any) -> None:
        """Do nothing: the operations inside are on several devices, and cannot run one by one."""

    def _naming(self, params: dict[str, Any]) -> trace.naming:
        return manual_naming(params["mesh"], params["manual_axes"], params["check_vma"])

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        program: Olympuspr = params["olympuspr"]
        nonzero = tuple(t is not None for t in tangents)
        with self._naming(params):
            dual_program, has_tangent = jvp_program(
                program, nonzero, (False,) * len(program.outvars)
            )
        ins, outs = params["in_specs"], params["out_specs"]
        dual_params = params | {
            "olympuspr": dual_program,
            "in_specs": (*ins, *_selected_specs(ins, nonzero)),
            "out_specs": (*outs, *_selected_specs(outs, has_tangent)),
        }
        results = self.bind(*primals, *[t for t in tangents if t is not None], **dual_params)
        count = len(program.outvars)
        out_tangents = iter(results[count:])
        return results[:count], [next(out_tangents) if m else None for m in has_tangent]

    def prune(self, eqn: Eqn, used: tuple[bool, ...]) -> Eqn:
        program, used_inputs = restrict(eqn.params["olympuspr"], used)
        ins, outs = eqn.params["in_specs"], eqn.params["out_specs"]
        params = {
            "olympuspr": program,
            "in_specs": tuple(ins[i] for i in used_inputs),
            "out_specs": _selected_specs(outs, used),
        }
        return eqn.replace(
            inputs=tuple(eqn.inputs[i] for i in used_inputs),
            outputs=tuple(v for v, u in zip(eqn.outputs, used, strict=True) if u),
            params=eqn.params | params,
        )

    def transpose(self, cotangent: Any, *operands: Any, **params: Any) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in operands)
        nonzero = tuple(c is not None for c in cotangent)
        ins, outs = params["in_specs"], params["out_specs"]
        with self._naming(params):
            unrecorded_axes = _unrecorded_axes(params)
            trace.record_varying_axes(unrecorded_axes)  # for rules that compute a derivative
            with switched("parted", unrecorded_axes):
                program, has_cotangent = transposed_program(params["olympuspr"], linear, nonzero)
            value_specs = _selected_specs(ins, tuple(not u for u in linear))
            cotangent_specs = _of_cotangents(
                _selected_specs(_selected_specs(ins, linear), has_cotangent)
            )
            given_specs = _of_cotangents(_selected_specs(outs, nonzero))
            if unrecorded_axes:
                body: Olympuspr = params["olympuspr"]
                linear_avals = [a for a, u in zip(body.in_avals, linear, strict=True) if u]
                program = _in_parts(
                    program,
                    len(value_specs),
                    [tangent_aval(a) for a, g in zip(body.out_avals, nonzero, strict=True) if g],
                    [a for a, m in zip(linear_avals, has_cotangent, strict=True) if m],
                    unrecorded_axes,
                )
            if not params["check_vma"]:
                program = _unchecked(
                    program,
                    len(value_specs),
                    given_specs,
                    cotangent_specs,
                    params,
                )
        values = [x for x, u in zip(operands, linear, strict=True) if not u]
        cotangents = [c for c in cotangent if c is not None]
        specs = {
            "in_specs": (*value_specs, *given_specs),
            "out_specs": cotangent_specs,
        }
        results = iter(self.bind(*values, *cotangents, **(params | specs | {"olympuspr": program})))
        linear_cotangents = iter([next(results) if m else None for m in has_cotangent])
        return [next(linear_cotangents) if u else None for u in linear]

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], tuple[int | None, ...]]:
        spmd = batched.spmd
        if spmd is not None:
            used = frozenset[Any]().union(*map(spec_axes, params["in_specs"] + params["out_specs"]))
            if used & set(spmd):
                raise ShardingError("vmap spmd_axis_name cannot appear in shard_map in_specs")
            parts = math.prod([params["mesh"].shape[n] for n in spmd])
            varying = frozenset(spmd) if params["check_vma"] else frozenset()
            batched = batched._replace(size=batched.size // parts, varying=varying)
        with self._naming(params):
            program, out_dims = batch_program(params["olympuspr"], batched, tuple(dims))
        insert = functools.partial(_inserted, entry=spmd)
        specs = {
            "in_specs": tuple(map(insert, params["in_specs"], dims)),
            "out_specs": tuple(map(insert, params["out_specs"], out_dims)),
        }
        return self.bind(*args, **(params | specs | {"olympuspr": program})), out_dims

    def split(self, unknown: tuple[bool, ...], **params: Any) -> TangentSplit | None:
        with self._naming(params):
            parts = split_program(params["olympuspr"], unknown)
            residuals = parts.unknown.in_avals[: parts.num_residuals]
            is_computed = [i is None for i in parts.forwarded]
            known_program = _with_rows(parts.computing, sum(is_computed))
            unknown_program = _without_rows(parts.unknown, residuals, is_computed)
        every = tuple(n for n in params["mesh"].axis_names if n in params["manual_axes"])
        unrecorded_axes = _unrecorded_axes(params) | unrecorded_axes_in_program(parts.known)
        ins, outs = params["in_specs"], params["out_specs"]
        known_ins = _selected_specs(ins, tuple(not u for u in unknown))
        residual_specs = tuple(
            _residual_spec(a, every, params["check_vma"], unrecorded_axes) if i is None
            else known_ins[i]
            for a, i in zip(residuals, parts.forwarded, strict=True)
        )  # fmt: skip
        count = sum(not u for u in parts.unknown_outs)
        known_params = params | {
            "olympuspr": known_program,
            "in_specs": known_ins,
            "out_specs": (
                *_selected_specs(outs, tuple(not u for u in parts.unknown_outs)),
                *_selected_specs(residual_specs, is_computed),
            ),
        }

        def run(args: Sequence[Any]) -> list[Any]:
            outs = self.bind(*args, **known_params) if known_program.outvars else []
            return parts.with_residuals(outs, args)

        unknown_params = params | {
            "olympuspr": unknown_program,
            "in_specs": (*residual_specs, *_selected_specs(ins, unknown)),
            "out_specs": _selected_specs(outs, parts.unknown_outs),
        }
        return TangentSplit(run, count, self, unknown_params, parts.unknown_outs)


def _unequal_axes(spec: PartitionSpec) -> frozenset[Any]:
    """Return the axes along which the parts, or the terms, of an array with a spec differ."""
    return spec_axes(spec) | spec.unreduced


def _deciding(agreement: Agreement, eqn: Eqn, parts: Sequence[Differing]) -> str | None:
    """Return the text of an operand of one element for each device that makes the body invalid."""
    program = eqn.params["olympuspr"]
    for i, (aval, spec) in enumerate(zip(program.in_avals, eqn.params["in_specs"], strict=True)):
        if math.prod(aval.shape) == 1 and parts[i] and parts[i] <= spec_axes(spec):
            try:
                agreement.follow(program, [*parts[:i], frozenset(), *parts[i + 1 :]])
            except ShardingError:
                continue
            return f"the operand {eqn.inputs[i].aval.long_name()} with the spec {spec}"
    return None


def _unequal(eqn: Eqn, axes: Differing) -> Differing:
    """Return the differences outside of a `shard_map` for a result that differs in its body."""
    return frozenset([Unequal(n, eqn.source) for n in axes])


def _selected_specs(specs: Sequence[PartitionSpec], mask: Sequence[bool]) -> Specs:
    return tuple(s for s, c in zip(specs, mask, strict=True) if c)


def _of_cotangents(specs: Specs) -> Specs:
    return tuple([s.of_cotangent for s in specs])


def _inserted(spec: PartitionSpec, dim: int | None, entry: Any) -> PartitionSpec:
    """Return the spec of an array with one more axis, which is split by `entry`, if any."""
    if dim is None:
        return spec
    entries = [*spec.partitions, *[None] * (dim - len(spec))]
    entries.insert(dim, entry)
    return spec.update(partitions=entries)


def _residual_spec(
    aval: ShapedArray, every: tuple[Any, ...], checked: bool, unrecorded_axes: frozenset[Any]
) -> PartitionSpec:
    """Return the spec of a residual, sharded by its first dimension: devices may differ."""
    names = tuple(n for n in every if n in aval.vma | unrecorded_axes) if checked else every
    own = PartitionSpec() if aval.explicit is None else aval.explicit.spec
    mapped = frozenset(every)
    return PartitionSpec(names, unreduced=own.unreduced & mapped, reduced=own.reduced & mapped)


def _with_rows(program: Olympuspr, count: int) -> Olympuspr:
    """Return the program whose last `count` results get a leading dimension to shard."""
    first = len(program.outvars) - count

    def rows(*args: Any) -> list[Any]:
        outs = evaluate(program, args)
        return [*outs[:first], *[_row(x) for x in outs[first:]]]

    return staged(rows, program.in_avals)


def _row(x: Any) -> Any:
    return x if get_aval(x).shape else op.broadcast_in_dim(x, shape=(1,), broadcast_dimensions=())


def _without_rows(
    program: Olympuspr, residuals: Sequence[ShapedArray], is_computed: Sequence[bool]
) -> Olympuspr:
    """Return the program whose computed residuals have the leading dimension of `_with_rows`."""
    count = len(residuals)
    has_row = [c and not a.shape for a, c in zip(residuals, is_computed, strict=True)]

    def scalars(*args: Any) -> list[Any]:
        residual_values = [
            op.squeeze(x, dimensions=(0,)) if has else x
            for x, has in zip(args, has_row, strict=False)
        ]
        return evaluate(program, [*residual_values, *args[count:]])

    rows = [a.update(shape=(1,)) if h else a for a, h in zip(residuals, has_row, strict=True)]
    return staged(scalars, [*rows, *program.in_avals[count:]])


def _unrecorded_axes(params: dict[str, Any]) -> frozenset[Any]:
    """Return the axes along which values of a checked body may vary without a record in their type.

    The specs of the body's residuals record these axes.
    """
    if not params["check_vma"]:
        return frozenset()
    program: Olympuspr = params["olympuspr"]
    extra = [
        spec_axes(s) - a.vma for s, a in zip(params["in_specs"], program.in_avals, strict=True)
    ]
    return unrecorded_axes_in_program(program).union(*extra) & frozenset(params["manual_axes"])


def _in_parts(
    program: Olympuspr,
    num_values: int,
    cotangent_avals: Sequence[ShapedArray],
    result_avals: Sequence[ShapedArray],
    axes: frozenset[Any],
) -> Olympuspr:
    """Return the transpose with whole cotangents, computed from parts along `axes`."""

    def whole_cotangents(*args: Any) -> list[Any]:
        outs = evaluate(
            program, [*args[:num_values], *[split_along(x, axes) for x in args[num_values:]]]
        )
        return [summed(x, axes - a.vma) for x, a in zip(outs, result_avals, strict=True)]

    return staged(whole_cotangents, [*program.in_avals[:num_values], *cotangent_avals])


def _unchecked(
    program: Olympuspr,
    num_values: int,
    cotangent_specs: Specs,
    result_specs: Specs,
    params: dict[str, Any],
) -> Olympuspr:
    """Return the transpose of a body whose types do not record which values vary.

    A result that its spec takes from one device gets its cotangent in equal shares; an operand that
    all devices along an axis have gets the sum of their cotangents.
    """
    mesh, manual = params["mesh"], params["manual_axes"]
    sizes = mesh.shape

    def missing(spec: PartitionSpec) -> tuple[Any, ...]:
        named = spec_axes(spec) | spec.unreduced | spec.reduced
        return tuple(n for n in mesh.axis_names if n in manual and n not in named)

    def shared(*args: Any) -> list[Any]:
        cotangents = []
        for x, spec in zip(args[num_values:], cotangent_specs, strict=True):
            count = math.prod(sizes[n] for n in missing(spec))
            divisor = get_aval(x).dtype.type(count)
            cotangents.append(x if count == 1 else op.div(x, divisor))
        outs = evaluate(program, [*args[:num_values], *cotangents])
        return [
            op.psum(x, axes=missing(s), axis_index_groups=None) if missing(s) else x
            for x, s in zip(outs, result_specs, strict=True)
        ]

    return staged(shared, program.in_avals)


shard_map_p = ShardMap("shard_map")
