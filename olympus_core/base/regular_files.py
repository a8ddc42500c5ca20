"""Regular files: read up to a limit, and checked before a write; their paths and source lines."""

from __future__ import annotations

import errno
import linecache
import os
import re
import stat

from olympus_bundle.regular_file import no_name, open_regular

_BLOCK = 2**16  # bytes
_Path = str | os.PathLike[str]
_ESCAPE = re.compile(rb"\\x([89a-f][0-9a-f])")  # an escaped byte that is not UTF-8

#: Streams of this process by name; a redirected one is a regular file, to which others write too.
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_STREAM = re.compile(r"(?:/dev/fd|/proc/self/fd)/([0-9]{1,9})")


def read_regular(path: _Path, most: int, *, follow_links: bool = True) -> bytes:
    """Return the bytes of a regular file of at most `most` bytes.

    Raises:
        OSError: the error of `open_regular`.

    >>> Path("note.txt").write_bytes(b"abc")
    3
    >>> read_regular("note.txt", most=100)
    b'abc'
    """
    with open_regular(path, most, follow_links=follow_links) as file:
        content = file.read(os.fstat(file.fileno()).st_size + 1) or b""
        while len(content) <= most and (more := file.read(_BLOCK)):  # a file of /proc has no size
            content += more
    if len(content) > most:
        raise _refused(errno.EFBIG, f"it is larger than {most} bytes")
    return content


def _refused(number: int, reason: str) -> OSError:
    """Return an OSError of the class for `number`, as the system's are; callers convert it."""
    return OSError(number, reason)


def path_text(path: _Path) -> str:
    """Return a path as UTF-8 text, as in the locations of a program.

    Bytes that are not UTF-8 are written as escapes, such as `\\xf6`.

    >>> print(path_text(os.fsdecode(b"caf\\xe9.py")))
    caf\\xe9.py
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _path_of_text(text: str) -> str:
    """Return the path of a text of `path_text`, with its escapes decoded."""
    data = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), os.fsencode(text))
    return os.fsdecode(data)


def source_line(file: str, line: int) -> str:
    """Return the text of a line of a source file, stripped; empty if it is not known.

    `file` is its path, or the path as `path_text` writes it.
    A program names its source files itself: a device, whose lines never end, or a pipe is not read.

    >>> Path("model.py").write_text("x = 1\\n" "  y = 2\\n")
    14
    >>> source_line("model.py", 2)
    'y = 2'
    """
    try:
        if file not in linecache.cache and os.sep in file and not os.path.isfile(file):
            file = _path_of_text(file)
            if not os.path.isfile(file):
                return ""
        return linecache.getline(file, line).strip()
    except ValueError:  # the name is invalid for a file
        return ""


def stream_number(path: _Path) -> int | None:
    """Return the descriptor that a path names, such as 1 for "/dev/stdout"; None for a file."""
    text = os.fspath(path)
    match = _STREAM.fullmatch(text)
    return int(match[1]) if match else _STREAMS.get(text)


def is_device(path: _Path) -> bool:
    """Return True for a stream of this process or a character device, which no file replaces.

    >>> is_device("/dev/null"), is_device("model.npz")
    (True, False)
    """
    if stream_number(path) is not None:
        return True
    mode = _mode(path)
    return mode is not None and stat.S_ISCHR(mode)


def check_output(path: _Path) -> None:
    """Check that a file can be written completely at `path`, before it is computed.

    A stream of this process and a character device, such as /dev/null, are written to and not
    replaced.  A pipe is an error: to open it would wait for a reader.

    Raises:
        OSError: nothing can be written there; `strerror` is the reason.

    >>> check_output("missing/model.npz")
    Traceback (most recent call last):
      ...
    FileNotFoundError: [Errno 2] the folder missing does not exist
    """
    if stream_number(path) is not None:
        return
    try:
        mode = _mode(path)
        folder = os.path.dirname(os.path.realpath(path))
    except ValueError as error:
        raise no_name(error) from error
    if mode is not None and stat.S_ISDIR(mode):
        raise _refused(errno.EISDIR, "it is a folder")
    if mode is not None and stat.S_ISCHR(mode):
        writable = os.access(path, os.W_OK)
    elif mode is not None and not stat.S_ISREG(mode):
        raise _refused(errno.EINVAL, "it is not a regular file")
    elif not os.path.isdir(folder):
        raise _refused(errno.ENOENT, f"the folder {_named_folder(path)} does not exist")
    else:
        writable = os.access(folder, os.W_OK | os.X_OK)
    if not writable:
        code = write_refusal(folder)
        raise _refused(code, os.strerror(code))


def write_refusal(folder: _Path) -> int:
    """Return the error number of a write in a folder without write permission.

    >>> errno.errorcode[write_refusal(".")]
    'EACCES'
    """
    return errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES


def _named_folder(path: _Path) -> str:
    """Return the folder of `path` for messages: relative in the working directory, else as written.

    For a link, it is the folder of its target.
    """
    text = os.fspath(path)
    folder = os.path.dirname(os.path.realpath(text) if os.path.islink(text) else text)
    relative = os.fsdecode(os.path.relpath(folder or os.curdir))
    return os.fsdecode(folder) if relative.startswith(os.pardir) else relative


def _mode(path: _Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None
