"""Runs compiled kernels: sessions, device addresses, kernel cache, launch, timing, command line support."""
