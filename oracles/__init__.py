"""Oracles that hold compiler and simulators against each other: golden, plan interpreter, stock Spike, records, pytest plugin."""
