"""Messages to and from a process that runs a user's program; a message is plain data.

A message is a sequence of datagrams, and a datagram arrives whole or not at all.  Only the two ends
know the token.  A datagram without it was written by a program into a descriptor that is not its
own, and is dropped.  Only data is unpickled: None, bool, int, float, str, bytes, and lists, tuples
and dicts of them.
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

#: The type of a message.
Data = Any

_CHUNK = 1 << 15
_HEADER = struct.Struct("!II?")  # message number, datagram number, is the last datagram


def datagrams(message: Data, token: bytes, number: int) -> Iterator[bytes]:
    """Yield the datagrams of message `number`, for a `Receiver` with the same token."""
    payload = pickle.dumps(message)
    chunks = [payload[start : start + _CHUNK] for start in range(0, len(payload), _CHUNK)]
    for index, chunk in enumerate(chunks):
        yield token + _HEADER.pack(number, index, index == len(chunks) - 1) + chunk


class Sender:
    """The sending end, in the worker; `token` is the first bytes of every datagram."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self._end, self._token, self._number = end, token, 0
        self._owner = getpid()

    def send(self, message: Data) -> None:
        """Send `message`, or end the process if the message cannot be sent from it.

        A child that the program forked, and that returned to this code, ends here.  So does a
        process whose program has closed the descriptor, and a process of which the command has
        closed the other end: the command is about to end it.
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
    """The receiving end, `socket`, and the messages that have arrived there."""

    def __init__(self, end: socket.socket, token: bytes) -> None:
        self.socket = end
        self.token = token
        self._number = 0
        self._chunks: list[bytes] = []

    def receive(self, at_most: int) -> list[Data]:
        """Return the messages completed by at most `at_most` more datagrams, without waiting."""
        messages: list[Data] = []
        for _ in range(at_most):
            try:
                datagram = self.socket.recv(_CHUNK + 64, socket.MSG_DONTWAIT)
            except OSError:  # no datagram is left
                break
            self._take(datagram, messages)
        return messages

    def _take(self, datagram: bytes, messages: list[Data]) -> None:
        start = len(self.token) + _HEADER.size
        if len(datagram) < start or not datagram.startswith(self.token):
            return
        number, index, last = _HEADER.unpack(datagram[len(self.token) : start])
        if (number, index) != (self._number, len(self._chunks)):
            return
        self._chunks.append(datagram[start:])
        if last:
            messages.append(loads(b"".join(self._chunks)))
            self._number, self._chunks = self._number + 1, []

    def wait(self) -> Data:
        """Return the next message, and wait for it if necessary."""
        while not (messages := self.receive(1)):
            select.select([self.socket], [], [])
        return messages[0]


class Channel:
    """The connection from work to the process that started it.

    The work sends stages and answers, and receives requests, all through `end`.  Requests may
    arrive while the work runs.
    """

    def __init__(self, end: socket.socket, token: bytes, *, has_helper: bool = False) -> None:
        self._sender, self._requests = Sender(end, token), Receiver(end, token)
        #: True if `query` reaches a helper
        self.has_helper = has_helper

    def __call__(self, stage: str) -> None:
        """Report the stage that begins."""
        self._sender.send(("stage", stage))

    def request(self) -> Data:
        """Return the next request, and wait for it; it may never come."""
        return self._requests.wait()

    def answer(self, content: Data) -> None:
        """Answer the last request."""
        self._sender.send(("answer", content))

    def query(self, request: Data) -> Data:
        """Return the answer of the helper to a request; None if the helper has died."""
        self.answer(request)
        return self.request()

    def end(self, kind: str, content: Data) -> None:
        """Report the end of the work: "done" with its result, or "failed"."""
        self._sender.send((kind, content))


class _DataAlone(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


def loads(payload: bytes) -> Data:
    """Return the data in `payload`, without importing or calling anything."""
    return _DataAlone(io.BytesIO(payload)).load()
