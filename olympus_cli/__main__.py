"""`python -m olympus_cli` is the `olympus` command; what it needs of its process comes first."""

# No `from __future__`: that is an import of a module which could be found in the working directory.
import _signal  # type: ignore[import-not-found]  # in Python itself, unlike `signal`
import os
import sys


def main() -> None:
    """Run the command line on `sys.argv`, and leave with its exit code."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        # a Ctrl-C during the imports ends the process, and shows no traceback
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from olympus_cli.process import own_process

    own_process.claim()
    from olympus_cli.process import fast_exit, shortage

    try:
        _start()
    except SystemExit as end:
        fast_exit.leave(end.code)
        raise
    except (ImportError, MemoryError, OSError, RuntimeError) as error:
        if (message := shortage.words(error)) is None:
            raise
        os.write(2, f"error: {message}\nhint: {shortage.HINT}\n".encode(errors="replace"))
        sys.exit(shortage.EXIT_CODE)


def _start() -> None:
    from olympus_cli.process import fast_imports, interrupts, streams

    streams.complete()
    interrupts.install()
    with fast_imports.unhindered():
        from olympus_cli.main import main as command_line  # imports click

    command_line()


if __name__ == "__main__":
    main()
