"""Readers and editors of XLA's protocol buffers."""
