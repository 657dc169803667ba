"""Reduced real networks with one interface, and the tests that run them on every machine."""
