"""Every command takes programs for several devices, of JAX, of files and of bundles."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from olympus import artifact
from olympus.interop import stablehlo
from tests.cli.frontends.test_files import COMMANDS, Invoke

JAX = """
import functools

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

mesh = AbstractMesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
rows, columns = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model"))


@functools.partial(jax.jit, in_shardings=(rows, columns))
def placed(x, w):
    return jnp.tanh(x @ w).sum()


def constrained(x, w):
    return jnp.tanh(jax.lax.with_sharding_constraint(x @ w, P("data", "model"))).sum()


def mapped(x, w):
    def body(x, w):
        return jax.lax.psum(jnp.tanh(x @ w).sum(), ("data", "model"))

    specs = P("data"), P(None, "model")
    return jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P())(x, w)


def tree(params, x):
    return params, jnp.tanh(x @ params["w"])


def init():
    return {"w": jnp.ones((8, 8))}
"""
STABLEHLO = """
module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]>
  func.func @main(
      %x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
      %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<f32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.tanh %0 : tensor<8x8xf32>
    %2 = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
    return %3 : tensor<f32>
  }
}
"""
HLO = r"""
HloModule f, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["data"=2, "model"=4]>}}

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT sum = f32[] add(x, y)
}

ENTRY main {
  x = f32[8,8] parameter(0),
    frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{\"data\"}, {}]>"}
  w = f32[8,8] parameter(1),
    frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [{}, {\"model\"}]>"}
  product = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[8,8] tanh(product)
  zero = f32[] constant(0)
  ROOT total = f32[] reduce(y, zero), dimensions={0,1}, to_apply=add
}
"""
SHAPES = "f32[8,8], f32[8,8]"
#: The file of each program, its entry and its shapes.
PROGRAMS = {
    "jax": ("j.py", "j:placed", SHAPES),
    "jax-shard-map": ("j.py", "j:mapped", SHAPES),
    "stablehlo": ("m.mlir", "m.mlir", None),
    "hlo": ("m.hlo", "m.hlo", None),
    "bundle": ("m.olympus", "m.olympus", None),
}


def content_of(file: str) -> bytes:
    if not file.endswith(".olympus"):
        return {"j.py": JAX, "m.hlo": HLO, "m.mlir": STABLEHLO}[file].encode()
    lowered = (traced := stablehlo.read(STABLEHLO.encode(), name="f")).lower()
    with TemporaryDirectory() as folder:
        path = Path(folder, "f.olympus")
        text = str(traced.olympuspr)
        compiled = lowered.compile()
        artifact.save(path, compiled, lowered=lowered, olympuspr_text=text, name="f", entry="m:f")
        return path.read_bytes()


#: The programs, with the second one of JAX at night: by day its results are compared.
ENTRIES = [
    pytest.param(name, marks=[pytest.mark.night] * (name == "jax-shard-map")) for name in PROGRAMS
]


@pytest.fixture(params=ENTRIES)
def entry(request: pytest.FixtureRequest, project: Path) -> tuple[str, ...]:
    """Write a program; return its entry and options."""
    file, entry, shapes = PROGRAMS[request.param]
    (project / file).write_bytes(content_of(file))
    return (entry, "--shapes", shapes) if shapes else (entry,)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_takes_the_entry(
    command: tuple[str, ...], entry: tuple[str, ...], invoke: Invoke
) -> None:
    name, *options = command
    result = invoke(name, *entry, *options)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("program", ENTRIES)
def test_a_target_is_built_checked_and_compared(
    program: str, project: Path, invoke: Invoke
) -> None:
    file, entry, shapes = PROGRAMS[program]
    (project / file).write_bytes(content_of(file))
    args = 'args = ["f32[8,8]", "f32[8,8]"]\n' if shapes else ""
    (project / "olympus.toml").write_text(
        f'[target.t]\nentry = "{entry}"\n{args}golden = true\nbudget.collectives = 9\n'
        'backends = ["cpu", "gpu:8xh200"]\n'
    )
    built = invoke("build")
    assert built.exit_code == 0, built.stderr
    assert "fresh" in invoke("build").stdout
    assert invoke("check", "--update").exit_code == 0
    result = invoke("check")
    assert result.exit_code == 0, result.stdout
    assert invoke("diff", "t", "t").exit_code == 0
    backends = json.loads((project / "build/t/report.json").read_text())["backends"]
    assert [(b["label"], b["devices"]) for b in backends] == [("cpu", 8), ("gpu", 8)]
    assert {axis for b in backends for row in b["axes"] for axis in row["axes"]} == {
        "data",
        "model",
    }
    document = json.loads(invoke("inspect", "build/t/t.olympus", "--json").stdout)
    assert document["manifest"]["placement"]["num_devices"] == 8
    assert document["manifest"]["placement"]["meshes"][0]["axis_names"] == ["data", "model"]
    assert invoke("run", "build/t/t.olympus").exit_code == 0


def test_the_results_are_those_of_jax(project: Path, invoke: Invoke) -> None:
    (project / "j.py").write_text(JAX)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 8, 8)).astype(np.float32)
    np.savez(project / "inputs.npz", x=x, w=w)
    want = np.tanh(x @ w).sum()
    for name in ("placed", "mapped"):
        options = ("--shapes", SHAPES, "--inputs", "inputs.npz", "--output", f"{name}.npz")
        result = invoke("run", f"j:{name}", *options)
        assert result.exit_code == 0, result.stderr
        (got,) = np.load(project / f"{name}.npz").values()
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_the_mesh_and_shardings_of_a_target_are_those_of_a_jax_function(
    project: Path, invoke: Invoke
) -> None:
    (project / "j.py").write_text(JAX)
    (project / "olympus.toml").write_text(
        '[target.c]\nentry = "j:constrained"\nmesh = { data = 2, model = 4 }\n'
        'args.x = { shape = "f32[8,8]", sharding = ["data"] }\nargs.w = "f32[8,8]"\n'
        "out-sharding = []\n"
        '[target.t]\nentry = "j:tree"\nfrontend = "jax"\nmesh = { data = 2, model = 4 }\n'
        'args.params = { from = "j:init", sharding = ["", "model"] }\nargs.x = "f32[8,8]"\n'
        'out-sharding = { 1 = ["data"] }\n'
    )
    lowered = invoke("lower", "c").stdout
    assert '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}' in lowered
    assert 'sdy.sharding_constraint %0 <@mesh, [{"data"}, {"model"}]>' in lowered
    lowered = invoke("lower", "t").stdout
    assert (
        '%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}' in lowered
    )
    assert (
        'olympus.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"data"}'
        in lowered
    )
    assert invoke("verify", "c", "t").exit_code == 0


@pytest.mark.night
def test_shardings_of_a_jax_function_are_ranked(project: Path, invoke: Invoke) -> None:
    (project / "j.py").write_text(JAX)
    (project / "olympus.toml").write_text(
        '[target.t]\nentry = "j:tree"\nfrontend = "jax"\nmesh = { data = 2, model = 4 }\n'
        'args.params = { from = "j:init", sharding = ["", "model"] }\nargs.x = "f32[8,8]"\n'
    )
    shard = invoke("shard", "t", "--mesh", "data=2,model=4")
    assert shard.exit_code == 0, shard.stderr
    assert 'x ["data"]' in shard.stdout


def wrong(project: Path, invoke: Invoke, text: str, *command: str) -> tuple[int, str]:
    (project / "j.py").write_text(JAX)
    (project / "olympus.toml").write_text(text)
    result = invoke(*(command or ("build", "t")))
    return result.exit_code, result.stderr


ARGS = 'args.x = "f32[8,8]"\nargs.w = "f32[8,8]"\n'


def test_a_mesh_of_another_size_than_that_of_the_function_is_an_error(
    project: Path, invoke: Invoke
) -> None:
    mesh = f'[target.t]\nentry = "j:placed"\nmesh = {{ data = 2, model = 2 }}\n{ARGS}'
    code, message = wrong(project, invoke, mesh, "trace", "t")
    assert code == 2
    assert "t has a mesh of 4 devices, and its function needs 8" in message
    assert "olympus.toml:3" in message


def test_a_size_that_the_axis_does_not_divide_is_at_the_function(
    project: Path, invoke: Invoke
) -> None:
    args = ARGS.replace("8,8]", "7,8]", 1)
    code, message = wrong(project, invoke, f'[target.t]\nentry = "j:placed"\n{args}', "trace", "t")
    assert code == 3
    assert "partitioned 2 times, but the dimension size is 7" in message
    assert "j.py:12" in message


def test_a_mesh_larger_than_the_devices_is_an_error(
    project: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLYMPUS_NUM_CPU_DEVICES", "8")
    larger = JAX.replace("(2, 4)", "(4, 4)")
    (project / "j.py").write_text(larger)
    result = invoke("run", "j:placed", "--shapes", SHAPES.replace("8", "16"))
    assert result.exit_code == 6
    assert "is a program of 16 devices, and there are 8" in result.stderr
    assert "OLYMPUS_NUM_CPU_DEVICES=16" in result.stderr
    result = invoke(
        "compile", "j:placed", "--shapes", SHAPES, "--backend", "gpu", "--device", "8xh200",
        "--output", "there",
    )  # fmt: skip
    assert result.exit_code == 3
    assert "the topology 1x8 of h200 has 8" in result.stderr


def test_an_axis_that_the_mesh_lacks_is_at_the_users_line(project: Path, invoke: Invoke) -> None:
    text = f'[target.t]\nentry = "j:constrained"\nmesh = {{ data = 8 }}\n{ARGS}'
    code, message = wrong(project, invoke, text, "trace", "t")
    assert code == 3
    assert "model" in message
    assert "j.py:18" in message


def test_a_file_has_its_own_mesh(project: Path, invoke: Invoke) -> None:
    (project / "m.mlir").write_text(STABLEHLO)
    (project / "olympus.toml").write_text(
        '[target.t]\nentry = "m.mlir"\nmesh = { data = 2, model = 4 }\n'
    )
    result = invoke("trace", "t")
    assert result.exit_code == 2
    assert "mesh is for a function, and m.mlir has its own" in result.stderr


def test_hlo_with_shardings_of_gspmd_is_for_a_mesh(project: Path, invoke: Invoke) -> None:
    hlo = (
        "HloModule f, num_partitions=8\n\nENTRY main {\n"
        "  x = f32[8] parameter(0), sharding={devices=[8]<=[8]}\n"
        "  ROOT y = f32[8] tanh(x)\n}\n"
    )
    (project / "m.hlo").write_text(hlo)
    result = invoke("lower", "m.hlo")
    assert result.exit_code == 0, result.stderr
    assert 'sdy.mesh @mesh = <["axis_0"=8]>' in result.stdout
    assert invoke("run", "m.hlo").exit_code == 0
    (project / "m.hlo").write_text(hlo.replace("devices=[8]<=[8]", "maximal device=3"))
    assert invoke("run", "m.hlo").exit_code == 0  # without a split, it is a program of one device
    (project / "m.hlo").write_text(hlo.replace("[8]<=[8]", "[8]7,6,5,4,3,2,1,0"))
    result = invoke("cost", "m.hlo")
    assert result.exit_code == 2
    assert "has the sharding {devices=[8]" in result.stderr


def test_a_mesh_of_more_devices_than_jax_has_is_an_error_with_a_hint(
    project: Path, invoke: Invoke
) -> None:
    (project / "k.py").write_text('import jax\n\nmesh = jax.make_mesh((4, 8), ("x", "y"))\n')
    result = invoke("run", "k:f")
    assert result.exit_code == 2
    assert "k.py:3" in result.stderr
    assert "put JAX_NUM_CPU_DEVICES=32 before the command" in result.stderr
