"""The signature of a bundle's manifest, which has the SHA-256 of every other member.

The algorithm is Ed25519 (RFC 8032), from the package `cryptography`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from olympus_core.base.errors import ArtifactError, BackendError, UsageError
from olympus_core.base.regular_files import read_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SIGNATURE = "signature.ed25519"  # the member
PublicKey: TypeAlias = "str | os.PathLike[str] | bytes"

_INSTALL = 'pip install "olympus[sign]"'
_FORM = re.compile(rb"ed25519 ([0-9a-f]{64}) ([0-9a-f]{128})\n")
#: The first line of the signed bytes: a signature for one purpose is none for another.
BUNDLE = b"olympus bundle manifest\n"
RESULT = b"olympus compilation result\n"
_LONGEST_KEY = 100_000  # bytes of a file with a key


class KeyPair(NamedTuple):
    """A new key in PEM: `private` signs and is secret, `public` is for verification."""

    private: bytes
    public: bytes


@dataclass(frozen=True)
class SignatureState:
    """The state of the signature of a bundle, and the public key in it, in hexadecimal.

    "unsigned": no signature. "trusted": a trusted key made it for this manifest. "valid": another
    key made it. "invalid": it is damaged, or the manifest was changed. "unverified": the package
    `cryptography`, which verifies it, is not installed.
    """

    state: Literal["unsigned", "trusted", "valid", "invalid", "unverified"]
    key: str | None = None


def new_key() -> KeyPair:
    """Return a new Ed25519 key.

    Raises:
      BackendError: the package `cryptography` is not installed.

    >>> new_key().public.splitlines()[0]
    b'-----BEGIN PUBLIC KEY-----'
    """
    serialization, ed25519 = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    pem = serialization.Encoding.PEM
    return KeyPair(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def signed(manifest: bytes, key: str | os.PathLike[str], purpose: bytes = BUNDLE) -> bytes:
    """Sign a manifest with the private key in a file, and return the content of the signature.

    `purpose` is `BUNDLE` for the manifest of a bundle, or `RESULT` for that of a stored result.

    Raises:
      UsageError: the file cannot be read, or has no private Ed25519 key.
      BackendError: the package `cryptography` is not installed.
    """
    private = _private(key)
    public = private.public_key().public_bytes_raw().hex()
    return f"ed25519 {public} {private.sign(purpose + manifest).hex()}\n".encode()


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
    fields = _FORM.fullmatch(signature)
    if fields is None:
        raise ArtifactError("its signature is damaged")
    key = bytes.fromhex(fields[1].decode())
    if key not in trusted:
        raise ArtifactError(f"it is signed with the key {key.hex()}, which is not trusted")
    if not _matches(purpose + manifest, key, bytes.fromhex(fields[2].decode())):
        raise ArtifactError("its signature does not match its manifest: one of them was changed")


def sign_result(header: bytes, key: str | os.PathLike[str]) -> bytes:
    """Sign the header of a stored compilation result, which has the SHA-256 of its members.

    Raises the errors of `signed`.

    >>> sign_result(header, "team.key")[:8]
    b'ed25519 '
    """
    return signed(header, key, RESULT)


def verify_result(
    header: bytes, signature: bytes | None, trust: PublicKey | Sequence[PublicKey]
) -> None:
    """Verify that one of the keys of `trust` signed the header of a stored compilation result.

    Raises:
      UsageError: a key cannot be read.
      ArtifactError: the signature is missing, is not of one of the keys, or does not match.
      BackendError: the package `cryptography` is not installed.

    >>> verify_result(header, sign_result(header, "team.key"), "team.pub")
    """
    verify_signature(header, signature, public_keys(trust), RESULT)


def signature_state(
    manifest: bytes, signature: bytes | None, trusted: Sequence[bytes] = ()
) -> SignatureState:
    """Return the state of the signature of a manifest; `trusted` is the result of `public_keys`.

    >>> signature_state(manifest, None)
    SignatureState(state='unsigned', key=None)
    """
    if signature is None:
        return SignatureState("unsigned")
    fields = _FORM.fullmatch(signature)
    if fields is None:
        return SignatureState("invalid")
    key = fields[1].decode()
    try:
        matches = _matches(BUNDLE + manifest, bytes.fromhex(key), bytes.fromhex(fields[2].decode()))
    except BackendError:
        return SignatureState("unverified", key)
    if not matches:
        return SignatureState("invalid", key)
    return SignatureState("trusted" if bytes.fromhex(key) in trusted else "valid", key)


def _matches(content: bytes, key: bytes, signature: bytes) -> bool:
    """Return True if a signature of these bytes was made with the private half of a key.

    Raises:
      BackendError: the package `cryptography` is not installed.
    """
    _, ed25519 = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as exc:
        raise BackendError(
            f"signatures need the package cryptography, which is not installed: {_INSTALL}",
            hint=_INSTALL,
        ) from exc
    return serialization, ed25519


def _private(key: str | os.PathLike[str]) -> Ed25519PrivateKey:
    serialization, ed25519 = _library()
    content = _content(key)
    ssh = b"BEGIN OPENSSH PRIVATE KEY" in content
    read = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
    try:
        loaded = read(content, password=None)
    except TypeError as exc:
        raise UsageError(f"the key in {os.fspath(key)} has a passphrase: use one without") from exc
    except Exception as exc:  # the package has a class for each way of being broken
        raise UsageError(f"{os.fspath(key)} has no private key: {exc}") from exc
    if not isinstance(loaded, ed25519.Ed25519PrivateKey):
        raise UsageError(f"the key in {os.fspath(key)} is not an Ed25519 key", hint=_NEW)
    private: Ed25519PrivateKey = loaded
    return private


def _public(key: PublicKey) -> Ed25519PublicKey:
    serialization, ed25519 = _library()
    content = key if isinstance(key, bytes) else _content(key)
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
        raise UsageError(f"{name} is not an Ed25519 key", hint=_NEW)
    public: Ed25519PublicKey = loaded
    return public


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_regular(path, _LONGEST_KEY)
    except OSError as exc:
        raise UsageError(f"the key {os.fspath(path)} cannot be read: {exc.strerror}") from exc


_NEW = "olympus sign --new-key PREFIX makes one"
