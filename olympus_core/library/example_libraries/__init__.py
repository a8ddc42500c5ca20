"""`olympus.example_libraries`: small libraries of layers and optimizers."""
