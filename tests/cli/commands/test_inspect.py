"""`olympus inspect`: the contents of a bundle as text, as JSON and by its schema."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator

import olympus_cli
from olympus.artifact import indented
from olympus_cli.reports.bundle_contents import bundle_contents_schema
from tests.artifact.bundles import change_manifest, members_of, pack, replace_member, save
from tests.artifact.bundles import traced_mlp as traced

Invoke = Callable[..., Result]
SCHEMA = Path(olympus_cli.__file__).parent / "reports/bundle_contents.schema.json"


@pytest.fixture
def bundle(folder: Path) -> Path:
    """A bundle with a dict, a weak scalar and nested results, and a static without JSON form."""
    donating = traced().with_donations([0])
    options = {"xla_cpu_enable_fast_math": False}
    return save(
        folder / "mlp.olympus",
        donating,
        static={"mode": "fast", "limit": float("inf")},
        compiler_options=options,
    )


def document(invoke: Invoke, *args: str) -> dict[str, Any]:
    result = invoke("inspect", *args, "--json")
    assert result.exit_code == 0, result.stderr
    data: dict[str, Any] = json.loads(result.stdout)
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(data)
    return data


def test_the_shipped_schema_is_that_of_the_types(request: pytest.FixtureRequest) -> None:
    text = indented(bundle_contents_schema()) + "\n"
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(text, encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == text, "pytest --update-golden renews it"
    Draft202012Validator.check_schema(json.loads(text))


def test_the_text_has_the_signature_and_the_members(bundle: Path, invoke: Invoke) -> None:
    result = invoke("inspect", "mlp.olympus")
    assert result.exit_code == 0, result.stderr
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for line in (
        "takes ({'b': *, 'w': *}, *, scale=*)",
        "returns {'out': *, 'parts': (*, [*])}",
        "statics limit=inf, mode='fast'",
        "lowered for cpu",
        "compiler options xla_cpu_enable_fast_math=False",
        "signature none",
        "params['b'] float32[2,3] 24 B yes",
        "params['w'] float32[2,3] 24 B no",
        "scale float32[] (weak) 4 B no",
        "result['parts'][1][0] float32[2,3] 24 B",
        "executables/cpu.bin Linux x86_64 yes",
    ):
        assert line in lines, (line, result.stdout)
    for name, content in members_of(bundle).items():
        digest = hashlib.sha256(content).hexdigest()
        assert (f"{name} {len(content)} {digest}" in lines) == (name != "manifest.json")


def test_the_document_has_the_manifest(bundle: Path, invoke: Invoke) -> None:
    data = document(invoke, "mlp.olympus")
    assert data["file"] == "mlp.olympus"
    assert data["bytes"] == bundle.stat().st_size
    assert data["signature"] == {"state": "unsigned", "key": None}
    assert data["executables"] == [{"member": "executables/cpu.bin", "misfit": None}]
    with zipfile.ZipFile(bundle) as archive:
        assert data["manifest"] == json.loads(archive.read("manifest.json"))


def test_an_executable_for_another_processor_does_not_run_here(
    bundle: Path, invoke: Invoke
) -> None:
    def change(manifest: dict[str, Any]) -> None:
        manifest["executables"][0]["host"]["cpu_features"].append("avx99")

    change_manifest(bundle, change)
    (fit,) = document(invoke, "mlp.olympus")["executables"]
    reason = "it was built on a processor with avx99, which this one lacks"
    assert fit["misfit"] == reason
    assert f"no: {reason}" in invoke("inspect", "mlp.olympus").stdout


def test_no_code_of_the_bundle_runs(bundle: Path, invoke: Invoke) -> None:
    replace_member(bundle, "executables/cpu.bin", b"no executable")
    replace_member(bundle, "program.stablehlo.bc", b"no program")
    assert document(invoke, "mlp.olympus")["manifest"]["name"] == "mlp"


def test_the_state_of_the_signature(
    bundle: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("team", "other"):
        assert invoke("sign", "--new-key", name).exit_code == 0
    assert invoke("sign", "mlp.olympus", "--key", "team.key").exit_code == 0
    signature = document(invoke, "mlp.olympus")["signature"]
    assert signature["state"] == "valid"
    assert document(invoke, "mlp.olympus", "--trust", "team.pub")["signature"] == {
        **signature,
        "state": "trusted",
    }
    refused = invoke("inspect", "mlp.olympus", "--trust", "other.pub")
    assert refused.exit_code == 5 and "which is not trusted" in refused.stderr
    settings = Path("config", "olympus", "config.toml")
    settings.parent.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").absolute()))
    for key, state in (("team", "trusted"), ("other", "valid")):
        settings.write_text(f'[bundles]\ntrust = "../../{key}.pub"\n')
        assert document(invoke, "mlp.olympus")["signature"]["state"] == state
    shown = invoke("inspect", "mlp.olympus").stdout
    assert "whether its key is to be trusted is not known" in shown
    assert signature["key"] in shown


def test_a_changed_manifest_has_an_invalid_signature(bundle: Path, invoke: Invoke) -> None:
    assert invoke("sign", "--new-key", "team").exit_code == 0
    assert invoke("sign", "mlp.olympus", "--key", "team.key").exit_code == 0
    change_manifest(bundle, lambda manifest: manifest.update(name="other"))
    assert document(invoke, "mlp.olympus")["signature"]["state"] == "invalid"
    members = members_of(bundle)
    pack(bundle, {**members, "signature.ed25519": b"ed25519 no signature\n"})
    signature = document(invoke, "mlp.olympus")["signature"]
    assert signature == {"state": "invalid", "key": None}


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and nothing else", b"text"])
def test_another_file_is_refused(folder: Path, invoke: Invoke, content: bytes) -> None:
    (folder / "f.olympus").write_bytes(content)
    result = invoke("inspect", "f.olympus")
    assert result.exit_code == 5
    assert result.stderr.startswith("error: f.olympus is ")


def test_a_changed_member_is_refused(bundle: Path, invoke: Invoke) -> None:
    pack(bundle, {**members_of(bundle), "program.olympuspr": b"changed"})
    result = invoke("inspect", "mlp.olympus")
    assert result.exit_code == 5
    assert "its member 'program.olympuspr' has" in result.stderr


def test_a_missing_file_is_a_usage_error(folder: Path, invoke: Invoke) -> None:
    result = invoke("inspect", "nosuch.olympus")
    assert result.exit_code == 2
    assert "nosuch.olympus cannot be read" in result.stderr
