"""The table of devices is consistent, programs compile for each, and errors are clear."""

from __future__ import annotations

import math
import pickle
import random
import re

import pytest
import tomli

import olympus
import olympus.numpy as np
from olympus_core import xla
from olympus_core.base.errors import SpecError, UsageError
from olympus_core.xla.targets.device_models import RATE_DTYPES, device_models, shipped_devices
from olympus_core.xla.targets.device_tables import GROUPS
from olympus_core.xla.targets.gpu_targets import config_text
from olympus_core.xla.targets.tpu_models import tpu_models
from tests.documents.documents import ROOT, read
from tests.marks import needs_gpu_compiler

DEVICES = shipped_devices()
NAMES = list(DEVICES)
REQUIRED = {
    *("t4", "a10g", "l4", "l40s", "a6000", "a100-40", "a100-80", "h100-pcie", "h100-sxm"),
    *("h100-nvl", "h200", "gh200", "b200", "gb200", "b300", "rtx4090", "rtx5090", "rtx-pro-6000"),
    *("a10", "a30", "a40", "l40", "rtx3090", "rtx6000-ada"),
}
MINE = {
    "capability": "9.0", "cores": 66, "clock_ghz": 1.5, "l2_cache": 2**24, "memory": 2**35,
    "bandwidth": 2e12,
}  # fmt: skip


