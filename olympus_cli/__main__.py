"""`python -m olympus_cli` is the `olympus` command."""

from olympus_cli.main import main

main()
