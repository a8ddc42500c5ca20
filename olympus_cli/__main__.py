"""`python -m olympus_cli` is the `olympus` command; what it needs of its process comes first."""

from olympus_cli import interrupts, streams

__all__ = ["main"]


def main() -> None:
    """Run the command line on `sys.argv`, and leave with its exit code."""
    streams.complete()
    interrupts.install()
    from olympus_cli.main import main as command_line  # imports click

    command_line()


if __name__ == "__main__":
    main()
