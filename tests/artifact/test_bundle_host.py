"""An executable is loaded on machines that match it, and refused with a reason on others."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olympus import artifact
from olympus.errors import ArtifactError
from olympus_bundle.host import Host, cpu_features
from tests.artifact.bundles import change_manifest

X86 = """processor\t: 0
model name\t: A processor
flags\t\t: fpu vme sse sse2 pni abm ssse3 fma sse4_1 avx avx512_vnni amx_tile hypervisor ibrs smep
bugs\t\t: spectre_v1

processor\t: 1
flags\t\t: fpu
"""
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd sve atomics\n"


def test_the_features_of_x86_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(X86)
    features = "abm amx_tile avx avx512_vnni fma pni sse sse2 sse4_1 ssse3"
    assert cpu_features(path) == tuple(features.split())


def test_the_features_of_arm_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(ARM)
    assert cpu_features(path) == ("asimd", "atomics", "fp", "sve")


def test_missing_features_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    assert cpu_features(path) is None
    path.write_text("processor : 0\n")
    assert cpu_features(path) is None


def test_the_host_is_this_machine() -> None:
    host = Host.here()
    assert (host.system, host.machine) == (platform.system(), platform.machine())
    assert host == Host.here()
    assert host.cpu_features is None or list(host.cpu_features) == sorted(host.cpu_features)


def host(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda data: data["executables"][0]["host"].update(changes)


MISFITS = {
    "system": (host(system="Plan9"), "it was built on Plan9 .*, and this is "),
    "machine": (host(machine="s390x"), "it was built on .* s390x, and this is "),
    "features": (host(cpu_features=["zz2", "zz1"]), "with zz1, zz2, which this one lacks"),
    "unknown": (host(cpu_features=None), "the processor that it was built on can do is not known"),
    "jaxlib": (
        lambda data: data["versions"].update(jaxlib="0.1.0"),
        r"it was built with jaxlib 0\.1\.0, and here jaxlib is 0\.1\d",
    ),
    "no cpu": (lambda data: data.update(executables=[]), "has no executable for cpu"),
}


@pytest.mark.parametrize("name", [*MISFITS])
def test_an_executable_for_another_host_is_refused_and_recompiled(bundle: Path, name: str) -> None:
    change, message = MISFITS[name]
    change_manifest(bundle, change)
    if name == "no cpu":
        change_manifest(bundle, lambda data: data["programs"].update(more="executables/cpu.bin"))
    loaded = artifact.load(bundle)
    with pytest.raises(ArtifactError, match=message) as caught:
        loaded.compiled(recompile=False)
    assert "allow recompiling" in str(caught.value.hint)
    assert loaded.compiled().fun_name == "mlp"


def test_a_processor_may_have_more_features(bundle: Path) -> None:
    change_manifest(bundle, host(cpu_features=[]))
    assert Host.here().cpu_features
    artifact.load(bundle).compiled(recompile=False)


def test_a_host_with_unknown_features_is_refused(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olympus_bundle.host._CPUINFO", Path("/none"))
    with pytest.raises(ArtifactError, match="the processor that it is to run on can do is not"):
        artifact.load(bundle).compiled(recompile=False)
