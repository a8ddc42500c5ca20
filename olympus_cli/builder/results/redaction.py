"""Messages of libraries without the credentials of the environment, in whichever form."""

from __future__ import annotations

import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from olympus_cli.spec.cache import REMOTE

#: Names of variables whose values are secrets have one of these words.
_WORDS = ("TOKEN", "SECRET", "KEY", "PASSW", "CREDENTIAL", "REMOTE_CACHE_HEADER")
_SHORTEST = 4  # characters of a value that is replaced within words


def redacted(message: str) -> str:
    """Return a message with *** in place of each credential of the environment.

    >>> os.environ["OLYMPUS_REMOTE_CACHE_TOKEN"] = "abcdef"
    >>> redacted("refused: Bearer abcdef")
    'refused: Bearer ***'
    """
    forms = {form for secret in _secrets() for form in _forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        pattern = re.escape(form)
        if len(form) < _SHORTEST:
            pattern = rf"(?<!\w){pattern}(?!\w)"
        message = re.sub(pattern, "***", message, flags=re.IGNORECASE)
    return message


def _secrets() -> Iterator[str]:
    """Yield the credentials: of the URL, and the values of variables with a word of a secret."""
    for name, value in os.environ.items():
        if any(word in name.upper() for word in _WORDS):
            yield value
            yield value.partition(":")[2]  # of a header
            yield value.rpartition(" ")[2]  # of a header with a scheme, such as Bearer
    url = os.environ.get(REMOTE, "").strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        yield url
        return
    user = parts.netloc.rpartition("@")[0]
    yield user
    yield from user.split(":", 1)
    pair = unquote(user)
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(pair.encode()).decode()
    for text in (parts.query, parts.fragment):
        yield text
        yield from (field.partition("=")[2] for field in text.split("&"))


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as libraries may write it: decoded, quoted, or with escapes."""
    for value in {secret, secret.strip(), unquote(secret), unquote_plus(secret)}:
        for form in (value, quote(value), quote(value, safe=""), quote_plus(value)):
            if form.strip():
                yield form
                yield repr(form)[1:-1]
                yield repr(form.encode())[2:-1]
