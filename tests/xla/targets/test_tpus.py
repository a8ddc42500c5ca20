"""The names, topologies and figures of TPUs, which are checked before the library is called."""

from __future__ import annotations

import math

import pytest

from olympus_core import xla
from olympus_core.base.errors import UsageError
from olympus_core.xla.targets.tpu_topologies import chip_counts, parse_torus

GENERATIONS = ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"]
PODS = {"v2": 256, "v3": 512, "v4": 1024, "v5e": 256, "v5p": 1024, "v6e": 256, "tpu7x": 512}


def test_a_generation_alone_is_one_chip():
    one = xla.target("tpu", "v6e")
    assert one == xla.Target("tpu", "v6e") == xla.target("tpu", "v6e:1x1")
    assert (one.name, xla.full_topology(one).num_devices) == ("v6e", 1)
    assert xla.full_topology(xla.target("tpu", "tpu7x")).num_devices == 2  # the cores of the chip


def test_a_topology_is_a_suffix_or_an_option_or_the_most_compact_of_a_number_of_chips():
    square = xla.target("tpu", "v6e:4x4")
    assert square == xla.target("tpu", "v6e", topology="4x4") == xla.target("tpu", "16xv6e")
    assert repr(square) == "Target(backend='tpu', device='v6e', topology='4x4')"
    assert xla.target("tpu", square.name) == square
    assert str(xla.target("tpu", "16xv5p").topology) == "2x2x4"
    assert str(xla.target("tpu", "256xv5p").topology) == "4x8x8"
    assert xla.target("tpu", "4xv3").topology.num_devices == 8


def test_a_twisted_torus_has_a_name():
    twisted = xla.target("tpu", "v5p:4x4x8_twisted")
    assert twisted.topology.is_twisted and twisted.name == "v5p:4x4x8_twisted"
    assert twisted != xla.target("tpu", "v5p:4x4x8")


def test_the_links_that_wrap_around_depend_on_the_topology():
    wraps = {
        name: xla.target("tpu", name).topology.wraps
        for name in ("v6e:8x8", "v6e:8x16", "v6e:16x16", "v5p:2x4x4", "v5p:4x4x8", "v3:16x32")
    }
    assert wraps == {
        "v6e:8x8": (False, False),
        "v6e:8x16": (False, True),
        "v6e:16x16": (True, True),
        "v5p:2x4x4": (False, False, False),
        "v5p:4x4x8": (True, True, True),
        "v3:16x32": (False, True),
    }


