"""The choice of an executable in a bundle for several platforms; no accelerator is needed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import olympus_runtime
from olympus import errors
from olympus_runtime.cpu import cpu_client
from olympus_runtime.loading import accelerators
from olympus_runtime.loading import fixed_loader as loading
from tests.artifact.bundles import change_manifest, python
from tests.runtime.test_program import check


def for_platforms(data: dict[str, Any]) -> None:
    """Add executables for a GPU and a TPU; their bytes are those of the CPU's."""
    (cpu,) = data["executables"]
    data["executables"] += [
        {**cpu, "backend": "gpu", "device": "h200"},
        {**cpu, "backend": "tpu", "device": "v6e"},
    ]
    data["versions"].update({"jax-cuda13-pjrt": "9.9", "libtpu": "8.8"})


@pytest.fixture
def platforms(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle for three platforms, on a machine without accelerators."""
    monkeypatch.setattr(accelerators, "is_attached", lambda _: False)
    return change_manifest(bundle, for_platforms)


def attach(monkeypatch: pytest.MonkeyPatch, *backends: str) -> None:
    """Pretend that accelerators are attached, whose packages are those of the bundle."""
    versions = {"jax-cuda13-pjrt": "9.9", "libtpu": "8.8"}
    monkeypatch.setattr(accelerators, "is_attached", lambda backend: backend in backends)
    monkeypatch.setattr(accelerators, "installed_version", versions.get)


def test_the_cpu_is_used_if_no_accelerator_is_attached(platforms: Path) -> None:
    loaded = olympus_runtime.load(platforms)
    check(loaded)
    assert loaded.backend == "cpu" and len(loaded.executables) == 3


@pytest.mark.parametrize(
    ("attached", "requested", "used"),
    [
        (("gpu", "tpu"), None, "tpu"),
        (("gpu",), None, "gpu"),
        (("gpu", "tpu"), "gpu", "gpu"),
        (("gpu", "tpu"), "cpu", "cpu"),
    ],
)
def test_an_attached_accelerator_is_preferred(
    platforms: Path,
    monkeypatch: pytest.MonkeyPatch,
    attached: tuple[str, ...],
    requested: str | None,
    used: str,
) -> None:
    attach(monkeypatch, *attached)
    clients: list[str] = []

    def client(backend: str) -> Any:
        clients.append(backend)
        return cpu_client()

    monkeypatch.setattr(loading, "_client", client)
    loaded = olympus_runtime.load(platforms, requested)
    assert loaded.backend == used and clients == [used]
    check(loaded)


def test_an_accelerator_that_cannot_be_used_is_passed_over(
    platforms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach(monkeypatch, "gpu")

    def fail(_: str) -> Any:
        raise errors.BackendError("the GPU cannot be used: no driver")

    monkeypatch.setattr(accelerators, "accelerator_client", fail)
    assert olympus_runtime.load(platforms).backend == "cpu"
    with pytest.raises(errors.ArtifactError, match="h200: the GPU cannot be used: no driver"):
        olympus_runtime.load(platforms, "gpu")


def test_all_executables_are_listed_if_none_fits(platforms: Path) -> None:
    change_manifest(platforms, lambda data: data["versions"].update(jaxlib="0.1.0"))
    with pytest.raises(errors.ArtifactError) as caught:
        olympus_runtime.load(platforms, recompile=False)
    reasons = str(caught.value).partition("fits this machine (")[2]
    assert reasons.startswith(
        "tpu v6e: this machine has no TPU; gpu h200: this machine has no GPU; "
    )
    assert "cpu: it was built with jaxlib 0.1.0, and here jaxlib is" in reasons
    check(olympus_runtime.load(platforms))  # compiled again


def test_an_executable_of_another_compiler_does_not_fit(
    platforms: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach(monkeypatch, "gpu")
    monkeypatch.setattr(accelerators, "installed_version", lambda _: None)
    with pytest.raises(errors.ArtifactError, match=r"jax-cuda13-pjrt 9\.9, and here"):
        olympus_runtime.load(platforms, "gpu")


def test_no_library_of_an_absent_accelerator_is_loaded(platforms: Path) -> None:
    source = f"""
import sys, olympus_runtime
program = olympus_runtime.load({str(platforms)!r})
from olympus_runtime.bindings import _jax
print(program.backend, _jax.pjrt_plugin_loaded("cuda"), _jax.pjrt_plugin_loaded("tpu"))
"""
    assert python(source, platforms.parent) == "cpu False False\n"


def test_the_library_is_found_without_its_import() -> None:
    path = accelerators.library_path("jaxlib", "version.py")
    assert path is not None and path == sys.modules["jaxlib.version"].__file__
    assert accelerators.library_path("jaxlib", "none.so") is None
    assert accelerators.installed_version("no-such-package") is None
