"""Bundles of programs for several devices: how they are saved, loaded, called and refused."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import artifact, lax
from olympus.errors import (
    ArtifactError,
    BackendError,
    DeletedArrayError,
    ShardingError,
    SignatureError,
    UsageError,
)
from olympus.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from olympus_core.placement.chosen_sharding import TiledSharding
from olympus_core.placement.sharding import Tiling
from tests.artifact.bundles import change_manifest, members_of, python, save, struct
from tests.marks import needs_gpu_compiler

SCHEMA = json.loads((files("olympus_core.artifact") / "bundle.schema.json").read_text())
EARLIER = Path(__file__).with_name("earlier_bundle.zip")
P = PartitionSpec
ABSTRACT = AbstractMesh((2, 4), ("data", "model"))
RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 16)).astype(np.float32)
W = {
    "up": RNG.standard_normal((16, 32)).astype(np.float32),
    "down": RNG.standard_normal((32, 16)).astype(np.float32),
}


def layer(x: Any, w: Any) -> Any:
    return {"y": jnp.tanh(x @ w["up"]) @ w["down"], "norm": jnp.sum(w["up"] ** 2)}


def expected() -> np.ndarray[Any, Any]:
    return np.asarray(np.tanh(X @ W["up"]) @ W["down"])


def sharded(*spec: Any, shape: tuple[int, ...], mesh: Any = ABSTRACT) -> Any:
    return olympus.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*spec)))


def traced_layer(mesh: Any = ABSTRACT, **options: Any) -> Any:
    """Trace the layer with split rows and width; the compiler chooses the sharding of `down`."""
    x = sharded("data", shape=(8, 16), mesh=mesh)
    up = sharded(None, "model", shape=(16, 32), mesh=mesh)
    return olympus.jit(layer, **options).trace(x, {"up": up, "down": struct(32, 16)})


@pytest.fixture(scope="module")
def layer_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("layer") / "layer.olympus"
    return save(path, traced_layer(), name="layer", entry="net:layer").read_bytes()


@pytest.fixture
def bundle(tmp_path: Path, layer_bytes: bytes) -> Path:
    path = tmp_path / "layer.olympus"
    path.write_bytes(layer_bytes)
    return path


def on_cpu(*sizes: int, reverse: bool = False) -> Mesh:
    devices = olympus.devices()[: int(np.prod(sizes))]
    return Mesh(np.array(devices[::-1] if reverse else devices).reshape(sizes), ("data", "model"))


def manifest_of(path: Path) -> Any:
    return json.loads(members_of(path)["manifest.json"])


def test_the_manifest_has_devices_meshes_and_shardings(bundle: Path) -> None:
    data = manifest_of(bundle)
    jsonschema.validate(data, SCHEMA)
    assert data["schema_version"] == 1
    assert data["placement"] == {
        "num_devices": 8,
        "meshes": [{"axis_names": ["data", "model"], "axis_sizes": [2, 4]}],
        "arguments": [
            {"mesh": 0, "spec": [["data"]]},
            None,
            {"mesh": 0, "spec": [[], ["model"]]},
        ],
        "results": [None, None],
    }
    (executable,) = data["executables"]
    # it also has the shardings that the compiler chose for `down` and for the results
    assert executable["shardings"]["arguments"][1] == {"mesh": 0, "spec": [["model"]]}
    assert executable["shardings"]["results"][1]["spec"][:1] == [["data"]]
    loaded = artifact.load(bundle)
    assert loaded.manifest.to_bytes() == members_of(bundle)["manifest.json"]
    assert loaded.num_devices == 8
    assert repr(loaded) == f"<bundle 'layer' in {bundle}: 8 devices, for cpu>"


@pytest.mark.parametrize("native", [True, False])
def test_a_bundle_for_several_devices_is_called_like_the_function(
    bundle: Path, native: bool
) -> None:
    """The stored and the recompiled executable have the same shardings."""
    compiled = artifact.load(bundle, native=native).compiled(recompile=not native)
    assert compiled.num_devices == 8
    mesh = on_cpu(2, 4)
    (x, w), _ = compiled.input_shardings
    assert x == NamedSharding(mesh, P("data"))
    assert w["up"] == NamedSharding(mesh, P(None, "model"))
    assert w["down"] == NamedSharding(mesh, P("model"))
    assert compiled.output_shardings["y"].spec[0] == "data"
    result = compiled(X, W)
    np.testing.assert_allclose(result["y"], expected(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(result["norm"], np.sum(W["up"] ** 2), rtol=1e-5)
    assert result["y"].sharding == compiled.output_shardings["y"]
    placed = olympus.device_put(X, x)
    np.testing.assert_array_equal(compiled(placed, W)["y"], result["y"])
    assert compiled.memory().arguments == 4 * (8 // 2 * 16 + 16 * 32 // 4 + 32 // 4 * 16)
    assert {collective.axes for collective in compiled.collectives()} == {("model",)}


def test_a_loaded_program_has_the_shardings_and_results_of_the_saved_one(bundle: Path) -> None:
    ours = traced_layer().lower().compile()
    loaded = artifact.load(bundle).compiled()
    assert loaded.input_shardings == ours.input_shardings
    assert loaded.output_shardings == ours.output_shardings
    np.testing.assert_array_equal(loaded(X, W)["y"], ours(X, W)["y"])


def test_calls_with_other_shardings_or_types_are_refused(bundle: Path) -> None:
    compiled = artifact.load(bundle).compiled()
    by_model = NamedSharding(on_cpu(2, 4), P("model"))
    with pytest.raises(ShardingError, match=r"(?s)Argument x with .* Required sharding: .*P\('da"):
        compiled(olympus.device_put(X, by_model), W)
    reversed_rows = NamedSharding(on_cpu(2, 4, reverse=True), P("data"))
    with pytest.raises(ShardingError, match="was compiled for"):
        compiled(olympus.device_put(X, reversed_rows), W)
    deleted = olympus.device_put(X, compiled.input_shardings[0][0])
    deleted.delete()
    with pytest.raises(DeletedArrayError, match=r"argument x of '.*' was passed after"):
        compiled(deleted, W)
    with pytest.raises(SignatureError, match="lacks the key 'down'"):
        compiled(X, {"up": W["up"]})
    with pytest.raises(SignatureError, match="compiled with"):
        compiled(X[:4], W)


def test_a_bundle_is_loaded_on_given_devices(bundle: Path) -> None:
    loaded = artifact.load(bundle)
    devices = olympus.devices()
    compiled = loaded.compiled(devices=devices[::-1])
    (x, _), _ = compiled.input_shardings
    assert x.devices == tuple(devices[::-1])
    np.testing.assert_allclose(compiled(X, W)["y"], expected(), rtol=1e-5, atol=1e-5)
    for wrong in (devices[:4], [*devices[:7], devices[0]], [*devices[:7], "cpu:7"]):
        with pytest.raises(UsageError, match="needs 8 different devices of the cpu, and got"):
            loaded.compiled(devices=wrong)


def test_a_bundle_for_one_device_has_no_placement_and_takes_no_devices(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lax.neg).trace(struct(4)))
    assert "placement" not in manifest_of(path)
    assert repr(artifact.load(path)) == f"<bundle 'mlp' in {path}: 1 device, for cpu>"
    with pytest.raises(UsageError, match="is for one device, and runs on the first one"):
        artifact.load(path).compiled(devices=olympus.devices()[:1])


def test_an_earlier_bundle_is_read_and_called() -> None:
    """A bundle that was written before bundles for several devices, without its executables."""
    loaded = artifact.load(EARLIER)
    assert loaded.manifest.to_bytes() == members_of(EARLIER)["manifest.json"]
    assert loaded.num_devices == 1
    assert repr(loaded).endswith("1 device, for cpu, gpu h200>")
    result = loaded.compiled()(np.ones(4, np.float32), scale=2.0)
    np.testing.assert_allclose(result["y"], np.tanh(np.ones(4)) * 2, rtol=1e-6)
    with pytest.raises(
        (ArtifactError, BackendError)
    ) as caught:  # the number of devices does not matter for a program of one
        loaded.compiled(olympus.target("gpu", "8xh200"), recompile=False)
    assert "has no executable" not in str(caught.value)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_program_of_four_devices_is_loaded_on_any_four(tmp_path: Path, reverse: bool) -> None:
    """By default it is loaded on the first four, in the order of the mesh."""
    mesh = on_cpu(2, 2, reverse=reverse)
    path = save(tmp_path / "layer.olympus", traced_layer(mesh))
    loaded = artifact.load(path)
    compiled = loaded.compiled(recompile=False)
    assert loaded.num_devices == compiled.num_devices == 4
    assert compiled.input_shardings[0][0].devices == tuple(olympus.devices()[:4])
    np.testing.assert_allclose(compiled(X, W)["y"], expected(), rtol=1e-5, atol=1e-5)
    last = loaded.compiled(devices=olympus.devices()[4:])
    np.testing.assert_allclose(last(X, W)["y"], expected(), rtol=1e-5, atol=1e-5)


def test_the_error_for_too_few_devices_has_the_setting(bundle: Path) -> None:
    source = """
