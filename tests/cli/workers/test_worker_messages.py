"""Messages between a command and its workers: complete, only data, and answered or an error."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing

import pytest

from olympus.errors import CompileError
from olympus_cli.workers.call import Isolated, RequestProcess, call
from olympus_cli.workers.messages import Channel, Receiver, Sender, loads


def channel() -> tuple[Sender, Receiver, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return Sender(theirs, b"token"), Receiver(ours, b"token"), theirs


def test_messages_are_complete_and_junk_is_dropped() -> None:
    sender, receiver, end = channel()
    with receiver.socket, end:
        assert receiver.receive(256) == []
        data = {"text": "é" * 40_000, "none": None, "list": [1, 2.5, (b"x", True)]}
        end.send(b"\0\0\0\x7f")
        sender.send(data)
        end.send(b"token" + b"\0" * 3)
        end.send(b"token" + b"\0" * 100)  # the remains of a message
        sender.send("second")
        assert receiver.receive(256) == [data, "second"]


def test_reading_ends_while_writing_continues() -> None:
    sender, receiver, end = channel()
    with receiver.socket, end:
        end.setblocking(False)
        sent = 0
        while True:
            try:
                end.send(b"junk")
            except BlockingIOError:
                break
            sent += 1
        assert receiver.receive(256) == []
        end.setblocking(True)
        received = 0
        while sent > received:
            assert receiver.receive(256) == []
            received += 256
        sender.send("after")
        assert receiver.receive(256) == ["after"]


def test_messages_have_only_data() -> None:
    with pytest.raises(pickle.UnpicklingError, match="is not data"):
        loads(pickle.dumps(os.system))


def _echoes(channel: Channel) -> object:
    channel("listens")
    while (request := channel.request()) != "end":
        if request == "die":
            os._exit(3)
        channel.answer([request, len(str(request))])
    return "bye"


def test_requests_are_answered_until_the_end() -> None:
    stages: list[str] = []
    begun = Isolated(_echoes, action="echoes", quiet=True, on_stage=stages.append)
    with closing(RequestProcess(begun)) as process:
        long = "é" * 100_000
        for request in ("a", {"b": [1.5, None]}, long):
            assert process.request(request) == [request, len(str(request))]
        assert process.end("end") == "bye"
    assert stages == ["listens"]


def test_each_request_to_a_dead_worker_is_an_error() -> None:
    with closing(RequestProcess(Isolated(_echoes, action="echoes", quiet=True))) as process:
        assert process.request("a") == ["a", 1]
        for request in ("die", "b", "c"):
            with pytest.raises(
                CompileError, match="the process that echoes ended with exit code 3"
            ):
                process.request(request)
        with pytest.raises(CompileError, match="ended with exit code 3"):
            process.end("end")


def test_work_returns_data() -> None:
    assert call(_doubled, [1, 2], action="doubles", quiet=True) == [1, 2, 1, 2]


def _doubled(report: Callable[[str], None], values: list[int]) -> list[int]:
    report("double")
    return values * 2


def test_output_of_a_worker_is_escaped_on_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    call(_prints, "\x1b[31mname\n", action="prints", quiet=True)
    assert capsys.readouterr().err == "\\u001b[31mname\n"


def _prints(_report: Callable[[str], None], text: str) -> None:
    os.write(2, text.encode())


def test_a_worker_is_silent_after_the_death_of_its_command() -> None:
    code = (
        "import socket\n"
        "from olympus_cli.workers.messages import Sender\n"
        "ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "theirs.close()\n"
        "Sender(ours, b'token').send(('stage', 'trace'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
