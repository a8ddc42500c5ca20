"""`olympus export --format wheel`: its files, its module, its names, and its installation."""

from __future__ import annotations

import base64
import csv
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus.errors import ArtifactError, UsageError
from olympus_cli.export.options import ExportOptions
from olympus_cli.export.wheel import export_wheel, write_wheel
from tests.artifact import test_buckets
from tests.artifact.bundles import change_manifest, python, save, struct

Invoke = Callable[..., Result]
ROOT = Path(__file__).parents[3]
WHEEL = "net-1.0-py3-none-any.whl"


def scaled(params: dict[str, Any], x: Any, *, scale: Any) -> Any:
    return [x * params["w"] * scale], {"n": x.sum()}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "net.olympus"
    args = ({"w": struct(3)}, struct(2, 3))
    traced = olympus.jit(scaled).trace(*args, scale=struct(dtype="bfloat16"))
    return save(path, traced, name="net@size=3", entry="net:scaled")


def test_a_wheel_has_its_files_and_their_digests(bundle: Path, tmp_path: Path) -> None:
    path = export_wheel(bundle, tmp_path / "dist", ExportOptions())
    assert path == tmp_path / "dist" / WHEEL
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert members["net/net.olympus"] == bundle.read_bytes()
    (record,) = (name for name in members if name.endswith("/RECORD"))
    rows = {name: row for name, *row in csv.reader(members[record].decode().splitlines())}
    assert rows.keys() == members.keys() and rows.pop(record) == ["", ""]
    for name, (digest, size) in rows.items():
        sha = hashlib.sha256(members[name]).digest()
        assert digest == f"sha256={base64.urlsafe_b64encode(sha).decode().rstrip('=')}"
        assert int(size) == len(members[name])
    metadata = members["net-1.0.dist-info/METADATA"].decode().splitlines()
    assert f"Requires-Dist: olympus-runtime (>={olympus.__version__})" in metadata
    assert "Tag: py3-none-any" in members["net-1.0.dist-info/WHEEL"].decode()


def test_the_same_bundle_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    first, second = (write_wheel(bundle, each, "net", "f", "2.1rc1") for each in folders)
    assert first.name == "net-2.1rc1-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()


def test_the_module_calls_the_program(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(bundle, tmp_path, "net", "f", "1.0")) as archive:
        archive.extractall(tmp_path)
    source = """
import inspect, sys
import net
assert net.__all__ == ["f"] and "olympus_runtime" not in sys.modules and "numpy" not in sys.modules
print(inspect.signature(net.f))
assert "params['w']: float32[3]" in net.f.__doc__ and "scale: bfloat16[]" in net.f.__doc__
import ml_dtypes, numpy as np
x = np.ones((2, 3), "float32")
(y,), parts = net.f({"w": np.arange(3, dtype="float32")}, x, scale=ml_dtypes.bfloat16(2))
print(y.tolist(), float(parts["n"]), "olympus_core" in sys.modules)
try:
    net.f(x, x, scale=ml_dtypes.bfloat16(2))
except TypeError as error:
    print(error)
"""
    assert python(source, tmp_path).splitlines() == [
        "(params, x, *, scale)",
        "[[0.0, 2.0, 4.0], [0.0, 2.0, 4.0]] 6.0 False",
        "'scaled' cannot be called with these arguments: params must be a dict, and is a ndarray",
    ]


def test_type_checkers_know_the_arrays(bundle: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(bundle, tmp_path, "net", "f", "1.0")) as archive:
        stub = archive.read("net/__init__.pyi").decode()
    assert (
        "def f(params: dict[str, _Array[_np.float32]], x: _Array[_np.float32], *, "
        "scale: _Array[_np.generic]) -> tuple[list[_Array[_np.float32]], "
        "dict[str, _Array[_np.float32]]]: ..." in stub
    )
    compile(stub, "net.pyi", "exec")


def test_parameters_without_a_name_are_positional(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lambda *xs: xs[0] + xs[1]).trace(1.0, 2.0))
    with zipfile.ZipFile(write_wheel(path, tmp_path, "net", "np", "1.0")) as archive:
        archive.extractall(tmp_path)
    assert python("import net; print(net.np(1.0, 2.0))", tmp_path) == "3.0\n"


