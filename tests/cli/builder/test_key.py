"""The content key of a build, and the parts that change it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from olympus import Target
from olympus.artifact import Host
from olympus_cli.builder import key
from olympus_cli.builder.key import content_key, content_keys
from olympus_cli.program.stages import Program
from olympus_cli.spec.resolve import Request

RESULTS = """\
import collections
import olympus.numpy as np

P = collections.namedtuple("P", "a b")
Q = collections.namedtuple("Q", "a b")


as_list = lambda x: [x, x]
as_tuple = lambda x: (x, x)
as_p = lambda x: P(x, x)
as_q = lambda x: Q(x, x)
weak = lambda x: np.asarray(2.0)
strong = lambda x: np.float32(2.0)
"""


@pytest.mark.parametrize(
    ("first", "second"), [("as_list", "as_tuple"), ("as_p", "as_q"), ("weak", "strong")]
)
def test_the_key_changes_with_the_types_of_results(folder: Path, first: str, second: str) -> None:
    (folder / "results.py").write_text(RESULTS)
    programs, keys = [], []
    for name in (first, second):
        program = Program.of(Request(f"results:{name}", "f32[2]").spec(), until="lower")
        program.spec = dataclasses.replace(program.spec, entry="results:f")
        programs.append(program.units[0].stablehlo)
        keys.append(content_keys(program)["cpu"])
    assert programs[0] == programs[1]
    assert keys[0] != keys[1]


def test_the_key_changes_with_each_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = Target("cpu")
    base = content_key("module {}", ["x"], cpu)
    assert content_key("module {}", ["x"], cpu) == base
    assert content_key("module { }", ["x"], cpu) != base
    assert content_key("module {}", ["y"], cpu) != base
    assert content_key("module {}", ["x"], Target("gpu", "h200")) != base
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    assert content_key("module {}", ["x"], cpu) != base


def test_the_key_changes_with_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    this_host = Host.here()
    base = content_key("module {}", [], Target("cpu"))
    for features in ((), None):
        host = dataclasses.replace(this_host, cpu_features=features)
        monkeypatch.setattr(Host, "here", lambda host=host: host)
        assert content_key("module {}", [], Target("cpu")) != base


def test_the_key_changes_with_the_compiler_of_its_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = Target("cpu"), Target("gpu", "h200")
    keys = set()
    for version in ("1.0", "1.1", None):
        packages = {"jaxlib": "1.0", "jax-cuda13-pjrt": version}
        monkeypatch.setattr(key, "installed_version", packages.__getitem__)
        keys |= {content_key("module {}", [], cpu), content_key("module {}", [], gpu)}
    assert len(keys) == 4


def test_the_number_of_processors_is_in_the_key_for_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """XLA divides loops among them, and for one the products have other kernels."""
    cpu, gpu = Target("cpu"), Target("gpu", "h200")
    keys = set()
    for number in (1, 2):
        monkeypatch.setattr(key, "default_jobs", lambda number=number: number)
        keys |= {content_key("module {}", [], cpu), content_key("module {}", [], gpu)}
    assert len(keys) == 3


def test_the_flags_of_the_compiler_for_tpus_are_in_the_key_for_a_tpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu, tpu = Target("cpu"), Target("tpu", "v6e")
    base = [content_key("module {}", [], target) for target in (cpu, tpu)]
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--xla_tpu_enable_x=true")
    now = [content_key("module {}", [], target) for target in (cpu, tpu)]
    assert now[0] == base[0] and now[1] != base[1]
