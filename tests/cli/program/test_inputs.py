"""Inputs of programs: drawn from a seed, and read from .npy and .npz files."""

from __future__ import annotations

import io
import pickle
import tracemalloc
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from olympus.errors import UsageError
from olympus.stages import ArgInfo
from olympus_cli.process.memory import available_memory
from olympus_cli.program import input_files, inputs
from olympus_cli.program.input_files import file_inputs
from olympus_cli.program.inputs import InputOptions, parse_int_range, seeded_inputs
from olympus_cli.spec.inputs import InputSpec
from olympus_cli.spec.resolve import Request
from tests.cli.arrays import arg_info

DTYPES = ["float32", "bfloat16", "float16", "float8_e4m3fn", "complex64", "int32", "uint8", "bool"]


def leaf(name: str, dtype: str = "float32", *shape: int) -> ArgInfo:
    return arg_info(name, dtype, shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_seeded_inputs_have_the_dtype_and_are_small(dtype: str) -> None:
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


def test_the_values_of_an_argument_do_not_depend_on_others() -> None:
    alone = seeded_inputs([leaf("x", "float32", 5)], seed=7)
    among = seeded_inputs([leaf("a", "float32", 2), leaf("x", "float32", 5)], seed=7)
    assert (alone[0] == among[1]).all()
    assert not (seeded_inputs([leaf("y", "float32", 5)], seed=7)[0] == alone[0]).any()


def drawn_in_one_call(dtype: str, shape: tuple[int, ...], spec: InputSpec | None) -> np.ndarray:
    """The values of argument `x` for seed 5, with each part drawn in one call."""
    rng = np.random.default_rng([5, zlib.crc32(b"x")])
    kind = np.dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu" or dtype == "int4":
        low, high = (0, 7) if spec is None else (1, 5)
        return rng.integers(low, high, shape, np.int64, endpoint=True).astype(kind)

    def part() -> np.ndarray:
        if spec is None:
            return rng.standard_normal(shape) * 0.1
        if spec.normal is not None:
            return spec.normal[0] + spec.normal[1] * rng.standard_normal(shape)
        return rng.uniform(1, 6, shape)

    values = part()
    return np.asarray(values + 1j * part() if kind.kind == "c" else values).astype(kind)


@pytest.mark.parametrize("piece", [7, 2**20])
@pytest.mark.parametrize("shape", [(), (0,), (1000,), (33, 31)])
@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "complex128", "int64", "int4"])
def test_values_do_not_depend_on_the_size_of_the_drawn_pieces(
    dtype: str, shape: tuple[int, ...], piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olympus_cli.program.inputs._PIECE", piece)
    is_integer = np.dtype(dtype).kind in "iub" or dtype == "int4"
    for spec in (None, InputSpec(range=(1, 6)), InputSpec(normal=(1, 2))):
        if spec is not None and (dtype == "bool" or (is_integer and spec.normal is not None)):
            continue
        specs = {} if spec is None else {"x": spec}
        (values,) = seeded_inputs([leaf("x", dtype, *shape)], 5, specs=specs)
        expected = drawn_in_one_call(dtype, shape, spec)
        assert (values.dtype, values.shape) == (expected.dtype, expected.shape)
        assert values.tobytes() == expected.tobytes()


def test_drawing_needs_little_more_memory_than_the_array() -> None:
    tracemalloc.start()
    seeded_inputs([leaf("x", "int8", 2**25)])
    assert tracemalloc.get_traced_memory()[1] < 2**25 + 2**25
    tracemalloc.stop()


def test_arrays_larger_than_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("olympus_cli.program.inputs.available_memory", lambda: 3 * 2**30)
    large, small = leaf("x", "float32", 2**30), leaf("y", "float32", 4)
    words = r"argument x, float32\[1073741824\], needs 4.00 GiB, and 3.00 GiB are available"
    with pytest.raises(MemoryError, match=words):
        seeded_inputs([large])
    words = "needs 4.00 GiB, all 2 arguments 4.00 GiB, and 3.00 GiB are available"
    with pytest.raises(MemoryError, match=words):
        seeded_inputs([small, large])
    monkeypatch.setattr("olympus_cli.program.inputs.available_memory", lambda: None)
    assert seeded_inputs([small])[0].shape == (4,)


def group(folder: Path, limit: str, used: int, files: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {files}\nactive_file 0\n")


def test_the_smallest_limit_bounds_the_available_memory(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 900 kB\nMemAvailable: 800 kB\n")
    assert available_memory(tmp_path) == 800 * 1024
    (tmp_path / "proc/self/cgroup").write_text("0::/outer/inner\n1:cpu:/other\n")
    outer = tmp_path / "sys/fs/cgroup/outer"
    group(outer, "1000", 900, files=300)
    assert available_memory(tmp_path) == 400
    group(outer / "inner", "max", 500)
    assert available_memory(tmp_path) == 400
    group(outer / "inner", "500", 700)
    assert available_memory(tmp_path) == 0
    first = tmp_path / "sys/fs/cgroup/memory/job"
    first.mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/job\n")
    (first / "memory.limit_in_bytes").write_text("9000")
    (first / "memory.usage_in_bytes").write_text("2000")
    assert available_memory(tmp_path) == 7000
    (first / "memory.limit_in_bytes").write_text(str(2**63 - 4096))
    assert available_memory(tmp_path) == 800 * 1024


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
    full_range = parse_int_range(f"0:{2**64}")
    (array,) = seeded_inputs([leaf("x", "uint64", 1000)], int_range=full_range)
    assert array.max() > 2**63
    (array,) = seeded_inputs([leaf("x", "int64", 1000)], int_range=full_range)
    assert array.min() >= 0
    assert array.max() > 2**62


def test_integers_are_in_the_range_and_the_dtype() -> None:
    (array,) = seeded_inputs([leaf("x", "int32", 1000)], int_range=(-2, 2))
    assert set(array.tolist()) == {-2, -1, 0, 1}
    (unsigned,) = seeded_inputs([leaf("x", "uint8", 1000)], int_range=(-2, 2))
    assert set(unsigned.tolist()) == {0, 1}


@pytest.mark.parametrize("text", ["", "8", "8:0", "0:0", "a:b", "0:8:9"])
def test_a_malformed_range_is_an_error(text: str) -> None:
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


def test_files_that_do_not_exist(tmp_path: Path) -> None:
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
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as members:
        members.writestr(name, content)
    changed = bytearray(file.getvalue())
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
    "an unknown method": archive("x.npy", ONE.getvalue(), at=8),
    "damaged compressed data": archive("x.npy", bytes(range(256)) * 4).replace(
        bytes([32, 33]), b"~~"
    ),
    "half a header": header("{'descr': '<f4', "),
    "text": b"hello",
    "a pickle": pickle.dumps([1]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_file_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "f").write_bytes(BROKEN[name])
    with pytest.raises(UsageError, match="f cannot be read as a") as caught:
        file_inputs(tmp_path / "f", [leaf("x")])
    assert "pickle" not in str(caught.value).replace(str(tmp_path), "")


def archive_of(name: str, header: bytes, data: bytes, compression: int) -> bytes:
    """A .npz file with one member of `header` and `data`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as members:
        members.writestr(name, header + data)
    return content.getvalue()


BOMBS = {
    "another shape": (
        archive_of("x.npy", header(SIZED.format(10**8)), bytes(4 * 10**6), zipfile.ZIP_DEFLATED),
        r"argument x is float32\[64\], but .*f has float32\[100000000\] for it",
    ),
    "more data than in the header": (
        archive_of("x.npy", header(SIZED.format(64)), bytes(10**8), zipfile.ZIP_DEFLATED),
        "'x' in it has more bytes than its header gives",
    ),
    "less data than in the header": (
        archive_of("x.npy", header(SIZED.format(64)), bytes(10), zipfile.ZIP_DEFLATED),
        "it has 10 bytes of data, and its header gives 256",
    ),
    "a header without end": (
        archive_of("x.npy", b"\x93NUMPY\x02\x00" + b"\xff" * 4, bytes(10**8), zipfile.ZIP_DEFLATED),
        "its header has 4294967295 bytes",
    ),
    "another compression": (
        archive_of("x.npy", ONE.getvalue(), b"", zipfile.ZIP_BZIP2),
        "compressed by a method that NumPy does not use",
    ),
    "another name before the NUL": (
        archive_of("xy.npy", ONE.getvalue(), b"", zipfile.ZIP_STORED).replace(
            b"xy.npy", b"x\0.npy"
        ),
        "lacks x",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_is_checked_before_its_data_is_read(tmp_path: Path, name: str) -> None:
    content, message = BOMBS[name]
    (tmp_path / "f").write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=message):
            file_inputs(tmp_path / "f", [leaf("x", "float32", 64)])
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_a_member_with_the_name_of_another(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "f", "w") as members:
        members.writestr("x.npy", ONE.getvalue())
        members.writestr("x", ONE.getvalue())
    with pytest.raises(UsageError, match="it has 'x' twice"):
        file_inputs(tmp_path / "f", [leaf("x", "float32", 64)])


def test_the_number_of_members_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "_MAX_MEMBERS", 3)
    leaves = [leaf(name, "float32") for name in "abcd"]
    arrays = {name: np.float32(1) for name in "abcd"}
    np.savez(tmp_path / "f.npz", **{name: arrays[name] for name in "abc"})
    assert len(file_inputs(tmp_path / "f.npz", leaves[:3])) == 3
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(UsageError, match=r"f\.npz has 4 arrays, and at most 3 are read") as caught:
        file_inputs(tmp_path / "f.npz", leaves)
    assert "save only the arguments" in str(caught.value.hint)


def test_the_directory_of_an_archive_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "_MAX_DIRECTORY", 100_000)  # more than the search for it reads
    with zipfile.ZipFile(tmp_path / "f.npz", "w") as members:
        for i in range(2):
            members.writestr(f"{i}{'n' * 60_000}.npy", ONE.getvalue())
    with pytest.raises(UsageError, match=r"its directory has 12.* bytes, and at most 100000"):
        file_inputs(tmp_path / "f.npz", [leaf("x", "float32", 64)])


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


def test_byte_order_is_converted_and_fields_are_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.array([1, 2], ">f4"))
    (array,) = file_inputs(tmp_path / "big.npy", [leaf("x", "float32", 2)])
    assert (array.dtype, array.tolist()) == (np.dtype("float32"), [1.0, 2.0])
    np.save(tmp_path / "fields.npy", np.zeros(2, [("a", "i1"), ("b", "i1")]))
    with pytest.raises(UsageError, match=r"x is bfloat16\[2\], but .* has \[\('a', 'i1'\)"):
        file_inputs(tmp_path / "fields.npy", [leaf("x", "bfloat16", 2)])


def test_dtypes_without_a_file_format_are_saved_and_loaded(tmp_path: Path) -> None:
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.savez(tmp_path / "f.npz", x=array)
    (read,) = file_inputs(tmp_path / "f.npz", [leaf("x", "bfloat16", 2)])
    assert read.dtype == array.dtype
    assert (read == array).all()


def test_defaults_of_the_program_are_used_unless_a_file_or_the_target_has_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = {name: np.full(2, i, "float32") for i, name in enumerate(("p['w']", "p['b']"))}
    monkeypatch.setattr(
        inputs, "load_target", lambda _: SimpleNamespace(default_values=defaults.copy)
    )
    leaves = [leaf("p['w']", "float32", 2), leaf("p['b']", "float32", 2), leaf("x", "float32", 2)]
    options = InputOptions(target=Request("main:f", shapes="f32[2]").spec())
    assert options.undeclared(leaves) == [False, False, True]
    w, b, x = options.arrays(leaves)
    assert (w.tolist(), b.tolist()) == ([0, 0], [1, 1])
    assert x.tolist() == seeded_inputs([leaves[2]])[0].tolist()
    described = replace(options, specs={"p['b']": InputSpec(range=(4, 5))})
    assert (described.arrays(leaves)[1] >= 4).all()
    np.savez(tmp_path / "in.npz", **{"p['b']": np.full(2, 9, "float32"), "x": x})
    w, b, _ = replace(options, file=tmp_path / "in.npz").arrays(leaves)
    assert (w.tolist(), b.tolist()) == ([0, 0], [9, 9])
