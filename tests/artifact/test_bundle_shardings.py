"""A manifest with impossible or wrong devices and shardings is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import artifact, lax
from olympus.errors import ArtifactError, OlympusError
from olympus.sharding import AbstractMesh, NamedSharding, PartitionSpec
from olympus_core.artifact.reading import StagesReader
from tests.artifact.bundles import change_manifest, members_of, replace_member, save, struct
from tests.artifact.test_bundle_manifest import drop, paths, put

SCHEMA = json.loads((files("olympus_core.artifact") / "bundle.schema.json").read_text())
VALID = jsonschema.Draft202012Validator(SCHEMA).is_valid
P = PartitionSpec
MESH = AbstractMesh((2, 4), ("data", "model"))
PLACE = ("placement",)
DECLARED, CHOSEN = ("placement", "arguments"), ("executables", 0, "shardings", "arguments")
HUGE = 10**30
TILES = {"parts": [8, 1], "places": [[i, 0] for i in range(8)]}


def sharded(*spec: Any, shape: tuple[int, ...] = (8, 16)) -> Any:
    return olympus.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(MESH, P(*spec)))


def product(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def save_product(path: Path, *specs: Any) -> Path:
    x, w = specs or ((), ())
    traced = olympus.jit(product).trace(sharded(*x), sharded(*w, shape=(16, 8)))
    return save(path, traced)


@pytest.fixture(scope="module")
def product_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle of a product of x, split along `data`, with w, split along `model`."""
    path = tmp_path_factory.mktemp("product") / "f.olympus"
    return save_product(path, ("data",), (None, "model")).read_bytes()


@pytest.fixture
def bundle(tmp_path: Path, product_bytes: bytes) -> Path:
    path = tmp_path / "f.olympus"
    path.write_bytes(product_bytes)
    return path


def tiles(**parts: Any) -> dict[str, Any]:
    return {**TILES, **parts}


