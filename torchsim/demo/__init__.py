"""Demonstrations that ship with torchsim."""
