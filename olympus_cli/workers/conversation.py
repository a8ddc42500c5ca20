"""Work in a process of its own that stays alive, and answers requests until it is told to end.

with closing(Conversation(Isolated(serve, work, does="measures"))) as process:
    process.ask(["sample", 10])
"""

from __future__ import annotations

from olympus_cli.process import interrupts
from olympus_cli.workers.call import Isolated, wait
from olympus_cli.workers.messages import Data

__all__ = ["Conversation"]


class Conversation:
    """A process in which `work(channel, *args)` runs; it takes its requests from the channel.

    Ctrl-C and SIGTERM raise while an answer is waited for.
    """

    def __init__(self, process: Isolated) -> None:
        self._process = process

    def ask(self, request: Data) -> Data:
        """What the work answers to a request.

        Raises:
            OlympusError: what the work raised, or of class `death`: the process has ended.
        """
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            self._process.ask(request)
            while True:
                ended = self._process.look()
                if self._process.answers:
                    return self._process.answers.pop(0)
                if ended is not None:
                    return ended.returned()
                wait([self._process])

    def end(self, request: Data) -> Data:
        """Send the last request, and give what the work returns.

        Raises:
            OlympusError: as by `ask`.
        """
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            self._process.ask(request)
            while (ended := self._process.look()) is None:
                wait([self._process])
        return ended.returned()

    def close(self) -> None:
        """End the process, if it has not ended, and all that it started."""
        self._process.close()
