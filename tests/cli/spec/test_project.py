"""olympus.toml: the meaning of its keys, and the messages for wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus import Target
from olympus.errors import SpecError, UsageError
from olympus_cli.spec.model import FromEntry, Project, ShapeSpec, SizeSpec
from olympus_cli.spec.project import (
    PROJECT_KEYS,
    TARGET_KEYS,
    find_project,
    load_project,
)
from olympus_cli.spec.resolve import Request

EXAMPLE = Path(__file__).parents[3] / "olympus.toml.example"


def loaded(folder: Path, text: str) -> Project:
    (folder / "olympus.toml").write_text(text)
    return load_project(folder)


def test_the_example_shows_every_key_and_is_valid(folder: Path) -> None:
    text = EXAMPLE.read_text()
    for key in PROJECT_KEYS + TARGET_KEYS:
        assert f"{key} =" in text or f".{key}]" in text
    (folder / "src").mkdir()
    project = loaded(folder, text)
    assert project.build_dir == folder / "build"
    assert (len(project.select()), len(project.targets)) == (5, 14)
    forward = project.targets["forward@batch=8,train=false"]
    assert forward.kwargs["tokens"] == ShapeSpec("int32", (8, 128))
    assert forward.kwargs["params"] == FromEntry("model:init")
    assert forward.kwargs["state"] == FromEntry("model:state", {"batch": 8})
    assert forward.python_path == (folder / "src",)
    assert forward.static == {"layers": 12, "activation": "gelu", "train": False}
    assert forward.backends == (Target("cpu"), Target("gpu", "h200"), Target("tpu", "v6e"))
    assert forward.donate == ("cache",)
    assert forward.weights is None
    detector = project.targets["detector"]
    assert (detector.weights, detector.kwargs) == ("arguments", {"batch": SizeSpec(8)})
    assert forward.compiler_options == {"xla_allow_excess_precision": False}
    assert (forward.optimize, forward.repeats) == ("default", "auto")
    split = project.targets["split"]
    assert (split.mesh, split.num_devices) == ({"data": 2, "model": 4}, 8)
    assert split.kwargs == {
        "x": ShapeSpec("float32", (64, 1024), (("data",),)),
        "params": FromEntry("model:init", {}, ((), ("model",))),
    }
    assert project.targets["step"].args == (
        ShapeSpec("float32", (1024,)),
        {"w": ShapeSpec("float32", (3, 4)), "b": ShapeSpec("float32", (4,))},
    )


def test_a_project_is_found_in_a_parent_folder(folder: Path) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    assert find_project(inner) is None
    (folder / "olympus.toml").write_text("")
    assert find_project(inner) == folder.resolve() / "olympus.toml"


def test_the_matrix_fills_shapes_statics_and_names(folder: Path) -> None:
    project = loaded(
        folder,
        """
        [target.t]
        entry = "m:f"
        args = { x = "{dtype}[{n}]", y = ["f32[{n},{n}]"] }
        static = { size = "{n}", kind = "a" }
        matrix = { dtype = ["f32", "bf16"], n = [2, 4], fast = [true] }
        """,
    )
    assert list(project.targets) == [
        f"t@dtype={dtype},n={n},fast=true" for dtype in ("f32", "bf16") for n in (2, 4)
    ]
    last = project.targets["t@dtype=bf16,n=4,fast=true"]
    assert last.kwargs["x"] == ShapeSpec("bfloat16", (4,))
    assert last.kwargs["y"] == [ShapeSpec("float32", (4, 4))]
    assert last.static == {"size": 4, "kind": "a", "fast": True}


def test_a_base_name_selects_each_of_its_combinations_once(project: Path) -> None:
    read = load_project(project)
    names = [target.name for target in read.select(["forward", "add", "forward@batch=8"])]
    assert names == ["forward@batch=1", "forward@batch=8", "add"]
    assert [target.name for target in read.select()] == names


def test_no_name_selects_the_default_targets(folder: Path) -> None:
    text = '[project]\ndefault-targets = ["b"]\nbuild-dir = "out"\n'
    targets = '[target.a]\nentry = "m:f"\n[target.b]\nentry = "m:f"\n'
    project = loaded(folder, text + targets)
    assert [target.name for target in project.select()] == ["b"]
    assert project.build_dir == folder.resolve() / "out"


def test_options_override_a_target(project: Path) -> None:
    base = Request("forward@batch=8").spec()
    assert base.root == project.resolve()
    over = Request("forward@batch=8", "x=f32[5,3]", ("relu=true",), None, "gpu", "h200").spec()
    assert over.kwargs == {**base.kwargs, "x": ShapeSpec("float32", (5, 3))}
    assert over.static == {"relu": True}
    assert over.backends == (Target("gpu", "h200"),)
    assert Request("add", device="h200").spec().backends == over.backends
    assert Request("add", "f32[], f32[]").spec().args == (ShapeSpec("float32", ()),) * 2


def test_an_entry_needs_no_project(folder: Path) -> None:
    spec = Request("pkg.m:f", "x=f32[2], f32[3]", ("n=3", 'mode="fast"'), backend="gpu:h200").spec()
    assert (spec.name, spec.entry, spec.root) == ("f", "pkg.m:f", folder.resolve())
    assert spec.args == (ShapeSpec("float32", (3,)),)
    assert spec.static == {"n": 3, "mode": "fast"}
    assert spec.backends == (Target("gpu", "h200"),)


T = '[target.t]\nentry = "m:f"\n'


def test_a_matrix_of_too_many_targets(folder: Path) -> None:
    values = list(range(200))
    (folder / "olympus.toml").write_text(T + f"matrix = {{ a = {values}, b = {values} }}\n")
    with pytest.raises(SpecError) as caught:
        load_project(folder)
    assert str(caught.value).startswith("olympus.toml:3:")
    assert "gives 40000 targets, and at most 10000 are allowed" in str(caught.value)


def test_spellings_of_a_backend_are_one_backend(folder: Path) -> None:
    (folder / "olympus.toml").write_text(T + 'backends = ["gpu", "cpu", "gpu:h200", "cpu"]\n')
    (target,) = load_project(folder).targets.values()
    assert target.backends == (Target("gpu", "h200"), Target("cpu"))
    assert Request("m:f", backend="gpu").spec().backends == (Target("gpu", "h200"),)


def test_a_byte_order_mark_is_ignored(folder: Path) -> None:
    (folder / "olympus.toml").write_bytes(b"\xef\xbb\xbf" + T.encode())
    assert list(load_project(folder).targets) == ["t"]


def test_an_unreadable_file_is_an_error(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"olympus\.toml does not exist"):
        load_project(folder)
    (folder / "olympus.toml").write_bytes(b'a = "\xff"')
    with pytest.raises(SpecError, match="not UTF-8 text \\(byte 5\\)"):
        load_project(folder)


def test_the_message_for_an_unknown_target_has_the_nearest(project: Path) -> None:
    with pytest.raises(UsageError, match="no target is named 'forwrd'") as caught:
        Request("forwrd").spec()
    assert "forward" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="has a matrix") as caught:
        Request("forward").spec()
    assert caught.value.hint == "name one of forward@batch=1, forward@batch=8"


def test_an_empty_project_has_no_target(folder: Path) -> None:
    with pytest.raises(UsageError, match="has no target"):
        loaded(folder, "").select()
