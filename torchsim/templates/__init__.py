"""Templates: functions that make plans for operations with a shape of their own. Neither torch nor MLIR here."""
