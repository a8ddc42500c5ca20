"""Run `olympus` with the arguments of this script in a fork of the process of `preloaded.py`.

A script of its own, which starts without the modules that Python's `site` imports.
"""

from __future__ import annotations

import os
import socket
import sys


def main() -> None:
    """Send the arguments, the environment, the streams and the directory; exit as the command."""
    environment = dict(os.environ)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(environment.pop("PRELOADED"))
        content = repr((sys.argv[1:], environment)).encode()
        socket.send_fds(server, [content], [0, 1, 2, os.open(".", os.O_RDONLY)])
        answer = server.recv(16)
    if answer == b"start":
        os.execv(sys.executable, [sys.executable, "-m", "olympus_cli", *sys.argv[1:]])
    sys.exit(int(answer))


main()
