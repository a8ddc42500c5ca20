"""Messages to and from a process in which a user's program runs: plain data in, the same data out.

A message is a row of datagrams, and a datagram arrives whole or not at all.  One without the token,
which only the two ends know, is what a program wrote into a descriptor that is not its own: it is
dropped.  Reading never waits, and unpickles data alone: None, bool, int, float, str, bytes, and
lists, tuples and dicts of them.
"""

from __future__ import annotations

import io
import pickle
import select
import socket
import struct
from collections.abc import Iterator
from os import _exit, getpid, write
from typing import Any, NoReturn

__all__ = ["Channel", "Data", "Receiver", "Sender", "datagrams", "loads"]

#: What a message can be.
Data = Any

_CHUNK = 1 << 15
_HEADER = struct.Struct("!II?")  # number of the message, number of the datagram, whether it is last


def datagrams(message: Data, token: bytes, number: int) -> Iterator[bytes]:
    """The datagrams of message number `number`, which a `Receiver` with the same token takes."""
    payload = pickle.dumps(message)
    chunks = [payload[start : start + _CHUNK] for start in range(0, len(payload), _CHUNK)]
    for index, chunk in enumerate(chunks):
        yield token + _HEADER.pack(number, index, index == len(chunks) - 1) + chunk


class Sender:
    """The end in the process that works; `token` is the first bytes of every datagram."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self._end, self._token, self._number = end, token, 0
        self._owner = getpid()

    def send(self, message: Data) -> None:
        """Send `message`; a child that the program forked, and that came back to us, ends here.

        So does a process whose program has closed the descriptor: nobody would hear of it.  Nor
        does anybody where the command has closed the other end, and is about to end this one.
        """
        if getpid() != self._owner:
            _exit(0)
        try:
            self._end.setblocking(True)
            for datagram in datagrams(message, self._token, self._number):
                self._end.send(datagram)
        except (ConnectionRefusedError, ConnectionResetError):
            _exit(1)
        except OSError as error:
            write(2, f"a descriptor that olympus needs was closed: {error.strerror}\n".encode())
            _exit(1)
        self._number += 1


class Receiver:
    """The other end, `socket`: it gives the messages that have come."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self.socket = end
        self.token = token
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
        start = len(self.token) + _HEADER.size
        if len(datagram) < start or not datagram.startswith(self.token):
            return
        number, index, last = _HEADER.unpack(datagram[len(self.token) : start])
        if (number, index) != (self._number, len(self._chunks)):
            return
        self._chunks.append(datagram[start:])
        if last:
            found.append(loads(b"".join(self._chunks)))
            self._number, self._chunks = self._number + 1, []

    def wait(self) -> Data:
        """The next message, as long as that takes."""
        while not (found := self.receive(1)):
            select.select([self.socket], [], [])
        return found[0]


class Channel:
    """What work has of the process that started it: stages and answers go there, requests come.

    `end` goes both ways: its other end may send requests while the work goes on.
    """

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self._sender, self._requests = Sender(end, token), Receiver(end, token)

    def __call__(self, stage: str) -> None:
        """Say which stage begins."""
        self._sender.send(("stage", stage))

    def request(self) -> Data:
        """What the work is asked next; there may never be anything."""
        return self._requests.wait()

    def answer(self, content: Data) -> None:
        """Answer the last request."""
        self._sender.send(("answer", content))

    def end(self, kind: str, content: Data) -> None:
        """Say what became of the work: "done" with what it returned, or "failed"."""
        self._sender.send((kind, content))


class _DataAlone(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


def loads(payload: bytes) -> Data:
    """The data in `payload`; nothing is imported for it, and nothing called."""
    return _DataAlone(io.BytesIO(payload)).load()
