"""The form of `--executor`."""

from __future__ import annotations

from olympus.errors import UsageError

#: The start of the address of a Dask scheduler.
SCHEME = "dask://"


def check_executor(text: str) -> None:
    """Check the value of `--executor`.

    Raises:
        UsageError: it is none of "local", "dask" and "dask://host:port".

    Example:
      >>> check_executor("dask://10.0.0.5:8786")
    """
    host, _, port = text.removeprefix(SCHEME).rpartition(":")
    if text in ("local", "dask") or (text.startswith(SCHEME) and host and port.isdigit()):
        return
    raise UsageError(
        f"--executor takes local, dask or dask://HOST:PORT; got {text!r}",
        hint="dask://HOST:PORT is the address of a Dask scheduler, whose usual port is 8786",
    )
