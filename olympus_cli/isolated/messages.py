"""Messages from a process in which a user's program runs: plain data in, the same data out.

A message is a row of datagrams, and a datagram arrives whole or not at all.  One without the token,
which only the two ends know, is what a program wrote into a descriptor that is not its own: it is
dropped.  Reading never waits, and unpickles data alone: None, bool, int, float, str, bytes, and
lists, tuples and dicts of them.
"""

from __future__ import annotations

import io
import pickle
import socket
import struct
from os import _exit, getpid, write
from typing import Any, NoReturn

__all__ = ["Data", "Receiver", "Sender", "loads"]

#: What a message can be.
Data = Any

_CHUNK = 1 << 15
_HEADER = struct.Struct("!II?")  # number of the message, number of the datagram, whether it is last


class Sender:
    """The end in the process that works; `token` is the first bytes of every datagram."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self._end, self._token, self._number = end, token, 0
        self._owner = getpid()

    def send(self, message: Data) -> None:
        """Send `message`; a child that the program forked, and that came back to us, ends here.

        So does a process whose program has closed the descriptor: nobody would hear of it.
        """
        if getpid() != self._owner:
            _exit(0)
        payload = pickle.dumps(message)
        chunks = [payload[start : start + _CHUNK] for start in range(0, len(payload), _CHUNK)]
        try:
            self._end.setblocking(True)
            for index, chunk in enumerate(chunks):
                header = _HEADER.pack(self._number, index, index == len(chunks) - 1)
                self._end.send(self._token + header + chunk)
        except OSError as error:
            write(2, f"a descriptor that olympus needs was closed: {error.strerror}\n".encode())
            _exit(1)
        self._number += 1


class Receiver:
    """The other end, `socket`: it gives the messages that have come."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self.socket = end
        self._token = token
        self._number = 0
        self._chunks: list[bytes] = []

    def receive(self, at_most: int) -> list[Data]:
        """The messages that are complete by now, of `at_most` so many datagrams."""
        found: list[Data] = []
        for _ in range(at_most):
            try:
                datagram = self.socket.recv(_CHUNK + 64, socket.MSG_DONTWAIT)
            except OSError:  # there is no more
                break
            self._take(datagram, found)
        return found

    def _take(self, datagram: bytes, found: list[Data]) -> None:
        start = len(self._token) + _HEADER.size
        if len(datagram) < start or not datagram.startswith(self._token):
            return
        number, index, last = _HEADER.unpack(datagram[len(self._token) : start])
        if (number, index) != (self._number, len(self._chunks)):
            return
        self._chunks.append(datagram[start:])
        if last:
            found.append(loads(b"".join(self._chunks)))
            self._number, self._chunks = self._number + 1, []


class _DataAlone(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


def loads(payload: bytes) -> Data:
    """The data in `payload`; nothing is imported for it, and nothing called."""
    return _DataAlone(io.BytesIO(payload)).load()
