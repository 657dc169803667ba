"""The special functions against evaluations that share no code with the simulators: all 2^32 inputs, or a sample of them.

``estimate`` is fast and knows its error; ``exact`` decides what it leaves open; ``unit`` runs the instruction; ``sweep`` compares.
"""
