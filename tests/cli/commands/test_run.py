"""`olympus run`: programs, bundles and files of inputs; summaries and saved outputs."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus.errors import BackendError, UsageError
from olympus_cli.program.input_files import npz_bytes
from olympus_cli.program.runnable import label_to_run
from olympus_cli.reports.arrays import summarize_array
from olympus_cli.spec.resolve import Request

Invoke = Callable[..., Result]

PROGRAM = """\
import collections
import olympus
import olympus.numpy as jnp


def double(x):
    return x * 2


def mix(params, tokens, n=1):
    return {"log": jnp.log(params["w"]), "pair": (params["b"] * n, tokens + 1)}


def total(params, x):
    return x + params["b"]


Point = collections.namedtuple("Point", "a b")


def point(x):
    return Point(x, x + 1)


def seed():
    return olympus.random.key(0)


def draw(key, x):
    return olympus.random.split(key)[0], olympus.random.normal(key, x.shape) + x
"""


@pytest.fixture
def work(folder: Path) -> Path:
    (folder / "program.py").write_text(PROGRAM)
    return folder


def test_outputs_are_summarized_and_saved(work: Path, invoke: Invoke) -> None:
    np.savez(
        "in.npz",
        **{"params['w']": np.float32([-1, 0, 1]), "params['b']": np.float32(3)},
        tokens=np.int32([5, 6]),
    )
    shapes = "params={w=f32[3],b=f32[]}, tokens=i32[2]"
    options = ("--shapes", shapes, "--static", "n=2", "--inputs", "in.npz", "-o", "out.npz")
    result = invoke("run", "program:mix", *options, "--json")
    assert result.exit_code == 0, result.output
    log, product, tokens = json.loads(result.stdout)["outputs"]
    assert log == {
        "name": "result['log']",
        "dtype": "float32",
        "shape": [3],
        "mean": 0.0,
        "minimum": 0.0,
        "maximum": 0.0,
        "non_finite": 2,
    }
    assert (product["name"], product["shape"], product["mean"]) == ("result['pair'][0]", [], 6.0)
    assert (tokens["name"], tokens["dtype"], tokens["mean"]) == ("result['pair'][1]", "int32", 6.5)
    with np.load("out.npz") as saved:
        assert saved["result['pair'][1]"].tolist() == [6, 7]
        assert saved["result['log']"].tolist()[1:] == [-math.inf, 0.0]
    assert sorted(path.name for path in work.glob("*.npz")) == ["in.npz", "out.npz"]


def test_the_table_names_every_output(work: Path, invoke: Invoke) -> None:
    result = invoke("run", "program:double", "--shapes", "f32[2,3]")
    assert result.exit_code == 0, result.output
    header, row = result.stdout.splitlines()
    assert header.split() == ["output", "shape", "dtype", "mean", "min", "max", "non-finite"]
    assert row.split()[0] == "result"
    assert row.split()[-1] == "0"


def test_a_npy_file_is_the_only_argument(work: Path, invoke: Invoke) -> None:
    np.save("x.npy", np.float32([1, 2]))
    command = ("run", "program:double", "--shapes", "x=f32[2]", "--inputs", "x.npy", "--json")
    assert json.loads(invoke(*command).stdout)["outputs"][0]["mean"] == 3.0


def test_the_seed_determines_the_inputs(work: Path, invoke: Invoke) -> None:
    command = ("run", "program:double", "--shapes", "x=f32[64]", "--json")
    first, again, other_seed = (
        invoke(*command, *more).stdout for more in ((), (), ("--seed", "1"))
    )
    assert first == again
    assert first != other_seed


def test_a_bundle_gives_the_results_of_its_program(work: Path, invoke: Invoke) -> None:
    shapes = ("--shapes", "params={w=f32[3],b=f32[]}, tokens=i32[2]")
    built = invoke("compile", "program:mix", *shapes)
    assert built.exit_code == 0, built.output
    for more in (("--json",), ("--json", "--no-recompile")):
        from_file = invoke("run", "build/mix/mix.olympus", *more)
        assert from_file.exit_code == 0, from_file.output
        assert from_file.stdout == invoke("run", "program:mix", *shapes, "--json").stdout
    refused = invoke("run", "build/mix/mix.olympus", *shapes)
    assert refused.exit_code == 2
    assert "it takes neither shapes" in refused.stderr
    (work / "damaged.olympus").write_bytes((work / "build/mix/mix.olympus").read_bytes()[:-100])
    assert invoke("run", "damaged.olympus").exit_code == 5


def test_random_keys_are_arrays_of_words(work: Path, invoke: Invoke) -> None:
    command = ("program:draw", "--shapes", "key={from=program:seed}, x=f32[3]")
    ran = invoke("run", *command, "--json")
    assert ran.exit_code == 0, ran.output
    outputs = json.loads(ran.stdout)["outputs"]
    assert [(output["name"], output["dtype"], output["shape"]) for output in outputs] == [
        ("result[0].data", "uint32", [2]),
        ("result[1]", "float32", [3]),
    ]
    traced = invoke("trace", *command, "--json")
    assert json.loads(traced.stdout)["arguments"][0]["name"] == "key.data"
    built = invoke("compile", *command)
    assert built.exit_code == 0, built.output
    assert invoke("run", "build/draw/draw.olympus", "--json").stdout == ran.stdout


def test_arrays_larger_than_any_memory(work: Path, invoke: Invoke) -> None:
    too_large = invoke("run", "program:double", "--shapes", "f32[1000000000000]")
    assert too_large.exit_code == 4
    assert "this machine's memory is too small" in too_large.stderr
    needed = "argument x, float32[1000000000000], needs 3.64 TiB, and "
    assert needed in too_large.stderr
    most = 2**63 - 1
    for command in ("trace", "run"):
        uncounted = invoke(command, "program:double", "--shapes", f"f32[{most},{most}]")
        assert uncounted.exit_code == 2
        assert "is too large: its size in bytes does not fit in 64 bits" in uncounted.stderr


@pytest.mark.parametrize("name", ["trace", "lower", "cost", "compile", "build", "run", "check"])
def test_a_function_without_return_has_a_warning(work: Path, invoke: Invoke, name: str) -> None:
    (work / "none.py").write_text(
        "\n\ndef forgot(x):\n    x + 1\n\n\ndef empty(x):\n    return ()\n"
    )
    (work / "olympus.toml").write_text(
        "[budget]\nflops = 100\n"
        '[target.forgot]\nentry = "none:forgot"\nargs.x = "f32[4]"\n'
        '[target.empty]\nentry = "none:empty"\nargs.x = "f32[4]"\n'
    )
    words = "function forgot returns None and has no results (is a return missing?), at none.py:3"
    result = invoke(name, "forgot")
    assert result.exit_code == 0, result.output
    assert words in result.output
    assert "returns None" not in invoke(name, "empty").output


def test_results_of_a_bundle_have_their_names(work: Path, invoke: Invoke) -> None:
    shapes = ("program:point", "--shapes", "x=f32[3]")
    assert invoke("compile", *shapes).exit_code == 0
    from_source = invoke("run", *shapes, "--json").stdout
    assert [output["name"] for output in json.loads(from_source)["outputs"]] == [
        "result.a",
        "result.b",
    ]
    from_file = (sys.executable, "-m", "olympus_cli", "run", "build/point/point.olympus", "--json")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    ran = subprocess.run(from_file, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == from_source


def test_the_first_backend_with_a_device_runs(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = '[target.both]\nentry = "program:double"\nargs = ["f32[2]"]\n'
    Path("olympus.toml").write_text(targets + 'backends = ["gpu:h200", "cpu"]\n')

    def devices(backend: str) -> list[str]:
        if backend == "gpu":
            raise BackendError("this machine has no GPU to run on")
        return ["cpu:0"]

    monkeypatch.setattr(olympus, "devices", devices)
    result = invoke("run", "both")
    assert result.exit_code == 0, result.output


def test_a_result_with_only_nan_has_a_note(work: Path, invoke: Invoke) -> None:
    Path("roots.py").write_text(
        "import olympus.numpy as jnp\ndef f(x, n):\n    return jnp.sqrt(x - 9), x.sum() * n\n"
    )
    command = ("run", "roots:f", "--shapes", "x=f32[4], n=f32[]")
    note = "note: result[0]: every element is NaN, on drawn values of x, n; give --inputs FILE"
    result = invoke(*command)
    assert result.exit_code == 0 and note in result.stderr
    assert "x = { range = [0.1, 1] }" in result.stderr
    np.savez("in.npz", x=np.zeros(4, "float32"), n=np.float32(1))
    assert "every element is NaN" not in invoke(*command, "--inputs", "in.npz").stderr
    Path("olympus.toml").write_text(
        '[target.f]\nentry = "roots:f"\nargs = { x = "f32[4]", n = "f32[]" }\n'
        "inputs = { x = { range = [10, 11] }, n = { range = [0, 1] } }\n"
    )
    assert "every element is NaN" not in invoke("run", "f").stderr


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (None, "--backend cpu runs it on the CPU; `olympus compile` needs no device"),
        ("install the driver", "install the driver"),
    ],
)
def test_an_absent_device_has_a_hint(
    work: Path, monkeypatch: pytest.MonkeyPatch, hint: str | None, shown: str
) -> None:
    def devices(backend: str) -> list[str]:
        raise BackendError("no GPU is attached", hint=hint)

    monkeypatch.setattr(olympus, "devices", devices)
    spec = Request("program:double", shapes="f32[2]", device="h200").spec()
    with pytest.raises(BackendError, match=r"^double cannot run on gpu:h200: no GPU") as caught:
        label_to_run(spec)
    assert caught.value.hint == shown


@pytest.mark.parametrize("options", [("--device", "a100-80"), ("--backend", "gpu:a100-80")])
def test_a_bundle_accepts_the_device_options_of_entries(
    work: Path, invoke: Invoke, options: tuple[str, ...]
) -> None:
    assert invoke("compile", "program:double", "--shapes", "x=f32[3]").exit_code == 0
    for more in ((), ("--no-recompile",)):
        refused = invoke("run", "build/double/double.olympus", *more, *options)
        assert refused.exit_code == 5
        assert "has no program for gpu, only for cpu (executables: cpu)" in refused.stderr


def test_a_wrong_file_of_inputs_is_an_error(work: Path, invoke: Invoke) -> None:
    np.save("x.npy", np.int64([1, 2]))
    command = ("run", "program:double", "--shapes", "x=f32[2]", "--inputs")
    result = invoke(*command, "x.npy")
    assert result.exit_code == 2
    assert "argument x is float32[2], but x.npy has int64[2] for it" in result.stderr
    assert invoke(*command, "none.npy").exit_code == 2


TWICE = """\
import olympus.tree_util as tu