from olympus import artifact
from olympus.errors import BackendError
for native in (True, False):
    try:
        artifact.load("layer.olympus", native=native).compiled()
    except BackendError as error:
        print(error, "|", error.hint)
"""
    lines = python(source, bundle.parent, OLYMPUS_NUM_CPU_DEVICES="2").splitlines()
    expected_line = (
        "layer.olympus needs 8 devices, and there are 2 of the cpu | "
        "put OLYMPUS_NUM_CPU_DEVICES=8 before the command, and the CPU has as many devices"
    )
    assert lines == [expected_line] * 2


def test_donated_sharded_arguments_are_deleted(tmp_path: Path) -> None:
    rows = NamedSharding(ABSTRACT, P("data", "model"))
    step = olympus.jit(lambda s, x: (s + x, x.sum()), donate_argnums=0, in_shardings=(rows, rows))
    path = save(tmp_path / "step.olympus", step.trace(struct(8, 8), struct(8, 8)))
    compiled = artifact.load(path).compiled(recompile=False)
    sharding = compiled.input_shardings[0][0]
    state = olympus.device_put(np.ones((8, 8), np.float32), sharding)
    x = olympus.device_put(np.ones((8, 8), np.float32), sharding)
    new, _ = compiled(state, x)
    assert state.is_deleted() and not x.is_deleted()
    np.testing.assert_array_equal(new, np.full((8, 8), 2.0))
    with pytest.raises(DeletedArrayError):
        compiled(state, x)
    with pytest.raises(UsageError, match="one array was passed for two arguments"):
        compiled(x, x)


def test_a_sharding_without_a_spec_is_saved(tmp_path: Path) -> None:
    """An argument and its result have tiles, which no mesh of the program describes."""
    places = tuple([(0, i % 4) for i in range(8)])
    tiled = TiledSharding(tuple(olympus.devices()), Tiling((1, 4), places))
    value = np.arange(32, dtype=np.float32).reshape(8, 4)
    traced = olympus.jit(lambda x: x * 2).trace(olympus.device_put(value, tiled))
    path = save(tmp_path / "f.olympus", traced)
    (executable,) = manifest_of(path)["executables"]
    jsonschema.validate(manifest_of(path), SCHEMA)
    (result,) = executable["shardings"]["results"]
    assert result == {"parts": [1, 4], "places": [[0, i % 4] for i in range(8)]}
    assert artifact.load(path).manifest.to_bytes() == members_of(path)["manifest.json"]
    for native in (True, False):
        compiled = artifact.load(path, native=native).compiled()
        np.testing.assert_array_equal(compiled(value), value * 2)
        assert compiled(value).sharding == compiled.output_shardings


def test_the_compiler_chooses_an_unconstrained_dimension(tmp_path: Path) -> None:
    x = sharded("data", P.UNCONSTRAINED, shape=(8, 8))
    traced = olympus.jit(lambda x, w: x @ w).trace(x, sharded("model", shape=(8, 8)))
    path = save(tmp_path / "f.olympus", traced)
    assert manifest_of(path)["placement"]["arguments"][0] is None
    values = np.arange(64, dtype=np.float32).reshape(8, 8), np.eye(8, dtype=np.float32)
    for compiled in (traced.lower().compile(), artifact.load(path).compiled()):
        assert compiled.input_shardings[0][0].spec == P("data", "model")
        np.testing.assert_array_equal(compiled(*values), values[0])


def test_programs_of_pmap_and_shard_map_are_saved(tmp_path: Path) -> None:
    share = olympus.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    path = save(tmp_path / "share.olympus", share.trace(struct(4)))
    value = np.arange(1.0, 5.0, dtype=np.float32)
    loaded = artifact.load(path)
    assert loaded.num_devices == 4
    np.testing.assert_allclose(loaded.compiled()(value), value / 10)
    halo = olympus.shard_map(
        lambda x: lax.ppermute(x, "data", [(0, 1), (1, 0)]),
        mesh=on_cpu(2, 4), in_specs=P("data"), out_specs=P("data"),
    )  # fmt: skip
    path = save(tmp_path / "halo.olympus", olympus.jit(halo).trace(struct(8)))
    for native in (True, False):
        result = artifact.load(path, native=native).compiled()(np.arange(8.0, dtype="float32"))
        np.testing.assert_array_equal(result, [4, 5, 6, 7, 0, 1, 2, 3])


@pytest.mark.parametrize(
    ("names", "stored"),
    [
        (("é", 3), ["é", 3]),
        ((frozenset(), "_0"), ["__0", "_0"]),
        (("a\nb", "x"), ["_0", "x"]),
        ((1.5, True), ["_0", "_1"]),
    ],
)
def test_axes_with_unusual_names_are_saved(
    tmp_path: Path, names: tuple[Any, ...], stored: list[Any]
) -> None:
    """A name that a manifest cannot contain is replaced by a number."""
    mesh = AbstractMesh((2, 4), names)
    traced = olympus.jit(lax.neg).trace(sharded(names[1], names[0], shape=(8, 8), mesh=mesh))
    path = save(tmp_path / "f.olympus", traced)
    assert manifest_of(path)["placement"]["meshes"][0]["axis_names"] == stored
    compiled = artifact.load(path).compiled()
    assert compiled.input_shardings[0][0].spec == P(*stored[::-1])
    np.testing.assert_array_equal(compiled(np.ones((8, 8), np.float32)), -np.ones((8, 8)))


def test_a_mesh_of_too_many_axes_is_refused(tmp_path: Path) -> None:
    text = {"olympuspr_text": "", "name": "f", "entry": "m:f"}
    many = AbstractMesh((8, *[1] * 16), tuple(f"x{i}" for i in range(17)))
    lowered = olympus.jit(lax.neg).trace(sharded("x0", shape=(8,), mesh=many)).lower()
    with pytest.raises(UsageError, match="stores meshes of 1024 devices and 16 axes at most"):
        artifact.save(tmp_path / "f.olympus", lowered.compile(), lowered=lowered, **text)


def test_sharded_programs_without_arguments_or_results_are_called(tmp_path: Path) -> None:
    rows = NamedSharding(ABSTRACT, P("data"))
    traced = olympus.jit(lambda: jnp.ones((8, 8)), out_shardings=rows).trace()
    compiled = artifact.load(save(tmp_path / "f.olympus", traced)).compiled()
    assert compiled().sharding.spec == P("data")
    traced = olympus.jit(lambda x: ()).trace(sharded("data", shape=(8,)))
    compiled = artifact.load(save(tmp_path / "g.olympus", traced)).compiled()
    assert compiled(np.ones(8, np.float32)) == ()
    traced = olympus.pmap(lambda x: x + 1).trace(struct(8, 2))  # the axis of this one has no name
    compiled = artifact.load(save(tmp_path / "h.olympus", traced)).compiled()
    np.testing.assert_array_equal(compiled(np.ones((8, 2), np.float32)), np.full((8, 2), 2.0))


def test_stages_with_different_devices_or_shardings_are_refused(tmp_path: Path) -> None:
    on_eight, on_one = (olympus.jit(lax.neg).trace(s).lower() for s in (
        sharded("data", shape=(8,)), struct(8),
    ))  # fmt: skip
    by_model = olympus.jit(lax.neg).trace(sharded("model", shape=(8,))).lower()
    text = {"olympuspr_text": "", "name": "f", "entry": "m:f"}
    with pytest.raises(UsageError, match="for one number of devices, and 'neg' is for 8 and for 1"):
        artifact.save(tmp_path / "f.olympus", on_eight.compile(), lowered=on_one, **text)
    with pytest.raises(UsageError, match="must have one sharding for each array"):
        artifact.save(
            tmp_path / "f.olympus", on_eight.compile(), lowered=[on_eight, by_model], **text
        )


def test_a_signed_bundle_for_several_devices_is_trusted(bundle: Path, tmp_path: Path) -> None:
    keys = artifact.new_key()
    (tmp_path / "team.key").write_bytes(keys.private)
    artifact.sign(bundle, tmp_path / "team.key")
    loaded = artifact.load(bundle, trust=keys.public)
    assert loaded.trusted and loaded.num_devices == 8
    np.testing.assert_allclose(loaded.compiled()(X, W)["y"], expected(), rtol=1e-5, atol=1e-5)
    change_manifest(bundle, lambda data: data["placement"].update(num_devices=4))
    with pytest.raises(ArtifactError, match="one of them was changed"):
        artifact.load(bundle, trust=keys.public)


@needs_gpu_compiler
def test_a_bundle_has_executables_for_gpus_that_are_not_attached(tmp_path: Path) -> None:
    eight, hosts = olympus.target("gpu", "8xh200"), olympus.target("gpu", "2x4xh200")
    traced = traced_layer()
    lowered = [traced.lower(), traced.lower(eight), traced.lower(hosts)]
    path = tmp_path / "layer.olympus"
    artifact.save(
        path, [program.compile() for program in lowered], lowered=lowered,
        olympuspr_text="", name="layer", entry="m:f",
    )  # fmt: skip
    jsonschema.validate(manifest_of(path), SCHEMA)
    loaded = artifact.load(path)
    assert {e.member: e.target for e in loaded.executables} == {
        "executables/cpu.bin": olympus.target("cpu"),
        "executables/gpu-8xh200.bin": eight,
        "executables/gpu-2x4xh200.bin": hosts,
    }
    assert repr(loaded).endswith("8 devices, for cpu, gpu 8xh200, gpu 2x4xh200>")
    np.testing.assert_allclose(loaded.compiled()(X, W)["y"], expected(), rtol=1e-5, atol=1e-5)
    with pytest.raises(BackendError, match="this machine has no GPU to run on"):
        loaded.compiled(eight)
    with pytest.raises(BackendError, match="this machine has no GPU to run on"):
        loaded.compiled(olympus.target("gpu", "h200"))  # the bundle has 8 of them on one host
    recompiled = artifact.load(path, native=False).compiled(eight)
    assert recompiled.num_devices == 8
    assert {program.axes for program in recompiled.collectives()} == {("model",)}
    assert recompiled.input_shardings[0][0].spec == P("data")
    with pytest.raises(BackendError, match="cannot run here"):
        recompiled(X, W)
    with pytest.raises(BackendError, match="needs 8 devices, and there are 4 of the gpu"):
        loaded.compiled(olympus.target("gpu", "4xa100-80"))
