"""The middle of the compiler: analysed groups, kernel plans, tile choice, plan checks and a plan interpreter.

Knows neither torch nor MLIR. ``group`` is what the front end hands over, ``model`` is what the emitter receives.
"""
