"""Gates: what a team says of a program's figures in olympus.toml, and whether it holds."""
