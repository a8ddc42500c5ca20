"""The verification of one target on the inputs of one seed, in the process that runs it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from olympus.errors import GateError
from olympus.files import to_data
from olympus.stages import ArgInfo
from olympus.verification import (
    ResultCheck,
    Run,
    Tolerance,
    Verification,
    arguments_of,
    runner,
    statistics,
    verify,
)
from olympus_cli.builder.reuse import give_executables, lowered_to_run
from olympus_cli.program.inputs import InputOptions
from olympus_cli.program.runnable import Runnable, runnable
from olympus_cli.program.stages import Program
from olympus_cli.spec.backends import backend_text
from olympus_cli.spec.inputs import ToleranceSpec
from olympus_cli.spec.model import TargetSpec
from olympus_cli.verify.goldens import golden_file, read_golden, write_golden
from olympus_cli.verify.progress import operation_counter
from olympus_cli.verify.ranges import OtherInputs, other_inputs
from olympus_cli.verify.records import (
    CheckRecord,
    DrawnArgument,
    FindingRecord,
    JudgedCheck,
    OtherInputsRecord,
    StatisticsRecord,
    VerifiedTarget,
)
from olympus_cli.workers.call import OnStage

Array = np.ndarray[Any, Any]
Files = Sequence[bytes]


def verify_target(
    on_stage: OnStage,
    spec: TargetSpec,
    inputs: InputOptions,
    against: Sequence[str],
    others: Mapping[str, Files],
    update: bool,
) -> dict[str, Any]:
    """Return the data of a `VerifiedTarget`; `others` are the .npy files of other runs' results.

    With `update`, the results become the golden ones if verification finds no error.

    Raises:
        GateError: another run has another number of results than the program, or the golden ones
            were computed from other inputs.
    """
    program = lowered_to_run(spec, on_stage)
    give_executables(program, on_stage)
    ready = runnable(program)
    arrays = inputs.arrays(ready.arguments)
    on_stage("run")
    results = ready([np.array(x) for x in arrays])
    golden = golden_file(spec.root, spec.name, inputs.seed)
    references = {name: _arrays(name, files, ready.results) for name, files in others.items()}
    if "golden" in against and not update:
        references["golden"] = read_golden(golden, arrays, ready.results)
    names = [name for name in against if name != "golden" or not update]
    verification, other = _compared(
        on_stage, program, ready, inputs, arrays, results, names, references
    )
    allow = spec.tolerance.allow
    if update and verification.passed and _is_judged(verification, allow):
        write_golden(golden, arrays, ready.results, results)
    backend = backend_text(program.units[0].backend)
    judged = not verification.passed or _is_judged(verification, allow)
    verified = VerifiedTarget(
        spec.name,
        spec.entry,
        backend,
        inputs.seed,
        passed=verification.passed and judged,
        judged=judged,
        checks=tuple(_judged_check(check, allow) for check in verification.checks),
        operations=tuple(map(FindingRecord.of, verification.operations)),
        notes=tuple(map(FindingRecord.of, verification.notes)),
        checked=verification.checked,
        unchecked=verification.unchecked,
        drawn=_drawn(program, inputs, ready.arguments, arrays, verification),
        other_inputs=None if other is None else _other_inputs_record(other),
    )
    data: dict[str, Any] = to_data(verified)
    return data


def _drawn(
    program: Program,
    inputs: InputOptions,
    arguments: Sequence[ArgInfo],
    arrays: Sequence[Array],
    verification: Verification,
) -> tuple[DrawnArgument, ...]:
    """Return the arguments with drawn values on which the operations with the first NaNs depend."""
    findings = {check.finding for check in verification.checks if check.why and check.finding}
    causes = [check for check in findings if check.kind == "nan"]
    needed = {i for check in causes for i in arguments_of(program.traced.reference_program, check)}
    undeclared = inputs.undeclared(arguments)
    return tuple(
        DrawnArgument(
            arguments[i].name,
            arguments[i].dtype_name,
            StatisticsRecord.of(statistics(arrays[i])),
        )
        for i in sorted(needed)
        if undeclared[i]
    )


def _compared(
    on_stage: OnStage,
    program: Program,
    ready: Runnable,
    inputs: InputOptions,
    arrays: Sequence[Array],
    results: Sequence[Array],
    against: Sequence[str],
    references: Mapping[str, Sequence[Array]],
) -> tuple[Verification, OtherInputs | None]:
    """Return the comparison of the results, and of those on other inputs if the first passes."""
    on_stage("verify")
    run, on_operation = _parts(program), operation_counter(on_stage)
    verification = verify(
        program.traced,
        arrays,
        results,
        against=against,
        references=references,
        tolerances=_tolerances(program.spec.tolerance),
        allow=program.spec.tolerance.allow,
        run=run,
        seed=inputs.seed,
        coarse_products=program.units[0].kind == "gpu",
        on_operation=on_operation,
    )
    if not verification.passed:
        return verification, None
    on_stage("run on other inputs")
    other = other_inputs(
        program, ready, inputs, arrays, results, run=run, on_operation=on_operation
    )
    return verification._replace(checks=(*verification.checks, *other.failed)), other


def _parts(program: Program) -> Run:
    """Return a function that compiles parts of the program with its options."""
    spec, own = program.spec, dict(program.traced.signature.compiler_options)
    return runner(
        program.units[0].backend,
        repeats=spec.repeats,
        linalg=spec.linalg,
        compiler_options={**own, **spec.compiler_options},
        optimize=spec.optimize,
    )


def _arrays(name: str, files: Files, leaves: Sequence[ArgInfo]) -> list[Array]:
    """Return the results of another run, in the dtypes of the program's results."""
    arrays = []
    for content in files:
        x = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        arrays.append(x)
    if len(arrays) != len(leaves):
        raise GateError(
            f"{name} gives {len(arrays)} results, and the program {len(leaves)}: "
            "it is another program"
        )
    return [
        x.view(leaf.dtype) if x.dtype.kind == "V" else x
        for x, leaf in zip(arrays, leaves, strict=True)
    ]


def _tolerances(spec: ToleranceSpec) -> dict[str, Tolerance]:
    """Return the tolerances by the name of a dtype; "" is for all others."""
    tolerances = {"": Tolerance(**spec.numbers)} if spec.numbers else {}
    return tolerances | {
        name: Tolerance(**{**spec.numbers, **numbers}) for name, numbers in spec.dtypes.items()
    }


def _is_infinite(check: ResultCheck, allow: Sequence[str]) -> bool:
    """Return True if no element of a result is finite, and its tolerance forbids infinities.

    Such a result agrees with every reference that overflows too.
    """
    counts = check.statistics
    if not counts.infinities or "inf" in allow:
        return False
    return counts.nans + counts.infinities == check.comparison.size


def _is_judged(verification: Verification, allow: Sequence[str]) -> bool:
    """Return True if a passed verification compared elements, and each result has a finite one."""
    return verification.compared > 0 and not any(
        _is_infinite(check, allow) for check in verification.checks
    )


def _judged_check(check: ResultCheck, allow: Sequence[str]) -> JudgedCheck:
    return JudgedCheck(**vars(CheckRecord.of(check)), infinite=_is_infinite(check, allow))


def _other_inputs_record(other: OtherInputs) -> OtherInputsRecord:
    notes = tuple(map(CheckRecord.of, other.noted))
    return OtherInputsRecord(other.found.draws, notes, other.skipped)
