"""The run of a program operation by operation, in its own dtypes and in float64.

Each operation is compiled and run alone. Its result is compared with the reference on the same
operands, so errors do not accumulate, and the first wrong operation is found immediately. The other
runs follow the program's own choices: its branches, its iterations, and its integers.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy, put_array
from olympus_core.base import dtypes, source
from olympus_core.base.avals import ShapedArray
from olympus_core.control.cond import cond_p
from olympus_core.control.platform import platform_dependent_p
from olympus_core.control.scan import scan_p
from olympus_core.control.shard_map import shard_map_p
from olympus_core.control.while_loop import while_p
from olympus_core.execution.spmd import devices_of
from olympus_core.ir.effects import without_effects
from olympus_core.ir.olympuspr import Eqn, Literal, Olympuspr
from olympus_core.primitives.precision import Precision
from olympus_core.primitives.sharding import sharding_constraint_p
from olympus_core.verification.bounds import disagreement, noise_scale
from olympus_core.verification.findings import Finding, Kind, finding, worst
from olympus_core.verification.floats import digits_lost, format_of, is_inexact
from olympus_core.verification.one_device import one_device_program
from olympus_core.verification.reference import PROPERTIES, RULES, Call, Rule
from olympus_core.verification.values import Array, TrackedValue, largest, mapped, value_of, widened
from olympus_core.verification.widening import evaluate_wide, same_factors

#: A function that runs one operation in the program's dtypes: an equation, its operands, a device.
Evaluator = Callable[[Eqn, Sequence[Any]], Sequence[Any]]

_SAMPLES = 2
_TF32 = 2.0**-11  # roundoff of the 10 mantissa bits that a GPU uses of a float32 operand
_MAX = 100  # largest number of saved findings


def run_alone(eqn: Eqn, operands: Sequence[Any]) -> Sequence[Any]:
    """Run an operation on the CPU, compiled as a program of it alone."""
    with source.using_location(eqn.source):
        outs = eqn.primitive.bind(*operands, **eqn.params)
    return list(outs) if eqn.primitive.multiple_results else [outs]


class OpByOpRun:
    """The runs of one program on its inputs, operation by operation, and their findings.

    `evaluators` replace the runner of a primitive in the program's dtypes, by its name.
    `on_operation` is called before each operation. `samples` is the number of runs with random
    rounding errors. Without `checks`, no operation is compared with its rule. `coarse_products` is
    for a GPU that rounds the float32 operands of products to TF32.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        evaluators: dict[str, Evaluator] | None = None,
        coarse_products: bool = False,
        on_operation: Callable[[], None] = lambda: None,
        samples: int = _SAMPLES,
        checks: bool = True,
    ) -> None:
        self.findings: list[Finding] = []
        self.notes: list[Finding] = []
        self.unchecked: Counter[str] = Counter()
        self.checked = 0
        self._path: list[str] = []
        self._evaluators = evaluators or {}
        self._coarse = coarse_products
        self._samples, self._checks = samples, checks
        self._on_operation = on_operation
        self._rng = np.random.default_rng(seed)

    def run(self, program: Olympuspr, inputs: Sequence[Any]) -> list[TrackedValue]:
        """Return the results of a program; the arrays have exactly its types."""
        program = without_effects(program)
        values = [
            value_of(x, v.aval, self._samples) for x, v in zip(inputs, program.invars, strict=True)
        ]
        with np.errstate(all="ignore"):
            return self.evaluate(program, values)

    def evaluate(self, program: Olympuspr, inputs: Sequence[TrackedValue]) -> list[TrackedValue]:
        """Return the results of a program on values, equation by equation."""
        env: dict[Any, TrackedValue] = dict(zip(program.invars, inputs, strict=True))
        for var, const in zip(program.constvars, program.consts, strict=True):
            env[var] = value_of(const, var.aval, self._samples)
        last = _last_uses(program)

        def read(atom: Any) -> TrackedValue:
            if isinstance(atom, Literal):
                return value_of(atom.value, atom.aval, self._samples)
            return env[atom]

        for place, eqn in enumerate(program.eqns):
            values = [read(x) for x in eqn.inputs]
            env.update(zip(eqn.outputs, self._equation(eqn, values), strict=True))
            for atom in (*eqn.inputs, *eqn.outputs):
                if not isinstance(atom, Literal) and last.get(atom, place) == place:
                    env.pop(atom, None)
        return [read(atom) for atom in program.outvars]

    @contextlib.contextmanager
    def _inside(self, name: str) -> Iterator[None]:
        self._path.append(name)
        try:
            yield
        finally:
            self._path.pop()

    def _equation(self, eqn: Eqn, values: Sequence[TrackedValue]) -> list[TrackedValue]:
        primitive, params = eqn.primitive, eqn.params
        if primitive is scan_p:
            return self._scan(params, values)
        if primitive is while_p:
            return self._while(params, values)
        if primitive is cond_p:
            index = int(values[0].array)
            with self._inside(f"cond, branch {index}"):
                return self.evaluate(params["branches"][index], values[1:])
        if primitive is platform_dependent_p:
            return self.evaluate(platform_dependent_p.branch_for(params, "cpu"), values[1:])
        if primitive is sharding_constraint_p and devices_of(params["sharding"]) is None:
            return list(values)  # it cannot run, and changes no element
        if primitive is shard_map_p:
            with self._inside("shard_map"):
                return self.evaluate(one_device_program(params), values)
        if primitive.has_programs:
            with self._inside(str(params.get("name", primitive.name))):
                return self.evaluate(params["olympuspr"], values)
        return self._operation(eqn, values)

    def _scan(self, params: dict[str, Any], values: Sequence[TrackedValue]) -> list[TrackedValue]:
        a, n, body = params["num_consts"], params["num_carry"], params["olympuspr"]
        consts, carry, xs = values[:a], list(values[a : a + n]), values[a + n :]
        rows: list[list[TrackedValue]] = []
        places = range(params["length"])
        for i in reversed(places) if params["reverse"] else places:
            row = [_row(x, i) for x in xs]
            with self._inside(f"scan, iteration {i}"):
                outs = self.evaluate(body, [*consts, *carry, *row])
            carry = outs[:n]
            rows.append(outs[n:])
        if params["reverse"]:
            rows.reverse()
        types = [v.aval.update(shape=(len(places), *v.aval.shape)) for v in body.outvars[n:]]
        if not rows:
            return [
                *carry,
                *(value_of(np.zeros(t.shape, t.dtype), t, self._samples) for t in types),
            ]
        return [
            *carry,
            *(_stack(column, t) for column, t in zip(zip(*rows, strict=True), types, strict=True)),
        ]

    def _while(self, params: dict[str, Any], values: Sequence[TrackedValue]) -> list[TrackedValue]:
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = values[:n_cond], values[n_cond : n_cond + n_body]
        carry = list(values[n_cond + n_body :])
        for i in range(2**63):
            with self._inside(f"while, iteration {i}"):
                (predicate,) = self.evaluate(params["cond_olympuspr"], [*cond_consts, *carry])
                if not bool(predicate.array):
                    break
                carry = self.evaluate(params["body_olympuspr"], [*body_consts, *carry])
        return carry

    def _operation(self, eqn: Eqn, values: Sequence[TrackedValue]) -> list[TrackedValue]:
        self._on_operation()
        run = self._evaluators.get(eqn.primitive.name, run_alone)
        natives = [
            put_array(array_to_numpy(x), v.aval)
            for x, v in zip(run(eqn, [v.native for v in values]), eqn.outputs, strict=True)
        ]
        rule = _rule_of(eqn)
        arrays = [v.array for v in values]
        results = [array_to_numpy(x) for x in natives]
        avals = [v.aval for v in values]
        call = Call(eqn.params, avals, [v.aval for v in eqn.outputs], [], arrays)
        wide_operands = [widened(x) for x in arrays]
        expected: Sequence[Array] | None = None
        if not self._checks:
            pass
        elif rule is not None:
            self.checked += 1
            expected = self._check(eqn, rule, call, wide_operands, results)
        elif eqn.primitive.name in PROPERTIES:
            self.checked += 1
            self._check_properties(eqn, call._replace(operands=wide_operands), results)
        else:
            self.unchecked[eqn.primitive.name] += 1
        if not any(is_inexact(x.dtype) for x in results):
            return [
                TrackedValue(x, widened(y), (widened(y),) * self._samples)
                for x, y in zip(natives, results, strict=True)
            ]
        wides = self._wides(eqn, rule, call, values, wide_operands, expected)
        if rule is None:
            wides = [same_factors(eqn.primitive.name, run, results) for run in wides]
        outs = [
            self._value(eqn, call, rule, values, native, [wide[i] for wide in wides])
            for i, native in enumerate(natives)
        ]
        for out in outs:
            self._trace_faults(eqn, values, out)
        return outs

    def _check(
        self,
        eqn: Eqn,
        rule: Rule,
        call: Call,
        wide_operands: Sequence[Array],
        results: Sequence[Array],
    ) -> Sequence[Array]:
        """Return the reference's results; add a finding if the results differ."""
        full = call._replace(operands=wide_operands)
        expected = rule.value(full)
        for i, (result, reference) in enumerate(zip(results, expected, strict=True)):
            excess_and_allowed = disagreement(rule, full, expected, i, result)
            if excess_and_allowed is not None and len(self.findings) < _MAX:
                excess, allowed = excess_and_allowed
                element = worst(result, np.asarray(reference), excess, allowed)
                self.findings.append(
                    finding("wrong", eqn, self._path, call.natives, result, element)
                )
        return expected

    def _check_properties(self, eqn: Eqn, call: Call, results: Sequence[Array]) -> None:
        """Add a finding for the first property that the results do not have."""
        for prop in PROPERTIES[eqn.primitive.name](call, [widened(x) for x in results]):
            error = np.abs(np.asarray(prop.got) - prop.want)
            excess = np.where(error > prop.allowed, error - prop.allowed, 0.0)
            if excess.any() and len(self.findings) < _MAX:
                result = results[prop.result]
                element = worst(prop.got.astype(result.dtype), prop.want, excess, prop.allowed)
                fault = finding("wrong", eqn, self._path, call.natives, result, element)
                self.findings.append(
                    fault._replace(
                        operation=f"{fault.operation}, of which {prop.formula} must hold"
                    )
                )
                return

    def _wides(
        self,
        eqn: Eqn,
        rule: Rule | None,
        call: Call,
        values: Sequence[TrackedValue],
        wide_operands: Sequence[Array],
        expected: Sequence[Array] | None,
    ) -> list[Sequence[Array]]:
        """Return the results in float64: of the exact run, and of each sample."""
        runs = [
            [v.wide for v in values],
            *map(list, zip(*(v.samples for v in values), strict=True)),
        ]
        if not values:
            runs = [[]] * (1 + self._samples)
        wide_results: list[Sequence[Array]] = []
        for run in runs:
            same = all(x is y for x, y in zip(run, runs[0], strict=True))
            if wide_results and same:
                wide_results.append(wide_results[0])
            elif (
                expected is not None
                and rule is not None
                and (
                    not rule.continuous
                    or all(x is y for x, y in zip(run, wide_operands, strict=True))
                )
            ):
                wide_results.append(expected)
            elif rule is not None:
                operands = run if rule.continuous else wide_operands
                wide_results.append(rule.value(call._replace(operands=operands)))
            elif any(is_inexact(a.dtype) for a in call.avals_in) or not values:
                wide_results.append(_fallback(eqn, call, run))
            else:
                wide_results.append(
                    [widened(array_to_numpy(x)) for x in run_alone(eqn, [v.native for v in values])]
                )
        return wide_results

    def _value(
        self,
        eqn: Eqn,
        call: Call,
        rule: Rule | None,
        values: Sequence[TrackedValue],
        native: Any,
        wides: Sequence[Array],
    ) -> TrackedValue:
        """Return one result; its samples have a random rounding error of this operation."""
        dtype = native.aval.dtype
        array = array_to_numpy(native)
        if not is_inexact(dtype):
            wide = widened(array)
            return TrackedValue(native, wide, (wide,) * self._samples)
        own = widened(array)
        followed = [_followed(np.asarray(x), own) for x in wides]
        roundoff = max([format_of(dtype).roundoff, *(v.roundoff for v in values)])
        rounded = rule is None or rule.error is not None
        samples = tuple(followed[1:])
        if rounded:
            unit = self._unit(eqn, dtype)
            samples = tuple(
                x + unit * self._rng.uniform(-1, 1, x.shape) * noise_scale(rule, call, values, x)
                for x in samples
            )
        return TrackedValue(native, followed[0], samples, roundoff)

    def _unit(self, eqn: Eqn, dtype: Any) -> float:
        unit = format_of(dtype).roundoff
        plain = eqn.params.get("precision") in (None, Precision.DEFAULT, (Precision.DEFAULT,) * 2)
        if self._coarse and eqn.primitive.is_product and plain and dtype == np.float32:
            return max(unit, _TF32)
        return unit

    def _trace_faults(self, eqn: Eqn, values: Sequence[TrackedValue], out: TrackedValue) -> None:
        """Record the origin of infinities, NaNs and lost digits of a result."""
        if not is_inexact(out.dtype):
            return
        self._trace_nonfinite(eqn, values, out)
        self._trace_loss(eqn, values, out)

    def _finding(
        self, kind: Kind, eqn: Eqn, values: Sequence[TrackedValue], out: TrackedValue, at: Array
    ) -> Finding:
        element = None if kind == "nan" else worst(out.array, out.wide, at, math.inf)
        return finding(kind, eqn, self._path, [v.array for v in values], out.array, element)

    def _trace_nonfinite(self, eqn: Eqn, values: Sequence[TrackedValue], out: TrackedValue) -> None:
        array = out.array
        nonfinite = ~np.isfinite(array)
        if not nonfinite.any():
            return
        floats = [v for v in values if is_inexact(v.dtype)]
        tainted = [v for v in floats if not np.isfinite(v.array).all()]
        origin = next((v.origin for v in tainted if v.origin is not None), None)
        nan = np.isnan(array)
        new_nan = nan.any() and not any(np.isnan(v.array).any() for v in tainted)
        if origin is None and (not tainted or new_nan):
            at = nan if nan.any() else nonfinite
            kind: Kind = "nan" if nan.any() else "infinity"
            beyond = np.abs(out.wide[at]) > format_of(out.dtype).largest
            if not nan.any() and (beyond & np.isfinite(out.wide[at])).any():
                kind = "overflow"
            origin = self._finding(kind, eqn, values, out, at.astype(np.float64))
        out.origin = origin

    def _trace_loss(self, eqn: Eqn, values: Sequence[TrackedValue], out: TrackedValue) -> None:
        limit = digits_lost(out.roundoff)
        floats = [v for v in values if is_inexact(v.dtype)]
        error = out.relative_error()
        rule = _rule_of(eqn)
        is_sum, adds = rule is not None and rule.sums, rule is not None and rule.adds
        if error > limit:
            out.loss = next((v.loss for v in floats if v.loss is not None), None)
            if out.loss is None:
                size = max((largest(v.wide) for v in floats), default=0.0)
                cancels = (adds or is_sum) and largest(out.wide) < limit * size
                kind: Kind = "cancellation" if cancels else "inaccurate"
                at = np.nan_to_num(np.abs(widened(out.array) - out.wide))
                out.loss = self._finding(kind, eqn, values, out, at)
        out.own_loss = next((v.own_loss for v in floats if v.own_loss is not None), None)
        if out.own_loss is None and adds:
            out.own_loss = self._local_loss(eqn, floats, out, limit)

    def _local_loss(
        self, eqn: Eqn, floats: Sequence[TrackedValue], out: TrackedValue, limit: float
    ) -> Finding | None:
        """Return the finding of elements that lost digits here, if the largest did not."""
        error = np.abs(widened(out.array) - out.wide)
        size = np.abs(out.wide)
        lost = (error > limit * size) & np.isfinite(error) & (size > 0)
        if not lost.any():
            return None
        ratio = np.where(lost, error / np.where(size > 0, size, 1), 0)
        return self._finding("cancellation", eqn, floats, out, ratio)


