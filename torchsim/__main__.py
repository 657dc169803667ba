"""``python -m torchsim``: the command line."""

from torchsim.cli import main

main()