# Manifests that the parser and the schema refuse, and the messages of the parser.
REFUSED = {
    "one device": (put(*PLACE, "num_devices", value=1), "an integer from 2 to 1024, and is 1"),
    "many devices": (put(*PLACE, "num_devices", value=HUGE), "an integer from 2 to 1024"),
    "true devices": (put(*PLACE, "num_devices", value=True), "an integer from 2 to 1024"),
    "no devices": (drop(*PLACE, "num_devices"), "placement has no 'num_devices'"),
    "more": (put(*PLACE, "order", value=[]), "placement has an unknown field 'order'"),
    "nothing": (put(*PLACE, value=None), "placement must be an object, and is None"),
    "meshes": (put(*PLACE, "meshes", value={}), "meshes must be an array"),
    "axis of 0": (put(*PLACE, "meshes", 0, "axis_sizes", value=[0, 8]), "from 1 to 8, and is 0"),
    "huge axis": (put(*PLACE, "meshes", 0, "axis_sizes", value=[HUGE, 4]), "from 1 to 8"),
    "axis name": (put(*PLACE, "meshes", 0, "axis_names", value=[None, "b"]), "must be text or an"),
    "many axes": (
        put(*PLACE, "meshes", value=[{"axis_names": [*range(99)], "axis_sizes": [1] * 99}]),
        "must be 16 axes at most, each with a name and a size",
    ),
    "no sharding": (put(*CHOSEN, 0, value=None), "must be an object, and is None"),
    "spec": (put(*DECLARED, 0, value={"mesh": 0, "spec": ["data"]}), r"spec\[0\] must be an array"),
    "no spec": (put(*DECLARED, 0, value={"mesh": 0}), "has no 'spec'"),
    "mesh": (
        put(*DECLARED, 0, value={"mesh": -1, "spec": []}),
        "an integer from 0 to 0, and is -1",
    ),
    "tiles too": (put(*DECLARED, 0, value={**TILES, "mesh": 0}), "has an unknown field 'mesh'"),
    "part of 0": (put(*DECLARED, 0, value=tiles(parts=[0, 1])), "an integer from 1 to 8, and is 0"),
    "huge part": (put(*DECLARED, 0, value=tiles(parts=[HUGE, 1])), "an integer from 1 to 8"),
    "huge place": (put(*DECLARED, 0, value=tiles(places=[[HUGE, 0]])), "an integer from 0 to 7"),
    "no shardings": (drop("executables", 0, "shardings", "results"), "has no 'results'"),
    "topology": (put("executables", 0, "topology", value=8), "topology must be text, and is 8"),
    "half": (put("executables", 0, "topology", value="8"), "must be 1x8, as it is written"),
}
# Manifests that only the parser refuses.
NONSENSE = {
    "other devices": (put(*PLACE, "num_devices", value=4), "must be an integer from 1 to 4|has 8"),
    "product": (
        put(*PLACE, "meshes", 0, "axis_sizes", value=[4, 4]),
        r"placement.meshes\[0\] has 16 devices, and the program 8",
    ),
    "sizes": (put(*PLACE, "meshes", 0, "axis_sizes", value=[8]), "each with a name and a size"),
    "same names": (put(*PLACE, "meshes", 0, "axis_names", value=["a", "a"]), "is not a mesh"),
    "hidden name": (put(*PLACE, "meshes", 0, "axis_names", value=["a\n", "b"]), "printable text"),
    "no mesh": (
        put(*PLACE, "meshes", value=[]),
        "the position of a mesh in `meshes`, which is empty",
    ),
    "far mesh": (put(*DECLARED, 0, "mesh", value=1), "an integer from 0 to 0, and is 1"),
    "unknown axis": (
        put(*DECLARED, 0, "spec", value=[["dat"]]),
        "names the axis 'dat', which is not one of AbstractMesh",
    ),
    "number for a name": (
        put(*DECLARED, 0, "spec", value=[[0]]),
        "names the axis 0, which is not one",
    ),
    "twice": (
        put(*DECLARED, 0, "spec", value=[["data"], ["data"]]),
        "names the axis 'data', twice",
    ),
    "twice in one": (put(*DECLARED, 0, "spec", value=[["data", "data"]]), "'data', twice"),
    "rank": (
        put(*DECLARED, 0, "spec", value=[[], [], ["data"]]),
        "has 3 entries for an array of 2 dimensions",
    ),
    "uneven": (
        put("signature", "arguments", 0, "shape", value=[7, 16]),
        "cuts dimension 0 of 'x' into 2 parts, and it has 7 elements",
    ),
    "one more": (put(*PLACE, "results", value=[None, None]), "has 2 shardings for 1 arrays"),
    "one less": (put(*CHOSEN, value=[]), "has 0 shardings for 2 arrays"),
    "tiles of rank 1": (put(*DECLARED, 0, value=tiles(parts=[8])), "must be an array of 2 numbers"),
    "a device less": (
        put(*DECLARED, 0, value=tiles(places=TILES["places"][:7])),
        "one of the parts for each of 8 devices",
    ),
    "a part that is not": (
        put(*DECLARED, 0, value=tiles(parts=[4, 2])),
        "one of the parts for each of 8 devices",
    ),
    "a part nobody has": (
        put(*DECLARED, 0, value=tiles(places=[[0, 0]] * 8)),
        "each part occurs as often as any other",
    ),
    "short place": (
        put(*DECLARED, 0, value=tiles(places=[[0]] * 8)),
        "one of the parts for each of",
    ),
    "zero hosts": (put("executables", 0, "topology", value="0x8"), "from 1 to 1024 devices"),
    "topology of a cpu": (put("executables", 0, "topology", value="1x8"), "takes no topology"),
}


@pytest.mark.parametrize("name", [*REFUSED, *NONSENSE])
def test_a_wrong_placement_is_refused(bundle: Path, name: str) -> None:
    change, message = (REFUSED | NONSENSE)[name]
    change_manifest(bundle, change)
    assert VALID(json.loads(members_of(bundle)["manifest.json"])) == (name in NONSENSE)
    with pytest.raises(ArtifactError, match=message) as caught:
        artifact.load(bundle)
    assert "\n" not in str(caught.value)


