"""torchsim."""
