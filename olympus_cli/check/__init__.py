"""Gates: the limits of a program's figures in olympus.toml, and the checks of them."""
