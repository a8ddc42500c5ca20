"""The node cases of ONNX's backend suite, and a run of one through `olympus.jit`.

`python -m tests.interop.onnx_models.suite` runs all, and prints the counts by operator.
"""

from __future__ import annotations

import collections
import functools
import sys
import warnings
from typing import Any

import numpy as np

import olympus
from olympus.errors import OlympusError, UsageError
from olympus_core.interop.onnx_models.model import read_model


@functools.cache
def cases() -> dict[str, Any]:
    """Return the cases by name."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():  # the generators of cases divide by zero
        warnings.simplefilter("ignore")
        return {case.name: case for case in collect_testcases(None)}


def array(value: Any) -> np.ndarray[Any, Any]:
    """Return an input or output of a case as an array."""
    from onnx import TensorProto, numpy_helper

    return np.asarray(numpy_helper.to_array(value) if isinstance(value, TensorProto) else value)


def results(case: Any, inputs: list[Any]) -> tuple[Any, ...]:
    """Compile a case's model and call it; inputs that determine shapes are constants."""
    model = read_model(case.model.SerializeToString(), case.name)
    names = [value.name for value in case.model.graph.input]
    values = dict(zip(names, map(array, inputs), strict=True))
    constants = {name: values[name] for name in model.shape_inputs}
    arguments = [values[info.name] for info in model.inputs if info.name not in constants]
    with olympus.enable_x64(True):
        outputs = olympus.jit(model.function(constants=constants))(model.parameters, *arguments)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _comparable(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values of a narrow dtype in a dtype that NumPy compares."""
    narrow = values.dtype.type.__module__.startswith("ml_dtypes")
    return values.astype("float32") if narrow else values


#: Tolerances of cases whose values in the suite have a larger error than its own tolerance.
ATOL = {"test_dft_inverse": 2e-7, "test_dft_inverse_opset19": 2e-7}


def check(case: Any) -> None:
    """Compare the results of a case with the suite's, to its tolerances."""
    for inputs, outputs in case.data_sets:
        actual = results(case, inputs)
        assert len(actual) == len(outputs)
        for result, output in zip(actual, map(array, outputs), strict=True):
            value = np.asarray(result)
            assert (value.dtype, value.shape) == (output.dtype, output.shape)
            atol = ATOL.get(case.name, case.atol)
            # the suite's own runner allows two units of the last place of bfloat16
            rtol = 2**-6 if value.dtype.name == "bfloat16" else case.rtol
            np.testing.assert_allclose(
                _comparable(value), _comparable(output), rtol=rtol, atol=atol
            )


def outcome(case: Any) -> str:
    """Return "passed", or the kind of refusal of a case; raise AssertionError for another value."""
    try:
        check(case)
    except UsageError as error:
        return refusal_kind(error)
    return "passed"


#: The kinds of refusals, each with words of its message or its hint.
KINDS = {
    "strings": ("STRING", "strings"),
    "sequences": ("sequence",),
    "optionals": ("optional",),
    "training": ("training",),
    "random numbers": ("numbers that it draws",),
    "2-bit integers": ("INT2",),
    "compressed images": ("compressed image",),
    "tree ensembles": ("TreeEnsemble",),
}


def refusal_kind(error: UsageError) -> str:
    """Return the kind of a refusal: its key in `KINDS`, or its message."""
    text = f"{error} {error.hint}"
    matches = (kind for kind, words in KINDS.items() if any(word in text for word in words))
    return next(matches, text)


def main() -> None:
    """Run all cases, and print what passed, was refused and failed."""
    counts: collections.Counter[str] = collections.Counter()
    operators: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name, case in cases().items():
        try:
            kind = outcome(case)
        except (AssertionError, OlympusError) as error:
            kind = "failed"
            sys.stdout.write(f"{name} failed: {' '.join(str(error).split())[:300]}\n")
        counts[kind] += 1
        operators[kind].update({node.op_type for node in case.model.graph.node})
    for kind, count in counts.most_common():
        used = ", ".join(sorted(operators[kind])) if kind != "passed" else f"{len(operators[kind])}"
        sys.stdout.write(f"{count:5} {kind}: operators {used}\n")


if __name__ == "__main__":
    main()
