"""Bundles for several numbers of rows: any number up to the largest is padded, run and cut."""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
import olympus_runtime
from olympus import artifact, export
from olympus.errors import ArtifactError, UsageError
from olympus.verification import prove_rows_independent
from olympus_core.artifact import container

SIZES = (1, 4, 16)
FILLS = ("zeros", "zeros", "mask")
RNG = np.random.default_rng(3)
W = RNG.standard_normal((4, 3)).astype(np.float32)


def model(w: Any, x: Any, valid: Any) -> Any:
    y = jnp.tanh(x @ w)
    mean = jnp.where(valid[:, None], y, 0).sum(0) / valid.sum()
    return {"rows": y, "twice": jnp.stack([x.reshape(-1, 2), x.reshape(-1, 2) * 2]), "mean": mean}


def rows_alone(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


def spec(*shape: int, dtype: str = "float32") -> Any:
    return olympus.ShapeDtypeStruct(shape, dtype)


def traced(function: Callable[..., Any], rows: int) -> Any:
    arguments = [spec(4, 3), spec(rows, 4), spec(rows, dtype="bool")]
    return olympus.jit(function).trace(*arguments[: function.__code__.co_argcount])


def joined(folder: Path, function: Callable[..., Any] = model, **options: Any) -> Path:
    axes = prove_rows_independent(
        traced(function, 16), traced(function, 15), (16, 15), FILLS[: function.__code__.co_argcount]
    )
    for size in SIZES:
        stage = traced(function, size)
        lowered = stage.lower()
        artifact.save(
            folder / f"{size}.olympus",
            lowered.compile(),
            lowered=lowered,
            olympuspr_text=str(stage.olympuspr),
            name=f"model@b={size}",
            entry="m:model",
        )
    if options.get("oversize") == "refine":
        options["all_sizes"] = all_sizes(folder, function)
    artifact.join_buckets(
        folder / "model.olympus",
        {size: folder / f"{size}.olympus" for size in SIZES},
        name="model",
        symbol="b",
        arguments=list(zip(axes.arguments, FILLS, strict=False)),
        results=axes.results,
        **options,
    )
    return folder / "model.olympus"


def all_sizes(folder: Path, function: Callable[..., Any]) -> Path:
    """Write the bundle for all numbers of rows."""
    (b,) = export.symbolic_shape("b", constraints=["b <= 100"])
    arguments = [spec(4, 3), spec(b, 4), spec(b, dtype="bool")]
    lowered = olympus.jit(function).trace(*arguments[: function.__code__.co_argcount]).lower()
    artifact.join_symbolic(folder / "all.olympus", lowered, [({"b": 1}, folder / "1.olympus")])
    return folder / "all.olympus"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return joined(tmp_path_factory.mktemp("buckets"))


def rows(count: int) -> Any:
    return RNG.standard_normal((count, 4)).astype(np.float32)


@pytest.mark.parametrize("count", [1, 2, 4, 5, 16])
def test_a_call_has_the_results_without_padding(path: Path, count: int) -> None:
    program = olympus_runtime.load(path)
    x = rows(count)
    got = program(W, x)
    want = model(W, x, np.ones(count, bool))
    for name in want:
        assert got[name].shape == want[name].shape
        np.testing.assert_allclose(got[name], want[name], rtol=2e-5, atol=1e-6)
    by_name = program(W, x=x)
    np.testing.assert_array_equal(by_name["rows"], got["rows"])


def test_a_size_is_loaded_when_it_is_needed(path: Path) -> None:
    program = olympus_runtime.load(path)
    assert [*program._parts] == ["b=1.olympus"]
    program(W, rows(3))
    assert [*program._parts] == ["b=1.olympus", "b=4.olympus"]
    assert program.sizes == SIZES
    assert repr(program) == f"<program 'model' of {path} for b = 1, 4, 16>"


def test_threads_share_a_program(path: Path) -> None:
    program = olympus_runtime.load(path)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for count in (3, 16, 1, 9):
                x = np.full((count, 4), seed, np.float32)
                np.testing.assert_allclose(program(W, x)["rows"], np.tanh(x @ W), rtol=1e-4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((W, np.ones((17, 4), np.float32)), "takes up to 16 rows \\(b\\), and got 17"),
        ((W, np.ones((0, 4), np.float32)), "have no rows: b is 0"),
        ((W, np.ones((3, 5), np.float32)), "Argument 'x' compiled with float32\\[4,4\\]"),
        ((W, np.float32(1)), "its axis 0 needs a multiple of 1"),
        ((W,), "it lacks the argument x"),
        ((W, np.ones((3, 4), np.float32), np.ones(3, bool)), "it got 3 positional arguments"),
    ],
)
def test_wrong_arguments(path: Path, arguments: Any, message: str) -> None:
    with pytest.raises(olympus_runtime.SignatureError, match=message):
        olympus_runtime.load(path)(*arguments)


def test_a_mask_is_no_argument(path: Path) -> None:
    with pytest.raises(olympus_runtime.SignatureError, match="'valid' is the mask"):
        olympus_runtime.load(path)(W, rows(3), valid=np.ones(3, bool))


def test_a_larger_call_is_split(tmp_path: Path) -> None:
    program = olympus_runtime.load(joined(tmp_path, rows_alone, oversize="split"))
    x = rows(37)
    np.testing.assert_allclose(program(W, x), np.tanh(x @ W), rtol=2e-5, atol=1e-6)


