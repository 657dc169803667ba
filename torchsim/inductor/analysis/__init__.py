"""Analysis of fused Inductor nodes into ``torchsim.plan.group.Group``."""
