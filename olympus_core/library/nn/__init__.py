"""`olympus.nn`: activations, attention, encodings, initializers of weights."""
