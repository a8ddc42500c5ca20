"""Work in a separate process that stays alive and answers requests until the last one.

Example:
    `with closing(Conversation(Isolated(serve, work, does="measures"))) as process:
    process.ask(["sample", 10])`
"""

from __future__ import annotations

from olympus_cli.process import interrupts
from olympus_cli.workers.call import Isolated, wait
from olympus_cli.workers.messages import Data


class Conversation:
    """A process that runs `work(channel, *args)`, which reads its requests from the channel.

    Ctrl-C and SIGTERM raise an exception during the wait for an answer.
    """

    def __init__(self, process: Isolated) -> None:
        self._process = process

    def ask(self, request: Data) -> Data:
        """Send a request, and return the answer of the work.

        Raises:
            OlympusError: the error of the work, or one of class `death` if the process has ended.
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
        """Send the last request, and return the result of the work.

        Raises:
            OlympusError: as in `ask`.
        """
        with interrupts.interrupts_raised(), interrupts.terminations_raised():
            self._process.ask(request)
            while (ended := self._process.look()) is None:
                wait([self._process])
        return ended.returned()

    def close(self) -> None:
        """End the process, if it still runs, and all processes that it started."""
        self._process.close()
