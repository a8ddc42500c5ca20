"""Values are copied to a device and back without a change."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus_core import xla
from olympus_core.base.avals import shaped
from olympus_core.base.errors import BackendError, CompileError, DTypeError, UsageError
from olympus_core.xla.runtime import arrays

NUMPY = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128",
]  # fmt: skip
EXTENDED = [
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "int4", "uint4",
    "int2", "uint2", "float4_e2m1fn",
]  # fmt: skip


def _values(dtype, shape):
    return np.resize(np.array([1, 0, 1, 1]), shape).astype(dtype)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0, 3)])
@pytest.mark.parametrize("name", [*NUMPY, *EXTENDED])
def test_an_array_of_a_dtype_is_put_and_read_back(name, shape):
    value = _values(np.dtype(getattr(ml_dtypes, name, name)), shape)
    result = xla.to_numpy(xla.put(value))
    assert result.dtype == value.dtype
    assert result.shape == value.shape
    assert not result.flags.writeable
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize("scalar", [np.float32(1.5), np.int64(-7), ml_dtypes.bfloat16(2), np.True_])
def test_a_scalar_is_put_and_read_back(scalar):
    result = xla.to_numpy(xla.put(scalar))
    assert (result.shape, result.dtype, result[()]) == ((), scalar.dtype, scalar)


@pytest.mark.parametrize("size", [4, 1 << 20])
def test_put_copies_the_array(size):
    x = np.ones(size, np.float32)
    buf = xla.put(x)
    x[:] = 7
    np.testing.assert_array_equal(xla.to_numpy(buf), np.ones(size, np.float32))


@pytest.mark.parametrize(
    "x",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12)[::-2],
        np.broadcast_to(np.float32(3), (2, 3)),
        np.arange(3, dtype=">f8"),
        np.arange(6, dtype=">i2").reshape(2, 3).T,
    ],
    ids=["transposed", "reversed", "broadcast", "big-endian", "big-endian transposed"],
)
def test_an_array_of_any_layout_is_put(x):
    result = xla.to_numpy(xla.put(x))
    np.testing.assert_array_equal(result, x)
    assert result.dtype.isnative


@pytest.mark.parametrize("dtype", ["U1", "O", "M8[D]", np.longdouble, [("a", "i4")]])
def test_dtypes_that_xla_lacks_are_refused(dtype):
    with pytest.raises(DTypeError, match="XLA has no such type"):
        xla.put(np.zeros(2, dtype))


@pytest.mark.parametrize(
    ("text", "kind", "exit_code"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.", CompileError, 4),
        ("INTERNAL: the device is lost", BackendError, 6),
    ],
)
def test_an_array_that_a_device_cannot_take_is_an_error(monkeypatch, text, kind, exit_code):
    def refuse(*_):
        raise arrays.JaxRuntimeError(text)

    monkeypatch.setattr(arrays, "_device_put", refuse)
    message = f"cannot be put on the device: {text.partition(': ')[2]}"
    with pytest.raises(kind, match=message) as caught:
        xla.put(np.zeros(2, np.float32))
    assert caught.value.exit_code == exit_code


@pytest.mark.parametrize(
    "use",
    [lambda y: y.block_until_ready(), np.asarray, lambda y: float((y + 1).sum())],
    ids=["wait", "read", "another program"],
)
def test_a_program_that_runs_out_of_memory_is_an_error(use):
    outer = olympus.jit(lambda x: jnp.outer(x, x))
    with pytest.raises(CompileError, match="program ran out of memory: Out of memory allocating"):
        use(outer(jnp.ones(10_000_000)))  # 400 TB, more than a process can address


def test_a_python_integer_that_does_not_fit_is_refused():
    with pytest.raises(OverflowError, match="1099511627776 does not fit int32") as caught:
        xla.put_scalar(2**40, shaped((), np.dtype("int32")))
    assert isinstance(caught.value, DTypeError)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_a_deleted_buffer_cannot_be_read(dtype):
    buf = xla.put(np.zeros(2, getattr(ml_dtypes, dtype, dtype)))
    assert not xla.is_deleted(buf)
    xla.delete(buf)
    assert xla.is_deleted(buf)
    with pytest.raises(UsageError, match="deleted or donated"):
        xla.to_numpy(buf)
    with pytest.raises(UsageError, match="deleted or donated"):
        xla.block_until_ready(buf)


def test_a_value_is_valid_after_its_buffer_is_deleted():
    buf = xla.put(np.full(1000, 3.0))
    value = xla.to_numpy(buf)
    xla.delete(buf)
    later_buffers = [xla.put(np.full(1000, 9.0)) for _ in range(20)]
    assert (value == 3.0).all()
    assert len(later_buffers) == 20


def test_a_buffer_is_exchanged_by_dlpack():
    class Exporter:
        def __init__(self, buf):
            self.buf = buf

        def __dlpack__(self, **_):
            return xla.to_dlpack(self.buf)

        def __dlpack_device__(self):
            return (1, 0)

    buf = xla.from_dlpack(np.arange(4.0))
    np.testing.assert_array_equal(np.from_dlpack(Exporter(buf)), np.arange(4.0))


def test_an_array_is_on_the_default_device():
    assert xla.device_of(xla.put(np.float32(1))) == xla.default_device()
    assert xla.devices() == xla.devices("cpu")


def test_the_setting_gives_the_number_of_devices(python):
    source = (
        "import numpy as np; from olympus_core import xla; d = xla.devices();"
        "b = xla.put(np.arange(3), d[2]); print(len(d), xla.device_of(b).id, xla.to_numpy(b))"
    )
    assert python(source, OLYMPUS_NUM_CPU_DEVICES="3").stdout == "3 2 [0 1 2]\n"


def test_auto_takes_the_number_of_devices_from_the_first_mesh(python):
    source = (
        "import olympus; from olympus_core import xla; {first}"
        'mesh = olympus.make_mesh((2, 3), ("x", "y")); print(mesh.size, len(xla.devices()))'
    )
    auto = {"OLYMPUS_NUM_CPU_DEVICES": "auto"}
    assert python(source.format(first=""), **auto).stdout == "6 6\n"
    late = python(source.format(first="xla.devices();"), **auto)
    assert "a mesh of 2 x 3 needs 6 devices, and there is 1" in late.stderr
    hint = (
        "try: olympus.make_mesh((%d,), ('x',))\n"
        "except olympus.errors.ShardingError as error: print(error.hint)"
    )
    late = python("import olympus; olympus.numpy.ones(3)\n" + hint % 6, **auto)
    assert late.stdout.startswith("an array, or a call of olympus.devices(), came before")
    assert "or put OLYMPUS_NUM_CPU_DEVICES=6 before the command" in late.stdout
    huge = python("import olympus\n" + hint % 10**6, **auto)
    assert huge.stdout == "the CPU has 1024 devices at most\n"


def test_expect_devices_gives_the_number_of_devices(python):
    source = (
        "import os, olympus; from olympus.sharding import expect_devices; expect_devices(3);"
        'print(len(olympus.devices()), os.environ.get("OLYMPUS_NUM_CPU_DEVICES"))'
    )
    assert python(source).stdout == "3 None\n"
    assert python(source, OLYMPUS_NUM_CPU_DEVICES="auto").stdout == "3 auto\n"
    assert python(source, OLYMPUS_NUM_CPU_DEVICES="2").stdout == "2 2\n"
    for wrong in ("0", "1025", "'8'"):
        refused = python(source.replace("(3)", f"({wrong})"))
        assert f"from 1 to 1024 devices, and {wrong} are expected" in refused.stderr


def test_the_flag_of_xla_gives_the_number_of_devices(python):
    source = "import olympus; print(len(olympus.devices()))"
    flag = "--xla_force_host_platform_device_count="
    assert python(source, XLA_FLAGS=f"{flag}4").stdout == "4\n"
    assert python(source, XLA_FLAGS=f"{flag}2 {flag}3").stdout == "3\n"
    assert python(source, XLA_FLAGS=f"{flag}4", OLYMPUS_NUM_CPU_DEVICES="2").stdout == "2\n"
    assert python(source, XLA_FLAGS=f"{flag}0").stdout == "1\n"


@pytest.mark.parametrize("text", ["0", "-1", "two", "1025", "9" * 5000])
def test_a_wrong_number_of_devices_is_refused(python, text):
    process = python("from olympus_core import xla; xla.devices()", OLYMPUS_NUM_CPU_DEVICES=text)
    assert (
        f"OLYMPUS_NUM_CPU_DEVICES needs an integer from 1 to 1024, or auto, got {text!r:.60}"
        in process.stderr
    )


def test_a_fork_after_the_start_of_the_runtime_is_a_warning(python):
    source = (
        "import os, warnings; warnings.simplefilter('always'); from olympus_core import xla\n"
        "def fork():\n    pid = os.fork()\n    if not pid: os._exit(0)\n    os.waitpid(pid, 0)\n"
        "with warnings.catch_warnings(record=True) as seen:\n    fork()\n"
        "    ours = lambda: [w for w in seen if w.category.__name__ == 'OlympusWarning']\n"
        "    before = len(ours()); xla.devices(); fork()\n"
        "    print(before, len(ours()), ours()[0].message)"
    )
    process = python(source)
    assert process.stdout.startswith(
        "0 1 os.fork() was called, and the threads of OLYMPUS's runtime"
    )
    assert process.stderr == ""


def test_an_empty_number_of_devices_is_ignored(python):
    source = "from olympus_core import xla; print(len(xla.devices()))"
    assert python(source, OLYMPUS_NUM_CPU_DEVICES="").stdout == "1\n"
