"""The verification of a bundle's signature: Ed25519 (RFC 8032), from the package `cryptography`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from olympus_bundle.errors import ArtifactError, BackendError, UsageError
from olympus_bundle.regular_file import open_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

PublicKey: TypeAlias = "str | os.PathLike[str] | bytes"

SIGNATURE = "signature.ed25519"  # the member
#: The first line of the signed bytes: a signature for one purpose is none for another.
BUNDLE = b"olympus bundle manifest\n"
SIGNATURE_FORM = re.compile(rb"ed25519 ([0-9a-f]{64}) ([0-9a-f]{128})\n")
NEW_KEY_HINT = "olympus sign --new-key PREFIX makes one"
_INSTALL = 'pip install "olympus[sign]"'
_LONGEST_KEY = 100_000  # bytes of a file with a key


def public_keys(keys: PublicKey | Sequence[PublicKey]) -> tuple[bytes, ...]:
    """Return public keys as their 32 bytes.

    Each key is a file in PEM or OpenSSH form, or bytes with such a file's content.

    Raises:
      UsageError: a file cannot be read, or has no public Ed25519 key.
      BackendError: the package `cryptography` is not installed.
    """
    key_list = [keys] if isinstance(keys, str | bytes | os.PathLike) else list(keys)
    if not key_list:
        raise UsageError("trust needs at least one key, and got none")
    return tuple(_public(key).public_bytes_raw() for key in key_list)


def verify_signature(
    manifest: bytes, signature: bytes | None, trusted: Sequence[bytes], purpose: bytes = BUNDLE
) -> None:
    """Verify the signature of a manifest with trusted keys, the result of `public_keys`.

    `purpose` is that of `signed`.

    Raises:
      ArtifactError: the signature is missing, is not of one of the keys, or does not match.
      BackendError: the package `cryptography` is not installed.
    """
    if signature is None:
        raise ArtifactError("it is not signed, and a signature is required")
    fields = SIGNATURE_FORM.fullmatch(signature)
    if fields is None:
        raise ArtifactError("its signature is damaged")
    key = bytes.fromhex(fields[1].decode())
    if key not in trusted:
        raise ArtifactError(f"it is signed with the key {key.hex()}, which is not trusted")
    if not signature_matches(purpose + manifest, key, bytes.fromhex(fields[2].decode())):
        raise ArtifactError("its signature does not match its manifest: one of them was changed")


def signature_matches(content: bytes, key: bytes, signature: bytes) -> bool:
    """Return True if a signature of these bytes was made with the private half of a key.

    Raises:
      BackendError: the package `cryptography` is not installed.
    """
    _, ed25519 = library()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def library() -> tuple[Any, Any]:
    """Return the modules `serialization` and `ed25519` of the package `cryptography`."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as exc:
        raise BackendError(
            f"signatures need the package cryptography, which is not installed: {_INSTALL}",
            hint=_INSTALL,
        ) from exc
    return serialization, ed25519


def _public(key: PublicKey) -> Ed25519PublicKey:
    serialization, ed25519 = library()
    content = key if isinstance(key, bytes) else key_content(key)
    name = "the given key" if isinstance(key, bytes) else os.fspath(key)
    if b"PRIVATE KEY" in content:
        raise UsageError(f"{name} is a private key: give the public one, which ends in .pub")
    ssh = content.startswith(b"ssh-")
    read = serialization.load_ssh_public_key if ssh else serialization.load_pem_public_key
    try:
        loaded = read(content)
    except Exception as exc:
        raise UsageError(f"{name} is not a public key: {exc}") from exc
    if not isinstance(loaded, ed25519.Ed25519PublicKey):
        raise UsageError(f"{name} is not an Ed25519 key", hint=NEW_KEY_HINT)
    public: Ed25519PublicKey = loaded
    return public


def key_content(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file with a key; raise UsageError if it cannot be read."""
    try:
        with open_regular(path, _LONGEST_KEY) as file:
            return file.read()
    except OSError as exc:
        raise UsageError(f"the key {os.fspath(path)} cannot be read: {exc.strerror}") from exc
