"""Shape and op fuzzing: programs drawn by Hypothesis, run under every oracle."""
