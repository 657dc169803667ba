"""The target: instruction table, object code, loader and lane-safety checker (knows neither torch nor MLIR)."""
