"""A bundle without a valid signature of a trusted key is refused before it is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from olympus import artifact
from olympus.errors import ArtifactError, BackendError, UsageError
from tests.artifact.bundles import change_manifest, members_of, pack, replace_member

SIGNATURE = "signature.ed25519"


def key_files(folder: Path, name: str) -> tuple[Path, Path]:
    pair = artifact.new_key()
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    private.write_bytes(pair.private)
    public.write_bytes(pair.public)
    return private, public


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    return key_files(tmp_path, "ours")


@pytest.fixture
def signed(bundle: Path, keys: tuple[Path, Path]) -> Path:
    artifact.sign(bundle, keys[0])
    return bundle


def test_a_signed_bundle_is_trusted_and_runs(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    _, other_public = key_files(tmp_path, "other")
    for trust in (keys[1], str(keys[1]), keys[1].read_bytes(), [other_public, keys[1]]):
        bundle = artifact.load(signed, trust=trust)
        assert bundle.trusted
        assert SIGNATURE not in bundle.members
    assert not artifact.load(signed).trusted  # without `trust` the signature is not verified
    assert bundle.compiled(recompile=False).fun_name == "mlp"


def test_signing_again_replaces_the_signature(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path
) -> None:
    first = signed.read_bytes()
    artifact.sign(signed, keys[0])
    assert signed.read_bytes() == first  # the same content gives the same bytes
    private, public = key_files(tmp_path, "second")
    artifact.sign(signed, private, tmp_path / "copy.olympus")
    assert signed.read_bytes() == first
    assert artifact.load(tmp_path / "copy.olympus", trust=public).trusted
    with pytest.raises(ArtifactError, match="which is not trusted"):
        artifact.load(tmp_path / "copy.olympus", trust=keys[1])


def without_the_signature(path: Path, _: Path) -> None:
    pack(path, {name: x for name, x in members_of(path).items() if name != SIGNATURE})


def with_a_changed_manifest(path: Path, _: Path) -> None:
    change_manifest(path, lambda data: data.update(name="other"))


def with_another_member_and_digest(path: Path, _: Path) -> None:
    replace_member(path, "executables/cpu.bin", b"native code of an attacker")


def with_a_changed_member(path: Path, _: Path) -> None:
    pack(path, {**members_of(path), "executables/cpu.bin": b"native code of an attacker"})


def with_a_member_more(path: Path, _: Path) -> None:
    pack(path, {**members_of(path), "more": b""})


def with_a_changed_signature(path: Path, _: Path) -> None:
    members = members_of(path)
    text = members[SIGNATURE]
    pack(path, {**members, SIGNATURE: text[:-2] + (b"0" if text[-2:-1] != b"0" else b"1") + b"\n"})


def with_a_damaged_signature(path: Path, _: Path) -> None:
    pack(path, {**members_of(path), SIGNATURE: b"ed25519 00 00\n"})


def with_the_signature_of_another_key(path: Path, folder: Path) -> None:
    artifact.sign(path, key_files(folder, "other")[0])


def with_the_signature_of_another_bundle(path: Path, folder: Path) -> None:
    members = members_of(path)
    change_manifest(path, lambda data: data.update(name="other"))
    artifact.sign(path, folder / "ours.key")
    pack(path, {**members, SIGNATURE: members_of(path)[SIGNATURE]})


FORGED = {
    without_the_signature: "it is not signed, and a signature is required",
    with_a_changed_manifest: "its signature does not match its manifest: one of them was changed",
    with_another_member_and_digest: "its signature does not match its manifest",
    with_a_changed_member: "its member 'executables/cpu.bin' has 26 bytes, and should have",
    with_a_member_more: "its member 'more' is not in its manifest",
    with_a_changed_signature: "its signature does not match its manifest",
    with_a_damaged_signature: "its signature is damaged",
    with_the_signature_of_another_key: "it is signed with the key [0-9a-f]{64}, which is not tru",
    with_the_signature_of_another_bundle: "its signature does not match its manifest",
}


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_bundle_is_refused(
    signed: Path, keys: tuple[Path, Path], tmp_path: Path, forge: object
) -> None:
    forge(signed, tmp_path)  # type: ignore[operator]
    with pytest.raises(ArtifactError, match=f"cannot be used: {FORGED[forge]}") as caught:  # type: ignore[index]
        artifact.load(signed, trust=keys[1])
    assert caught.value.exit_code == 5


def test_nothing_is_read_before_the_signature_is_verified(
    signed: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: object) -> None:
        raise AssertionError("the manifest was read")

    monkeypatch.setattr("olympus_bundle.reading.ManifestReader.parse", parse)
    for forge in (without_the_signature, with_a_changed_manifest, with_a_changed_signature):
        original = signed.read_bytes()
        forge(signed, signed.parent)
        with pytest.raises(ArtifactError):
            artifact.load(signed, trust=keys[1])
        signed.write_bytes(original)


def test_keys_of_openssh_are_read(bundle: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ed25519

    key = ed25519.Ed25519PrivateKey.generate()
    forms = s.PrivateFormat.OpenSSH, s.NoEncryption()
    (tmp_path / "id").write_bytes(key.private_bytes(s.Encoding.PEM, *forms))
    public = key.public_key().public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH)
    artifact.sign(bundle, tmp_path / "id")
    assert artifact.load(bundle, trust=public + b" me@here\n").trusted


def test_invalid_keys_are_refused(bundle: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    private, public = keys
    pem, pkcs8 = s.Encoding.PEM, s.PrivateFormat.PKCS8
    curve = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "ec").write_bytes(curve.private_bytes(pem, pkcs8, s.NoEncryption()))
    secret = ed25519.Ed25519PrivateKey.generate()
    locked = secret.private_bytes(pem, pkcs8, s.BestAvailableEncryption(b"word"))
    (tmp_path / "locked").write_bytes(locked)
    for file, message in (
        (public, "has no private key"),
        (tmp_path / "none", "cannot be read: No such file"),
        (tmp_path / "ec", "is not an Ed25519 key"),
        (tmp_path / "locked", "has a passphrase"),
    ):
        with pytest.raises(UsageError, match=message):
            artifact.sign(bundle, file)
    spki = s.PublicFormat.SubjectPublicKeyInfo
    for trust, message in (
        (private, "is a private key: give the public one"),
        (b"hello", "the given key is not a public key"),
        (curve.public_key().public_bytes(pem, spki), "is not an Ed25519 key"),
        ([], "trust needs at least one key, and got none"),
    ):
        with pytest.raises(UsageError, match=message):
            artifact.load(bundle, trust=trust)


def test_without_the_package_the_error_has_the_install_command(
    signed: Path, keys: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for use in (
        lambda: artifact.load(signed, trust=keys[1]),
        lambda: artifact.sign(signed, keys[0]),
        artifact.new_key,
    ):
        with pytest.raises(BackendError, match=r'pip install "olympus\[sign\]"') as caught:
            use()
        assert caught.value.exit_code == 6
    assert artifact.load(signed).compiled(recompile=False).fun_name == "mlp"


def test_with_native_false_the_executable_is_not_loaded(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object) -> None:
        raise AssertionError("the executable was loaded")

    monkeypatch.setattr("olympus_core.xla.load_executable", load)
    loaded = artifact.load(
        replace_member(bundle, "executables/cpu.bin", b"native code of an attacker"), native=False
    )
    assert loaded.compiled().fun_name == "mlp"
    with pytest.raises(ArtifactError, match="are native code, and it was loaded with native=False"):
        loaded.compiled(recompile=False)
    with pytest.raises(AssertionError, match="the executable was loaded"):
        artifact.load(bundle).compiled()
