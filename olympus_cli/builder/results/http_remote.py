"""A remote store by the protocol of Bazel's HTTP cache, which many servers have.

`PUT` and `GET` of `/cas/SHA256` transfer an entry by its digest, and `/ac/KEY` has an
`ActionResult` of Bazel's Remote Execution API that names the digest: a server that checks these
messages accepts it. The entry is uploaded first, so that no action names an absent one.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit

from olympus_cli.builder.results.entry import MAX_BYTES
from olympus_cli.builder.results.remote_interface import ANSWER_LIMIT, TRANSFER_LIMIT, RemoteError
from olympus_cli.spec.cache import without_credentials

#: The variables with a token for the header `Authorization`, and with a whole header.
TOKEN, HEADER = "OLYMPUS_REMOTE_CACHE_TOKEN", "OLYMPUS_REMOTE_CACHE_HEADER"

_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_NAME = b"olympus-result"  # the path of the output in an action
_MAX_ACTION = 2**20  # bytes
_PIECE = 2**16
_REFUSED = (401, 403, 407)  # the next request would be refused too


class HttpRemote:
    """A server at a URL, which may have a user and a password."""

    def __init__(self, url: str) -> None:
        self._base = without_credentials(url).rstrip("/")
        self._headers = {"User-Agent": "olympus", **_authorization(url)}
        # a redirect would send the credentials to another server
        self._opener = urllib.request.build_opener(_NoRedirects)

    def has(self, key: str) -> bool:
        """Return True if the server has an action for a key, and its content.

        A server may remove either of them to have room.
        """
        action = self._request("GET", f"ac/{key}", most=_MAX_ACTION)
        match = None if action is None else _DIGEST.search(action)
        return match is not None and self._request("HEAD", f"cas/{match[0].decode()}") is not None

    def get(self, key: str) -> bytes | None:
        """Return the entry for a key; None if there is none."""
        action = self._request("GET", f"ac/{key}", most=_MAX_ACTION)
        if action is None:
            return None
        match = _DIGEST.search(action)
        if match is None:
            raise RemoteError(f"the action {key} names no digest")
        digest = match[0].decode()
        content = self._request("GET", f"cas/{digest}", most=MAX_BYTES)
        if content is not None and hashlib.sha256(content).hexdigest() != digest:
            raise RemoteError(f"the content of {digest} has another SHA-256")
        return content

    def put(self, key: str, content: bytes, *, replaces: bool = False) -> None:
        """Store an entry for a key; the server decides about an existing one."""
        digest = hashlib.sha256(content).hexdigest()
        self._request("PUT", f"cas/{digest}", content)
        self._request("PUT", f"ac/{key}", action_result(digest, len(content)))

    def _request(
        self, method: str, path: str, content: bytes | None = None, most: int = _MAX_ACTION
    ) -> bytes | None:
        """Return the body of the answer, of at most `most` bytes; None for 404."""
        url = f"{self._base}/{path}"
        request = urllib.request.Request(url, content, self._headers, method=method)
        deadline = time.monotonic() + TRANSFER_LIMIT
        try:
            with self._opener.open(request, timeout=ANSWER_LIMIT) as answer:
                return _body(answer, most, deadline) if method == "GET" else b""
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (404, 410) and method != "PUT":
                    return None
                is_fatal = error.code in _REFUSED
                text = f"{method} /{path[:20]}... was answered with {error.code}"
                raise RemoteError(text, is_fatal=is_fatal) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            is_fatal = not isinstance(error, HTTPException)
            raise RemoteError(f"{method} failed: {reason}", is_fatal=is_fatal) from None


def _body(answer: Any, most: int, deadline: float) -> bytes:
    """Return the body of an answer, complete by its own header of the length."""
    pieces, size = [], 0
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise RemoteError(f"an answer has more than {most} bytes")
        if time.monotonic() > deadline:
            raise RemoteError(f"an answer took more than {TRANSFER_LIMIT:g} s", is_fatal=True)
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and int(length) != size:
        raise RemoteError(f"an answer has {size} of {length} bytes")
    return b"".join(pieces)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect: it is an answer with its code."""


def _authorization(url: str) -> dict[str, str]:
    """Return the headers with the credentials of a URL or of the environment.

    Raises:
        RemoteError: a variable is not valid in a header.
    """
    headers = {}
    if given := os.environ.get(HEADER, "").strip():
        name, colon, value = given.partition(":")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            raise RemoteError(f"{HEADER} must be NAME: VALUE", is_fatal=True)
        headers[name.strip()] = _header_value(value, HEADER)
    parts = urlsplit(url)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    elif token := os.environ.get(TOKEN, "").strip():
        headers["Authorization"] = f"Bearer {_header_value(token, TOKEN)}"
    return headers


def _header_value(text: str, variable: str) -> str:
    """Return the value of a header without blanks around it; an error does not show it."""
    if not _HEADER_VALUE.fullmatch(value := text.strip()):
        raise RemoteError(
            f"{variable} has a character that is not allowed in a header", is_fatal=True
        )
    return value


def action_result(digest: str, size: int) -> bytes:
    """Return an `ActionResult` with one output file, in Protocol Buffers' wire format.

    Its field 2 is an `OutputFile` with the path 1 and the `Digest` 2 of hash 1 and size 2.

    >>> action_result("0" * 64, 5)[:2].hex()
    '1256'
    """
    reference = _field(1, digest.encode()) + b"\x10" + _varint(size)
    return _field(2, _field(1, _NAME) + _field(2, reference))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    groups = []
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*groups, value])
