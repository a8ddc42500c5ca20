"""Helpers: processes that do a part of many works without user code, such as a compilation.

A helper initializes its libraries once, and a process of each work would do so again. The work
sends a request with `Channel.query`, and this process passes it on:

    work  <-- request, answer -->  this process  <-- request, answer -->  helper

A helper serves one work at a time. If it dies, the answer is None, and the work does the part by
itself, so that the failure is that of the work. A helper of a work that has ended is ended too.
"""

from __future__ import annotations

from collections.abc import Callable

from olympus.errors import OlympusError
from olympus_cli.process import interrupts
from olympus_cli.workers.call import Isolated
from olympus_cli.workers.messages import Data

_MAX_REQUESTS = 1000  # of one helper: the memory of a library may grow


class _Helper:
    """A helper, and the number of its requests."""

    def __init__(self, serve: Callable[..., Data]) -> None:
        self.serve = serve
        self.process = Isolated(serve, action="compiles", quiet=True)
        self.num_requests = 0


class Helpers:
    """The helpers of running works; `close` ends them."""

    def __init__(self) -> None:
        self._idle: list[_Helper] = []
        self._busy: dict[Isolated, _Helper] = {}  # by the process of the work

    def forward(self, work: Isolated, serve: Callable[..., Data], request: Data) -> None:
        """Pass a request of a work to a helper that runs `serve`."""
        helper = next((helper for helper in self._idle if helper.serve == serve), None)
        try:
            with interrupts.deferred():  # until `close` can end it
                if helper is None:
                    helper = _Helper(serve)
                else:
                    self._idle.remove(helper)
                self._busy[work] = helper
        except OlympusError:  # the system has no process left
            work.send(None)
            return
        helper.num_requests += 1
        helper.process.send(request)

    def answer(self) -> None:
        """Send the answers that have arrived to their works."""
        for work, helper in list(self._busy.items()):
            ended = helper.process.look()
            answers = helper.process.answers
            if not answers and ended is None:
                continue
            del self._busy[work]
            if ended is None and helper.num_requests < _MAX_REQUESTS:
                self._idle.append(helper)
            else:
                helper.process.close()
            work.send(answers.pop(0) if answers else None)

    def forget(self, work: Isolated) -> None:
        """End the helper that serves a work, which has ended."""
        helper = self._busy.pop(work, None)
        if helper is not None:
            helper.process.close()

    @property
    def processes(self) -> list[Isolated]:
        """The processes of the helpers that serve a work now."""
        return [helper.process for helper in self._busy.values()]

    def close(self) -> None:
        """End all helpers."""
        for helper in (*self._idle, *self._busy.values()):
            helper.process.close()
        self._idle.clear()
        self._busy.clear()
