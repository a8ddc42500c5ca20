"""Inputs that a function computes, and those of .safetensors files."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result
from safetensors.numpy import save_file

from olympus.artifact import dotted_name as dotted
from olympus.errors import BackendError, UsageError
from olympus_cli.program.input_files import file_inputs
from olympus_cli.program.inputs import seeded_inputs
from olympus_cli.spec.inputs import InputSpec
from tests.cli.arrays import arg_info

Invoke = Callable[..., Result]

MODEL = """\
import olympus.numpy as np


def init(width=2, start=1.0):
    return [{"w": np.full((3, width), start), "b": np.arange(width, dtype="bfloat16")}]


def forward(params, x):
    return x @ params[0]["w"] + params[0]["b"].astype("float32")


def short():
    return [{"w": np.zeros((3, 2))}]


def fails():
    raise ValueError("no weights today")
"""
LEAVES = [
    arg_info("params[0]['b']", "bfloat16", (2,)),
    arg_info("params[0]['w']", "float32", (3, 2)),
    arg_info("x", "float32", (3,)),
]


@pytest.fixture
def work(project: Path) -> Path:
    (project / "made.py").write_text(MODEL)
    return project


def write(work: Path, params: str, more: str = "") -> None:
    (work / "olympus.toml").write_text(
        '[target.it]\nentry = "made:forward"\n'
        'args = { params = { from = "made:init" }, x = "f32[3]" }\n'
        f"inputs.params = {params}\n{more}\n"
    )


def output(work: Path, invoke: Invoke, *options: str) -> np.ndarray[Any, Any]:
    result = invoke("run", "it", "-o", str(work / "out.npz"), *options)
    assert result.exit_code == 0, result.stderr
    array: np.ndarray[Any, Any] = np.load(work / "out.npz")["result"]
    return array


def test_a_function_computes_an_argument(work: Path, invoke: Invoke) -> None:
    write(
        work, '{ from = "made:init", with = { start = 2.0 } }', "inputs.x = { range = [1, 1.001] }"
    )
    np.testing.assert_allclose(output(work, invoke), [6, 7], rtol=1e-2)
    write(work, '{ from = "made:init" }', "inputs.x = { range = [1, 1.001] }")
    np.testing.assert_allclose(output(work, invoke), [3, 4], rtol=1e-2)
    assert invoke("verify", "it").exit_code == 0
    assert invoke("bench", "it", "--time-limit", "0.01").exit_code == 0
    assert invoke("profile", "it").exit_code == 0


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ('{ from = "made:fails" }', 3, ("no weights today", "while it made inputs", "made.py:")),
        ('{ from = "made:short" }', 2, ("made:short lacks params[0]['b']",)),
        ('{ from = "made:initt" }', 2, ("did you mean init?",)),
        ('{ from = "made:init", with = { strat = 1 } }', 2, ("did you mean start?",)),
        ('{ from = "made:init", with = { width = 3 } }', 2, ("is bfloat16[2], but made:init has",)),
        ('{ from = "init" }', 2, ("olympus.toml:4", "names no function")),
        ('{ from = "made:init", range = [0, 1] }', 2, ("olympus.toml:4", "must be {")),
    ],
)
def test_a_function_with_other_results_is_an_error(
    params: str, code: int, words: tuple[str, ...], work: Path, invoke: Invoke
) -> None:
    write(work, params)
    result = invoke("run", "it")
    assert result.exit_code == code, result.stderr
    for word in words:
        assert word in result.stderr


def test_a_pattern_has_no_function(work: Path, invoke: Invoke) -> None:
    write(work, "{ range = [0, 1] }", 'inputs."*" = { from = "made:init" }')
    result = invoke("run", "it")
    assert result.exit_code == 2 and "is a pattern" in result.stderr


def header(**tensors: Any) -> bytes:
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


def tensor(dtype: str, shape: tuple[int, ...], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def weights(path: Path, prefix: str = "params.", x: bool = True) -> Path:
    """A file with the arrays of LEAVES; `save_file` does not have the dtype bfloat16."""
    b = np.array([1, -2], ml_dtypes.bfloat16).tobytes()
    w = np.arange(6, dtype=np.float32).tobytes()
    tensors = {
        f"{prefix}0.b": tensor("BF16", (2,), 0, 4),
        f"{prefix}0.w": tensor("F32", (3, 2), 4, 28),
    }
    if x:
        tensors["x"] = tensor("F32", (3,), 28, 40)
    path.write_bytes(header(**tensors) + b + w + (np.ones(3, np.float32).tobytes() if x else b""))
    return path


def test_a_safetensors_file_has_paths_with_dots(tmp_path: Path) -> None:
    b, w, x = file_inputs(weights(tmp_path / "in.safetensors"), LEAVES)
    assert (b.dtype, b.tolist()) == (np.dtype("bfloat16"), [1, -2])
    assert w.tolist() == [[0, 1], [2, 3], [4, 5]] and x.tolist() == [1, 1, 1]
    names = ["a", "a[0]", "a['k.l']", 'a["it\'s"][1]', "a.field['x']"]
    assert [*map(dotted, names)] == ["a", "a.0", "a.k.l", "a.it's.1", "a.field.x"]
    save_file({"params[0]['w']": np.ones(2)}, tmp_path / "names.safetensors")
    (array,) = file_inputs(
        tmp_path / "names.safetensors", [arg_info("params[0]['w']", "float64", (2,))]
    )
    assert array.tolist() == [1, 1], "the name of an argument is a tensor's name too"


def test_a_file_of_one_argument_may_omit_its_name(
    work: Path, invoke: Invoke, tmp_path: Path
) -> None:
    for prefix in ("", "params."):
        file = weights(tmp_path / "only.safetensors", prefix, x=False)
        inputs = seeded_inputs(LEAVES, specs={"params": InputSpec(file=file)})
        assert inputs[1].tolist() == [[0, 1], [2, 3], [4, 5]]
    weights(work / "weights.safetensors", "", x=False)
    write(work, '{ file = "weights.safetensors" }', "inputs.x = { range = [1, 1.001] }")
    np.testing.assert_allclose(output(work, invoke), [7, 7], rtol=1e-2)
    path = str(weights(tmp_path / "in.safetensors"))
    np.testing.assert_allclose(output(work, invoke, "--inputs", path), [7, 7])


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2", "F16", "F64", "I8", "U16", "BOOL", "C64"])
def test_every_dtype_of_the_format_is_read(kind: str, tmp_path: Path) -> None:
    dtype = {
        "F8_E4M3": "float8_e4m3fn",
        "F8_E5M2": "float8_e5m2",
        "F16": "float16",
        "F64": "float64",
        "I8": "int8",
        "U16": "uint16",
        "BOOL": "bool",
        "C64": "complex64",
    }[kind]
    content = np.array([0, 1, 1], np.dtype(dtype))
    path = tmp_path / "in.safetensors"
    path.write_bytes(header(x=tensor(kind, (3,), 0, content.nbytes)) + content.tobytes())
    (array,) = file_inputs(path, [arg_info("x", dtype, (3,))])
    assert array.dtype == np.dtype(dtype) and array.tobytes() == content.tobytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a .safetensors file"),
        (b"\xff" * 40, "not a .safetensors file"),
        (header(x=tensor("F32", (3,), 0, 12)), "not a .safetensors file"),
        (header(x=tensor("F32", (2**40,), 0, 12)) + bytes(12), "not a .safetensors file"),
        (header(x=tensor("F32", (3,), 0, 12)) + bytes(99), "not a .safetensors file"),
        (header(x=tensor("F32", (2,), 0, 8)) + bytes(8), r"float32\[3\], but .* float32\[2\]"),
        (header(x=tensor("BOOL", (3,), 0, 3)) + b"\2\0\1", "is no bool"),
        (header(x=tensor("I32", (3,), 0, 12)) + bytes(12), r"has int32\[3\] for it"),
        (header(y=tensor("F32", (3,), 0, 12)) + bytes(12), "lacks 'x'"),
        (
            header(x=tensor("F32", (3,), 0, 12), y=tensor("F32", (1,), 12, 16)) + bytes(16),
            "has 'y', which the program does not take",
        ),
    ],
)
def test_an_invalid_file_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "in.safetensors"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        file_inputs(path, [arg_info("x", "bool" if b"BOOL" in content else "float32", (3,))])
    with pytest.raises(UsageError, match="cannot be read"):
        file_inputs(tmp_path / "absent.safetensors", [arg_info("x", "float32", (3,))])


def test_ambiguous_keys_with_dots_are_an_error(tmp_path: Path) -> None:
    leaves = [arg_info(name, "float32", (1,)) for name in ("p['a.b']", "p['a']['b']")]
    save_file({"p.a.b": np.ones(1, np.float32)}, tmp_path / "in.safetensors")
    with pytest.raises(UsageError, match="two arguments have one name"):
        file_inputs(tmp_path / "in.safetensors", leaves)


def test_without_the_package_the_install_line_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(BackendError) as caught:
        file_inputs(weights(tmp_path / "in.safetensors"), LEAVES)
    assert caught.value.exit_code == 6
    assert caught.value.hint == "pip install 'olympus[safetensors]'"


def test_a_file_may_have_an_array_without_elements(tmp_path: Path) -> None:
    path = tmp_path / "in.safetensors"
    path.write_bytes(header(x=tensor("F32", (0, 3), 0, 0)))
    (array,) = file_inputs(path, [arg_info("x", "float32", (0, 3))])
    assert array.shape == (0, 3)


def test_a_hint_has_the_nearest_name_of_a_renamed_tensor(tmp_path: Path) -> None:
    layers = [f"layers.{i}.w" for i in range(8)]
    leaves = [arg_info(name, "float32", (1,)) for name in (*layers, "head.w")]
    array = np.ones(1, np.float32)
    save_file(dict.fromkeys((*layers, "head.weight"), array), tmp_path / "in.safetensors")
    with pytest.raises(UsageError) as raised:
        file_inputs(tmp_path / "in.safetensors", leaves)
    assert str(raised.value).endswith(
        "lacks 'head.w', and has 'head.weight', which the program does not take"
    )
    quoted = ", ".join(f"'{name}'" for name in (*layers, "head.w"))
    near = "did you mean 'head.w' instead of 'head.weight'?"
    assert raised.value.hint == f"{near} the program takes {quoted}"
    np.savez(tmp_path / "in.npz", **dict.fromkeys((*layers, "head.weight"), array))  # type: ignore[arg-type]
    with pytest.raises(UsageError) as raised:
        file_inputs(tmp_path / "in.npz", leaves)
    near = "did you mean head.w instead of head.weight?"
    assert raised.value.hint == f"{near} the program takes {', '.join((*layers, 'head.w'))}"


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_hint_for_a_wrong_name_has_all_arguments(work: Path, invoke: Invoke, suffix: str) -> None:
    write(work, '{ from = "made:init" }', "inputs.x = { range = [0, 1] }")
    tensors = suffix == "safetensors"
    for wrong, near in [
        (("params.0.weight", "params.0.b", "x"), ("params.0.w", "params.0.weight")),
        (("unlike",), None),
    ]:
        names = [name if tensors else name.replace(".0.", "[0].") for name in wrong]
        arrays = {name: np.ones(3, np.float32) for name in names}
        path = work / f"in.{suffix}"
        save_file(arrays, path) if tensors else np.savez(path, **arrays)  # type: ignore[arg-type]
        result = invoke("run", "it", "--inputs", path.name)
        assert result.exit_code == 2
        hint = " ".join(result.stderr.partition("hint: ")[2].split())
        takes = ["params[0]['b']", "params[0]['w']", "x"]
        if tensors:
            takes = ["'params.0.b'", "'params.0.w'", "'x'"]
        assert hint.endswith(f"the program takes {', '.join(takes)}")
        assert ("did you mean" in hint) is (near is not None)
        if near and tensors:
            assert f"did you mean '{near[0]}' instead of '{near[1]}'?" in hint


def test_arguments_that_a_file_lacks_come_from_the_target(work: Path, invoke: Invoke) -> None:
    write(work, '{ from = "made:init" }')
    np.savez(work / "x.npz", x=np.float32([1, 1, 1]))
    result = invoke("run", "it", "--inputs", "x.npz", "-o", "out.npz")
    assert result.exit_code == 0, result.stderr
    message = "params[0]['b'], params[0]['w'], not in x.npz, come from the inputs of the target"
    assert f"note: {message}" in result.stderr
    assert np.load(work / "out.npz")["result"].tolist() == [3, 4]
    save_file({"params.0.w": np.full((3, 2), 2, np.float32)}, work / "w.safetensors")
    write(work, '{ from = "made:init" }', "inputs.x = { range = [1, 1.001] }")
    np.testing.assert_allclose(output(work, invoke, "--inputs", "w.safetensors"), [6, 7], rtol=1e-2)


def test_an_argument_without_an_input_is_an_error(work: Path, invoke: Invoke) -> None:
    write(work, '{ from = "made:init" }')
    np.savez(work / "w.npz", **{"params[0]['w']": np.ones((3, 2), np.float32)})
    result = invoke("run", "it", "--inputs", "w.npz")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-2:] == [
        "error: w.npz lacks x",
        "hint: add x to the file, or declare such inputs of the target in olympus.toml: "
        "inputs.x = { range = [0, 1] }",
    ]


@pytest.mark.parametrize("text", ["graph.senders", "graph.a.senders"])
def test_a_part_of_an_input_is_one_key(work: Path, invoke: Invoke, text: str) -> None:
    write(work, '{ from = "made:init" }', f"inputs.{text} = {{ range = [0, 64] }}")
    result = invoke("run", "it")
    assert result.exit_code == 2
    first, *parts = text.split(".")
    name = first + "".join(f"['{part}']" for part in parts)
    assert f'hint: write "{name}" = {{ range = [0, 64] }}, or "{text}" for an' in result.stderr
