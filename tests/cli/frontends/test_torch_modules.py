"""Targets whose entry is a module of PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import Result

from olympus.errors import EntryError, TraceError
from olympus_cli.frontends import loading, torch_modules
from olympus_cli.spec.resolve import Request

Invoke = Callable[..., Result]
needs_torch = pytest.mark.torch

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x, scale: float = 1.0, *, shift=None):
        y = self.linear(x) * scale
        return y if shift is None else y + shift


class Noise(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


def made():
    return Net()


def shifts(n):
    return {"shift": torch.ones(n, 2)}["shift"]


net = Net()
nn.init.constant_(net.linear.weight, 2.0)
nn.init.constant_(net.linear.bias, 1.0)
noise = Noise()
"""
TOML = """
[target.net]
entry = "net:net"
args.x = "f32[4,3]"
inputs.x = { range = [1, 1.0000001] }

[target.filled]
entry = "net:net"
args.x = "f32[4,3]"
args.shift = { from = "net:shifts", with = { n = 4 } }
static.scale = 3.0
inputs.params = { file = "weights.safetensors" }
inputs.x = { range = [1, 1.0000001] }
inputs.shift = { range = [5, 5.000001] }

[target.made]
entry = "net:made"
frontend = "torch"
args = ["f32[4,3]"]
"""


@pytest.fixture
def net(project: Path) -> Path:
    (project / "net.py").write_text(NET)
    (project / "olympus.toml").write_text(TOML)
    return project


def results(invoke: Invoke, folder: Path, *args: str) -> np.ndarray:
    result = invoke("run", *args, "--output", str(folder / "out.npz"))
    assert result.exit_code == 0, result.stderr
    return np.load(folder / "out.npz")["result"]


@needs_torch
def test_arguments_without_inputs_have_the_values_of_the_module(net: Path, invoke: Invoke) -> None:
    np.testing.assert_allclose(results(invoke, net, "net"), np.full((4, 2), 7), rtol=1e-6)
    np.savez(net / "in.npz", x=np.zeros((4, 3), "float32"))
    assert results(invoke, net, "net", "--inputs", "in.npz").tolist() == [[1, 1]] * 4
    bias = {"x": np.zeros((4, 3), "float32"), "params['linear.bias']": np.zeros(2, "float32")}
    np.savez(net / "in.npz", **bias)
    assert results(invoke, net, "net", "--inputs", "in.npz").tolist() == [[0, 0]] * 4


@needs_torch
def test_a_file_has_the_names_of_the_state_dict(net: Path, invoke: Invoke) -> None:
    from safetensors.numpy import save_file

    weights = {"linear.weight": np.ones((2, 3), "float32"), "linear.bias": np.ones(2, "float32")}
    save_file(weights, net / "weights.safetensors")
    values = results(invoke, net, "filled")
    np.testing.assert_allclose(values, np.full((4, 2), 3 * 4 + 5), rtol=1e-6)
    save_file({"linear.weight": weights["linear.weight"]}, net / "weights.safetensors")
    result = invoke("run", "filled")
    assert (result.exit_code, "lacks 'linear.bias'" in result.stderr) == (2, True)


@needs_torch
def test_a_function_returns_the_module(net: Path, invoke: Invoke) -> None:
    assert results(invoke, net, "made").shape == (4, 2)


@needs_torch
@pytest.mark.parametrize(
    ("entry", "options", "code", "message"),
    [
        ("net:noise", ("--shapes", "x=f32[2]"), 3, "operator aten.rand.default is not supported"),
        ("net:net", ("--shapes", "y=f32[4,3]"), 2, "Net.forward has no argument 'y'"),
        ("net:net", ("--shapes", "f32[4,5]"), 3, "a and b must have same reduction dim"),
    ],
)
def test_mistakes(
    entry: str, options: tuple[str, ...], code: int, message: str, net: Path, invoke: Invoke
) -> None:
    result = invoke("trace", entry, *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.startswith("error: "), "PyTorch logs nothing"
    if code == 3:
        assert "net.py:" in result.stderr


class Module:
    """In the place of `torch.nn.Module`."""

    def forward(self, x):
        return x

    def __call__(self, x):
        return self.forward(x)


@pytest.fixture
def fake(net: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without PyTorch, in which `Module` is the class of its modules."""
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(nn=SimpleNamespace(Module=Module)))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (net / "fake.py").write_text(
        "from tests.cli.frontends.test_torch_modules import Module\n"
        "module, number = Module(), 3\n"
        "def made(): return Module()\n"
        "def wrong(): return 3\n"
        "def needs(n): return Module()\n"
        "def fails(): raise ValueError('no weights')\n"
        "class Sized(Module):\n    def __init__(self, n): pass\n"
    )
    names = ("module", "made", "wrong", "needs", "fails", "number", "Sized")
    target = '[target.{0}]\nentry = "fake:{0}"\nfrontend = "torch"\nargs = ["f32[2]"]\n'
    (net / "olympus.toml").write_text("".join(map(target.format, names)))
    return net


def test_a_module_is_a_program_of_pytorch(fake: Path) -> None:
    for request in (Request("fake:module", shapes="x=f32[2]"), Request("made")):
        source = loading.load_target(request.spec())
        assert isinstance(source, torch_modules.TorchModule)
        assert source.name == "Module.forward"
        assert source.binding.names == ("x",)
        assert source.definition is not None
        assert source.definition.startswith(__file__)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "fake:number is a value of type int, not a module of PyTorch"),
        ("wrong", "fake:wrong returns a value of type int, not a module of PyTorch"),
        ("needs", "fake:needs is a function with arguments, not a module of PyTorch"),
        ("Sized", "fake:Sized is a class with arguments, not a module of PyTorch"),
    ],
)
def test_an_entry_that_is_no_module(name: str, message: str, fake: Path) -> None:
    with pytest.raises(EntryError) as error:
        loading.load_target(Request(name).spec())
    assert message in str(error.value)


def test_a_function_that_fails(fake: Path) -> None:
    with pytest.raises(TraceError, match="fails raised ValueError while it ran: no weights"):
        loading.load_target(Request("fails").spec())


def test_nothing_is_a_module_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not torch_modules.is_torch_module(Module())
