"""Slots: supervisors that live as long as a pool, each of which runs one job at a time.

A process that forks copies its page tables, and then copies each page that it writes to. The
command has the whole program in its memory and works between two forks. A slot sleeps, so that a
fork from it costs less.

    command  -- job, leash, results -->  slot  --- forks --->  worker of the job
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
from dataclasses import dataclass

from olympus_cli.process import interrupts
from olympus_cli.workers.module_changes import Snapshot
from olympus_cli.workers.supervisor import Job, fork_supervisor, serve_jobs


class Slots:
    """The slots of a pool; `close` ends them."""

    def __init__(self) -> None:
        self._idle: list[_Slot] = []
        self._busy: list[_Slot] = []

    def start(
        self, leash: socket.socket, results: socket.socket, job: Job, _ours: socket.socket
    ) -> SlotJob:
        """Start a job in an idle slot, or in a new one.

        This process has no threads, and has imported all modules that its jobs need.

        Raises:
            OSError: the system has no process or no descriptor left.
        """
        with interrupts.deferred():  # until `close` can end the slot
            while self._idle and self._idle[-1].has_died():
                self._idle.pop().close()
            slot = self._idle.pop() if self._idle else _Slot()
            self._busy.append(slot)
        slot.send(leash, results, job)
        return SlotJob(self, slot)

    def keep(self, slot: _Slot) -> None:
        """Keep a slot, whose job has ended, for another job."""
        if slot in self._busy:
            with interrupts.deferred():
                self._busy.remove(slot)
                self._idle.append(slot)

    def close(self) -> None:
        """End all slots; their jobs have ended."""
        for slot in (*self._idle, *self._busy):
            slot.close()
        self._idle.clear()
        self._busy.clear()


@dataclass(frozen=True)
class SlotJob:
    """The supervisor of one job, with the methods of `subprocess.Popen` that are used for it."""

    slots: Slots
    slot: _Slot

    @property
    def pid(self) -> int:
        return self.slot.pid

    def kill(self) -> None:
        self.slot.kill()

    def wait(self) -> None:
        """Let the slot do another job: this one has ended."""
        self.slots.keep(self.slot)


class _Slot:
    """A process forked from this one that supervises jobs.

    Raises:
        OSError: the system has no process or no descriptor left.
    """

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        snapshot = Snapshot.of_now()
        self._has_ended = False
        with theirs:
            try:
                self.pid = fork_supervisor(lambda: serve_jobs(theirs, snapshot))
            except BaseException:
                self._control.close()
                raise

    def send(self, leash: socket.socket, results: socket.socket, job: Job) -> None:
        """Send a job, whose supervisor has the ends `leash` and `results` of sockets."""
        content = pickle.dumps(job)
        descriptors = [leash.fileno(), results.fileno()]
        socket.send_fds(self._control, [len(content).to_bytes(8, "big")], descriptors)
        self._control.sendall(content)

    def has_died(self) -> bool:
        """Return True if something has killed the process."""
        if not self._has_ended:
            self._has_ended = os.waitpid(self.pid, os.WNOHANG) != (0, 0)
        return self._has_ended

    def kill(self) -> None:
        """Kill the process; the kernel then kills the worker."""
        if not self.has_died():
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process."""
        self._control.close()
        self.kill()
        if not self._has_ended:
            os.waitpid(self.pid, 0)
            self._has_ended = True
