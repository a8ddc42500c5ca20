"""`debug.breakpoint`: a command line at a line of a running program.

The frames of the user's code and their variables are recorded while the function is traced.  When
the program runs, the arrays among them get their values, and commands read them.
"""

from __future__ import annotations

import cmd
import inspect
import linecache
import pprint
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TextIO

from olympus_core.base import source, tree
from olympus_core.base.errors import ArgumentError, CallbackError
from olympus_core.ir.tracer import Array
from olympus_core.library.callbacks import debug_callback

#: the lines that `list` shows before and after the current one
_AROUND = 2


class _Frame(NamedTuple):
    """A call of a function: its place, its variables, and those of its module."""

    filename: str
    line: int
    function: str
    variables: dict[str, Any]
    module: dict[str, Any]


class _Debugger(cmd.Cmd):
    """The commands at a breakpoint; the first frame is the innermost one."""

    prompt = "(jdb) "

    def __init__(self, frames: Sequence[_Frame], stdin: TextIO, stdout: TextIO) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is sys.stdin and stdout is sys.stdout
        self.frames = frames
        self.place = 0

    @property
    def frame(self) -> _Frame:
        """The current frame."""
        return self.frames[self.place]

    def write(self, *lines: str) -> None:
        """Print lines."""
        for line in lines:
            self.stdout.write(f"{line}\n")

    def _value(self, expression: str) -> tuple[bool, Any]:
        """Return (True, the value), or print the error and return (False, None)."""
        try:
            return True, eval(expression, self.frame.module | self.frame.variables)
        except Exception as error:
            self.write(f"*** {type(error).__name__}: {error}")
            return False, None

    def do_p(self, expression: str) -> None:
        """p(rint) EXPRESSION: print the value of an expression."""
        known, value = self._value(expression)
        if known:
            self.write(repr(value))

    def do_pp(self, expression: str) -> None:
        """pp EXPRESSION: print the value of an expression on several lines."""
        known, value = self._value(expression)
        if known:
            self.write(pprint.pformat(value))

    def default(self, line: str) -> None:
        """Print the value of a line that is no command."""
        self.do_p(line)

    def emptyline(self) -> bool:
        """Do nothing for an empty line."""
        return False

    def do_list(self, _: str) -> None:
        """l(ist): print the lines around the current one."""
        frame = self.frame
        self.write(f"> {frame.filename}({frame.line})")
        for number in range(max(frame.line - _AROUND, 1), frame.line + _AROUND + 1):
            text = linecache.getline(frame.filename, number)
            if text:
                mark = "-> " if number == frame.line else "   "
                self.write(f"{mark} {text.rstrip()}")

    def do_where(self, _: str) -> None:
        """w(here), bt: print the calls, the innermost last."""
        self.write("Traceback:")
        for frame in reversed(self.frames):
            text = linecache.getline(frame.filename, frame.line).strip()
            self.write(f'  File "{frame.filename}", line {frame.line}', f"    {text}")

    def do_up(self, _: str) -> None:
        """u(p): go to the caller."""
        self._go(self.place + 1, "At topmost frame.")

    def do_down(self, _: str) -> None:
        """d(own): go to the called function."""
        self._go(self.place - 1, "At bottommost frame.")

    def _go(self, place: int, at_end: str) -> None:
        if not 0 <= place < len(self.frames):
            self.write(at_end)
            return
        self.place = place
        self.do_list("")

    def do_continue(self, _: str) -> bool:
        """c(ont), continue: let the program go on."""
        return True

    def do_quit(self, _: str) -> bool:
        """q(uit): end the program with an error."""
        raise CallbackError("the user quit at a breakpoint")

    def do_EOF(self, _: str) -> bool:
        """EOF: quit."""
        return self.do_quit("")

    do_l, do_bt, do_w = do_list, do_where, do_where
    do_u, do_d, do_q, do_c, do_cont = do_up, do_down, do_quit, do_continue, do_continue


def _frames(is_user: Callable[[str], bool], count: int | None) -> list[_Frame]:
    """Return the frames around the call of `breakpoint`, the innermost first."""
    frames: list[_Frame] = []
    frame = inspect.currentframe()
    frame = frame and frame.f_back and frame.f_back.f_back
    while frame is not None and len(frames) != count:
        filename = frame.f_code.co_filename
        if is_user(filename):
            place = filename, frame.f_lineno, frame.f_code.co_name
            frames.append(_Frame(*place, dict(frame.f_locals), frame.f_globals))
        frame = frame.f_back
    return frames


def _has_no_order(x: Any) -> bool:
    """Return True for a dict whose keys cannot be sorted, which a tree cannot have."""
    if not isinstance(x, dict):
        return False
    try:
        sorted(x)
    except TypeError:
        return True
    return False


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
) -> None:
    """Open a command line when the running program reaches this line.

    It prints variables and expressions (`p x`), shows the lines (`list`) and the calls (`where`),
    and goes `up` and `down` in them; `continue` lets the program go on, and `quit` ends it with an
    error.  Variables have the values of this line.

    filter_frames: omit the frames of libraries.  num_frames: how many frames to record, by default
    all.  ordered: as in `debug.print`.  stdin, stdout: the files of the command line, by default
    those of the process.  Raises ArgumentError for another `backend` than "cli", for a `token`, and
    for a number of frames below 1.

    >>> jit(lambda x: (debug.breakpoint(), x)[1])(1.0)
    Entering jdb:
    (jdb) p x
    Array(1., dtype=float32)
    (jdb) c
    Array(1., dtype=float32, weak_type=True)
    """
    if backend not in (None, "cli") or token is not None:
        raise ArgumentError("breakpoint has the backend 'cli', and takes no token")
    if num_frames is not None and num_frames < 1:
        raise ArgumentError(f"breakpoint needs num_frames of 1 or more, and got {num_frames}")
    is_user = (lambda name: not source.is_internal(name)) if filter_frames else (lambda name: True)
    frames = _frames(is_user, num_frames)
    parts = [tree.flatten(frame.variables, is_leaf=_has_no_order) for frame in frames]
    arrays = [x for leaves, _ in parts for x in leaves if isinstance(x, Array)]

    def run(*values: Any) -> None:
        rest = iter(values)
        filled = [
            frame._replace(
                variables=treedef.unflatten(
                    next(rest) if isinstance(x, Array) else x for x in leaves
                )
            )
            for frame, (leaves, treedef) in zip(frames, parts, strict=True)
        ]
        files = stdin or sys.stdin, stdout or sys.stdout
        _Debugger(filled, *files).cmdloop("Entering jdb:")

    debug_callback(run, *arrays, ordered=ordered)