def _rule_of(eqn: Eqn) -> Rule | None:
    """Return the rule of an equation; None for 2-bit and 4-bit dtypes, which NumPy lacks."""
    narrow = ("int2", "int4", "uint2", "uint4")
    kinds = {dtypes.long_name(x.aval.dtype) for x in (*eqn.inputs, *eqn.outputs)}
    return None if kinds & set(narrow) else RULES.get(eqn.primitive.name)


def _fallback(eqn: Eqn, call: Call, run: Sequence[Array]) -> list[Array]:
    if eqn.primitive.has_fixed_dtypes:
        narrow = [x.astype(a.dtype) for x, a in zip(run, call.avals_in, strict=True)]
        outs = run_alone(eqn, [put_array(x, a) for x, a in zip(narrow, call.avals_in, strict=True)])
        return [widened(array_to_numpy(x)) for x in outs]
    return evaluate_wide(eqn.primitive, eqn.params, call.avals_in, run)


def _followed(wide: Array, own: Array) -> Array:
    """Return the float64 result, or the program's where only that is finite.

    The float64 result may leave a function's domain: the root of -1e-20, which was rounded to 0.
    """
    only_own_is_finite = np.isfinite(own) & ~np.isfinite(wide)
    return np.where(only_own_is_finite, own, wide) if only_own_is_finite.any() else wide


def _last_uses(program: Olympuspr) -> dict[Any, int]:
    """Return the last equation that uses each variable."""
    last: dict[Any, int] = {}
    for place, eqn in enumerate(program.eqns):
        last.update((x, place) for x in eqn.inputs if not isinstance(x, Literal))
    last.update((x, -1) for x in program.outvars if not isinstance(x, Literal))
    return last


def _row(x: TrackedValue, i: int) -> TrackedValue:
    aval: ShapedArray = x.aval.update(shape=x.aval.shape[1:])
    return mapped(lambda v: v[i], [x], aval)


def _stack(column: Sequence[TrackedValue], aval: ShapedArray) -> TrackedValue:
    return mapped(lambda *rows: np.stack(rows), column, aval)
