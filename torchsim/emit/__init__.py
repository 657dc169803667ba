"""Emission: a KernelPlan becomes MLIR, then through the passes an image and a trace producer."""
