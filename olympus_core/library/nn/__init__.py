"""`olympus.nn`: activations, softmax and its kin, attention, initializers of weights."""
