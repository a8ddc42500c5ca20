"""`olympus run`: seeded inputs, inputs from files, summaries and saved outputs."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from click.testing import Result

import olympus
from olympus.errors import BackendError, UsageError
from olympus_cli.inputs import file_inputs, parse_int_range, seeded_inputs
from olympus_cli.leaves import Leaf
from olympus_cli.summary import summarize_array

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
    return Leaf(name, np.dtype(dtype), shape)


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
        assert "has more bytes than 64 bits count" in uncounted.stderr


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
    refused = invoke("run", "build/double/double.olympus", "--no-recompile", *options)
    assert refused.exit_code == 5
    assert "has no executable for gpu a100-80" in refused.stderr


def test_run_says_what_is_wrong_with_a_file(work: Path, invoke: Invoke) -> None:
    np.save("x.npy", np.float64([1, 2]))
    command = ("run", "program:double", "--shapes", "x=f32[2]", "--inputs")
    result = invoke(*command, "x.npy")
    assert result.exit_code == 2
    assert "argument x is float32[2], but x.npy has float64[2] for it" in result.stderr
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
        ("int8", (200, 300), "int8 has those from -128 to 127"),
        ("uint8", (-8, -2), "uint8 has those from 0 to 255"),
        ("int4", (8, 9), "int4 has those from -8 to 7"),
    ],
)
def test_a_range_without_an_integer_of_the_dtype(
    dtype: str, int_range: tuple[int, int], limits: str
) -> None:
    with pytest.raises(UsageError, match=f"fits argument x, for {limits}"):
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
    with pytest.raises(UsageError, match="no dtype has integers beyond"):
        parse_int_range(text)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(2, "float32")}, "lacks y"),
        ({"x": 1, "y": 1, "z": 1}, "has z, which the program does not take"),
        ({"x": np.zeros(3, "float32"), "y": np.int32(0)}, r"x is float32\[2\].* has float32\[3\]"),
        ({"x": np.zeros(2, "int32"), "y": np.int32(0)}, r"x is float32\[2\].* has int32\[2\]"),
        ({"x": np.array([None, None]), "y": np.int32(0)}, "cannot be read"),
    ],
)
def test_a_file_that_does_not_fit(arrays: dict[str, object], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=message):
        file_inputs(tmp_path / "f.npz", [leaf("x", "float32", 2), leaf("y", "int32")])


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "half.npz").write_bytes(b"PK\x03\x04")
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
    "too large for memory": header(SIZED.format(10**14)),
    "too large for an integer": header(SIZED.format(10**22)),
    "text": b"hello",
    "a pickle": pickle.dumps([1]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_files_that_are_broken(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").write_bytes(BROKEN[name])
    with pytest.raises(UsageError, match="f cannot be read as a") as caught:
        file_inputs(tmp_path / "f", [leaf("x")])
    assert "pickle" not in str(caught.value)


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
