"""The file of a bundle: its members, bytes and manifest, and how it is written."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jaxlib
import jsonschema
import numpy as np
import pytest

import olympus
from olympus import artifact, lax
from olympus.errors import UsageError
from tests.artifact.bundles import members_of, python, save, struct, traced_mlp

SCHEMA = json.loads((files("olympus_core.artifact") / "bundle.schema.json").read_text())


def double(x: Any) -> Any:
    return lax.add(x, x)


def test_a_bundle_has_four_members_without_compression_or_dates(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        assert archive.namelist() == [
            "executables/cpu.bin",
            "manifest.json",
            "program.olympuspr",
            "program.stablehlo.bc",
        ]
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.compress_type == zipfile.ZIP_STORED


def test_a_bundle_of_a_project_has_the_source_lines_of_its_operations(tmp_path: Path) -> None:
    """It has neither the text of the lines nor the path of the project."""
    traced = olympus.jit(double).trace(np.ones(3, np.float32))
    path = save(tmp_path / "double.olympus", traced, root=Path(__file__).parent)
    content = members_of(path)["program.sources.json"]
    assert str(Path(__file__).parent).encode() not in content
    assert b"lax.add" not in content
    sources = artifact.load(path).sources()
    assert sources is not None and not sources.texts
    line = double.__code__.co_firstlineno + 1
    assert (Path(__file__).name, line) in [place[:2] for place in sources.places]
    jsonschema.validate(json.loads(members_of(path)["manifest.json"]), SCHEMA)


def test_a_bundle_may_have_no_source_lines(bundle: Path) -> None:
    assert artifact.load(bundle).sources() is None


def test_the_manifest_conforms_to_the_schema(bundle: Path) -> None:
    data = json.loads(members_of(bundle)["manifest.json"])
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(data, SCHEMA)
    assert data["signature"]["arguments"][2] == {
        "name": "x",
        "dtype": "float32",
        "shape": [2, 3],
        "weak_type": False,
        "donated": False,
    }
    assert data["signature"]["static"] == {"layers": [1, 2], "train": False}
    assert (data["name"], data["entry"], data["function"]) == ("mlp", "net:mlp", "mlp")
    # other packages that are installed, such as compilers of GPUs, change no bundle for the CPU
    assert data["versions"] == {"jaxlib": jaxlib.__version__, "olympus": olympus.__version__}


def test_a_manifest_that_is_read_and_written_does_not_change(bundle: Path) -> None:
    loaded = artifact.load(bundle)
    assert loaded.manifest.to_bytes() == members_of(bundle)["manifest.json"]
    names = [argument.name for argument in loaded.manifest.signature.arguments]
    assert names == ["params['b']", "params['w']", "x", "scale"]
    assert loaded.manifest.versions["jaxlib"]
    (executable,) = loaded.executables
    assert executable.target == olympus.target("cpu")
    assert loaded.members[executable.member] == members_of(bundle)["executables/cpu.bin"]


def test_a_bundle_has_the_olympuspr_and_the_stablehlo(bundle: Path) -> None:
    loaded, traced = artifact.load(bundle), traced_mlp()
    assert loaded.olympuspr == f"{traced.olympuspr}\n"
    assert loaded.stablehlo() == traced.lower().bytecode()
    assert loaded.stablehlo().startswith(b"ML\xefR")


def test_no_member_is_a_pickle(bundle: Path) -> None:
    for content in members_of(bundle).values():
        assert not content.startswith(b"\x80")
    sources = files("olympus_core.artifact").iterdir()
    assert not [path for path in sources if path.is_file() and "pickle" in path.read_text()]


def test_the_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    source = """
import olympus, sys
from olympus import artifact
def f(x, *, y): return {"b": olympus.lax.exp(x), "a": y}
s = olympus.ShapeDtypeStruct((3,), "float32")
traced = olympus.jit(f).trace(s, y=s)
lowered = traced.lower()
artifact.save(sys.argv[0] + ".olympus", lowered.compile(), lowered=lowered, name="f",
              olympuspr_text=str(traced.olympuspr), entry="m:f",
              static={"b": 1, "a": 2, "set": (frozenset("abcdef"), {("x",), "y"})})
