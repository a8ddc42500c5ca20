"""Modules of PyTorch, traced for types and compiled by OLYMPUS."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import olympus
from olympus.errors import OlympusWarning, TraceError, UsageError
from olympus.interop.torch import result_types, state, trace

pytestmark = pytest.mark.torch

Struct = olympus.ShapeDtypeStruct
X = Struct((4, 4), "float32")
#: The arguments of each network.
NETWORKS = {
    "Transformer": Struct((2, 5), "int32"),
    "ResNet": Struct((2, 3, 8, 8), "float32"),
    "Recurrent": Struct((2, 4, 6), "float32"),
}


@pytest.fixture(scope="module")
def torch() -> Any:
    return importlib.import_module("torch")


@pytest.fixture(scope="module")
def networks() -> Any:
    return importlib.import_module("tests.interop.torch_networks")


@pytest.fixture(scope="module")
def traced(networks: Any) -> dict[str, tuple[Any, olympus.stages.Traced]]:
    """The networks of `NETWORKS`, each with its traced program."""
    found = {}
    for name, struct in NETWORKS.items():
        module = networks.initialized(getattr(networks, name)())
        found[name] = module, trace(module, [struct])
        assert module.training, "its mode is as before"
    return found


def values(struct: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    if struct.dtype.kind == "i":
        return rng.integers(0, 8, struct.shape).astype(struct.dtype)
    return rng.normal(size=struct.shape).astype(struct.dtype)


def line_of(function: Any, text: str) -> str:
    lines, start = inspect.getsourcelines(function)
    number = next(i for i, line in enumerate(lines) if text in line)
    return f"{inspect.getsourcefile(function)}:{start + number}"


@pytest.mark.parametrize("name", NETWORKS)
def test_the_results_are_those_of_pytorch(name: str, traced: Any, torch: Any) -> None:
    module, program = traced[name]
    x = values(NETWORKS[name])
    result = program.lower().compile()(*state(module).values(), x)
    with torch.no_grad():
        expected = module.eval()(torch.from_numpy(x))
    module.train()
    if isinstance(expected, dict):
        expected = dict(sorted(expected.items()))
    pairs = zip(olympus.tree.leaves(result), torch.utils._pytree.tree_leaves(expected), strict=True)
    for array, tensor in pairs:
        assert array.dtype == tensor.numpy().dtype
        np.testing.assert_allclose(np.asarray(array), tensor.numpy(), rtol=2e-5, atol=2e-5)


def test_the_arguments_are_the_state_and_those_of_forward(traced: Any) -> None:
    module, program = traced["Transformer"]
    assert program.fun_name == "Transformer"
    names = program.arg_names
    assert names[-2:] == ("buffers['offset']", "tokens")
    assert "params['layers.0.attention.qkv.weight']" in names
    assert "params['tokens.weight']" in names
    assert "params['head.weight']" not in names, "it is the same tensor"
    assert program.result_names == ("result['hidden']", "result['logits']")
    arrays = {f"{a}[{n!r}]": x for a, group in state(module).items() for n, x in group.items()}
    assert {(x.name, x.shape, x.dtype) for x in program.arguments[:-1]} == {
        (name, array.shape, array.dtype) for name, array in arrays.items()
    }
    assert "params['norms.0.running_mean']" in traced["ResNet"][1].arg_names
    assert traced["Recurrent"][1].result_names == ("result[0]", "result[1][0]", "result[1][1]")


def test_weights_are_no_constants(traced: Any) -> None:
    for _, program in traced.values():
        sizes = [np.asarray(x).size for x in program.olympuspr.consts]
        assert max(sizes, default=0) < 100


def test_the_cost_is_at_the_users_lines_and_at_the_parts_of_the_module(
    traced: Any, networks: Any
) -> None:
    cost = traced["Transformer"][1].cost()
    lines = {row.key for row in cost.by("line") if row.flops}
    assert line_of(networks.Attention.forward, "self.qkv(x)") in lines
    files = {line.rpartition(":")[0] for line in lines}
    assert files == {inspect.getsourcefile(networks)}
    scopes = {row.key for row in cost.by("scope")}
    assert {"layers.0.attention.qkv", "layers.1.attention", "layers.1.down", "head"} <= scopes


@pytest.mark.parametrize("name", NETWORKS)
def test_programs_are_compiled_for_a_gpu(name: str, traced: Any) -> None:
    target = olympus.Target("gpu", "h200")
    assert traced[name][1].lower(target).compile().estimate().seconds > 0


def test_statics_arrays_by_name_and_the_name_of_an_argument(networks: Any, torch: Any) -> None:
    module = networks.initialized(networks.Optional())
    with pytest.warns(OlympusWarning, match="changes 'calls', and the program returns only"):
        program = trace(module, [X, 2.0], {"mask": Struct((4, 4), "bool")})
    assert program.arg_names[-2:] == ("params", "mask")
    assert "params_['linear.bias']" in program.arg_names
    x, mask = values(X), values(X) > 0
    result = program.lower().compile()(*state(module).values(), x, mask=mask)
    expected = module(torch.from_numpy(x), 2.0, mask=torch.from_numpy(mask))
    np.testing.assert_allclose(np.asarray(result), expected.detach().numpy(), rtol=1e-5)
    with pytest.warns(OlympusWarning):
        assert trace(module, [X], {"mask": None}).arg_names[-1] == "params"


def test_products_have_the_precision_of_pytorch(networks: Any, torch: Any) -> None:
    module = networks.nn.Linear(4, 4)
    assert "precision = [HIGHEST, HIGHEST]" in trace(module, [X]).lower().as_text()
    torch.set_float32_matmul_precision("high")
    try:
        assert "HIGHEST" not in trace(module, [X]).lower().as_text()
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_donated_argument(networks: Any) -> None:
    program = trace(networks.nn.ReLU(), [X], donate_argnames=["input"])
    assert program.donate_argnums == (0,)


def test_numbers_of_64_bits(networks: Any) -> None:
    narrow = trace(networks.Dtypes(), [X])
    assert [x.dtype_name for x in narrow.results] == [
        *("int32", "int32", "float32", "bfloat16", "bool")
    ]
    with olympus.enable_x64(True):
        wide = trace(networks.Dtypes(), [Struct((4, 4), "float64")])
        assert [x.dtype_name for x in wide.results[:3]] == ["int64", "int64", "float64"]
        x = np.eye(4)
        assert np.asarray(wide.lower().compile()(x)[0]).tolist() == [0, 1, 2, 3]


def test_the_state_of_narrow_dtypes_and_of_the_device_meta(torch: Any) -> None:
    module = torch.nn.Linear(3, 2).to(torch.bfloat16)
    bias = state(module)["params"]["bias"]
    assert bias.dtype == ml_dtypes.bfloat16
    assert bias.astype("float32").tolist() == module.bias.float().tolist()
    with torch.device("meta"):
        large = torch.nn.Linear(100_000, 100_000)
    assert state(large) == {"params": {}}
    program = trace(large, [Struct((1, 100_000), "float32")])
    assert program.arguments[1].shape == (100_000, 100_000)


def test_types_of_results(torch: Any) -> None:
    types = result_types(lambda: {"a": torch.zeros(100_000, 100_000), "b": (torch.arange(2),)})
    assert types["a"].shape == (100_000, 100_000)
    assert types["b"][0].dtype == np.dtype("int32")


def test_an_operator_without_a_conversion(networks: Any) -> None:
    with pytest.raises(TraceError) as error:
        trace(networks.Noise(), [X])
    assert str(error.value) == (
        "the PyTorch operator aten.rand.default is not supported, in the module parts.1"
    )
    assert error.value.location == line_of(networks.Noise.Part.forward, "# the operator")


def test_a_shape_that_depends_on_values(networks: Any) -> None:
    with pytest.raises(TraceError, match=r"a result of the PyTorch operator aten\.nonzero"):
        trace(networks.Nonzero(), [X])


def test_a_branch_on_a_value(networks: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TraceError, match="Branch needs the value of a tensor in Python") as error:
        trace(networks.Branch(), [X])
    lines = [(f.filename, f.lineno) for f in inspect.getinnerframes(error.value.__traceback__)]
    assert "{}:{}".format(*lines[0]) != line_of(networks.Branch.forward, "# the branch")
    assert line_of(networks.Branch.forward, "# the branch") in map("{0[0]}:{0[1]}".format, lines)
    assert capfd.readouterr() == ("", "")


def test_dtypes_that_are_not_supported(networks: Any, torch: Any) -> None:
    with pytest.raises(UsageError, match="a PyTorch module cannot have the dtype int4"):
        trace(networks.Nonzero(), [Struct((3,), "int4")])
    module = torch.nn.Module()
    module.register_buffer("x", torch.zeros(3, dtype=torch.float8_e8m0fnu))
    with pytest.raises(UsageError, match=r"tensors of torch\.float8_e8m0fnu are not supported"):
        state(module)