class Pair:
    def __init__(self, *parts):
        self.parts = parts

key = tu.GetAttrKey("part")
tu.register_pytree_with_keys(
    Pair, lambda pair: ([(key, part) for part in pair.parts], None), lambda _, parts: Pair(*parts)
)

def f(x):
    return Pair(x, x + 1)
"""


def test_all_results_with_one_name_are_reported_and_saved(folder: Path, invoke: Invoke) -> None:
    (folder / "twice.py").write_text(TWICE)
    run = ("run", "twice.py:f", "--shapes", "x=f32[2]")
    outputs = json.loads(invoke(*run, "--json").stdout)["outputs"]
    assert [output["name"] for output in outputs] == ["result.part", "result.part"]
    assert outputs[0]["mean"] != outputs[1]["mean"]
    done = invoke(*run, "-o", "r.npz")
    assert done.exit_code == 2
    assert "cannot hold two arrays of the name 'result.part'" in done.stderr
    assert not (folder / "r.npz").exists()


def test_a_name_that_is_too_long_for_a_zip_file() -> None:
    longest = "a" * (2**16 - 5)
    assert len(npz_bytes([(longest, np.zeros(1))])) > len(longest)
    with pytest.raises(UsageError, match="a name of 65532 characters: 'aaa"):
        npz_bytes([(longest + "a", np.zeros(1))])


def test_summaries_use_only_finite_elements() -> None:
    summary = summarize_array("x", np.array([1, np.inf, 4, np.nan], ml_dtypes.bfloat16))
    assert (summary.mean, summary.minimum, summary.maximum, summary.non_finite) == (
        2.5,
        1.0,
        4.0,
        2,
    )
    assert summarize_array("b", np.array([True, False])).mean == 0.5
    assert summarize_array("none", np.zeros((0, 3))).mean is None
    for largest in ([1.7e308] * 3, [1.7e308, -1.7e308], [np.finfo(float).max] * 7):
        summary = summarize_array("x", np.array(largest))
        assert summary.mean == pytest.approx(sum(x / len(largest) for x in largest))
    complex_one = summarize_array("z", np.array([1j, np.nan]))
    assert (complex_one.mean, complex_one.non_finite) == (None, 1)
    assert complex_one.row() == ("z", "[2]", "complex128", "-", "-", "-", "1")


TRAIN = """\
import olympus.numpy as jnp

