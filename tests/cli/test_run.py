"""`olympus run`: seeded inputs, inputs from files, summaries and saved outputs."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus.errors import BackendError, UsageError
from olympus_cli.program.inputs import file_inputs, npz_bytes, parse_int_range, seeded_inputs
from olympus_cli.program.leaves import Leaf
from olympus_cli.reports.arrays import summarize_array

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

DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn", "complex64", "int32", "uint8", "bool"]


def leaf(name: str, dtype: str = "float32", *shape: int) -> Leaf:
    return Leaf.of(name, dtype, shape)


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


def test_the_seed_decides_the_inputs(work: Path, invoke: Invoke) -> None:
    command = ("run", "program:double", "--shapes", "x=f32[64]", "--json")
    first, again, other = (invoke(*command, *more).stdout for more in ((), (), ("--seed", "1")))
    assert first == again
    assert first != other


def test_a_bundle_runs_as_its_program_does(work: Path, invoke: Invoke) -> None:
    shapes = ("--shapes", "params={w=f32[3],b=f32[]}, tokens=i32[2]")
    built = invoke("compile", "program:mix", *shapes)
    assert built.exit_code == 0, built.output
    for more in (("--json",), ("--json", "--no-recompile")):
        from_file = invoke("run", "build/mix/mix.olympus", *more)
        assert from_file.exit_code == 0, from_file.output
        assert from_file.stdout == invoke("run", "program:mix", *shapes, "--json").stdout
    refused = invoke("run", "build/mix/mix.olympus", *shapes)
    assert refused.exit_code == 2
    assert "it takes no shapes" in refused.stderr
    (work / "damaged.olympus").write_bytes((work / "build/mix/mix.olympus").read_bytes()[:-100])
    assert invoke("run", "damaged.olympus").exit_code == 5


def test_random_keys_are_arrays_of_words(work: Path, invoke: Invoke) -> None:
    command = ("program:draw", "--shapes", "key={from=program:seed}, x=f32[3]")
    ran = invoke("run", *command, "--json")
    assert ran.exit_code == 0, ran.output
    outputs = json.loads(ran.stdout)["outputs"]
    assert [(each["name"], each["dtype"], each["shape"]) for each in outputs] == [
        ("result[0].data", "uint32", [2]),
        ("result[1]", "float32", [3]),
    ]
    traced = invoke("trace", *command, "--json")
    assert json.loads(traced.stdout)["arguments"][0]["name"] == "key.data"
    built = invoke("compile", *command)
    assert built.exit_code == 0, built.output
    assert invoke("run", "build/draw/draw.olympus", "--json").stdout == ran.stdout


def test_arrays_that_no_machine_holds(work: Path, invoke: Invoke) -> None:
    too_large = invoke("run", "program:double", "--shapes", "f32[1000000000000]")
    assert too_large.exit_code == 4
    assert "this machine's memory is too small" in too_large.stderr
    most = 2**63 - 1
    for command in ("trace", "run"):
        uncounted = invoke(command, "program:double", "--shapes", f"f32[{most},{most}]")
        assert uncounted.exit_code == 2
        assert "has more bytes than a 64-bit number counts" in uncounted.stderr


def test_results_of_a_bundle_keep_their_names(work: Path, invoke: Invoke) -> None:
    shapes = ("program:point", "--shapes", "x=f32[3]")
    assert invoke("compile", *shapes).exit_code == 0
    from_source = invoke("run", *shapes, "--json").stdout
    assert [each["name"] for each in json.loads(from_source)["outputs"]] == ["result.a", "result.b"]
    from_file = (sys.executable, "-m", "olympus_cli", "run", "build/point/point.olympus", "--json")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(from_file, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout == from_source


def test_the_first_backend_with_a_device_runs(
    work: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets = '[target.both]\nentry = "program:double"\nargs = ["f32[2]"]\n'
    Path("olympus.toml").write_text(targets + 'backends = ["gpu:h200", "cpu"]\n')

    def devices(backend: str) -> list[str]:
        if backend == "gpu":
            raise BackendError("there is no GPU to run on here")
        return ["cpu:0"]

    monkeypatch.setattr(olympus, "devices", devices)
    result = invoke("run", "both")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("options", [("--device", "a100-80"), ("--backend", "gpu:a100-80")])
def test_a_bundle_takes_devices_as_entries_do(
    work: Path, invoke: Invoke, options: tuple[str, ...]
) -> None:
    assert invoke("compile", "program:double", "--shapes", "x=f32[3]").exit_code == 0
    for more in ((), ("--no-recompile",)):
        refused = invoke("run", "build/double/double.olympus", *more, *options)
        assert refused.exit_code == 5
        assert "has no program for gpu, only for cpu (executables: cpu)" in refused.stderr


def test_run_says_what_is_wrong_with_a_file(work: Path, invoke: Invoke) -> None:
    np.save("x.npy", np.int64([1, 2]))
    command = ("run", "program:double", "--shapes", "x=f32[2]", "--inputs")
    result = invoke(*command, "x.npy")
    assert result.exit_code == 2
    assert "argument x is float32[2], but x.npy has int64[2] for it" in result.stderr
    assert invoke(*command, "none.npy").exit_code == 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_seeded_inputs_have_the_dtype_and_stay_small(dtype: str) -> None:
    (array,) = seeded_inputs([leaf("x", dtype, 100, 10)], seed=3)
    assert (array.dtype, array.shape) == (np.dtype(dtype), (100, 10))
    values = array.astype(np.complex128)
    assert np.isfinite(values).all()
    if array.dtype.kind in "iu":
        assert set(array.ravel().tolist()) == set(range(8))
    elif dtype == "bool":
        assert 300 < values.real.sum() < 700
    else:
        assert abs(values.mean()) < 0.02
        assert 0.08 < values.real.std() < 0.12


def test_an_argument_has_its_values_whatever_else_there_is() -> None:
    alone = seeded_inputs([leaf("x", "float32", 5)], seed=7)
    among = seeded_inputs([leaf("a", "float32", 2), leaf("x", "float32", 5)], seed=7)
    assert (alone[0] == among[1]).all()
    assert not (seeded_inputs([leaf("y", "float32", 5)], seed=7)[0] == alone[0]).any()


@pytest.mark.parametrize(
    ("dtype", "int_range", "limits"),
    [
        ("int8", (200, 300), "int8 holds -128 to 127"),
        ("uint8", (-8, -2), "uint8 holds 0 to 255"),
        ("int4", (8, 9), "int4 holds -8 to 7"),
    ],
)
def test_a_range_without_an_integer_of_the_dtype(
    dtype: str, int_range: tuple[int, int], limits: str
) -> None:
    with pytest.raises(UsageError, match=f"fits argument x: {limits}"):
        seeded_inputs([leaf("x", dtype, 2)], int_range=int_range)


def test_all_integers_of_a_wide_dtype() -> None:
    whole = parse_int_range(f"0:{2**64}")
    (array,) = seeded_inputs([leaf("x", "uint64", 1000)], int_range=whole)
    assert array.max() > 2**63
    (array,) = seeded_inputs([leaf("x", "int64", 1000)], int_range=whole)
    assert array.min() >= 0
    assert array.max() > 2**62


def test_integers_come_from_the_range_as_far_as_the_dtype_goes() -> None:
    (array,) = seeded_inputs([leaf("x", "int32", 1000)], int_range=(-2, 2))
    assert set(array.tolist()) == {-2, -1, 0, 1}
    (unsigned,) = seeded_inputs([leaf("x", "uint8", 1000)], int_range=(-2, 2))
    assert set(unsigned.tolist()) == {0, 1}


@pytest.mark.parametrize("text", ["", "8", "8:0", "0:0", "a:b", "0:8:9"])
def test_a_range_that_is_none(text: str) -> None:
    assert parse_int_range("-3:5") == (-3, 5)
    with pytest.raises(UsageError, match="LOW:HIGH"):
        parse_int_range(text)


@pytest.mark.parametrize("text", ["0:99999999999999999999", f"{-(2**63) - 1}:0"])
def test_a_range_beyond_all_integers(text: str) -> None:
    with pytest.raises(UsageError, match="must be within"):
        parse_int_range(text)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(2, "float32")}, "lacks y"),
        ({"x": 1, "y": 1, "z": 1}, "has z, which the program does not take"),
        ({"x": np.zeros(3, "float32"), "y": np.int32(0)}, r"x is float32\[2\].* has float32\[3\]"),
        ({"x": np.zeros(2, "int32"), "y": np.int32(0)}, r"x is float32\[2\].* has int32\[2\]"),
        ({"x": np.array([None, None]), "y": np.int32(0)}, "cannot be read.*Python objects"),
    ],
)
def test_a_file_that_does_not_fit(arrays: dict[str, object], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        file_inputs(tmp_path / "f.npz", [leaf("x", "float32", 2), leaf("y", "int32")])


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "half.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "large.npy").write_bytes(header(SIZED.format(10**22)))
    with pytest.raises(UsageError, match=r"has float32\[10000000000000000000000\] for it"):
        file_inputs(tmp_path / "large.npy", [leaf("x", "float32")])
    for name in ("text.npz", "half.npz", "absent.npz"):
        with pytest.raises(UsageError, match="cannot be read"):
            file_inputs(tmp_path / name, [leaf("x")])
    np.save(tmp_path / "one.npy", np.zeros(2))
    with pytest.raises(UsageError, match="holds one array, but the program takes 2"):
        file_inputs(tmp_path / "one.npy", [leaf("x"), leaf("y")])


def header(text: str) -> bytes:
    """The start of a .npy file."""
    padded = f"{text:<117}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


def archive(name: str, content: bytes, *, at: int | None = None) -> bytes:
    """A zip file with one member; `at` is the byte of its two headers to make 97."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(name, content)
    changed = bytearray(made.getvalue())
    if at is not None:
        changed[at] = changed[changed.find(b"PK\x01\x02") + at + 2] = 97
    return bytes(changed)