print(open(sys.argv[0] + ".olympus", "rb").read().hex())
"""
    first = python(source, tmp_path, PYTHONHASHSEED="1")
    assert len(first) > 1000
    assert first == python(source, tmp_path, PYTHONHASHSEED="2")


def test_statics_that_are_no_json_are_saved_as_text(tmp_path: Path) -> None:
    static = {
        "limit": float("inf"),
        "when": datetime.date(2024, 2, 29),
        "dims": (1, (2, 3)),
        "name": "é",
        "act": double,
        "nested": {"a": None, "b": [np.float32(1)]},
        "object": object(),
        "set": [{3, 1}, frozenset("ba"), set(), frozenset([frozenset("dc")])],
    }
    traced = olympus.jit(double).trace(struct())
    path = save(tmp_path / "f.olympus", traced, static=static)
    assert artifact.load(path).manifest.signature.static == {
        "limit": {"python": "inf"},
        "when": {"python": "datetime.date(2024, 2, 29)"},
        "dims": [1, [2, 3]],
        "name": "é",
        "act": {"python": f"{__name__}.double"},
        "nested": {"a": None, "b": [{"python": "np.float32(1.0)"}]},
        "object": {"python": "<object object>"},
        "set": [
            {"python": "{1, 3}"},
            {"python": "frozenset({'a', 'b'})"},
            {"python": "set()"},
            {"python": "frozenset({frozenset({'c', 'd'})})"},
        ],
    }


def test_a_failed_save_does_not_change_the_file(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bundle.read_bytes()
    traced = olympus.jit(double).trace(struct())

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        with pytest.raises(UsageError, match="cannot be written: No space left on device"):
            save(bundle, traced)
    assert bundle.read_bytes() == before
    assert list(bundle.parent.iterdir()) == [bundle]
    save(bundle, traced)
    assert artifact.load(bundle).manifest.function == "double"
    assert list(bundle.parent.iterdir()) == [bundle]
    ordinary = bundle.with_name("ordinary")
    ordinary.touch()
    assert bundle.stat().st_mode == ordinary.stat().st_mode


def test_a_save_preserves_links_and_permissions(bundle: Path) -> None:
    bundle.chmod(0o600)
    link = bundle.with_name("link.olympus")
    link.symlink_to(bundle.name)
    save(link, olympus.jit(double).trace(struct()))
    assert link.is_symlink()
    assert artifact.load(bundle).manifest.function == "double"
    assert bundle.stat().st_mode & 0o777 == 0o600


def test_a_bundle_is_written_to_a_pipe(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = started(["cat", str(pipe)], stdout=subprocess.PIPE)
    save(pipe, traced_mlp())
    copy = tmp_path / "copy.olympus"
    copy.write_bytes(reader.communicate(timeout=60)[0])
    assert artifact.load(copy).manifest.name == "mlp"
    assert pipe.is_fifo()


@pytest.mark.parametrize("path", ["missing/f.olympus", "folder", "f\0.olympus"])
def test_paths_that_cannot_be_written_are_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        save(tmp_path / path, olympus.jit(double).trace(struct()))


def test_stages_of_different_programs_are_refused(tmp_path: Path) -> None:
    path, text = tmp_path / "f.olympus", {"olympuspr_text": "", "name": "f", "entry": "m:f"}
    of_one, of_two = (olympus.jit(double).trace(struct(n)).lower() for n in (1, 2))
    compiled = of_one.compile()
    with pytest.raises(UsageError, match=r"float32\[1\]\) and 'double' \(float32\[2\]\)"):
        artifact.save(path, compiled, lowered=of_two, **text)
    with pytest.raises(UsageError, match="two of the executables are for cpu"):
        artifact.save(path, [compiled, compiled], lowered=of_one, **text)
    with pytest.raises(UsageError, match="needs a compiled program"):
        artifact.save(path, [], lowered=of_one, **text)
    with pytest.raises(UsageError, match="needs a lowered program"):
        artifact.save(path, compiled, lowered=[], **text)
    assert not path.exists()


def test_the_manifest_has_the_digest_of_each_member(bundle: Path) -> None:
    members = members_of(bundle)
    digests = json.loads(members.pop("manifest.json"))["members"]
    assert digests == {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        for name, content in members.items()
    }