def test_a_result_without_rows_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="of 'model' has no rows"):
        joined(tmp_path, oversize="split")
    assert not (tmp_path / "model.olympus").exists()


def test_equal_parts_make_equal_bytes(path: Path, tmp_path: Path) -> None:
    assert joined(tmp_path).read_bytes() == path.read_bytes()


def test_a_part_is_a_bundle(path: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        archive.extract("b=4.olympus", tmp_path)
    x = rows(4)
    part = olympus_runtime.load(tmp_path / "b=4.olympus")
    got = part(W, x, np.ones(4, bool))["rows"]
    np.testing.assert_allclose(got, np.tanh(x @ W), rtol=2e-5, atol=1e-6)


def test_olympus_artifact_names_the_sizes(path: Path) -> None:
    assert artifact.buckets_of(path).sizes == SIZES
    with pytest.raises(ArtifactError, match=r"several sizes \(b = 1, 4, 16\)") as caught:
        artifact.load(path)
    assert "unzip" in (caught.value.hint or "")


def test_a_signature_is_verified(path: Path, tmp_path: Path) -> None:
    pair = artifact.new_key()
    (tmp_path / "team.key").write_bytes(pair.private)
    (tmp_path / "team.pub").write_bytes(pair.public)
    artifact.sign(path, tmp_path / "team.key", tmp_path / "signed.olympus")
    trusted = olympus_runtime.load(tmp_path / "signed.olympus", trust=tmp_path / "team.pub")
    assert trusted(W, rows(2))["rows"].shape == (2, 3)
    with pytest.raises(ArtifactError, match="it is not signed"):
        olympus_runtime.load(path, trust=tmp_path / "team.pub")


def changed(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**manifest, **fields}


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "sizes": (lambda m: changed(m, sizes=[4, 1, 16]), "increasing order"),
    "size 0": (lambda m: changed(m, sizes=[0, 4, 16]), "increasing order"),
    "another size": (lambda m: changed(m, sizes=[1, 4, 17]), "one bundle for each size"),
    "no sizes": (lambda m: changed(m, sizes=[]), "increasing order"),
    "oversize": (lambda m: changed(m, oversize="grow"), "refuse or split"),
    "fill": (
        lambda m: changed(m, arguments=[{**m["arguments"][0], "fill": "ones"}]),
        "one of zeros, edge, mask",
    ),
    "axis": (
        lambda m: changed(m, arguments=[{**m["arguments"][0], "axes": {"x": 1}}]),
        "elements of a row",
    ),
    "another axis": (
        lambda m: changed(m, results=[{**r, "axes": {"0": 7}} for r in m["results"]]),
        "has no such rows",
    ),
    "fewer results": (lambda m: changed(m, results=[]), "other arrays"),
    "unknown field": (lambda m: changed(m, more=1), "unknown field 'more'"),
    "no symbol": (lambda m: {k: v for k, v in m.items() if k != "symbol"}, "has no 'symbol'"),
    "a list": (lambda m: [m], "must be an object"),  # type: ignore[dict-item, return-value]
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_manifest_is_refused(name: str, path: Path, tmp_path: Path) -> None:
    change, message = CHANGES[name]
    members = read(path)
    manifest = change(json.loads(members["manifest.json"]))
    container.write(
        tmp_path / "m.olympus", {**members, "manifest.json": json.dumps(manifest).encode()}
    )
    with pytest.raises(ArtifactError, match=message):
        olympus_runtime.load(tmp_path / "m.olympus")


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_changed_part_is_refused(path: Path, tmp_path: Path) -> None:
    members = read(path)
    part = bytearray(members["b=4.olympus"])
    part[len(part) // 2] ^= 1
    container.write(tmp_path / "m.olympus", {**members, "b=4.olympus": bytes(part)})
    with pytest.raises(ArtifactError, match=r"'b=4.olympus' was altered"):
        olympus_runtime.load(tmp_path / "m.olympus")


def test_bundles_of_other_functions_are_not_joined(path: Path, tmp_path: Path) -> None:
    joined(tmp_path, rows_alone)
    parts = {1: tmp_path / "1.olympus", 4: path.parent / "4.olympus"}
    with pytest.raises(ArtifactError, match="bundles of different functions"):
        artifact.join_buckets(
            tmp_path / "m.olympus", parts, name="m", symbol="b", arguments=[], results=[]
        )


def test_more_rows_are_refined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLYMPUS_CACHE_DIR", str(tmp_path / "store"))
    path = joined(tmp_path, oversize="refine")
    program = olympus_runtime.load(path)
    for count in (3, 17, 40):
        x = rows(count)
        got, want = program(W, x), model(W, x, np.ones(count, bool))
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=2e-5, atol=1e-6)
    assert len(list((tmp_path / "store").rglob("*.refined"))) == 2
    with pytest.raises(TypeError, match="the constraint b <= 100 does not hold for b = 101"):
        program(W, rows(101))
    with pytest.raises(UsageError, match="refine needs a bundle for all numbers"):
        artifact.join_buckets(
            path,
            {1: tmp_path / "1.olympus"},
            name="m",
            symbol="b",
            arguments=[({}, "zeros")] * 3,
            results=[{}] * 3,
            oversize="refine",
        )