def test_an_executable_without_shardings_is_refused(bundle: Path) -> None:
    change_manifest(bundle, drop("executables", 0, "shardings"))
    with pytest.raises(ArtifactError, match=r"executables\[0\] has no 'shardings'"):
        artifact.load(bundle)


def test_the_schema_accepts_each_placement_that_the_parser_accepts(bundle: Path) -> None:
    original = json.loads(members_of(bundle)["manifest.json"])
    accepted = refused = 0
    for path in paths(original):
        if path[0] not in ("placement", "executables"):
            continue
        for value in (None, True, -1, 1.5, "text", [], [[]], {}, TILES):
            data = copy.deepcopy(original)
            put(*path, value=value)(data)
            try:
                StagesReader().parse(json.dumps(data).encode())
                accepted += 1
            except ArtifactError:
                refused += 1
            else:
                assert VALID(data), f"{path} = {value}"
    assert refused > 100 and accepted > 20


# Valid manifests that do not match the program.
MISMATCHES = {
    "another axis": (
        put(*DECLARED, 0, "spec", value=[["model"]]),
        put(*CHOSEN, 0, "spec", value=[["model"]]),
        "splits the argument 'x' otherwise than its manifest",
    ),
    "another dimension": (
        put(*DECLARED, 0, "spec", value=[[], ["data"]]),
        put(*CHOSEN, 0, "spec", value=[[], ["data"]]),
        "splits the argument 'x' otherwise than its manifest",
    ),
    "whole": (
        put(*DECLARED, 1, "spec", value=[]),
        put(*CHOSEN, 1, "spec", value=[]),
        "splits the argument 'w' otherwise",
    ),
    "another order": (
        put(*DECLARED, 0, value={"parts": [2, 1], "places": [[i % 2, 0] for i in range(8)]}),
        put(*CHOSEN, 0, value={"parts": [2, 1], "places": [[i % 2, 0] for i in range(8)]}),
        "splits the argument 'x' otherwise",
    ),
    "result": (
        put("placement", "results", 0, value={"mesh": 0, "spec": [["model"]]}),
        put("executables", 0, "shardings", "results", 0, value={"mesh": 0, "spec": [["model"]]}),
        "splits the result 'result' otherwise than its manifest",
    ),
    "axes in turn": (
        put("placement", "meshes", 0, "axis_sizes", value=[4, 2]),
        lambda data: None,
        "splits the argument 'x' otherwise|its StableHLO",
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.parametrize("native", [True, False])
def test_a_sharding_that_differs_from_the_program_is_refused(
    bundle: Path, name: str, native: bool
) -> None:
    change_declared, change_compiled, message = MISMATCHES[name]
    change_manifest(change_manifest(bundle, change_declared), change_compiled)
    loaded = artifact.load(bundle, native=native)
    with pytest.raises(ArtifactError, match=f"cannot be used: .*({message})") as caught:
        loaded.compiled(recompile=not native)
    assert "\n" not in str(caught.value)


def claim_four_devices(data: dict[str, Any]) -> None:
    """Change the manifest of a bundle for eight devices to four."""
    replicated = {"mesh": 0, "spec": []}
    mesh = {"axis_names": ["data", "model"], "axis_sizes": [2, 2]}
    shardings = {"arguments": [replicated] * 2, "results": [replicated]}
    data["placement"] = {"num_devices": 4, "meshes": [mesh], **shardings}
    data["executables"][0]["shardings"] = shardings


def claim_one_device(data: dict[str, Any]) -> None:
    """Change the manifest of a bundle for eight devices to one."""
    del data["placement"], data["executables"][0]["shardings"]


@pytest.mark.parametrize(("change", "count"), [(claim_four_devices, 4), (claim_one_device, 1)])
def test_a_wrong_number_of_devices_is_refused(
    bundle: Path, change: Callable[[Any], None], count: int
) -> None:
    loaded = artifact.load(change_manifest(bundle, change))
    for recompile in (True, False):
        with pytest.raises(ArtifactError, match=f"is for 8 devices, .* manifest has {count}"):
            loaded.compiled(recompile=recompile)


def test_a_program_for_one_device_with_a_manifest_for_eight_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "f.olympus", olympus.jit(lax.neg).trace(struct(8)))
    replicated = {"mesh": 0, "spec": []}

    def claim_eight_devices(data: dict[str, Any]) -> None:
        shardings = {"arguments": [replicated], "results": [replicated]}
        mesh = {"axis_names": ["i"], "axis_sizes": [8]}
        data["placement"] = {"num_devices": 8, "meshes": [mesh], **shardings}
        data["executables"][0]["shardings"] = shardings

    loaded = artifact.load(change_manifest(path, claim_eight_devices))
    with pytest.raises(ArtifactError, match=r"its StableHLO is for 1 device, .* has 8"):
        loaded.compiled()


OTHER_PROGRAMS = {
    "one device": lambda path: save(path, olympus.jit(product).trace(struct(8, 16), struct(16, 8))),
    "four devices": lambda path: save(
        path,
        olympus.jit(product).trace(
            olympus.ShapeDtypeStruct(
                (8, 16), "float32", sharding=NamedSharding(AbstractMesh((4,), ("i",)), P("i"))
            ),
            struct(16, 8),
        ),
    ),
    "split otherwise": lambda path: save_product(path, ("model",), (None, "data")),
}


@pytest.mark.parametrize("name", OTHER_PROGRAMS)
def test_an_executable_of_another_sharded_program_is_refused(
    bundle: Path, tmp_path: Path, name: str
) -> None:
    """The executable is not called."""
    executable = members_of(OTHER_PROGRAMS[name](tmp_path / "g.olympus"))["executables/cpu.bin"]
    loaded = artifact.load(replace_member(bundle, "executables/cpu.bin", executable))
    with pytest.raises(ArtifactError, match=r"the executable is for|its executable splits the arg"):
        loaded.compiled(recompile=False)


def test_shardings_that_crash_the_compiler_are_refused(bundle: Path) -> None:
    """Some versions of XLA crash on a program with `mhlo.sharding` and shardings of Shardy."""
    from olympus_core.mlir import bindings as mlir

    content = members_of(bundle)["program.stablehlo.bc"]
    with mlir.context():
        module = mlir.hlo.deserialize_portable_artifact(mlir.context(), content)
        main = next(function for function in module.body.operations if "main" in str(function.name))
        main.attributes["mhlo.sharding"] = mlir.string_attr("{replicated}")
        changed = mlir.portable(module)
    loaded = artifact.load(replace_member(bundle, "program.stablehlo.bc", changed))
    with pytest.raises(ArtifactError, match="has shardings of another kind than OLYMPUS writes"):
        loaded.compiled(recompile=True)


def test_a_changed_placement_is_refused_or_gives_the_right_result(bundle: Path) -> None:
    """A part of the placement is replaced by each of several values."""
    x = np.linspace(0, 1, 128, dtype=np.float32).reshape(8, 16)
    w = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    original = members_of(bundle)
    data = json.loads(original["manifest.json"])
    places = [p for p in paths(data) if p[0] == "placement" or p[:3] == (*CHOSEN[:3],)]
    values = (None, 0, 1, 2, "model", [], [["model"]], [["data", "model"]], {"mesh": 0, "spec": []})
    right = refused = 0
    for path in places:
        for value in values:
            changed = copy.deepcopy(data)
            put(*path, value=value)(changed)
            change_manifest(bundle, lambda old, new=changed: (old.clear(), old.update(new)))
            try:
                result = artifact.load(bundle).compiled(recompile=False)(x, w)
            except OlympusError:
                refused += 1
                continue
            np.testing.assert_allclose(result, np.tanh(x @ w), rtol=1e-5, atol=1e-6)
            right += 1
    assert refused > 100 and right > 10