SIZED = "{{'descr': '<f4', 'fortran_order': False, 'shape': ({},)}}"
ONE = io.BytesIO()
np.save(ONE, np.ones(64, "float32"))
BROKEN = {
    "no array": archive("x", b"hello"),
    "no array in a .npy": archive("x.npy", b"hello"),
    "encrypted": archive("x.npy", ONE.getvalue(), at=6),
    "a method that is none": archive("x.npy", ONE.getvalue(), at=8),
    "not compressed so": archive("x.npy", bytes(range(256)) * 4).replace(bytes([32, 33]), b"~~"),
    "half a header": header("{'descr': '<f4', "),
    "text": b"hello",
    "a pickle": pickle.dumps([1]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").write_bytes(BROKEN[name])
    with pytest.raises(UsageError, match="f cannot be read as a") as caught:
        file_inputs(tmp_path / "f", [leaf("x")])
    assert "pickle" not in str(caught.value)


def lying(name: str, header: bytes, data: bytes, compression: int) -> bytes:
    """A .npz file with one member of a header and data."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as members:
        members.writestr(name, header + data)
    return made.getvalue()


BOMBS = {
    "a shape that is not asked for": (
        lying("x.npy", header(SIZED.format(10**8)), bytes(4 * 10**6), zipfile.ZIP_DEFLATED),
        r"argument x is float32\[64\], but .*f has float32\[100000000\] for it",
    ),
    "more data than the header says": (
        lying("x.npy", header(SIZED.format(64)), bytes(10**8), zipfile.ZIP_DEFLATED),
        "'x' in it has more bytes than its header says",
    ),
    "less data than the header says": (
        lying("x.npy", header(SIZED.format(64)), bytes(10), zipfile.ZIP_DEFLATED),
        "it has 10 bytes of data, and its header says 256",
    ),
    "a header without end": (
        lying("x.npy", b"\x93NUMPY\x02\x00" + b"\xff" * 4, bytes(10**8), zipfile.ZIP_DEFLATED),
        "its header has 4294967295 bytes",
    ),
    "another compression": (
        lying("x.npy", ONE.getvalue(), b"", zipfile.ZIP_BZIP2),
        "compressed by a method that NumPy does not use",
    ),
    "another name before the NUL": (
        lying("xy.npy", ONE.getvalue(), b"", zipfile.ZIP_STORED).replace(b"xy.npy", b"x\0.npy"),
        "lacks x",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_is_compared_before_its_data_is_read(tmp_path: Path, name: str) -> None:
    content, message = BOMBS[name]
    (tmp_path / "f").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=message):
            file_inputs(tmp_path / "f", [leaf("x", "float32", 64)])
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_member_that_is_there_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "f", "w") as members:
        members.writestr("x.npy", ONE.getvalue())
        members.writestr("x", ONE.getvalue())
    with pytest.raises(UsageError, match="it has 'x' twice"):
        file_inputs(tmp_path / "f", [leaf("x", "float32", 64)])


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


def test_results_of_one_name_are_all_told_and_none_is_lost(folder: Path, invoke: Invoke) -> None:
    (folder / "twice.py").write_text(TWICE)
    run = ("run", "twice.py:f", "--shapes", "x=f32[2]")
    told = json.loads(invoke(*run, "--json").stdout)["outputs"]
    assert [each["name"] for each in told] == ["result.part", "result.part"]
    assert told[0]["mean"] != told[1]["mean"]
    done = invoke(*run, "-o", "r.npz")
    assert done.exit_code == 2
    assert "cannot hold two arrays of the name 'result.part'" in done.stderr
    assert not (folder / "r.npz").exists()


def test_a_name_that_is_too_long_for_a_zip_file() -> None:
    longest = "a" * (2**16 - 5)
    assert len(npz_bytes([(longest, np.zeros(1))])) > len(longest)
    with pytest.raises(UsageError, match="a name of 65532 characters: 'aaa"):
        npz_bytes([(longest + "a", np.zeros(1))])


def test_arrays_by_columns_and_the_second_version_of_the_format(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype="float32").reshape(2, 3))
    for version in ((1, 0), (2, 0)):
        with (tmp_path / "f.npy").open("wb") as file:
            np.lib.format.write_array(file, array, version)
        (read,) = file_inputs(tmp_path / "f.npy", [leaf("x", "float32", 2, 3)])
        assert read.tolist() == array.tolist()


def test_arrays_without_elements_and_scalars(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", x=np.zeros((0, 3), "float32"), y=np.int32(7))
    leaves = [leaf("x", "float32", 0, 3), leaf("y", "int32")]
    x, y = file_inputs(tmp_path / "f.npz", leaves)
    assert (x.shape, y.shape, y.tolist()) == ((0, 3), (), 7)


def test_the_order_of_bytes_does_not_matter_and_fields_do(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.array([1, 2], ">f4"))
    (array,) = file_inputs(tmp_path / "big.npy", [leaf("x", "float32", 2)])
    assert (array.dtype, array.tolist()) == (np.dtype("float32"), [1.0, 2.0])
    np.save(tmp_path / "fields.npy", np.zeros(2, [("a", "i1"), ("b", "i1")]))
    with pytest.raises(UsageError, match=r"x is bfloat16\[2\], but .* has \[\('a', 'i1'\)"):
        file_inputs(tmp_path / "fields.npy", [leaf("x", "bfloat16", 2)])


def test_dtypes_that_files_do_not_know_pass_through_them(tmp_path: Path) -> None:
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.savez(tmp_path / "f.npz", x=array)
    (read,) = file_inputs(tmp_path / "f.npz", [leaf("x", "bfloat16", 2)])
    assert read.dtype == array.dtype
    assert (read == array).all()


def test_summaries_are_of_the_finite_elements() -> None:
    found = summarize_array("x", np.array([1, np.inf, 4, np.nan], ml_dtypes.bfloat16))
    assert (found.mean, found.minimum, found.maximum, found.non_finite) == (2.5, 1.0, 4.0, 2)
    assert summarize_array("b", np.array([True, False])).mean == 0.5
    assert summarize_array("none", np.zeros((0, 3))).mean is None
    for largest in ([1.7e308] * 3, [1.7e308, -1.7e308], [np.finfo(float).max] * 7):
        found = summarize_array("x", np.array(largest))
        assert found.mean == pytest.approx(sum(x / len(largest) for x in largest))
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
def test_outputs_are_inputs_again(
    work: Path, invoke: Invoke, first: str, second: str, shapes: tuple[str, ...]
) -> None:
    (work / "train.py").write_text(TRAIN)
    given = () if first == "init" else shapes
    assert invoke("run", f"train:{first}", *given, "-o", "out.npz").exit_code == 0
    result = invoke("run", f"train:{second}", *shapes, "--inputs", "out.npz", "-o", "next.npz")
    assert result.exit_code == 0, result.stderr
    with np.load("out.npz") as before, np.load("next.npz") as after:
        if first == "init":
            assert after["result['w']"].tolist() == [[2, 2], [2, 2]]
            assert after["result['b'][1]"].tolist() == [1, 1]
        else:
            assert before.files == after.files


def test_outputs_that_are_not_the_inputs_are_told(work: Path, invoke: Invoke) -> None:
    (work / "train.py").write_text(TRAIN)
    assert invoke("run", "train:init", "-o", "out.npz").exit_code == 0
    shapes = ("--shapes", "params={from=train:init}, x=f32[2]")
    result = invoke("run", "train:step", *shapes, "--inputs", "out.npz")
    assert result.exit_code == 2
    assert "out.npz lacks params['b'][0], params['b'][1], params['w'], x" in result.stderr
    assert "hint: it has the results result['b'][0], result['b'][1], result['w']" in result.stderr


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [("float64", "f32"), ("float64", "bf16"), ("int64", "i8"), ("complex128", "c64")],
)
def test_wider_inputs_are_cast_with_a_note(
    work: Path, invoke: Invoke, stored: str, wanted: str
) -> None:
    np.savez("in.npz", x=np.array([1, 2], stored))
    shapes = ("--shapes", f"x={wanted}[2]")
    result = invoke("run", "program:double", *shapes, "--inputs", "in.npz", "--json")
    assert result.exit_code == 0, result.stderr
    assert f"note: x of in.npz is {stored}, and is cast to " in result.stderr
    if wanted != "c64":
        assert json.loads(result.stdout)["outputs"][0]["mean"] == 3.0


@pytest.mark.parametrize(
    ("stored", "values", "wanted"),
    [
        ("int64", [1, 300], "i8"),
        ("float64", [1, 1e300], "f32"),
        ("float64", [1, 2], "i32"),
        ("int64", [1, 2], "f32"),
        ("complex128", [1, 2], "f32"),
    ],
)
def test_inputs_that_do_not_fit_are_not_cast(
    work: Path, invoke: Invoke, stored: str, values: list[float], wanted: str
) -> None:
    np.savez("in.npz", x=np.array(values, stored))
    shapes = ("--shapes", f"x={wanted}[2]")
    result = invoke("run", "program:double", *shapes, "--inputs", "in.npz")
    assert result.exit_code == 2
    assert f"but in.npz has {stored}[2] for it" in result.stderr
    if values[1] > 2:  # a cast is refused for this value alone
        assert f", and {values[1]} does not fit {wanted.replace('f', 'float')}" in (
            result.stderr.replace("int8", "i8")
        )


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
    both = invoke("trace", *shapes, "-o", "-", "--json")
    assert "olympuspr" in json.loads(both.stdout)
    both = invoke("run", *shapes, "-o", "-", "--json")
    assert both.exit_code == 2
    assert "give one of them" in both.stderr
    folder = invoke("compile", *shapes, "-o", "-")
    assert folder.exit_code == 2
    assert "a folder cannot be written to stdout" in folder.stderr
    assert sorted(path.name for path in work.iterdir() if path.suffix != ".py") in (
        [],
        ["__pycache__"],
    )
