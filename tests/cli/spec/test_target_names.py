"""Names of targets: whole names, parts of a matrix and patterns, and the errors for no match."""

from __future__ import annotations

from pathlib import Path

import pytest

from olympus.errors import UsageError
from olympus_cli.spec.project import load_project
from olympus_cli.spec.resolve import Request
from olympus_cli.spec.target_names import matching, mismatch

NAMES = [
    *(f"train@batch={n},dtype={d}" for n in (8, 32) for d in ("f32", "bf16")),
    *("encode", "encode-wide", "decode@batch=8"),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train", NAMES[:4]),
        ("train@*", NAMES[:4]),
        ("train@batch=32", NAMES[2:4]),
        ("train@dtype=bf16", [NAMES[1], NAMES[3]]),
        ("train@dtype=f32,batch=8", [NAMES[0]]),
        ("train@batch=3*", NAMES[2:4]),
        ("train@batch=*,dtype=f*", [NAMES[0], NAMES[2]]),
        ("train@*,batch=8", NAMES[:2]),
        ("train@batch=8,dtype=f32", [NAMES[0]]),
        ("enc*", ["encode", "encode-wide"]),
        ("encode", ["encode"]),
        ("?ecode", ["decode@batch=8"]),
        ("*code", ["encode", "decode@batch=8"]),
        ("*@batch=8", [*NAMES[:2], "decode@batch=8"]),
        ("*@*", [*NAMES[:4], "decode@batch=8"]),
        ("*=8*", [*NAMES[:2], "decode@batch=8"]),
        ("*", NAMES),
        ("[ed]ncode", ["encode"]),
        ("encode@*", []),
        ("train@batch", []),
        ("train@batch=64", []),
        ("@batch=8", []),
        ("TRAIN", []),
        ("", []),
    ],
)
def test_a_text_selects_names_in_their_order(text: str, expected: list[str]) -> None:
    assert matching(text, NAMES) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("trian", "no target is named 'trian'", "did you mean train?"),
        ("enx*", "no target matches 'enx*'", ""),
        ("train@bach=8", "the matrix of target 'train' has no key 'bach'", "did you mean batch?"),
        ("train@batch=64", "the matrix of target 'train' has no batch=64", "it has 8, 32"),
        ("train@batch", "'batch' is no part of a matrix", "write train@batch=..."),
        ("encode@batch=8", "target 'encode' has no matrix", "write encode"),
        ("trian@batch=8", "no target is named 'trian@batch=8'", "did you mean"),
    ],
)
def test_no_match_is_an_error_with_the_nearest(text: str, message: str, hint: str) -> None:
    found = mismatch(text, NAMES)
    assert found.message == message
    assert (found.hint or "").startswith(hint)


def test_parts_that_no_combination_has_together() -> None:
    names = ["a@n=1,k=2", "a@n=2,k=1"]
    assert mismatch("a@n=1,k=1", names).message == "no combination of target 'a' has n=1,k=1"


def test_a_project_selects_by_patterns_and_its_default_targets_may_have_them(
    folder: Path,
) -> None:
    text = """
        [project]
        default-targets = ["f@n=2", "g*"]
        [target.f]
        entry = "m:f"
        matrix = { n = [1, 2], k = [3, 4] }
        [target.g-1]
        entry = "m:f"
        [target.h]
        entry = "m:f"
        """
    (folder / "olympus.toml").write_text(text)
    project = load_project(folder)
    assert [spec.name for spec in project.select()] == ["f@n=2,k=3", "f@n=2,k=4", "g-1"]
    names = [spec.name for spec in project.select(["h", "f@k=4", "f@n=1,k=4"])]
    assert names == ["h", "f@n=1,k=4", "f@n=2,k=4"]
    assert (project.has("f@k=3"), project.has("x*")) == (True, False)
    assert Request("f@n=1,k=4").spec().name == "f@n=1,k=4"
    assert Request("g*").spec().name == "g-1"
    for name, reason in (
        ("f", "has a matrix"),
        ("f@k=3", "has several combinations"),
        ("f@*", "is a pattern"),
    ):
        with pytest.raises(UsageError, match=f"{reason}, and this command takes one program"):
            Request(name).spec()
    with pytest.raises(UsageError, match=r"no target matches 'x\*' in .*olympus\.toml"):
        project.select(["x*"])
