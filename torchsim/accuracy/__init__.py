"""Accuracy against measured TPUv3 cycles: ``make accuracy`` (docs/accuracy.md)."""
