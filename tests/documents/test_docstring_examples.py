"""Library functions have examples in their docstrings, which print what follows them."""

import doctest
import importlib
import inspect
import re
from types import ModuleType

import numpy as np
import pytest

import olympus as ox

#: functions whose examples use names that they do not define, such as a mesh
SKETCHES = {"cond", "pcast", "pvary", "with_sharding_constraint"}

MODULES = [
    "lax",
    "lax.linalg",
    "nn",
    "nn.initializers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "ops",
    "random",
    "scipy.linalg",
    "scipy.special",
    "scipy.stats.norm",
    "tree",
    "tree_util",
]

SHARED = {
    **{name: getattr(ox, name) for name in ("jit", "grad", "vmap", "lax", "ops")},
    **{name: getattr(ox.numpy, name) for name in ("array", "asarray", "arange", "eye", "dot")},
    **{name: getattr(ox.numpy, name) for name in ("inf", "nan", "ones", "triu", "zeros")},
    **{name: getattr(ox.tree, name) for name in ("leaves", "structure", "flatten_with_path")},
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


def _module(name: str) -> ModuleType:
    parent, _, last = f"olympus.{name}".rpartition(".")
    return getattr(importlib.import_module(parent), last)


def _examples(name: str) -> list[doctest.DocTest]:
    module = _module(name)
    parser, tests = doctest.DocTestParser(), []
    for public, value in vars(module).items():
        if public.startswith("_") or not callable(value) or ">>>" not in (value.__doc__ or ""):
            continue
        origin = inspect.unwrap(value).__module__
        if inspect.isclass(value) or public in SKETCHES or not origin.startswith("olympus"):
            continue
        source = vars(importlib.import_module(origin))
        names = vars(module) | source | SHARED | {public: value}
        tests.append(parser.get_doctest(value.__doc__, names, f"{name}.{public}", None, None))
    return tests


@pytest.mark.parametrize("name", MODULES)
def test_every_function_has_an_example(name):
    public = {k: v for k, v in vars(_module(name)).items() if not k.startswith("_")}
    functions = {k: v for k, v in public.items() if inspect.isroutine(v)}
    assert functions
    assert [k for k, v in functions.items() if ">>>" not in (v.__doc__ or "")] == []


@pytest.mark.night
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_functions_run(name):
    report = []
    examples = _examples(name)
    for example in examples:
        runner = doctest.DocTestRunner(Checker(), optionflags=doctest.ELLIPSIS)
        runner.run(example, out=report.append)
    assert examples
    assert not report, "".join(report)
