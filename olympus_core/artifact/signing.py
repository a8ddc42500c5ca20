"""The signature of a bundle's manifest, which has the SHA-256 of every other member.

The algorithm is Ed25519 (RFC 8032), from the package `cryptography`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from olympus_bundle.signatures import (
    BUNDLE,
    NEW_KEY_HINT,
    SIGNATURE_FORM,
    PublicKey,
    key_content,
    library,
    public_keys,
    signature_matches,
    verify_signature,
)
from olympus_core.base.errors import BackendError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

RESULT = b"olympus compilation result\n"


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
    serialization, ed25519 = library()
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
    fields = SIGNATURE_FORM.fullmatch(signature)
    if fields is None:
        return SignatureState("invalid")
    key = fields[1].decode()
    try:
        matches = signature_matches(
            BUNDLE + manifest, bytes.fromhex(key), bytes.fromhex(fields[2].decode())
        )
    except BackendError:
        return SignatureState("unverified", key)
    if not matches:
        return SignatureState("invalid", key)
    return SignatureState("trusted" if bytes.fromhex(key) in trusted else "valid", key)


def _private(key: str | os.PathLike[str]) -> Ed25519PrivateKey:
    serialization, ed25519 = library()
    content = key_content(key)
    ssh = b"BEGIN OPENSSH PRIVATE KEY" in content
    read = serialization.load_ssh_private_key if ssh else serialization.load_pem_private_key
    try:
        loaded = read(content, password=None)
    except TypeError as exc:
        raise UsageError(f"the key in {os.fspath(key)} has a passphrase: use one without") from exc
    except Exception as exc:  # the package has a class for each way of being broken
        raise UsageError(f"{os.fspath(key)} has no private key: {exc}") from exc
    if not isinstance(loaded, ed25519.Ed25519PrivateKey):
        raise UsageError(f"the key in {os.fspath(key)} is not an Ed25519 key", hint=NEW_KEY_HINT)
    private: Ed25519PrivateKey = loaded
    return private