@pytest.mark.parametrize(
    ("name", "topology", "message", "hint"),
    [
        ("v5e:0x1", None, "v5e has no topology 0x1", "the nearest topologies are 1x1, 2x2, 2x4"),
        ("v6e:3x3", None, "v6e has no topology 3x3", "2x2"),
        ("v6e:2x2x2", None, "v6e has no topology 2x2x2", "2 axes"),
        ("v5p:8x4x4", None, "v5p has no topology 8x4x4", "4x4x8"),
        ("v6e:", None, "'' is not a topology of TPUs", "such as v6e:16x16"),
        ("v6e:-1x4", None, "'-1x4' is not a topology", "such as v6e"),
        ("v6e:\u0664x\u0664", None, "is not a topology", "such as v6e"),
        ("v6e:99999999x1", None, "is not a topology", "such as v6e"),
        ("v5p:4x4x4_twisted", None, "v5p has no twisted topology of 4x4x4", "n x n x 2n"),
        ("2xv5p", None, "v5p has no topology of 2 chips", "1, 4, 8, 16"),
        ("0xv6e", None, "v6e has no topology of 0 chips", "1, 4, 8"),
        ("16xv6e:2x2", None, "16xv6e:2x2 has a number of chips", "v6e:2x2 or 16xv6e"),
        ("v6e:2x2", "4x4", "the device is v6e:2x2, and the topology 4x4", "leave the topology out"),
        ("v6", None, "no device of the backend 'tpu' is named 'v6'", "'v6e'"),
        ("V6E", None, "no device of the backend 'tpu' is named 'V6E'", "'v6e'"),
        ("2x8xv6e", None, "no device of the backend 'tpu' is named '2x8xv6e'", "'v6e'"),
        (None, "2x2", "the topology 2x2 has no generation", "--device v6e"),
    ],
)
def test_invalid_names_and_sizes_are_refused(name, topology, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        xla.target("tpu", name, topology=topology)
    assert hint in caught.value.hint


def test_the_backend_follows_from_the_name_of_a_device():
    assert [xla.backend_of(name) for name in ("v6e:4x4", "16xv5p", "8xh200", "none")] == [
        *("tpu", "tpu", "gpu", "gpu"),
    ]
    own = xla.device_models({"v6e-like": {"like": "h200"}})
    assert xla.backend_of("v6e-like", own) == "gpu"  # the user's own device


def test_every_generation_has_its_common_sizes():
    assert list(xla.shipped_tpus()) == list(xla.known_devices("tpu")) == GENERATIONS
    for name, model in xla.shipped_tpus().items():
        counts = chip_counts(model)
        assert {1, 4, 16, 64, 256} <= {*counts} and counts[-1] == PODS[name]
        for torus in xla.topologies(model):
            assert parse_torus(model, str(torus)) == torus
            assert torus.num_devices == math.prod(torus.physical_axes) <= xla.MOST_DEVICES


def test_every_figure_has_a_source():
    for model in xla.shipped_tpus().values():
        assert [group for group, _ in model.sources] == ["chip", "memory", "links", "rates"]
        rates = model.tensor_tflops
        assert rates.bfloat16 > model.vector_tflops
        assert all(rate is None or rate >= rates.bfloat16 for rate in (rates.int8, rates.float8))
        # flops for each byte of the memory: 66 to 560 for these generations
        assert 30 < rates.bfloat16 * 1e12 / model.bandwidth < 600


def test_the_compiler_takes_the_whole_name_of_a_topology():
    assert xla.device_config(xla.target("tpu", "v6e")) == "v6e:1x1"
    assert xla.device_config(xla.target("tpu", "16xv6e")) == "v6e:4x4"
    assert xla.device_config(xla.Target("tpu")) is None


OWN = {
    "ours": {"like": "v6e", "memory": 2**34, "ici": 5e10, "sources": {"memory": ["a sheet"]}},
    "faster": {"like": "ours", "tensor_tflops": {"bfloat16": 2000}, "product": "Board 2"},
}


def test_a_tpu_of_ones_own_has_the_figures_of_a_generation_and_its_own():
    own = xla.tpu_models(OWN)
    ours, faster, v6e = own["ours"], own["faster"], xla.shipped_tpus()["v6e"]
    assert (ours.name, ours.generation, ours.product) == ("ours", "v6e", "ours")
    assert (ours.memory, ours.ici, ours.bandwidth) == (2**34, 5e10, v6e.bandwidth)
    assert dict(ours.sources)["memory"] == ("a sheet",) and "links" not in dict(ours.sources)
    assert (faster.memory, faster.product, faster.generation) == (2**34, "Board 2", "v6e")
    assert (faster.tensor_tflops.bfloat16, faster.tensor_tflops.int8) == (2000, 1836)
    assert xla.is_tpu_table("faster", OWN) and not xla.is_tpu_table("x", {"x": {"like": "h200"}})
    assert not xla.is_tpu_table("x", {"x": {"like": "y"}, "y": {"like": "x"}})


def test_a_target_of_an_own_tpu_is_compiled_for_its_generation():
    own = xla.tpu_models(OWN)
    square = xla.target("tpu", "16xfaster", own)
    assert (square.name, square.model) == ("faster:4x4", own["faster"])
    assert square == xla.target("tpu", "faster", own, "4x4")
    assert xla.device_config(square) == xla.device_config(xla.target("tpu", "v6e:4x4"))
    assert xla.device_model(square).memory == 2**34
    assert xla.full_topology(xla.target("tpu", "ours", own)).num_devices == 1
    assert [xla.backend_of(name, own) for name in ("ours:2x2", "ours", "h200", "v5e")] == [
        *("tpu", "tpu", "gpu", "tpu"),
    ]
    assert xla.topology_of("tpu", "ours", "4x4").sizes == (4, 4)  # without its figures
    with pytest.raises(UsageError, match="ours has no topology 3x3"):
        xla.target("tpu", "ours:3x3", own)
    with pytest.raises(UsageError, match="is not a topology of TPUs"):
        xla.topology_of("tpu", "ours", "4x")
    with pytest.raises(UsageError, match="no device of the backend 'gpu' is named 'ours'"):
        xla.target("gpu", "ours", own)
    with pytest.raises(UsageError, match="no device of the backend 'tpu' is named 'ours'"):
        xla.target("tpu", "ours")
