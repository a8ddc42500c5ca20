"""`olympus.random`: keys, and samples of distributions drawn by them."""
