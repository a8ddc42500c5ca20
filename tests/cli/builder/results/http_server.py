"""A small HTTP cache server, correct or faulty."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CacheServer:
    """A server in this process. `files` are its contents by path, `requests` have arrived.

    `fault` is "" or one of "slow", "half", "wrong", "close" or a status such as "500". `fault_at`
    is the number of a request with another fault.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.fault = ""
        self.fault_at = (0, "")
        self.slow_methods = ("GET", "HEAD", "PUT")
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Write nothing."""

            def _begin(self) -> bool:
                headers = dict(self.headers.items())
                server.requests.append((self.command, self.path, headers))
                number, fault = server.fault_at
                if number:
                    server.fault = fault if number == len(server.requests) else ""
                self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if server.fault.isdigit():
                    self._answer(int(server.fault), b"refused")
                elif server.fault == "slow" and self.command in server.slow_methods:
                    server.released.wait(30)
                    self.close_connection = True
                elif server.fault == "close":
                    self.close_connection = True
                else:
                    return True
                return False

            def _answer(self, code: int, content: bytes = b"", length: int | None = None) -> None:
                self.send_response(code)
                self.send_header("Content-Length", str(len(content) if length is None else length))
                if code in (301, 302, 307):
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def do_GET(self) -> None:
                """Answer with a file."""
                if not self._begin():
                    return
                content = server.files.get(self.path)
                if content is None:
                    self._answer(404)
                elif server.fault == "half":
                    self._answer(200, content[: len(content) // 2], len(content))
                    self.close_connection = True
                elif server.fault == "wrong" and self.path.startswith("/cas/"):
                    self._answer(200, content[::-1])
                else:
                    self._answer(200, content)

            def do_HEAD(self) -> None:
                """Answer whether there is a file."""
                if self._begin():
                    self._answer(200 if self.path in server.files else 404)

            def do_PUT(self) -> None:
                """Store a file."""
                if self._begin():
                    server.files[self.path] = self.body
                    self._answer(201)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        """Stop the server."""
        self.released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@contextlib.contextmanager
def cache_server() -> Iterator[CacheServer]:
    """A server that runs in the context."""
    with contextlib.closing(CacheServer()) as server:
        yield server
