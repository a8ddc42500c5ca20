"""Public functions have examples in their docstrings, which print what follows them."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

import olympus as ox

#: functions whose examples use names that they do not define, such as a mesh or a file
SKETCHES = {
    *("olympus.analysis.by_axes", "olympus.analysis.profile", "olympus.verification.judge_ranges"),
    *("olympus.artifact.load", "olympus.artifact.sign", "olympus.artifact.update_sources"),
    *("olympus.lax.pcast", "olympus.lax.pvary"),
    *(f"olympus.api_util.{n}" for n in ["argnums_partial", "flatten_fun", "flatten_fun_nokwargs"]),
    *(f"olympus.extend.core.{n}" for n in ["call_impl"]),
    *(f"olympus.extend.linear_util.{n}" for n in ["merge_linear_aux"]),
    *(
        f"olympus.ffi.{n}"
        for n in [
            "build_ffi_lowering_function",
            "ffi_call",
            "ffi_lowering",
            "include_dir",
            "pycapsule",
            "register_ffi_target",
            "register_ffi_type",
            "register_ffi_type_id",
        ]
    ),
    *(
        f"olympus.interpreters.ad.{n}"
        for n in ["defbilinear", "defjvp", "defjvp2", "deflinear", "deflinear2"]
    ),
    *(
        f"olympus.interpreters.batching.{n}"
        for n in ["defbroadcasting", "defreducer", "defvectorized"]
    ),
    *(
        f"olympus.interpreters.mlir.{n}"
        for n in [
            "core_call_lowering",
            "flatten_ir_types",
            "flatten_ir_values",
            "ir_constant",
            "ir_constants",
            "jaxpr_subcomp",
            "lower_fun",
            "lower_jaxpr_to_fun",
            "merge_mlir_modules",
            "register_lowering",
            "shape_tensor",
            "unflatten_ir_values_like_types",
        ]
    ),
    *(
        f"olympus.interpreters.partial_eval.{n}"
        for n in ["trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits"]
    ),
    *(f"olympus.interpreters.xla.{n}" for n in ["apply_primitive"]),
    "olympus.profiler.register_subprocess",
}

MODULES = ["olympus", *(m.name for m in pkgutil.walk_packages(ox.__path__, "olympus."))]

#: modules, and their names that examples of other modules use
_USED = {
    ox: "NamedSharding P Target device_put devices grad jit jvp lax make_jaxpr make_mesh ops "
    "set_mesh typeof vmap",
    ox.numpy: "arange array asarray cos dot eye inf nan ones sin triu zeros",
    ox.stages: "device_model",
    ox.tree: "flatten_with_path leaves structure",
}
SHARED = {
    **{name: getattr(module, name) for module, text in _USED.items() for name in text.split()},
    "LineBytes": ox.analysis.LineBytes,
    "Path": Path,
    "ox": ox,
    "np": np,
    "numpy": ox.numpy,
    "key": ox.random.key,
}

_NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")


class Checker(doctest.OutputChecker):
    """Accepts numbers that differ in the last digits, which depend on the processor."""

    def check_output(self, want, got, optionflags):
        texts = ["".join(_NUMBER.sub("#", text).split()) for text in (want, got)]
        numbers = [np.array(_NUMBER.findall(text), float) for text in (want, got)]
        close = texts[0] == texts[1] and np.allclose(*numbers, rtol=1e-4, atol=1e-30)
        return close or super().check_output(want, got, optionflags)


def _public(name):
    """Return the public names of a module with their values; some are imported at first use."""
    module = importlib.import_module(name)
    return {key: getattr(module, key) for key in dir(module) if not key.startswith("_")}


def _examples(name):
    parser, tests, public = doctest.DocTestParser(), [], _public(name)
    for key, value in public.items():
        origin = inspect.unwrap(value).__module__ if inspect.isroutine(value) else ""
        if not origin.startswith("olympus") or f"{name}.{key}" in SKETCHES:
            continue
        names = public | vars(importlib.import_module(origin)) | SHARED | {key: value}
        tests.append(parser.get_doctest(value.__doc__, names, f"{name}.{key}", None, None))
    return tests


@pytest.mark.parametrize("name", MODULES)
def test_every_function_has_an_example(name):
    functions = {key: value for key, value in _public(name).items() if inspect.isroutine(value)}
    assert [key for key, value in functions.items() if ">>>" not in (value.__doc__ or "")] == []


# the examples of interop use models of other libraries
@pytest.mark.night
@pytest.mark.parametrize("name", [name for name in MODULES if ".interop" not in name])
def test_the_examples_of_functions_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some examples write files
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = []
    for example in _examples(name):
        runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
        runner.run(example, out=report.append)
    assert not report, "".join(report)
