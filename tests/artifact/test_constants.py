"""Large constants: stored once in a bundle, mapped when it is loaded, and arguments of programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact
from olympus.errors import ArtifactError, UsageError
from olympus.interop import bundles
from olympus.sharding import Mesh, NamedSharding, PartitionSpec
from olympus_bundle.bundle_file import read_bundle, read_member
from olympus_bundle.constants import constants_of
from olympus_core.artifact.safetensors import safetensors
from tests.artifact.bundles import members_of, pack, replace_member, save, struct

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.standard_normal((1024, 2561)).astype("float32")  # 10 MB, no multiple of 64 bytes
WEIGHTS = RANDOM.standard_normal((64, 2561)).astype("float32")
SIZES = (1, 4, 8, 16)
STORED = artifact.CONSTANTS


def look_up(x: Any, rows: Any) -> Any:
    return jnp.tanh(x + jnp.take(TABLE, rows, axis=0)) @ WEIGHTS.T


def traced(rows: Any, function: Any = look_up) -> Any:
    return olympus.jit(function).trace(struct(rows, 2561), struct(rows, dtype="int32"))


def inputs(rows: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(rows).standard_normal((rows, 2561)).astype("float32")
    return x, np.arange(rows, dtype="int32") * 7


def joined(folder: Path, constants: str = "store") -> Path:
    parts = {n: save(folder / f"{n}.olympus", traced(n), constants=constants) for n in SIZES}
    path = folder / "joined.olympus"
    rows = [({0: 1}, "zeros")] * 2
    artifact.join_buckets(path, parts, name="f", symbol="b", arguments=rows, results=[{0: 1}])
    return path


def saved(folder: Path, constants: str = "store") -> Path:
    return save(folder / f"{constants}.olympus", traced(4), constants=constants)


def test_a_bundle_of_four_sizes_has_a_table_once(tmp_path: Path) -> None:
    path = joined(tmp_path)
    manifest = artifact.buckets_of(path)
    parts = sum(member.size for name, member in manifest.members.items() if name != STORED)
    assert parts < TABLE.nbytes / 20
    assert path.stat().st_size < 1.2 * TABLE.nbytes + parts
    program = olympus_runtime.load(path)
    for rows in (1, 3, 16):
        x, i = inputs(rows)
        expected = np.tanh(x + TABLE[i]) @ WEIGHTS.T
        np.testing.assert_allclose(program(x, i), expected, rtol=1e-3, atol=1e-3)


def test_results_equal_those_of_embedded_constants(tmp_path: Path) -> None:
    arguments = inputs(4)
    stored, embedded = saved(tmp_path), saved(tmp_path, "embed")
    assert embedded.stat().st_size > 1.9 * stored.stat().st_size
    expected = np.asarray(olympus_runtime.load(embedded)(*arguments))
    for native in (True, False):
        np.testing.assert_array_equal(
            olympus_runtime.load(stored, native=native)(*arguments), expected
        )
        compiled = artifact.load(stored, native=native).compiled()
        np.testing.assert_array_equal(compiled(*arguments), expected)
        np.testing.assert_array_equal(compiled(*arguments), expected)  # called by jaxlib alone


@pytest.mark.parametrize("is_joined", [False, True], ids=["one size", "several sizes"])
def test_a_changed_byte_is_refused(tmp_path: Path, is_joined: bool) -> None:
    path = joined(tmp_path) if is_joined else saved(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.index(TABLE[500].tobytes())
    content[place + 5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ArtifactError, match=r"constants\.safetensors"):
        olympus_runtime.load(path)
    other = members_of(saved(tmp_path))[STORED]
    path = joined(tmp_path) if is_joined else saved(tmp_path)
    damaged = bytearray(other)
    damaged[-9] ^= 1  # with a right CRC, and another SHA-256
    replaced = replace_member(path, STORED, other)
    members = {**members_of(replaced), STORED: bytes(damaged)}
    with pytest.raises(ArtifactError, match="SHA-256 is another one"):
        olympus_runtime.load(pack(path, members))


def test_the_arrays_of_a_joined_bundle_are_mapped_and_not_copied(tmp_path: Path) -> None:
    file = read_bundle(joined(tmp_path))
    whole = np.frombuffer(file.members.views[STORED], np.uint8)
    for size in SIZES:
        part = read_member(file, f"b={size}.olympus")
        arrays = [array for _, array in constants_of(part, "cpu")]
        assert [array.shape for array in arrays] == [TABLE.shape, WEIGHTS.T.shape]
        for array in arrays:
            assert np.shares_memory(whole, array) and array.ctypes.data % 64 == 0
            assert not array.flags.writeable


def test_a_part_without_the_constants_is_refused(tmp_path: Path) -> None:
    part = tmp_path / "part.olympus"
    part.write_bytes(members_of(joined(tmp_path))["b=4.olympus"])
    with pytest.raises(ArtifactError, match="it is a part of a bundle"):
        olympus_runtime.load(part)
    with pytest.raises(ArtifactError, match="it is a part of a bundle"):
        artifact.load(part).compiled()


def test_other_arrays_than_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path)
    other = olympus.jit(lambda x: x + TABLE[:, :64]).trace(struct(1024, 64))
    foreign = members_of(save(tmp_path / "other.olympus", other, constants="store"))[STORED]
    with pytest.raises(ArtifactError, match=r"its constant \w+ is float32\[1024,2561\]"):
        olympus_runtime.load(replace_member(path, STORED, foreign))


def test_two_builds_have_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = joined(tmp_path / "one"), joined(tmp_path / "two")
    assert one.read_bytes() == two.read_bytes()


def test_constants_are_evaluated_and_equal_ones_are_stored_once(tmp_path: Path) -> None:
    twice = TABLE.copy()

    def f(x: Any, rows: Any) -> Any:
        return x + jnp.take(TABLE, rows, axis=0) + jnp.take(twice, rows, axis=0)

    lowered = traced(4, f).lower(constants="store")
    assert lowered.constants.digests[0] == lowered.constants.digests[1]
    path = save(tmp_path / "f.olympus", traced(4, f), constants="store")
    assert path.stat().st_size < 1.2 * TABLE.nbytes
    x, i = inputs(4)
    np.testing.assert_allclose(olympus_runtime.load(path)(x, i), x + 2 * TABLE[i], rtol=1e-5)


def test_small_and_uniform_arrays_stay_in_the_program() -> None:
    zeros, small = np.zeros((512, 512), "float32"), TABLE[0]

    def f(x: Any) -> Any:
        return x + zeros + small[:512]

    assert not len(olympus.jit(f).trace(struct(512, 512)).lower(constants="store").constants)


def test_constants_are_no_arguments_of_the_user(tmp_path: Path) -> None:
    stored, embedded = (traced(4).lower(constants=c).compile() for c in ("store", "embed"))
    assert stored.arg_names == embedded.arg_names == ("x", "rows")
    assert stored.memory().arguments == embedded.memory().arguments
    assert stored.memory().constants >= TABLE.nbytes + WEIGHTS.nbytes
    assert stored.memory().largest(1)[0].kind == "constant"
    assert stored.cost().io_bytes == embedded.cost().io_bytes
    assert stored.cost().flops == embedded.cost().flops
    names = [x.name for x in artifact.load(saved(tmp_path)).manifest.signature.arguments]
    assert names == ["x", "rows"]


def test_unused_arguments_are_those_of_the_user() -> None:
    function = olympus.jit(lambda x, unused, rows: x + jnp.take(TABLE, rows, axis=0))
    x, rows = inputs(4)
    compiled = function.trace(x, x, rows).lower(constants="store").compile()
    (first, unused, last), _ = compiled.input_shardings
    assert first is not None and unused is None and last is not None
    np.testing.assert_allclose(compiled(x, x, rows), x + TABLE[rows], rtol=1e-6)


def test_donated_arguments_keep_their_indices() -> None:
    donating = olympus.jit(lambda x, rows: x + jnp.take(TABLE, rows, axis=0), donate_argnums=0)
    lowered = donating.trace(*inputs(4)).lower(constants="store")
    x, rows = inputs(4)
    np.testing.assert_allclose(lowered.compile()(x, rows), x + TABLE[rows], rtol=1e-6)
    assert lowered.donate_argnums == (0,)


def test_stages_with_other_constants_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must have the same constants"):
        artifact.save(
            tmp_path / "f.olympus",
            traced(4).lower().compile(),
            lowered=traced(4).lower(constants="store"),
            olympuspr_text="",
            name="f",
            entry="m:f",
        )
    with pytest.raises(UsageError, match='constants is "embed" or "store", and got 1'):
        traced(4).lower(constants=1)


def test_a_bundle_is_traced_again(tmp_path: Path) -> None:
    path, arguments = saved(tmp_path), inputs(4)
    expected = olympus_runtime.load(path)(*arguments)
    for as_is in (False, True):
        again = bundles.trace_bundle(artifact.load(path), as_is=as_is)
        for constants in ("store", "embed"):
            lowered = again.lower(constants=constants)
            assert len(lowered.constants) == (2 if constants == "store" else 0)
            results = lowered.compile()(*arguments)
            np.testing.assert_allclose(results, expected, rtol=1e-4, atol=1e-4)


def test_a_program_for_all_sizes_shares_the_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(tmp_path / "cache"))
    (b,) = olympus.export.symbolic_shape("b")
    lowered = traced(b).lower(constants="store")
    path = tmp_path / "symbolic.olympus"
    artifact.join_symbolic(path, lowered, [({"b": 4}, saved(tmp_path))])
    assert path.stat().st_size < 1.2 * TABLE.nbytes
    program, expected = olympus_runtime.load(path), olympus.jit(look_up)
    for rows in (4, 6):  # in the bundle, and compiled
        x, i = inputs(rows)
        np.testing.assert_allclose(program(x, i), expected(x, i), rtol=1e-4, atol=1e-4)
        compiled = artifact.load(path, sizes={"b": rows}).compiled()
        np.testing.assert_allclose(compiled(x, i), expected(x, i), rtol=1e-4, atol=1e-4)


def test_a_program_of_several_devices_has_replicated_constants(tmp_path: Path) -> None:
    mesh = Mesh(np.array(olympus.devices("cpu")[:2]), ("d",))
    split = NamedSharding(mesh, PartitionSpec("d"))
    sharded = olympus.jit(look_up, in_shardings=split, out_shardings=split)
    program = sharded.trace(*inputs(4))
    expected = np.asarray(program.lower().compile()(*inputs(4)))
    lowered = program.lower(constants="store")
    np.testing.assert_allclose(lowered.compile()(*inputs(4)), expected, rtol=1e-4, atol=1e-4)
    path = save(tmp_path / "f.olympus", program, constants="store")
    results = artifact.load(path).compiled()(*inputs(4))
    np.testing.assert_allclose(results, expected, rtol=1e-4, atol=1e-4)
    assert path.stat().st_size < 1.2 * TABLE.nbytes


def test_the_programs_of_several_backends_share_the_constants(tmp_path: Path) -> None:
    program, path = traced(4), tmp_path / "f.olympus"
    lowered = [
        program.lower(olympus.Target(*target), constants="store")
        for target in (("cpu",), ("gpu", "h200"))
    ]
    artifact.save(
        path,
        lowered[0].compile(),
        lowered=lowered,
        olympuspr_text=lowered[0].olympuspr_text(),
        name="f",
        entry="m:f",
    )
    assert path.stat().st_size < 1.2 * TABLE.nbytes
    bundle = artifact.load(path)
    names = {k: [x.name for x in group] for k, group in bundle.manifest.constants.items()}
    assert names["cpu"] == names["gpu"] == list(lowered[0].constants.digests)
    bundle.check_program("gpu")
    assert bundle.constants("gpu").bytes == TABLE.nbytes + WEIGHTS.nbytes


def test_the_constants_of_a_bundle_with_weights_are_aligned(tmp_path: Path) -> None:
    def f(params: Any, rows: Any) -> Any:
        return params * jnp.take(TABLE, rows, axis=0)

    program = olympus.jit(f).trace(struct(3, 2561), struct(3, dtype="int32"))
    part = save(tmp_path / "f.olympus", program, constants="store", name="f")
    weights = tmp_path / "w.safetensors"
    weights.write_bytes(safetensors({"params": WEIGHTS[:3]}))
    path = tmp_path / "served.olympus"
    artifact.join_weights(path, part, {"params": weights})
    file = read_bundle(path)
    inner = read_member(file, "program.olympus")
    ((_, array),) = constants_of(inner, "cpu")
    whole = np.frombuffer(file.members.views["program.olympus"], np.uint8)
    assert np.shares_memory(whole, array)
    rows = np.arange(3, dtype="int32")
    expected = WEIGHTS[:3] * TABLE[rows]
    np.testing.assert_allclose(olympus_runtime.load(path)(rows), expected, rtol=1e-6)