def test_the_table_has_the_required_devices():
    assert set(NAMES) >= REQUIRED
    assert xla.known_devices("gpu") == tuple(NAMES)
    assert [m.name for m in DEVICES.values()] == NAMES
    assert len({m.product for m in DEVICES.values()}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_of_a_device_are_consistent(name):
    device = DEVICES[name]
    peak = 2e-3 * device.cores * device.capability.fpus_per_core * device.clock_ghz
    assert device.tflops.float32 == pytest.approx(peak, rel=0.03)
    assert device.float32_rate == device.tflops.float32 * 1e12
    pins = device.bus_bits * device.pin_gbit * 1e9 / 8
    assert device.bandwidth == pytest.approx(pins, rel=0.03)
    tensor = device.tensor_tflops
    assert tensor.tf32 is None or tensor.tf32 == pytest.approx(tensor.bfloat16 / 2, rel=0.03)
    assert tensor.float8 is None or tensor.float8 == pytest.approx(tensor.float16 * 2, rel=0.03)
    assert tensor.bfloat16 in (None, tensor.float16)
    # tensor cores compute a power of two of multiply-adds per clock, at most at the boost clock
    flops_per_clock = tensor.float16 * 1e3 / (2 * device.cores * device.clock_ghz)
    power_of_two = 2 ** round(math.log2(flops_per_clock / 0.95))
    assert 0.86 * power_of_two <= flops_per_clock <= 1.01 * power_of_two
    assert 0.9 < device.memory / round(device.memory, -9) < 1.1


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_source(name):
    device = DEVICES[name]
    sources = dict(device.sources)
    for group, keys in GROUPS.items():
        assert any(getattr(device, key) is not None for key in keys) == (group in sources)
    assert all(len(title) > 20 for titles in sources.values() for title in titles)


def test_older_tensor_cores_lack_newer_dtypes():
    for device in DEVICES.values():
        major, minor = map(int, device.capability.name.split("."))
        assert (device.tensor_tflops.float8 is not None) == ((major, minor) >= (8, 9))
        assert (device.tensor_tflops.bfloat16 is not None) == (major >= 8)


@pytest.mark.parametrize("name", NAMES)
def test_the_compiler_gets_the_figures_of_the_device(name):
    device, text = DEVICES[name], config_text(DEVICES[name])
    assert f"core_count: {device.cores}\n" in text
    assert f"memory_bandwidth: {round(device.bandwidth)}\n" in text
    assert f'device_description_str: "{device.product}"\n' in text
    assert text.count("{") == text.count("}") == 3


@pytest.fixture(scope="module")
def traced():
    x = olympus.ShapeDtypeStruct((256, 256), "bfloat16")
    return olympus.jit(lambda x: np.tanh(x @ x).sum(axis=1)).trace(x)


@needs_gpu_compiler
@pytest.mark.parametrize("name", NAMES)
def test_a_program_compiles_for_each_device(name, traced):
    program = traced.lower(olympus.target("gpu", name)).compile()
    assert "tanh" in program.as_text()
    digits = DEVICES[name].capability.name.replace(".", "")
    assert f"sm_{digits}".encode() in program.serialize()


@needs_gpu_compiler
def test_a_program_compiles_for_a_device_of_the_user(traced):
    own = device_models({"mine": MINE})
    target = xla.target("gpu", "mine", own)
    assert target == xla.Target("gpu", "mine", own["mine"])
    program = traced.lower(target).compile()
    assert b"sm_90a" in program.serialize()
    assert program.target == target


def test_a_device_is_defined_in_python():
    own = olympus.device_models({"mine": {"like": "h200", "memory": 2**36}, "half": MINE})
    mine, h200 = own["mine"], DEVICES["h200"]
    assert (mine.memory, mine.cores, mine.tensor_tflops) == (2**36, 132, h200.tensor_tflops)
    assert mine.product == "mine"
    assert mine.capability is h200.capability
    assert own["half"].tflops.float32 is None
    assert own["half"].float32_rate == 2e9 * 66 * 128 * 1.5
    assert pickle.loads(pickle.dumps(mine)) == mine
    assert len({mine, own["half"], h200}) == 3
    assert repr(xla.target("gpu", "mine", own)) == "Target(backend='gpu', device='mine', model=...)"


def test_a_changed_figure_has_no_inherited_source():
    own = device_models(
        {
            "mine": {"like": "h200", "memory": 2**36, "tflops": {"float32": 60}},
            "sourced": {"like": "mine", "sources": {"memory": ["a sheet"]}},
        }
    )
    assert [group for group, _ in own["mine"].sources] == ["chip", "links"]
    assert dict(own["sourced"].sources)["memory"] == ("a sheet",)
    assert own["mine"].tflops.float32 == 60
    assert own["mine"].tflops.float64 == DEVICES["h200"].tflops.float64


def test_a_chain_of_like_is_followed_up_to_a_limit():
    tables = {f"d{i}": {"like": f"d{i + 1}"} for i in range(50)} | {"d50": MINE}
    assert device_models(tables)["d0"].cores == 66
    long = {f"d{i}": {"like": f"d{i + 1}"} for i in range(5000)} | {"d5000": MINE}
    with pytest.raises(SpecError, match="one of more than 100 in a row"):
        device_models(long)


WRONG = {
    "no table": (3, "device.mine must be a table; got 3"),
    "missing": ({k: v for k, v in MINE.items() if k != "cores"}, "device.mine has no cores"),
    "negative": (MINE | {"cores": -1}, "cores must be a whole number from 1 to 4,096; got -1"),
    "zero": (MINE | {"bandwidth": 0}, "bandwidth must be a number of bytes a second"),
    "nan": (MINE | {"clock_ghz": float("nan")}, "clock_ghz must be a number of GHz from 0.01 to"),
    "inf": (MINE | {"bandwidth": float("inf")}, "bandwidth must be a number"),
    "gigabytes": (MINE | {"memory": 80}, "memory must be a whole number of bytes"),
    "huge": (MINE | {"memory": 2**70}, "memory must be a whole number of bytes"),
    "text": (MINE | {"cores": "132"}, "cores must be a whole number from 1 to 4,096; got '132'"),
    "a half": (MINE | {"cores": 1.5}, "cores must be a whole number"),
    "true": (MINE | {"cores": True}, "cores must be a whole number"),
    "capability": (MINE | {"capability": "7.0"}, "is '7.0', and the compiler takes 7.5, 8.0"),
    "capability 9": (MINE | {"capability": 9.0}, "capability must be a string; got 9.0"),
    "product": (MINE | {"product": 'x" }'}, "product must be 1 to 100 letters"),
    "key": (MINE | {"core": 1}, r"\[device.mine\] has no key 'core'"),
    "like": ({"like": "h2000"}, "like is 'h2000', and no device has this name"),
    "like 3": ({"like": 3}, "like must be a string; got 3"),
    "itself": ({"like": "mine"}, "like goes in a circle: mine -> mine"),
    "rates": (MINE | {"tflops": 3}, "tflops must be a table of rates; got 3"),
    "rate": (MINE | {"tflops": {"float32": -3}}, "tflops.float32 must be a number of 10.12"),
    "dtype": (MINE | {"tflops": {"f32": 3}}, "tflops has no dtype 'f32'"),
    "sources": (MINE | {"sources": ["x"]}, "sources must be a table of arrays"),
    "group": (MINE | {"sources": {"chips": []}}, "sources has no group 'chips'"),
    "titles": (MINE | {"sources": {"chip": "x"}}, "sources.chip must be an array of strings"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_table_is_refused(case):
    table, message = WRONG[case]
    with pytest.raises(SpecError, match=message) as caught:
        device_models({"mine": table})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["h200", "", "a b", "../x", "a/b", ".x", "-x", "x" * 65, "é"])
def test_invalid_names_are_refused(name):
    with pytest.raises(SpecError, match=r"is already named|is not a valid name"):
        device_models({name: MINE})


def test_a_cycle_of_like_is_refused():
    with pytest.raises(SpecError, match=r"goes in a circle: a -> b -> c -> a"):
        device_models({"a": {"like": "b"}, "b": {"like": "c"}, "c": {"like": "a"}})


def test_the_hint_has_the_nearest_name():
    for tables, near in (
        ({"mine": {"like": "h2000"}}, "'h200'"),
        ({"mine": MINE | {"core": 1}}, "'cores'"),
        ({"mine": MINE | {"tflops": {"float3": 1}}}, "'float32'"),
    ):
        with pytest.raises(SpecError) as caught:
            device_models(tables)
        assert near in caught.value.hint


def test_a_target_of_an_unknown_device_is_refused():
    assert xla.device_model(xla.Target("cpu")) is None
    assert xla.device_model(xla.Target("gpu", "h200")) is DEVICES["h200"]
    with pytest.raises(UsageError, match="no device of the backend 'gpu' is named 'mine'"):
        xla.device_model(xla.Target("gpu", "mine"))


def test_a_random_table_is_read_or_refused_in_one_line():
    rng = random.Random(0)
    values = [None, True, -1, 0, 1, 1e300, "h200", "9.0", [], {}, [1], {"float32": 1}, "x" * 200]
    keys = [*MINE, "like", "product", "tflops", "tensor_tflops", "sources", "nvlink", "watts", "?"]
    refused = 0
    for _ in range(2000):
        table = {k: rng.choice(values) for k in rng.sample(keys, rng.randint(0, 3))}
        try:
            models = device_models({"mine": (MINE if rng.random() < 0.7 else {}) | table})
        except SpecError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            config_text(models["mine"])
    assert 1000 < refused < 1950


def test_the_example_in_the_document_is_read():
    page = read(ROOT / "docs/reference/devices.md")
    gpus, tpus = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    own = device_models(tomli.loads(gpus)["device"])
    assert own["our-h200"].bandwidth == 2.4e12
    assert own["lab-board"].tensor_tflops.bfloat16 == 64.5
    peak = 2e9 * 60 * 128 * 2.1
    assert own["lab-board"].float32_rate == pytest.approx(peak, rel=0.01)
    (tpu,) = tpu_models(tomli.loads(tpus)["device"]).values()
    assert (tpu.ici, tpu.tensor_tflops.bfloat16) == (50e9, 700)


def test_rates_have_these_dtypes():
    assert RATE_DTYPES == (
        "float64", "float32", "tf32", "bfloat16", "float16", "float8", "int8",
    )  # fmt: skip