def init():
    return {"w": jnp.ones((2, 2)), "b": [jnp.zeros(2), jnp.ones(2)]}

def step(params, x):
    return {"w": params["w"] * 2, "b": params["b"]}, x + 1

def scale(params):
    return {"w": params["w"] * 2, "b": params["b"]}

def many(*xs):
    return [x + 1 for x in xs]

def whole(x):
    return x + 1
"""


@pytest.mark.parametrize(
    ("first", "second", "shapes"),
    [
        ("init", "scale", ("--shapes", "params={from=train:init}")),
        ("scale", "scale", ("--shapes", "params={from=train:init}")),
        ("step", "step", ("--shapes", "params={from=train:init}, x=f32[2]")),
        ("many", "many", ("--shapes", "f32[2], f32[3]")),
        ("whole", "whole", ("--shapes", "x=i32[3]")),
    ],
)
def test_outputs_of_a_run_are_inputs_of_the_next(
    work: Path, invoke: Invoke, first: str, second: str, shapes: tuple[str, ...]
) -> None:
    (work / "train.py").write_text(TRAIN)
    options = () if first == "init" else shapes
    assert invoke("run", f"train:{first}", *options, "-o", "out.npz").exit_code == 0
    result = invoke("run", f"train:{second}", *shapes, "--inputs", "out.npz", "-o", "next.npz")
    assert result.exit_code == 0, result.stderr
    with np.load("out.npz") as outputs, np.load("next.npz") as next_outputs:
        if first == "init":
            assert next_outputs["result['w']"].tolist() == [[2, 2], [2, 2]]
            assert next_outputs["result['b'][1]"].tolist() == [1, 1]
        else:
            assert outputs.files == next_outputs.files


def test_outputs_that_do_not_match_the_inputs_are_an_error(work: Path, invoke: Invoke) -> None:
    (work / "train.py").write_text(TRAIN)
    assert invoke("run", "train:init", "-o", "out.npz").exit_code == 0
    shapes = ("--shapes", "params={from=train:init}, x=f32[2]")
    result = invoke("run", "train:step", *shapes, "--inputs", "out.npz")
    assert result.exit_code == 2
    assert "out.npz lacks params['b'][0], params['b'][1], params['w'], x" in result.stderr
    assert "hint: it has the results result['b'][0], result['b'][1], result['w']" in result.stderr


@pytest.mark.parametrize(
    ("stored", "expected"),
    [("float64", "f32"), ("float64", "bf16"), ("int64", "i8"), ("complex128", "c64")],
)
def test_wider_inputs_are_cast_with_a_note(
    work: Path, invoke: Invoke, stored: str, expected: str
) -> None:
    np.savez("in.npz", x=np.array([1, 2], stored))
    shapes = ("--shapes", f"x={expected}[2]")
    result = invoke("run", "program:double", *shapes, "--inputs", "in.npz", "--json")
    assert result.exit_code == 0, result.stderr
    assert f"note: x of in.npz is {stored}, and is cast to " in result.stderr
    if expected != "c64":
        assert json.loads(result.stdout)["outputs"][0]["mean"] == 3.0


@pytest.mark.parametrize(
    ("stored", "values", "expected"),
    [
        ("int64", [1, 300], "i8"),
        ("float64", [1, 1e300], "f32"),
        ("float64", [1, 2], "i32"),
        ("int64", [1, 2], "f32"),
        ("complex128", [1, 2], "f32"),
    ],
)
def test_inputs_that_do_not_fit_are_not_cast(
    work: Path, invoke: Invoke, stored: str, values: list[float], expected: str
) -> None:
    np.savez("in.npz", x=np.array(values, stored))
    shapes = ("--shapes", f"x={expected}[2]")
    result = invoke("run", "program:double", *shapes, "--inputs", "in.npz")
    assert result.exit_code == 2
    assert f"but in.npz has {stored}[2] for it" in result.stderr
    if values[1] > 2:  # only this value prevents the cast
        assert f", and {values[1]} does not fit {expected.replace('f', 'float')}" in (
            result.stderr.replace("int8", "i8")
        )


NARROW = [
    *(("bf16", "float32"), ("f8_e4m3fn", "float32"), ("f8_e5m2", "float32")),
    *(("i4", "int8"), ("u4", "uint8"), ("f16", "float16")),
]


@pytest.mark.parametrize(("narrow", "wide"), NARROW)
def test_dtypes_without_a_file_format_are_widened(
    work: Path, invoke: Invoke, narrow: str, wide: str
) -> None:
    (work / "train.py").write_text("def same(x):\n    return x\n")
    shapes = ("train:same", "--shapes", f"x={narrow}[2,3]")
    result = invoke("run", *shapes, "-o", "out.npz")
    assert result.exit_code == 0, result.output
    with np.load("out.npz") as arrays:
        first = arrays["result"]
    assert (first.dtype, first.shape) == (np.dtype(wide), (2, 3))
    assert (f"and is written as {wide}" in result.stderr) is (narrow != "f16")
    again = invoke("run", *shapes, "--inputs", "out.npz", "-o", "next.npz")
    assert again.exit_code == 0, again.output
    assert "is cast" not in again.stderr
    with np.load("next.npz") as arrays:
        assert arrays["result"].tobytes() == first.tobytes()


def test_a_float_that_a_narrow_dtype_rounds_is_cast_with_a_note(work: Path, invoke: Invoke) -> None:
    np.savez("in.npz", x=np.float32([1.001, np.nan]))
    shapes = ("--shapes", "x=bf16[2]", "--inputs", "in.npz")
    result = invoke("run", "program:double", *shapes)
    assert result.exit_code == 0, result.output
    assert "note: x of in.npz is float32, and is cast to bfloat16" in result.stderr
    np.savez("in.npz", x=np.float32([1.0, np.nan]))
    assert "note" not in invoke("run", "program:double", *shapes).stderr
    np.savez("in.npz", x=np.int8([1, 100]))
    refused = invoke("run", "program:double", "--shapes", "x=i4[2]", "--inputs", "in.npz")
    assert refused.exit_code == 2
    assert "100 does not fit int4" in refused.stderr


def test_a_dash_is_stdout(work: Path, invoke: Invoke) -> None:
    shapes = ("program:double", "--shapes", "x=f32[2]")
    result = invoke("run", *shapes, "-o", "-")
    assert result.exit_code == 0
    with np.load(io.BytesIO(result.stdout_bytes)) as saved:
        assert saved["result"].shape == (2,)
    for command in (("trace",), ("lower",), ("lower", "--format", "bytecode")):
        plain = invoke(*command[:1], *shapes, *command[1:])
        assert invoke(*command[:1], *shapes, *command[1:], "-o", "-").stdout_bytes == (
            plain.stdout_bytes
        )
    result = invoke("trace", *shapes, "-o", "-", "--json")
    assert "olympuspr" in json.loads(result.stdout)
    result = invoke("run", *shapes, "-o", "-", "--json")
    assert result.exit_code == 2
    assert "`-o -` cannot be combined with --json" in result.stderr
    folder = invoke("compile", *shapes, "-o", "-")
    assert folder.exit_code == 2
    assert "a folder cannot be written to stdout" in folder.stderr
    assert sorted(path.name for path in work.iterdir() if path.suffix != ".py") in (
        [],
        ["__pycache__"],
    )


@pytest.mark.parametrize("name", ["o.safetensors", "o.npy", "o.txt", "o", "two words.NPZ"])
def test_results_are_written_only_to_npz_files(work: Path, invoke: Invoke, name: str) -> None:
    (work / "fails.py").write_text("raise ValueError('this is imported')")
    result = invoke("run", "fails:it", "--output", name)
    assert result.exit_code == 2
    message, hint = result.stderr.splitlines()
    assert message == f"error: --output {name}: the name must end in .npz"
    quote = "'" if " " in name else ""
    assert hint == f"hint: --output {quote}{Path(name).stem}.npz{quote}"
    assert not (work / name).exists()


def test_results_are_written_to_a_device(work: Path, invoke: Invoke) -> None:
    result = invoke("run", "program:double", "--shapes", "f32[2]", "-o", os.devnull)
    assert result.exit_code == 0, result.stderr