def test_a_bundle_of_several_numbers_of_rows(tmp_path: Path) -> None:
    """The mask of padded rows is no parameter."""
    path = test_buckets.joined(tmp_path)
    with zipfile.ZipFile(export_wheel(path, tmp_path, ExportOptions(module="net"))) as archive:
        archive.extractall(tmp_path)
    source = """
import inspect, net, numpy as np
print(inspect.signature(net.model))
print(net.model.__doc__.splitlines()[2].strip())
assert "x: float32[b,4]" in net.model.__doc__ and "valid" not in net.model.__doc__
assert "result['twice']: float32[2,2*b,2]" in net.model.__doc__, net.model.__doc__
for rows in (1, 3, 16):
    print(net.model(np.zeros((4, 3), "float32"), np.ones((rows, 4), "float32"))["rows"].shape)
"""
    assert python(source, tmp_path).splitlines() == [
        "(w, x)",
        "b is any number of rows up to 16; more are an error.",
        *("(1, 3)", "(3, 3)", "(16, 3)"),
    ]


NAMES = {
    ("my-net", "f"): "a module cannot be named 'my-net': it is not an identifier",
    ("class", "f"): "a module cannot be named 'class': it is a keyword of Python",
    ("json", "f"): "a module cannot be named 'json': Python's standard library has a module",
    ("numpy", "f"): "a module cannot be named 'numpy': the package needs another module",
    ("net", "<lambda>"): "a function cannot be named '<lambda>': it is not an identifier",
    ("net", "_f"): "a function cannot be named '_f': it starts with an underscore",
}


@pytest.mark.parametrize("names", NAMES)
def test_names_that_python_cannot_import(
    bundle: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    with pytest.raises(UsageError, match=NAMES[names]) as caught:
        write_wheel(bundle, tmp_path, *names, "1.0")
    assert str(caught.value.hint).startswith("choose one with --")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("version", ["new", "1.0-2", "v1", ""])
def test_versions_that_pip_refuses(bundle: Path, tmp_path: Path, version: str) -> None:
    with pytest.raises(UsageError, match="is not the version of a package"):
        write_wheel(bundle, tmp_path, "net", "f", version)


def test_a_damaged_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / "net.olympus"
    copy.write_bytes(bundle.read_bytes())
    change_manifest(copy, lambda data: data.pop("entry"))
    with pytest.raises(ArtifactError, match="has no 'entry'"):
        export_wheel(copy, tmp_path, ExportOptions())


def test_the_command(project: Path, invoke: Invoke) -> None:
    args = ("export", "model:add", "--shapes", "f32[2], f32[2]", "--format", "wheel")
    result = invoke(*args, "--module", "adder", "--wheel-version", "0.3", "-o", "dist")
    assert result.exit_code == 0, result.stderr
    assert result.stderr.endswith("wrote dist/adder-0.3-py3-none-any.whl\n")
    assert Path("dist/adder-0.3-py3-none-any.whl").is_file()
    wrong = invoke("export", "model:add", "--format", "c", "--module", "adder")
    assert wrong.exit_code == 2 and "--module is for --format wheel" in wrong.stderr
    Path("file").write_text("")
    refused = invoke(*args, "-o", "file")
    assert refused.exit_code == 2 and "file is a file, and --format wheel" in refused.stderr


def test_the_command_takes_a_bundle_of_several_numbers_of_rows(
    project: Path, invoke: Invoke, tmp_path: Path
) -> None:
    test_buckets.joined(tmp_path, test_buckets.rows_alone).rename("rows.olympus")
    result = invoke("export", "rows.olympus", "--format", "wheel", "--module", "rows")
    assert result.exit_code == 0, result.stderr
    assert Path("rows-1.0-py3-none-any.whl").is_file()


@pytest.mark.night
def test_pip_installs_the_wheel_and_the_runtime(bundle: Path, tmp_path: Path) -> None:
    """In a fresh environment that has NumPy and jaxlib, and no index."""
    wheels, venv = tmp_path / "wheels", tmp_path / "venv"
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT / "runtime")]
    subprocess.run(build, check=True)
    (runtime,) = wheels.glob("olympus_runtime-*.whl")
    with zipfile.ZipFile(runtime) as archive:
        tops = {name.partition("/")[0].partition("-")[0] for name in archive.namelist()}
    assert tops == {"olympus_bundle", "olympus_runtime"}
    model = write_wheel(bundle, wheels, "net", "scaled", "1.0")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    own = next(venv.glob("lib/*/site-packages"))
    (own / "packages.pth").write_text(str(Path(np.__file__).parents[1]))
    install = [*pip, "--python", str(venv / "bin/python"), "install", "-q", "--no-index"]
    subprocess.run([*install, "--find-links", str(wheels), str(model)], check=True)
    source = """
import numpy as np, ml_dtypes, olympus_runtime
from net import scaled
x = np.ones((2, 3), "float32")
print(scaled({"w": x[0]}, x, scale=ml_dtypes.bfloat16(2))[0][0].sum(), olympus_runtime.__file__)
"""
    command = [str(venv / "bin/python"), "-I", "-c", source]
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    total, file = output.stdout.split()
    assert float(total) == 12.0 and Path(file).is_relative_to(venv)
