"""The passes, one file each; ``pipeline`` lists their order. A pass is a function of a module and the machine that rewrites the module."""
