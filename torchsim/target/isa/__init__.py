"""The instruction table and everything that is derived from it.

The table modules (``row``, ``fields``, ``scalar``, ``compressed``, ``vector_arith``, ``vector_memory``, ``npu``,
``table``, ``generate``) use the standard library and relative imports only, so that the build can run
``generate.py`` by its path before the package and its dependencies exist.
"""
